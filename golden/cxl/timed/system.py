"""Islands among hosts and memories, run to the cycle, with golden programs in their engines."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from fanweave.golden.cxl.config import SwitchConfig
from fanweave.golden.cxl.tables import Tables
from fanweave.golden.cxl.timed.columns import EVENT
from fanweave.golden.cxl.timed.config import SystemConfig
from fanweave.golden.cxl.timed.state import new_islands
from fanweave.golden.cxl.timed.step import ENDED, LIMIT, run
from fanweave.golden.cxl.timed.tables import fill_bucket, fill_tables
from fanweave.golden.cxl.timed.traffic import Traffic
from fanweave.golden.errors import FaultError
from fanweave.golden.isa.cxl_event import Verdict, encode_event
from fanweave.golden.isa.cxl_island import FIRST_ADDRESS, ISLAND_REGISTERS
from fanweave.golden.isa.cxl_messages import LINE_BYTES

__all__ = ["Asked", "IslandSetup", "TimedSystem"]

#: Judges an event: program, context, time; gives r0, or None of a fault.
Judge = Callable[[int, bytes, int], int | None]
_CONTEXT = ("tag", "port", "island", "channel", "opcode", "ld_id", "dev_load")
_REQUEST_CHANNELS = (0, 1)


@dataclass(frozen=True, kw_only=True)
class IslandSetup:
    """What an island begins with.

    Attributes
    ----------
    writes : sequence of (int, int)
        Register writes, by word address.
    judge : callable or None
        Its programs; None if no rule raises an event.
    """

    writes: Sequence[tuple[int, int]]
    judge: Judge | None = None


@dataclass(frozen=True, kw_only=True)
class Asked:
    """An event that an engine ran, and what it said.

    Attributes
    ----------
    island, cycle, program : int
    context : bytes
    r0 : int or None
        None if the program ended before its time.
    """

    island: int
    cycle: int
    program: int
    context: bytes
    r0: int | None


@dataclass(eq=False, kw_only=True)
class TimedSystem:
    """A system in golden.

    Parameters
    ----------
    switch : SwitchConfig
        Of all islands.
    verdict_entries : int
        Of their memories of verdicts.
    around : SystemConfig
    setups : sequence of IslandSetup
        One an island.
    traffic : Traffic
        What hosts send.
    start : int
        First cycle of traffic; buckets are full then.
    limit : int
        Messages at most; the rest of the tasks is not sent.
    keep : bool
        Keep what engines were asked.

    Attributes
    ----------
    state : Islands
    asked : list of Asked
    actions : dict of (int, int, str) to int
        Island, program and action -> verdicts.
    """

    switch: SwitchConfig
    verdict_entries: int
    around: SystemConfig
    setups: Sequence[IslandSetup]
    traffic: Traffic
    start: int = 0
    limit: int = 0
    keep: bool = False
    asked: list[Asked] = field(default_factory=list)
    actions: dict[tuple[int, int, str], int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.state = new_islands(
            islands=self.around.islands,
            upstream=self.switch.upstream,
            downstream=self.switch.downstream,
            queue=self.switch.queue,
            slots=self.switch.slots,
            rules=self.switch.rules,
            decoders=self.switch.decoders,
            entries=self.verdict_entries,
            moves=self.switch.moves,
            move_lines=self.switch.move_lines,
        )
        clock = self.state.clock
        clock[0], clock[4] = self.start, self.switch.clock_ns
        clock[2] = self.limit or len(self.traffic.line)
        for number, setup in enumerate(self.setups):
            tables = Tables(self.switch)
            for address, word in setup.writes:
                if address < FIRST_ADDRESS:
                    tables.write(address, word)
            fill_tables(self.state, number, tables)
            fill_bucket(self.state, number, tables)
            self._island_words(number, dict(setup.writes))
        self._ports()

    def _island_words(self, number: int, words: Mapping[int, int]) -> None:
        entries = {entry.name: entry for entry in ISLAND_REGISTERS}
        control = entries["verdicts"]
        word = words.get(control.address, 0)
        shift = control.field("shift").extract(word)
        self.state.memory[number] = [
            control.field("enable").extract(word),
            shift,
            control.field("programs").extract(word),
        ]
        paces = [entry for entry in ISLAND_REGISTERS if entry.name.startswith("pace_")]
        for program in range(self.state.pace.shape[1]):
            entry = paces[min(program, len(paces) - 1)]
            self.state.pace[number, program] = words.get(entry.address, 0)

    def _ports(self) -> None:
        state, up = self.state, self.switch.upstream
        for memory in self.around.memories:
            timing = memory.timing
            row = [1, timing.latency, timing.read, timing.write, timing.turn, *timing.loads, 0, 0]
            state.behind[memory.island, memory.port - up] = row
        for link in self.around.links:
            row = [2, link.latency, 0, 0, 0, 0, 0, 0, link.to_island, link.to_port]
            state.behind[link.island, link.port - up] = row
            state.entry_of[link.to_island, link.to_port] = [2, link.island, link.port - up]
        for number, host in enumerate(self.around.hosts):
            state.entry_of[host.island, host.port] = [1, number, 0]

    def run(self, *, cycles: int) -> int:
        """Run to the end; gives the cycle behind the last.

        Raises
        ------
        FaultError
            If it does not end within so many cycles.
        """
        while True:
            status = run(self.state, self.traffic, self.start + cycles)
            now = int(self.state.clock[0])
            if status == ENDED:
                return now
            if status == LIMIT:
                raise FaultError(f"the system did not end within {cycles:,} cycles")
            for island in range(self.around.islands):
                if self.state.seat_at[island, 4]:
                    self._ask(island, now - 1)

    def _ask(self, island: int, cycle: int) -> None:
        event = self.state.seat[island]
        values = {name: int(event[getattr(EVENT, name)]) for name in _CONTEXT}
        context = encode_event(
            address=int(event[EVENT.line]) * LINE_BYTES,
            latency_ns=int(event[EVENT.latency]),
            direction=int(values["channel"] not in _REQUEST_CHANNELS),
            **values,
        )
        judge = self.setups[island].judge
        assert judge is not None  # a rule of its filter has raised it
        program = int(event[EVENT.program])
        r0 = judge(program, context, (cycle - self.start) * self.switch.clock_ns)
        verdict = None if r0 is None else Verdict.decode(r0)
        told = self.state.verdict[island]
        told[:] = 0
        name = "NOTHING"
        if verdict is not None:
            name = verdict.action.name
            told[:] = [1, verdict.action, verdict.island, verdict.tokens]
        key = island, program, name
        self.actions[key] = self.actions.get(key, 0) + 1
        if self.keep:
            self.asked.append(
                Asked(island=island, cycle=cycle, program=program, context=context, r0=r0)
            )
