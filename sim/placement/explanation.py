"""Why an operator is where it is, as a table and as JSON."""

import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TextIO

from fanweave.golden.dops.explain import Alternative, Explanation
from fanweave.golden.dops.platforms import PICOSECONDS
from fanweave.sim.report.table import WIDTH, Column, print_table

__all__ = ["ExplanationTable", "explanation_document", "explanation_table", "print_explanation"]


@dataclass(frozen=True, kw_only=True)
class ExplanationTable:
    """A row for each device, with times in microseconds after the earliest one.

    Attributes
    ----------
    title : str
        The operator, when it was placed, where, and the time that others are after.
    headings : list of str
        The first column is the device and the last one a note; the others are numbers.
    rows : list of list of str
    """

    title: str
    headings: list[str]
    rows: list[list[str]]


def explanation_document(explanation: Explanation) -> dict[str, Any]:
    """JSON of an explanation; times in seconds."""
    return {
        "operator": explanation.operator,
        "device": explanation.device,
        "phase": explanation.phase,
        "token": explanation.token,
        "placed_before": explanation.place,
        "alternatives": [
            {
                "device": each.device,
                "refused": each.refused,
                "free_s": None if each.refused else each.free / PICOSECONDS,
                "finish_s": None if each.finish is None else each.finish / PICOSECONDS,
                "weights_there": each.resident,
                "terms_s": {name: value / PICOSECONDS for name, value in each.terms.items()},
            }
            for each in explanation.alternatives
        ],
    }


def explanation_table(explanation: Explanation) -> ExplanationTable:
    """Tabulate the offers of all devices."""
    offers = [each for each in explanation.alternatives if not each.refused]
    zero = min((each.free for each in offers), default=0)
    terms = next((list(each.terms) for each in offers if each.terms), [])
    when = "prefill" if explanation.phase == "prefill" else f"token {explanation.token}"
    return ExplanationTable(
        title=(
            f"{explanation.operator}, {when}, number {explanation.place + 1} to be placed: "
            f"{explanation.device}; us after {zero / PICOSECONDS:.9f} s"
        ),
        headings=["device", "free", "finish", *(term.replace("_", " ") for term in terms), ""],
        rows=[
            [
                each.device,
                *_times(each, terms, zero),
                _note(each, is_chosen=each.device == explanation.device),
            ]
            for each in explanation.alternatives
        ],
    )


def print_explanation(explanation: Explanation, *, stream: TextIO) -> None:
    """Print why an operator is where it is."""
    made = explanation_table(explanation)
    last = len(made.headings) - 1
    columns = [
        Column(heading=heading, numeric=0 < number < last)
        for number, heading in enumerate(made.headings)
    ]
    print(textwrap.fill(made.title, WIDTH), file=stream)
    print_table(columns, made.rows, stream=stream)


def _times(offer: Alternative, terms: list[str], zero: int) -> list[str]:
    cells = ["" for _ in terms]
    if offer.terms:
        cells = [
            _after(offer.terms[name], _zero_of(name, offer.terms, offer.finish, zero))
            for name in terms
        ]
    if offer.refused:
        return ["", "", *cells]
    return [_after(offer.free, zero), _after(offer.finish, zero), *cells]


def _note(offer: Alternative, *, is_chosen: bool) -> str:
    note = "chosen" if is_chosen else offer.refused
    if offer.resident is None or offer.refused:
        return note
    weights = f"weights {'there' if offer.resident else 'missing'}"
    return f"{note}; {weights}" if note else weights


def _after(value: float | None, zero: float) -> str:
    return "never" if value is None else f"{(value - zero) / 1e6:,.3f}"


def _zero_of(name: str, terms: Mapping[str, float], finish: int | None, zero: int) -> float:
    """What to take off a term so that it counts from `zero`: its share of the absolute time."""
    if name == "score":
        return zero
    if finish and name.endswith("_share"):
        share = terms["finish_share"] / finish
        return zero * (share if name == "finish_share" else 1 - share)
    return 0.0
