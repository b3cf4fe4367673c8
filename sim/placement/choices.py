"""Turns what was written on the command line into a request."""

import contextlib
from collections.abc import Sequence
from dataclasses import replace

from fanweave.golden.dops.graph import Sharding
from fanweave.golden.dops.models import load_model, model_names
from fanweave.golden.dops.platforms import load_platform, platform_names
from fanweave.golden.dops.records import load_record, record_names
from fanweave.golden.dops.registry import (
    LAYOUT_NAMES,
    Request,
    mode_names,
    scheduler_name,
    scheduler_names,
)
from fanweave.golden.dops.simulate import Workload
from fanweave.golden.errors import InputError

__all__ = ["build_request", "known_names", "parameters"]


def known_names() -> dict[str, list[str]]:
    """What can be chosen, by what it is."""
    return {
        "models": model_names(),
        "platforms": platform_names(),
        "schedulers": scheduler_names(),
        "modes": mode_names(),
        "records": record_names(),
        "layouts": list(LAYOUT_NAMES),
    }


def parameters(settings: Sequence[str]) -> dict[str, int]:
    """Read ``KEY=VALUE`` settings of a scheduler.

    Raises
    ------
    InputError
        If one is not of this form.
    """
    result: dict[str, int] = {}
    for setting in settings:
        key, equals, value = setting.partition("=")
        number: int | str = value
        with contextlib.suppress(ValueError):
            number = int(value)
        if not equals or not key or (isinstance(number, str) and key != "memory"):
            raise InputError(f"--set {setting!r} must be KEY=INTEGER, such as gamma=200")
        result[key] = number  # type: ignore[assignment]  # the scheduler checks it
    return result


def build_request(
    *,
    model: str,
    platform: str,
    batch: int,
    prefill: int,
    decode: int,
    scheduler: str,
    record: str,
    elements: str,
    pieces: int | None,
    settings: Sequence[str],
    seed: int,
    sampled: bool,
    layouts: str = "linear",
    density: tuple[float, float] = (1.0, 1.0),
) -> Request:
    """Find all that is named.

    Raises
    ------
    InputError
        If a name is not known, or a file does not fit.
    """
    card = load_model(model)
    if density != (1.0, 1.0):
        card = replace(card, weight_density=density[0], activation_density=density[1])
    return Request(
        model=card,
        platform=load_platform(platform),
        workload=Workload(batch=batch, prefill=prefill, decode=decode),
        record=load_record(record),
        scheduler=scheduler_name(scheduler),
        elements=elements,
        sharding=None if pieces is None else Sharding(attention=pieces, feed_forward=pieces),
        parameters=parameters(settings),
        seed=seed,
        sampled=sampled,
        layouts=layouts,
    )
