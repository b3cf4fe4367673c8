"""The benchmark's programs compute what they are said to compute."""

from fanweave.golden.ebpf.machine import Machine
from fanweave.golden.ebpf.program import Program
from fanweave.sim.benches.ebpf.bench import PROGRAMS, rows
from fanweave.sim.benches.ebpf.map_programs import MAP_PROGRAMS, map_of
from fanweave.sw.ebpf import assemble

M64 = (1 << 64) - 1


def result(name, context=b""):
    outcome = Machine().run(Program.of(assemble(PROGRAMS[name])), context)
    assert not outcome.fault
    return outcome.r0


def test_the_checksum_is_one():
    data = bytes(range(250)) * 6
    total = sum(int.from_bytes(data[at : at + 2], "big") for at in range(0, 1500, 2))
    assert result("checksum of 1,500 bytes", data) == (total & 0xFFFF) + (total >> 16)


def test_the_sort_ends_with_the_least():
    assert result("sort on the stack") == min(n * 40503 & 0xFF for n in range(32))


def test_the_arithmetic_is_what_it_says():
    value = 1
    for left in range(5000, 0, -1):
        value = (value * 31 + left) & M64
        value ^= value >> 13
        value = (value - ((value & 0xFFFFFFFF) << 3 & 0xFFFFFFFF)) & M64
    assert result("arithmetic") == value


def run_on_map(name):
    spec, text = MAP_PROGRAMS[name]
    used = map_of(spec)
    outcome = Machine([used]).run(Program.of(assemble(text), name))
    assert not outcome.fault
    return outcome.r0, {
        int.from_bytes(key, "little"): int.from_bytes(value, "little")
        for key, value in used.items()
    }


def test_counters_count():
    _, counters = run_on_map("counters in an array")
    assert counters == {n: sum(k % 64 == n for k in range(1, 201)) for n in range(64)}


def test_the_youngest_pages_stay():
    _, pages = run_on_map("pages in an LRU map")
    assert pages == {n: n for n in range(1, 65)}


def test_routes_are_the_longest():
    # Of 200 keys 25 each begin with 0 to 7. 0 to 3 have the empty prefix alone, 6 and 7 that of
    # 6 bits, 5 that of 7 and 4 that of 8.
    assert run_on_map("routes in a trie")[0] == 25 * (6 + 6 + 7 + 8)


def test_every_program_has_a_row_and_the_core_is_busy():
    measured = rows(quick=True, seed=0)
    golden = [row for row in measured if row.metric == "instructions_per_second"]
    assert len(golden) == len(PROGRAMS) + len(MAP_PROGRAMS)
    core = {row.case: row for row in measured if row.case.endswith("at work")}
    assert len(core) == 4
    # The classic programs under load, and two published values.
    busy = [row for row in measured if row.metric == "instructions_per_cycle"]
    assert len(busy) == 4 + 3 + 2
    # Cycles, not times: these hold on every machine.
    assert core["core, 8 threads, 8 at work"].value > 0.9
    assert 0.45 < core["core, 8 threads, 1 at work"].value < 1 / 2
