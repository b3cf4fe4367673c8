"""Of all tristate numbers of a few bits: no possible result is left out."""

import operator

import pytest

from fanweave.sw.ebpf.verifier import tristate

BITS = 4
LIMIT = (1 << BITS) - 1
ALL = [(value, mask) for mask in range(16) for value in range(16) if not value & mask]
NUMBERS = {known: [n for n in range(16) if not (n ^ known[0]) & ~known[1]] for known in ALL}


def holds(known, number):
    return number & ~known[1] == known[0]


@pytest.mark.parametrize(
    ("function", "concrete"),
    [
        (lambda a, b: tristate.add(a, b, BITS), operator.add),
        (lambda a, b: tristate.subtract(a, b, BITS), operator.sub),
        (lambda a, b: tristate.multiply(a, b, BITS), operator.mul),
        (tristate.bitwise_and, operator.and_),
        (tristate.bitwise_or, operator.or_),
        (tristate.bitwise_xor, operator.xor),
    ],
)
def test_two_operands(function, concrete):
    for a in ALL:
        for b in ALL:
            result = function(a, b)
            assert not result[0] & result[1]
            assert result[0] | result[1] <= LIMIT
            for x in NUMBERS[a]:
                for y in NUMBERS[b]:
                    assert holds(result, concrete(x, y) & LIMIT), (a, b, x, y)


@pytest.mark.parametrize(
    ("function", "concrete"),
    [
        (lambda a, b: tristate.add(a, b, BITS), operator.add),
        (lambda a, b: tristate.subtract(a, b, BITS), operator.sub),
        (tristate.bitwise_and, operator.and_),
        (tristate.bitwise_or, operator.or_),
        (tristate.bitwise_xor, operator.xor),
    ],
)
def test_no_bit_is_unknown_that_could_be_known(function, concrete):
    for a in ALL:
        for b in ALL:
            results = [concrete(x, y) & LIMIT for x in NUMBERS[a] for y in NUMBERS[b]]
            every, some = LIMIT, 0
            for result in results:
                every, some = every & result, some | result
            assert function(a, b) == (every, some & ~every)


@pytest.mark.parametrize("shift", range(BITS))
def test_shifts(shift):
    for a in ALL:
        left = tristate.shift_left(a, shift, BITS)
        right = tristate.arithmetic_shift_right(a, shift, BITS)
        for x in NUMBERS[a]:
            signed = x - 16 if x & 8 else x
            assert holds(left, x << shift & LIMIT)
            assert holds(right, signed >> shift & LIMIT)


def test_an_interval():
    for low in range(16):
        for high in range(low, 16):
            known = tristate.of_interval(low, high)
            assert all(holds(known, number) for number in range(low, high + 1))


def test_what_two_say():
    for a in ALL:
        for b in ALL:
            both = set(NUMBERS[a]) & set(NUMBERS[b])
            met = tristate.meet(a, b)
            assert (set() if met is None else set(NUMBERS[met])) == both
