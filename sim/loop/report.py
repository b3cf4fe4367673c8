"""What a loop did, for people: a table of its rounds, and of what each changed."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TextIO

import click

from fanweave.golden.loop.costs import FAMILIES
from fanweave.sim.report.table import Column, format_number, print_table

__all__ = ["cost_words", "ending_words", "moved_words", "print_loop", "reason_words", "summary"]

#: Rows of a table of changes; all of them are in the JSON.
_MOST = 10
_MS = 1e3
_US = 1e6
_FAMILY_WORDS = dict(
    zip(FAMILIES, ("busy lanes", "latency of the switch", "bandwidth of links"), strict=True)
)


def ending_words(document: Mapping[str, Any]) -> str:
    """How it ended, as a sentence."""
    rounds = len(document["rounds"])
    if document["ending"] == "fixpoint":
        if rounds == 1:
            return "Nothing changed: what was measured is what the first round began with."
        return f"Round {rounds} measured what it was placed with: a fixpoint."
    if document["ending"] == "cycle":
        return (
            f"Rounds {document['first']} to {rounds} would come again and again: a cycle. Round "
            f"{document['best']} is the quickest of them."
        )
    left = len(document["left"])
    return (
        f"Not settled after {rounds} rounds: {left} costs still change; allow more with --rounds."
    )


def cost_words(name: str) -> str:
    """A cost's name as words: ``Q decode on VENTAGLIO0`` or ``CPU0 to PIM0``."""
    family, *parts = name.split("/")
    if family == "lanes_busy":
        device, kind, phase = parts
        return f"busy lanes of {device}, {kind} in {phase}"
    return f"{_FAMILY_WORDS[family].replace('links', 'the link')} {parts[0]} to {parts[1]}"


def moved_words(move: Mapping[str, Any]) -> str:
    """How many operators of a kind went where."""
    return f"{len(move['operators'])} {move['kind']}: {move['from']} to {move['to']}"


def reason_words(move: Mapping[str, Any]) -> str:
    """Why: the costs that suffice, and by how much the first operator would end later elsewhere."""
    alone = " or ".join(_FAMILY_WORDS[family] for family in move["alone"])
    words = [f"{alone} alone" if alone else "several costs together"]
    scores = (move["behind_first_before_s"], move["behind_first_after_s"])
    if all(scores):
        told = [_score(ends) for ends in scores]
        words.append(f"{move['operators'][0]} {told[0]}, now {told[1]}")
    return "; ".join(words)


def _score(ends: Mapping[str, float]) -> str:
    """Which device ends an operator first, and how far behind the next one is."""
    order = sorted(ends, key=lambda name: ends[name])
    if len(order) == 1:
        return f"on {order[0]} alone"
    return f"on {order[0]}, {format_number(ends[order[1]] * _US)} us before {order[1]}"


def print_loop(document: Mapping[str, Any], stream: TextIO | None = None) -> None:
    """Rounds, changes with their reasons, how it ended, and the numbers that it ended with."""
    _print_rounds(document, stream)
    for change in document["changes"]:
        _print_change(change, stream)
    click.echo(ending_words(document), file=stream)
    _print_movements(document, stream)
    _print_summary(document, stream)


def _print_rounds(document: Mapping[str, Any], stream: TextIO | None) -> None:
    columns = [
        Column(heading=heading)
        for heading in (
            *("round", "prefill ms", "total ms", "costs changed", "operators moved"),
            *("lines", "verdicts", "measured", "known"),
        )
    ]
    changes = {change["round"]: change for change in document["changes"]}
    rows = []
    for each in document["rounds"]:
        change = changes.get(each["number"], {"costs": (), "moves": ()})
        switch = each["switch"] or {"messages": 0, "verdicts": 0}
        moved = sum(len(move["operators"]) for move in change["moves"])
        numbers = (len(change["costs"]), moved, switch["messages"], switch["verdicts"])
        rows.append(
            [
                str(each["number"]),
                f"{each['prefill_s'] * _MS:.3f}",
                f"{each['total_s'] * _MS:.3f}",
                *(f"{number:,}" for number in (*numbers, each["measured"], each["known"])),
            ]
        )
    title = (
        f"{document['name']}: {document['model']} on {document['platform']}, "
        f"{document['scheduler']}, mode sound; costs begin with: {document['start']}"
    )
    print_table(columns, rows, title=title, stream=stream)


def _print_change(change: Mapping[str, Any], stream: TextIO | None) -> None:
    costs = change["costs"]
    rows: Iterable[list[str]] = (
        [
            cost_words(cost["name"]),
            format_number(cost["before"]),
            format_number(cost["after"]),
            "" if cost["unit"] == "1" else cost["unit"],
            cost["origin_before"],
            cost["origin"],
        ]
        for cost in costs[:_MOST]
    )
    columns = [
        Column(heading="cost", numeric=False),
        Column(heading="was"),
        Column(heading="is"),
        Column(heading="", numeric=False),
        Column(heading="origin was", numeric=False),
        Column(heading="is", numeric=False),
    ]
    title = f"round {change['round']}: {len(costs)} costs changed{_more(costs)}"
    print_table(columns, rows, title=title, stream=stream)
    moves = change["moves"]
    if not moves:
        click.echo("No operator moved.\n", file=stream)
        return
    columns = [
        Column(heading="pass", numeric=False),
        Column(heading="moved", numeric=False),
        Column(heading="why", numeric=False),
    ]
    rows = ([move["pass"], moved_words(move), reason_words(move)] for move in moves[:_MOST])
    title = f"round {change['round']}: operators that moved{_more(moves)}"
    print_table(columns, rows, title=title, stream=stream)


def _more(rows: list[Any]) -> str:
    return f", the first {_MOST} of {len(rows)}" if len(rows) > _MOST else ""


def _print_movements(document: Mapping[str, Any], stream: TextIO | None) -> None:
    """What the switch does to each movement of the round that counts."""
    switch = document["rounds"][document["best"] - 1]["switch"]
    if switch is None:
        return
    without = {each["movement"]: each for each in switch["without"]}
    rows = [
        [
            f"{each['source']} to {each['target']}",
            " ".join(each["movement"].split("_")[:2]),
            f"{each['messages']:,}",
            format_number(round(without[each["movement"]]["latency_ns"], 1)),
            format_number(round(each["latency_ns"], 1)),
            format_number(round(each["bandwidth_gib"], 1)),
            switch["origin"],
        ]
        for each in switch["links"]
    ]
    columns = [
        Column(heading="link", numeric=False),
        Column(heading="movement", numeric=False),
        *(Column(heading=heading) for heading in ("lines", "ns bare", "ns policed", "GiB/s")),
        Column(heading="origin", numeric=False),
    ]
    title = f"round {document['best']}: the switch without and with its policies"
    print_table(columns, rows, title=title, stream=stream)


def _print_summary(document: Mapping[str, Any], stream: TextIO | None) -> None:
    """The whole story in one table; every number alone is in the JSON."""
    columns = [
        Column(heading="", numeric=False),
        Column(heading="value", numeric=False),
        Column(heading="origin", numeric=False),
    ]
    title = f"{document['name']}, round {document['best']} of {len(document['rounds'])}"
    print_table(columns, summary(document), title=title, stream=stream)


def summary(document: Mapping[str, Any]) -> list[list[str]]:
    """What, its value and its origin: the round that counts, in few rows."""
    best = document["rounds"][document["best"] - 1]
    times = f"{best['prefill_s'] * _MS:.3f} ms, {best['decode_s'] * _MS:.3f} ms"
    moved = f"{len(document['rounds'])}, {document['moved']:,}, {document['ending']}"
    rows = [*_kernel_rows(best["kernels"]), ["prefill and decode, placed", times, "model"]]
    if best["switch"] is not None:
        rows += _switch_rows(best["switch"])
    rows.append(["rounds, operators moved in all, ending", moved, "model"])
    kept = [f"{row['value']:.1%}" for row in document["rows"] if row["metric"] == "density"]
    known = next(row["origin"] for row in document["rows"] if row["metric"] == "density")
    rows.append(["weights, inputs that are not zero", ", ".join(kept), known])
    for origin in ("literature", "assumed"):
        told = [
            f"{row['case']} {format_number(row['value'])} {row['unit']}"
            for row in document["rows"]
            if row["origin"] == origin and row["metric"] != "density"
        ]
        if told:
            rows.append(["of the platform", "; ".join(told), origin])
    return rows


def _kernel_rows(kernels: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    if not kernels:
        return []
    shares = [kernel["lanes_busy"] for kernel in kernels]
    origin = kernels[0]["origin"]
    how = "each bit as golden has it" if origin == "rtl" else "in the cycle model"
    return [
        [f"products on Ventaglio, {how}", str(len(kernels)), origin],
        ["lanes busy in them", f"{min(shares):.1%} to {max(shares):.1%}", origin],
    ]


def _switch_rows(switch: Mapping[str, Any]) -> list[list[str]]:
    origin = switch["origin"]
    programs = [worst for each in switch["programs"].values() for worst in each.values()]
    told = f"{len(programs)}, {min(programs)} to {max(programs)} instructions at worst"
    lines = f"{len(switch['links'])}, {switch['messages']:,}"
    rows = [
        ["movements of prefill, their lines through the switch", lines, origin],
        ["programs compiled for its engine", told, "model"],
    ]
    if origin == "rtl":
        words = "verdicts and maps, each as golden has it, to the cycle"
        rows.append([words, f"{switch['verdicts']:,}, {switch['maps']}", origin])
    rows.append(["the switch adds to a request alone", _ns([switch["idle_ns"]]), origin])
    for words, figures in (("without", switch["without"]), ("with", switch["links"])):
        means = [each["latency_ns"] for each in figures]
        rows.append([f"to one of a movement, {words} policies", _ns(means), origin])
    return rows


def _ns(values: Sequence[float]) -> str:
    """A range of nanoseconds."""
    low, high = (format_number(round(value, 1)) for value in (min(values), max(values)))
    return f"{low} ns" if low == high else f"{low} to {high} ns"
