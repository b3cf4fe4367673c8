"""Long random traffic through the Verilated switch, held against the model."""

import random
from collections.abc import Iterator

from fanweave.golden.cxl.config import PRESETS, SwitchConfig
from fanweave.golden.cxl.messages import Message, message
from fanweave.golden.cxl.tables import range_writes
from fanweave.golden.errors import InputError
from fanweave.golden.isa.cxl_event import BisnpOpcode, Channel, ReqOpcode, RwdOpcode
from fanweave.golden.isa.cxl_messages import DATA_BITS, LINE_BYTES, Snoop
from fanweave.golden.isa.cxl_switch import PAGE_BYTES
from fanweave.sim.benches.cxl.checker import DifferenceError, TrafficChecker
from fanweave.sim.benches.cxl.verilated import Devices, Planned, Record, play_plan

__all__ = ["RandomTraffic", "check", "play"]

_LINES = PAGE_BYTES // LINE_BYTES
#: Cycles until all registers are written, and that the default time-out of a device may take.
_SETUP, _PATIENCE = 200, 200_000
#: Snoops are told apart by their tags, and not more of them come than there are.
_SNOOP_TAGS = 1 << 12
_READS = (ReqOpcode.MEM_RD, ReqOpcode.MEM_RD, ReqOpcode.MEM_RD_DATA)
_WRITES = (RwdOpcode.MEM_WR, RwdOpcode.MEM_WR, RwdOpcode.MEM_WR_PTL)


class RandomTraffic:
    """Both hosts send to all devices: an interleaved range, one of a single device, and no range.

    Parameters
    ----------
    config : SwitchConfig
        The switch.
    seed : int
        Decides everything.
    requests : int
        Of each host.
    gap : float
        Mean cycles between two requests of a host.
    rebinds : int
        Times that a virtual port of host 0 is unbound for a while.
    snoops : int
        Back-invalidations of each device.
    """

    def __init__(
        self,
        config: SwitchConfig,
        *,
        seed: int,
        requests: int,
        gap: float = 1.0,
        rebinds: int = 0,
        snoops: int = 0,
    ) -> None:
        if snoops > _SNOOP_TAGS:
            raise InputError(f"snoops = {snoops} must be {_SNOOP_TAGS} at most")
        self.config = config
        self.random = random.Random(seed)
        self.requests, self.gap = requests, gap
        self.rebinds, self.snoops = rebinds, snoops
        self.end = _SETUP + round(requests * gap)

    def plan(self, *, timeout: int) -> Iterator[Planned]:
        """Everything that is sent.

        Parameters
        ----------
        timeout : int
            Cycles that a device has.
        """
        yield from self._setup(timeout)
        yield from self._rebinding()
        for host in range(self.config.upstream):
            yield from self._of_host(host)
        for port in range(self.config.upstream, self.config.ports):
            yield from self._of_device(port)

    @property
    def ways(self) -> int:
        """Devices that the first range is interleaved over."""
        return 1 << min(self.config.downstream, 8).bit_length() - 1

    def _write(self, cycle: int, name: str, **fields: int) -> Planned:
        entry = next(entry for entry in self.config.registers if entry.name == name)
        return Planned(cycle=cycle, port=0, sent=(entry.address, entry.pack(**fields)))

    def _bind(self, cycle: int, host: int, number: int, *, bound: int) -> Planned:
        port = self.config.upstream + number
        return self._write(cycle, f"binding_{host}_{number}", bound=bound, port=port, ld_id=host)

    def _setup(self, timeout: int) -> Iterator[Planned]:
        yield self._write(0, "timeout", cycles=timeout)
        ways = self.ways
        for host in range(self.config.upstream):
            ranges = (
                (0, PAGE_BYTES, 2 * PAGE_BYTES, list(range(ways))),
                (1, 8 * PAGE_BYTES, PAGE_BYTES, [ways - 1]),
            )
            for number in range(ways):
                yield self._bind(0, host, number, bound=1)
            for number, first, size, targets in ranges:
                for write in range_writes(
                    self.config, host=host, number=number, first=first, size=size, targets=targets
                ):
                    yield Planned(cycle=0, port=0, sent=write)

    def _rebinding(self) -> Iterator[Planned]:
        times = sorted(self.random.randrange(_SETUP, self.end) for _ in range(2 * self.rebinds))
        for number, cycle in enumerate(times):
            yield self._bind(cycle, 0, 0, bound=number % 2)

    def _of_host(self, host: int) -> Iterator[Planned]:
        clock = float(_SETUP)
        for _ in range(self.requests):
            clock += self.random.expovariate(1 / self.gap)
            yield Planned(cycle=int(clock), port=host, sent=self._request())

    def _request(self) -> Message:
        choose = self.random
        # The last page is behind the ranges.
        page = choose.choice((1, 1, 2, 2, 8, 8, 9))
        values = {
            "address": page * _LINES + choose.randrange(_LINES),
            "traffic_class": choose.randrange(4),
            "meta_value": choose.randrange(4),
        }
        kind = choose.random()
        if kind < 0.45:
            values |= {"opcode": choose.choice(_READS), "snoop": choose.choice((0, 0, *Snoop))}
            return message(Channel.M2S_REQ, **values)
        if kind < 0.55:
            return message(Channel.M2S_REQ, opcode=choose.choice(list(ReqOpcode)), **values)
        return message(
            Channel.M2S_RWD,
            opcode=choose.choice(_WRITES),
            poison=choose.random() < 0.1,
            data=choose.getrandbits(DATA_BITS),
            mask=choose.getrandbits(LINE_BYTES),
            **values,
        )

    def _of_device(self, port: int) -> Iterator[Planned]:
        times = sorted(self.random.randrange(_SETUP, self.end) for _ in range(self.snoops))
        for tag, cycle in enumerate(times):
            sent = message(
                Channel.S2M_BISNP,
                opcode=self.random.choice(list(BisnpOpcode)),
                # Of a logical device that some host has, or of none.
                bi_id=self.random.randrange(self.config.upstream + 1),
                bi_tag=tag,
                address=4 * tag + self.random.choice((1, 2, 3)),
            )
            yield Planned(cycle=cycle, port=port, sent=sent)


def check(config: SwitchConfig, records: Iterator[Record], devices: Devices) -> TrafficChecker:
    """Hold what happened against the model.

    Raises
    ------
    DifferenceError
        At the first difference, or if something is still open in the end.
    """
    checker = TrafficChecker(config)
    checker.faulty, checker.silent = set(devices.faulty), set(devices.silent)
    for record in records:
        try:
            if isinstance(record.sent, tuple):
                checker.model.tables.write(*record.sent)
            elif record.gives:
                checker.gives(record.port, record.sent)
            else:
                checker.takes(record.port, record.sent)
        except DifferenceError as error:
            raise DifferenceError(f"cycle {record.cycle}: {error}") from error
    if not checker.settled:
        raise DifferenceError("not everything is answered in the end")
    return checker


def play(seed: int, config: str | None = None) -> str:
    """Play a round of the soak.

    Parameters
    ----------
    seed : int
        Decides everything.
    config : str, optional
        Preset.

    Raises
    ------
    FaultError
        If something differs.
    InputError
        If there is no such preset.
    """
    name = config or "default"
    if name not in PRESETS:
        raise InputError(
            f"unknown preset {name!r} of unit switch; choose one of {', '.join(sorted(PRESETS))}"
        )
    switch = PRESETS[name]
    generator = random.Random(seed)
    fault = generator.choice(("none", "faulty", "silent"))
    every = frozenset(range(switch.upstream, switch.ports))
    devices = Devices(
        stall=generator.choice((0.0, 0.2, 0.5)),
        delay=generator.choice(((1, 10), (5, 200))),
        faulty=every if fault == "faulty" else frozenset(),
        silent=frozenset({switch.ports - 1}) if fault == "silent" else frozenset(),
    )
    # Whose a snooped line is, is decided a while after the switch takes the snoop: the log does not
    # show when, so bindings stay while there are snoops.
    rebinds = generator.choice((0, 20)) if fault == "none" else 0
    traffic = RandomTraffic(
        switch,
        seed=generator.getrandbits(31),
        requests=generator.choice((10_000, 30_000)),
        gap=generator.choice((0.5, 2.0)),
        rebinds=rebinds,
        snoops=0 if rebinds else generator.choice((0, 500)),
    )
    limit = traffic.end + 100 * traffic.requests + _PATIENCE
    records = play_plan(
        switch,
        # Where answers may be lost, some of them are; elsewhere none, however slow links are.
        traffic.plan(timeout=100 if fault == "faulty" else 2000),
        limit=limit,
        seed=generator.getrandbits(31),
        devices=devices,
    )
    checker = check(switch, records, devices)
    count = checker.count
    return (
        f"{name}: {count['taken']} messages taken, {count['answered']} answers, "
        f"{count['lost']} lost, {count['snooped']} snoops; fault {fault}, stall {devices.stall}"
    )
