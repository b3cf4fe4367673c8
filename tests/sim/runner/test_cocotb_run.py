import time
from pathlib import Path

import pytest
from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from fanweave.golden.errors import FaultError, InputError
from fanweave.sim.runner import (
    Design,
    VerilogSource,
    WaveWindow,
    build_model,
    design_from_component,
    run,
)

pytestmark = pytest.mark.verilator
HERE = Path(__file__).parent
BENCH = VerilogSource(
    name="bench.sv",
    text="""
module counter_bench #(parameter WORDS = 4) (
  input wire clk, rst,
  input wire [7:0] step,
  output wire [31:0] count,
  output wire [31:0] entry,
  output wire [31:0] oldest
);
  string file;
  reg [31:0] words [0:WORDS-1];
  initial if ($value$plusargs("words=%s", file)) $readmemh(file, words);
  assign entry = words[WORDS-1];
  counter counter(
    .clk(clk), .rst(rst), .step(step), .count(count), .oldest(oldest));
endmodule
""",
)


class Counter(wiring.Component):
    """Adds `step` in each cycle and remembers past counts in a memory."""

    step: In(8)
    count: Out(32)
    oldest: Out(32)

    def elaborate(self, platform):
        m = Module()
        m.submodules.past = past = Memory(shape=32, depth=64, init=[])
        port = past.write_port()
        oldest = past.read_port(domain="comb")
        cycle = Signal(6)
        m.d.sync += [cycle.eq(cycle + 1), self.count.eq(self.count + self.step)]
        m.d.comb += [port.addr.eq(cycle), port.data.eq(self.count), port.en.eq(1)]
        m.d.comb += [oldest.addr.eq(cycle), self.oldest.eq(oldest.data)]
        return m


@pytest.fixture(scope="module")
def design():
    return design_from_component(
        Counter(),
        name="counter",
        toplevel="counter_bench",
        extra_sources=[BENCH],
        parameters={"WORDS": 5},
    )


def run_counter(design, folder, **options):
    options = {"test_module": "counter_bench", "python_path": [HERE], **options}
    return run(design, results_dir=folder, **options)


def test_a_run_passes_and_a_second_one_skips_the_build(design, tmp_path):
    build_model(design)
    start = time.monotonic()
    result = run_counter(design, tmp_path, seed=5).check()
    assert result.cached
    assert result.build_seconds < 0.5
    assert time.monotonic() - start < 5
    assert [test.name for test in result.tests] == ["counts"]
    assert 0 < result.tests[0].seconds < result.run_seconds
    assert result.seed == 5
    assert "count is 297" in result.log.read_text()
    assert result.results_xml.is_file()
    assert result.waves is None


def test_plusargs_parameters_and_environment_reach_the_bench(design, tmp_path):
    (tmp_path / "words.hex").write_text("1 2 3 4 feed\n")
    run_counter(
        design,
        tmp_path,
        plusargs={"words": tmp_path / "words.hex"},
        env={"ENTRY": "0xfeed"},
    ).check()


def test_a_failing_test_is_a_fault_with_its_reason(design, tmp_path):
    result = run_counter(design, tmp_path, env={"FAIL": "1"})
    assert not result.passed
    with pytest.raises(FaultError, match="count is not what this test wants"):
        result.check()


def test_a_module_that_cannot_be_imported_is_a_fault(design, tmp_path):
    with pytest.raises(FaultError, match="ended before its tests did"):
        run_counter(design, tmp_path, test_module="no_such_bench").check()


def test_a_run_that_takes_too_long_is_ended(design, tmp_path):
    result = run_counter(design, tmp_path, env={"CYCLES": "1000000000"}, timeout_s=2)
    assert not result.passed
    assert result.run_seconds < 10


def test_a_dump_covers_its_window_and_shows_memories(design, tmp_path):
    window = WaveWindow(file=tmp_path / "window.vcd", start=20, stop=25)
    result = run_counter(design, tmp_path, waves=window).check()
    text = result.waves.read_text()
    times = [int(line[1:]) for line in text.splitlines() if line.startswith("#")]
    assert times[0] == 20 * 10
    assert times[-1] == 25 * 10 + 5
    assert "past[63]" in text
    assert "fanweave_dump_window" not in text


def test_a_damaged_model_is_built_again(design, tmp_path):
    model = build_model(design)
    model.executable.write_bytes(model.executable.read_bytes()[:1000])
    result = run_counter(design, tmp_path).check()
    assert not result.cached


def test_sources_that_do_not_build_are_refused_with_the_error():
    text = "module broken(input clk);\n  wire x = ;\nendmodule"
    broken = VerilogSource(name="broken.v", text=text)
    message = r"(?s)design 'broken' does not build .*%Error.*broken\.v:2"
    with pytest.raises(InputError, match=message):
        build_model(Design(name="broken", toplevel="broken", sources=(broken,)))


@pytest.mark.parametrize(("start", "stop"), [(5, 4), (-1, None)])
def test_an_empty_window_is_refused(start, stop):
    with pytest.raises(InputError, match="is empty: it must be FROM:TO in cycles"):
        WaveWindow(file=Path("x.vcd"), start=start, stop=stop)
