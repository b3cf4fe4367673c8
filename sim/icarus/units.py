"""Each unit's small preset, played in Verilator and then in Icarus Verilog.

All functions take a seed and the folder of the run, say what was played, and raise `FaultError`
where results differ.
"""

from dataclasses import replace
from pathlib import Path

import numpy as np

from fanweave.golden.cxl.config import PRESETS as SWITCH_PRESETS
from fanweave.golden.ebpf.config import PRESETS as EBPF_PRESETS
from fanweave.golden.errors import FaultError
from fanweave.golden.ventaglio.config import PRESETS as VENTAGLIO_PRESETS
from fanweave.sim.benches.cxl.soak import check
from fanweave.sim.benches.cxl.traffic import RandomTraffic
from fanweave.sim.benches.cxl.verilated import Devices, Traffic, switch_design
from fanweave.sim.benches.ebpf.engine_design import engine_design
from fanweave.sim.benches.ebpf.engine_load import count_in_shared_maps
from fanweave.sim.benches.ventaglio.batches import check_batch
from fanweave.sim.benches.ventaglio.random_programs import random_batch
from fanweave.sim.benches.ventaglio.soak import surroundings
from fanweave.sim.icarus.replay import Replay, replay

__all__ = ["play_ebpf", "play_switch", "play_ventaglio"]

_PROGRAMS = 10
_EVENTS, _TURNS = 4, 4
_REQUESTS, _TIMEOUT, _LIMIT = 100, 2000, 100_000


def play_ventaglio(seed: int, folder: Path) -> str:
    """Random programs: results, counters and cycles."""
    config = VENTAGLIO_PRESETS["tiny"]
    memory, stalls = surroundings(np.random.default_rng(seed))
    batch = random_batch(config, seed=seed, programs=_PROGRAMS)
    outcomes = [
        check_batch(
            batch,
            config,
            folder=folder / simulator,
            memory=memory,
            stalls=stalls,
            simulator=simulator,
        )
        for simulator in ("verilator", "icarus")
    ]
    cycles, counters = [o.cycles for o in outcomes], [o.counters for o in outcomes]
    if cycles[0] != cycles[1] or counters[0] != counters[1]:
        raise FaultError(
            f"ventaglio, seed {seed}: {cycles[1]} cycles in Icarus Verilog, {cycles[0]} in "
            f"Verilator; counters {counters[1]} and {counters[0]} (runs in {folder})"
        )
    return f"{_PROGRAMS} programs, {cycles[0]} cycles, bit-exact with golden in both"


def play_ebpf(seed: int, folder: Path) -> str:
    """Events that count in shared maps; `seed` decides how many turns they take."""
    config = replace(EBPF_PRESETS["tiny"], returns_context=True)
    dump = folder / "verilator.vcd"
    turns = _TURNS + seed % _TURNS
    count_in_shared_maps(config, events=_EVENTS, turns=turns, dump=dump)
    return _replayed(replay(engine_design(config), dump, folder))


def play_switch(seed: int, folder: Path) -> str:
    """Random traffic with stalls and pages that move."""
    config = SWITCH_PRESETS["tiny"]
    traffic = RandomTraffic(config, seed=seed, requests=_REQUESTS, gap=2.0, snoops=10, moves=10)
    devices = Devices(stall=0.1, promote=1.0, single=True)
    dump = folder / "verilator.vcd"
    with Traffic(config, waves=True) as simulation:
        records = simulation.play(
            traffic.plan(timeout=_TIMEOUT),
            limit=_LIMIT,
            seed=seed,
            devices=devices,
            window=(0, _LIMIT),
        )
        check(config, records, devices)
        simulation.keep_dump(dump, 0)
    return _replayed(replay(switch_design(config), dump, folder))


def _replayed(outcome: Replay) -> str:
    return f"{outcome.steps // 2} cycles, {outcome.outputs} bits of outputs equal in each half"
