"""Tables, JSON and CSV of a placement."""

import csv
import io
import textwrap
from collections import Counter
from collections.abc import Mapping
from typing import Any, TextIO

import numpy as np

from fanweave.golden.dops.passlog import PURPOSES
from fanweave.golden.dops.platforms import GIB, PICOSECONDS
from fanweave.golden.dops.registry import Request
from fanweave.golden.dops.schedule import KeptPass, Schedule
from fanweave.sim.report.table import WIDTH, Column, format_number, print_table

__all__ = [
    "operators_csv",
    "pass_name",
    "place_document",
    "placement",
    "print_comparison",
    "print_schedule",
    "seconds",
]

_CSV_COLUMNS = (
    *("phase", "token", "operator", "kind", "layer", "shard", "device", "start_s", "finish_s"),
)


def seconds(picoseconds: int) -> str:
    """A time to the picosecond, for files."""
    sign = "-" if picoseconds < 0 else ""
    whole, part = divmod(abs(picoseconds), PICOSECONDS)
    return f"{sign}{whole}.{part:012d}"


def pass_name(kept: KeptPass) -> str:
    """Words for a pass."""
    return "prefill" if kept.phase == "prefill" else f"token {kept.token}"


def placement(result: Schedule, kept: KeptPass) -> dict[str, dict[str, int]]:
    """Kind of operator -> device -> how many ran there."""
    counts: dict[str, Counter[str]] = {}
    for index, operator in enumerate(result.flat.graph.operators):
        counts.setdefault(operator.kind.value, Counter())[result.device(kept, index)] += 1
    return {kind: dict(sorted(count.items())) for kind, count in counts.items()}


def place_document(request: Request, result: Schedule, *, operators: bool) -> dict[str, Any]:
    """JSON of a placement; `operators` adds every operator and message of the kept passes."""
    work, sharding = request.workload, result.flat.graph.sharding
    peak = result.kept[-1].log.used.tolist()
    document = result.document(rows=operators)
    for device, used, limit in zip(document["devices"], peak, result.platform.devices, strict=True):
        device["memory_peak_bytes"] = used
        device["memory_bytes"] = limit.capacity_bytes
    return {
        "batch": work.batch,
        "prefill_tokens": work.prefill,
        "decode_tokens": work.decode,
        "elements": request.elements,
        "pieces": {"attention": sharding.attention, "feed_forward": sharding.feed_forward},
        "seed": request.seed,
        **document,
        "tokens_per_s": _rate(request, result),
        "placement": {pass_name(kept): placement(result, kept) for kept in result.kept},
    }


def _rate(request: Request, result: Schedule) -> float:
    if not request.workload.decode:
        return 0.0
    return (
        request.workload.batch
        * request.workload.decode
        * PICOSECONDS
        / (result.total - result.prefill)
    )


def operators_csv(result: Schedule) -> str:
    """One line an operator of the kept passes."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_CSV_COLUMNS)
    operators = result.flat.graph.operators
    for kept in result.kept:
        for index in np.lexsort((kept.log.finish, kept.log.start)).tolist():
            operator = operators[index]
            times = int(kept.log.start[index]), int(kept.log.finish[index])
            where = result.device(kept, index)
            words = operator.name, operator.kind.value, operator.layer, max(0, operator.shard)
            writer.writerow([kept.phase, kept.token, *words, where, *map(seconds, times)])
    return text.getvalue()


def print_schedule(request: Request, result: Schedule, *, stream: TextIO) -> None:
    """Print a placement for people."""
    work = request.workload
    title = (
        f"{request.model.name} on {result.platform.name}, {result.scheduler}, {result.mode}"
        f"{f' of record {result.record}' if result.record else ''}: batch {work.batch}, "
        f"{work.prefill} tokens in, {work.decode} out"
    )
    bound = result.total / result.lower_bound if result.lower_bound else 0.0
    rows = [
        ["prefill", _time(result.prefill)],
        ["decode", _time(result.total - result.prefill)],
        ["total", _time(result.total)],
        ["lower bound", f"{_time(result.lower_bound)} (total is {format_number(bound)} times it)"],
        ["output tokens/s", format_number(_rate(request, result))],
    ]
    rows += [[f"{what.replace('_', ' and ')} at", home] for what, home in result.homes.items()]
    if result.ran < work.decode:
        rows.append(["decoded tokens", f"{result.ran} run, the others interpolated"])
    columns = [Column(heading="", numeric=False), Column(heading="", numeric=False)]
    _say(title, stream)
    print_table(columns, rows, stream=stream)
    _print_devices(result, stream)
    _print_energy(result, stream)
    _print_placement(result, stream)
    _say(f"held in every pass: {'; '.join(result.checked)}", stream)
    if result.waived:
        _say(f"waived by the mode: {'; '.join(result.waived)}", stream)


def _time(picoseconds: int) -> str:
    return f"{picoseconds / PICOSECONDS:.6f} s"


def _print_devices(result: Schedule, stream: TextIO) -> None:
    headings = ("busy", "weight loads", "peak GiB", "of")
    columns = [Column(heading="device", numeric=False)]
    columns += [Column(heading=heading) for heading in headings]
    peak = result.kept[-1].log.used.tolist()
    whole = result.ran == len(result.token_ends)
    rows = [
        [
            device.name,
            f"{result.busy[index] / max(1, result.total):.1%}" if whole else "",
            f"{int(result.loads[:, index].sum()):,}",
            f"{peak[index] / GIB:.2f}",
            f"{device.capacity_bytes / GIB:g}",
        ]
        for index, device in enumerate(result.platform.devices)
    ]
    print_table(columns, rows, stream=stream)
    sent = [
        [purpose, f"{time / PICOSECONDS:.6f} s"]
        for purpose, time in zip(PURPOSES, result.sent.tolist(), strict=True)
        if time
    ]
    columns = [Column(heading="links carry", numeric=False), Column(heading="for")]
    print_table(columns, sent, stream=stream)


def _print_energy(result: Schedule, stream: TextIO) -> None:
    report = result.energy
    if report is None:
        return
    headings = ("operations J", "memory J", "idle J", "total J")
    columns = [Column(heading="energy", numeric=False)]
    columns += [*(Column(heading=heading) for heading in headings)]
    columns.append(Column(heading="origin", numeric=False))
    rows = [
        [
            part.name,
            *map(format_number, (part.operations, part.memory, part.idle, part.total)),
            part.origin,
        ]
        for part in report.parts
    ]
    rows.append(["all", "", "", "", format_number(report.total), report.origin])
    print_table(columns, rows, stream=stream)
    words = f"{format_number(report.per_token)} J for each generated token"
    if report.unknown:
        words += f", without {', '.join(report.unknown)}, whose energy is not known"
    _say(words, stream)


def _print_placement(result: Schedule, stream: TextIO) -> None:
    passes = [placement(result, kept) for kept in result.kept]
    columns = [Column(heading="operators", numeric=False)]
    columns += [Column(heading=pass_name(kept), numeric=False) for kept in result.kept]
    rows = [
        [kind, *(", ".join(f"{d} {n}" for d, n in each[kind].items()) for each in passes)]
        for kind in passes[0]
    ]
    print_table(columns, rows, stream=stream)


def print_comparison(results: Mapping[str, Schedule], *, stream: TextIO) -> None:
    """Print the times of several schedulers."""
    headings = ("prefill s", "decode s", "total s", "over the best", "over the bound")
    columns = [Column(heading="scheduler", numeric=False)]
    columns += [Column(heading=heading) for heading in headings]
    best = min(result.total for result in results.values())
    rows = [
        [
            name,
            f"{result.prefill / PICOSECONDS:.6f}",
            f"{(result.total - result.prefill) / PICOSECONDS:.6f}",
            f"{result.total / PICOSECONDS:.6f}",
            format_number(result.total / best),
            format_number(result.total / max(1, result.lower_bound)),
        ]
        for name, result in sorted(results.items(), key=lambda item: item[1].total)
    ]
    print_table(columns, rows, title="schedulers", stream=stream)


def _say(words: str, stream: TextIO) -> None:
    print(textwrap.fill(words, WIDTH), file=stream)
