"""Arithmetic on ranges never leaves a possible result out."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fanweave.golden.ebpf import arithmetic as golden
from fanweave.golden.isa.ebpf import AluOperation
from fanweave.sw.ebpf.verifier import range_arithmetic
from fanweave.sw.ebpf.verifier.ranges import Range

A = AluOperation
OPERATIONS = [
    *((operation, 0) for operation in A if operation not in (A.MOV, A.END)),
    *((A.DIV, 1), (A.MOD, 1)),
]


def every_range(bits):
    """All ranges of so many bits, and what they hold."""
    size = 1 << bits
    intervals = [(low, high) for low in range(size) for high in range(low, size)]
    tristates = [(v, m) for m in range(size) for v in range(size) if not v & m]
    found = {
        Range.of(bits, known=known, unsigned=unsigned, signed=(low - size // 2, high - size // 2))
        for known, unsigned, (low, high) in itertools.product(tristates, intervals, intervals)
    }
    found.discard(None)
    return {each: [n for n in range(size) if each.holds(n)] for each in found}


THREE = every_range(3)


@pytest.mark.parametrize(("operation", "offset"), OPERATIONS)
def test_all_pairs_of_three_bits(operation, offset):
    table = [
        [1 << golden.alu(operation, x, y, offset=offset, bits=3) for y in range(8)]
        for x in range(8)
    ]
    for a, left in THREE.items():
        for b, right in THREE.items():
            result = range_arithmetic.apply(operation, a, b, offset=offset)
            held = sum(1 << number for number in range(8) if result.holds(number))
            possible = 0
            for x in left:
                for y in right:
                    possible |= table[x][y]
            assert not possible & ~held, (a, b)


def test_extension_and_truncation_of_three_bits():
    for a, held in THREE.items():
        for bits in (1, 2, 3):
            low = range_arithmetic.truncate(a, bits)
            wide, signed = range_arithmetic.zero_extend(a, 5), range_arithmetic.sign_extend(a, 5)
            for number in held:
                assert low.holds(number & (1 << bits) - 1)
                assert wide.holds(number)
                assert signed.holds(golden.signed(number, 3) & 31)


def ranges(bits):
    """A range, and numbers that it holds, found by forgetting something of them."""
    edge = 1 << bits - 1
    interesting = st.sampled_from([0, 1, 2, 7, 8, edge - 1, edge, edge + 1, 2 * edge - 1])
    number = st.one_of(
        interesting,
        st.integers(0, 2 * edge - 1),
        st.integers(0, 300),
        st.integers(0, 300).map(lambda n: 2 * edge - 1 - n),
    )

    @st.composite
    def build(draw):
        held = draw(st.lists(number, min_size=1, max_size=4))
        every, some = held[0], held[0]
        for each in held:
            every, some = every & each, some | each
        mask = some & ~every | draw(st.sampled_from([0, 0, draw(number)]))
        slack = draw(st.sampled_from([0, 0, 1, 3, draw(number)]))
        signs = [golden.signed(each, bits) for each in held]
        found = Range.of(
            bits,
            known=draw(st.sampled_from([(every & ~mask, mask), (0, 2 * edge - 1)])),
            unsigned=(min(held) - slack, max(held) + slack),
            signed=draw(st.sampled_from([(min(signs) - slack, max(signs) + slack), None])),
        )
        assert found is not None
        assert all(found.holds(each) for each in held)
        return found, held

    return build()


@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize(("operation", "offset"), OPERATIONS)
def test_any_operands(operation, offset, bits):
    @settings(max_examples=60, deadline=None)
    @given(ranges(bits), ranges(bits))
    def check(left, right):
        (a, xs), (b, ys) = left, right
        result = range_arithmetic.apply(operation, a, b, offset=offset)
        for x in xs:
            for y in ys:
                assert result.holds(golden.alu(operation, x, y, offset=offset, bits=bits))

    check()


@settings(max_examples=200, deadline=None)
@given(ranges(64), st.sampled_from([16, 32, 64]), st.booleans())
def test_byte_orders(given_range, bits, swap):
    a, held = given_range
    result = range_arithmetic.byte_order(a, bits, swap=swap)
    for number in held:
        assert result.holds(golden.byte_order(number, bits, swap=swap))
