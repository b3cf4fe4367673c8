"""A switch or an island in Verilator, among hosts and devices that play a plan."""

import shutil
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fanweave.golden.cxl.config import SwitchConfig
from fanweave.golden.cxl.island_config import IslandConfig
from fanweave.golden.errors import FaultError
from fanweave.sim.benches.cxl.program_text import program_text
from fanweave.sim.benches.cxl.records import Planned, Record, read_records
from fanweave.sim.benches.ebpf.engine_design import SOURCES as ENGINE_SOURCES
from fanweave.sim.benches.host_process import HostProcess
from fanweave.sim.runner.converted import converted_design
from fanweave.sim.runner.design import Design
from fanweave.sim.runner.loop import build_loop
from fanweave.sim.waves.window import check_dumped

__all__ = ["ISLAND_SOURCES", "SOURCES", "Devices", "Traffic", "island_design", "switch_design"]

#: Sources that decide what the conversion gives: those that the switch imports, as a test checks.
SOURCES = (
    "golden/cxl/config.py",
    "golden/cxl/tables.py",
    "golden/errors.py",
    "golden/isa/cxl*.py",
    "golden/isa/registers.py",
    "hw/cxl/*.py",
    "hw/generate/*.py",
    "hw/reduction.py",
    "hw/stream/*.py",
)
#: The same of an island.
ISLAND_SOURCES = tuple(sorted({*SOURCES, *ENGINE_SOURCES, "golden/cxl/island_config.py"}))
_ENDINGS = (
    "done",
    "not all was answered",
    "the switch makes a sender wait that has credits",
    "a file failed",
)


def switch_design(config: SwitchConfig) -> Design:
    """The switch alone."""

    def build() -> Any:
        # Only now: describing hardware is slow to import.
        from fanweave.hw.cxl.switch import Switch

        return Switch(config=config)

    return converted_design(build, name="cxl_switch", key=repr(config), sources=SOURCES)


def island_design(config: IslandConfig) -> Design:
    """A switch with its policy engine."""

    def build() -> Any:
        from fanweave.hw.cxl.island import Island

        return Island(config=config)

    return converted_design(build, name="cxl_island", key=repr(config), sources=ISLAND_SOURCES)


@dataclass(frozen=True, kw_only=True)
class Devices:
    """How the surroundings behave.

    Attributes
    ----------
    stall : float
        Chance that a sender or a receiver waits for a cycle.
    delay : tuple of int
        Least and most cycles until a device answers.
    silent, faulty : frozenset of int
        Ports whose devices never answer, or answer twice at times.
    promote : float
        Chance that an event of a switch alone is answered with a move of its page, to a device at
        random.
    single : bool
        A host has one request for a line on its way at most.
    missing : float
        Chance that a device says of a read that no memory is there.
    """

    stall: float = 0.0
    delay: tuple[int, int] = (1, 10)
    silent: frozenset[int] = frozenset()
    faulty: frozenset[int] = frozenset()
    promote: float = 0.0
    single: bool = False
    missing: float = 0.0


class Traffic(HostProcess):
    """A simulation that plays one plan; of an island, a bus for the engine's driver as well.

    Parameters
    ----------
    config : SwitchConfig or IslandConfig
        What is simulated.
    waves : bool
        Build a model that can dump; it is slower.

    Raises
    ------
    InputError
        If it does not build.
    """

    def __init__(self, config: SwitchConfig | IslandConfig, *, waves: bool = False) -> None:
        if isinstance(config, IslandConfig):
            design, what = island_design(config), "the island"
        else:
            design, what = switch_design(config), "the switch"
        executable = build_loop(design, program_text(config), label=f"building {what}", waves=waves)
        self._folder = tempfile.TemporaryDirectory()
        self._path = Path(self._folder.name)
        super().__init__(executable, what, folder=self._path)

    @property
    def dump(self) -> Path:
        """The VCD of a simulation with waves, until it is closed."""
        return self._path / "dump"

    def keep_dump(self, file: Path, first: int) -> None:
        """Move the VCD of a window that begins with cycle `first` to a place of its own.

        Raises
        ------
        FaultError
            If that cycle was not reached.
        """
        check_dumped(self.dump, first)
        file.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(self.dump, file)

    def close(self) -> None:
        """End the process, and forget its files."""
        super().close()
        self._folder.cleanup()

    def play(
        self,
        plan: Iterable[Planned],
        *,
        limit: int,
        seed: int = 0,
        devices: Devices | None = None,
        window: tuple[int, int] = (0, 0),
    ) -> Iterator[Record]:
        """Play a plan, then say what happened, in order.

        Parameters
        ----------
        plan : iterable of Planned
            By port and channel in the order in which they leave; writes in theirs.
        limit : int
            Cycles at most.
        seed : int
            Of pauses, delays and data of answers.
        devices : Devices or None
            Of the surroundings.
        window : (int, int)
            First cycle that is dumped, and the one behind the last; see `dump`.

        Raises
        ------
        FaultError
            If not everything is answered within the limit, or the switch makes a sender wait
            that has credits; after all that happened.
        """
        around = devices or Devices()
        with open(self._path / "plan", "wb") as stream:
            stream.writelines(entry.pack() for entry in plan)
        settings = [limit, seed, _of_256(around.stall), *around.delay]
        settings += [sum(1 << port for port in ports) for ports in (around.silent, around.faulty)]
        settings += [*window, _of_256(around.promote), int(around.single)]
        settings += [_of_256(around.missing)]
        ending, cycles = self.ask("P " + " ".join(f"{number:x}" for number in settings))
        with open(self._path / "log", "rb") as log:
            yield from read_records(log)
        if ending:
            raise FaultError(f"{_ENDINGS[ending]}, in cycle {cycles}")


def _of_256(chance: float) -> int:
    return min(255, round(256 * chance))
