"""The published study: its workloads, cases, sets of parameters and mean gains, as data."""

import csv
import functools
import io
import itertools
import tomllib
from dataclasses import dataclass
from importlib import resources

from fanweave.golden.dops.schedulers.bifocal import BifocalParameters
from fanweave.golden.dops.simulate import Workload

__all__ = [
    "ABLATIONS",
    "LOG_WORKLOADS",
    "TRACE_WORKLOAD",
    "PublishedCase",
    "grid",
    "latin_square",
    "layout_gains",
    "parameter_sets",
    "published_cases",
]

_BATCHES = (1, 4, 8, 16)
_PREFILLS = (128, 512, 1024, 2048)
_DECODES = (128, 256, 512, 1024)

#: Workloads of the stored run log, all of platform HP32: model, then batch, prefill, decode.
LOG_WORKLOADS = (
    ("qwen-1.8b", Workload(batch=4, prefill=512, decode=128)),
    ("qwen-1.8b", Workload(batch=4, prefill=1024, decode=128)),
    ("qwen-1.8b", Workload(batch=8, prefill=512, decode=128)),
    ("qwen-1.8b", Workload(batch=16, prefill=1024, decode=512)),
    ("qwen-7b", Workload(batch=1, prefill=512, decode=512)),
    ("qwen-7b", Workload(batch=1, prefill=1024, decode=512)),
    ("qwen-7b", Workload(batch=4, prefill=1024, decode=256)),
    ("qwen-7b", Workload(batch=4, prefill=1024, decode=512)),
    ("qwen-7b", Workload(batch=8, prefill=512, decode=512)),
    ("qwen-7b", Workload(batch=16, prefill=1024, decode=1024)),
    ("qwen-14b", Workload(batch=4, prefill=1024, decode=128)),
    ("qwen-14b", Workload(batch=16, prefill=512, decode=128)),
)

#: Workload of the demo traces.
TRACE_WORKLOAD = ("qwen-1.8b", Workload(batch=16, prefill=2048, decode=128))

#: Terms that the published ablations leave out -> what that changes. The phase bias is the
#: part for weights: the price of another type of device, and the gain of room for all.
ABLATIONS = {
    "without phase bias": {"consistency": 0, "reuse": 0},
    "without token term": {"amortise": 0},
    "without lookahead": {"horizon": 1},
}


@dataclass(frozen=True, kw_only=True)
class PublishedCase:
    """A model on a platform, with the published geometric mean of total(PD) / total(Bifocal)."""

    name: str
    model: str
    platform: str
    elements: str
    gain: float


def _published() -> list[dict[str, str]]:
    text = resources.files(__package__).joinpath("data/published_speedups.csv").read_text()
    return list(csv.DictReader(io.StringIO(text)))


def published_cases() -> list[PublishedCase]:
    """The seven cases of the published study, in its order."""
    return [
        PublishedCase(
            name=row["model"],
            model=row["model"].removesuffix("-int8"),
            platform=row["hardware"].lower(),
            elements="int8" if row["model"].endswith("-int8") else "fp16",
            gain=float(row["value"]),
        )
        for row in _published()
        if row["metric"] == "bifocal_over_pd_geomean"
    ]


def layout_gains() -> tuple[float, float]:
    """Published gain of the layout arbiter over Bifocal with linear weights, low and high."""
    values = {row["metric"]: float(row["value"]) for row in _published()}
    return values["wla_over_bifocal_linear_low"], values["wla_over_bifocal_linear_high"]


def grid() -> list[Workload]:
    """The 64 workloads of a case."""
    return [
        Workload(batch=batch, prefill=prefill, decode=decode)
        for batch, prefill, decode in itertools.product(_BATCHES, _PREFILLS, _DECODES)
    ]


def latin_square() -> list[Workload]:
    """16 of the 64 in which every pair of two sizes is there once."""
    return [
        Workload(batch=batch, prefill=prefill, decode=_DECODES[(row + column) % 4])
        for (row, batch), (column, prefill) in itertools.product(
            enumerate(_BATCHES), enumerate(_PREFILLS)
        )
    ]


@functools.cache
def parameter_sets() -> dict[str, BifocalParameters]:
    """Sets of parameters by name."""
    text = resources.files(__package__).joinpath("parameter_sets.toml").read_text()
    return {
        name: BifocalParameters(**{key: v for key, v in table.items() if key != "source"})
        for name, table in tomllib.loads(text).items()
    }
