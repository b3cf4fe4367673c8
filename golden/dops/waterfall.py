"""From a published gain to the one of sound mode, term by term."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from fanweave.golden.dops.models import ModelCard
from fanweave.golden.dops.platforms import Platform
from fanweave.golden.dops.records import Record
from fanweave.golden.dops.schedulers.bifocal import Bifocal
from fanweave.golden.dops.schedulers.static import Static
from fanweave.golden.dops.simulate import Workload
from fanweave.golden.dops.sound import place_sound
from fanweave.golden.dops.sound_problem import SoundOptions, sound_problems

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
    """

    published: int
    imitated: int
    sound: int
    terms: tuple[tuple[str, int], ...]


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

    What a step adds depends on those before it; the order is that of `STEPS`.

    Parameters
    ----------
    published : float
        The gain that the steps begin at.
    model, platform, workloads, record, elements, sampled
        As of `fanweave.golden.dops.place.problem` and `imitate`.

    Raises
    ------
    InputError
        If a workload does not fit.
    """
    options = SoundOptions(**{name: False for name, _ in STEPS})
    gains = []
    for name in (None, *(name for name, _ in STEPS)):
        if name is not None:
            options = replace(options, **{name: True})
        logs = []
        for workload in workloads:
            cases = sound_problems(
                model, platform, workload, record, elements=elements, options=options
            )
            pd, bifocal = (
                place_sound(cases, make, sampled=sampled, options=options)[1].total
                for make in (lambda: Static("PD"), lambda: Bifocal(record.bifocal))
            )
            logs.append(math.log(pd / bifocal))
        gains.append(round(math.exp(math.fsum(logs) / len(logs)) * _MILLION))
    first = round(published * _MILLION)
    words = ("not reproduced by imitation", *(word for _, word in STEPS))
    steps = zip(words, (first, *gains), gains, strict=False)
    return Waterfall(
        published=first,
        imitated=gains[0],
        sound=gains[-1],
        terms=tuple((word, after - before) for word, before, after in steps),
    )
