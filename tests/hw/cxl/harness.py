"""Hosts, devices and an engine around the switch in Amaranth's simulator, checked by the model.

Everything happens in one loop, a turn a clock cycle: the order of what the switch takes in a
cycle is known, so the model is told exactly what the RTL sees.
"""

import random
from collections import defaultdict, deque

from amaranth.hdl import Value
from amaranth.sim import Simulator

from fanweave.golden.cxl.messages import Message, message
from fanweave.golden.cxl.tables import Device
from fanweave.golden.isa.cxl_event import (
    Channel,
    Direction,
    NdrOpcode,
    ReqOpcode,
    RwdOpcode,
)
from fanweave.golden.isa.cxl_messages import answers_of
from fanweave.golden.isa.cxl_switch import MoveStep
from fanweave.hw.cxl.switch import Switch, channel_name
from fanweave.sim.benches.cxl.checker import TrafficChecker
from fanweave.sim.benches.cxl.records import Dead, Left, Moved, Record, Wrote

REQ, RWD, BIRSP = Channel.M2S_REQ, Channel.M2S_RWD, Channel.M2S_BIRSP
NDR, DRS, BISNP = Channel.S2M_NDR, Channel.S2M_DRS, Channel.S2M_BISNP


class Harness:
    """A switch in its surroundings.

    Subclasses and tests fill ``outbox`` (messages to send, by side, number and channel) and
    ``commands``; hooks are called for what happens.
    """

    def __init__(self, config, *, seed=1, stall=0.0, device_delay=(1, 10)):
        self.config = config
        self.random = random.Random(seed)
        self.stall = stall
        self.device_delay = device_delay
        self.dut = Switch(config=config)
        self.checker = TrafficChecker(config)
        self.requests = self.checker.requests
        self.count = self.checker.count
        self.commands = deque()
        self.outbox = defaultdict(deque)
        self.credit = {}
        self.cycle = 0
        self.answers_due = defaultdict(list)
        self.words = {}
        self.by_name = {entry.name: entry for entry in config.registers}

    # What the outside does.

    def register(self, name, **fields):
        self.commands.append((self.by_name[name].address, self.by_name[name].pack(**fields)))

    def send(self, host, sent):
        self.outbox["host", host, sent.channel].append(sent)

    def new_request(self, host, lines, *, tags=64, reads=0.5):
        """A random request with a tag that the host does not use."""
        tag = self.random.randrange(tags)
        if tag in self.requests[host]:
            return
        line = self.random.choice(lines)
        values = {"tag": tag, "address": line, "traffic_class": self.random.randrange(4)}
        if self.random.random() < reads:
            opcode = self.random.choice([ReqOpcode.MEM_RD, ReqOpcode.MEM_RD, ReqOpcode.MEM_INV])
            sent = message(REQ, opcode=opcode, snoop=self.random.choice([0, 0, 3]), **values)
        else:
            bits = self.random.getrandbits(512)
            sent = message(
                RWD,
                opcode=RwdOpcode.MEM_WR,
                data=bits,
                poison=self.random.random() < 0.1,
                **values,
            )
        self.checker.opens(host, sent)
        self.send(host, sent)

    # What the switch does.

    def on_request(self, host, came):
        """The switch took a request."""
        self.checker.request(host, came)

    def at_device(self, port, came):
        """A device got a request: it answers after a while."""
        self.checker.at_device(port, came)
        low, high = self.device_delay
        due = self.cycle + self.random.randint(low, high)
        kinds = answers_of(came.channel, came["opcode"], came["snoop"])
        for channel in sorted(kinds):
            values = {"tag": came["tag"], "ld_id": came["ld_id"], "dev_load": came["address"] & 3}
            if channel is DRS:
                values |= {
                    "data": self.random.getrandbits(512),
                    "poison": self.random.random() < 0.1,
                }
            else:
                values |= {"opcode": NdrOpcode.CMP}
            self.answers_due[due].append((port, message(channel, **values)))

    def on_answer(self, port, came):
        """The switch took a device's answer."""
        self.checker.answer(port, came)

    def at_host(self, host, came):
        """A host got an answer."""
        self.checker.at_host(host, came)

    # The clock.

    def _ports(self):
        for side, count, inward in (
            ("host", self.config.upstream, Direction.M2S),
            ("device", self.config.downstream, Direction.S2M),
        ):
            for number in range(count):
                for channel in Channel:
                    name = f"{side}{number}_{channel_name(channel)}"
                    yield (
                        (side, number, channel),
                        getattr(self.dut, name),
                        getattr(self.dut, f"{name}_credit"),
                        channel.direction is inward,
                    )

    def turn(self):
        """Before a cycle; tests override it to make traffic."""

    def done(self):
        return False

    def run(self, cycles):
        """Run until `done`, or as many cycles; returns those that passed."""
        simulator = Simulator(self.dut)
        simulator.add_clock(1e-9)

        async def loop(ctx):
            await self._loop(ctx, cycles)

        simulator.add_testbench(loop)
        simulator.run()
        return self.cycle

    def _set(self, ctx, signal, value):
        if self.words.get(id(signal)) != value:
            self.words[id(signal)] = value
            ctx.set(signal, value)

    async def _loop(self, ctx, cycles):
        ports = list(self._ports())
        inward = [(key, s, credit) for key, s, credit, comes in ports if comes]
        outward = [(key, s, credit) for key, s, credit, comes in ports if not comes]
        payloads = {key: Value.cast(s.payload) for key, s, *_ in ports}
        for key, *_ in inward:
            self.credit[key] = self.config.credits
        returns = dict.fromkeys((key for key, *_ in outward), 0)
        sampled = []
        for _, s, credit in inward:
            sampled += [s.ready, credit]
        for key, s, _ in outward:
            sampled += [s.valid, payloads[key]]
        decisions, moving = self.dut.decisions, self.dut.moving
        sampled += [Value.cast(decisions), moving, self.dut.dead]
        sampled += self.watched(self.dut)
        while self.cycle < cycles and not self.done():
            self.turn()
            for port, answer in self.answers_due.pop(self.cycle, ()):
                self.outbox["device", port - self.config.upstream, answer.channel].append(answer)
            command = self.commands.popleft() if self.commands else None
            self._set(ctx, self.dut.commands.valid, int(command is not None))
            if command:
                ctx.set(self.dut.commands.payload.address, command[0])
                ctx.set(self.dut.commands.payload.data, command[1])
            shown = self._drive(ctx, inward, payloads)
            ready = {}
            for key, s, credit in outward:
                ready[key] = self.random.random() >= self.stall
                self._set(ctx, s.ready, int(ready[key]))
                give = returns[key] and self.random.random() >= self.stall
                self._set(ctx, credit, int(bool(give)))
                returns[key] -= bool(give)
            self.drive(ctx)
            _, _, *values = await ctx.tick().sample(*sampled)
            place = 2 * (len(inward) + len(outward))
            self._inside(*values[place : place + 3])
            if command:
                self.see(Wrote(*command))
            self._taken(inward, shown, values)
            place = 2 * len(inward)
            for key, *_ in outward:
                valid, word = values[place], values[place + 1]
                place += 2
                if valid and ready[key]:
                    returns[key] += 1
                    self._gave(key, Message.unpack(key[2], word))
            self.watch(values[place + 3 :])
            self.cycle += 1

    def see(self, what):
        self.checker.see(Record(self.cycle, what))

    def _inside(self, decisions, moving, dead):
        """What happens in the switch, before the rest of the cycle."""
        dead = {port for port in range(self.config.ports) if dead >> port & 1}
        if dead != self.checker.dead:
            self.see(Dead(sum(1 << port for port in dead)))
        for place in range(2 * self.config.upstream):
            valid, judged = decisions >> 2 * place & 1, decisions >> 2 * place + 1 & 1
            if valid:
                self.see(Left(place // 2, RWD if place % 2 else REQ, bool(judged)))
        if moving.step:
            self.see(
                Moved(
                    MoveStep(moving.step),
                    moving.host,
                    moving.entry,
                    moving.page,
                    moving.group,
                    Device(moving.port, moving.ld_id),
                )
            )

    def _drive(self, ctx, inward, payloads):
        shown = {}
        for key, s, _ in inward:
            queue = self.outbox[key]
            held = self.words.get(("held", key), False)
            go = queue and self.credit[key] and (held or self.random.random() >= self.stall)
            self._set(ctx, s.valid, int(bool(go)))
            if go:
                if not held:
                    ctx.set(payloads[key], queue[0].pack())
                shown[key] = queue[0]
            self.words["held", key] = bool(go)
        return shown

    def _taken(self, inward, shown, values):
        for place, (key, *_) in enumerate(inward):
            ready, credit = values[2 * place : 2 * place + 2]
            self.credit[key] += credit
            if key in shown:
                assert ready, f"{key}: a sender that keeps to its credits waits"
                self.credit[key] -= 1
                self.outbox[key].popleft()
                self.words["held", key] = False
                side, number, channel = key
                self.count[side, channel] += 1
                port = number if side == "host" else self.config.upstream + number
                if channel in (REQ, RWD):
                    self.on_request(number, shown[key])
                elif channel in (NDR, DRS):
                    self.on_answer(port, shown[key])
                else:
                    self.checker.takes(port, shown[key])

    def _gave(self, key, came):
        side, number, channel = key
        if side == "host":
            self.at_host(number, came)
        elif channel is BIRSP:
            self.at_snooper(self.config.upstream + number, came)
        else:
            self.at_device(self.config.upstream + number, came)

    def at_snooper(self, port, came):
        """A device got an answer to its back-invalidation."""
        self.checker.at_snooper(port, came)

    # For the engine.

    def watched(self, dut):
        """More signals to sample."""
        return []

    def drive(self, ctx):
        """Set more inputs."""

    def watch(self, values):
        """See what was sampled."""
