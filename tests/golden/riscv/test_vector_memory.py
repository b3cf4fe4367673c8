"""Every vector load and store against plain Python on bytes, and what happens where they fault."""

import random

import pytest

from fanweave.golden.isa.riscv import INSTRUCTION_BY_NAME
from fanweave.golden.isa.riscv_csr import Cause
from fanweave.golden.isa.riscv_encoding import Access
from fanweave.golden.isa.riscv_vector_memory import VECTOR_MEMORY_INSTRUCTIONS

L1, SIZE = 0x10000000, 128 * 1024
START = L1 + 0x8000
INDEXED = (Access.INDEXED_ORDERED, Access.INDEXED_UNORDERED)
ROWS = [
    row
    for row in VECTOR_MEMORY_INSTRUCTIONS
    if row.memory.access not in (Access.PACKED_INDEX, Access.WHOLE, Access.MASK)
]


def draw(row, bench, generator):
    """Random vtype that the row allows; returns SEW and registers of a field."""
    while True:
        sew, lmul8 = generator.choice([8, 16, 32]), generator.choice([1, 2, 4, 8, 16, 32, 64])
        emul8 = row.memory.eew * lmul8 // sew
        data8 = lmul8 if row.memory.access in INDEXED else emul8
        if sew * 8 > lmul8 * 32 or not 1 <= emul8 <= 64:
            continue
        count = max(data8 // 8, 1)
        if count * row.memory.fields <= 8:
            break
    vlmax = bench.set_vector(sew, lmul8)
    bench.hart.vector.vl = generator.choice([0, 1, vlmax, generator.randrange(vlmax + 1)])
    bench.hart.vector.vstart = generator.choice([0, 0, generator.randrange(vlmax)])
    return sew, count


def addresses(row, bench, generator, size, vl):
    """Address of each segment, after operands have been set."""
    hart, fields = bench.hart, row.memory.fields
    hart.x[5] = START
    if row.memory.access is Access.STRIDED:
        stride = size * generator.choice([0, 1, -1, 3, -2 * fields, fields])
        hart.x[6] = stride & 0xFFFFFFFF
        return [START + i * stride for i in range(vl)]
    if row.memory.access in INDEXED:
        index = hart.vector.group(24, row.memory.eew, vl)
        limit = min(1 << row.memory.eew, 8192) // size
        index[:] = [size * generator.randrange(limit) for _ in range(vl)]
        return [START + int(i) for i in index]
    return [START + i * size * fields for i in range(vl)]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_loads_and_stores(row, make_bench):
    generator = random.Random(row.name)
    bench = make_bench()
    if row.memory.eew == 64:
        trap = bench.run(row.name, vd=8, vs3=8, rs1=5, rs2=6)
        assert trap.cause == Cause.ILLEGAL_INSTRUCTION  # ELEN is 32
        return
    vector = bench.hart.vector
    memory = bench.memory.span(L1, SIZE)
    for _ in range(6):
        sew, count = draw(row, bench, generator)
        bits = sew if row.memory.access in INDEXED else row.memory.eew
        size, vl, start, vm = bits // 8, vector.vl, vector.vstart, generator.randrange(2)
        bench.fill(generator)
        memory[:] = vector.bytes.copy().repeat(64)[:SIZE]
        places = addresses(row, bench, generator, size, vl)
        active = [i >= start and bool(vm or b) for i, b in enumerate(vector.mask_bits(0, vl))]
        expected_memory, expected = bytearray(memory.tobytes()), bytearray(vector.bytes.tobytes())
        for i, place in enumerate(places):
            for field in range(row.memory.fields if active[i] else 0):
                at = place - L1 + field * size
                register = (8 + field * count) * 64 + i * size
                if row.memory.store:
                    expected_memory[at : at + size] = expected[register : register + size]
                else:
                    expected[register : register + size] = expected_memory[at : at + size]
        assert bench.run(row.name, vd=8, vs3=8, vs2=24, rs1=5, rs2=6, vm=vm) is None
        assert vector.bytes.tobytes() == bytes(expected), (sew, vl, start, vm)
        assert memory.tobytes() == bytes(expected_memory)
        assert (vector.vstart, vector.vl) == (0, vl)


@pytest.mark.parametrize("store", [False, True], ids=["load", "store"])
def test_masks_move_as_bytes(bench, store):
    vector = bench.hart.vector
    bench.set_vector(32, 8, vl=13)
    bench.fill(random.Random(1))
    bench.memory.store(L1, 4, 0x11223344)
    bench.hart.x[5] = L1
    first = vector.group(8, 8, 4).tolist()
    bench.run("vsm.v" if store else "vlm.v", vd=8, vs3=8, rs1=5)
    if store:
        assert bench.memory.span(L1, 4).tolist() == [*first[:2], 0x22, 0x11]
    else:
        assert vector.group(8, 8, 4).tolist() == [0x44, 0x33, *first[2:]]


@pytest.mark.parametrize("count", [1, 2, 4, 8])
@pytest.mark.parametrize("eew", [8, 16, 32])
def test_whole_registers(bench, count, eew):
    vector = bench.hart.vector
    bench.fill(random.Random(count))
    bench.hart.x[5] = L1
    source = vector.group(16, 8, 64 * count).tolist()
    assert bench.run(f"vs{count}r.v", vs3=16, rs1=5) is None  # vtype is illegal here
    assert bench.memory.span(L1, 64 * count).tolist() == source
    assert bench.run(f"vl{count}re{eew}.v", vd=8, rs1=5) is None
    assert vector.group(8, 8, 64 * count).tolist() == source
    if count > 1:
        trap = bench.run(f"vl{count}re{eew}.v", vd=9, rs1=5)
        assert trap.cause == Cause.ILLEGAL_INSTRUCTION


@pytest.mark.parametrize(("name", "store"), [("vle32.v", False), ("vse32.v", True)])
def test_a_fault_is_precise_and_can_be_resumed(bench, name, store):
    """The last two of six elements lie behind the L1."""
    hart, vector = bench.hart, bench.hart.vector
    bench.set_vector(32, 8, vl=6)
    bench.fill(random.Random(1))
    end = L1 + SIZE
    bench.memory.span(end - 16, 16)[:] = range(16)
    before = vector.group(8, 8, 64).tolist()
    hart.x[5] = end - 16
    trap = bench.run(name, vd=8, vs3=8, rs1=5)
    assert (trap.cause, trap.value) == (Cause.STORE_FAULT if store else Cause.LOAD_FAULT, end)
    assert (vector.vstart, hart.retired) == (4, 0)
    if store:
        assert bench.memory.span(end - 16, 16).tolist() == before[:16]
    else:
        assert vector.group(8, 8, 64).tolist() == [*range(16), *before[16:]]
    hart.x[5] = L1
    bench.run(name, vd=8, vs3=8, rs1=5)
    if store:
        assert bench.memory.span(L1, 24).tolist() == [0] * 16 + before[16:24]
    else:
        assert vector.group(8, 8, 24).tolist() == [*range(16), *[0] * 8]
    assert vector.vstart == 0


def test_misaligned_elements(bench):
    bench.set_vector(16, 8, vl=4)
    bench.hart.x[5], bench.hart.x[6] = L1, 3
    trap = bench.run("vlse16.v", vd=8, rs1=5, rs2=6)
    assert (trap.cause, trap.value) == (Cause.LOAD_MISALIGNED, L1 + 3)
    assert bench.hart.vector.vstart == 1
    trap = bench.run("vsse16.v", vs3=8, rs1=5, rs2=6)
    assert (trap.cause, trap.value) == (Cause.STORE_MISALIGNED, L1 + 3)


def test_masked_elements_do_not_fault(bench):
    bench.set_vector(32, 8, vl=4)
    bench.hart.vector.bytes[0] = 0b0011
    bench.hart.x[5] = L1 + SIZE - 8
    assert bench.run("vle32.v", vd=8, rs1=5, vm=0) is None


def test_fault_only_first(bench):
    vector = bench.hart.vector
    bench.set_vector(32, 8, vl=6)
    bench.hart.x[5] = L1 + SIZE - 8
    assert bench.run("vle32ff.v", vd=8, rs1=5) is None
    assert vector.vl == 2
    bench.hart.x[5] = L1 + SIZE
    assert bench.run("vle32ff.v", vd=8, rs1=5).cause == Cause.LOAD_FAULT


def test_vectors_do_not_reach_peripherals_or_outer_memory(bench):
    bench.set_vector(32, 8, vl=1)
    for address in (0x20000000, 0xC0000000):
        bench.hart.x[5] = address
        assert bench.run("vle32.v", vd=8, rs1=5).cause == Cause.LOAD_FAULT


@pytest.mark.parametrize(
    ("name", "fields", "sew", "lmul8"),
    [
        ("vle32.v", {"vd": 9}, 32, 16),
        ("vle32.v", {"vd": 0, "vm": 0}, 32, 8),
        ("vle8.v", {"vd": 8}, 32, 2),
        ("vlseg3e32.v", {"vd": 8}, 32, 32),
        ("vlseg2e32.v", {"vd": 31}, 32, 8),
        ("vluxei8.v", {"vd": 8, "vs2": 9}, 32, 16),
        ("vluxei32.v", {"vd": 9, "vs2": 8}, 16, 8),
        ("vluxseg2ei32.v", {"vd": 8, "vs2": 9}, 32, 8),
        ("vluxei32.v", {"vd": 8, "vs2": 0, "vm": 0}, 32, 8),
    ],
)
def test_illegal_groups(bench, name, fields, sew, lmul8):
    bench.set_vector(sew, lmul8)
    bench.hart.x[5] = L1
    assert bench.run(name, **fields, rs1=5).cause == Cause.ILLEGAL_INSTRUCTION


def test_a_core_with_short_segments(make_bench):
    bench = make_bench(segments=2)
    bench.set_vector(32, 8)
    bench.hart.x[5] = L1
    assert bench.run("vlseg2e32.v", vd=8, rs1=5) is None
    assert bench.run("vlseg3e32.v", vd=8, rs1=5).cause == Cause.ILLEGAL_INSTRUCTION


def test_elements_of_64_bits(make_bench):
    bench = make_bench(elen=64)
    vector = bench.hart.vector
    bench.set_vector(64, 8, vl=3)
    bench.memory.span(L1, 24)[:] = range(24)
    bench.hart.x[5], bench.hart.x[6] = L1, 24
    bench.run("vle64.v", vd=8, rs1=5)
    assert vector.group(8, 8, 24).tolist() == list(range(24))
    bench.run("p.vle64.v.rrpost", vd=9, rs1=5, rs2=6)
    assert vector.group(9, 8, 24).tolist() == list(range(24))
    assert bench.hart.x[5] == L1 + 24
    bench.run("vmulhu.vv", vd=10, vs2=8, vs1=8)
    first = int.from_bytes(range(8), "little")
    assert int(vector.group(10, 64, 1)[0]) == first * first >> 64


@pytest.mark.parametrize("eew", [8, 16, 32])
def test_post_increment_loads(bench, eew):
    bench.set_vector(eew, 8)
    bench.memory.span(L1, 64)[:] = range(64)
    bench.hart.x[5], bench.hart.x[6] = L1, -8 & 0xFFFFFFFF
    bench.run(f"p.vle{eew}.v.rrpost", vd=8, rs1=5, rs2=6)
    assert bench.hart.vector.group(8, 8, 64).tolist() == list(range(64))
    assert bench.hart.x[5] == L1 - 8
    assert bench.run(f"p.vle{eew}.v.rrpost", vd=8, rs1=5, rs2=6).cause == Cause.LOAD_FAULT
    assert bench.hart.x[5] == L1 - 8


def test_the_rows_of_this_file_are_all():
    named = {row.name for row in ROWS} | {"vlm.v", "vsm.v"}
    named |= {f"vl{n}re{e}.v" for n in (1, 2, 4, 8) for e in (8, 16, 32, 64)}
    named |= {f"vs{n}r.v" for n in (1, 2, 4, 8)} | {f"vlx{e}.v" for e in (8, 16, 32, 64)}
    assert named == {row.name for row in VECTOR_MEMORY_INSTRUCTIONS}
    assert INSTRUCTION_BY_NAME.keys() >= named
