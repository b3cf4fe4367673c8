"""Cycle model of the Ventaglio unit: how long a workload takes, and why."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from fanweave.golden.errors import InputError
from fanweave.golden.ventaglio.config import VentaglioConfig
from fanweave.golden.ventaglio.pipeline import COUNTER_NUMBERS, Unit, simulate
from fanweave.golden.ventaglio.schedule import schedule
from fanweave.golden.ventaglio.workload import Workload

__all__ = ["CAUSES", "MemoryModel", "count_cycles"]

#: Counters that add up to ``cycles``.
CAUSES = tuple(name for name in COUNTER_NUMBERS if name.startswith("cycles_"))


@dataclass(frozen=True, kw_only=True)
class MemoryModel:
    """The memory behind the fetch stream.

    Attributes
    ----------
    latency : int
        Cycles from a request to the description and the first beat of its row.
    ports : str
        ``"split"``: a beat of weights and a beat of indices a cycle. ``"shared"``: one beat a
        cycle, indices first.

    Raises
    ------
    InputError
        If a value is illegal.
    """

    latency: int = 4
    ports: Literal["split", "shared"] = "split"

    def __post_init__(self) -> None:
        if self.latency < 1:
            raise InputError(f"memory latency is {self.latency}; expected 1 cycle or more")
        if self.ports not in ("split", "shared"):
            raise InputError(f"memory ports are {self.ports!r}; expected 'split' or 'shared'")


def count_cycles(
    workload: Workload, config: VentaglioConfig, memory: MemoryModel | None = None
) -> dict[str, int]:
    """Run the cycle model.

    Commands and activations arrive as fast as they are taken, and so are results.

    Parameters
    ----------
    workload : Workload
        Free of errors, but for operations that are refused.
    config : VentaglioConfig
        The unit.
    memory : MemoryModel, optional
        The memory.

    Returns
    -------
    dict of str to int
        The unit's counters after the run.
    """
    memory = memory or MemoryModel()
    writes, operations, rows = schedule(workload, config)
    unit = Unit(
        beat_bits=config.beat_bits,
        banks=config.banks,
        window=config.window,
        latency=config.accumulate_latency,
        mask_columns=config.mask_columns,
        row_queue=config.row_queue,
        drain_lanes=config.drain_lanes,
        memory_latency=memory.latency,
        shared_port=int(memory.ports == "shared"),
    )
    banks = np.array([config.bank_of(a) for a in range(config.accumulators)], dtype=np.int64)
    counts = simulate(unit, operations, rows, writes, banks=banks, lanes=config.lanes)
    return {name: int(counts[number]) for name, number in COUNTER_NUMBERS.items()}
