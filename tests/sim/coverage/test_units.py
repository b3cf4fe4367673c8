"""What counts as met, in small programs of which it is known."""

from fanweave.golden.cxl.config import PRESETS as SWITCH_PRESETS
from fanweave.golden.ebpf.program import Program
from fanweave.golden.isa.formats import ElementFormat
from fanweave.golden.isa.ventaglio import ErrorCause
from fanweave.golden.ventaglio.config import PRESETS
from fanweave.sim.benches.cxl.checker import TrafficChecker
from fanweave.sim.benches.ventaglio.random_programs import random_batch
from fanweave.sim.coverage import ebpf, switch, ventaglio
from fanweave.sim.coverage.cross import Cross
from fanweave.sw.ebpf import assemble


def all_possible(crosses: tuple[Cross, ...], hits) -> bool:
    cells = {cross.name: set(cross.cells()) for cross in crosses}
    return all(set(met) <= cells[name] for name, met in hits.items())


def test_operations_of_ventaglio_are_classed():
    config = PRESETS["tiny"]
    batch = random_batch(config, seed=2, programs=40)
    hits = ventaglio.hits_of(
        batch.workload,
        config,
        stall_probability=100,
        causes=[ErrorCause.INDEX_RANGE, ErrorCause.NONE],
    )
    assert all_possible(ventaglio.CROSSES, hits)
    operations = [each for program in batch.programs for each in program.operations]
    drains = sum(type(each).__name__ == "Drain" for each in operations)
    refused_drains = sum(n for (kind, _), n in hits["errors"].items() if kind == "drain")
    assert sum(hits["drains"].values()) + refused_drains == drains
    assert hits["errors"]["multiply", "INDEX_RANGE"] == 1
    assert {cell[1] for cell in hits["hazards"]} == {"many stalls"}
    built = {each.name for each in config.formats}
    assert {cell[0] for cell in hits["operands"]} == built


def test_hazards_are_those_of_the_columns():
    config = PRESETS["tiny"]
    batch = random_batch(config, seed=2, programs=40)
    met = ventaglio.hits_of(batch.workload, config, stall_probability=0, causes=[])["hazards"]
    # Repeated columns in a row exist with absolute indices only, which have no order.
    assert {cell[2] for cell in met} >= {"accumulator, other rows", "accumulator, same row"}
    assert ventaglio.stall_class(0) == "no stalls"
    assert ventaglio.stall_class(63) == "some stalls"
    assert [ventaglio.length_class(n) for n in (0, 1, 7, 8)] == [
        "0 rows",
        "1 row",
        "2 to 7 rows",
        "8 rows and more",
    ]
    assert ElementFormat.FP32.name in {cell[0] for cell in ventaglio.CROSSES[0].cells()}


def test_the_instruction_that_ends_an_event_is_named():
    program = Program.of(assemble("r0 = 1\nr0 = *(u8 *)(r1 + 3)\nexit"))
    hits = ebpf.hits_of([(program, [b"\0" * 4, b""])], budget=10)
    assert all_possible(ebpf.CROSSES, hits)
    assert hits["events"] == {("NONE",): 1, ("OUT_OF_BOUNDS",): 1}
    ends = {end: n for (name, end), n in hits["instructions"].items() if "load" in name}
    assert ends == {"executed": 1, "OUT_OF_BOUNDS": 1}


def test_the_watchdog_ends_an_event_at_its_last_instruction():
    program = Program.of(assemble("again: r0 += 1\ngoto again"))
    hits = ebpf.hits_of([(program, [b""])], budget=7)
    assert hits["events"] == {("WATCHDOG",): 1}
    assert sum(n for (_, end), n in hits["instructions"].items() if end == "WATCHDOG") == 1
    assert all_possible(ebpf.CROSSES, hits)


def test_requests_and_their_verdicts_are_cells_of_the_switch():
    checker = TrafficChecker(SWITCH_PRESETS["tiny"])
    assert not checker.covered
    verdicts = next(cross for cross in switch.CROSSES if cross.name == "verdicts")
    assert ("M2S_REQ MEM_RD", switch.NO_VERDICT) in verdicts.cells()
    assert ("M2S_RWD MEM_WR", "PROMOTE") in verdicts.cells()
