"""The CXL switch: hosts above, devices below, and the policy engine beside it."""

from amaranth import Cat, Module, Signal
from amaranth.hdl import Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from fanweave.golden.cxl.config import SwitchConfig
from fanweave.golden.isa.cxl_event import Channel, Direction
from fanweave.golden.isa.cxl_switch import COUNTERS, SwitchError
from fanweave.hw.cxl.back_invalidation import BackInvalidation
from fanweave.hw.cxl.credits import CreditReceiver, CreditSender
from fanweave.hw.cxl.crossbar import Crossbar
from fanweave.hw.cxl.device_requests import DeviceAnswers, DeviceRequests
from fanweave.hw.cxl.error_port import ErrorPort
from fanweave.hw.cxl.migrator import Migrator
from fanweave.hw.cxl.payloads import (
    TIME_BITS,
    Decided,
    Moving,
    PolicyEvent,
    PolicyVerdict,
    RegisterWrite,
    message_layout,
    route_layout,
)
from fanweave.hw.cxl.policy_hook import PolicyHook
from fanweave.hw.cxl.registers import ADDED_BITS, SwitchRegisters
from fanweave.hw.cxl.request_entry import RequestEntry
from fanweave.hw.cxl.token_bucket import TokenBucket
from fanweave.hw.reduction import count_ones

__all__ = ["Switch", "channel_name"]

#: Signals of one bit whose number in a cycle a counter adds up.
_Pulses = dict[str, list[Value]]


def channel_name(channel: Channel) -> str:
    """Of a channel's ports: ``req``, ``rwd``, ``birsp``, ``ndr``, ``drs`` or ``bisnp``."""
    return channel.name.split("_")[1].lower()


class Switch(wiring.Component):
    """Message-level switch for CXL.mem.

    Parameters
    ----------
    config : SwitchConfig
        Parameters of the switch.

    Members
    -------
    host{n}_{channel}, device{n}_{channel} : stream of the message
        ``req``, ``rwd`` and ``birsp`` go down, ``ndr``, ``drs`` and ``bisnp`` up.
    host{n}_{channel}_credit, device{n}_{channel}_credit : 1
        Against the stream: the receiver has one more place.
    commands : stream in of `RegisterWrite`
    read_address : In(10); read_data : Out(32)
        A register, combinational.
    events : stream out of `PolicyEvent`; verdicts : stream in of `PolicyVerdict`
    levels : Out, array
        Reads that are open at each device.
    decisions : Out, array of `Decided`; moving : Out(`Moving`); dead : Out, a bit a port
        For observers: what leaves each host's Req and RwD, steps of moves, and dead ports.
    """

    def __init__(self, *, config: SwitchConfig) -> None:
        self.config = config
        members: dict[str, object] = {
            "commands": In(stream.Signature(RegisterWrite)),
            "read_address": In(10),
            "read_data": Out(32),
            "events": Out(stream.Signature(PolicyEvent)),
            "verdicts": In(stream.Signature(PolicyVerdict)),
            "levels": Out(data.ArrayLayout(range(config.slots + 1), config.downstream)),
            "decisions": Out(data.ArrayLayout(Decided, 2 * config.upstream)),
            "moving": Out(Moving),
            "dead": Out(config.ports),
        }
        for side, count, inward in (
            ("host", config.upstream, Direction.M2S),
            ("device", config.downstream, Direction.S2M),
        ):
            for number in range(count):
                for channel in Channel:
                    name = f"{side}{number}_{channel_name(channel)}"
                    comes = channel.direction is inward
                    signature = stream.Signature(message_layout(channel))
                    members[name] = In(signature) if comes else Out(signature)
                    members[f"{name}_credit"] = Out(1) if comes else In(1)
        super().__init__(members)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        self._pulses: _Pulses = {name: [] for name, _ in COUNTERS}
        self._errors: list[tuple[Value, SwitchError, int]] = []
        self._events: list[stream.Interface] = []
        m.submodules.registers = self._registers = SwitchRegisters(config=self.config)
        r = self._registers
        wiring.connect(m, wiring.flipped(self.commands), r.commands)
        m.d.comb += [r.read_address.eq(self.read_address), self.read_data.eq(r.read_data)]
        self._now = Signal(TIME_BITS)
        m.d.sync += self._now.eq(self._now + 1)
        ports = self.config.ports
        self._dead, self._stuck = Signal(ports), Signal(ports)
        dead = Signal(ports)
        m.d.sync += dead.eq((dead | self._stuck) & ~r.revive)
        m.d.comb += [
            self._dead.eq(dead | r.link_down),
            r.link_dead.eq(self._dead),
            self.dead.eq(self._dead),
        ]
        self._stuck_bits: list[list[Value]] = [[] for _ in range(ports)]
        self._crossbars(m)
        self._migration(m)
        self._devices(m)
        self._hosts(m)
        self._hook(m)
        self._account(m)
        return m

    def _crossbars(self, m: Module) -> None:
        config = self.config
        up, down, depth = config.upstream, config.downstream, config.queue
        self._cross: dict[Channel, Crossbar] = {}
        requests = (Channel.M2S_REQ, Channel.M2S_RWD)
        # Behind the hosts comes the migrator, behind the devices the port of errors.
        for channel, shape, sources, targets in (
            *((channel, route_layout(channel), up + 1, down + 1) for channel in requests),
            (Channel.M2S_BIRSP, message_layout(Channel.M2S_BIRSP), up, down),
            (Channel.S2M_NDR, message_layout(Channel.S2M_NDR), down + 1, up + 1),
            (Channel.S2M_DRS, message_layout(Channel.S2M_DRS), down + 1, up + 1),
            (Channel.S2M_BISNP, message_layout(Channel.S2M_BISNP), down, up),
        ):
            crossbar = Crossbar(
                shape=shape,
                sources=sources,
                targets=targets,
                depth=depth,
                drained=down if channel in requests else 0,
            )
            m.submodules[f"{channel_name(channel)}_crossbar"] = crossbar
            self._cross[channel] = crossbar
        m.submodules.errors = self._error_port = errors = ErrorPort(config=config)
        for name, channel in (("req", Channel.M2S_REQ), ("rwd", Channel.M2S_RWD)):
            wiring.connect(m, getattr(self._cross[channel], f"o{down}"), getattr(errors, name))
        for name, channel in (("ndr", Channel.S2M_NDR), ("drs", Channel.S2M_DRS)):
            wiring.connect(m, getattr(errors, name), getattr(self._cross[channel], f"i{down}"))
        self._pulses["errors"].append(errors.answered)

    def _migration(self, m: Module) -> None:
        """The migrator is a source of requests like a host."""
        config, r = self.config, self._registers
        up = config.upstream
        m.submodules.migrator = self._migrator = migrator = Migrator(config=config)
        req, rwd = self._cross[Channel.M2S_REQ], self._cross[Channel.M2S_RWD]
        for crossbar, name in ((req, "req"), (rwd, "rwd")):
            wiring.connect(m, getattr(migrator, name), getattr(crossbar, f"i{up}"))
            m.d.comb += [
                crossbar.mark.eq(migrator.mark),
                crossbar.marked.eq(migrator.hold.host),
            ]
        for name, channel in (("ndr", Channel.S2M_NDR), ("drs", Channel.S2M_DRS)):
            wiring.connect(m, getattr(self._cross[channel], f"o{up}"), getattr(migrator, name))
        self._noted: list[Value] = []
        m.d.comb += [
            migrator.drained.eq(req.drained & rwd.drained),
            migrator.ranges.eq(r.ranges),
            migrator.bindings.eq(r.bindings),
            migrator.forget.eq(r.forget),
            migrator.still.eq(r.still),
            r.pages.eq(migrator.pages),
            r.watch.eq(migrator.watch),
            r.moving_to.eq(migrator.target),
            self.moving.eq(migrator.moving),
        ]
        for counter, pulse in (
            ("dropped_promotions", "dropped"),
            ("moved_pages", "moved"),
            ("moved_lines", "copied"),
            ("failed_moves", "failed"),
        ):
            self._pulses[counter].append(migrator.pulses[pulse])

    def _devices(self, m: Module) -> None:
        config = self.config
        self._dev_load = Signal(data.ArrayLayout(2, config.downstream))
        for number in range(config.downstream):
            requests = self._device_requests(m, number)
            self._device_answers(m, number, requests)
            self._back_invalidation(m, number)
        m.d.comb += self._migrator.noted.eq(Cat(self._noted).any())

    def _device_requests(self, m: Module, number: int) -> dict[str, DeviceRequests]:
        config, r = self.config, self._registers
        port = config.upstream + number
        tables = {}
        for place, channel in enumerate((Channel.M2S_REQ, Channel.M2S_RWD)):
            name = channel_name(channel)
            table = tables[name] = DeviceRequests(config=config, channel=channel)
            m.submodules[f"device{number}_{name}"] = table
            wiring.connect(m, getattr(self._cross[channel], f"o{number}"), table.i)
            wiring.connect(m, table.o, wiring.flipped(getattr(self, f"device{number}_{name}")))
            unanswered = getattr(self._error_port, f"unanswered_{2 * number + place}")
            wiring.connect(m, table.unanswered, unanswered)
            m.d.comb += [
                table.credit.eq(getattr(self, f"device{number}_{name}_credit")),
                table.now.eq(self._now),
                table.timeout.eq(r.timeout),
                table.dead.eq(self._dead[port]),
                table.watch.eq(self._migrator.watch),
                table.note_all.eq(self._migrator.note_all),
                table.note_watched.eq(self._migrator.note_watched),
            ]
            self._noted.append(table.noted)
            self._stuck_bits[port].append(table.stuck)
            self._pulses["requests"].append(table.sent)
            self._pulses["lost"].append(table.lost)
            self._errors += [
                (table.lost, SwitchError.LOST, port),
                (table.overflow, SwitchError.CREDIT_OVERFLOW, port),
            ]
        m.d.comb += [
            r.outstanding[number].eq(tables["req"].level + tables["rwd"].level),
            self.levels[number].eq(tables["req"].level),
        ]
        return tables

    def _device_answers(self, m: Module, number: int, tables: dict[str, DeviceRequests]) -> None:
        config = self.config
        port = config.upstream + number
        for finder, channel in enumerate((Channel.S2M_NDR, Channel.S2M_DRS)):
            name = channel_name(channel)
            answers = DeviceAnswers(config=config, device=number, channel=channel)
            m.submodules[f"device{number}_{name}"] = answers
            wiring.connect(m, wiring.flipped(getattr(self, f"device{number}_{name}")), answers.i)
            wiring.connect(m, answers.o, getattr(self._cross[channel], f"i{number}"))
            m.d.comb += [
                getattr(self, f"device{number}_{name}_credit").eq(answers.credit),
                answers.dead.eq(self._dead[port]),
                answers.now.eq(self._now),
                answers.rules.eq(self._registers.rules),
            ]
            for table in answers.tables:
                for end in ("entry", "waits"):
                    found = getattr(tables[table], f"find_{finder}_{end}")
                    m.d.comb += getattr(answers, f"{table}_{end}").eq(found)
                for end in ("tag", "done"):
                    asked = getattr(answers, f"{table}_{end}")
                    m.d.comb += getattr(tables[table], f"find_{finder}_{end}").eq(asked)
            with m.If(answers.loaded):
                m.d.sync += self._dev_load[number].eq(answers.dev_load)
            self._events.append(answers.events)
            self._pulses["unknown_answers"].append(answers.unknown)
            self._pulses["dropped_events"].append(answers.dropped)
            self._errors.append((answers.unknown, SwitchError.UNKNOWN_ANSWER, port))

    def _back_invalidation(self, m: Module, number: int) -> None:
        config, r = self.config, self._registers
        port = config.upstream + number
        part = BackInvalidation(config=config, device=number)
        m.submodules[f"device{number}_bi"] = part
        wiring.connect(m, wiring.flipped(getattr(self, f"device{number}_bisnp")), part.i)
        wiring.connect(m, part.snoops, getattr(self._cross[Channel.S2M_BISNP], f"i{number}"))
        wiring.connect(m, getattr(self._cross[Channel.M2S_BIRSP], f"o{number}"), part.answers)
        wiring.connect(m, part.o, wiring.flipped(getattr(self, f"device{number}_birsp")))
        m.d.comb += [
            getattr(self, f"device{number}_bisnp_credit").eq(part.credit),
            part.o_credit.eq(getattr(self, f"device{number}_birsp_credit")),
            part.bindings.eq(r.bindings),
            part.rules.eq(r.rules),
            part.dead.eq(self._dead[port]),
            part.now.eq(self._now),
            part.timeout.eq(r.timeout),
        ]
        self._events.append(part.events)
        self._stuck_bits[port].append(part.stuck)
        self._pulses["unknown_answers"].append(part.unknown)
        self._pulses["dropped_events"].append(part.dropped)
        self._errors += [
            (part.unknown, SwitchError.UNKNOWN_ANSWER, port),
            (part.overflow, SwitchError.CREDIT_OVERFLOW, port),
        ]

    def _hosts(self, m: Module) -> None:
        self._entries: list[RequestEntry] = []
        for number in range(self.config.upstream):
            self._requests(m, number)
            self._snoop_answers(m, number)
            for channel in (Channel.S2M_NDR, Channel.S2M_DRS, Channel.S2M_BISNP):
                self._to_host(m, number, channel)

    def _requests(self, m: Module, number: int) -> None:
        config, r = self.config, self._registers
        bucket = TokenBucket()
        m.submodules[f"host{number}_tokens"] = bucket
        m.d.comb += [
            bucket.rate.eq(r.rates[number]),
            bucket.limit.eq(r.limits[number]),
            bucket.delay_limit.eq(r.delay_limit),
        ]
        for place, channel in enumerate((Channel.M2S_REQ, Channel.M2S_RWD)):
            name = channel_name(channel)
            entry = RequestEntry(config=config, host=number, channel=channel)
            m.submodules[f"host{number}_{name}"] = entry
            wiring.connect(m, wiring.flipped(getattr(self, f"host{number}_{name}")), entry.i)
            wiring.connect(m, entry.o, getattr(self._cross[channel], f"i{number}"))
            m.d.comb += [
                getattr(self, f"host{number}_{name}_credit").eq(entry.credit),
                entry.ranges.eq(r.ranges[number]),
                entry.bindings.eq(r.bindings[number]),
                entry.pages.eq(self._migrator.pages[number]),
                entry.hold.eq(self._migrator.hold),
                entry.rules.eq(r.rules),
                entry.wait.eq(r.wait),
                entry.dead.eq(self._dead[config.upstream :]),
                entry.dev_load.eq(self._dev_load),
                getattr(bucket, f"wants_{place}").eq(entry.wants_tokens),
                getattr(bucket, f"tokens_{place}").eq(entry.tokens),
                entry.granted.eq(getattr(bucket, f"granted_{place}")),
            ]
            self._entries.append(entry)
            for counter, pulse in (
                ("unmapped", "unmapped"),
                ("denied", "denied"),
                ("lost", "dead"),
                ("bad_opcodes", "bad_opcode"),
                ("dropped_events", "dropped"),
                ("late_verdicts", "late"),
                ("default_verdicts", "defaulted"),
                ("refused_verdicts", "refused"),
                ("redirected", "redirected"),
                ("mirrored", "mirrored"),
                ("held_cycles", "held"),
            ):
                self._pulses[counter].append(entry.pulses[pulse])
            for cause, pulse in (
                (SwitchError.UNMAPPED, "unmapped"),
                (SwitchError.DENIED, "denied"),
                (SwitchError.DEAD, "dead"),
                (SwitchError.BAD_OPCODE, "bad_opcode"),
            ):
                self._errors.append((entry.pulses[pulse], cause, number))

    def _snoop_answers(self, m: Module, number: int) -> None:
        """Answers to back-invalidations go to the port that they name."""
        config = self.config
        layout = message_layout(Channel.M2S_BIRSP)
        receiver = CreditReceiver(shape=layout, credits=config.credits)
        m.submodules[f"host{number}_birsp"] = receiver
        wiring.connect(m, wiring.flipped(getattr(self, f"host{number}_birsp")), receiver.i)
        m.d.comb += getattr(self, f"host{number}_birsp_credit").eq(receiver.credit)
        into = getattr(self._cross[Channel.M2S_BIRSP], f"i{number}")
        came = receiver.o
        port = came.payload.bi_id
        known = (port >= config.upstream) & (port < config.ports)
        wrong = Signal(name=f"host{number}_wrong_port")
        m.d.comb += [
            into.valid.eq(came.valid & known),
            into.payload.target.eq(port - config.upstream),
            into.payload.payload.eq(came.payload),
            came.ready.eq(into.ready | ~known),
            wrong.eq(came.valid & ~known),
        ]
        self._pulses["unknown_answers"].append(wrong)
        self._errors.append((wrong, SwitchError.UNKNOWN_ANSWER, number))

    def _to_host(self, m: Module, number: int, channel: Channel) -> None:
        name = f"host{number}_{channel_name(channel)}"
        sender = CreditSender(shape=message_layout(channel), credits=self.config.credits)
        m.submodules[name] = sender
        came = getattr(self._cross[channel], f"o{number}")
        wiring.connect(m, sender.o, wiring.flipped(getattr(self, name)))
        m.d.comb += [
            sender.i.valid.eq(came.valid),
            sender.i.payload.eq(came.payload.payload),
            came.ready.eq(sender.i.ready),
            sender.credit.eq(getattr(self, f"{name}_credit")),
            sender.down.eq(self._dead[number]),
            sender.timeout.eq(self._registers.timeout),
        ]
        self._stuck_bits[number].append(sender.stuck)
        self._errors.append((sender.overflow, SwitchError.CREDIT_OVERFLOW, number))
        if channel is not Channel.S2M_BISNP:
            self._pulses["answers"].append(sender.i.valid & sender.i.ready)

    def _hook(self, m: Module) -> None:
        config, r = self.config, self._registers
        sources = [entry.events for entry in self._entries] + self._events
        m.submodules.hook = hook = PolicyHook(config=config, sources=len(sources))
        for number, source in enumerate(sources):
            wiring.connect(m, source, hook.sources[number])
        wiring.connect(m, hook.events, wiring.flipped(self.events))
        wiring.connect(m, wiring.flipped(self.verdicts), hook.verdicts)
        wiring.connect(m, hook.promotions, self._migrator.promotions)
        for host in range(config.upstream):
            for port in range(config.upstream, config.ports):
                bound = Cat(
                    r.bindings[host][n].bound & (r.bindings[host][n].port == port)
                    for n in range(config.bindings)
                )
                m.d.comb += hook.allowed[host][port].eq(bound.any())
        for number, entry in enumerate(self._entries):
            m.d.comb += [
                entry.verdict_valid.eq(hook.verdict_valid[number]),
                entry.verdict_sequence.eq(hook.verdict_sequence),
                entry.verdict.eq(hook.verdict),
                entry.verdict_legal.eq(hook.verdict_legal),
                self.decisions[number].eq(entry.decided),
            ]
        for counter, pulse in (
            ("events", hook.sent),
            ("late_verdicts", hook.late),
            ("refused_verdicts", hook.refused),
            ("promotions", hook.promoted),
            ("dropped_promotions", hook.dropped),
        ):
            self._pulses[counter].append(pulse)

    def _account(self, m: Module) -> None:
        """Counters a cycle later, and the first error."""
        r = self._registers
        for name, pulses in self._pulses.items():
            added = Signal(ADDED_BITS, name=f"added_{name}")
            m.d.sync += added.eq(count_ones(Cat(pulses)))
            m.d.comb += r.add[name].eq(added)
        for happened, cause, port in reversed(self._errors):
            with m.If(happened):
                m.d.comb += [r.cause.eq(cause), r.cause_port.eq(port)]
        m.d.comb += self._stuck.eq(Cat(Cat(bits).any() for bits in self._stuck_bits))
