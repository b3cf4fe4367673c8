"""Ventaglio's instructions on the core against the golden unit's arithmetic."""

import random

import numpy as np
import pytest

from fanweave.golden.fp import multiply, multiply_accumulate
from fanweave.golden.isa.formats import ElementFormat
from fanweave.golden.isa.riscv_csr import CSR_BY_NAME, Cause
from fanweave.golden.isa.riscv_ventaglio import VectorFault
from fanweave.golden.isa.ventaglio import IndexMode, index_bits

L1 = 0x10000000
FORMAT, ERROR = CSR_BY_NAME["vtlfmt"], CSR_BY_NAME["vtlerr"]


def pack(indices, bits):
    """Indices as bytes, least significant first, padded to a word."""
    value = sum(int(index) << place * bits for place, index in enumerate(indices))
    return value.to_bytes(-(-max(len(indices) * bits, 1) // 32) * 4, "little")


def release(bench, n, m, mapped):
    """Configure as programs of the public release do."""
    csrs = bench.hart.csrs
    csrs.write("vtlreg", mapped)
    csrs.write("vtlidxw", {1: 0, 2: 1, 4: 2, 8: 3}[max((m - 1).bit_length(), 1)])
    csrs.write("vtlblks", m.bit_length() - 1)
    csrs.write("vtlratio", (m // n).bit_length() - 1)


def numbers(generator, count):
    values = np.array([generator.gauss(0, 1) for _ in range(count)], dtype=np.float32)
    return values.view(np.uint32)


@pytest.mark.parametrize(("n", "m", "lmul8"), [(2, 4, 32), (1, 4, 16), (2, 4, 8), (1, 2, 32)])
def test_two_rows_as_released(bench, n, m, lmul8):
    """The released kernel's sequence: clear, multiply, accumulate, store; a bank of two rows."""
    generator = random.Random(n * m + lmul8)
    hart, vector = bench.hart, bench.hart.vector
    vl = bench.set_vector(32, lmul8)
    width = vl * m // n
    release(bench, n, m, 1 << 16 | 1 << 20)
    assert bench.run("vventclr") is None
    expected = np.zeros((2, width), np.uint32)
    for k in range(5):
        indices = [i for _ in range(vl // n) for i in sorted(generator.sample(range(m), n))]
        columns = np.array([i + place // n * m for place, i in enumerate(indices)])
        packed = pack(indices, (m - 1).bit_length())
        weights, scalars = numbers(generator, vl), numbers(generator, 2)
        bench.memory.span(L1, len(packed))[:] = np.frombuffer(packed, np.uint8)
        hart.x[5], hart.x[6] = L1, 64
        bench.run("p.vlx32.v.rrpost", vd=24, rs1=5, rs2=6)
        assert hart.x[5] == L1 + 64
        vector.group(8, 32, vl)[:] = weights
        for row, register in enumerate((16, 20)):
            hart.f[1] = int(scalars[row])
            name = "vfxmul.vrf" if k == 0 else "vfxmacc.vrf"
            assert bench.run(name, vd=register, fs1=1, vs2=8, vs1=24) is None
            format_ = ElementFormat.FP32
            if k == 0:
                expected[row, columns] = multiply(scalars[row], weights, format_)
            else:
                old = expected[row, columns]
                expected[row, columns] = multiply_accumulate(old, scalars[row], weights, format_)
    for row, register in enumerate((16, 20)):
        hart.x[5] = L1 + 4096 * row
        assert bench.run("vse32.v", vs3=register, rs1=5) is None
        stored = bench.memory.span(L1 + 4096 * row, 4 * width + 4).view(np.uint32)
        assert stored[:width].tolist() == expected[row].tolist()
        assert stored[width] == 0 or row == 0
    assert hart.csrs.read("vtlerr") == 0
    assert hart.fflags == 0


@pytest.mark.parametrize(
    ("n", "vl", "rows", "part"), [(1, 16, 16, 0), (1, 5, 7, 1), (2, 32, 8, 1), (2, 64, 4, 3)]
)
def test_rows_are_products_one_after_the_other(bench, n, vl, rows, part):
    """Row r as by itself: scalars from a place in v0 on, weights behind weights, whole words of
    indices."""
    generator = random.Random(vl)
    hart, vector = bench.hart, bench.hart.vector
    release(bench, n, 4, 1 << 24 | 1 << 28)
    weights, scalars = numbers(generator, rows * vl), numbers(generator, 16)
    scalars[1] = 0
    packs = [pack([generator.randrange(4) for _ in range(vl)], 2) for _ in range(rows)]
    banks = []
    for together in (True, False):
        bench.run("vventclr")
        bench.set_vector(32, 32)
        vector.vl = vl
        if together:
            vector.group(0, 32, 16)[part * rows :][:rows] = scalars[:rows]
            vector.group(8, 32, rows * vl)[:] = weights
            words = np.frombuffer(b"".join(packs), np.uint32)
            vector.group(4, 32, len(words))[:] = words
            assert bench.run("vfxmacc.rows", vd=28, vs2=8, vs1=4, uimm=rows, part=part) is None
            banks.append(hart.bank.copy())
            continue
        for row, packed in enumerate(packs):
            vector.group(8, 32, vl)[:] = weights[row * vl : (row + 1) * vl]
            vector.group(4, 8, len(packed))[:] = np.frombuffer(packed, np.uint8)
            hart.f[1] = int(scalars[row])
            assert bench.run("vfxmacc.vrf", vd=28, fs1=1, vs2=8, vs1=4) is None
        banks.append(hart.bank.copy())
    assert banks[0].any()
    assert banks[0].tolist() == banks[1].tolist()


def test_rows_that_do_not_fit(bench):
    """No row, more scalars than v0 has, weights or indices beyond v31, v0 in the bank."""
    release(bench, 2, 4, 1 << 24 | 1 << 28)
    bench.set_vector(32, 32)

    def cause(**fields):
        trap = bench.run(
            "vfxmacc.rows", **{"vd": 24, "vs2": 8, "vs1": 4, "uimm": 4, "part": 0} | fields
        )
        return trap and trap.cause

    assert cause() is None
    assert cause(uimm=16) is Cause.ILLEGAL_INSTRUCTION  # 64 registers of weights
    assert cause(vs2=17) is Cause.ILLEGAL_INSTRUCTION
    assert cause(uimm=0) is Cause.ILLEGAL_INSTRUCTION
    bench.hart.vector.vl = 4
    assert cause(uimm=16) is None
    assert cause(uimm=17) is Cause.ILLEGAL_INSTRUCTION
    assert cause(uimm=4, part=3) is None
    assert cause(uimm=5, part=3) is Cause.ILLEGAL_INSTRUCTION
    assert cause(uimm=16, part=1) is Cause.ILLEGAL_INSTRUCTION
    bench.hart.vector.vl = 64
    assert cause(vs1=31) is None
    bench.hart.vector.vl = 1
    assert cause(vs1=31, uimm=16) is None
    bench.hart.csrs.write("vtlreg", 1 << 24 | 1)
    assert cause() is Cause.ILLEGAL_INSTRUCTION


def extended(bench, element, mode, n=1, m=1, skip=0, width=0):
    csrs = bench.hart.csrs
    csrs.write(
        "vtlfmt",
        FORMAT.pack(
            element=int(element), index_mode=int(mode), n=n, m=m, skip_zeros=skip, extended=1
        ),
    )
    csrs.write("vtlwidth", width)


CASES = [
    (ElementFormat.FP16, IndexMode.N_OF_M, 3, 5),
    (ElementFormat.BF16, IndexMode.BITMASK, 1, 1),
    (ElementFormat.E4M3, IndexMode.ABSOLUTE_8, 1, 1),
    (ElementFormat.E5M2, IndexMode.N_OF_M, 2, 4),
    (ElementFormat.FP32, IndexMode.ABSOLUTE_16, 1, 1),
    (ElementFormat.INT8, IndexMode.DENSE, 1, 1),
    (ElementFormat.FP16, IndexMode.BITMASK, 1, 1),
]


@pytest.mark.parametrize(("element", "mode", "n", "m"), CASES)
@pytest.mark.parametrize("name", ["vfxmul.vrf", "vfxmacc.vrf"])
def test_formats_beyond_the_release(bench, name, element, mode, n, m):
    generator = random.Random(f"{element}{mode}{name}")
    hart, vector = bench.hart, bench.hart.vector
    for _ in range(5):
        vlmax = bench.set_vector(element.bits, 8)
        width = 96
        most = min(vlmax, width if mode is not IndexMode.N_OF_M else width // m * n)
        vl = vector.vl = generator.randrange(1, most + 1)
        hart.csrs.write("vtlreg", 1 << 16)
        extended(bench, element, mode, n, m, width=width)
        columns, packed = indices_of(generator, mode, n, m, vl, width)
        bench.memory.span(L1, len(packed))[:] = np.frombuffer(packed, np.uint8)
        hart.x[5] = L1
        assert bench.run("vlx32.v", vd=24, rs1=5) is None
        mask = (1 << element.bits) - 1
        weights = np.array([generator.randrange(mask + 1) for _ in range(vl)], np.uint32)
        scalar = generator.randrange(mask + 1)
        vector.group(8, element.bits, vl)[:] = weights
        hart.f[1] = scalar | (0xFFFF0000 if element.bits == 16 else 0)
        hart.bank[:] = numbers(generator, 256)
        expected = hart.bank[:width].copy()
        old = expected[columns]
        expected[columns] = (
            multiply(scalar, weights, element)
            if name.startswith("vfxmul")
            else multiply_accumulate(old, scalar, weights, element)
        )
        assert bench.run(name, vd=16, fs1=1, vs2=8, vs1=24) is None
        assert hart.bank[:width].tolist() == expected.tolist()
        assert hart.csrs.read("vtlerr") == 0


def indices_of(generator, mode, n, m, vl, width):
    """Columns of a row and its packed indices."""
    if mode is IndexMode.DENSE:
        return np.arange(vl), bytes(4)
    if mode is IndexMode.N_OF_M:
        blocks = -(-vl // n)
        chosen = [i for _ in range(blocks) for i in sorted(generator.sample(range(m), n))][:vl]
        columns = np.array([i + place // n * m for place, i in enumerate(chosen)])
        return columns, pack(chosen, index_bits(mode, m))
    columns = np.array(sorted(generator.sample(range(width), vl)))
    if mode is IndexMode.BITMASK:
        bits = [int(c in set(columns.tolist())) for c in range(width)]
        return columns, pack(bits, 1)
    return columns, pack(columns, index_bits(mode))


def test_zero_scalars_can_be_skipped(bench):
    """A skipped product leaves a NaN weight without effect."""
    hart = bench.hart
    bench.set_vector(32, 8, vl=4)
    hart.csrs.write("vtlreg", 1 << 16)
    hart.vector.group(8, 32, 4)[:] = 0x7FC00000
    for skip, result in ((1, 0x3F800000), (0, 0x7FC00000)):
        extended(bench, ElementFormat.FP32, IndexMode.DENSE, skip=skip, width=4)
        hart.bank[:] = 0x3F800000
        hart.f[1] = 0x80000000
        bench.run("vfxmacc.vrf", vd=16, fs1=1, vs2=8, vs1=24)
        assert hart.bank[:4].tolist() == [result] * 4


@pytest.mark.parametrize(
    ("change", "fields", "cause"),
    [
        ({"vtlreg": 0}, {}, VectorFault.NOT_IN_BANK),
        ({"vtlratio": 3}, {}, VectorFault.ILLEGAL_FORMAT),
        ({"vtlreg": 0b11111 << 12}, {"vd": 12}, VectorFault.OVER_CONFIGURATION),
        ({"vtlfmt": 1 << 31 | 7}, {}, VectorFault.ILLEGAL_FORMAT),
        ({"vtlfmt": 1 << 31 | 2 << 4}, {}, VectorFault.ILLEGAL_FORMAT),
        ({"vtlfmt": 1 << 31 | 1}, {}, VectorFault.ILLEGAL_FORMAT),
    ],
)
def test_errors_trap_and_say_why(bench, change, fields, cause):
    """SEW 32, LMUL 4 at 2:4: 128 columns a row."""
    bench.set_vector(32, 32)
    release(bench, 2, 4, 1 << 16)
    for name, value in change.items():
        bench.hart.csrs.write(name, value)
    before = bench.hart.bank.copy()
    operands = {"vd": 16, "fs1": 1, "vs2": 8, "vs1": 24} | fields
    assert bench.run("vfxmacc.vrf", **operands).cause == Cause.ILLEGAL_INSTRUCTION
    error = bench.hart.csrs.read("vtlerr")
    assert ERROR.field("cause").extract(error) == cause
    assert (bench.hart.bank == before).all()
    bench.run("csrrw", rd=0, rs1=0, csr=0x7CE)
    assert bench.hart.csrs.read("vtlerr") == 0


def test_columns_beyond_the_tile_are_left_out_and_reported(bench):
    hart = bench.hart
    bench.set_vector(32, 8, vl=3)
    hart.csrs.write("vtlreg", 1 << 16)
    extended(bench, ElementFormat.FP32, IndexMode.ABSOLUTE_8, width=4)
    hart.vector.group(24, 8, 3)[:] = [1, 9, 2]
    hart.vector.group(8, 32, 3)[:] = 0x3F800000
    hart.f[1] = 0x40000000
    assert bench.run("vfxmacc.vrf", vd=16, fs1=1, vs2=8, vs1=24) is None
    assert hart.bank[:12].tolist() == [0, 0x40000000, 0x40000000, *[0] * 9]
    error = hart.csrs.read("vtlerr")
    assert ERROR.field("cause").extract(error) == VectorFault.INDEX_RANGE
    assert ERROR.field("element").extract(error) == 1


def test_the_bank_takes_loads_and_refuses_arithmetic(bench):
    hart = bench.hart
    bench.set_vector(32, 8, vl=16)
    release(bench, 2, 4, 1 << 16)
    bench.memory.span(L1, 128).view(np.uint32)[:] = range(32)
    hart.x[5] = L1
    assert bench.run("vle32.v", vd=16, rs1=5) is None
    assert hart.bank[:33].tolist() == [*range(32), 0]
    assert bench.run("vadd.vv", vd=8, vs2=16, vs1=24).cause == Cause.ILLEGAL_INSTRUCTION
    assert bench.run("vle16.v", vd=16, rs1=5).cause == Cause.ILLEGAL_INSTRUCTION
    hart.x[5] = L1 + 2
    assert bench.run("vse32.v", vs3=16, rs1=5).cause == Cause.STORE_MISALIGNED
    hart.x[5] = 0
    trap = bench.run("vse32.v", vs3=16, rs1=5)
    assert (trap.cause, trap.value) == (Cause.STORE_FAULT, 0)
    bench.run("vventclr")
    assert not hart.bank.any()


@pytest.mark.parametrize(("name", "words"), [("vlx8.v", 1), ("vlx16.v", 1), ("vlx32.v", 1)])
def test_packed_loads_take_as_many_bytes_as_the_indices(bench, name, words):
    """13 indices of 2 bits: 26 bits in 4, 2 or 1 elements."""
    hart = bench.hart
    bench.set_vector(32, 8, vl=13)
    release(bench, 2, 4, 1 << 16)
    bench.memory.span(L1, 8)[:] = range(1, 9)
    hart.x[5] = L1
    bench.run(name, vd=24, rs1=5)
    assert hart.vector.group(24, 8, 6).tolist() == [1, 2, 3, 4, 0, 0]
    assert bench.run("vlx64.v", vd=24, rs1=5).cause == Cause.ILLEGAL_INSTRUCTION


def test_old_forms_are_illegal(bench):
    bench.set_vector(32, 8)
    for name in ("vfxmacc.vf", "vfxmul.vf"):
        assert bench.run(name, vd=8, fs1=1, vs2=16).cause == Cause.ILLEGAL_INSTRUCTION
