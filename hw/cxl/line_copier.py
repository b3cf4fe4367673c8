"""Copies lines of a page between devices: reads where they are, writes where they go."""

from amaranth import Cat, Module, Mux, Signal
from amaranth.hdl import Const, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from fanweave.golden.cxl.config import SwitchConfig
from fanweave.golden.cxl.tables import PAGE_LINES
from fanweave.golden.isa.cxl_event import Channel, DrsOpcode, ReqOpcode, RwdOpcode
from fanweave.golden.isa.cxl_messages import ADDRESS_BITS
from fanweave.hw.cxl.decode import AddressDecoder
from fanweave.hw.cxl.locate import LineLocator, groups_of, same_device
from fanweave.hw.cxl.payloads import (
    Binding,
    RangeEntry,
    copy_fields,
    message_layout,
    moved_page_layout,
    route_layout,
)

__all__ = ["LineCopier"]

_COPIED = ("meta_field", "meta_value", "poison", "data")


class LineCopier(wiring.Component):
    """One group of lines at a time, all of its reads on their way at once.

    Answers always find their place, so they wait for nothing here.

    Parameters
    ----------
    config : SwitchConfig
        Parameters of the switch.

    Members
    -------
    scan, copy : In(1); first : In
        Looks where the lines of a page are, or copies a group of them; from which address on.
    target : In(Binding)
        Where to.
    ranges, bindings, pages : In
        The host's tables.
    req, rwd : streams out of a struct of ``target`` and ``payload``
    ndr, drs : streams in of a struct of ``source`` and ``payload``
    done : Out(1)
        Everything is answered; until the next start.
    failed : Out(1)
        A line was not copied: nothing is bound where it is or goes, or a device did not answer.
    apart, elsewhere : Out(1)
        Some line was not at the target, or is not by its ranges; since the last start.
    copied : Out(1)
        A line was written.
    """

    def __init__(self, *, config: SwitchConfig) -> None:
        self.config = config
        self.lines = config.move_lines
        page = moved_page_layout(groups_of(config))
        members: dict[str, object] = {}
        for name, channel in (("req", Channel.M2S_REQ), ("rwd", Channel.M2S_RWD)):
            outward = {"target": range(config.downstream + 1), "payload": route_layout(channel)}
            members[name] = Out(stream.Signature(data.StructLayout(outward)))
        for name, channel in (("ndr", Channel.S2M_NDR), ("drs", Channel.S2M_DRS)):
            inward = {"source": range(config.downstream + 1), "payload": message_layout(channel)}
            members[name] = In(stream.Signature(data.StructLayout(inward)))
        super().__init__(
            {
                "scan": In(1),
                "copy": In(1),
                "first": In(ADDRESS_BITS),
                "target": In(Binding),
                "ranges": In(data.ArrayLayout(RangeEntry, config.decoders)),
                "bindings": In(data.ArrayLayout(Binding, config.bindings)),
                "pages": In(data.ArrayLayout(page, config.moves)),
                **members,
                **{name: Out(1) for name in ("done", "failed", "apart", "elsewhere", "copied")},
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        self._starts = self.scan | self.copy
        self._first = Signal(ADDRESS_BITS)
        self._copying, self._target = Signal(), Signal(Binding)
        #: By line: a read is on its way or was; it is answered; so for writes; nothing to copy.
        self._asked, self._read = Signal(self.lines), Signal(self.lines)
        self._wrote, self._written = Signal(self.lines), Signal(self.lines)
        self._stays = Signal(self.lines)
        self._fails: list[Value] = []
        walks = self._walk(m)
        writes = self._write(m)
        open_lines = (self._asked & ~self._read) | (self._wrote & ~self._written)
        m.d.comb += self.done.eq(~walks & ~writes & ~open_lines.any())
        with m.If(self._starts):
            m.d.sync += [
                self._first.eq(self.first),
                self._copying.eq(self.copy),
                self._target.eq(self.target),
                self.failed.eq(0),
                *(
                    bits.eq(0)
                    for bits in (self._asked, self._read, self._wrote, self._written, self._stays)
                ),
            ]
        with m.Elif(Cat(self._fails).any()):
            m.d.sync += self.failed.eq(1)
        return m

    def _walk(self, m: Module) -> Value:
        """Looks at a line a cycle, and asks for it if it is to be copied."""
        config = self.config
        left, line = Signal(range(PAGE_LINES + 1)), Signal(ADDRESS_BITS)
        m.submodules.decoder = decoder = AddressDecoder(
            ranges=config.decoders, bindings=config.bindings
        )
        m.submodules.locator = locator = LineLocator(config=config)
        m.d.comb += [
            decoder.address.eq(line),
            decoder.ranges.eq(self.ranges),
            decoder.bindings.eq(self.bindings),
            locator.address.eq(line),
            locator.decoded.eq(decoder.target),
            locator.bindings.eq(self.bindings),
            locator.pages.eq(self.pages),
        ]
        place, out, number = locator.target, self.req, line[: self._number_bits()]
        steps, here, wants = Signal(), Signal(), Signal()
        m.d.comb += [
            steps.eq((left != 0) & ~self.failed & (~self._copying | ~out.valid | out.ready)),
            here.eq(place.bound & same_device(place, self._target)),
            wants.eq(steps & self._copying & place.bound & ~here),
        ]
        self._fails.append(steps & ~place.bound)
        with m.If(self._starts):
            m.d.sync += [line.eq(self.first), left.eq(Mux(self.scan, PAGE_LINES, self.lines))]
            m.d.sync += [self.apart.eq(0), self.elsewhere.eq(0)]
        with m.Elif(self.failed):
            m.d.sync += left.eq(0)
        with m.Elif(steps):
            m.d.sync += [line.eq(line + 1), left.eq(left - 1)]
            home = decoder.target.bound & same_device(decoder.target, self._target)
            m.d.sync += [
                self.apart.eq(self.apart | ~here),
                self.elsewhere.eq(self.elsewhere | ~home),
            ]
        with m.If(out.ready):
            m.d.sync += out.valid.eq(0)
        with m.If(wants):
            message = out.payload.payload.message
            m.d.sync += [
                out.valid.eq(1),
                out.payload.target.eq(place.port - config.upstream),
                out.payload.payload.ld_id.eq(place.ld_id),
                message.opcode.eq(ReqOpcode.MEM_RD),
                message.address.eq(line),
                message.tag.eq(number),
                self._asked.bit_select(number, 1).eq(1),
            ]
        with m.If(steps & here & ~self._starts):
            m.d.sync += self._stays.bit_select(number, 1).eq(1)
        return left != 0

    def _number_bits(self) -> int:
        return self.lines.bit_length() - 1

    def _write(self, m: Module) -> Value:
        """Keeps what was read, and writes it line by line, in their order."""
        kept_layout = data.StructLayout(
            {name: dict(message_layout(Channel.S2M_DRS))[name].shape for name in _COPIED}
        )
        m.submodules.kept = kept = Memory(shape=kept_layout, depth=self.lines, init=[])
        into, read = kept.write_port(), kept.read_port(domain="comb")
        came = self.drs.payload
        number = came.payload.tag[: self._number_bits()]
        lost = Const(self.config.downstream)
        m.d.comb += [
            self.drs.ready.eq(1),
            self.ndr.ready.eq(1),
            into.addr.eq(number),
            into.en.eq(self.drs.valid),
        ]
        copy_fields(m, into.data, came.payload)
        written = self.ndr.payload
        self._fails += [
            self.drs.valid & ((came.source == lost) | (came.payload.opcode != DrsOpcode.MEM_DATA)),
            self.ndr.valid & (written.source == lost),
        ]
        with m.If(self.drs.valid):
            m.d.sync += self._read.bit_select(number, 1).eq(1)
        with m.If(self.ndr.valid):
            place = written.payload.tag[: self._number_bits()]
            m.d.sync += self._written.bit_select(place, 1).eq(1)
        m.d.comb += self.copied.eq(self.ndr.valid & (written.source != lost))
        return self._send(m, read)

    def _send(self, m: Module, read: data.View) -> Value:
        out, at = self.rwd, Signal(range(self.lines + 1))
        number = at[: self._number_bits()]
        owned = Cat(
            binding.bound & same_device(binding, self._target)
            for binding in (self.bindings[n] for n in range(self.config.bindings))
        ).any()
        waits, skips, goes = Signal(), Signal(), Signal()
        m.d.comb += [
            read.addr.eq(number),
            waits.eq(self._copying & (at != self.lines) & ~self.failed),
            skips.eq(waits & self._stays.bit_select(number, 1)),
            goes.eq(waits & self._read.bit_select(number, 1) & (~out.valid | out.ready)),
        ]
        self._fails.append(goes & ~owned)
        with m.If(self._starts):
            m.d.sync += at.eq(0)
        with m.Elif(skips | (goes & owned)):
            m.d.sync += at.eq(at + 1)
        with m.If(out.ready):
            m.d.sync += out.valid.eq(0)
        with m.If(goes & owned):
            message = out.payload.payload.message
            m.d.sync += [
                out.valid.eq(1),
                out.payload.target.eq(self._target.port - self.config.upstream),
                out.payload.payload.ld_id.eq(self._target.ld_id),
                message.opcode.eq(RwdOpcode.MEM_WR),
                message.address.eq(self._first + at),
                message.tag.eq(number),
                *(message[name].eq(read.data[name]) for name in _COPIED),
                self._wrote.bit_select(number, 1).eq(1),
            ]
        return waits
