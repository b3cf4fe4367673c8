"""Of all ranges of three bits: what is said of a number is kept, and its parts agree."""

import itertools

import pytest

from fanweave.sw.ebpf.verifier.ranges import Range

BITS = 3
INTERVALS = [(low, high) for low in range(8) for high in range(low, 8)]
TRISTATES = [(value, mask) for mask in range(8) for value in range(8) if not value & mask]


def signed(number):
    return number - 8 if number & 4 else number


@pytest.fixture(scope="module")
def ranges():
    made = {}
    for known, unsigned, (low, high) in itertools.product(TRISTATES, INTERVALS, INTERVALS):
        said = {
            number
            for number in range(8)
            if not (number ^ known[0]) & ~known[1]
            and unsigned[0] <= number <= unsigned[1]
            and low - 4 <= signed(number) <= high - 4
        }
        found = Range.of(BITS, known=known, unsigned=unsigned, signed=(low - 4, high - 4))
        held = set() if found is None else {number for number in range(8) if found.holds(number)}
        assert said == held
        if found is not None:
            made[found] = held
    return made


def test_bounds_are_those_of_the_numbers(ranges):
    """Bounds leave nothing out, and are mostly the least and greatest number itself."""
    for found, held in ranges.items():
        if held:
            assert found.umin <= min(held)
            assert max(held) <= found.umax
            assert found.smin <= min(map(signed, held))
            assert max(map(signed, held)) <= found.smax
    exact = [
        found
        for found, held in ranges.items()
        if held and (found.umin, found.umax) == (min(held), max(held))
    ]
    assert len(exact) > 0.75 * len(ranges)


def test_meeting_and_being_within(ranges):
    for a, left in ranges.items():
        for b, right in ranges.items():
            met = a.meet(b)
            held = set() if met is None else {n for n in range(8) if met.holds(n)}
            assert held == left & right
            if a.within(b):
                assert left <= right


def test_constants_and_the_unknown():
    assert Range.constant(-1, 3) == Range.of(3, unsigned=(7, 7))
    assert Range.unknown(3) == Range.of(3)
    assert Range.of(3, unsigned=(0, 3), signed=(-4, -1)) is None
    assert Range.constant(5, 3).is_constant
    assert "Range(3, 0x5" in repr(Range.constant(5, 3))
