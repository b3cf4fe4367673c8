"""Registers of the switch: tables, errors and counters."""

from amaranth import Cat, Module, Signal
from amaranth.hdl import Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from fanweave.golden.cxl.config import SwitchConfig
from fanweave.golden.isa.cxl_switch import (
    COUNTERS,
    MAX_WAYS,
    RESET_DELAY_LIMIT,
    RESET_TIMEOUT,
    RESET_WAIT,
    SwitchError,
)
from fanweave.golden.isa.registers import Register
from fanweave.hw.cxl.locate import groups_of
from fanweave.hw.cxl.payloads import (
    PORT_BITS,
    Binding,
    RangeEntry,
    RegisterWrite,
    Rule,
    Watch,
    moved_page_layout,
)
from fanweave.hw.reduction import or_tree

__all__ = ["ADDED_BITS", "SwitchRegisters"]

#: Width of what a counter grows by in a cycle.
ADDED_BITS = 6
#: Bits of a page in the first of its two registers.
_LOW_BITS = 20
_RESET = {
    ("policy", "wait"): RESET_WAIT,
    ("timeout", "cycles"): RESET_TIMEOUT,
    ("delay_limit", "cycles"): RESET_DELAY_LIMIT,
}


class SwitchRegisters(wiring.Component):
    """Takes register writes, one a cycle, and gives the tables out.

    A binding that would give a logical device to a second virtual port, or names a port that is
    no device's, is refused: the register keeps what it had.

    Parameters
    ----------
    config : SwitchConfig
        Parameters of the switch.

    Members
    -------
    commands : stream in of `RegisterWrite`
    read_address : In(10); read_data : Out(32)
        Combinational.
    ranges, bindings, rules : Out
        Tables; the first two of each host.
    wait, still, timeout, delay_limit, link_down, revive, rates, limits : Out
    link_dead : In
        A bit a port.
    outstanding : In
        Of each device.
    pages : In; forget : Out, a bit an entry
        Tables of moved pages, and entries that are written to.
    watch, moving_to : In
        The page that moves, and where to.
    add : In
        What each counter grows by.
    cause, cause_port : In
        An error of this cycle; 0 for none.
    """

    def __init__(self, *, config: SwitchConfig) -> None:
        self.config = config
        hosts = config.upstream
        row = data.ArrayLayout(moved_page_layout(groups_of(config)), config.moves)
        add = data.StructLayout({name: ADDED_BITS for name, _ in COUNTERS})
        super().__init__(
            {
                "commands": In(stream.Signature(RegisterWrite)),
                "read_address": In(10),
                "read_data": Out(32),
                "ranges": Out(
                    data.ArrayLayout(data.ArrayLayout(RangeEntry, config.decoders), hosts)
                ),
                "bindings": Out(
                    data.ArrayLayout(data.ArrayLayout(Binding, config.bindings), hosts)
                ),
                "rules": Out(data.ArrayLayout(Rule, config.rules)),
                "wait": Out(5),
                "still": Out(1),
                "timeout": Out(24),
                "delay_limit": Out(16),
                "link_down": Out(config.ports),
                "revive": Out(config.ports),
                "rates": Out(data.ArrayLayout(16, hosts)),
                "limits": Out(data.ArrayLayout(16, hosts)),
                "link_dead": In(config.ports),
                "outstanding": In(data.ArrayLayout(16, config.downstream)),
                "pages": In(data.ArrayLayout(row, hosts)),
                "forget": Out(data.ArrayLayout(config.moves, hosts)),
                "watch": In(Watch),
                "moving_to": In(Binding),
                "add": In(add),
                "cause": In(4),
                "cause_port": In(PORT_BITS),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        command = self.commands.payload
        self._stored = {
            (entry.name, field.name): Signal(
                field.width,
                name=f"{entry.name}_{field.name}",
                init=_RESET.get((entry.name, field.name), 0),
            )
            for entry in self.config.registers
            if self._is_stored(entry)
            for field in entry.fields
        }
        refused = self._refuse(m)
        m.d.comb += self.commands.ready.eq(1)
        for entry in self.config.registers:
            if not self._is_stored(entry):
                continue
            with m.If(self.commands.valid & ~refused & (command.address == entry.address)):
                for field in entry.fields:
                    m.d.sync += self._stored[entry.name, field.name].eq(command.data[field.low :])
        self._tables(m)
        live = self._live(m, refused)
        with m.Switch(self.read_address):
            for entry in self.config.registers:
                with m.Case(entry.address):
                    for field in entry.fields:
                        value = (self._stored | live).get((entry.name, field.name))
                        if value is not None:
                            place = self.read_data[field.low : field.low + field.width]
                            m.d.comb += place.eq(value)
        return m

    @staticmethod
    def _is_stored(entry: Register) -> bool:
        """Whether it keeps what is written; others that can be written only act."""
        return entry.access == "rw" and entry.name != "error" and not entry.name.startswith("move_")

    def _at(self, name: str) -> int:
        return next(entry.address for entry in self.config.registers if entry.name == name)

    def _writes(self, name: str) -> Value:
        return self.commands.valid & (self.commands.payload.address == self._at(name))

    def _refuse(self, m: Module) -> Signal:
        """Whether the write is a binding that may not be."""
        config, word = self.config, self.commands.payload.data
        is_binding, taken, refused = Signal(), Signal(), Signal()
        bound, port, ld_id = word[0], word[4 : 4 + PORT_BITS], word[12:16]
        others = []
        for host in range(config.upstream):
            for place in range(config.bindings):
                mine = self._writes(f"binding_{host}_{place}")
                entry = self.bindings[host][place]
                same = entry.bound & (entry.port == port) & (entry.ld_id == ld_id)
                others.append(same & ~mine)
                with m.If(mine):
                    m.d.comb += is_binding.eq(1)
        wrong = (port < config.upstream) | (port >= config.ports)
        m.d.comb += [
            taken.eq(or_tree(others)),
            refused.eq(is_binding & bound & (taken | wrong)),
        ]
        return refused

    def _tables(self, m: Module) -> None:
        config, stored = self.config, self._stored
        for host in range(config.upstream):
            m.d.comb += [
                self.rates[host].eq(stored[f"tokens_{host}", "rate"]),
                self.limits[host].eq(stored[f"tokens_{host}", "limit"]),
            ]
            for number in range(config.bindings):
                binding = self.bindings[host][number]
                for field in ("bound", "port", "ld_id"):
                    m.d.comb += binding[field].eq(stored[f"binding_{host}_{number}", field])
            for number in range(config.decoders):
                name, entry = f"decoder_{host}_{number}", self.ranges[host][number]
                for field in ("enable", "ways", "granularity"):
                    m.d.comb += entry[field].eq(stored[f"{name}_control", field])
                self._pages(m, entry, name)
                for way in range(MAX_WAYS):
                    m.d.comb += entry.targets[way].eq(stored[f"{name}_targets", f"way_{way}"])
        for number in range(config.rules):
            name, rule = f"rule_{number}", self.rules[number]
            for field in ("enable", "inline", "deny", "program", "skip"):
                m.d.comb += rule[field].eq(stored[f"{name}_control", field])
            for field in ("ports", "channels"):
                m.d.comb += rule[field].eq(stored[f"{name}_match", field])
            m.d.comb += rule.opcodes.eq(stored[f"{name}_opcodes", "mask"])
            self._pages(m, rule, name)
        m.d.comb += [
            self.wait.eq(stored["policy", "wait"]),
            self.still.eq(stored["policy", "still"]),
            self.timeout.eq(stored["timeout", "cycles"]),
            self.delay_limit.eq(stored["delay_limit", "cycles"]),
            self.link_down.eq(stored["link_down", "ports"]),
        ]
        with m.If(self._writes("revive")):
            m.d.comb += self.revive.eq(self.commands.payload.data)

    def _pages(self, m: Module, entry: data.View, name: str) -> None:
        for end in ("first", "last"):
            low, high = (self._stored[f"{name}_{end}_{half}", "page"] for half in ("low", "high"))
            m.d.comb += entry[end].eq(Cat(low, high))

    def _live(self, m: Module, refused: Signal) -> dict[tuple[str, str], Value]:
        """Errors and counters."""
        cause, port = Signal(4), Signal(PORT_BITS)
        with m.If(self._writes("error")):
            m.d.sync += [cause.eq(0), port.eq(0)]
        with m.Elif(cause == SwitchError.NONE):
            with m.If(refused):
                m.d.sync += cause.eq(SwitchError.BIND_REFUSED)
            with m.Elif(self.cause != SwitchError.NONE):
                m.d.sync += [cause.eq(self.cause), port.eq(self.cause_port)]
        live: dict[tuple[str, str], Value] = {
            ("error", "cause"): cause,
            ("error", "port"): port,
            ("link_dead", "ports"): self.link_dead,
        }
        for name, _ in COUNTERS:
            count = Signal(32, name=f"counter_{name}")
            with m.If(self._writes("clear_counters")):
                m.d.sync += count.eq(0)
            with m.Else():
                m.d.sync += count.eq(count + self.add[name])
            live[f"counter_{name}", "count"] = count
        live |= self._moves(m)
        for number in range(self.config.downstream):
            live[f"outstanding_{number}", "count"] = self.outstanding[number]
        return live

    def _moves(self, m: Module) -> dict[tuple[str, str], Value]:
        """Pages that moved, and the one that moves."""
        live: dict[tuple[str, str], Value] = {
            ("moving", "busy"): self.watch.valid,
            ("moving", "host"): self.watch.host,
            ("moving", "port"): self.moving_to.port,
            ("moving_low", "page"): self.watch.page[:_LOW_BITS],
            ("moving_high", "page"): self.watch.page[_LOW_BITS:],
        }
        for host in range(self.config.upstream):
            for number in range(self.config.moves):
                name, page = f"move_{host}_{number}", self.pages[host][number]
                m.d.comb += self.forget[host][number].eq(self._writes(name))
                live |= {
                    (name, "valid"): page.valid,
                    (name, "whole"): page.there.all(),
                    (name, "port"): page.new.port,
                    (name, "ld_id"): page.new.ld_id,
                    (f"{name}_low", "page"): page.page[:_LOW_BITS],
                    (f"{name}_high", "page"): page.page[_LOW_BITS:],
                }
        return live
