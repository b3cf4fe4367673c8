"""What each helper does, step by step, for the helper unit."""

from amaranth import Module, Signal, Value
from amaranth.lib import data

from fanweave.golden.isa.ebpf_engine import MapCommand
from fanweave.golden.isa.ebpf_helpers import HELPERS
from fanweave.hw.ebpf.helper_payloads import CLEAN_UP
from fanweave.hw.ebpf.maps.payloads import Command, is_kind

__all__ = ["Plan", "is_helper", "plan_of"]

_NUMBERS = {helper.name: helper.number for helper in HELPERS.values()}


class Plan(data.Struct):
    """Steps of a helper.

    ``keyed``: a key is gathered. ``valued``: a value or a record is. ``gives``: a value is stored.
    ``reads``, ``writes``: the flags of the map must allow it. ``finishes``: r1 is a record and no
    map. ``waits``: the unit waits for the operation's result. ``fits``: the type of the map is one
    that the helper is for.
    """

    command: Command
    keyed: 1
    valued: 1
    gives: 1
    reads: 1
    writes: 1
    finishes: 1
    waits: 1
    fits: 1


_PLANS: dict[str, tuple[MapCommand, tuple[str, ...]]] = {
    "map_lookup_elem": (MapCommand.LOOKUP, ("keyed",)),
    "map_update_elem": (MapCommand.UPDATE, ("keyed", "valued", "writes", "waits")),
    "map_delete_elem": (MapCommand.DELETE, ("keyed", "writes")),
    "tail_call": (MapCommand.LOOKUP, ()),
    "map_push_elem": (MapCommand.PUSH, ("valued", "writes", "waits")),
    "map_pop_elem": (MapCommand.POP, ("gives", "reads", "writes", "waits")),
    "map_peek_elem": (MapCommand.PEEK, ("gives", "reads", "waits")),
    "ringbuf_output": (MapCommand.OUTPUT, ("valued", "waits")),
    "ringbuf_reserve": (MapCommand.RESERVE, ("waits",)),
    "ringbuf_submit": (MapCommand.SUBMIT, ("finishes",)),
    "ringbuf_discard": (MapCommand.DISCARD, ("finishes",)),
    "ringbuf_query": (MapCommand.QUERY, ()),
}


def is_helper(helper: Value, *names: str) -> Value:
    """Whether a number is that of one of the helpers."""
    return helper.matches(*(_NUMBERS[name] for name in names))


def plan_of(m: Module, helper: Value, descriptor: data.View) -> data.View:
    """Plan of a helper on a map; all zeros of one that asks no map."""
    plan = Signal(Plan)
    with m.Switch(helper):
        for name, (command, steps) in _PLANS.items():
            number = _NUMBERS[name]
            with m.Case(number):
                m.d.comb += [
                    plan.command.eq(Command(command)),
                    *(plan[step].eq(1) for step in steps),
                    plan.fits.eq(is_kind(descriptor, *HELPERS[number].maps)),
                ]
        with m.Case(CLEAN_UP):
            m.d.comb += [plan.command.eq(Command.DISCARD), plan.waits.eq(1)]
    return plan
