"""Random systems: two islands, their hosts and memories, and a program that says anything."""

import random
from dataclasses import dataclass, field

import numpy as np

from fanweave.golden.cxl.island_config import IslandConfig
from fanweave.golden.cxl.tables import PAGE_LINES, range_writes
from fanweave.golden.cxl.timed.config import (
    DeviceTiming,
    HostPort,
    IslandLink,
    MemoryPort,
    SystemConfig,
)
from fanweave.golden.cxl.timed.system import IslandSetup, TimedSystem
from fanweave.golden.cxl.timed.traffic import Traffic
from fanweave.golden.ebpf.program import Program
from fanweave.golden.isa.cxl_event import VerdictAction
from fanweave.golden.isa.cxl_island import ISLAND_REGISTERS
from fanweave.golden.isa.cxl_switch import PAGE_BYTES
from fanweave.golden.isa.ebpf_machine import FaultCause
from fanweave.sim.benches.system.compare import (
    compare_answers,
    compare_counts,
    compare_pages,
    compare_verdicts,
    forgotten,
    messages_of,
    time_for,
)
from fanweave.sim.benches.system.simulation import SystemSimulation
from fanweave.sw.ebpf import assemble
from fanweave.sw.ebpf.driver import EngineDriver, over, run_now
from fanweave.sw.ebpf.driver.objects import install_object
from fanweave.sw.ebpf.object.contents import machine_of
from fanweave.sw.ebpf.object.model import ObjectFile

START, BUDGET, PACE = 4096, 64, 256
ISLANDS = ("island0", "island1")
#: First page of a host's memory, pages of it that are used, at each of its two ports.
FIRST_PAGE, PAGES = 0x100, 3


def program(actions, *, islands_of_ports=4):
    """Takes one of 16 actions by a hash of all that it sees, and a random port and price."""
    table = sum(int(action) << 4 * place for place, action in enumerate(actions))
    return ObjectFile.of_code(
        Program.of(
            assemble(f"""
    r2 = *(u64 *)(r1 + 0)
    r3 = *(u32 *)(r1 + 16)
    r2 ^= r3
    r3 = *(u16 *)(r1 + 20)
    r3 <<= 40
    r2 ^= r3
    r3 = *(u64 *)(r1 + 24)
    r2 ^= r3
    r4 = 0x9e3779b97f4a7c15 ll
    r2 *= r4
    r2 >>= 32
    r3 = r2
    r3 &= 15
    r3 <<= 2
    r0 = {table:#x} ll
    r0 >>= r3
    r0 &= 15
    if r0 == {int(VerdictAction.PASS)} goto out
    if r0 == {int(VerdictAction.DENY)} goto out
    r3 = r2
    r3 >>= 4
    r3 &= {islands_of_ports - 1}
    r3 <<= 8
    if r0 == {int(VerdictAction.DELAY)} goto price
    r0 |= r3
    if r0 != {int(VerdictAction.SPILL)} goto out
price:
    r3 = r2
    r3 >>= 8
    r3 &= 31
    r3 <<= 16
    r0 |= r3
out:
    exit
""")
        )
    )


@dataclass(kw_only=True)
class RandomSystem:
    """Two islands with three hosts, one of which is at the second; seeded.

    Parameters
    ----------
    config : IslandConfig
    actions : sequence of VerdictAction
        16 that the program chooses from.
    seed, messages : int
    """

    config: IslandConfig
    actions: tuple
    seed: int
    messages: int = 3000
    rng: random.Random = field(init=False)

    def __post_init__(self):
        self.rng = random.Random(self.seed)
        self.around = self._around()
        self.writes = [self._writes(island) for island in range(2)]
        self.object = program(self.actions)
        self.rows = self._rows()

    def _timing(self):
        rng = self.rng
        return DeviceTiming(
            latency=rng.choice([5, 40, 150]),
            read=rng.randint(1, 4),
            write=rng.randint(1, 4),
            turn=rng.choice([0, 3]),
        )

    def _around(self):
        up = self.config.switch.upstream
        ports = [(0, up), (1, up), (1, up + 1)]
        return SystemConfig(
            islands=2,
            hosts=tuple(
                HostPort(island=island, port=port, outstanding=self.rng.choice([4, 16, 64]))
                for island, port in ((0, 0), (0, 1), (1, 1))
            ),
            memories=tuple(
                MemoryPort(island=island, port=port, timing=self._timing())
                for island, port in ports
            ),
            links=(
                IslandLink(
                    island=0,
                    port=up + 1,
                    to_island=1,
                    to_port=0,
                    latency=self.rng.choice([2, 20]),
                ),
            ),
        )

    def _writes(self, island):
        switch = self.config.switch
        names = {entry.name: entry for entry in (*switch.registers, *ISLAND_REGISTERS)}
        found = []

        def write(name, **fields):
            found.append((names[name].address, names[name].pack(**fields)))

        for host in range(2):
            for number in range(2):
                write(
                    f"binding_{host}_{number}",
                    bound=1,
                    port=switch.upstream + number,
                    ld_id=host,
                )
                first = (FIRST_PAGE + number * PAGES) * PAGE_BYTES
                found += range_writes(
                    switch, host=host, number=number, first=first, size=PAGES * PAGE_BYTES,
                    targets=[number],
                )  # fmt: skip
            write(f"tokens_{host}", rate=self.rng.choice([16, 256]), limit=8)
        channels = self.rng.choice([0b11, 0b1111])
        write("rule_0_match", ports=0xFFFF, channels=channels)
        write("rule_0_opcodes", mask=0xFFFF)
        write("rule_0_last_high", page=0xFFFFF)
        write("rule_0_control", enable=1, inline=1, skip=self.rng.choice([0, 0, 2]))
        write("policy", wait=20)
        write("timeout", cycles=(1 << 24) - 1)
        write("pace_0", cycles=PACE)
        write("verdicts", enable=1, programs=self.rng.choice([0, 1, 1]), shift=0)
        return found

    def _rows(self):
        """Flows of each host's tasks: first line, lines, step, kind."""
        rng, rows = self.rng, []
        for host in range(3):
            left = self.messages // 3
            while left > 0:
                flows = []
                for _ in range(rng.randint(1, 3)):
                    lines = min(left, rng.randint(1, 120))
                    page = FIRST_PAGE + rng.randrange(2 * PAGES)
                    if lines:
                        last = PAGE_LINES * (FIRST_PAGE + 2 * PAGES) - lines
                        line = min(page * PAGE_LINES + rng.randrange(PAGE_LINES), last)
                        flows.append([line, lines, 1, rng.randrange(2)])
                        left -= lines
                rows.append((host, rng.choice([0, 0, 200]), flows))
        return rows

    def traffic(self):
        tasks, flows, hosts = [], [], []
        for host in self.around.hosts:
            number, first = len(hosts), len(tasks)
            for _, least, own in (row for row in self.rows if row[0] == number):
                tasks.append([-1, -1, least, len(flows), len(own), 0, -1])
                flows += [[*flow, 0, 0] for flow in own]
            hosts.append(
                [host.island, host.port, 0, host.outstanding, -1, first, len(tasks), 0, 0, 0]
            )
        total = sum(flow[1] for flow in flows)
        log = {
            name: np.zeros(total, dtype=np.int64)
            for name in ("line", "flow", "host", "tag", "sent", "done")
        }
        return Traffic(
            hosts=np.array(hosts),
            tasks=np.array(tasks),
            flows=np.array(flows),
            told=np.zeros((8 * total + 1000, 6), dtype=np.int64),
            **log,
        )

    def golden(self):
        """The system, run to its end."""
        setups = []
        for writes in self.writes:
            machine = machine_of(self.object, {}, engines=1, budget=BUDGET)
            setups.append(IslandSetup(writes=writes, judge=_judge(machine)))
        system = TimedSystem(
            switch=self.config.switch,
            verdict_entries=self.config.verdict_entries,
            around=self.around,
            setups=setups,
            traffic=self.traffic(),
            start=START,
        )
        system.run(cycles=1_000_000)
        return system

    def compare(self, system):
        """Plays what golden did in RTL."""
        with SystemSimulation(self.config, islands=2) as simulation:
            before = []
            for number in range(2):
                simulation.choose(number)
                run_now(self._install(simulation))
                before.append(forgotten(simulation))
            clock = next(entry for entry in ISLAND_REGISTERS if entry.name == "clock").address
            writes = [(n, 0, *write) for n, own in enumerate(self.writes) for write in own]
            writes += [(n, START - 1, clock, 0) for n in range(2)]
            done, told = simulation.play(
                self.around, writes, messages_of(system), **time_for(system)
            )
            compare_answers(system, done, where=f"seed {self.seed}", name=str)
            compare_verdicts(system, told, ISLANDS)
            for number, island in enumerate(ISLANDS):
                simulation.choose(number)
                compare_counts(simulation, system, number, island=island, before=before[number])
                compare_pages(simulation, system, number, island=island)

    async def _install(self, simulation):
        driver = await EngineDriver.identify(over(simulation))
        await driver.set_budget(BUDGET)
        await install_object(driver, self.object, {})


def _judge(machine):
    def judge(number, context, time_ns):
        outcome = machine.run(machine.programs[number], context, time_ns=time_ns)
        return outcome.r0 if outcome.fault is FaultCause.NONE else None

    return judge
