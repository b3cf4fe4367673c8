"""Copies a state from its owner's machine to a reader's, as its sync rule says."""

from fanweave.golden.ebpf.machine import Machine
from fanweave.golden.errors import FaultError
from fanweave.golden.isa.ebpf_maps import Errno
from fanweave.sw.fabric.build import Built
from fanweave.sw.fabric.unit import State

__all__ = ["copy_state"]

_KEY_BYTES = 4


def copy_state(state: State, owner: tuple[Built, Machine], reader: tuple[Built, Machine]) -> int:
    """Copy once; how many values were copied.

    Parameters
    ----------
    state : State
    owner, reader : tuple of Built and Machine
        Of the two devices.

    Raises
    ------
    FaultError
        If the reader's map does not take a value.
    """
    built, machine = owner
    values = dict(machine.maps[built.loaded.number_of(state.name, "map")].items())
    if ":" in state.copy:
        return _into_settings(state, built, values, reader)
    built, machine = reader
    made = machine.maps[built.loaded.number_of(state.copy, "map")]
    # An owner may have more values than a reader has room for; ports beyond do not exist.
    room = _room(state, made.spec.max_entries)
    copied = 0
    for key, value in values.items():
        number = int.from_bytes(key, "little")
        if number >= room:
            break
        result = made.update((state.first + number).to_bytes(_KEY_BYTES, "little"), value)
        if result:
            raise FaultError(
                f"state {state.name!r}: {state.reader!r} does not take key {state.first + number}: "
                f"{Errno(-result).name}"
            )
        copied += 1
    return copied


def _room(state: State, entries: int) -> int:
    return min(state.most or entries, entries - state.first)


def _into_settings(
    state: State, built: Built, values: dict[bytes, bytes], reader: tuple[Built, Machine]
) -> int:
    """The epoch of one value becomes a member of the reader's settings."""
    section, _, path = state.copy.partition(":")
    variable, _, member = path.partition(".")
    number = built.loaded.number_of(state.name, "map")
    key = state.first.to_bytes(_KEY_BYTES, "little")
    decoded = built.named.values({number: [(key, values[key])]})[state.name]
    found = decoded.get(state.first) if isinstance(decoded, dict) else None
    epoch = found["epoch"] if isinstance(found, dict) else 0
    assert isinstance(epoch, int)
    target, machine = reader
    place = target.loaded.number_of(section, "map")
    zero = bytes(_KEY_BYTES)
    before = machine.maps[place].get(zero)
    assert before is not None  # an array's only value
    value = target.named.value_of(section, {variable: {member: epoch & 0xFFFF_FFFF}}, before)
    machine.maps[place].update(zero, value)
    return 1
