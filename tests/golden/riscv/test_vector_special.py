"""Configuration, masks, permutations, reductions and conversions against plain Python."""

import random

import pytest
import softfloatpy as sf

from fanweave.golden.fp.instructions.compute import compute
from fanweave.golden.fp.instructions.operation import Operation
from fanweave.golden.isa.formats import ElementFormat
from fanweave.golden.isa.riscv import INSTRUCTION_BY_NAME
from fanweave.golden.isa.riscv_csr import Cause

ROUNDS = 15
M = 0xFFFFFFFF
KIND = {16: int(ElementFormat.FP16), 32: int(ElementFormat.FP32)}


def sgn(value, bits):
    return value - (1 << bits) if value >> bits - 1 & 1 else value


def draw(bench, generator, widths=(8, 16, 32)):
    """Random vtype, length and registers."""
    while True:
        sew, lmul8 = generator.choice(widths), generator.choice([1, 2, 4, 8, 16, 32, 64])
        if sew * 8 <= lmul8 * 32:
            break
    vlmax = bench.set_vector(sew, lmul8)
    bench.hart.vector.vl = generator.choice([1, vlmax, generator.randrange(1, vlmax + 1)])
    bench.fill(generator)
    return sew


@pytest.mark.parametrize(
    ("avl", "rd", "rs1", "vtype", "vl"),
    [
        (100, 7, 5, 0b010_010, 64),  # e32, m4
        (10, 7, 5, 0b010_010, 10),
        (M, 7, 5, 0b000_011, 512),  # e8, m8
        (0, 7, 0, 0b010_000, 16),  # the longest
        (5, 7, 5, 0b001_111, 5),  # e16, mf2
        (5, 7, 5, 0b010_111, 0),  # e32, mf2: there is none with ELEN 32
        (5, 7, 5, 0b011_000, 0),  # e64
        (5, 7, 5, 0b000_101, 0),  # e8, mf8
        (5, 7, 5, 0b000_100, 0),  # reserved LMUL
        (5, 7, 5, 0x100, 0),
    ],
)
def test_configuration(bench, avl, rd, rs1, vtype, vl):
    hart = bench.hart
    hart.x[5], hart.x[6] = avl, vtype
    bench.run("vsetvli", rd=rd, rs1=rs1, vtype=vtype)
    assert (hart.x[7], hart.vector.vl) == (vl, vl)
    assert hart.csrs.read("vtype") == (vtype if vl else 1 << 31)
    bench.run("vsetvl", rd=rd, rs1=rs1, rs2=6)
    assert (hart.x[7], hart.vector.vl) == (vl, vl)
    if avl < 32 and rs1:
        bench.run("vsetivli", rd=rd, zimm=avl, vtype10=vtype & 0x3FF)
        assert hart.vector.vl == vl


def test_configuration_with_elements_of_64_bits(make_bench):
    bench = make_bench(elen=64)
    for vtype, vl in ((0b011_000, 8), (0b000_101, 8), (0b011_111, 0)):
        bench.run("vsetvli", rd=7, rs1=0, vtype=vtype)
        assert bench.hart.x[7] == vl


def test_keeping_vl(bench):
    hart = bench.hart
    bench.run("vsetivli", rd=7, zimm=10, vtype10=0b010_000)
    bench.run("vsetvli", rd=0, rs1=0, vtype=0b001_111)  # e16, mf2: as many elements
    assert (hart.vector.vl, hart.vector.sew) == (10, 16)
    bench.run("vsetvli", rd=0, rs1=0, vtype=0b010_010)
    assert (hart.vector.vl, hart.csrs.read("vtype")) == (0, 1 << 31)


@pytest.mark.parametrize(
    ("name", "function"),
    [
        ("vmand.mm", lambda a, b: a and b),
        ("vmnand.mm", lambda a, b: not (a and b)),
        ("vmandn.mm", lambda a, b: a and not b),
        ("vmxor.mm", lambda a, b: a != b),
        ("vmor.mm", lambda a, b: a or b),
        ("vmnor.mm", lambda a, b: not (a or b)),
        ("vmorn.mm", lambda a, b: a or not b),
        ("vmxnor.mm", lambda a, b: a == b),
    ],
)
def test_mask_logic(bench, name, function):
    generator = random.Random(name)
    vector = bench.hart.vector
    for _ in range(ROUNDS):
        draw(bench, generator)
        vl = vector.vl
        a, b, old = (vector.mask_bits(r, 512).tolist() for r in (16, 24, 8))
        bench.run(name, vd=8, vs2=16, vs1=24)
        expected = [bool(function(x, y)) for x, y in zip(a[:vl], b[:vl], strict=True)] + old[vl:]
        assert vector.mask_bits(8, 512).tolist() == expected


@pytest.mark.parametrize(
    "name", ["vcpop.m", "vfirst.m", "vmsbf.m", "vmsif.m", "vmsof.m", "viota.m"]
)
def test_mask_scans(bench, name):
    generator = random.Random(name)
    hart, vector = bench.hart, bench.hart.vector
    for _ in range(ROUNDS):
        sew, vm = draw(bench, generator), generator.randrange(2)
        vl = vector.vl
        if generator.random() < 0.5:
            vector.group(16, 8, 64)[: generator.randrange(vl // 8 + 2)] = 0
        active = [bool(vm or bit) for bit in vector.mask_bits(0, vl)]
        bits = [bool(bit) and on for bit, on in zip(vector.mask_bits(16, vl), active, strict=True)]
        first = bits.index(True) if True in bits else vl
        old_bits = vector.mask_bits(8, vl).tolist()
        old = vector.group(8, sew, vl).tolist()
        bench.run(name, rd=7, vd=8, vs2=16, vm=vm)
        if name == "vcpop.m":
            assert hart.x[7] == sum(bits)
        elif name == "vfirst.m":
            assert hart.x[7] == (first if first < vl else M)
        elif name == "viota.m":
            expected = [sum(bits[:i]) if active[i] else old[i] for i in range(vl)]
            wrapped = [value & (1 << sew) - 1 for value in expected]
            assert vector.group(8, sew, vl).tolist() == wrapped
        else:
            place = {"vmsbf.m": first.__gt__, "vmsif.m": first.__ge__, "vmsof.m": first.__eq__}[
                name
            ]
            expected = [place(i) if active[i] else old_bits[i] for i in range(vl)]
            assert vector.mask_bits(8, vl).tolist() == expected


def slide(name, group, offset, old, vl, scalar):
    """What vslide gives, before masks."""
    if "1" in name:
        source = group[:vl]
        return [scalar, *source[:-1]] if "up" in name else [*source[1:], scalar]
    if "up" in name:
        return [old[i] if i < offset else group[i - offset] for i in range(vl)]
    return [group[i + offset] if i + offset < len(group) else 0 for i in range(vl)]


@pytest.mark.parametrize(
    "name",
    [
        *("vslideup.vx", "vslideup.vi", "vslidedown.vx", "vslidedown.vi"),
        *("vslide1up.vx", "vslide1down.vx", "vfslide1up.vf", "vfslide1down.vf"),
    ],
)
def test_slides(bench, name):
    generator = random.Random(name)
    hart, vector = bench.hart, bench.hart.vector
    for _ in range(ROUNDS):
        sew, vm = draw(bench, generator, (16, 32) if "f" in name else (8, 16, 32)), 1
        vl, vm = vector.vl, generator.randrange(2)
        offset = generator.choice([0, 1, 3, generator.randrange(600), M]) if "x" in name else (
            generator.randrange(32))  # fmt: skip
        hart.x[5], hart.f[5] = offset, 0xFFFF1234
        group = vector.group(16, sew, vector.vlmax).tolist()
        old = vector.group(8, sew, vl).tolist()
        scalar = (0xFFFF1234 if "f" in name else offset) & (1 << sew) - 1
        moved = slide(name, group, offset, old, vl, scalar)
        active = [bool(vm or bit) for bit in vector.mask_bits(0, vl)]
        bench.run(name, vd=8, vs2=16, rs1=5, fs1=5, uimm=offset % 32, vm=vm)
        expected = [moved[i] if active[i] else old[i] for i in range(vl)]
        assert vector.group(8, sew, vl).tolist() == expected, (sew, vl, offset)


@pytest.mark.parametrize("name", ["vrgather.vv", "vrgather.vx", "vrgather.vi", "vrgatherei16.vv"])
def test_gathers(bench, name):
    generator = random.Random(name)
    hart, vector = bench.hart, bench.hart.vector
    for _ in range(ROUNDS):
        sew, vm = draw(bench, generator), generator.randrange(2)
        if "16" in name and not 1 <= 16 * vector.lmul8 // sew <= 64:
            continue
        vl, bits = vector.vl, 16 if "16" in name else sew
        indices = vector.group(24, bits, vl)
        indices %= min(2 * vl, (1 << bits) - 1)
        place = generator.choice([0, vl - 1, M, 5])
        hart.x[5] = place
        chosen = {"v": indices.tolist(), "x": [place] * vl, "i": [place % 32] * vl}[name[-1]]
        group = vector.group(16, sew, vector.vlmax).tolist()
        old = vector.group(8, sew, vl).tolist()
        active = [bool(vm or bit) for bit in vector.mask_bits(0, vl)]
        bench.run(name, vd=8, vs2=16, vs1=24, rs1=5, uimm=place % 32, vm=vm)
        taken = [group[i] if i < len(group) else 0 for i in chosen]
        expected = [taken[i] if active[i] else old[i] for i in range(vl)]
        assert vector.group(8, sew, vl).tolist() == expected


def test_compress(bench):
    generator = random.Random(1)
    vector = bench.hart.vector
    for _ in range(ROUNDS):
        sew, vl = draw(bench, generator), bench.hart.vector.vl
        old, source = vector.group(8, sew, vl).tolist(), vector.group(16, sew, vl).tolist()
        kept = [v for v, bit in zip(source, vector.mask_bits(24, vl), strict=True) if bit]
        bench.run("vcompress.vm", vd=8, vs2=16, vs1=24)
        assert vector.group(8, sew, vl).tolist() == kept + old[len(kept) :]


def test_scalar_moves(bench):
    generator = random.Random(1)
    hart, vector = bench.hart, bench.hart.vector
    for _ in range(ROUNDS):
        sew = draw(bench, generator)
        value = int(vector.group(16, sew, 1)[0])
        bench.run("vmv.x.s", rd=7, vs2=16)
        assert hart.x[7] == sgn(value, sew) & M
        hart.x[5] = generator.randrange(1 << 32)
        before = vector.group(8, sew, 512 // sew).tolist()
        bench.run("vmv.s.x", vd=8, rs1=5)
        expected = [hart.x[5] & (1 << sew) - 1, *before[1:]]
        assert vector.group(8, sew, 512 // sew).tolist() == expected
        if sew == 8:
            continue
        bench.run("vfmv.f.s", fd=7, vs2=16)
        assert hart.f[7] == (value | 0xFFFF0000 if sew == 16 else value)
        bench.run("vfmv.s.f", vd=9, fs1=7)
        assert int(vector.group(9, sew, 1)[0]) == value
    vector.vl = 0
    bench.run("vmv.x.s", rd=7, vs2=16)
    assert hart.x[7] == sgn(int(vector.group(16, vector.sew, 1)[0]), vector.sew) & M


@pytest.mark.parametrize("count", [1, 2, 4, 8])
def test_whole_register_moves(bench, count):
    vector = bench.hart.vector
    bench.fill(random.Random(count))
    source = vector.group(16, 8, 64 * count).tolist()
    behind = vector.group(8 + count, 8, 8).tolist()
    assert bench.run(f"vmv{count}r.v", vd=8, vs2=16) is None  # vtype is illegal here
    assert vector.group(8, 8, 64 * count).tolist() == source
    assert vector.group(8 + count, 8, 8).tolist() == behind
    if count > 1:
        assert bench.run(f"vmv{count}r.v", vd=9, vs2=16).cause == Cause.ILLEGAL_INSTRUCTION


REDUCTIONS = {
    "vredsum": lambda w, s, v: s + sum(v),
    "vredand": lambda w, s, v: folded(lambda a, b: a & b, s, v),
    "vredor": lambda w, s, v: folded(lambda a, b: a | b, s, v),
    "vredxor": lambda w, s, v: folded(lambda a, b: a ^ b, s, v),
    "vredminu": lambda w, s, v: min([s, *v]),
    "vredmin": lambda w, s, v: min(sgn(x, w) for x in (s, *v)),
    "vredmaxu": lambda w, s, v: max([s, *v]),
    "vredmax": lambda w, s, v: max(sgn(x, w) for x in (s, *v)),
    "vwredsumu": lambda w, s, v: s + sum(v),
    "vwredsum": lambda w, s, v: s + sum(sgn(x, w) for x in v),
}


def folded(function, start, values):
    for value in values:
        start = function(start, value)
    return start


@pytest.mark.parametrize("base", REDUCTIONS)
def test_integer_reductions(bench, base):
    generator = random.Random(base)
    vector, factor = bench.hart.vector, 2 if base.startswith("vw") else 1
    for _ in range(ROUNDS):
        sew, vm = draw(bench, generator, (8, 16) if factor == 2 else (8, 16, 32)), 1
        vm, vl = generator.randrange(2), vector.vl
        values = [
            int(v)
            for v, bit in zip(vector.group(16, sew, vl), vector.mask_bits(0, vl), strict=True)
            if vm or bit
        ]
        start = int(vector.group(24, factor * sew, 1)[0])
        before = vector.group(8, factor * sew, 512 // sew // factor).tolist()
        bench.run(f"{base}.vs", vd=8, vs2=16, vs1=24, vm=vm)
        result = REDUCTIONS[base](sew, start, values) & (1 << factor * sew) - 1
        after = vector.group(8, factor * sew, 512 // sew // factor).tolist()
        assert after == [result, *before[1:]]


@pytest.mark.parametrize(
    "base", ["vfredusum", "vfredosum", "vfredmin", "vfredmax", "vfwredusum", "vfwredosum"]
)
def test_float_reductions_go_through_the_elements_in_order(bench, base):
    generator = random.Random(base)
    vector, wide = bench.hart.vector, base.startswith("vfw")
    for _ in range(ROUNDS):
        sew, vm = draw(bench, generator, (16,) if wide else (16, 32)), generator.randrange(2)
        vl, bits = vector.vl, 2 * sew if wide else sew
        group = vector.group(16, sew, vl)
        one = 0x3C00 if sew == 16 else 0x3F800000
        group[:] = [one + generator.randrange(-one // 8, one // 8) for _ in range(vl)]
        total = int(vector.group(24, bits, 1)[0])
        for value, bit in zip(group.tolist(), vector.mask_bits(0, vl), strict=True):
            if vm or bit:
                total = one_step(base, total, value, sew, bits)
        bench.run(f"{base}.vs", vd=8, vs2=16, vs1=24, vm=vm)
        assert int(vector.group(8, bits, 1)[0]) == total


def one_step(base, total, value, sew, bits):
    """One addition in SoftFloat, or one minimum."""
    if "sum" not in base:
        operation = Operation.MIN if base.endswith("min") else Operation.MAX
        return compute(operation, total, value, 0, KIND[bits], KIND[sew], KIND[bits], 0, 32)[0]
    sf.set_rounding_mode(sf.RoundingMode.NEAR_EVEN)
    number = {16: sf.Float16, 32: sf.Float32}
    addend = number[sew].from_bytes(value.to_bytes(sew // 8, "big"))
    if bits != sew:
        addend = addend.to_f32()
    start = number[bits].from_bytes(total.to_bytes(bits // 8, "big"))
    result = number[bits].add(start, addend)
    if result.is_nan():
        return 0x7E00 if bits == 16 else 0x7FC00000
    return int.from_bytes(result.to_bytes(), "big")


CONVERSIONS = [
    name
    for name in INSTRUCTION_BY_NAME
    if name.split(".")[0] in ("vfcvt", "vfwcvt", "vfncvt", "vfrsqrt7", "vfrec7", "vfclass")
]


@pytest.mark.parametrize("name", CONVERSIONS)
def test_conversions(bench, name):
    """Against the scalar operations, which are tested against SoftFloat."""
    generator = random.Random(name)
    hart, vector = bench.hart, bench.hart.vector
    base, parts = name.split(".")[0], name.split(".")[1:-1]
    for _ in range(ROUNDS):
        integers_of_8 = name.startswith("vfwcvt.f.x") or (
            base == "vfncvt" and not name.startswith(("vfncvt.f", "vfncvt.rod"))
        )
        sew = draw(bench, generator, (8, 16) if integers_of_8 else (16, 32))
        source = 2 * sew if base == "vfncvt" else sew
        target = 2 * sew if base == "vfwcvt" else sew
        if max(source, target) > 32 or max(source, target) * vector.lmul8 // sew > 64:
            continue
        hart.frm, hart.fflags = generator.randrange(5), 0
        mode = {"rtz": 1, "rod": 6}.get(parts[0] if parts else "", hart.frm)
        vl = vector.vl
        values = vector.group(16, source, vl).tolist()
        flags, expected = 0, []
        for value in values:
            operation = scalar_operation(base, parts)
            if operation is Operation.FROM_SIGNED:
                value = sgn(value, source)
            kinds = (KIND.get(source, 0), KIND.get(source, 0), KIND.get(target, 0))
            result, raised = compute(operation, value, 0, 0, *kinds, mode, target)
            flags |= raised
            expected.append(result & (1 << target) - 1)
        assert bench.run(name, vd=8, vs2=16) is None
        assert vector.group(8, target, vl).tolist() == expected
        assert hart.fflags == flags


def scalar_operation(base, parts):
    named = {
        "vfrsqrt7": Operation.RECIPROCAL_ROOT_7,
        "vfrec7": Operation.RECIPROCAL_7,
        "vfclass": Operation.CLASS,
    }
    if base in named:
        return named[base]
    target, source = parts[-2:]
    return {
        ("f", "f"): Operation.CONVERT,
        ("f", "x"): Operation.FROM_SIGNED,
        ("f", "xu"): Operation.FROM_UNSIGNED,
        ("x", "f"): Operation.TO_SIGNED,
        ("xu", "f"): Operation.TO_UNSIGNED,
    }[target, source]


ILLEGAL = [
    ("vadd.vv", {"vd": 9, "vs2": 16, "vs1": 24}, 16, "vd is no group"),
    ("vadd.vv", {"vd": 8, "vs2": 17, "vs1": 24}, 16, "vs2 is no group"),
    ("vadd.vv", {"vd": 0, "vs2": 16, "vs1": 24, "vm": 0}, 8, "vd is the mask"),
    ("vadd.vv", {"vd": 8, "vs2": 0, "vs1": 24, "vm": 0}, 8, "vs2 is the mask"),
    ("vwadd.vv", {"vd": 8, "vs2": 16, "vs1": 24}, 64, "too long"),
    ("vwadd.vv", {"vd": 8, "vs2": 8, "vs1": 24}, 8, "overlap in the lower half"),
    ("vwadd.wv", {"vd": 8, "vs2": 16, "vs1": 16}, 8, "two widths of a source"),
    ("vwmacc.vv", {"vd": 8, "vs2": 9, "vs1": 24}, 8, "two widths of a source"),
    ("vnsrl.wv", {"vd": 17, "vs2": 16, "vs1": 24}, 8, "overlap in the upper half"),
    ("vmseq.vv", {"vd": 17, "vs2": 16, "vs1": 24}, 16, "overlap behind the lowest"),
    ("vslideup.vx", {"vd": 8, "vs2": 8, "rs1": 5}, 8, "vd is the source"),
    ("vrgather.vv", {"vd": 8, "vs2": 16, "vs1": 8}, 8, "vd is the index"),
    ("vcompress.vm", {"vd": 8, "vs2": 16, "vs1": 8}, 8, "vd is the mask"),
    ("vzext.vf4", {"vd": 8, "vs2": 16}, 1, "a fraction too small"),
    ("viota.m", {"vd": 8, "vs2": 8}, 8, "vd is the source"),
    ("vadc.vvm", {"vd": 0, "vs2": 16, "vs1": 24}, 8, "vd is the mask"),
]


@pytest.mark.parametrize(("name", "fields", "lmul8", "why"), ILLEGAL)
def test_illegal_groups(bench, name, fields, lmul8, why):
    bench.set_vector(16 if "vf4" not in name else 8, lmul8 if "vf4" not in name else 2)
    if "vf4" in name:
        bench.set_vector(8, 8)
    before = bench.hart.vector.bytes.copy()
    assert bench.run(name, **fields).cause == Cause.ILLEGAL_INSTRUCTION, why
    assert (bench.hart.vector.bytes == before).all()


@pytest.mark.parametrize(
    ("name", "fields", "lmul8"),
    [
        ("vwadd.vv", {"vd": 8, "vs2": 9, "vs1": 24}, 8),
        ("vnsrl.wv", {"vd": 16, "vs2": 16, "vs1": 24}, 8),
        ("vmseq.vv", {"vd": 16, "vs2": 16, "vs1": 24}, 16),
        ("vmseq.vv", {"vd": 0, "vs2": 16, "vs1": 24, "vm": 0}, 16),
        ("vredsum.vs", {"vd": 0, "vs2": 16, "vs1": 24, "vm": 0}, 8),
        ("vslidedown.vx", {"vd": 8, "vs2": 8, "rs1": 5}, 8),
        ("vadd.vv", {"vd": 8, "vs2": 8, "vs1": 8}, 8),
    ],
)
def test_legal_overlaps(bench, name, fields, lmul8):
    bench.set_vector(16, lmul8)
    assert bench.run(name, **fields) is None


def test_what_vtype_forbids(bench):
    everything = {"vd": 8, "vs2": 16, "vs1": 24}
    assert bench.run("vadd.vv", **everything).cause == Cause.ILLEGAL_INSTRUCTION  # vill
    bench.set_vector(8)
    assert bench.run("vfadd.vv", **everything).cause == Cause.ILLEGAL_INSTRUCTION
    bench.set_vector(32)
    assert bench.run("vwadd.vv", **everything).cause == Cause.ILLEGAL_INSTRUCTION
    assert bench.run("vfwadd.vv", **everything).cause == Cause.ILLEGAL_INSTRUCTION
    bench.hart.frm = 5
    assert bench.run("vfadd.vv", **everything).cause == Cause.ILLEGAL_INSTRUCTION
    bench.hart.frm = 0
    bench.hart.vector.vstart = 1
    for name in ("vredsum.vs", "vcompress.vm", "vfredosum.vs"):
        assert bench.run(name, **everything).cause == Cause.ILLEGAL_INSTRUCTION
    assert bench.run("vcpop.m", rd=7, vs2=16).cause == Cause.ILLEGAL_INSTRUCTION
    bench.hart.csrs.write("mstatus", 0x6000)
    assert bench.run("vmv1r.v", vd=8, vs2=16).cause == Cause.ILLEGAL_INSTRUCTION
