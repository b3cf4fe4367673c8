"""Runs the soak of a unit once for each fault in its RTL."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from fanweave.golden.entries import find_entry
from fanweave.golden.errors import FaultError
from fanweave.golden.files import replace_file
from fanweave.sim.mutation.equivalence import changes_nothing
from fanweave.sim.mutation.mutants import Mutant, MutationRequest
from fanweave.sim.runner.converted import MUTATION

__all__ = ["CAMPAIGNS", "Campaign", "Trial", "find_campaign", "run_campaign"]

#: A run with a fault may take so many times as long as one without, and some seconds.
_PATIENCE, _SECONDS = 5.0, 60.0
_COMMAND = "from fanweave.sim.command.main import main; main()"


@dataclass(frozen=True, kw_only=True)
class Campaign:
    """How a unit is tried.

    Attributes
    ----------
    sources : tuple of str
        Folders whose RTL gets faults.
    soak : str
        Name of the soak that tries it.
    config : str or None
        Its configuration.
    rounds : int
        Rounds of it.
    """

    sources: tuple[str, ...]
    soak: str
    config: str | None
    rounds: int


#: Rounds are as many as find most of what can be found in well under a minute.
CAMPAIGNS: dict[str, Campaign] = {
    "core": Campaign(sources=("hw/core",), soak="core", config=None, rounds=2),
    "ebpf": Campaign(sources=("hw/ebpf",), soak="ebpf-maps", config=None, rounds=1),
    "fp": Campaign(sources=("hw/fp",), soak="ventaglio", config="small", rounds=2),
    "switch": Campaign(sources=("hw/cxl",), soak="switch", config="tiny", rounds=1),
    "ventaglio": Campaign(sources=("hw/ventaglio",), soak="ventaglio", config="small", rounds=2),
}


@dataclass(frozen=True, kw_only=True)
class Trial:
    """What became of a fault.

    Attributes
    ----------
    mutant : Mutant
    caught : bool
        Whether the soak failed, or did not come to an end.
    equal : bool
        Whether it is proved to change nothing; looked at only if it was not caught.
    """

    mutant: Mutant
    caught: bool
    equal: bool = False


def find_campaign(unit: str) -> Campaign:
    """How a unit is tried.

    Raises
    ------
    InputError
        If there is none of this name.
    """
    names = {name: name for name in CAMPAIGNS}
    return CAMPAIGNS[unit] if unit in CAMPAIGNS else find_entry("unit with mutants", unit, names)


def run_campaign(unit: str, *, count: int, seed: int, folder: Path) -> Iterator[Trial]:
    """Try each fault.

    Parameters
    ----------
    unit : str
        Name in `CAMPAIGNS`.
    count, seed : int
        How many faults, and which; the seed is the soak's as well.
    folder : Path
        For the files between a campaign and its runs.

    Raises
    ------
    FaultError
        If the soak fails without a fault.
    """
    campaign = find_campaign(unit)
    folder.mkdir(parents=True, exist_ok=True)
    selected, listing = folder / "selected.hex", folder / "mutants.json"
    design = listing.with_suffix(".il")
    request = MutationRequest(
        sources=campaign.sources,
        count=count,
        seed=seed,
        selected=str(selected),
        listing=str(listing),
    )
    _select(selected, 0)
    run = _Run(campaign, request, seed)
    # The first run builds; the second one says how long a run takes.
    for _ in range(2):
        start = time.monotonic()
        ended, said = run.once(limit=None)
        if not ended:
            raise FaultError(f"soak {campaign.soak} fails without any mutant:\n{said}")
        limit = _PATIENCE * (time.monotonic() - start) + _SECONDS
    for entry in json.loads(listing.read_text()):
        mutant = Mutant(**entry)
        _select(selected, mutant.number)
        caught = not run.once(limit=limit)[0]
        equal = not caught and changes_nothing(design.read_text(), mutant.fault)
        yield Trial(mutant=mutant, caught=caught, equal=equal)


def _select(file: Path, number: int) -> None:
    replace_file(file, f"{number:x}\n".encode())


class _Run:
    """A soak in a process of its own."""

    def __init__(self, campaign: Campaign, request: MutationRequest, seed: int) -> None:
        words = ["soak", campaign.soak, "--rounds", str(campaign.rounds), "--seed", str(seed)]
        words += ["--config", campaign.config] if campaign.config else []
        self._command = [sys.executable, "-c", _COMMAND, *words]
        self._environment = {**os.environ, MUTATION: request.text()}

    def once(self, *, limit: float | None) -> tuple[bool, str]:
        """Whether it ends without a difference, and its last words.

        Raises
        ------
        FaultError
            If it cannot be run at all.
        """
        try:
            done = subprocess.run(
                self._command,
                env=self._environment,
                capture_output=True,
                text=True,
                check=False,
                timeout=limit,
            )
        except subprocess.TimeoutExpired:
            return False, "no end"
        said = "\n".join((done.stdout + done.stderr).strip().splitlines()[-8:])
        if done.returncode not in (0, 1):
            raise FaultError(f"a run of the campaign was refused:\n{said}")
        return done.returncode == 0, said
