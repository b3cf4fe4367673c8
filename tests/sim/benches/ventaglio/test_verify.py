import numpy as np
import pytest

from fanweave.golden.errors import FaultError
from fanweave.golden.ventaglio import model
from fanweave.golden.ventaglio.config import preset
from fanweave.golden.ventaglio.cycles import MemoryModel, count_cycles
from fanweave.sim.benches.ventaglio.cases import bound_cycles, cut
from fanweave.sim.benches.ventaglio.run import Stalls, simulate
from fanweave.sim.benches.ventaglio.verify import verify
from fanweave.sim.waves.vcd_reader import read_header, read_waveform
from fanweave.sw.traces.trace import Trace

CONFIG = preset("tiny")


@pytest.fixture
def case(small_trace):
    return next(cut(Trace.load(small_trace), CONFIG))


@pytest.mark.verilator
def test_mismatch_names_the_element_and_leaves_waves(case, tmp_path):
    expected = model.run(case.workload, CONFIG)
    wrong = expected.copy()
    wrong[1, 40] ^= 1
    with pytest.raises(FaultError) as fault:
        verify(
            case.workload,
            CONFIG,
            folder=tmp_path,
            memory=MemoryModel(),
            stalls=Stalls(probability=20, seed=2),
            expected=wrong,
        )
    message = str(fault.value)
    assert "token 1, column 40" in message
    assert f"expected {wrong[1, 40]:#010x}, got {expected[1, 40]:#010x}, at cycle" in message
    cycle = int(message.split("at cycle ")[1].split()[0])
    save = (tmp_path / "mismatch" / "window.gtkw").read_text()
    # The marker stands where the dump shows the bench in that cycle.
    marker = int(save.split("\n*")[1].split()[1])
    shown = read_waveform(tmp_path / "mismatch" / "window.vcd", ["ventaglio_bench.cycles"])
    seen = [value for time, value in shown.changes["ventaglio_bench.cycles"] if time <= marker + 5]
    assert seen[-1] == cycle
    assert "ventaglio_bench.weights_checker.valid" in save
    assert "Not in this dump" not in save
    header = read_header(tmp_path / "mismatch" / "expected.vcd")
    assert any(signal.path.startswith("differs.") for signal in header.signals)


@pytest.mark.verilator
@pytest.mark.parametrize("ports", ["split", "shared"])
def test_cycle_model_predicts_every_counter(case, tmp_path, ports):
    memory = MemoryModel(ports=ports)
    outcome = simulate(case.workload, CONFIG, folder=tmp_path, memory=memory)
    assert count_cycles(case.workload, CONFIG, memory) == outcome.counters
    assert bound_cycles(case, CONFIG, shared=ports == "shared") <= outcome.cycles


@pytest.mark.verilator
def test_run_that_does_not_end_is_reported(case, tmp_path):
    with pytest.raises(FaultError, match="did not end within 50 cycles"):
        simulate(case.workload, CONFIG, folder=tmp_path, cycle_limit=50)


def test_bound_counts_each_row_once_a_group(case):
    operand = case.operand
    wanted = (operand.activations & 0x7FFF) != 0
    nnz = np.diff(operand.indptr)
    products = int((wanted * nnz).sum())
    pairs = wanted[0:2].any(axis=0), wanted[2:3].any(axis=0)
    fetched = int(sum((pair * nnz).sum() for pair in pairs))
    assert bound_cycles(case, CONFIG, shared=False) == max(products / 4, fetched / 4)
