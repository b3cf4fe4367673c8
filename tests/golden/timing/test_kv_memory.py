import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from fanweave.golden.errors import FaultError, InputError
from fanweave.golden.timing.kv_memory import KvMemory


def test_idle_units_make_place_the_end_of_a_prefix_first():
    memory = KvMemory(8, 16, unit_tokens=32)
    assert memory.take(6)
    assert [memory.store(value) for value in (1, 2, 3)] == [True, True, True]
    memory.release([1, 2, 3])
    assert (memory.used, memory.free, memory.available) == (0, 2, 8)
    assert memory.take(4)
    assert memory.evicted == 1
    assert memory.matched((1, 2, 3), 3) == 2
    assert memory.idle_among((1, 2)) == 4
    assert not memory.take(5)
    memory.hold((1,))
    assert memory.available == 2
    memory.check()


def test_a_unit_is_stored_once_and_shared():
    memory = KvMemory(8, 16, unit_tokens=16)
    assert memory.take(2)
    assert memory.store(5)
    assert not memory.store(5)
    memory.hold((5,))
    memory.release([5])
    assert memory.used == 2
    memory.release([5])
    assert memory.used == 1
    with pytest.raises(FaultError, match="not held"):
        memory.release([5])


def test_what_is_not_there_cannot_be_given_back():
    memory = KvMemory(4, 16)
    with pytest.raises(FaultError, match="1 of 0 private"):
        memory.give(1)
    memory.private = 1
    with pytest.raises(FaultError, match="are 5, not 4"):
        memory.check()


@pytest.mark.parametrize("sizes", [(0, 16), (4, 0), (4, 16, 24)])
def test_sizes_that_do_not_fit(sizes):
    with pytest.raises(InputError, match="KV memory"):
        KvMemory(*sizes)


class Use(RuleBasedStateMachine):
    """Random requests take, share and give back; no block is lost, whatever the order."""

    def __init__(self):
        super().__init__()
        self.memory = KvMemory(40, 16, unit_tokens=32)
        self.holders = []

    @rule(length=st.integers(1, 5), first=st.integers(0, 3), own=st.integers(0, 6))
    def begin(self, length, first, own):
        prefix = tuple(range(first * 10, first * 10 + length))
        memory = self.memory
        hits = prefix[: memory.matched(prefix, length)]
        needed = 2 * (length - len(hits)) + own
        before = memory.available
        if needed + memory.idle_among(hits) > before:
            return
        memory.hold(hits)
        assert memory.take(needed)
        shared = list(hits)
        for value in prefix[len(hits) :]:
            if not memory.store(value):
                break
            shared.append(value)
        private = needed - 2 * (len(shared) - len(hits))
        self.holders.append((shared, private))

    @precondition(lambda self: self.holders)
    @rule(which=st.integers(0, 100))
    def end(self, which):
        shared, private = self.holders.pop(which % len(self.holders))
        self.memory.release(shared)
        self.memory.give(private)

    @invariant()
    def nothing_is_lost(self):
        self.memory.check()
        held = {value for shared, _ in self.holders for value in shared}
        assert self.memory.used == sum(p for _, p in self.holders) + 2 * len(held)
        assert self.memory.used + self.memory.available == 40


TestUse = Use.TestCase
