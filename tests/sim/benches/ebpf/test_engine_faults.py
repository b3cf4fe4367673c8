"""Events that fault among others, on the Verilated engine: verdicts, counts, and nothing else."""

import random

import pytest

from fanweave.golden.ebpf.maps import MapSpec
from fanweave.golden.ebpf.program import Program
from fanweave.golden.isa.ebpf_machine import FaultCause, map_address, map_handle
from fanweave.golden.isa.ebpf_maps import MapFlag, MapType
from fanweave.sim.benches.ebpf.engine_design import SERVER_CONFIG
from fanweave.sim.benches.ebpf.engine_server import EngineServer
from fanweave.sw.ebpf import assemble
from fanweave.sw.ebpf.driver import EngineDriver, over, run_now

DEFAULT_VERDICT = 0x0123_4567_89AB_CDEF
BUDGET = 500
COUNTERS, CONSTANTS, LONG = range(3)
TOO_LONG = SERVER_CONFIG.operand_bytes + 8
SPECS = (
    MapSpec(name="counters", kind=MapType.ARRAY, key_size=4, value_size=8, max_entries=2),
    MapSpec(
        name="constants",
        kind=MapType.ARRAY,
        key_size=4,
        value_size=8,
        max_entries=1,
        flags=MapFlag.RDONLY_PROG,
    ),
    MapSpec(name="long", kind=MapType.ARRAY, key_size=4, value_size=TOO_LONG, max_entries=1),
)
#: Counts itself in the first counter, and gives the first byte of its context.
GOOD = f"""
    r0 = *(u8 *)(r1 + 0)
    r2 = {map_address(COUNTERS)} ll
    r3 = 1
    lock *(u64 *)(r2 + 0) += r3
    exit
"""
#: Programs that the loader's checks accept, by how their events end.
FAULTY = {
    FaultCause.OUT_OF_BOUNDS: "r0 = *(u64 *)(r10 + 0)\nexit",
    FaultCause.MISALIGNED_ATOMIC: "r3 = 1\nlock *(u64 *)(r10 - 12) += r3\nr0 = 0\nexit",
    FaultCause.WATCHDOG: "again:\nr0 = 1\nr6 += 1\ngoto again\nexit",
    FaultCause.CALL_DEPTH: "r0 = 7\ncall pc-2\nexit",
    FaultCause.BAD_MAP: "r1 = 5\nr2 = r10\nr2 += -8\ncall 1\nexit",
    FaultCause.FORBIDDEN: f"r2 = {map_address(CONSTANTS)} ll\nr0 = 3\n*(u64 *)(r2 + 0) = r0\nexit",
    FaultCause.OPERAND_SIZE: (
        f"r1 = {map_handle(LONG)} ll\nr2 = r10\nr2 += -8\nr3 = r1\nr4 = 0\ncall 2\nexit"
    ),
}
#: Each counts itself in the second counter first.
COUNTS_FIRST = f"""
    r8 = r1
    r2 = {map_address(COUNTERS)} ll
    r3 = 1
    lock *(u64 *)(r2 + 8) += r3
    r1 = r8
"""
MISSING = 9


@pytest.mark.parametrize("seed", range(2))
def test_a_fault_ends_its_event_and_nothing_else(seed):
    generator = random.Random(seed)
    numbers = {FaultCause.NO_PROGRAM: MISSING, FaultCause.NONE: 0}
    with EngineServer(SERVER_CONFIG) as server:
        driver = run_now(EngineDriver.identify(over(server)))
        run_now(driver.maps.create(SPECS))
        run_now(driver.set_budget(BUDGET))
        run_now(driver.set_default_verdict(DEFAULT_VERDICT))
        run_now(driver.programs.install(0, Program.of(assemble(GOOD), "good")))
        for number, (cause, text) in enumerate(FAULTY.items(), start=1):
            text = text if cause is FaultCause.CALL_DEPTH else COUNTS_FIRST + text
            run_now(driver.programs.install(number, Program.of(assemble(text), cause.name)))
            numbers[cause] = number
        causes = [*numbers, *[FaultCause.NONE] * 8] * 10
        generator.shuffle(causes)
        for tag, cause in enumerate(causes):
            server.offer(bytes([tag]) * 8, tag=tag, program=numbers[cause])
        verdicts = {(got := server.verdict()).tag: got for _ in causes}
        counted = run_now(driver.counters())
        values = dict(run_now(driver.maps.items(COUNTERS)))
    assert sorted(verdicts) == list(range(len(causes)))
    for tag, cause in enumerate(causes):
        found = verdicts[tag]
        assert found.cause is cause, tag
        assert found.r0 == (tag if cause is FaultCause.NONE else DEFAULT_VERDICT)
        assert found.context == bytes([tag]) * 8
    assert all(
        verdict.instructions == BUDGET
        for verdict in verdicts.values()
        if verdict.cause is FaultCause.WATCHDOG
    )
    assert counted["events"] == len(causes)
    assert counted["instructions"] == sum(found.instructions for found in verdicts.values())
    for cause in FaultCause:
        assert counted[f"verdicts_{cause.name.lower()}"] == causes.count(cause), cause
    # What was counted before the fault stays.
    left = [FaultCause.NONE, FaultCause.NO_PROGRAM, FaultCause.CALL_DEPTH]
    sums = [causes.count(FaultCause.NONE), sum(cause not in left for cause in causes)]
    assert [int.from_bytes(values[bytes([n, 0, 0, 0])], "little") for n in (0, 1)] == sums
