"""Which signals of the bench a waveform viewer shows, and how they are grouped."""

from pathlib import Path

from fanweave.golden.ventaglio.config import VentaglioConfig
from fanweave.sim.benches.ventaglio.settings import STREAMS
from fanweave.sim.waves.gtkw import Group, Trace, write_gtkw

__all__ = ["signal_groups", "write_save_file"]

_TOP = "ventaglio_bench"
_UNIT = f"{_TOP}.unit"
#: Nanoseconds of a cycle in the dump.
_PERIOD = 10


def signal_groups(config: VentaglioConfig) -> list[Group]:
    """The unit's channels and stages, from the input to the banks."""
    overview = Group(
        name="run",
        traces=(
            Trace(path=f"{_TOP}.clk"),
            Trace(path=f"{_TOP}.cycles", radix="dec"),
            Trace(path=f"{_TOP}.busy"),
            Trace(path=f"{_TOP}.violations", radix="bin"),
        ),
    )
    # The checkers watch exactly the streams of the unit; in the unit's own scope, signals of its
    # blocks have the same names.
    streams = [_stream(name, f"{_TOP}.{name}_checker") for name in STREAMS]
    stages = [
        Group(
            name="sequencer",
            traces=(
                Trace(path=f"{_UNIT}.sequencer.k", radix="dec"),
                Trace(path=f"{_UNIT}.sequencer.mask", radix="bin"),
                Trace(path=f"{_UNIT}.sequencer.skipped"),
            ),
        ),
        Group(
            name="decoder",
            traces=(
                Trace(path=f"{_UNIT}.decoder.planner.done", radix="dec"),
                Trace(path=f"{_UNIT}.decoder.planner.first_count", radix="dec"),
                Trace(path=f"{_UNIT}.decoder.planner.second_count", radix="dec"),
                Trace(path=f"{_UNIT}.decoder.missing_weights"),
                Trace(path=f"{_UNIT}.decoder.missing_indices"),
            ),
        ),
        Group(
            name="scatter window",
            traces=(
                Trace(path=f"{_UNIT}.lanes.products__valid"),
                Trace(path=f"{_UNIT}.lanes.products__ready"),
                Trace(path=f"{_UNIT}.scatter.pending_*", radix="bin"),
                Trace(path=f"{_UNIT}.scatter.bank_valid", radix="bin"),
                Trace(path=f"{_UNIT}.scatter.bank_ready", radix="bin"),
            ),
        ),
        Group(
            name="banks",
            traces=tuple(
                Trace(path=f"{_UNIT}.bank_{i}.accumulator_*") for i in range(config.banks)
            ),
            closed=True,
        ),
        Group(
            name="drain",
            traces=(
                Trace(path=f"{_UNIT}.drain.busy"),
                Trace(path=f"{_UNIT}.drain.read_from", radix="dec"),
                Trace(path=f"{_UNIT}.drain.read_to", radix="dec"),
            ),
        ),
    ]
    return [overview, *streams, *stages]


def _stream(name: str, checker: str) -> Group:
    return Group(
        name=name,
        traces=(
            Trace(path=f"{checker}.valid", alias="valid"),
            Trace(path=f"{checker}.ready", alias="ready"),
            Trace(path=f"{checker}.payload*"),
        ),
    )


def write_save_file(
    dump: Path,
    config: VentaglioConfig,
    *,
    marker: int | None = None,
    window: tuple[int, int | None] | None = None,
) -> Path:
    """Write a GTKWave save file beside a dump of the bench.

    Parameters
    ----------
    dump : Path
        The VCD.
    config : VentaglioConfig
        The unit in it.
    marker : int, optional
        Cycle of the marker.
    window : tuple of int, optional
        First and last cycle in the dump.

    Returns
    -------
    Path
        The save file.
    """
    zoom = None
    if window is not None and window[1] is not None:
        zoom = (window[0] * _PERIOD, window[1] * _PERIOD)
    file = dump.with_suffix(".gtkw")
    write_gtkw(
        file,
        dump=dump,
        groups=signal_groups(config),
        marker=None if marker is None else marker * _PERIOD,
        zoom=zoom,
    )
    return file
