"""Cases of arithmetic, moves and byte orders, with results worked out by hand."""

from collections.abc import Iterator

from fanweave.golden.ebpf.build import alu, leave, mov, wide
from fanweave.golden.ebpf.conformance.case import M64, Case, signed_word
from fanweave.golden.isa.ebpf import AluOperation, Instruction

__all__ = ["cases"]

_A = AluOperation
_M32 = (1 << 32) - 1
_MIN64 = 1 << 63
_MIN32 = 1 << 31

#: Rule, operation, offset, dst, src, result with 64 bits, result with 32 bits.
_BINARY: tuple[tuple[str, AluOperation, int, int, int, int, int], ...] = (
    ("add wraps", _A.ADD, 0, M64, 1, 0, 0),
    ("add carries into the upper half", _A.ADD, 0, _M32, 1, 1 << 32, 0),
    ("add of a negative number", _A.ADD, 0, 1, M64 - 1, M64, _M32),
    ("sub borrows", _A.SUB, 0, 0, 1, M64, _M32),
    ("sub below zero", _A.SUB, 0, 5, 7, M64 - 1, _M32 - 1),
    ("mul keeps the low half", _A.MUL, 0, 0x1_0000_0001, 0x1_0000_0001, 0x2_0000_0001, 1),
    ("mul of all ones", _A.MUL, 0, M64, M64, 1, 1),
    ("mul by a negative number", _A.MUL, 0, 3, M64, M64 - 2, _M32 - 2),
    ("div rounds down", _A.DIV, 0, 7, 2, 3, 3),
    ("div by zero is zero", _A.DIV, 0, 7, 0, 0, 0),
    ("div of a dividend with an upper half by zero", _A.DIV, 0, 0x1_0000_0007, 0, 0, 0),
    ("div is unsigned", _A.DIV, 0, M64, 2, M64 >> 1, 0x7FFF_FFFF),
    ("div by all ones", _A.DIV, 0, M64, M64, 1, 1),
    ("div by what is zero in 32 bits", _A.DIV, 0, 1 << 32, 1 << 32, 1, 0),
    ("sdiv of a negative number truncates", _A.DIV, 1, -7 & M64, 2, -3 & M64, -3 & _M32),
    ("sdiv by a negative number truncates", _A.DIV, 1, 7, -2 & M64, -3 & M64, -3 & _M32),
    ("sdiv of two negative numbers", _A.DIV, 1, -9 & M64, -2 & M64, 4, 4),
    ("sdiv by zero is zero", _A.DIV, 1, -7 & M64, 0, 0, 0),
    ("sdiv of the least number by -1", _A.DIV, 1, _MIN64, M64, _MIN64, 0),
    ("sdiv of the least word by -1", _A.DIV, 1, _MIN32, M64, -_MIN32 & M64, _MIN32),
    ("mod", _A.MOD, 0, 7, 4, 3, 3),
    ("mod by zero leaves dst", _A.MOD, 0, 0x1_0000_0007, 0, 0x1_0000_0007, 7),
    ("mod is unsigned", _A.MOD, 0, M64, 10, 5, 5),
    ("mod by what is zero in 32 bits", _A.MOD, 0, 0x1_0000_0007, 1 << 32, 7, 7),
    ("smod has the dividend's sign", _A.MOD, 1, -7 & M64, 3, -1 & M64, -1 & _M32),
    ("smod by a negative number", _A.MOD, 1, 7, -3 & M64, 1, 1),
    ("smod of two negative numbers", _A.MOD, 1, -7 & M64, -3 & M64, -1 & M64, -1 & _M32),
    ("smod of the least number by -1", _A.MOD, 1, _MIN64, M64, 0, 0),
    ("smod of the least word by -1", _A.MOD, 1, _MIN32, M64, 0, 0),
    ("smod by zero leaves dst", _A.MOD, 1, -5 & M64, 0, -5 & M64, -5 & _M32),
    ("or", _A.OR, 0, 0xF0F0_0000_0000, 0x0F, 0xF0F0_0000_000F, 0x0F),
    ("or of a negative number", _A.OR, 0, 0, -_MIN32 & M64, 0xFFFF_FFFF_8000_0000, _MIN32),
    ("and", _A.AND, 0, 0xFF00_FF00_FF00, 0x0FF0_0FF0, 0x0F00_0F00 & 0xFF00_FF00, 0x0F00_0F00),
    ("and of a negative number", _A.AND, 0, M64, -16 & M64, M64 - 15, _M32 - 15),
    ("xor", _A.XOR, 0, M64, _M32, 0xFFFF_FFFF_0000_0000, 0),
    ("xor of a negative number", _A.XOR, 0, 0x0F, M64, M64 - 15, _M32 - 15),
    ("lsh to the top", _A.LSH, 0, 1, 63, _MIN64, _MIN32),
    ("lsh by the width is by nothing", _A.LSH, 0, 1, 64, 1, 1),
    ("lsh by 33", _A.LSH, 0, 3, 33, 6 << 32, 6),
    ("lsh by a negative count", _A.LSH, 0, 1, M64, _MIN64, _MIN32),
    ("rsh fills with zeros", _A.RSH, 0, _MIN64, 63, 1, 0),
    ("rsh by more than the width", _A.RSH, 0, M64, 68, M64 >> 4, 0x0FFF_FFFF),
    ("rsh of a word sees no upper half", _A.RSH, 0, 0xF_8000_0000, 31, 0x1F, 1),
    ("arsh fills with the sign", _A.ARSH, 0, _MIN64, 63, M64, 0),
    ("arsh of a word's sign", _A.ARSH, 0, 0x8000_0000, 4, 0x0800_0000, 0xF800_0000),
    ("arsh by more than the width", _A.ARSH, 0, -16 & M64, 66, -4 & M64, -4 & _M32),
    ("mov", _A.MOV, 0, 5, 0x1_2345_6789, 0x1_2345_6789, 0x2345_6789),
    ("mov of a negative number", _A.MOV, 0, 5, M64, M64, _M32),
)

#: Bits, src, result with 64 bits, result with 32 bits.
_EXTENSIONS = (
    (8, 0x1_2345_6780, -128 & M64, 0xFFFF_FF80),
    (8, 0xFFFF_FF7F, 0x7F, 0x7F),
    (16, 0x1234_8000, -32768 & M64, 0xFFFF_8000),
    (16, 0xFFFF_7FFF, 0x7FFF, 0x7FFF),
    (32, 0x8000_0000, 0xFFFF_FFFF_8000_0000, None),
    (32, 0xF_7FFF_FFFF, 0x7FFF_FFFF, None),
)

_BYTES = 0x1122_3344_5566_7788
#: Bits, value kept, value turned round.
_ORDERS = (
    (16, 0x7788, 0x8877),
    (32, 0x5566_7788, 0x8877_6655),
    (64, _BYTES, 0x8877_6655_4433_2211),
)


def cases() -> Iterator[Case]:
    """All of them."""
    for rule, operation, offset, dst, src, long, short in _BINARY:
        for bits, result in ((64, long), (32, short)):
            yield Case(
                name=f"{rule}: register, {bits} bits",
                program=(
                    *(wide(0, dst), wide(1, src)),
                    alu(operation, 0, 1, offset=offset, bits=bits),
                    leave(),
                ),
                r0=result,
            )
            imm = signed_word(src)
            if imm is not None:
                yield Case(
                    name=f"{rule}: immediate, {bits} bits",
                    program=(
                        wide(0, dst),
                        alu(operation, 0, imm=imm, offset=offset, bits=bits),
                        leave(),
                    ),
                    r0=result,
                )
    yield from _moves()
    yield from _negations()
    yield from _byte_orders()
    yield from _same_register()


def _moves() -> Iterator[Case]:
    for source_bits, src, long, short in _EXTENSIONS:
        for bits, result in ((64, long), (32, short)):
            if result is not None:
                move = alu(_A.MOV, 0, 1, offset=source_bits, bits=bits)
                yield Case(
                    name=f"movsx of {src:#x} from {source_bits} to {bits} bits",
                    program=(mov(0, 5), wide(1, src), move, leave()),
                    r0=result,
                )


def _negations() -> Iterator[Case]:
    for value, long, short in ((1, M64, _M32), (0x1_0000_0001, M64 - (1 << 32), _M32), (0, 0, 0)):
        for bits, result in ((64, long), (32, short)):
            yield Case(
                name=f"neg of {value:#x}, {bits} bits",
                program=(wide(0, value), alu(_A.NEG, 0, bits=bits), leave()),
                r0=result,
            )
    yield Case(
        name="neg of the least number is itself",
        program=(wide(0, _MIN64), alu(_A.NEG, 0), leave()),
        r0=_MIN64,
    )


def _byte_orders() -> Iterator[Case]:
    for bits, kept, turned in _ORDERS:
        for name, opcode, result in (
            ("le", 0xD4, kept),
            ("be", 0xDC, turned),
            ("bswap", 0xD7, turned),
        ):
            yield Case(
                name=f"{name}{bits} cuts what is above",
                program=(wide(0, _BYTES), Instruction(opcode, imm=bits), leave()),
                r0=result,
            )
            yield Case(
                name=f"{name}{bits} keeps every bit",
                program=(mov(0, -1), Instruction(opcode, imm=bits), leave()),
                r0=(1 << bits) - 1,
            )


def _same_register() -> Iterator[Case]:
    for operation, result in (
        (_A.ADD, 0x2468),
        (_A.SUB, 0),
        (_A.MUL, 0x14B_5A90),
        (_A.DIV, 1),
        (_A.MOD, 0),
        (_A.XOR, 0),
        (_A.AND, 0x1234),
        (_A.MOV, 0x1234),
    ):
        yield Case(
            name=f"{operation.name.lower()} of a register and itself",
            program=(mov(0, 0x1234), alu(operation, 0, 0), leave()),
            r0=result,
        )
