"""Numbers with a low half: what is learnt of one part holds for the other, and is never wrong."""

import random

import pytest

from fanweave.golden.ebpf import arithmetic as golden
from fanweave.golden.isa.ebpf import AluOperation, JumpOperation
from fanweave.sw.ebpf.verifier import conditions, scalar
from fanweave.sw.ebpf.verifier.ranges import Range
from fanweave.sw.ebpf.verifier.scalar import Scalar

A, J = AluOperation, JumpOperation
CONDITIONS = [operation for operation in J if operation not in (J.JA, J.CALL, J.EXIT)]
OPERATIONS = [
    *((operation, 0) for operation in A if operation not in (A.MOV, A.END)),
    *((A.DIV, 1), (A.MOD, 1)),
]


def random_range(generator, bits):
    """Of bits, unsigned and signed bounds each said or not."""
    size = 1 << bits
    said = {}
    mask = generator.randrange(size)
    said["known"] = (generator.randrange(size) & ~mask, mask)
    said["unsigned"] = tuple(sorted(generator.randrange(size) for _ in range(2)))
    said["signed"] = tuple(sorted(generator.randrange(-size // 2, size // 2) for _ in range(2)))
    return Range.of(bits, **{name: said[name] for name in said if generator.random() < 0.5})


def random_scalar(generator):
    """A scalar of four bits, and what it holds."""
    while True:
        full, low = random_range(generator, 4), random_range(generator, 2)
        if full is None or low is None:
            continue
        said = [n for n in range(16) if full.holds(n) and low.holds(n & 3)]
        found = Scalar.of(full, low if generator.random() < 0.7 else None)
        assert found is not None or not said
        if said:
            assert all(found.holds(number) for number in said)
            return found, [number for number in range(16) if found.holds(number)]


@pytest.mark.parametrize("bits", [2, 4])
@pytest.mark.parametrize(("operation", "offset"), OPERATIONS)
def test_arithmetic(operation, offset, bits):
    generator = random.Random(f"{operation} {offset} {bits}")
    for _ in range(400):
        (a, xs), (b, ys) = random_scalar(generator), random_scalar(generator)
        result = scalar.apply(operation, a, b, bits=bits, offset=offset)
        for x in xs:
            for y in ys:
                assert result.holds(golden.alu(operation, x, y, offset=offset, bits=bits))


def test_moves():
    generator = random.Random(1)
    for _ in range(2000):
        a, held = random_scalar(generator)
        for bits, sign_bits in ((4, 0), (2, 0), (4, 2), (4, 1), (2, 1)):
            result = scalar.move(a, bits=bits, sign_bits=sign_bits)
            for number in held:
                moved = golden.alu(A.MOV, 0, number, offset=sign_bits, bits=bits)
                assert result.holds(moved)


@pytest.mark.parametrize("bits", [2, 4])
@pytest.mark.parametrize("operation", CONDITIONS)
def test_conditions(operation, bits):
    generator = random.Random(f"{operation} {bits}")
    for _ in range(1500):
        (a, xs), (b, ys) = random_scalar(generator), random_scalar(generator)
        ways = {
            taken: conditions.learn(operation, a, b, taken=taken, bits=bits)
            for taken in (False, True)
        }
        for x in xs:
            for y in ys:
                learnt = ways[golden.compare(operation, x, y, bits=bits)]
                assert learnt is not None
                assert learnt[0].holds(x)
                assert learnt[1].holds(y)


@pytest.mark.parametrize("operation", CONDITIONS)
def test_a_number_compared_with_itself(operation):
    always = conditions.of_itself(operation)
    results = {golden.compare(operation, n, n, bits=64) for n in (0, 1, (1 << 64) - 1)}
    assert results == ({True, False} if always is None else {always})


@pytest.mark.parametrize(
    ("operation", "number", "expected"),
    [
        (J.JGT, 10, (11, 255)),
        (J.JLE, 10, (0, 10)),
        (J.JEQ, 10, (10, 10)),
        (J.JNE, 0, (1, 255)),
        (J.JSET, 128, (128, 255)),
        (J.JSGT, -1, (0, 255)),
        (J.JSLT, 4, (0, 3)),
    ],
)
@pytest.mark.parametrize("bits", [32, 64])
def test_what_is_learnt_of_a_byte(operation, number, expected, bits):
    byte = scalar.of_bytes(1)
    learnt = conditions.learn(operation, byte, Scalar.constant(number), taken=True, bits=bits)
    assert (learnt[0].full.umin, learnt[0].full.umax) == expected


def test_words():
    byte = scalar.of_bytes(1)
    assert str(byte) == "0 to 255"
    assert str(Scalar.constant(-3)) == "-3"
    word = scalar.apply(A.AND, Scalar.unknown(), Scalar.constant(0xF0), bits=64)
    assert str(word) == "0 to 240, bits 0x0 with 0xf0 unknown"
    low = scalar.move(Scalar.unknown(), bits=32)
    assert (low.full.umin, low.full.umax) == (0, 0xFFFFFFFF)
    learnt = conditions.learn(J.JLT, Scalar.unknown(), Scalar.constant(10), taken=True, bits=32)
    assert str(learnt[0]).endswith("low half 0 to 9")
