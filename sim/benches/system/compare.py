"""Holds what islands in RTL did against the timed model of the same system."""

from collections.abc import Callable, Sequence

import numpy as np

from fanweave.golden.cxl.timed.columns import COUNTS
from fanweave.golden.cxl.timed.system import TimedSystem
from fanweave.golden.errors import FaultError
from fanweave.golden.isa.cxl_island import FIRST_ADDRESS, ISLAND_COUNTERS, ISLAND_REGISTERS
from fanweave.sim.benches.system.simulation import REST, SystemSimulation

__all__ = [
    "compare_answers",
    "compare_counts",
    "compare_pages",
    "compare_verdicts",
    "forgotten",
    "messages_of",
    "time_for",
]

_REGISTERS = {entry.name: entry for entry in ISLAND_REGISTERS}
#: Counters of the switch, and what they are called among `COUNTS`.
_SWITCH_COUNTERS = {
    "events": "events",
    "dropped_events": "dropped",
    "default_verdicts": "defaulted",
    "denied": "denied",
    "unmapped": "unmapped",
    "mirrored": "mirrored",
    "redirected": "redirected",
    "promotions": "promotions",
    "dropped_promotions": "dropped_promotions",
    "moved_pages": "moved_pages",
    "moved_lines": "moved_lines",
    "failed_moves": "failed_moves",
    "held_cycles": "held_cycles",
}
#: Registers of an island whose writes make it forget verdicts; each of its switch does.
_FORGETTING = frozenset(_REGISTERS[name].address for name in ("forget", "verdicts"))


def messages_of(system: TimedSystem) -> np.ndarray:
    """What hosts sent, as `SystemSimulation.play` takes it."""
    traffic, sent = system.traffic, int(system.state.clock[1])
    line = traffic.line[:sent]
    columns = [traffic.sent[:sent], traffic.host[:sent], traffic.flows[traffic.flow[:sent], 3]]
    columns += [traffic.tag[:sent], line & 0xFFFFFFFF, line >> 32]
    return np.stack(columns, axis=1)


def time_for(system: TimedSystem) -> dict[str, int]:
    """Cycles that `SystemSimulation.play` has in all, and behind the last answer: as many as golden
    needed until no event ran and no page moved, and some more.
    """
    end, sent = int(system.state.clock[0]), int(system.state.clock[1])
    last = int(system.traffic.done[:sent].max(initial=0))
    return {"limit": end + 10 * REST, "rest": end - last + REST}


def compare_answers(
    system: TimedSystem, done: np.ndarray, *, where: str, name: Callable[[int], str]
) -> None:
    """Each message's cycle of answer.

    Raises
    ------
    FaultError
        If one differs; it names the first, whose flow ``name`` names.
    """
    traffic = system.traffic
    expected = traffic.done[: len(done)]
    wrong = np.flatnonzero(expected != done)
    if not len(wrong):
        return
    m = int(wrong[0])
    raise FaultError(
        f"{where}: {len(wrong)} of {len(done)} messages are answered in another cycle than golden "
        f"says; the first is message {m} of {name(int(traffic.flow[m]))}, sent in cycle "
        f"{traffic.sent[m]} and answered in {done[m]} instead of {expected[m]}"
    )


def compare_verdicts(system: TimedSystem, told: np.ndarray, islands: Sequence[str]) -> int:
    """Each verdict that an island's switch was told, and when; gives their number.

    Raises
    ------
    FaultError
        If one differs, or golden had no place for all of them.
    """
    kept = system.traffic.told
    rows = kept[: int(system.state.clock[3])]
    if len(rows) and len(rows) == len(kept):
        raise FaultError("golden had no place for all verdicts")
    for number, island in enumerate(islands):
        mine, theirs = rows[rows[:, 0] == number], told[told[:, 0] == number].astype(np.int64)
        r0 = mine[:, 3] | mine[:, 4] << 8 | mine[:, 5] << 16
        expected = np.stack([mine[:, 1], np.where(mine[:, 2], r0, -1)], axis=1)
        word = np.where(theirs[:, 4] == 0, theirs[:, 2] | theirs[:, 3] << 32, -1)
        found = np.stack([theirs[:, 1], word], axis=1)
        both = min(len(found), len(expected))
        wrong = np.flatnonzero((found[:both] != expected[:both]).any(axis=1))
        if len(wrong) or len(found) != len(expected):
            at = int(wrong[0]) if len(wrong) else both
            raise FaultError(
                f"{island}: verdict {at} of {len(expected)} (in RTL of {len(found)}): cycle and r0 "
                f"are {found[at : at + 1].tolist()} instead of "
                f"{expected[at : at + 1].tolist()}"
            )
    return len(rows)


def forgotten(simulation: SystemSimulation) -> int:
    """How often the chosen island forgot its verdicts."""
    return simulation.register(_REGISTERS["counter_forgotten"].address)


def compare_counts(
    simulation: SystemSimulation, system: TimedSystem, number: int, *, island: str, before: int
) -> None:
    """Counters of an island, which is the chosen one, and of its switch.

    Parameters
    ----------
    before : int
        How often it had forgotten its verdicts before registers were written.

    Raises
    ------
    FaultError
        If one differs.
    """
    counted = zip(COUNTS._fields, system.state.counts[number], strict=True)
    counts = {name: int(count) for name, count in counted}
    forgetting = sum(
        address < FIRST_ADDRESS or address in _FORGETTING
        for address, _ in system.setups[number].writes
    )
    expected = {name: counts.get(name, 0) for name, _ in ISLAND_COUNTERS}
    expected["forgotten"] += before + forgetting
    expected |= {name: counts[ours] for name, ours in _SWITCH_COUNTERS.items()}
    registers = {entry.name: entry for entry in (*ISLAND_REGISTERS, *system.switch.registers)}
    for name, wanted in expected.items():
        found = simulation.register(registers[f"counter_{name}"].address)
        if found != wanted:
            raise FaultError(f"{island}: {found} {name} were counted instead of {wanted}")


def compare_pages(
    simulation: SystemSimulation, system: TimedSystem, number: int, *, island: str
) -> int:
    """Where pages of an island's hosts are in the end; gives how many are elsewhere.

    Raises
    ------
    FaultError
        If one is not where golden has it.
    """
    config, pages = system.switch, 0
    registers = {entry.name: entry for entry in config.registers}
    groups = system.state.there.shape[-1] // config.move_lines
    for host in range(config.upstream):
        for place in range(config.moves):
            name, row = f"move_{host}_{place}", system.state.pages[number, host, place]
            whole = system.state.there[number, host, place, :groups].all()
            entry = registers[name]
            word = simulation.register(entry.address)
            found = [entry.field(of).extract(word) for of in ("valid", "whole", "port", "ld_id")]
            page = 0
            for part, shift in (("low", 0), ("high", 20)):
                half = registers[f"{name}_{part}"]
                page |= half.field("page").extract(simulation.register(half.address)) << shift
            expected = [int(row[0]), int(whole), int(row[2]), int(row[3])]
            if found[0] != expected[0] or (found[0] and [*found, page] != [*expected, int(row[1])]):
                raise FaultError(
                    f"{island}: {name} is {[*found, page]} instead of {[*expected, int(row[1])]}"
                )
            pages += found[0]
    return pages
