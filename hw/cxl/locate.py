"""Where a line of a host is: where its ranges say, or where its page was moved."""

from amaranth import Cat, Module, Mux, Signal
from amaranth.hdl import Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from fanweave.golden.cxl.config import SwitchConfig
from fanweave.golden.cxl.tables import PAGE_LINES
from fanweave.golden.isa.cxl_messages import ADDRESS_BITS
from fanweave.hw.cxl.payloads import PAGE_BITS, PORT_BITS, Binding, moved_page_layout

__all__ = ["LineLocator", "group_of", "groups_of", "own_device", "page_of", "same_device"]


def groups_of(config: SwitchConfig) -> int:
    """Groups of lines of a page."""
    return PAGE_LINES // config.move_lines


def page_of(address: Value) -> Value:
    """The page of a line's address."""
    return address[ADDRESS_BITS - PAGE_BITS :]


def group_of(config: SwitchConfig, address: Value) -> Value:
    """The group of a line's address in its page."""
    return address[config.move_lines.bit_length() - 1 : ADDRESS_BITS - PAGE_BITS]


def same_device(one: data.View, other: data.View) -> Value:
    """Whether both are the same logical device."""
    return (one.port == other.port) & (one.ld_id == other.ld_id)


def own_device(m: Module, bindings: data.View, port: Value, *, name: str) -> data.View:
    """The first virtual port of a host that leads to a port, if any does."""
    found = Signal(Binding, name=name)
    for number in reversed(range(bindings.shape().length)):
        binding = bindings[number]
        with m.If(binding.bound & (binding.port == port[:PORT_BITS]) & ~port[PORT_BITS:].any()):
            m.d.comb += found.eq(binding)
    return found


class LineLocator(wiring.Component):
    """Looks a line up in its host's table of moved pages; combinational.

    Parameters
    ----------
    config : SwitchConfig
        Parameters of the switch.

    Members
    -------
    address : In
        Of the line.
    decoded : In(Binding)
        What ranges and bindings say.
    bindings, pages : In
        The host's tables.
    target : Out(Binding)
        Where it is; not bound if the host has nothing there.
    """

    def __init__(self, *, config: SwitchConfig) -> None:
        self.config = config
        page = moved_page_layout(groups_of(config))
        super().__init__(
            {
                "address": In(ADDRESS_BITS),
                "decoded": In(Binding),
                "bindings": In(data.ArrayLayout(Binding, config.bindings)),
                "pages": In(data.ArrayLayout(page, config.moves)),
                "target": Out(Binding),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        group = group_of(self.config, self.address)
        found, place, owned = Signal(), Signal(Binding), Signal()
        for number in range(self.config.moves):
            page = self.pages[number]
            there = page.there.bit_select(group, 1)
            with m.If(page.valid & (page.page == page_of(self.address)) & (there | page.old.bound)):
                m.d.comb += [
                    found.eq(1),
                    place.eq(Mux(there, page.new.as_value(), page.old.as_value())),
                ]
        m.d.comb += [
            # A device that was unbound since is not the host's any more.
            owned.eq(
                Cat(
                    binding.bound & same_device(binding, place)
                    for binding in (self.bindings[n] for n in range(self.config.bindings))
                ).any()
            ),
            self.target.eq(self.decoded),
        ]
        with m.If(found):
            m.d.comb += self.target.eq(Mux(owned, place.as_value(), 0))
        return m
