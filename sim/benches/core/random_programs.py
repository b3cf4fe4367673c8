"""Random programs of scalar instructions that come to an end, with traps on their way.

A handler steps over what trapped; after a fetch from nowhere it goes on at the address in x30.
"""

import random
from collections.abc import Callable

from fanweave.golden.isa.cluster import HOST, RESET_ADDRESS, peripheral_address
from fanweave.golden.isa.riscv import INSTRUCTIONS, kind_of
from fanweave.golden.isa.riscv_csr import CSR_BY_NAME, Cause
from fanweave.golden.isa.riscv_encoding import Extension, InstructionKind
from fanweave.sim.benches.core.programs import (
    DATA_BASE,
    ScalarProgram,
    assemble,
    csr_access,
    load_constant,
)

__all__ = [
    "DATA_BYTES",
    "POINTERS",
    "Writer",
    "begin",
    "finish",
    "random_program",
    "scalar_piece",
]

#: Bytes that programs see.
DATA_BYTES = 0x1000

#: Registers that random instructions do not write: distances, pointers, where to recover.
_STEP, POINTERS, _DEVICE, _RECOVERY = 25, (26, 27, 28), 24, 30
_FREE = tuple(n for n in range(32) if n not in (_STEP, *POINTERS, _DEVICE, _RECOVERY))
#: From the host's first register for traps: four that exist and do not end the run, and none.
_REGISTERS = (0, 4, 8, 16, 64, 1024)
_OFTEN = (8, 9, 10, 11)
_SCRATCH = 31
_HANDLER_WORDS = 12
#: CSRs that a program may write with anything, and such that it may only read.
_WRITTEN = ("fflags", "frm", "fcsr", "mscratch", "mie", "mcause", "mtval", "mip", "misa",
            "mstatush", "minstret", "minstreth")  # fmt: skip
_READ = ("mstatus", "mtvec", "mhartid", "instret", "instreth", "mvendorid", "marchid", "mimpid",
         "vl", "vtype", "vtlreg", "mepc")  # fmt: skip


def _handler() -> list[int]:
    """Steps over what trapped, or goes to x30; keeps all registers."""
    s = _SCRATCH
    words = [
        csr_access("csrrw", "mscratch", s, s),
        csr_access("csrrs", "mtval", s, 0),  # for those who watch registers
        csr_access("csrrs", "mcause", s, 0),
        assemble("addi", rd=s, rs1=s, imm=-int(Cause.FETCH_FAULT)),
        assemble("beq", rs1=s, rs2=0, imm=20),
        csr_access("csrrs", "mepc", s, 0),
        assemble("addi", rd=s, rs1=s, imm=4),
        csr_access("csrrw", "mepc", 0, s),
        assemble("jal", rd=0, imm=8),
        csr_access("csrrw", "mepc", 0, _RECOVERY),
        csr_access("csrrw", "mscratch", s, s),
        assemble("mret"),
    ]
    assert len(words) == _HANDLER_WORDS
    return words


class Writer:
    """Appends random instructions.

    Parameters
    ----------
    generator : Random
        Decides everything.

    Attributes
    ----------
    words : list of int
        The instructions, from the address where cores start.
    """

    def __init__(self, generator: random.Random) -> None:
        self.generator = generator
        self.words: list[int] = []

    @property
    def address(self) -> int:
        """Of the next instruction."""
        return RESET_ADDRESS + 4 * len(self.words)

    def free(self) -> int:
        """A register that may be written."""
        return self.generator.choice(_FREE if self.generator.random() < 0.4 else _OFTEN)

    def add(self, *words: int) -> None:
        self.words += words

    def isolate(self) -> None:
        """No jump from before leads between the instructions that follow."""
        self.add(*[assemble("addi", rd=0, rs1=0, imm=0)] * 5)

    def any_row(self, row: InstructionKind, **chosen: int) -> None:
        """An instruction with random fields but for those that are chosen."""
        pick = self.generator.randrange
        word = row.match | pick(1 << 32) & ~row.mask
        fields = row.decode(word)
        for name in ("rs1", "rs2", "fs1", "fs2", "fs3", "fd"):
            # Mostly few registers, so that instructions depend on those just before.
            if name in fields and self.generator.random() < 0.6:
                fields[name] = self.generator.choice(_OFTEN)
        if "rd" in fields:
            fields["rd"] = self.free()
        if "rm" in fields and self.generator.random() < 0.8:
            fields["rm"] = self.generator.choice((0, 1, 2, 3, 4, 7, 7, 7, 7))
        self.add(row.encode(**{**fields, **{k: v for k, v in chosen.items() if k in fields}}))


def _computing(writer: Writer) -> None:
    writer.any_row(writer.generator.choice(_COMPUTING))


def _floating(writer: Writer) -> None:
    writer.any_row(writer.generator.choice(_FLOATING))


def _memory(writer: Writer) -> None:
    """Mostly where there is memory, mostly aligned."""
    generator = writer.generator
    row = generator.choice(_MEMORY)
    chosen: dict[str, int] = {}
    if generator.random() < 0.93:
        chosen["rs1"] = generator.choice(POINTERS)
        chosen["imm"] = generator.randrange(-512, 508)
        if generator.random() < 0.93:
            chosen["imm"] &= ~3
    elif generator.random() < 0.7:
        chosen["rs1"], chosen["imm"] = _DEVICE, generator.choice(_REGISTERS)
    if row.extension is Extension.POST_INCREMENT:
        chosen["rs1"] = generator.choice(POINTERS[:1] if generator.random() < 0.9 else _FREE)
        chosen["rs2"] = _STEP
    writer.any_row(row, **chosen)


def _control(writer: Writer) -> None:
    """Jumps forward, sometimes to half an instruction's address or where nothing is."""
    generator = writer.generator
    row = generator.choice(_CONTROL)
    distance = 4 * generator.randrange(1, 6)
    if row.name == "jalr":
        writer.isolate()
        target = generator.choice((distance, distance, distance + 2, distance + 1))
        if generator.random() < 0.15:
            writer.add(*load_constant(_RECOVERY, writer.address + 12))
            writer.add(assemble("jalr", rd=writer.free(), rs1=_STEP, imm=0x400))
            return
        register = writer.generator.choice([n for n in _FREE if n])
        writer.add(assemble("auipc", rd=register, imm=0))
        writer.add(assemble("jalr", rd=writer.free(), rs1=register, imm=target + 4))
        writer.add(*[assemble("addi", rd=0, rs1=0, imm=0)] * 2)
        return
    if generator.random() < 0.08:
        distance += 2
    writer.any_row(row, imm=distance)


def _loop(writer: Writer) -> None:
    """A few instructions, several times."""
    generator = writer.generator
    counter = 29
    writer.add(assemble("addi", rd=counter, rs1=0, imm=generator.randrange(2, 9)))
    top = writer.address
    for _ in range(generator.randrange(1, 6)):
        generator.choice((_computing, _floating, _memory))(writer)
        if _writes(writer.words[-1], counter):
            writer.words.pop()
    writer.add(assemble("addi", rd=counter, rs1=counter, imm=-1))
    # A jump into the loop may bring any counter.
    writer.add(assemble("andi", rd=counter, rs1=counter, imm=7))
    writer.add(assemble("blt", rs1=0, rs2=counter, imm=top - writer.address))


def _writes(word: int, register: int) -> bool:
    kind = kind_of(word)
    if kind is None:
        return False
    fields = kind.decode(word)
    post = kind.name.endswith(".rrpost") and fields["rs1"] == register
    return fields.get("rd") == register or post


def _system(writer: Writer) -> None:
    generator = writer.generator
    choice = generator.random()
    if choice < 0.45:
        row = generator.choice(_CSR_ROWS)
        if generator.random() < 0.75:
            name = generator.choice(_WRITTEN)
            writer.any_row(row, csr=CSR_BY_NAME[name].address)
            if name in ("frm", "fcsr") and generator.random() < 0.8:
                mode, number = generator.randrange(5), CSR_BY_NAME["frm"].address
                writer.add(assemble("csrrwi", csr=number, zimm=mode, rd=0))
        else:
            number = CSR_BY_NAME[generator.choice(_READ)].address
            if generator.random() < 0.1:
                number = 0x7A0  # there is none
            name = generator.choice(("csrrs", "csrrc", "csrrsi", "csrrci"))
            writer.add(assemble(name, csr=number, rd=writer.free()))
    elif choice < 0.55:
        number = CSR_BY_NAME[generator.choice(("instret", "mhartid", "vlenb"))].address
        writer.any_row(generator.choice(_CSR_ROWS), csr=number)
    elif choice < 0.65:
        writer.isolate()
        bit = generator.choice((0x2000, 0x4000, 0x6000, 0x88, 8))
        writer.add(*load_constant(29, bit))
        name = generator.choices(("csrrs", "csrrc"), (4, 1))[0]
        writer.add(csr_access(name, "mstatus", 29, 29))
    elif choice < 0.75:
        writer.add(assemble(generator.choice(("ecall", "ebreak"))))
    elif choice < 0.9:
        writer.any_row(generator.choice(_FENCES))
    else:
        writer.add(_illegal(generator))


def _illegal(generator: random.Random) -> int:
    """A word that is no instruction, or a vector instruction while that unit is off."""
    if generator.random() < 0.5:
        row = generator.choice(_VECTOR)
        return row.match | generator.randrange(1 << 32) & ~row.mask
    while True:
        word = generator.randrange(1 << 32)
        if generator.random() < 0.5:  # close to an instruction
            row = generator.choice(_COMPUTING)
            word = (row.match | word & ~row.mask) ^ 1 << generator.randrange(32)
        if kind_of(word) is None:
            return word


_BY_EXTENSION: Callable[..., list[InstructionKind]] = lambda *extensions: [  # noqa: E731
    row for row in INSTRUCTIONS if row.extension in extensions
]
_ALL_MEMORY = {"lb", "lh", "lw", "lbu", "lhu", "sb", "sh", "sw", "flw", "fsw", "flh", "fsh"}
_CONTROL_NAMES = {"jal", "jalr", "beq", "bne", "blt", "bge", "bltu", "bgeu"}
_SYSTEM_NAMES = {"fence", "fence.i", "ecall", "ebreak", "mret", "wfi"}
_COMPUTING = [
    row
    for row in _BY_EXTENSION(Extension.I, Extension.M)
    if row.name not in _ALL_MEMORY | _CONTROL_NAMES | _SYSTEM_NAMES
]
_FLOATING = [
    row for row in _BY_EXTENSION(Extension.F, Extension.ZFHMIN) if row.name not in _ALL_MEMORY
]
_MEMORY = [
    *(row for row in INSTRUCTIONS if row.name in _ALL_MEMORY),
    *_BY_EXTENSION(Extension.A),
    *(row for row in _BY_EXTENSION(Extension.POST_INCREMENT) if row.memory is None),
]
_CONTROL = [row for row in INSTRUCTIONS if row.name in _CONTROL_NAMES]
_CSR_ROWS = _BY_EXTENSION(Extension.ZICSR)
_FENCES = [row for row in INSTRUCTIONS if row.name in ("fence", "fence.i", "wfi")]
_VECTOR = [
    row for row in INSTRUCTIONS if row.memory is not None or row.vector is not None
]  # fmt: skip
_KINDS = ((_computing, 30), (_floating, 25), (_memory, 25), (_control, 8), (_loop, 4), (_system, 8))


def begin(writer: Writer, *, units: int, data: int = DATA_BYTES) -> None:
    """The handler of traps, and numbers in all registers.

    Parameters
    ----------
    writer : Writer
        Has nothing yet.
    units : int
        Bits of ``mstatus`` that turn units on.
    data : int
        Bytes in whose middle the pointers begin.
    """
    generator = writer.generator
    writer.add(assemble("jal", rd=0, imm=4 * (_HANDLER_WORDS + 1)), *_handler())
    writer.add(*load_constant(_SCRATCH, RESET_ADDRESS + 4))
    writer.add(csr_access("csrrw", "mtvec", 0, _SCRATCH))
    writer.add(*load_constant(_SCRATCH, units), csr_access("csrrs", "mstatus", 0, _SCRATCH))
    for register, value in (
        (_STEP, generator.choice((4, 4, 8, 2, -4 & 0xFFFFFFFF))),
        (_DEVICE, peripheral_address(HOST, "trap_cause")),
        *((pointer, DATA_BASE + data // 2 + 64 * n) for n, pointer in enumerate(POINTERS)),
    ):
        writer.add(*load_constant(register, value))
    for register in range(32):
        writer.add(assemble("flw", fd=register, rs1=POINTERS[0], imm=4 * register))
    for register in _FREE:
        if generator.random() < 0.7:
            writer.add(*load_constant(register, generator.randrange(1 << 32)))


def finish(writer: Writer) -> ScalarProgram:
    """The program, with numbers in its memory; jumps over its end land there as well."""
    end = writer.address + 4 * 8
    writer.add(*[assemble("addi", rd=0, rs1=0, imm=0)] * 8, assemble("jal", rd=0, imm=0))
    return ScalarProgram(words=tuple(writer.words), data=_numbers(writer.generator), end=end)


def scalar_piece(writer: Writer) -> None:
    """An instruction, a jump or a loop."""
    makers, weights = zip(*_KINDS, strict=True)
    writer.generator.choices(makers, weights)[0](writer)


def random_program(seed: int, pieces: int = 200) -> ScalarProgram:
    """A program of so many pieces: instructions, loops, jumps."""
    writer = Writer(random.Random(seed))
    begin(writer, units=0x2000)
    for _ in range(pieces):
        scalar_piece(writer)
    return finish(writer)


def _numbers(generator: random.Random) -> bytes:
    """Contents of memory: among them numbers whose sums and products are interesting."""
    words = []
    for _ in range(DATA_BYTES // 4):
        kind = generator.randrange(4)
        if kind == 0:
            words.append(generator.randrange(1 << 32))
        elif kind == 1:
            words.append(generator.choice((0, 1 << 31, 0x7F800000, 0x7F800001, 0x7FC00000, 1)))
        else:
            exponent = generator.randrange(120, 136)
            sign = generator.randrange(2) << 31
            words.append(sign | exponent << 23 | generator.randrange(1 << 23))
    return b"".join(word.to_bytes(4, "little") for word in words)
