"""The AXI top gives golden's bits through its buses, at full speed and held back at random."""

import numpy as np
import pytest

from fanweave.golden.isa.ventaglio import REGISTERS, ErrorCause, counter_address, register
from fanweave.golden.ventaglio.config import preset
from fanweave.golden.ventaglio.model import Ventaglio
from fanweave.sim.benches.ventaglio.axi import simulate_axi
from fanweave.sim.benches.ventaglio.random_programs import random_batch
from fanweave.sw.traces.library import open_trace
from fanweave.sw.ventaglio import lower

SLVERR = 2


def golden_of(workload, config):
    unit = Ventaglio(config, workload.image, workload.activations)
    unit.write_all(workload.commands.tolist())
    return unit


@pytest.mark.parametrize("pause", [0.0, 0.3])
def test_a_trace_is_bit_exact_through_the_buses(pause, small_trace, tmp_path):
    config = preset("tiny")
    workload = lower(open_trace(str(small_trace)).operands[0], config=config)
    golden = golden_of(workload, config)
    outcome = simulate_axi(workload, config, folder=tmp_path / "axi", pause=pause, seed=7)
    dtype = "<u4" if workload.result_format is None else f"<u{workload.result_format.bits // 8}"
    assert len(outcome.drains) == len(golden.results)
    for got, expected in zip(outcome.drains, golden.results, strict=True):
        assert np.array_equal(np.frombuffer(got, dtype=dtype), expected)
    assert outcome.write_responses == [0] * len(workload.commands)
    for name, count in golden.counters.items():
        assert outcome.registers[counter_address(name)] == count
    assert outcome.registers[register("error").address] == ErrorCause.NONE


def test_random_programs_with_errors_are_bit_exact_through_the_buses(tmp_path):
    config = preset("tiny")
    batch = random_batch(config, seed=11, programs=6)
    golden = golden_of(batch.workload, config)
    outcome = simulate_axi(batch.workload, config, folder=tmp_path / "axi", pause=0.2, seed=3)
    assert len(outcome.drains) == len(golden.results)
    for got, expected in zip(outcome.drains, golden.results, strict=True):
        size = len(got) // max(len(expected), 1)
        assert np.array_equal(np.frombuffer(got, dtype=f"<u{size}"), expected)
    for name, count in golden.counters.items():
        assert outcome.registers[counter_address(name)] == count
    error = register("error")
    word = outcome.registers[error.address]
    assert error.field("cause").extract(word) == golden.error.cause
    assert outcome.registers[register("error_row").address] == golden.error.row


@pytest.mark.parametrize("cycles", [150, 260, 370])
def test_a_reset_in_the_middle_of_work_leaves_nothing_behind(cycles, small_trace, tmp_path):
    config = preset("tiny")
    workload = lower(open_trace(str(small_trace)).operands[0], config=config)
    golden = golden_of(workload, config)
    outcome = simulate_axi(
        workload, config, folder=tmp_path / "axi", pause=0.4, seed=cycles, reset_after=cycles
    )
    dtype = "<u4" if workload.result_format is None else f"<u{workload.result_format.bits // 8}"
    assert [np.frombuffer(got, dtype=dtype).tolist() for got in outcome.drains] == [
        result.tolist() for result in golden.results
    ]
    for name, count in golden.counters.items():
        assert outcome.registers[counter_address(name)] == count


def test_what_is_no_register_is_answered_with_an_error(small_trace, tmp_path):
    config = preset("tiny")
    workload = lower(open_trace(str(small_trace)).operands[0], config=config)
    outcome = simulate_axi(workload, config, folder=tmp_path / "axi")
    assert set(outcome.registers) == {entry.address for entry in REGISTERS}
    assert set(outcome.probes.values()) == {SLVERR}
