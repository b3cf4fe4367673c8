"""How the elements of a group lie on the lanes."""

from amaranth import Module, Signal, Value
from amaranth.lib import data

from fanweave.golden.isa.ventaglio import IndexMode
from fanweave.golden.ventaglio.config import VentaglioConfig

__all__ = ["group_geometry", "spread_elements"]


def group_geometry(
    m: Module, config: VentaglioConfig, operation: data.View
) -> tuple[Signal, Signal]:
    """log2 of an element's bits, and the elements of a group."""
    element_log2 = Signal(3)
    lanes = Signal(range(config.lanes + 1))
    with m.Switch(operation.element):
        for element_format in config.formats:
            with m.Case(element_format):
                m.d.comb += [
                    element_log2.eq((element_format.bits - 1).bit_length()),
                    lanes.eq(config.lanes_of(element_format)),
                ]
                for mode, bits in ((IndexMode.ABSOLUTE_8, 8), (IndexMode.ABSOLUTE_16, 16)):
                    most = config.beat_bits // bits
                    if most < config.lanes_of(element_format):
                        with m.If(operation.index_mode == mode):
                            m.d.comb += lanes.eq(most)
    return element_log2, lanes


def spread_elements(
    m: Module,
    config: VentaglioConfig,
    element: Value,
    group: data.View,
    valid: Value,
    second: Value,
    columns: data.View,
) -> None:
    """Put elements on their lanes: element e of FP32 stands where four of FP8 do.

    Parameters
    ----------
    m : Module
        Where the group's members are driven.
    config : VentaglioConfig
        Parameters of the unit.
    element : Value
        Format of the elements; no part of the group, which depends on it.
    group : View of `group_layout`
        What is driven.
    valid, second, columns : Value, Value, array of Value
        By element.
    """
    widths = sorted({f.bits for f in config.formats})
    for lane in range(config.lanes):
        with m.Switch(element):
            for bits in widths:
                spread = bits // config.element_bits
                if lane % spread:
                    continue
                e = lane // spread
                with m.Case(*(f for f in config.formats if f.bits == bits)):
                    m.d.comb += [
                        group.valid[lane].eq(valid[e]),
                        group.second[lane].eq(second[e]),
                        group.columns[lane].eq(columns[e]),
                    ]
