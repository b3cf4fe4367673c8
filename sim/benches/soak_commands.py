"""``fanweave soak``: random tests of a unit until time is up."""

import random
import time
from collections.abc import Callable, Iterator

import click

from fanweave.golden.entries import find_entry
from fanweave.golden.errors import FaultError, InputError
from fanweave.sim.runner.optimisation import long_runs

__all__ = ["ALL", "SOAKS", "rounds_of", "soak"]

#: name -> "module:function" with the signature
#: ``play(seed: int, config: str | None) -> str``: one round, and a line about it.
SOAKS = {
    "core": "fanweave.sim.benches.core.soak:play",
    "ebpf": "fanweave.sim.benches.ebpf.lockstep:play",
    "ebpf-linux": "fanweave.sim.benches.ebpf.linux:play",
    "ebpf-loader": "fanweave.sw.ebpf.object.fuzz:play",
    "ebpf-maps": "fanweave.sim.benches.ebpf.map_lockstep:play",
    "island": "fanweave.sim.benches.cxl.island_soak:play",
    "switch": "fanweave.sim.benches.cxl.soak:play",
    "vector": "fanweave.sim.benches.vector.soak:play",
    "vector-ventaglio": "fanweave.sim.benches.vector.ventaglio_soak:play",
    "ventaglio": "fanweave.sim.benches.ventaglio.soak:play",
}


#: Name of all of them, in turn.
ALL = "all"
_LINUX = "ebpf-linux"


@click.command(
    epilog="Example: fanweave soak ventaglio --config tiny --minutes 10",
)
@click.argument("name", default="ventaglio")
@click.option("--minutes", type=click.FloatRange(min=0), default=10.0, show_default=True)
@click.option(
    "--rounds", type=click.IntRange(min=1), help="Play so many rounds, whatever time they take."
)
@click.option("--seed", type=int, help="Seed of the first round; the next ones count on.")
@click.option("--config", "config", metavar="PRESET", help="Only this configuration.")
def soak(
    name: str, minutes: float, rounds: int | None, seed: int | None, config: str | None
) -> None:
    """Test the unit NAME with random programs until time is up or something differs.

    A round that fails says how to play it again. NAME may be ``all``: then each round is of the
    next unit. ``fanweave coverage`` shows what the rounds have met.
    """
    if name == ALL and config is not None:
        raise InputError(f"presets are those of a unit: leave --config {config} out, or name one")
    units = _all_units() if name == ALL else [name]
    plays = {unit: find_soak(unit) for unit in units}
    if seed is None:
        seed = random.SystemRandom().randrange(1 << 31)
    click.echo(f"soak {name}: seed {seed}", err=True)
    if rounds != 1:
        click.get_current_context().with_resource(long_runs())
    played = 0
    for number in rounds_of(rounds, minutes):
        unit = units[number % len(units)]
        try:
            line = plays[unit](seed=seed + number, config=config)
        except FaultError as error:
            chosen = f" --config {config}" if config else ""
            raise FaultError(
                f"round {number} differs: {error}\n"
                f"again: fanweave soak {unit}{chosen} --seed {seed + number} --rounds 1"
            ) from error
        click.echo(f"{number}: {f'{unit}: ' if name == ALL else ''}{line}")
        played += 1
    click.echo(f"soak {name}: {played} rounds, no difference")


def _all_units() -> list[str]:
    """Every soak, but for what this machine cannot play."""
    # Only now: it is slow to import.
    from fanweave.sim.benches.ebpf.linux import why_unavailable

    reason = why_unavailable()
    if reason:
        click.echo(f"soak all: without {_LINUX}: {reason}", err=True)
    return [name for name in SOAKS if not (reason and name == _LINUX)]


def rounds_of(rounds: int | None, minutes: float) -> Iterator[int]:
    """Numbers of rounds: so many, or until time is up, but one at least."""
    end = time.monotonic() + 60 * minutes
    number = 0
    while number < rounds if rounds is not None else number == 0 or time.monotonic() < end:
        yield number
        number += 1


def find_soak(name: str) -> Callable[..., str]:
    """Return the function that plays a round.

    Raises
    ------
    InputError
        If there is none of this name.
    """
    found: Callable[..., str] = find_entry("soak", name, SOAKS)
    return found
