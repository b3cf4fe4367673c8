"""What came of the settings of a scenario: rows of a benchmark, and a table."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from fanweave.sim.report.bench_rows import BenchRow
from fanweave.sim.report.table import Column, format_number, print_table
from fanweave.sw.system.run import SystemResult
from fanweave.sw.system.setups import COMPILED

if TYPE_CHECKING:
    from fanweave.sim.benches.system.window import WindowResult

__all__ = [
    "best_static",
    "moves_text",
    "print_moves",
    "print_system",
    "system_rows",
    "window_rows",
]

#: Settings within this share of the shortest time count as equally fast.
_EQUAL = 0.01
#: What is counted of moves, and its unit.
_MOVES = {
    "moved_pages": "pages",
    "failed_moves": "pages",
    "dropped_promotions": "promotions",
    "held_cycles": "cycles",
}
#: Moves of pages that a table has at most.
_ROWS = 20


def best_static(results: Sequence[SystemResult]) -> SystemResult:
    """The fastest setting without programs; of those as fast, the one with the shortest tail."""
    statics = [result for result in results if result.setting != COMPILED]
    least = min(result.cycles for result in statics)
    fast = [result for result in statics if result.cycles <= least * (1 + _EQUAL)]
    return min(fast, key=lambda result: (result.flows["attention"].p99, result.cycles))


def _hits(result: SystemResult) -> tuple[int, int]:
    counts = result.counts.values()
    hits = sum(count["hits"] for count in counts)
    return hits, hits + sum(count["misses"] for count in counts)


def _near(result: SystemResult) -> float:
    """Share of accesses that near memories served."""
    served = {name: port.reads + port.writes for name, port in result.ports.items()}
    near = sum(count for name, count in served.items() if name.startswith("near"))
    return near / max(sum(served.values()), 1)


def system_rows(scenario: str, results: Sequence[SystemResult]) -> list[BenchRow]:
    """Rows of all settings; the goals of the compiled policies are the best static setting's."""
    best = best_static(results)
    rows: list[BenchRow] = []
    for result in results:
        case = f"{scenario}, {result.setting}"
        is_compiled = result.setting == COMPILED

        def add(
            metric: str, value: float, unit: str = "cycles", goal: float | None = None,
            where: str = "", case: str = case,
        ) -> None:  # fmt: skip
            rows.append(
                BenchRow(
                    case=case + (f", {where}" if where else ""),
                    metric=metric,
                    value=value,
                    unit=unit,
                    goal=goal,
                    origin="model",
                )
            )

        add("cycles", result.cycles, goal=best.cycles if is_compiled else None)
        for name, flow in result.flows.items():
            goal = best.flows[name].p99 if is_compiled and name == "attention" else None
            add("p50_cycles", flow.p50, where=name)
            add("p99_cycles", flow.p99, goal=goal, where=name)
            add("bytes_per_cycle", flow.bytes_per_cycle, unit="B", where=name)
        add("duplex_balance", result.duplex, unit="1")
        add("near_share", _near(result), unit="1")
        if is_compiled:
            hits, judged = _hits(result)
            add("verdict_hit_share", hits / max(judged, 1), unit="1")
            for island, count in result.counts.items():
                add("engine_events", count["ran"], unit="events", where=island)
                add("dropped_events", count["dropped"], unit="events", where=island)
                add("unseen_events", count["unseen"], unit="events", where=island)
                add("delayed_requests", count["delayed"], unit="requests", where=island)
                for name in _MOVES if count["promotions"] + count["dropped_promotions"] else ():
                    add(name, count[name], unit=_MOVES[name], where=island)
    return rows


def window_rows(scenario: str, seen: "WindowResult", *, goal: int | None) -> list[BenchRow]:
    """Rows of messages and verdicts that RTL and golden agree about."""
    return [
        BenchRow(
            case=f"{scenario}, {seen.setting}, window",
            metric=metric,
            value=value,
            unit=unit,
            goal=goal if metric == "messages_as_golden" else None,
            origin="rtl",
        )
        for metric, value, unit in (
            ("messages_as_golden", seen.messages, "messages"),
            ("verdicts_as_golden", seen.verdicts, "verdicts"),
            ("maps_as_golden", seen.maps, "maps"),
        )
    ]


def print_system(scenario: str, results: Sequence[SystemResult], stream: Any = None) -> None:
    """One row a setting; the best static one is marked."""
    best = best_static(results)
    headings = (
        "cycles",
        "attention p50",
        "p99",
        "ffn p99",
        "handover p99",
        "B/cycle",
        "near",
        "hits",
    )
    rows = []
    for result in results:
        hits, judged = _hits(result)
        flows = result.flows
        mark = " *" if result is best else ""
        total = sum(flow.bytes_per_cycle for flow in flows.values())
        tails = [flows[name].p99 if name in flows else 0.0 for name in ("ffn", "handover")]
        numbers = [result.cycles, flows["attention"].p50, flows["attention"].p99, *tails, total]
        rows.append(
            (
                result.setting + mark,
                *(format_number(number) for number in numbers),
                f"{_near(result):.2f}",
                f"{hits / judged:.2f}" if judged else "-",
            )
        )
    columns = [Column(heading="setting", numeric=False)]
    columns += [Column(heading=heading) for heading in headings]
    title = f"{scenario}: cycles of the prefill and of its messages (* best static setting)"
    print_table(columns, rows, title=title)


def moves_text(result: SystemResult) -> str:
    """What became of promotions, in a line; empty if there were none."""
    counts = result.counts.values()
    asked, dropped, moved, failed, held = (
        sum(count[name] for count in counts)
        for name in (
            *("promotions", "dropped_promotions", "moved_pages", "failed_moves"),
            "held_cycles",
        )
    )
    if not asked and not dropped:
        return ""
    return (
        f"{result.setting}: {moved:,} pages moved, {failed:,} given up, {dropped:,} promotions "
        f"dropped; requests waited {held:,} cycles for lines that were copied"
    )


def print_moves(result: SystemResult, stream: Any = None) -> None:
    """Pages that moved, each with its cycles; nothing if there were none."""
    if not result.moves:
        return
    headings = ("island", "host", "object", "page", "to", "began", "cycles", "")
    columns = [Column(heading=heading, numeric=heading in headings[5:7]) for heading in headings]
    rows = [
        (
            *(move.island, move.host, move.object, f"{move.address:#x}", move.memory),
            format_number(move.begin),
            format_number(move.cycles) if move.cycles >= 0 else "-",
            "" if move.whole else "given up",
        )
        for move in result.moves[:_ROWS]
    ]
    title = f"{result.setting}: pages that moved"
    if len(result.moves) > _ROWS:
        title += f", the first {_ROWS}"
    print_table(columns, rows, title=title, stream=stream)
