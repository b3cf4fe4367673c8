"""Traffic through a switch: what hosts and devices send, and the registers before it."""

import random
from collections.abc import Iterator

from fanweave.golden.cxl.config import SwitchConfig
from fanweave.golden.cxl.messages import Message, message
from fanweave.golden.cxl.tables import range_writes
from fanweave.golden.errors import InputError
from fanweave.golden.isa.cxl_event import BisnpOpcode, Channel, ReqOpcode, RwdOpcode
from fanweave.golden.isa.cxl_messages import ANSWERS, DATA_BITS, LINE_BYTES, Snoop
from fanweave.golden.isa.cxl_switch import PAGE_BYTES
from fanweave.sim.benches.cxl.records import Frozen, Planned, Wrote

__all__ = ["SETUP_CYCLES", "RandomTraffic", "flood", "matching", "ranges", "tokens"]

_LINES = PAGE_BYTES // LINE_BYTES
#: Cycles until all registers are written.
SETUP_CYCLES = 200
#: Snoops are told apart by their tags, and not more of them come than there are.
_SNOOP_TAGS = 1 << 12
_READS = (ReqOpcode.MEM_RD, ReqOpcode.MEM_RD, ReqOpcode.MEM_RD_DATA)
_WRITES = (*[RwdOpcode.MEM_WR] * 9, *[RwdOpcode.MEM_WR_PTL] * 6, RwdOpcode.BI_CONFLICT)


def _write(config: SwitchConfig, cycle: int, name: str, **fields: int) -> Planned:
    entry = next(entry for entry in config.registers if entry.name == name)
    return Planned(cycle=cycle, sent=Wrote(entry.address, entry.pack(**fields)))


def _bind(config: SwitchConfig, cycle: int, host: int, number: int, *, bound: int) -> Planned:
    port = config.upstream + number
    name = f"binding_{host}_{number}"
    return _write(config, cycle, name, bound=bound, port=port, ld_id=host)


def ranges(config: SwitchConfig, *, timeout: int) -> Iterator[Planned]:
    """Writes of registers: each host has pages 1 and 2 over all devices, and page 8 at the last.

    Parameters
    ----------
    config : SwitchConfig
        The switch.
    timeout : int
        Cycles that a device has to answer.
    """
    yield _write(config, 0, "timeout", cycles=timeout)
    ways = 1 << min(config.downstream, 8).bit_length() - 1
    for host in range(config.upstream):
        for number in range(ways):
            yield _bind(config, 0, host, number, bound=1)
        for number, first, pages, targets in (
            (0, 1, 2, list(range(ways))),
            (1, 8, 1, [ways - 1]),
        ):
            for write in range_writes(
                config,
                host=host,
                number=number,
                first=first * PAGE_BYTES,
                size=pages * PAGE_BYTES,
                targets=targets,
            ):
                yield Planned(cycle=0, sent=Wrote(*write))


def flood(config: SwitchConfig, *, channel: Channel, messages: int, seed: int) -> Iterator[Planned]:
    """Reads (Req) or writes (RwD) of each host as fast as they go, to lines of all devices."""
    choose = random.Random(seed)
    opcode = ReqOpcode.MEM_RD if channel is Channel.M2S_REQ else RwdOpcode.MEM_WR
    yield from ranges(config, timeout=100 * messages)
    for host in range(config.upstream):
        for _ in range(messages):
            line = _LINES + choose.randrange(2 * _LINES)
            sent = message(channel, opcode=opcode, address=line)
            yield Planned(cycle=SETUP_CYCLES, port=host, sent=sent)


def matching(
    config: SwitchConfig,
    *,
    skip: int,
    hosts: int | None = None,
    number: int = 0,
    program: int = 0,
    inline: bool = False,
    deny: bool = False,
) -> Iterator[Planned]:
    """Writes of registers: one request of ``skip + 1`` raises an event.

    Parameters
    ----------
    config : SwitchConfig
        The switch.
    skip : int
        Requests that are passed over after each.
    hosts : int, optional
        A bit for each host whose requests count; without, all do.
    number, program : int
        The rule, and the program that gets the event.
    inline : bool
        Whether the request waits for a verdict.
    deny : bool
        Whether it is denied if none comes.
    """
    hosts = (1 << config.upstream) - 1 if hosts is None else hosts
    channels = 1 << Channel.M2S_REQ | 1 << Channel.M2S_RWD
    rule = f"rule_{number}"
    yield _write(config, 0, f"{rule}_match", ports=hosts, channels=channels)
    yield _write(config, 0, f"{rule}_opcodes", mask=0xFFFF)
    yield _write(config, 0, f"{rule}_last_low", page=(1 << 20) - 1)
    control = {"enable": 1, "inline": int(inline), "program": program, "skip": skip}
    yield _write(config, 0, f"{rule}_control", deny=int(deny), **control)


def tokens(config: SwitchConfig, *, rate: int, limit: int, delay_limit: int) -> Iterator[Planned]:
    """Writes of registers: what hosts earn, so that a delay costs something.

    Parameters
    ----------
    config : SwitchConfig
        The switch.
    rate, limit : int
        Parts of a token a cycle, and most tokens that each host keeps.
    delay_limit : int
        Cycles after which a request goes without them.
    """
    yield _write(config, 0, "delay_limit", cycles=delay_limit)
    for host in range(config.upstream):
        yield _write(config, 0, f"tokens_{host}", rate=rate, limit=limit)


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
    moves : int
        One request of so many raises an event, for a verdict that may move its page; 0 for none.
    deaths : int
        Times that a device's port is taken off, or its link stands still until it counts as dead;
        then it comes back.
    answered : bool
        All requests have answers; with deaths they have.
    even : bool
        All opcodes come as often; else most requests read or write.
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
        moves: int = 0,
        deaths: int = 0,
        answered: bool = False,
        even: bool = False,
    ) -> None:
        if snoops > _SNOOP_TAGS:
            raise InputError(f"snoops = {snoops} must be {_SNOOP_TAGS} at most")
        self.config = config
        self.random = random.Random(seed)
        self.requests, self.gap = requests, gap
        self.rebinds, self.snoops = rebinds, snoops
        self.moves, self.deaths = moves, deaths
        self.answered = answered or deaths > 0
        self.even = even
        self.end = SETUP_CYCLES + round(requests * gap)

    def plan(self, *, timeout: int) -> Iterator[Planned]:
        """Everything that is sent.

        Parameters
        ----------
        timeout : int
            Cycles that a device has.
        """
        yield from ranges(self.config, timeout=timeout)
        if self.moves:
            yield from matching(self.config, skip=self.moves - 1)
        yield from sorted(
            (*self._rebinding(), *self._dying(timeout)), key=lambda planned: planned.cycle
        )
        for host in range(self.config.upstream):
            yield from self._of_host(host)
        for port in range(self.config.upstream, self.config.ports):
            yield from self._of_device(port)

    def _rebinding(self) -> Iterator[Planned]:
        times = sorted(
            self.random.randrange(SETUP_CYCLES, self.end) for _ in range(2 * self.rebinds)
        )
        for number, cycle in enumerate(times):
            yield _bind(self.config, cycle, 0, 0, bound=number % 2)

    def _dying(self, timeout: int) -> Iterator[Planned]:
        """One port after the other, each dead for a while; others live meanwhile."""
        pause = (self.end - SETUP_CYCLES) // (self.deaths + 1)
        for number in range(self.deaths):
            port = self.random.randrange(self.config.upstream, self.config.ports)
            cycle = SETUP_CYCLES + number * pause + self.random.randrange(pause // 4)
            off = cycle + timeout + self.random.randrange(pause // 4)
            if self.random.random() < 0.5:
                yield _write(self.config, cycle, "link_down", ports=1 << port)
                yield _write(self.config, off, "link_down")
            else:
                # The link moves again before it is revived.
                yield Planned(cycle=cycle, port=port, sent=Frozen(off))
                yield _write(self.config, off + 10, "revive", ports=1 << port)

    def _of_host(self, host: int) -> Iterator[Planned]:
        clock = float(SETUP_CYCLES)
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
            "meta_field": choose.randrange(4),
            "meta_value": choose.randrange(4),
        }
        opcode = self._opcode()
        if isinstance(opcode, ReqOpcode):
            if opcode in _READS:
                values["snoop"] = choose.choice((0, 0, *Snoop))
            return message(Channel.M2S_REQ, opcode=opcode, **values)
        return message(
            Channel.M2S_RWD,
            opcode=opcode,
            poison=choose.random() < 0.1,
            data=choose.getrandbits(DATA_BITS),
            mask=choose.getrandbits(LINE_BYTES),
            **values,
        )

    def _opcode(self) -> ReqOpcode | RwdOpcode:
        choose = self.random
        others = [opcode for opcode in ReqOpcode if self._may(opcode)]
        if self.even:
            return choose.choice([*others, *RwdOpcode])
        kind = choose.random()
        if kind < 0.55:
            return choose.choice(_READS if kind < 0.45 else others)
        return choose.choice(_WRITES)

    def _may(self, opcode: ReqOpcode) -> bool:
        return not self.answered or bool(ANSWERS[Channel.M2S_REQ][opcode])

    def _of_device(self, port: int) -> Iterator[Planned]:
        for tag, cycle in enumerate(self._times(self.snoops)):
            sent = message(
                Channel.S2M_BISNP,
                opcode=self.random.choice(list(BisnpOpcode)),
                # Of a logical device that some host has, or of none.
                bi_id=self.random.randrange(self.config.upstream + 1),
                bi_tag=tag,
                address=4 * tag + self.random.choice((1, 2, 3)),
            )
            yield Planned(cycle=cycle, port=port, sent=sent)

    def _times(self, count: int) -> list[int]:
        return sorted(self.random.randrange(SETUP_CYCLES, self.end) for _ in range(count))
