"""Kept states: whether a state that comes by later can do nothing that was not followed before."""

from collections import Counter

from fanweave.golden.isa.ebpf import FRAME_POINTER
from fanweave.sw.ebpf.verifier.origins import Origin, mark_counting, mark_read
from fanweave.sw.ebpf.verifier.stack import WORD, ByteKind, Stack
from fanweave.sw.ebpf.verifier.state import Frame, State
from fanweave.sw.ebpf.verifier.values import CONTEXT_LENGTH, NOT_NULL, Kind, Value

__all__ = ["covers", "keep", "pass_marks", "same", "tidy"]

_RECORDS = frozenset({Kind.RECORD, Kind.RECORD_OR_NULL})
_NUMBER_BYTES = frozenset({ByteKind.ANY, ByteKind.ZERO, ByteKind.NUMBER})


def tidy(state: State) -> None:
    """Take the identities of numbers away that only one place has, as if there were none."""
    counts = Counter(value.identity for value in state.values() if value.kind is Kind.NUMBER)
    single = {identity for identity, count in counts.items() if count == 1} - {CONTEXT_LENGTH}
    for identity in single:
        state.replace(identity, lambda value: value.with_identity(0))


def keep(state: State) -> State:
    """Give all parts of a state origins; returns a copy to compare with."""
    for number, frame in enumerate(state.frames):
        _keep_registers(frame)
        if frame.stack.origins or any(frame.stack.kinds):
            _keep_stack(state.changing_stack(number))
    return state.copy()


def _keep_registers(frame: Frame) -> None:
    for register in range(FRAME_POINTER):
        value = frame.registers[register]
        if value.kind is Kind.UNSET:
            frame.origins[register] = None
            continue
        origin = Origin(frame.origins[register], value.sources)
        frame.origins[register] = origin
        if value.kind is Kind.NUMBER:
            frame.registers[register] = value.with_sources((origin,))


def _keep_stack(stack: Stack) -> None:
    for word in range(len(stack.kinds) // WORD):
        if any(stack.kinds[word * WORD : (word + 1) * WORD]):
            stack.origins[word] = Origin(stack.origins.get(word), ())
    for place, (size, value) in stack.stored.items():
        if value.kind is Kind.NUMBER:
            origin = Origin(None, value.sources)
            stack.stored[place] = (size, value.with_sources((origin,)))


class _Identities:
    """Which identities of one state are which of another's."""

    __slots__ = ("_taken", "map")

    def __init__(self) -> None:
        self.map: dict[int, int] = {}
        self._taken: dict[int, int] = {}

    def fit(self, old: int, new: int, *, alone: bool) -> bool:
        """Whether one can stand for the other; `alone` if for no third one too."""
        if CONTEXT_LENGTH in (old, new):
            return old == new
        if self.map.setdefault(old, new) != new:
            return False
        return not alone or self._taken.setdefault(new, old) == old


def covers(old: State, new: State) -> bool:
    """Whether all that a state can do was followed from a kept state, which is completely done."""
    if not _same_calls(old, new) or old.context_bytes > new.context_bytes:
        return False
    identities = _Identities()
    for before, now in zip(old.frames, new.frames, strict=True):
        for register, origin in enumerate(before.origins):
            if (
                origin is not None
                and origin.read
                and not _value_covers(
                    *(before.registers[register], now.registers[register]),
                    *(identities, origin.counts),
                )
            ):
                return False
        if not _stack_covers(before.stack, now.stack, identities):
            return False
    return {identities.map.get(record) for record in old.records} == set(new.records)


def _same_calls(old: State, new: State) -> bool:
    return (
        len(old.frames) == len(new.frames)
        and len(old.records) == len(new.records)
        and all(a.back == b.back for a, b in zip(old.frames, new.frames, strict=True))
    )


def _value_covers(old: Value, new: Value, identities: _Identities, counts: bool) -> bool:
    if old.kind is not new.kind:
        return False
    if old.kind is Kind.NUMBER:
        if not counts:
            return True
        if not new.scalar.within(old.scalar):
            return False
        return not old.identity or (
            new.identity != 0 and identities.fit(old.identity, new.identity, alone=False)
        )
    if old.place != new.place or old.size > new.size or not new.scalar.within(old.scalar):
        return False
    if old.kind in _RECORDS or old.kind in NOT_NULL:
        return identities.fit(old.identity, new.identity, alone=True)
    return True


def _stack_covers(old: Stack, new: Stack, identities: _Identities) -> bool:
    for word, origin in old.origins.items():
        if origin.read:
            places = range(word * WORD, (word + 1) * WORD)
            if not all(_byte_covers(old.kinds[at], new.kinds[at]) for at in places):
                return False
    for place, (size, value) in old.stored.items():
        if not _is_read(old, place, size):
            continue
        counts = bool(value.sources) and value.sources[0].counts
        found = new.stored.get(place)
        if found is None or found[0] != size:
            # Bytes of numbers are enough where the number does not count.
            if value.kind is Kind.NUMBER and not counts:
                continue
            return False
        if not _value_covers(value, found[1], identities, counts):
            return False
    return True


def _is_read(stack: Stack, place: int, size: int) -> bool:
    words = range(place // WORD, (place + size - 1) // WORD + 1)
    return any(word in stack.origins and stack.origins[word].read for word in words)


def _byte_covers(old: int, new: int) -> bool:
    if old == ByteKind.UNSET:
        return True
    if old in (ByteKind.ANY, ByteKind.NUMBER):
        return new in _NUMBER_BYTES
    return old == new


def pass_marks(old: State, new: State) -> None:
    """Mark in a state what was read behind the kept state that covers it, and what counted."""
    for before, now in zip(old.frames, new.frames, strict=True):
        for register, origin in enumerate(before.origins):
            if origin is not None and origin.read:
                mark_read(now.origins[register])
                if origin.counts:
                    mark_counting(now.registers[register].sources)
        for word, origin in before.stack.origins.items():
            if origin.read:
                mark_read(now.stack.origins.get(word))
        for place, (_, value) in before.stack.stored.items():
            if value.sources and value.sources[0].counts and place in now.stack.stored:
                mark_counting(now.stack.stored[place][1].sources)


def same(old: State, new: State) -> bool:
    """Whether two states are the same in every part."""
    if not _same_calls(old, new) or old.context_bytes != new.context_bytes:
        return False
    identities = _Identities()
    for before, now in zip(old.frames, new.frames, strict=True):
        pairs = zip(before.registers, now.registers, strict=True)
        if not all(_same_value(a, b, identities) for a, b in pairs):
            return False
        if before.stack.kinds != now.stack.kinds:
            return False
        if before.stack.stored.keys() != now.stack.stored.keys():
            return False
        for place, (size, value) in before.stack.stored.items():
            other_size, other = now.stack.stored[place]
            if size != other_size or not _same_value(value, other, identities):
                return False
    return {identities.map.get(record) for record in old.records} == set(new.records)


def _same_value(old: Value, new: Value, identities: _Identities) -> bool:
    return (
        old.kind is new.kind
        and (old.kind is Kind.UNSET or old.scalar == new.scalar)
        and (old.place, old.size) == (new.place, new.size)
        and identities.fit(old.identity, new.identity, alone=True)
    )
