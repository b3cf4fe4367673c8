"""Every elementwise vector instruction against plain Python, element by element.

Widths, group sizes, masks, lengths and the first element are drawn at random; what is not
written must keep its value, or become ones under an agnostic policy of a core that does so.
"""

import random

import pytest
import softfloatpy as sf

from fanweave.golden.isa.riscv_csr import Flag
from fanweave.golden.isa.riscv_encoding import Width
from fanweave.golden.isa.riscv_vector import VECTOR_INSTRUCTIONS

ROUNDS = 24
NAN = {16: 0x7E00, 32: 0x7FC00000}


def sgn(value, bits):
    """Signed value of bits."""
    return value - (1 << bits) if value >> bits - 1 & 1 else value


def shifted(value, amount, mode):
    """Right shift, rounded as vxrm says."""
    if amount == 0:
        return value
    low, rest = value >> amount, value & (1 << amount) - 1
    half = 1 << amount - 1
    up = {
        0: rest >= half,
        1: rest > half or (rest == half and low & 1),
        2: False,
        3: rest and not low & 1,
    }[mode]
    return low + bool(up)


def clipped(value, bits, is_signed):
    """Nearest value that fits, and whether it was another."""
    least, most = (-(1 << bits - 1), (1 << bits - 1) - 1) if is_signed else (0, (1 << bits) - 1)
    result = max(least, min(most, value))
    return result, result != value


def toward_zero(a, b):
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def divide(a, b, bits, is_signed, remainder):
    x, y = (sgn(a, bits), sgn(b, bits)) if is_signed else (a, b)
    if y == 0:
        return x if remainder else -1
    quotient = toward_zero(x, y)
    return x - quotient * y if remainder else quotient


#: base mnemonic -> f(a, b, d, w): vs2, first source, old destination, SEW
INTEGER = {
    "vadd": lambda a, b, d, w: a + b,
    "vsub": lambda a, b, d, w: a - b,
    "vrsub": lambda a, b, d, w: b - a,
    "vminu": lambda a, b, d, w: min(a, b),
    "vmin": lambda a, b, d, w: min(sgn(a, w), sgn(b, w)),
    "vmaxu": lambda a, b, d, w: max(a, b),
    "vmax": lambda a, b, d, w: max(sgn(a, w), sgn(b, w)),
    "vand": lambda a, b, d, w: a & b,
    "vor": lambda a, b, d, w: a | b,
    "vxor": lambda a, b, d, w: a ^ b,
    "vmseq": lambda a, b, d, w: a == b,
    "vmsne": lambda a, b, d, w: a != b,
    "vmsltu": lambda a, b, d, w: a < b,
    "vmslt": lambda a, b, d, w: sgn(a, w) < sgn(b, w),
    "vmsleu": lambda a, b, d, w: a <= b,
    "vmsle": lambda a, b, d, w: sgn(a, w) <= sgn(b, w),
    "vmsgtu": lambda a, b, d, w: a > b,
    "vmsgt": lambda a, b, d, w: sgn(a, w) > sgn(b, w),
    "vsll": lambda a, b, d, w: a << b % w,
    "vsrl": lambda a, b, d, w: a >> b % w,
    "vsra": lambda a, b, d, w: sgn(a, w) >> b % w,
    "vnsrl": lambda a, b, d, w: a >> b % (2 * w),
    "vnsra": lambda a, b, d, w: sgn(a, 2 * w) >> b % (2 * w),
    "vdivu": lambda a, b, d, w: divide(a, b, w, False, False),
    "vdiv": lambda a, b, d, w: divide(a, b, w, True, False),
    "vremu": lambda a, b, d, w: divide(a, b, w, False, True),
    "vrem": lambda a, b, d, w: divide(a, b, w, True, True),
    "vmul": lambda a, b, d, w: a * b,
    "vmulhu": lambda a, b, d, w: a * b >> w,
    "vmulhsu": lambda a, b, d, w: sgn(a, w) * b >> w,
    "vmulh": lambda a, b, d, w: sgn(a, w) * sgn(b, w) >> w,
    "vwmulu": lambda a, b, d, w: a * b,
    "vwmulsu": lambda a, b, d, w: sgn(a, w) * b,
    "vwmul": lambda a, b, d, w: sgn(a, w) * sgn(b, w),
    "vmacc": lambda a, b, d, w: d + a * b,
    "vnmsac": lambda a, b, d, w: d - a * b,
    "vmadd": lambda a, b, d, w: b * d + a,
    "vnmsub": lambda a, b, d, w: a - b * d,
    "vwmaccu": lambda a, b, d, w: d + a * b,
    "vwmacc": lambda a, b, d, w: d + sgn(a, w) * sgn(b, w),
    "vwmaccus": lambda a, b, d, w: d + sgn(a, w) * b,
    "vwmaccsu": lambda a, b, d, w: d + a * sgn(b, w),
    "vmv": lambda a, b, d, w: b,
    "vfmv": lambda a, b, d, w: b,
    "vid": lambda a, b, d, w: None,
}
#: base mnemonic -> f(a, b, carry, w)
CARRY = {
    "vadc": lambda a, b, c, w: a + b + c,
    "vsbc": lambda a, b, c, w: a - b - c,
    "vmadc": lambda a, b, c, w: a + b + c >> w,
    "vmsbc": lambda a, b, c, w: a - b - c < 0,
    "vmerge": lambda a, b, c, w: b if c else a,
    "vfmerge": lambda a, b, c, w: b if c else a,
}
#: base mnemonic -> f(a, b, w, vxrm): result and whether it saturated
FIXED = {
    "vsaddu": lambda a, b, w, r: clipped(a + b, w, False),
    "vsadd": lambda a, b, w, r: clipped(sgn(a, w) + sgn(b, w), w, True),
    "vssubu": lambda a, b, w, r: clipped(a - b, w, False),
    "vssub": lambda a, b, w, r: clipped(sgn(a, w) - sgn(b, w), w, True),
    "vaaddu": lambda a, b, w, r: (shifted(a + b, 1, r), False),
    "vaadd": lambda a, b, w, r: (shifted(sgn(a, w) + sgn(b, w), 1, r), False),
    "vasubu": lambda a, b, w, r: (shifted(a - b, 1, r), False),
    "vasub": lambda a, b, w, r: (shifted(sgn(a, w) - sgn(b, w), 1, r), False),
    "vsmul": lambda a, b, w, r: clipped(shifted(sgn(a, w) * sgn(b, w), w - 1, r), w, True),
    "vssrl": lambda a, b, w, r: (shifted(a, b % w, r), False),
    "vssra": lambda a, b, w, r: (shifted(sgn(a, w), b % w, r), False),
    "vnclipu": lambda a, b, w, r: clipped(shifted(a, b % (2 * w), r), w, False),
    "vnclip": lambda a, b, w, r: clipped(shifted(sgn(a, 2 * w), b % (2 * w), r), w, True),
}


class Soft:
    """Berkeley SoftFloat on bits of a width."""

    def __init__(self, bits, flags):
        self.bits, self.flags = bits, flags
        self.type, self.name = (sf.Float16, "f16") if bits == 16 else (sf.Float32, "f32")

    def call(self, name, *operands):
        sf.set_rounding_mode(sf.RoundingMode.NEAR_EVEN)
        sf.set_tininess_mode(sf.TininessMode.AFTER_ROUNDING)
        sf.set_exception_flags(0)
        size = self.bits // 8
        values = (self.type.from_bytes(v.to_bytes(size, "big")) for v in operands)
        result = getattr(sf, f"{self.name}_{name}")(*values)
        self.flags[0] |= int(sf.get_exception_flags())
        if isinstance(result, bool):
            return int(result)
        return self.canonical(int.from_bytes(result.to_bytes(), "big"), 8 * len(result.to_bytes()))

    @staticmethod
    def canonical(value, bits):
        infinity = 0x7C00 if bits == 16 else 0x7F800000
        return NAN[bits] if value & (1 << bits - 1) - 1 > infinity else value

    def neg(self, value):
        return value ^ 1 << self.bits - 1

    def is_nan(self, value):
        return self.type.from_bytes(value.to_bytes(self.bits // 8, "big")).is_nan()

    def widened(self, value):
        return self.call("to_f32", value)

    def extreme(self, a, b, largest):
        for value in (a, b):
            if self.type.from_bytes(value.to_bytes(self.bits // 8, "big")).is_signaling_nan():
                self.flags[0] |= Flag.NV
        if self.is_nan(a) or self.is_nan(b):
            return (NAN[self.bits] if self.is_nan(b) else b) if self.is_nan(a) else a
        key = lambda v: sgn(v, self.bits) if v >> self.bits - 1 == 0 else -(  # noqa: E731
            v & (1 << self.bits - 1) - 1) - 0.5  # fmt: skip
        return (max if largest else min)(a, b, key=key)


def fused(soft, x, y, z, product, addend):
    return soft.call("mul_add", soft.neg(x) if product else x, y, soft.neg(z) if addend else z)


TOP = {16: 0x8000, 32: 0x80000000}
#: base mnemonic -> f(s, a, b, d): SoftFloat at SEW, vs2, first source, old destination
FLOAT = {
    "vfadd": lambda s, a, b, d: s.call("add", a, b),
    "vfsub": lambda s, a, b, d: s.call("sub", a, b),
    "vfrsub": lambda s, a, b, d: s.call("sub", b, a),
    "vfmul": lambda s, a, b, d: s.call("mul", a, b),
    "vfdiv": lambda s, a, b, d: s.call("div", a, b),
    "vfrdiv": lambda s, a, b, d: s.call("div", b, a),
    "vfsqrt": lambda s, a, b, d: s.call("sqrt", a),
    "vfmin": lambda s, a, b, d: s.extreme(a, b, False),
    "vfmax": lambda s, a, b, d: s.extreme(a, b, True),
    "vfsgnj": lambda s, a, b, d: a & ~TOP[s.bits] | b & TOP[s.bits],
    "vfsgnjn": lambda s, a, b, d: a & ~TOP[s.bits] | ~b & TOP[s.bits],
    "vfsgnjx": lambda s, a, b, d: a ^ b & TOP[s.bits],
    "vmfeq": lambda s, a, b, d: s.call("eq", a, b),
    "vmfne": lambda s, a, b, d: not s.call("eq", a, b),
    "vmflt": lambda s, a, b, d: s.call("lt", a, b),
    "vmfle": lambda s, a, b, d: s.call("le", a, b),
    "vmfgt": lambda s, a, b, d: s.call("lt", b, a),
    "vmfge": lambda s, a, b, d: s.call("le", b, a),
    "vfmadd": lambda s, a, b, d: fused(s, b, d, a, 0, 0),
    "vfnmadd": lambda s, a, b, d: fused(s, b, d, a, 1, 1),
    "vfmsub": lambda s, a, b, d: fused(s, b, d, a, 0, 1),
    "vfnmsub": lambda s, a, b, d: fused(s, b, d, a, 1, 0),
    "vfmacc": lambda s, a, b, d: fused(s, b, a, d, 0, 0),
    "vfnmacc": lambda s, a, b, d: fused(s, b, a, d, 1, 1),
    "vfmsac": lambda s, a, b, d: fused(s, b, a, d, 0, 1),
    "vfnmsac": lambda s, a, b, d: fused(s, b, a, d, 1, 0),
}
#: Widening: FP16 sources are exact in FP32. f(s, a, b, d) with all of them FP32.
FLOAT_WIDE = {
    "vfwadd": FLOAT["vfadd"],
    "vfwsub": FLOAT["vfsub"],
    "vfwmul": FLOAT["vfmul"],
    "vfwmacc": FLOAT["vfmacc"],
    "vfwnmacc": FLOAT["vfnmacc"],
    "vfwmsac": FLOAT["vfmsac"],
    "vfwnmsac": FLOAT["vfnmsac"],
}
WIDENING_SUMS = {
    "vwaddu": (1, False),
    "vwadd": (1, True),
    "vwsubu": (-1, False),
    "vwsub": (-1, True),
}
#: Tested in the other files of this folder.
ELSEWHERE = {
    *("vsetvli", "vsetivli", "vsetvl", "vslideup", "vslidedown", "vslide1up", "vslide1down"),
    *("vfslide1up", "vfslide1down", "vrgather", "vrgatherei16", "vcompress", "vcpop", "vfirst"),
    *("vmsbf", "vmsif", "vmsof", "viota", "vmv1r", "vmv2r", "vmv4r", "vmv8r"),
    *("vmandn", "vmand", "vmor", "vmxor", "vmorn", "vmnand", "vmnor", "vmxnor"),
    *("vfcvt", "vfwcvt", "vfncvt", "vfrsqrt7", "vfrec7", "vfclass"),
    *(f"vred{name}" for name in ("sum", "and", "or", "xor", "minu", "min", "maxu", "max")),
    *("vwredsumu", "vwredsum", "vfredusum", "vfredosum", "vfredmin", "vfredmax"),
    *("vfwredusum", "vfwredosum"),
}
SCALAR_MOVES = ("vmv.x.s", "vmv.s.x", "vfmv.f.s", "vfmv.s.f")
KNOWN = {**INTEGER, **CARRY, **FIXED, **FLOAT, **FLOAT_WIDE, **WIDENING_SUMS}
KNOWN |= {"vzext": None, "vsext": None}
ROWS = [
    row
    for row in VECTOR_INSTRUCTIONS
    if row.name.split(".")[0] not in ELSEWHERE and row.name not in SCALAR_MOVES
]


def test_every_row_has_a_reference():
    assert {row.name.split(".")[0] for row in ROWS} == set(KNOWN)


FACTOR = {Width.SEW: 1, Width.DOUBLE: 2, Width.HALF: 1 / 2, Width.QUARTER: 1 / 4}


def widths(row, sew):
    """Bits of vd, vs2 and the first source."""
    shape = row.vector
    vd, vs2, vs1 = (int(sew * FACTOR.get(width, 1)) for width in (shape.vd, shape.vs2, shape.vs1))
    return vd, vs2, vs1


def choose(row, bench, generator):
    """Random vtype and length that the row allows; returns SEW and eight times LMUL."""
    while True:
        floating = row.vector.floating
        sew = generator.choice([16, 32] if floating else [8, 16, 32])
        lmul8 = generator.choice([1, 2, 4, 8, 16, 32, 64])
        named = [w for w in (row.vector.vd, row.vector.vs2, row.vector.vs1) if w in FACTOR]
        groups = [(sew * FACTOR[w], lmul8 * FACTOR[w]) for w in named]
        if sew * 8 > lmul8 * 32 or any(
            not 8 <= bits <= 32 or not 1 <= size <= 64 for bits, size in groups
        ):
            continue
        if floating and any(bits < 16 for bits, _ in groups):
            continue
        vlmax = bench.set_vector(
            sew, lmul8, tail=generator.randrange(2), mask=generator.randrange(2)
        )
        bench.hart.vector.vl = generator.choice([0, 1, vlmax, generator.randrange(vlmax + 1)])
        return sew, lmul8


SPECIAL = {
    16: [0, 0x8000, 1, 0x3FF, 0x400, 0x3C00, 0xBC00, 0x7BFF, 0x7C00, 0xFC00, 0x7E00, 0x7C01],
    32: [0, 1 << 31, 1, 0x7FFFFF, 0x800000, 0x3F800000, 0xBF800000, 0x7F7FFFFF, 0x7F800000,
        0xFF800000, 0x7FC00000, 0x7F800001],
}  # fmt: skip


def prepare(row, bench, generator):
    """Random registers, with special and close numbers; returns fields."""
    vector, hart = bench.hart.vector, bench.hart
    bench.fill(generator)
    for bits in (16, 32):
        view = vector.group(0, bits, 32 * 512 // bits)
        for place in range(0, view.shape[0], 3):
            if row.vector.floating and generator.random() < 0.6:
                one = 0x3C00 if bits == 16 else 0x3F800000
                near = one + generator.randrange(-2000, 2000)
                view[place] = generator.choice([generator.choice(SPECIAL[bits]), near])
    vector.vxrm = generator.randrange(4)
    vector.vxsat = hart.fflags = 0
    hart.x[9] = generator.choice([0, 1, 0xFFFFFFFF, generator.randrange(1 << 32)])
    hart.f[9] = generator.choice(SPECIAL[32])
    if vector.sew == 16 and generator.random() < 0.9:
        hart.f[9] = 0xFFFF0000 | generator.choice([*SPECIAL[16], generator.randrange(1 << 16)])
    return {
        "vd": 8,
        "vs2": 16,
        "vs1": 24,
        "rs1": 9,
        "fs1": 9,
        "simm": generator.randrange(-16, 16),
        "uimm": generator.randrange(32),
        "vm": generator.randrange(2),
    }


def first_source(row, bench, fields, bits, vector_bits, count):
    """Values of the first source."""
    if "vs1" in row.fields:
        return bench.hart.vector.group(24, vector_bits, count).tolist()
    if "rs1" in row.fields:
        value = sgn(bench.hart.x[9], 32)
    elif "fs1" in row.fields:
        value = bench.hart.f[9]
        if bits == 16:
            value = value & 0xFFFF if value >> 16 == 0xFFFF else NAN[16]
    else:
        value = fields["simm"] if "simm" in row.fields else fields["uimm"]
    return [value & (1 << bits) - 1] * count


def element(row, soft_flags, bench, sew, a, b, d, carry, index):
    """Result of one element, and whether it saturated."""
    base = row.name.split(".")[0]
    if base == "vid":
        return index, False
    if base in ("vzext", "vsext"):
        bits = sew // int(row.name[-1])
        return (a if base == "vzext" else sgn(a, bits)), False
    if base in WIDENING_SUMS:
        factor, is_signed = WIDENING_SUMS[base]
        a_bits = 2 * sew if row.vector.vs2 is Width.DOUBLE else sew
        x, y = (sgn(a, a_bits), sgn(b, sew)) if is_signed else (a, b)
        return x + factor * y, False
    if base in INTEGER:
        return INTEGER[base](a, b, d, sew), False
    if base in CARRY:
        return CARRY[base](a, b, carry, sew), False
    if base in FIXED:
        return FIXED[base](a, b, sew, bench.hart.vector.vxrm)
    if base in FLOAT:
        return FLOAT[base](Soft(sew, soft_flags), a, b, d), False
    narrow, full = Soft(16, soft_flags), Soft(32, soft_flags)
    a_wide = a if row.vector.vs2 is Width.DOUBLE else narrow.widened(a)
    return FLOAT_WIDE[base](full, a_wide, narrow.widened(b), d), False


@pytest.mark.parametrize("ones", [False, True], ids=["undisturbed", "ones"])
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_elementwise(row, ones, make_bench):
    generator = random.Random(f"{row.name}{ones}")
    bench = make_bench(agnostic_ones=ones)
    for _ in range(ROUNDS // 2):
        one_round(row, bench, generator)


def one_round(row, bench, generator):
    hart, vector = bench.hart, bench.hart.vector
    sew, _ = choose(row, bench, generator)
    fields = prepare(row, bench, generator)
    vl = vector.vl
    vd_bits, vs2_bits, vs1_bits = widths(row, sew)
    with_carry = "v0" in row.syntax.split(", ")
    vm = fields["vm"] if "vm" in row.fields else 1
    vector.vstart = generator.choice([0, 0, generator.randrange(vl + 1)])
    start = vector.vstart
    bits0 = vector.mask_bits(0, vl).tolist()
    a = vector.group(16, vs2_bits, vl).tolist() if "vs2" in row.fields else [0] * vl
    b = first_source(row, bench, fields, sew, vs1_bits, vl)
    is_mask = row.vector.vd is Width.MASK
    old = vector.mask_bits(8, vl).tolist() if is_mask else vector.group(8, vd_bits, vl).tolist()
    before = vector.bytes.copy()
    flags, saturated = [0], False
    expected = list(old)
    for i in range(start, vl):
        if vm or bits0[i]:
            carry = int(bits0[i]) if with_carry else 0
            value, sat = element(row, flags, bench, sew, a[i], b[i], old[i], carry, i)
            expected[i] = bool(value) if is_mask else value & (1 << vd_bits) - 1
            saturated |= sat
        elif vector.mask_ones:
            expected[i] = True if is_mask else (1 << vd_bits) - 1
    tail = vector.vlmax * vd_bits // 8 if not is_mask else 0
    assert bench.run(row.name, **fields) is None
    got = vector.mask_bits(8, vl).tolist() if is_mask else vector.group(8, vd_bits, vl).tolist()
    assert got == expected, (row.name, sew, vl, start, vm)
    assert (vector.vstart, vector.vxsat, hart.fflags) == (0, int(saturated), flags[0])
    check_rest(bench, before, is_mask, vl, start, vd_bits, tail)


def check_rest(bench, before, is_mask, vl, start, bits, tail):
    """Everything but the destination's body is as it was; the tail follows the policy."""
    vector = bench.hart.vector
    size = vector.config.register_bytes
    after = vector.bytes
    if is_mask:
        ones = vector.config.agnostic_ones and start < vl
        got = vector.mask_bits(8, 512)[vl:]
        old = before.copy()
        old[8 * size : 9 * size] = after[8 * size : 9 * size]
        assert (old == after).all()
        if ones:
            assert got.all()
        return
    body = vl * bits // 8
    end = max(tail, size)
    expected = before.copy()
    expected[8 * size : 8 * size + body] = after[8 * size : 8 * size + body]
    if vector.tail_ones and start < vl:
        expected[8 * size + body : 8 * size + end] = 0xFF
    assert (expected == after).all()
