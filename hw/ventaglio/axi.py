"""The Ventaglio unit behind AXI4-Lite registers and AXI4-Stream data."""

from amaranth import Cat, ClockDomain, ClockSignal, Module, ResetSignal, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from fanweave.golden.isa.ventaglio import REGISTERS
from fanweave.golden.ventaglio.config import VentaglioConfig
from fanweave.hw.stream.axi_lite import AxiLiteRegisters, axi_lite_members
from fanweave.hw.stream.axi_stream import axi_stream_members
from fanweave.hw.ventaglio.unit import Ventaglio

__all__ = ["ADDRESS_BITS", "RowTransfer", "VentaglioAxi"]

#: Byte addresses of the register file: the 4 KiB that an interconnect gives at least.
ADDRESS_BITS = 12


class RowTransfer(data.Struct):
    """TDATA of the rows stream: the fields of a row's description on byte boundaries."""

    nnz: 16
    lane: 8
    index_word: 8
    joined: 1
    index_joined: 1
    reserved: 30


class VentaglioAxi(wiring.Component):
    """`Ventaglio` with standard interfaces; ``docs/decisions/0007-axi.md`` says why they are so.

    Parameters
    ----------
    config : VentaglioConfig
        Parameters of the unit.

    Members
    -------
    aclk, aresetn : In(1)
        Clock, and reset, active low and sampled by the clock.
    s_axil_* : AXI4-Lite
        Registers at four times their word address. A write is answered when the unit took it: one
        that starts an operation waits while the operation queue is full.
    s_axis_activations_*, s_axis_rows_*, s_axis_weights_*, s_axis_indices_* : AXI4-Stream in
        TDATA of rows is `RowTransfer`; the others carry the plain payload.
    m_axis_fetch_* : AXI4-Stream out
        TDATA is the row; TUSER marks an operation's first request.
    m_axis_results_* : AXI4-Stream out
        TKEEP marks the bytes of valid elements; TLAST ends a drain.
    busy : Out(1)
        An operation is queued or running, or results have not left.
    """

    def __init__(self, *, config: VentaglioConfig) -> None:
        self.config = config
        beat = config.beat_bits
        super().__init__(
            {
                "aclk": In(1),
                "aresetn": In(1),
                **axi_lite_members(ADDRESS_BITS, prefix="s_axil_"),
                **axi_stream_members(
                    "activations", transmits=False, data_bits=32 * config.max_outputs
                ),
                **axi_stream_members("fetch", transmits=True, data_bits=32, user_bits=1),
                **axi_stream_members(
                    "rows", transmits=False, data_bits=RowTransfer.as_shape().size
                ),
                **axi_stream_members("weights", transmits=False, data_bits=beat),
                **axi_stream_members("indices", transmits=False, data_bits=beat),
                **axi_stream_members(
                    "results", transmits=True, data_bits=beat, keep=True, last=True
                ),
                "busy": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.domains.sync = ClockDomain()
        m.d.comb += [ClockSignal().eq(self.aclk), ResetSignal().eq(~self.aresetn)]
        m.submodules.unit = unit = Ventaglio(config=self.config)
        m.d.comb += self.busy.eq(unit.busy)
        self._connect_registers(m, unit)
        self._connect_inputs(m, unit)
        self._connect_outputs(m, unit)
        return m

    def _connect_registers(self, m: Module, unit: Ventaglio) -> None:
        m.submodules.registers = registers = AxiLiteRegisters(
            address_bits=ADDRESS_BITS,
            writable=[entry.address for entry in REGISTERS if entry.access != "ro"],
            readable=[entry.address for entry in REGISTERS],
        )
        for name, member in axi_lite_members(ADDRESS_BITS).items():
            inner, outer = getattr(registers, name), getattr(self, f"s_axil_{name}")
            m.d.comb += inner.eq(outer) if member.flow is In else outer.eq(inner)
        m.d.comb += [
            unit.commands.payload.address.eq(registers.writes.payload.address),
            unit.commands.payload.data.eq(registers.writes.payload.data),
            unit.commands.valid.eq(registers.writes.valid),
            registers.writes.ready.eq(unit.commands.ready),
            unit.read_address.eq(registers.read_address),
            registers.read_data.eq(unit.read_data),
        ]

    def _connect_inputs(self, m: Module, unit: Ventaglio) -> None:
        row = data.View(RowTransfer, self.s_axis_rows_tdata)
        m.d.comb += [
            Cat(unit.activations.payload).eq(self.s_axis_activations_tdata),
            unit.weights.payload.eq(self.s_axis_weights_tdata),
            unit.indices.payload.eq(self.s_axis_indices_tdata),
            *(
                unit.rows.payload[field].eq(row[field])
                for field in ("nnz", "lane", "joined", "index_word", "index_joined")
            ),
        ]
        for name in ("activations", "rows", "weights", "indices"):
            port = getattr(unit, name)
            m.d.comb += [
                port.valid.eq(getattr(self, f"s_axis_{name}_tvalid")),
                getattr(self, f"s_axis_{name}_tready").eq(port.ready),
            ]

    def _connect_outputs(self, m: Module, unit: Ventaglio) -> None:
        result = unit.results.payload
        valid_bytes = Signal(range(self.config.beat_bits // 8 + 1))
        with m.Switch(result.element_bytes):
            for size in (1, 2, 4):
                with m.Case(size):
                    m.d.comb += valid_bytes.eq(result.elements * size)
        m.d.comb += [
            self.m_axis_fetch_tdata.eq(unit.fetch.payload.row),
            self.m_axis_fetch_tuser.eq(unit.fetch.payload.first),
            self.m_axis_results_tdata.eq(result.data),
            self.m_axis_results_tkeep.eq(
                Cat(place < valid_bytes for place in range(self.config.beat_bits // 8))
            ),
            self.m_axis_results_tlast.eq(result.last),
        ]
        for name in ("fetch", "results"):
            port = getattr(unit, name)
            m.d.comb += [
                getattr(self, f"m_axis_{name}_tvalid").eq(port.valid),
                port.ready.eq(getattr(self, f"m_axis_{name}_tready")),
            ]
