"""Random programs with Ventaglio's instructions in every order that is legal.

Loads of weights and indices, products, clears, loads and stores of accumulators and arithmetic on
the same registers follow one another at random: nothing waits for an instruction of its own
making, as a program that is written for one machine would. Every now and then all vector
registers and all accumulators are stored.
"""

import random
import struct
from collections.abc import Callable

from fanweave.golden.isa.cluster import RESET_ADDRESS
from fanweave.golden.isa.formats import ElementFormat
from fanweave.golden.isa.riscv_csr import CSR_BY_NAME
from fanweave.golden.isa.riscv_ventaglio import VENTAGLIO_CSRS
from fanweave.golden.isa.ventaglio import IndexMode
from fanweave.hw.vector.config import VectorConfig
from fanweave.hw.vector.unit_testing import lmul_code
from fanweave.hw.vector.ventaglio_payloads import parameters
from fanweave.sim.benches.core.programs import (
    DATA_BASE,
    ScalarProgram,
    assemble,
    csr_access,
    load_constant,
)
from fanweave.sim.benches.core.random_programs import Writer, begin, finish, scalar_piece

__all__ = ["WATCH", "ventaglio_program"]

#: Where all vector registers are stored: far behind the program.
WATCH = RESET_ADDRESS + 0xF_0000
_FORMAT = CSR_BY_NAME["vtlfmt"]
_BITS = 0x6200
#: From `DATA_BASE`: where accumulators are stored and loaded, single and half-precision numbers,
#: bytes that are small numbers, and indices.
_ROWS, _SINGLES, _HALVES, _BYTES, _INDICES = 0x4000, 0x5000, 0x6000, 0x7000, 0x8000
_TABLE = 0x1000
_NUMBERS = {32: _SINGLES, 16: _HALVES, 8: _BYTES}
#: Registers of this bench's own: addresses, distances, values of CSRs.
_WEIGHTS_AT, _INDICES_AT, _STEP, _VALUE = 20, 21, 22, 23
_WEIGHTS, _INDEX_REGISTERS, _BANK = (0, 4, 8, 12, 24), (1, 2, 6, 20, 28, 29), (16, 18)


class _Writer(Writer):
    """Knows the pattern in force, so that most instructions are legal."""

    def __init__(self, generator: random.Random, config: VectorConfig) -> None:
        super().__init__(generator)
        self.config = config
        self.ventaglio = parameters(config)
        self.sew, self.lmul8 = 32, 8

    def csr(self, name: str, value: int) -> None:
        """Write a CSR."""
        self.add(*load_constant(_VALUE, value), csr_access("csrrw", name, 0, _VALUE))

    def point(self, register: int, table: int, align: int) -> None:
        """Set an address within a table."""
        offset = self.generator.randrange(_TABLE // 2) // align * align
        self.add(*load_constant(register, DATA_BASE + table + offset))

    def configure(self) -> None:
        """A pattern, and a vtype and a length that fit."""
        generator = self.generator
        element = generator.choice(self.ventaglio.formats)
        mode = generator.choice([IndexMode.N_OF_M] * 3 + list(IndexMode))
        m = generator.choice([2, 4, 4, 4, 8, generator.randrange(1, 33)])
        n = generator.randrange(1, m + 1)
        part = self.ventaglio.accumulators // len(_BANK)
        width = part if mode is not IndexMode.N_OF_M else generator.choice([0, 0, 0, part])
        released = generator.random() < 0.4
        if released:
            element, mode, m, width = ElementFormat.FP32, IndexMode.N_OF_M, 4, 0
            n = generator.choice([1, 2, 4])
            self.csr("vtlidxw", 1)
            self.csr("vtlblks", 2)
            self.csr("vtlratio", {4: 0, 2: 1, 1: 2}[n])
        self.csr("vtlwidth", width)
        word = _FORMAT.pack(
            element=int(element),
            index_mode=int(mode),
            n=n,
            m=m,
            skip_zeros=generator.randrange(2),
            extended=int(not released),
        )
        self.csr("vtlfmt", word)
        self.sew, self.lmul8 = element.bits, generator.choice([8, 8, 16, 32])
        most = part // m * n if mode is IndexMode.N_OF_M else part
        self.set_type(max(min(most, generator.choice([most, generator.randrange(1, 99)])), 1))

    def set_type(self, length: int) -> None:
        """vtype as it is noted, and a length."""
        code = lmul_code(self.lmul8) | (self.sew // 8).bit_length() - 1 << 3
        self.add(*load_constant(_VALUE, length))
        self.add(assemble("vsetvli", rd=self.free(), rs1=_VALUE, vtype=code))


def _load_weights(writer: _Writer) -> None:
    generator, sew = writer.generator, writer.sew
    register = generator.choice(_WEIGHTS)
    if generator.random() < 0.5:
        writer.point(_WEIGHTS_AT, _NUMBERS[sew], sew // 8)
        writer.add(assemble(f"vle{sew}.v", vd=register, rs1=_WEIGHTS_AT))
    else:
        _advance(writer, _WEIGHTS_AT, f"p.vle{sew}.v.rrpost", register)


def _load_indices(writer: _Writer) -> None:
    generator = writer.generator
    register, width = generator.choice(_INDEX_REGISTERS), generator.choice([8, 16, 32, 32])
    if generator.random() < 0.4:
        writer.point(_INDICES_AT, _INDICES, width // 8)
        writer.add(assemble(f"vlx{width}.v", vd=register, rs1=_INDICES_AT))
    else:
        _advance(writer, _INDICES_AT, f"p.vlx{width}.v.rrpost", register)


def _advance(writer: _Writer, pointer: int, name: str, register: int) -> None:
    writer.add(assemble(name, vd=register, rs1=pointer, rs2=_STEP))


def _product(writer: _Writer) -> None:
    generator = writer.generator
    for _ in range(generator.choice([1, 2, 2, 4])):
        if generator.random() < 0.3:
            _product_of_rows(writer)
            continue
        writer.add(
            assemble(
                generator.choice(["vfxmacc.vrf"] * 5 + ["vfxmul.vrf"]),
                vd=generator.choice(_BANK),
                fs1=generator.randrange(16, 24),
                vs2=generator.choice(_WEIGHTS),
                vs1=generator.choice(_INDEX_REGISTERS),
            )
        )


def _product_of_rows(writer: _Writer) -> None:
    """Its scalars are in v0, where weights are loaded as well."""
    generator = writer.generator
    room = writer.config.vlen // writer.sew
    rows = generator.randrange(1, min(room, generator.choice([2, 4, 31])) + 1)
    writer.add(
        assemble(
            "vfxmacc.rows",
            vd=generator.choice(_BANK),
            vs2=generator.choice(_WEIGHTS),
            vs1=generator.choice(_INDEX_REGISTERS),
            uimm=rows,
            part=generator.randrange(min(room // rows, 4)),
        )
    )


def _scalar(writer: _Writer) -> None:
    """A factor of products; sometimes zero."""
    generator = writer.generator
    name = {32: "flw", 16: "flh", 8: "flw"}[writer.sew]
    table = _NUMBERS[writer.sew] + 4 * generator.randrange(_TABLE // 4)
    writer.add(*load_constant(_VALUE, DATA_BASE + table))
    register = generator.randrange(16, 24)
    if generator.random() < 0.15:
        writer.add(assemble("fmv.w.x", fd=register, rs1=0))
    else:
        writer.add(assemble(name, fd=register, rs1=_VALUE))


def _bank_access(writer: _Writer) -> None:
    generator = writer.generator
    writer.point(_VALUE, _ROWS, 4)
    bank = generator.choice(_BANK)
    kind = generator.random()
    if kind < 0.7:
        writer.add(assemble("vse32.v", vs3=bank, rs1=_VALUE))
    elif kind < 0.85:
        writer.add(assemble("vle32.v", vd=bank, rs1=_VALUE))
    else:
        _advance(writer, _WEIGHTS_AT, "p.vle32.v.rrpost", bank)


def _arithmetic(writer: _Writer) -> None:
    """On the registers of weights and indices, by other units."""
    generator = writer.generator
    vd, vs2, vs1 = (generator.choice((*_WEIGHTS, 28)) for _ in range(3))
    name = generator.choice(["vadd.vv", "vxor.vv", "vmin.vv", "vslidedown.vi", "vmv4r.v"])
    fields = {"vd": vd & ~3, "vs2": vs2 & ~3, "vs1": vs1 & ~3, "uimm": generator.randrange(9)}
    row_fields = {"vmv4r.v": ("vd", "vs2"), "vslidedown.vi": ("vd", "vs2", "uimm")}
    names = row_fields.get(name, ("vd", "vs2", "vs1"))
    writer.add(assemble(name, **{key: fields[key] for key in names}))


def _store_weights(writer: _Writer) -> None:
    writer.point(_VALUE, _ROWS, 4)
    register = writer.generator.choice(_WEIGHTS + _INDEX_REGISTERS)
    writer.add(assemble("vs1r.v", vs3=register, rs1=_VALUE))


def _error(writer: _Writer) -> None:
    """Read the error register, or clear it; or name no pattern, until the next is set."""
    kind = writer.generator.random()
    if kind < 0.5:
        writer.add(csr_access("csrrs", "vtlerr", writer.free(), 0))
    elif kind < 0.9:
        writer.add(csr_access("csrrw", "vtlerr", writer.free(), 0))
    else:
        name = writer.generator.choice([row.name for row in VENTAGLIO_CSRS])
        if name != "vtlreg":
            writer.add(csr_access("csrrs", name, writer.free(), _VALUE))


def _restart(writer: _Writer) -> None:
    writer.add(assemble("vventclr"))


def _step(writer: _Writer) -> None:
    """A step of a product as kernels have it, but in any order."""
    pieces: list[Callable[[_Writer], None]] = [_load_weights, _load_indices, _scalar]
    pieces += [_product] * writer.generator.randrange(1, 3)
    writer.generator.shuffle(pieces)
    for piece in pieces:
        piece(writer)


_KINDS: tuple[tuple[Callable[[_Writer], None], float], ...] = (
    (_step, 30),
    (_load_weights, 8),
    (_load_indices, 8),
    (_product, 12),
    (_scalar, 4),
    (_bank_access, 8),
    (_restart, 4),
    (_arithmetic, 8),
    (_store_weights, 3),
    (_error, 3),
    (scalar_piece, 8),
    (_Writer.configure, 6),
)


def _store_all(writer: _Writer) -> None:
    """All registers and accumulators, and pointers that are where tables begin."""
    writer.csr("vtlreg", 0)
    writer.add(*load_constant(_VALUE, WATCH))
    for first in range(0, 32, 8):
        writer.add(assemble("vs8r.v", vs3=first, rs1=_VALUE))
        writer.add(assemble("addi", rd=_VALUE, rs1=_VALUE, imm=writer.config.vlen))
    writer.csr("vtlreg", sum(1 << register for register in _BANK))
    writer.configure()
    writer.csr("vtlwidth", writer.ventaglio.accumulators // len(_BANK))
    writer.add(*load_constant(_VALUE, DATA_BASE + _ROWS + 4 * writer.generator.randrange(256)))
    writer.add(assemble("vse32.v", vs3=_BANK[0], rs1=_VALUE))
    writer.add(assemble("addi", rd=_VALUE, rs1=_VALUE, imm=1024))
    writer.add(assemble("vse32.v", vs3=_BANK[1], rs1=_VALUE))
    writer.point(_WEIGHTS_AT, _SINGLES, 4)
    writer.point(_INDICES_AT, _INDICES, 4)
    writer.add(*load_constant(_STEP, 4 * writer.generator.randrange(17)))


def ventaglio_program(
    seed: int, config: VectorConfig, pieces: int = 200, *, every: int = 20
) -> ScalarProgram:
    """A program of so many pieces.

    Parameters
    ----------
    seed : int
        Decides everything.
    config : VectorConfig
        For whom it is; it has a Ventaglio unit.
    pieces : int
        How long it is.
    every : int
        Pieces from one store of all registers and accumulators to the next.
    """
    writer = _Writer(random.Random(seed), config)
    begin(writer, units=_BITS)
    _store_all(writer)
    writer.configure()
    makers, weights = zip(*_KINDS, strict=True)
    for number in range(pieces):
        writer.generator.choices(makers, weights)[0](writer)
        if number % every == every - 1:
            _store_all(writer)
            writer.configure()
    writer.add(*load_constant(_VALUE, _BITS), csr_access("csrrs", "mstatus", 0, _VALUE))
    _store_all(writer)
    program = finish(writer)
    assert len(program.words) * 4 < WATCH - RESET_ADDRESS
    return ScalarProgram(
        words=program.words, data=_with_tables(writer.generator, program.data), end=program.end
    )


def _with_tables(generator: random.Random, numbers: bytes) -> bytes:
    content = bytearray(numbers)
    content += bytes(_SINGLES - len(content))
    for code, size in (("f", 4), ("e", 2)):
        values = [generator.gauss(0, 1) for _ in range(_TABLE // size)]
        content += struct.pack(f"<{len(values)}{code}", *values)
    content += bytes(generator.randrange(256) & 0xBF for _ in range(_TABLE))
    content += bytes(generator.randrange(256) for _ in range(_TABLE // 2))
    content += bytes(generator.choice((0, generator.randrange(32))) for _ in range(_TABLE // 2))
    return bytes(content)
