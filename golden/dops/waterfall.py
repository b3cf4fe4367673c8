"""From a published gain to the one of sound mode, term by term."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from fanweave.golden.dops.models import ModelCard
from fanweave.golden.dops.platforms import Platform
from fanweave.golden.dops.records import Record
from fanweave.golden.dops.schedulers.bifocal import Bifocal
from fanweave.golden.dops.schedulers.static import Static
from fanweave.golden.dops.simulate import Workload
from fanweave.golden.dops.sound import place_sound
from fanweave.golden.dops.sound_problem import SoundOptions, sound_problems
from fanweave.golden.errors import InputError

__all__ = ["STEPS", "Waterfall", "waterfall"]

#: Fields of `SoundOptions` in the order in which they are turned on, with their words.
STEPS = (
    ("ends", "embedding and language head"),
    ("in_order", "tokens that wait for the one before"),
    ("links", "the platform's own links"),
    ("physical", "costs within all peaks"),
    ("experts", "all experts have weights"),
    ("ring_links", "collectives that use links"),
    ("prefetch", "loads that begin one operator ahead"),
    ("pinned", "weights that stay where all do not fit"),
    ("free_kv", "keys and values where it is cheapest"),
    ("fair", "baselines by earliest finish with affinity"),
)
_WORDS = ("not reproduced by imitation", *(word for _, word in STEPS))
_MILLION = 1_000_000


@dataclass(frozen=True, kw_only=True)
class Waterfall:
    """Gains in whole millionths, so that terms add up exactly.

    Attributes
    ----------
    published, imitated, sound : int
        The gain as published, by the published rules, and in sound mode.
    terms : tuple of (str, int)
        What each step adds; the first is what imitation does not reproduce.
    workloads : int
        Workloads that fit at every step.
    refused : tuple of str
        The others, each with the step that it does not fit at.
    """

    published: int
    imitated: int
    sound: int
    terms: tuple[tuple[str, int], ...]
    workloads: int
    refused: tuple[str, ...]


def waterfall(
    published: float,
    model: ModelCard,
    platform: Platform,
    workloads: Sequence[Workload],
    record: Record,
    *,
    elements: str = "fp16",
    sampled: bool = False,
) -> Waterfall:
    """Geometric means of total(PD) / total(Bifocal) with one option more at each step.

    What a step adds depends on those before it; the order is that of `STEPS`. A workload that
    does not fit at one step is left out of all.

    Parameters
    ----------
    published : float
        The gain that the steps begin at.
    model, platform, workloads, record, elements, sampled
        As of `fanweave.golden.dops.place.problem` and `imitate`.

    Raises
    ------
    InputError
        If no workload fits at every step; says why the last one does not.
    """
    logs: list[list[float]] = []
    refused: list[str] = []
    last: InputError | None = None
    for workload in workloads:
        found: list[float] = []
        try:
            for options in _options():
                cases = sound_problems(
                    model, platform, workload, record, elements=elements, options=options
                )
                pd, bifocal = (
                    place_sound(cases, make, sampled=sampled, options=options)[1].total
                    for make in (lambda: Static("PD"), lambda: Bifocal(record.bifocal))
                )
                found.append(math.log(pd / bifocal))
        except InputError as error:
            step, last = _WORDS[len(found)], error
            size = f"{workload.batch} x ({workload.prefill} + {workload.decode})"
            refused.append(f"{size} at {step!r}")
        else:
            logs.append(found)
    if not logs and last is not None:
        raise last
    gains = [
        round(math.exp(math.fsum(each) / len(logs)) * _MILLION) for each in zip(*logs, strict=True)
    ]
    first = round(published * _MILLION)
    steps = zip(_WORDS, (first, *gains), gains, strict=False)
    return Waterfall(
        published=first,
        imitated=gains[0],
        sound=gains[-1],
        terms=tuple((word, after - before) for word, before, after in steps),
        workloads=len(logs),
        refused=tuple(refused),
    )


def _options() -> Iterator[SoundOptions]:
    """All options off, and one more on each time."""
    options = SoundOptions(**{name: False for name, _ in STEPS})
    yield options
    for name, _ in STEPS:
        options = replace(options, **{name: True})
        yield options
