"""Plays scenarios on an engine, and says what is not as it should be."""

from collections.abc import Mapping
from dataclasses import dataclass

from fanweave.golden.ebpf.interpreter import Trace
from fanweave.golden.errors import FaultError
from fanweave.golden.isa.cxl_event import Verdict
from fanweave.golden.isa.ebpf_machine import FaultCause
from fanweave.golden.isa.ebpf_maps import ARRAYS, MapType
from fanweave.sw.ebpf.object.contents import Contents, Entries, initial_contents
from fanweave.sw.ebpf.object.engines import RunRequest, find_engine
from fanweave.sw.policies.library import BuiltPolicy, MapEntries, build_policy
from fanweave.sw.policies.scenario import Scenario

__all__ = ["Played", "play", "require"]


@dataclass(frozen=True, kw_only=True)
class Played:
    """What came of a scenario.

    Attributes
    ----------
    results : tuple of int
        r0 by event.
    contents : Contents
        What is in the maps in the end; of rings all records that there ever were.
    instructions : tuple of int or None
        By event, if the engine knows.
    """

    results: tuple[int, ...]
    contents: Contents
    instructions: tuple[int | None, ...]


def play(scenario: Scenario, *, engine: str = "golden", trace: Trace | None = None) -> Played:
    """Run the events of a scenario, one after the other, each with the maps that the last one left.

    After each event the host takes what is in ring buffers.

    Parameters
    ----------
    scenario : Scenario
        The events.
    engine : str
        Name of an engine, see `find_engine`.
    trace : callable, optional
        Sees each instruction, where an engine shows them.

    Raises
    ------
    InputError
        If there is no such engine, or it refuses the program.
    FaultError
        If an event ends with a fault.
    """
    run = find_engine(engine)
    built = build_policy(scenario.policy)
    host = _put({}, built.contents(scenario.maps))
    records: dict[int, list[tuple[bytes, bytes]]] = {}
    results, instructions = [], []
    for number, step in enumerate(scenario.steps):
        host = _put(host, built.contents(step.before))
        done = run(
            RunRequest(
                loaded=built.loaded,
                program=built.program,
                context=step.context,
                contents=host,
                budget=built.policy.budget,
                trace=trace,
            )
        )
        if done.fault is not FaultCause.NONE:
            raise FaultError(f"{scenario}: event {number} ended with {done.fault.name}")
        results.append(done.r0)
        instructions.append(done.instructions)
        for ring in _rings(built):
            records.setdefault(ring, []).extend(done.contents[ring])
        host = _carried(built, done.contents)
    return Played(
        results=tuple(results), contents={**host, **records}, instructions=tuple(instructions)
    )


def require(scenario: Scenario, played: Played) -> None:
    """Compare what came of a scenario with what must come of it.

    Raises
    ------
    FaultError
        If a verdict or a map differs; the message shows both.
    """
    for number, (step, r0) in enumerate(zip(scenario.steps, played.results, strict=True)):
        if r0 != step.verdict.encode():
            raise FaultError(
                f"{scenario}: event {number} gives r0 = {r0:#x}, {Verdict.decode(r0)}; it must "
                f"be {step.verdict.encode():#x}, {step.verdict}"
            )
    built = build_policy(scenario.policy)
    wanted = _wanted(built, scenario)
    for number, made in enumerate(built.loaded.maps):
        found = sorted(played.contents.get(number, ()), key=_by_key)
        expected = sorted(wanted.get(number, ()), key=_by_key)
        if found != expected:
            raise FaultError(
                f"{scenario}: map {made.name!r} holds {built.values({number: found})[made.name]}; "
                f"it must hold {built.values({number: expected})[made.name]}"
            )


def _by_key(entry: tuple[bytes, bytes]) -> bytes:
    """Values without keys stay in their order."""
    return entry[0]


def _wanted(built: BuiltPolicy, scenario: Scenario) -> Contents:
    """What all maps must hold in the end."""
    wanted: Contents = _put(initial_contents(built.loaded), built.contents(scenario.maps))
    for step in scenario.steps:
        wanted = _put(wanted, built.contents(step.before))
    after: Mapping[str, MapEntries] = scenario.after
    wanted = {**wanted, **built.contents(after)}
    return _carried(built, wanted, rings=True)


def _put(contents: Contents, more: Contents) -> Contents:
    """Contents with entries that replace those with the same key, or come behind the others."""
    merged = dict(contents)
    for number, entries in more.items():
        before = merged.get(number, ())
        if entries and entries[0][0]:
            merged[number] = list({**dict(before), **dict(entries)}.items())
        else:
            merged[number] = [*before, *entries]
    return merged


def _carried(built: BuiltPolicy, contents: Contents, *, rings: bool = False) -> Contents:
    """What the next event must find; zeros of arrays are there by themselves."""
    carried: dict[int, Entries] = {}
    for number, entries in contents.items():
        made = built.loaded.maps[number]
        if made.spec.kind is MapType.RINGBUF and not rings:
            continue
        zeros = made.spec.kind in ARRAYS and not made.contents
        carried[number] = [entry for entry in entries if any(entry[1]) or not zeros]
    return carried


def _rings(built: BuiltPolicy) -> list[int]:
    return [n for n, made in enumerate(built.loaded.maps) if made.spec.kind is MapType.RINGBUF]
