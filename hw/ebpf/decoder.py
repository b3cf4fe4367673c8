"""What an instruction asks of the pipeline, and whether it exists."""

from amaranth import Cat, Module, Signal, Value, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from fanweave.golden.isa.ebpf import (
    FRAME_POINTER,
    REGISTERS,
    AluOperation,
    AtomicOperation,
    CallKind,
    InstructionClass,
    JumpOperation,
    Mode,
    Size,
    WideKind,
)

__all__ = ["Controls", "Decoder", "InstructionWord"]

_C = InstructionClass


class InstructionWord(data.Struct):
    """A slot of 8 bytes."""

    opcode: unsigned(8)
    dst: unsigned(4)
    src: unsigned(4)
    offset: unsigned(16)
    imm: unsigned(32)


class Controls(data.Struct):
    """Decoded instruction; at most one of the ``is_`` fields is set.

    ``legal`` says that it exists and that its unused fields are zero; nothing else has a meaning
    without it. ``operation`` is bits 7 to 4 of the opcode, ``wide`` chooses 64 bits over 32, and
    ``register_source`` a register over the immediate.
    """

    legal: unsigned(1)
    is_alu: unsigned(1)
    is_division: unsigned(1)
    is_wide_load: unsigned(1)
    is_load: unsigned(1)
    is_store: unsigned(1)
    is_atomic: unsigned(1)
    is_conditional: unsigned(1)
    is_goto: unsigned(1)
    is_local_call: unsigned(1)
    is_helper_call: unsigned(1)
    is_exit: unsigned(1)
    operation: unsigned(4)
    wide: unsigned(1)
    register_source: unsigned(1)
    size: unsigned(2)
    extends_sign: unsigned(1)
    distance_in_imm: unsigned(1)


class Decoder(wiring.Component):
    """Combinational; agrees with `fanweave.golden.isa.ebpf_legality` on every encoding.

    Members
    -------
    word : In of `InstructionWord`
    controls : Out of `Controls`
    """

    word: In(InstructionWord)
    controls: Out(Controls)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        word, controls = self.word, self.controls
        kind = Signal(3)
        mode = Signal(3)
        legal = Signal()
        writes_dst = Signal()
        # Apart from `controls`: what depends on a part of it must not look like a loop.
        self._operation = word.opcode[4:]
        self._from_register = word.opcode[3]
        self._size = word.opcode[3:5]
        self._wide = Signal(name="wide")
        m.d.comb += [
            kind.eq(word.opcode[:3]),
            mode.eq(word.opcode[5:]),
            self._wide.eq((kind == _C.ALU64) | (kind == _C.JMP)),
            controls.operation.eq(self._operation),
            controls.register_source.eq(self._from_register),
            controls.size.eq(self._size),
            controls.wide.eq(self._wide),
            controls.legal.eq(
                legal
                & (word.dst < REGISTERS)
                & (word.src < REGISTERS)
                & ~(writes_dst & (word.dst == FRAME_POINTER))
            ),
        ]
        with m.Switch(kind):
            with m.Case(_C.ALU, _C.ALU64):
                m.d.comb += writes_dst.eq(1)
                self._arithmetic(m, legal)
            with m.Case(_C.JMP, _C.JMP32):
                self._jump(m, legal)
            with m.Case(_C.LD):
                m.d.comb += [
                    writes_dst.eq(1),
                    controls.is_wide_load.eq(1),
                    legal.eq(
                        (word.opcode == _C.LD | Mode.IMM << 5 | Size.DW << 3)
                        & word.src.matches(
                            WideKind.IMMEDIATE,
                            WideKind.MAP_FD,
                            WideKind.MAP_VALUE,
                            WideKind.MAP_INDEX,
                            WideKind.MAP_INDEX_VALUE,
                        )
                        & (word.offset == 0)
                    ),
                ]
            with m.Case(_C.LDX):
                extends = mode == Mode.MEMSX
                m.d.comb += [
                    writes_dst.eq(1),
                    controls.is_load.eq(1),
                    controls.extends_sign.eq(extends),
                    legal.eq(
                        ((mode == Mode.MEM) | (extends & (self._size != Size.DW))) & (word.imm == 0)
                    ),
                ]
            with m.Case(_C.ST):
                m.d.comb += [
                    controls.is_store.eq(1),
                    controls.register_source.eq(0),
                    legal.eq((mode == Mode.MEM) & (word.src == 0)),
                ]
            with m.Case(_C.STX):
                self._store(m, legal, mode)
        return m

    def _unused(self, *names: str) -> Value:
        """Whether fields are all zero."""
        return Cat(self.word[name] for name in names) == 0

    def _arithmetic(self, m: Module, legal: Signal) -> None:
        word, controls = self.word, self.controls
        from_register = self._from_register
        operand = (from_register & (word.imm == 0)) | (~from_register & (word.src == 0))
        m.d.comb += controls.is_alu.eq(1)
        with m.Switch(self._operation):
            with m.Case(AluOperation.END):
                m.d.comb += legal.eq(
                    ~(self._wide & from_register)
                    & word.imm.matches(16, 32, 64)
                    & self._unused("src", "offset")
                )
            with m.Case(AluOperation.NEG):
                m.d.comb += legal.eq(~from_register & self._unused("src", "offset", "imm"))
            with m.Case(AluOperation.DIV, AluOperation.MOD):
                m.d.comb += [
                    controls.is_alu.eq(0),
                    controls.is_division.eq(1),
                    legal.eq(word.offset.matches(0, 1) & operand),
                ]
            with m.Case(AluOperation.MOV):
                extends = word.offset.matches(8, 16) | (self._wide & (word.offset == 32))
                m.d.comb += legal.eq(((word.offset == 0) | (from_register & extends)) & operand)
            with m.Case(*(op for op in AluOperation if op not in _OTHER_ALU)):
                m.d.comb += legal.eq((word.offset == 0) & operand)

    def _jump(self, m: Module, legal: Signal) -> None:
        word, controls = self.word, self.controls
        from_register = self._from_register
        narrow = ~self._wide
        with m.Switch(self._operation):
            with m.Case(JumpOperation.JA):
                m.d.comb += [
                    controls.is_goto.eq(1),
                    controls.distance_in_imm.eq(narrow),
                    legal.eq(
                        ~from_register
                        & self._unused("dst", "src")
                        & ((narrow & (word.offset == 0)) | (self._wide & (word.imm == 0)))
                    ),
                ]
            with m.Case(JumpOperation.EXIT):
                m.d.comb += [
                    controls.is_exit.eq(1),
                    legal.eq(
                        controls.wide & ~from_register & self._unused("dst", "src", "offset", "imm")
                    ),
                ]
            with m.Case(JumpOperation.CALL):
                m.d.comb += [
                    controls.is_local_call.eq(word.src == CallKind.LOCAL),
                    controls.is_helper_call.eq(word.src == CallKind.HELPER),
                    controls.distance_in_imm.eq(1),
                    legal.eq(
                        self._wide
                        & ~from_register
                        & word.src.matches(CallKind.HELPER, CallKind.LOCAL)
                        & self._unused("dst", "offset")
                    ),
                ]
            with m.Case(*(op for op in JumpOperation if op not in _OTHER_JUMPS)):
                m.d.comb += [
                    controls.is_conditional.eq(1),
                    legal.eq(
                        (from_register & (word.imm == 0)) | (~from_register & (word.src == 0))
                    ),
                ]

    def _store(self, m: Module, legal: Signal, mode: Signal) -> None:
        word, controls = self.word, self.controls
        m.d.comb += controls.register_source.eq(1)
        with m.If(mode == Mode.ATOMIC):
            plain = word.imm.matches(
                *(operation | fetch for operation in _PLAIN_ATOMICS for fetch in (0, 1))
            )
            exchange = word.imm == AtomicOperation.CMPXCHG
            writes_src = word.imm[0] & ~exchange
            m.d.comb += [
                controls.is_atomic.eq(1),
                legal.eq(
                    self._size.matches(Size.W, Size.DW)
                    & (plain | exchange | (word.imm == AtomicOperation.XCHG))
                    & ~(writes_src & (word.src == FRAME_POINTER))
                ),
            ]
        with m.Else():
            m.d.comb += [
                controls.is_store.eq(1),
                legal.eq((mode == Mode.MEM) & (word.imm == 0)),
            ]


_OTHER_ALU = (
    AluOperation.END,
    AluOperation.NEG,
    AluOperation.DIV,
    AluOperation.MOD,
    AluOperation.MOV,
)
_OTHER_JUMPS = (JumpOperation.JA, JumpOperation.EXIT, JumpOperation.CALL)
_PLAIN_ATOMICS = (
    AtomicOperation.ADD,
    AtomicOperation.OR,
    AtomicOperation.AND,
    AtomicOperation.XOR,
)
