"""A timeline in the Chrome trace format, which Perfetto and chrome://tracing show."""

from collections.abc import Iterator
from typing import Any

from fanweave.golden.dops.memory_trace import MemoryTrace
from fanweave.golden.dops.passlog import PURPOSES
from fanweave.golden.dops.schedule import KeptPass, Schedule
from fanweave.sim.placement.report import pass_name

__all__ = ["chrome_trace"]

_US = 1e6
_DEVICES, _LINKS, _MEMORY = 1, 2, 3


def chrome_trace(result: Schedule, memory: MemoryTrace | None) -> dict[str, Any]:
    """Devices, links and memory counters of the kept passes.

    Parameters
    ----------
    result : Schedule
    memory : MemoryTrace or None
        Without it there are no counters.

    Returns
    -------
    dict
        Times in microseconds, as the format wants them.
    """
    events = [*_names(result)]
    for kept in result.kept:
        events += _operators(result, kept)
        events += _reads(result, kept)
        events += _messages(result, kept)
        if memory is not None:
            events += _counters(result, kept, memory)
    return {
        "displayTimeUnit": "ns",
        "otherData": {
            "model": result.flat.graph.model.name,
            "platform": result.platform.name,
            "scheduler": result.scheduler,
            "mode": result.mode,
            "record": result.record,
        },
        "traceEvents": events,
    }


def _name(pid: int, name: str, tid: int | None = None) -> dict[str, Any]:
    event: dict[str, Any] = {"ph": "M", "pid": pid, "args": {"name": name}}
    if tid is None:
        return {**event, "name": "process_name"}
    return {**event, "name": "thread_name", "tid": tid}


def _names(result: Schedule) -> Iterator[dict[str, Any]]:
    names = [device.name for device in result.platform.devices]
    yield _name(_DEVICES, "devices")
    yield from (_name(_DEVICES, name, index) for index, name in enumerate(names))
    if result.flat.collective.any():
        yield _name(_DEVICES, "collectives", len(names))
    yield _name(_LINKS, "links")
    pairs = {tuple(row[2:4]) for kept in result.kept for row in kept.log.messages.tolist()}
    for source, target in sorted(pairs):
        tid = source * len(names) + target
        yield _name(_LINKS, f"{names[source]} to {names[target]}", tid)
    yield _name(_MEMORY, "memory")


def _slice(
    name: str, category: str, pid: int, tid: int, start: int, finish: int, **arguments: Any
) -> dict[str, Any]:
    return {
        "name": name,
        "cat": category,
        "ph": "X",
        "pid": pid,
        "tid": tid,
        "ts": start / _US,
        "dur": (finish - start) / _US,
        "args": arguments,
    }


def _operators(result: Schedule, kept: KeptPass) -> Iterator[dict[str, Any]]:
    log, collective = kept.log, result.flat.collective
    for index, operator in enumerate(result.flat.graph.operators):
        row = len(result.platform.devices) if collective[index] else int(log.place[index])
        start, finish = int(log.start[index]), int(log.finish[index])
        words = {"operator": operator.name, "layer": operator.layer, "pass": pass_name(kept)}
        yield _slice(operator.kind.value, pass_name(kept), _DEVICES, row, start, finish, **words)


def _reads(result: Schedule, kept: KeptPass) -> Iterator[dict[str, Any]]:
    for operator, device, start, finish in kept.log.reads.tolist():
        name = result.flat.graph.operators[operator].name
        yield _slice(
            "read history", pass_name(kept), _DEVICES, device, start, finish, operator=name
        )


def _messages(result: Schedule, kept: KeptPass) -> Iterator[dict[str, Any]]:
    devices = len(result.platform.devices)
    for purpose, operator, source, target, start, finish in kept.log.messages.tolist():
        name = result.flat.graph.operators[operator].name
        tid = source * devices + target
        yield _slice(PURPOSES[purpose], pass_name(kept), _LINKS, tid, start, finish, operator=name)


def _counters(result: Schedule, kept: KeptPass, memory: MemoryTrace) -> Iterator[dict[str, Any]]:
    points = memory.points.get((kept.phase, kept.token), [])
    for point in sorted(points, key=lambda point: point.time):
        yield {
            "name": result.platform.devices[point.device].name,
            "ph": "C",
            "pid": _MEMORY,
            "ts": point.time / _US,
            "args": {
                "keys and values": memory.reserved[point.device],
                "weights": point.weights,
                "activations": point.activations,
            },
        }
