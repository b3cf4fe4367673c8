"""Random programs of scalar and vector instructions that come to an end, with traps on their way.

A vector instruction is mostly one that vtype allows. Every now and then all vector registers are
stored where somebody watches.
"""

import random
from collections.abc import Callable, Iterator

from fanweave.golden.isa.cluster import REGIONS, RESET_ADDRESS, RegionName
from fanweave.golden.isa.riscv import INSTRUCTION_BY_NAME, INSTRUCTIONS, kind_of
from fanweave.golden.isa.riscv_csr import CSR_BY_NAME, Cause
from fanweave.golden.isa.riscv_encoding import Access, Extension, InstructionKind, MemoryShape
from fanweave.golden.isa.riscv_ventaglio import VENTAGLIO_CSRS
from fanweave.hw.vector.config import VectorConfig
from fanweave.hw.vector.unit_testing import GoldenVector, draw_shape, lmul_code
from fanweave.sim.benches.core.programs import (
    DATA_BASE,
    ScalarProgram,
    assemble,
    csr_access,
    load_constant,
)
from fanweave.sim.benches.core.random_programs import (
    DATA_BYTES,
    POINTERS,
    Writer,
    begin,
    finish,
    scalar_piece,
)

__all__ = ["ROWS", "WATCH", "vector_program"]

#: Rows that the vector unit executes: all of the tables but 64-bit elements and Ventaglio's.
ROWS = tuple(
    row
    for row in INSTRUCTIONS
    if (row.vector is not None or row.memory is not None)
    and row.extension in (Extension.ZVE32X, Extension.ZVE32F)
)
_ARITHMETIC = [row for row in ROWS if row.memory is None]
_MEMORY = [row for row in ROWS if row.memory is not None]
#: Where all vector registers are stored: far behind the program.
WATCH = RESET_ADDRESS + 0xF_0000
_L1 = next(region for region in REGIONS if region.name is RegionName.L1)
#: Indices, by their width, and bytes of them; the last quarter is not always aligned, or near.
_TABLES = {8: 0x3000, 16: 0x4000, 32: 0x5000}
_TABLE_BYTES = 0x1000
_BITS = 0x2200
#: Registers of this bench's own: lengths, turns, distances, addresses.
_LENGTH, _TURNS, _DISTANCE, _ADDRESS, _WATCHED, _CODE = 19, 21, 20, 22, 23, 18
_VENTAGLIO_CSRS = tuple(entry.address for entry in VENTAGLIO_CSRS)
_INDEXED = (Access.INDEXED_ORDERED, Access.INDEXED_UNORDERED)
_VECTOR_CSRS = ("vxsat", "vxrm", "vcsr", "vl", "vtype", "vlenb", "vstart", "fflags")


class _VectorWriter(Writer):
    """Knows about what vtype is, so that most vector instructions are legal."""

    def __init__(self, generator: random.Random, config: VectorConfig) -> None:
        super().__init__(generator)
        self.config = config
        self.sew, self.lmul8 = 8, 8
        self._golden = GoldenVector(config)
        self._rows = {"arithmetic": self._turns(_ARITHMETIC), "memory": self._turns(_MEMORY)}

    def free(self) -> int:
        """As any writer's, but not what counts a loop's turns: it would not end."""
        register = super().free()
        return self.free() if register == _TURNS else register

    def add(self, *words: int) -> None:
        """Append instructions, but for those of Ventaglio, which is not there."""
        super().add(*(word for word in words if not _is_of_ventaglio(word)))

    def _turns(self, rows: list[InstructionKind]) -> Iterator[InstructionKind]:
        """All rows, again and again."""
        while True:
            yield from self.generator.sample(rows, len(rows))

    def following(self, kind: str) -> InstructionKind:
        """The next row of a kind."""
        return next(self._rows[kind])

    def set_type(self) -> None:
        """Some vtype, and a length: often all, or a few elements."""
        generator = self.generator
        self.sew, self.lmul8 = draw_shape(generator)
        code = lmul_code(self.lmul8) | (self.sew // 8).bit_length() - 1 << 3
        code |= generator.randrange(4) << 6
        if generator.random() < 0.02:
            code = generator.randrange(256)
        most = self.config.vlen * self.lmul8 // (8 * self.sew)
        length = generator.choice(
            (most, most, most - 1, generator.randrange(most + 1), generator.randrange(9), 2 * most)
        )
        name = generator.choice(("vsetvli", "vsetivli", "vsetvl"))
        rd = self.free()
        if name == "vsetivli":
            self.add(assemble(name, rd=rd, zimm=min(length, 31), vtype10=code))
            return
        everything = generator.random() < 0.2
        if not everything:
            self.add(*load_constant(_LENGTH, length))
        rs1 = 0 if everything else _LENGTH
        if name == "vsetvl":
            self.add(*load_constant(_DISTANCE, code))
            self.add(assemble(name, rd=rd, rs1=rs1, rs2=_DISTANCE))
        else:
            self.add(assemble(name, rd=rd, rs1=rs1, vtype=code))

    def is_legal(self, word: int) -> bool:
        """Whether vtype, as far as it is known, allows an instruction."""
        self._golden.shape(self.sew, self.lmul8, 0, 0)
        trap = self._golden.run(word)
        return trap is None or trap.cause is not Cause.ILLEGAL_INSTRUCTION

    def draw(self, row: InstructionKind, **chosen: int) -> int:
        """An instruction of a row."""
        word = row.match | self.generator.randrange(1 << 32) & ~row.mask
        fields = row.decode(word)
        for name in ("vd", "vs1", "vs2", "vs3"):
            if name in fields:
                fields[name] = self._register()
        if "vm" in fields:
            fields["vm"] = int(self.generator.random() < 0.6)
        if "rd" in fields:
            fields["rd"] = self.free()
        return row.encode(**fields | {k: v for k, v in chosen.items() if k in fields})

    def _register(self) -> int:
        """Mostly where groups begin, so that instructions meet."""
        generator = self.generator
        if generator.random() < 0.6:
            return generator.choice((0, 8, 16, 24)) + generator.choice((0, 0, 0, 4, 2, 1))
        return generator.randrange(32)

    def draw_legal(self, row: InstructionKind, **chosen: int) -> int | None:
        """A legal one, if there soon is one; vtype may change for it."""
        for _ in range(12):
            for _ in range(25):
                word = self.draw(row, **chosen)
                if self.is_legal(word):
                    return word
            self.set_type()
        return None


def _is_of_ventaglio(word: int) -> bool:
    """Whether golden's core has an instruction, or a CSR, that this complex has not."""
    row = kind_of(word)
    if row is None:
        return False
    fields = row.decode(word)
    of_unit = row.extension in (Extension.VENTAGLIO, Extension.POST_INCREMENT)
    return (
        (of_unit and row.memory is not None)
        or row.extension is Extension.VENTAGLIO
        or fields.get("csr") in _VENTAGLIO_CSRS
    )


def _arithmetic(writer: _VectorWriter) -> None:
    row = writer.following("arithmetic")
    chosen = {"rs1": writer.generator.randrange(32)}
    if writer.generator.random() < 0.05:
        writer.add(writer.draw(row, **chosen))
        return
    word = writer.draw_legal(row, **chosen)
    if word is not None:
        writer.add(word)


def _access(writer: _VectorWriter) -> None:
    """A load or store; mostly where memory is, mostly aligned."""
    row, generator = writer.following("memory"), writer.generator
    shape = row.memory
    assert shape is not None
    # Where code is nothing is stored: what points there serves loads only.
    base = _CODE if not shape.store and generator.random() < 0.05 else _ADDRESS
    chosen = {"rs1": base, "rs2": _DISTANCE}
    word = writer.draw_legal(row, **chosen)
    if word is None:
        return
    if shape.access in _INDEXED:
        _load_indices(writer, row.decode(word)["vs2"], shape.eew)
    elif shape.access is Access.STRIDED:
        distance = generator.choice((0, 4, 8, 12, 32, 36, -4, -8, 64, 2, 1, 3, -32, 160))
        writer.add(assemble("addi", rd=_DISTANCE, rs1=0, imm=distance))
    if base == _ADDRESS:
        _point(writer, shape)
    else:
        writer.add(*load_constant(_CODE, RESET_ADDRESS + 4 * generator.randrange(32)))
    writer.add(word)


def _load_indices(writer: _VectorWriter, register: int, eew: int) -> None:
    if writer.generator.random() < 0.2:
        return
    wild = writer.generator.random() < 0.15
    place = writer.generator.randrange(0, _TABLE_BYTES // 4, 4)
    place += 3 * _TABLE_BYTES // 4 - 64 if wild else 0
    writer.add(*load_constant(_ADDRESS, DATA_BASE + _TABLES[eew] + place))
    writer.add(assemble(f"vle{eew}.v", vd=register, rs1=_ADDRESS, vm=1))


def _point(writer: _VectorWriter, shape: MemoryShape) -> None:
    """Where an access begins: mostly in the middle of data, else at an end of memory."""
    generator = writer.generator
    size = 8 if shape.access is Access.MASK else shape.eew
    step = (writer.sew if shape.access in _INDEXED else size) // 8
    if generator.random() < 0.06:
        step = 1
    if generator.random() < 0.85:
        offset = generator.randrange(-1024, 1024) // step * step
        writer.add(assemble("addi", rd=_ADDRESS, rs1=generator.choice(POINTERS), imm=offset))
    else:
        near = generator.choice((_L1.end, _L1.end, _L1.base))
        far = generator.choice((16, 64, 512, 2048))
        offset = generator.randrange(-far, 16) // step * step
        writer.add(*load_constant(_ADDRESS, near + offset & 0xFFFFFFFF))


def _settings(writer: _VectorWriter) -> None:
    """CSRs of the unit, and a mode of rounding that exists."""
    generator = writer.generator
    name = generator.choice(_VECTOR_CSRS)
    if name == "vstart":
        value = generator.choice((0, 1, 2, 3, 5, 8, 17, 31))
        writer.add(assemble("csrrwi", csr=CSR_BY_NAME[name].address, zimm=value, rd=writer.free()))
    elif name in ("vxrm", "vcsr") or generator.random() < 0.1:
        writer.any_row(
            INSTRUCTION_BY_NAME[generator.choice(_CSR_ROWS)], csr=CSR_BY_NAME[name].address
        )
    else:
        writer.add(csr_access("csrrs", name, writer.free(), 0))
    if generator.random() < 0.3:
        mode = generator.randrange(5)
        writer.add(assemble("csrrwi", csr=CSR_BY_NAME["frm"].address, zimm=mode, rd=0))


def _store_registers(writer: _VectorWriter) -> None:
    """All of them, whatever ``vstart`` was."""
    writer.isolate()
    writer.add(assemble("csrrwi", csr=CSR_BY_NAME["vstart"].address, zimm=0, rd=0))
    writer.add(*load_constant(_WATCHED, WATCH))
    for first in range(0, 32, 8):
        writer.add(assemble("vs8r.v", vs3=first, rs1=_WATCHED))
        writer.add(assemble("addi", rd=_WATCHED, rs1=_WATCHED, imm=writer.config.vlen))


def _loop(writer: _VectorWriter) -> None:
    """A few instructions several times."""
    generator = writer.generator
    writer.add(assemble("addi", rd=_TURNS, rs1=0, imm=generator.randrange(2, 6)))
    top = writer.address
    for _ in range(generator.randrange(2, 8)):
        generator.choice((_arithmetic, _arithmetic, _access))(writer)
    writer.add(assemble("addi", rd=_TURNS, rs1=_TURNS, imm=-1))
    writer.add(assemble("andi", rd=_TURNS, rs1=_TURNS, imm=7))
    writer.add(assemble("blt", rs1=0, rs2=_TURNS, imm=top - writer.address))


def _on(writer: _VectorWriter) -> None:
    """The units are on again, sometimes after the vector unit was off for a little."""
    if writer.generator.random() < 0.2:
        writer.add(*load_constant(_DISTANCE, 0x600))
        writer.add(csr_access("csrrc", "mstatus", 0, _DISTANCE))
        for _ in range(3):
            writer.generator.choice((_arithmetic, _access))(writer)
    writer.add(*load_constant(_DISTANCE, _BITS))
    writer.add(csr_access("csrrs", "mstatus", 0, _DISTANCE))


_CSR_ROWS = ("csrrw", "csrrs", "csrrc", "csrrwi", "csrrsi", "csrrci")
_KINDS: tuple[tuple[Callable[[_VectorWriter], None], float], ...] = (
    (_arithmetic, 40),
    (_access, 25),
    (lambda writer: writer.set_type(), 8),
    (scalar_piece, 20),
    (_settings, 6),
    (_loop, 1),
    (_on, 4),
)


def vector_program(
    seed: int, config: VectorConfig, pieces: int = 200, *, every: int = 25
) -> ScalarProgram:
    """A program of so many pieces: instructions, loops, jumps.

    Parameters
    ----------
    seed : int
        Decides everything.
    config : VectorConfig
        For whom it is.
    pieces : int
        How long it is.
    every : int
        Pieces from one store of all registers to the next.
    """
    writer = _VectorWriter(random.Random(seed), config)
    begin(writer, units=_BITS, data=2 * DATA_BYTES)
    writer.set_type()
    for first in range(0, 32, 8):
        writer.add(assemble("addi", rd=_ADDRESS, rs1=POINTERS[0], imm=4 * first))
        writer.add(assemble("vl8re8.v", vd=first, rs1=_ADDRESS))
    makers, weights = zip(*_KINDS, strict=True)
    for number in range(pieces):
        writer.generator.choices(makers, weights)[0](writer)
        if number % every == every - 1:
            _store_registers(writer)
    writer.add(*load_constant(_DISTANCE, _BITS), csr_access("csrrs", "mstatus", 0, _DISTANCE))
    _store_registers(writer)
    program = finish(writer)
    assert len(program.words) * 4 < WATCH - RESET_ADDRESS
    return ScalarProgram(
        words=program.words, data=_with_tables(writer.generator, program.data), end=program.end
    )


def _with_tables(generator: random.Random, numbers: bytes) -> bytes:
    """Numbers, and indices at some distance."""
    content = bytearray(numbers + numbers[::-1])
    for eew, place in _TABLES.items():
        content += bytes(place - len(content))
        for byte in range(0, _TABLE_BYTES, eew // 8):
            value = generator.randrange(0x200) if eew == 32 else generator.randrange(1 << eew)
            value &= 0xFFC if eew == 32 else 0x7FC if eew == 16 else 0xFC
            if byte >= 3 * _TABLE_BYTES // 4 and generator.random() < 0.02:
                value = generator.randrange(1 << eew)
            content += value.to_bytes(eew // 8, "little")
    return bytes(content)
