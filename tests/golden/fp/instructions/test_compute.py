"""Floating-point instructions against Berkeley SoftFloat, all rounding modes and flags."""

import random

import numpy as np
import pytest
import softfloatpy as sf

from fanweave.golden.fp.instructions.compute import compute, compute_array
from fanweave.golden.fp.instructions.operation import Operation
from fanweave.golden.isa.formats import ElementFormat
from fanweave.golden.isa.riscv_csr import Flag, RoundingMode

F32, F16 = int(ElementFormat.FP32), int(ElementFormat.FP16)
TYPES = {F32: (sf.Float32, 32, "f32"), F16: (sf.Float16, 16, "f16")}
MODES = {
    RoundingMode.RNE: sf.RoundingMode.NEAR_EVEN,
    RoundingMode.RTZ: sf.RoundingMode.MIN_MAG,
    RoundingMode.RDN: sf.RoundingMode.MIN,
    RoundingMode.RUP: sf.RoundingMode.MAX,
    RoundingMode.RMM: sf.RoundingMode.NEAR_MAX_MAG,
}
COUNT = 800


def patterns(bits, count, generator):
    """Random codes with many special, close and extreme ones."""
    fraction, infinity = (23, 0x7F800000) if bits == 32 else (10, 0x7C00)
    top = 1 << bits - 1
    special = [0, 1, 2, infinity, infinity - 1, infinity + 1, infinity | 1 << fraction - 1]
    special += [1 << fraction, (1 << fraction) - 1, (infinity >> 1) & ~((1 << fraction) - 1)]
    for _ in range(count):
        choice = generator.random()
        if choice < 0.2:
            yield generator.choice(special) | generator.choice([0, top])
        elif choice < 0.35:
            yield generator.randrange(1 << fraction + 1) | generator.choice([0, top])
        elif choice < 0.7:
            middle = (infinity >> fraction) // 2 + generator.randrange(-4, 5)
            yield (
                middle << fraction | generator.randrange(1 << fraction) | generator.choice([0, top])
            )
        else:
            yield generator.randrange(1 << bits)


def reference(function, mode, *operands):
    sf.set_tininess_mode(sf.TininessMode.AFTER_ROUNDING)
    sf.set_rounding_mode(MODES[mode])
    sf.set_exception_flags(0)
    result = function(*operands)
    return int.from_bytes(result.to_bytes(), "big"), int(sf.get_exception_flags())


def canonical(bits, kind):
    top, infinity, nan = (1 << 31, 0x7F800000, 0x7FC00000) if kind == F32 else (
        1 << 15, 0x7C00, 0x7E00)  # fmt: skip
    return nan if bits & top - 1 > infinity else bits


def number(bits, kind):
    kind_type, width, _ = TYPES[kind]
    return kind_type.from_bytes(bits.to_bytes(width // 8, "big"))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("kind", [F32, F16], ids=["fp32", "fp16"])
@pytest.mark.parametrize("name", ["add", "sub", "mul", "div", "sqrt", "mul_add"])
def test_arithmetic(name, kind, mode):
    generator = random.Random(f"{name}{kind}{mode}")
    operation = {"mul_add": Operation.FMA}.get(name) or Operation[name.upper()]
    function = getattr(sf, f"{TYPES[kind][2]}_{name}")
    arity = {"sqrt": 1, "mul_add": 3}.get(name, 2)
    values = list(patterns(TYPES[kind][1], COUNT * 3, generator))
    for i in range(COUNT):
        operands = values[3 * i : 3 * i + arity]
        want, flags = reference(function, mode, *(number(bits, kind) for bits in operands))
        a, b, c = (*operands, 0, 0)[:3]
        got = compute(operation, a, b, c, kind, kind, kind, int(mode), 32)
        assert got == (canonical(want, kind), flags), (name, mode.name, [hex(x) for x in operands])


@pytest.mark.parametrize("mode", MODES)
def test_widening_multiply_add(mode):
    """FP16 products are exact in FP32, so SoftFloat's FP32 operation is the reference."""
    generator = random.Random(int(mode))
    halves = list(patterns(16, 2 * COUNT, generator))
    singles = list(patterns(32, COUNT, generator))
    for a, b, c in zip(halves[::2], halves[1::2], singles, strict=True):
        wide = [sf.f16_to_f32(number(x, F16)) for x in (a, b)]
        want, flags = reference(sf.f32_mul_add, mode, *wide, number(c, F32))
        got, raised = compute(Operation.FMA, a, b, c, F16, F16, F32, int(mode), 32)
        signaling = any(x & 0x7FFF > 0x7C00 and not x & 0x200 for x in (a, b))
        assert got == canonical(want, F32)
        assert raised == flags | (Flag.NV if signaling else 0)


@pytest.mark.parametrize("kind", [F32, F16], ids=["fp32", "fp16"])
@pytest.mark.parametrize(
    ("operation", "name"),
    [(Operation.EQ, "eq"), (Operation.LT, "lt"), (Operation.LE, "le")],
)
def test_comparisons(operation, name, kind):
    generator = random.Random(f"{name}{kind}")
    function = getattr(sf, f"{TYPES[kind][2]}_{name}")
    values = list(patterns(TYPES[kind][1], 2 * COUNT, generator))
    for a, b in zip(values[::2], values[1::2], strict=True):
        b = generator.choice([a, b])
        sf.set_exception_flags(0)
        want = int(bool(function(number(a, kind), number(b, kind))))
        flags = int(sf.get_exception_flags())
        assert compute(operation, a, b, 0, kind, kind, kind, 0, 32) == (want, flags)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("source", "target"), [(F32, F16), (F16, F32)])
def test_conversions_between_formats(source, target, mode):
    generator = random.Random(f"{source}{mode}")
    function = getattr(sf, f"{TYPES[source][2]}_to_{TYPES[target][2]}")
    for bits in patterns(TYPES[source][1], COUNT, generator):
        want, flags = reference(function, mode, number(bits, source))
        got = compute(Operation.CONVERT, bits, 0, 0, source, source, target, int(mode), 32)
        assert got == (canonical(want, target), flags), hex(bits)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("kind", [F32, F16], ids=["fp32", "fp16"])
@pytest.mark.parametrize("signed", [True, False])
def test_integers_from_numbers(signed, kind, mode):
    generator = random.Random(f"{signed}{kind}{mode}")
    operation = Operation.TO_SIGNED if signed else Operation.TO_UNSIGNED
    for bits in patterns(TYPES[kind][1], COUNT, generator):
        result = compute(operation, bits, 0, 0, kind, kind, kind, int(mode), 32)
        assert result == integer(number(bits, kind), bits, kind, signed, mode)


def integer(value, bits, kind, signed, mode):
    """RISC-V's result: NaNs are the largest number, and there is one flag when out of range."""
    least, most = (-(1 << 31), (1 << 31) - 1) if signed else (0, (1 << 32) - 1)
    if value.is_nan():
        return most, Flag.NV
    function = getattr(sf, f"{TYPES[kind][2]}_to_i64")
    sf.set_exception_flags(0)
    wide = function(value, MODES[mode], True)
    number_ = int.from_bytes(wide.to_bytes(), "big", signed=True)
    flags = int(sf.get_exception_flags())
    if flags & Flag.NV:
        top = 1 << (31 if kind == F32 else 15)
        number_ = least - 1 if bits & top else most + 1
    if number_ < least:
        return least & 0xFFFFFFFF, Flag.NV
    if number_ > most:
        return most, Flag.NV
    return number_ & 0xFFFFFFFF, flags


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("kind", [F32, F16], ids=["fp32", "fp16"])
def test_numbers_from_integers(kind, mode):
    generator = random.Random(f"{kind}{mode}")
    function = getattr(sf, f"i64_to_{TYPES[kind][2]}")
    for _ in range(COUNT):
        value = generator.randrange(-(1 << 31), 1 << 32) >> generator.randrange(32)
        source = sf.Int64.from_bytes(value.to_bytes(8, "big", signed=True))
        want, flags = reference(function, mode, source)
        got = compute(Operation.FROM_SIGNED, value, 0, 0, kind, kind, kind, int(mode), 32)
        assert got == (want, flags)


@pytest.mark.parametrize(
    ("operation", "a", "b", "result"),
    [
        (Operation.MIN, 0x80000000, 0, (0x80000000, 0)),
        (Operation.MIN, 0, 0x80000000, (0x80000000, 0)),
        (Operation.MAX, 0x80000000, 0, (0, 0)),
        (Operation.MAX, 0x3F800000, 0xBF800000, (0x3F800000, 0)),
        (Operation.MIN, 0x7FC00001, 0x3F800000, (0x3F800000, 0)),
        (Operation.MIN, 0x7F800001, 0x3F800000, (0x3F800000, Flag.NV)),
        (Operation.MAX, 0x7FC00001, 0xFFC00001, (0x7FC00000, 0)),
    ],
)
def test_extremes(operation, a, b, result):
    assert compute(operation, a, b, 0, F32, F32, F32, 0, 32) == result


@pytest.mark.parametrize(
    ("bits", "place"),
    [
        *((0xFF800000, 0), (0xBF800000, 1), (0x80000001, 2), (0x80000000, 3), (0, 4)),
        *((1, 5), (0x3F800000, 6), (0x7F800000, 7), (0x7F800001, 8), (0x7FC00000, 9)),
    ],
)
def test_classes(bits, place):
    assert compute(Operation.CLASS, bits, 0, 0, F32, F32, F32, 0, 32) == (1 << place, 0)


@pytest.mark.parametrize("kind", [F32, F16], ids=["fp32", "fp16"])
@pytest.mark.parametrize("operation", [Operation.RECIPROCAL_7, Operation.RECIPROCAL_ROOT_7])
def test_estimates_are_good_to_seven_bits(operation, kind):
    generator = random.Random(operation)
    dtype = np.float32 if kind == F32 else np.float16
    unsigned = np.uint32 if kind == F32 else np.uint16
    for _ in range(COUNT):
        value = dtype(2.0 ** generator.uniform(-12, 12))
        bits = int(value.view(unsigned))
        result, flags = compute(operation, bits, 0, 0, kind, kind, kind, 0, 32)
        estimate = float(unsigned(result).view(dtype))
        exact = 1 / float(value) ** (1 if operation is Operation.RECIPROCAL_7 else 0.5)
        assert abs(estimate / exact - 1) < 2**-7
        assert flags == 0


@pytest.mark.parametrize(
    ("operation", "bits", "mode", "result"),
    [
        # The first and last entries of the tables of RVV 1.0, and its special cases.
        (Operation.RECIPROCAL_7, 0x3F800000, 0, (0x3F7F0000, 0)),
        (Operation.RECIPROCAL_7, 0x3FFF0000, 0, (0x3F000000, 0)),
        (Operation.RECIPROCAL_7, 0, 0, (0x7F800000, Flag.DZ)),
        (Operation.RECIPROCAL_7, 0x80000000, 0, (0xFF800000, Flag.DZ)),
        (Operation.RECIPROCAL_7, 0xFF800000, 0, (0x80000000, 0)),
        (Operation.RECIPROCAL_7, 0x00000001, 0, (0x7F800000, Flag.NX | Flag.OF)),
        (Operation.RECIPROCAL_7, 0x00000001, 1, (0x7F7FFFFF, Flag.NX | Flag.OF)),
        (Operation.RECIPROCAL_7, 0x7F000000, 0, (0x003FC000, 0)),
        (Operation.RECIPROCAL_ROOT_7, 0x3F800000, 0, (0x3F7F0000, 0)),
        (Operation.RECIPROCAL_ROOT_7, 0x40000000, 0, (0x3F340000, 0)),
        (Operation.RECIPROCAL_ROOT_7, 0, 0, (0x7F800000, Flag.DZ)),
        (Operation.RECIPROCAL_ROOT_7, 0xBF800000, 0, (0x7FC00000, Flag.NV)),
        (Operation.RECIPROCAL_ROOT_7, 0x80000000, 0, (0xFF800000, Flag.DZ)),
    ],
)
def test_estimates_of_special_numbers(operation, bits, mode, result):
    assert compute(operation, bits, 0, 0, F32, F32, F32, mode, 32) == result


def test_conversion_to_odd():
    """1 + 2^-11 lies between two FP16 numbers and goes to the odd one; 2^20 to the largest."""
    got = compute(Operation.CONVERT, 0x3F801000, 0, 0, F32, F32, F16, 6, 32)
    assert got == (0x3C01, Flag.NX)
    got = compute(Operation.CONVERT, 0x49800000, 0, 0, F32, F32, F16, 6, 32)
    assert got == (0x7BFF, Flag.OF | Flag.NX)


def test_arrays_leave_inactive_elements_and_gather_flags():
    a = np.array([0x3F800000, 0x7F800001, 0x3F800000], dtype=np.int64)
    out = np.array([7, 7, 7], dtype=np.int64)
    active = np.array([True, False, True])
    flags = compute_array(int(Operation.ADD), a, a, a, active, out, F32, F32, F32, 0, 32)
    assert (flags, out.tolist()) == (0, [0x40000000, 7, 0x40000000])
    active[1] = True
    flags = compute_array(int(Operation.ADD), a, a, a, active, out, F32, F32, F32, 0, 32)
    assert (flags, out[1]) == (Flag.NV, 0x7FC00000)
