"""A loop's outcome as a document of JSON, and its numbers as rows with their origins."""

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from fanweave.golden.dops.platforms import PICOSECONDS, Device
from fanweave.golden.loop.changes import CostChange
from fanweave.golden.loop.costs import cost_documents
from fanweave.golden.origins import Origin
from fanweave.sim.loop.kernels import KernelFigure
from fanweave.sim.loop.run import LoopOutcome, LoopRound, Reason, RoundChange, best_round
from fanweave.sim.loop.switching import SwitchFigures
from fanweave.sim.placement.report import pass_name, placement
from fanweave.sim.report.bench_rows import BenchRow

__all__ = ["MOVEMENT", "loop_document", "loop_rows"]

#: How the cases of rows of single movements begin.
MOVEMENT = "movement "

#: Numbers of a device that a card can have, and their units.
_NUMBERS = {"peak_tflops": "TFLOP/s", "bandwidth_gib": "GiB/s"}


def loop_document(outcome: LoopOutcome) -> dict[str, Any]:
    """All that a loop did."""
    loop, best = outcome.loop, best_round(outcome)
    return {
        "name": loop.name,
        "model": loop.model,
        "platform": loop.platform,
        "trace": loop.trace,
        "scheduler": loop.scheduler,
        "batch": loop.batch,
        "prefill_tokens": loop.prefill,
        "decode_tokens": loop.decode,
        "weight_density": loop.density[0],
        "activation_density": loop.density[1],
        "measure": loop.measure,
        "start": outcome.start,
        "ending": outcome.converged.ending.value,
        "first": outcome.converged.first,
        "best": best.number,
        "moved": outcome.moved,
        "rounds": [_round(each) for each in outcome.converged.rounds],
        "changes": [_change(each) for each in outcome.changes],
        "left": [_cost_change(each) for each in outcome.left],
        "costs": cost_documents(best.after),
        "rows": [asdict(row) for row in loop_rows(outcome)],
    }


def _round(each: LoopRound) -> dict[str, Any]:
    result = each.result
    schedule, switch = result.placement.schedule, result.switch
    return {
        "number": each.number,
        "prefill_s": schedule.prefill / PICOSECONDS,
        "decode_s": (schedule.total - schedule.prefill) / PICOSECONDS,
        "total_s": schedule.total / PICOSECONDS,
        "placement": {pass_name(kept): placement(schedule, kept) for kept in schedule.kept},
        "kernels": [asdict(kernel) for kernel in result.kernels],
        "switch": None if switch is None else asdict(switch),
        "measured": result.measured,
        "known": result.found,
    }


def _change(each: RoundChange) -> dict[str, Any]:
    return {
        "round": each.number,
        "costs": [_cost_change(change) for change in each.costs],
        "moves": [_reason(reason) for reason in each.reasons],
    }


def _cost_change(change: CostChange) -> dict[str, Any]:
    return {
        "name": change.name,
        "before": change.before.value,
        "after": change.after.value,
        "unit": change.after.unit,
        "origin_before": change.before.origin,
        "origin": change.after.origin,
        "source": change.after.source,
    }


def _reason(reason: Reason) -> dict[str, Any]:
    move = reason.move
    return {
        "pass": move.when,
        "kind": move.kind,
        "operators": list(move.operators),
        "from": move.source,
        "to": move.target,
        "alone": list(reason.alone),
        "behind_first_before_s": {name: ps / PICOSECONDS for name, ps in reason.before.items()},
        "behind_first_after_s": {name: ps / PICOSECONDS for name, ps in reason.after.items()},
    }


def loop_rows(outcome: LoopOutcome) -> list[BenchRow]:
    """The numbers of the round that counts, each with its origin."""
    best = best_round(outcome)
    result, loop = best.result, outcome.loop
    schedule = result.placement.schedule
    rows = [
        BenchRow(
            case=f"placed, {what}",
            metric="seconds",
            value=value / PICOSECONDS,
            unit="s",
            origin="model",
        )
        for what, value in (
            ("prefill", schedule.prefill),
            ("decode", schedule.total - schedule.prefill),
            ("total", schedule.total),
        )
    ]
    rows += _kernel_rows(result.kernels)
    if result.switch is not None:
        rows += _switch_rows(result.switch)
    known: Origin = "measured" if loop.trace else "assumed"
    words = ("weights that are not zero", "inputs that are not zero")
    rows += [
        BenchRow(case=case, metric="density", value=value, unit="1", origin=known)
        for case, value in zip(words, loop.density, strict=True)
    ]
    platform = result.placement.request.platform
    for device in platform.devices:
        rows += _device_rows(device)
    link, switch = platform.default_link, platform.switch
    outside = link.latency_ns - (switch.latency_ns if switch is not None else 0.0)
    rows += [
        BenchRow(case="link", metric="bandwidth_gib", value=link.bandwidth_gib, unit="GiB/s",
                 origin="assumed"),
        BenchRow(case="link without the switch", metric="latency_ns", value=outside,
                 unit="ns", origin="assumed"),
        BenchRow(case="memory behind the switch", metric="latency_ns", value=loop.memory.latency,
                 unit="ns", origin="assumed"),
    ]  # fmt: skip
    return rows


def _kernel_rows(kernels: tuple[KernelFigure, ...]) -> Iterator[BenchRow]:
    for kernel in kernels:
        yield BenchRow(
            case=f"{kernel.device}, {kernel.kind}, {kernel.phase}",
            metric="lanes_busy",
            value=kernel.lanes_busy,
            unit="1",
            origin=kernel.origin,
        )


def _switch_rows(switch: SwitchFigures) -> Iterator[BenchRow]:
    def row(case: str, metric: str, value: float, unit: str) -> BenchRow:
        return BenchRow(case=case, metric=metric, value=value, unit=unit, origin=switch.origin)

    yield row("switch, a request alone", "latency_ns", switch.idle_ns, "ns")
    without = {figure.movement: figure for figure in switch.without}
    for figure in switch.links:
        case = f"{MOVEMENT}{figure.movement}, {figure.messages} lines"
        bare = without[figure.movement]
        yield row(f"{case}, without policies", "latency_ns", round(bare.latency_ns, 2), "ns")
        yield row(f"{case}, with policies", "latency_ns", round(figure.latency_ns, 2), "ns")
        yield row(case, "bandwidth_gib", round(figure.bandwidth_gib, 2), "GiB/s")
    for island, counts in switch.counts.items():
        judged = counts["hits"] + counts["misses"]
        yield row(island, "events_judged", counts["ran"], "events")
        if judged:
            yield row(island, "verdict_hit_share", round(counts["hits"] / judged, 4), "1")
    for island, programs in switch.programs.items():
        for name, worst in programs.items():
            yield BenchRow(
                case=f"{island}, {name}, at worst",
                metric="instructions",
                value=worst,
                unit="instructions",
                origin="model",
            )


def _device_rows(device: Device) -> Iterator[BenchRow]:
    for key, unit in _NUMBERS.items():
        yield BenchRow(
            case=device.name,
            metric=key,
            value=getattr(device, key),
            unit=unit,
            origin="literature" if key in device.literature else "assumed",
        )
