"""AXI4-Lite registers: the channels of a subordinate, and writes and reads behind them.

Source: AMBA AXI Protocol Specification (IHI 0022), part B.
"""

from collections.abc import Iterable

from amaranth import Module, Signal, unsigned
from amaranth.hdl import Value
from amaranth.lib import data, enum, stream, wiring
from amaranth.lib.wiring import In, Member, Out

from fanweave.hw.stream.queue import SkidBuffer

__all__ = ["AxiLiteRegisters", "Response", "axi_lite_members"]

_DATA_BITS = 32
_STROBES = _DATA_BITS // 8
_ALL_STROBES = (1 << _STROBES) - 1
#: Byte addresses of one 32-bit register.
_BYTE_BITS = 2


class Response(enum.Enum, shape=unsigned(2)):
    """BRESP and RRESP."""

    OKAY = 0
    SLVERR = 2


def axi_lite_members(address_bits: int, *, prefix: str = "") -> dict[str, Member]:
    """Ports of a subordinate with the standard's own names.

    Parameters
    ----------
    address_bits : int
        Width of AWADDR and ARADDR.
    prefix : str
        Put before each name, such as ``"s_axil_"``.
    """
    members = {
        "awaddr": In(address_bits),
        "awprot": In(3),
        "awvalid": In(1),
        "awready": Out(1),
        "wdata": In(_DATA_BITS),
        "wstrb": In(_STROBES),
        "wvalid": In(1),
        "wready": Out(1),
        "bresp": Out(2),
        "bvalid": Out(1),
        "bready": In(1),
        "araddr": In(address_bits),
        "arprot": In(3),
        "arvalid": In(1),
        "arready": Out(1),
        "rdata": Out(_DATA_BITS),
        "rresp": Out(2),
        "rvalid": Out(1),
        "rready": In(1),
    }
    return {prefix + name: member for name, member in members.items()}


class AxiLiteRegisters(wiring.Component):
    """Turns AXI4-Lite transfers into register writes and reads.

    A write to a word in `writable` with all its strobes leaves on ``writes``, and is answered
    when it was taken; any other write has no effect and is answered with SLVERR. So is one that
    was taken with `refused`. A read of a word
    in `readable` takes one cycle of the read port; any other read gives zero and SLVERR. The
    lowest two address bits and the protection type mean nothing here. Every output comes from a
    register or from a state that only registers decide, so no path leads through.

    Parameters
    ----------
    address_bits : int
        Width of a byte address, at least 3.
    writable, readable : iterable of int
        Word addresses.

    Members
    -------
    awaddr ... rready
        The channels; see `axi_lite_members`.
    writes : stream out of a struct of ``address`` (word) and ``data``
    refused : In(1)
        Whoever takes the write will do nothing about it.
    read_address : Out; read_data : In(32)
        Combinational read port, by word address.
    read_taken : Out(1)
        The data that is there now is the answer to a read.

    Raises
    ------
    ValueError
        If a word address does not fit.
    """

    def __init__(
        self, *, address_bits: int, writable: Iterable[int], readable: Iterable[int]
    ) -> None:
        if not isinstance(address_bits, int) or address_bits <= _BYTE_BITS:
            raise ValueError(
                f"Address width must be an integer of at least {_BYTE_BITS + 1}, "
                f"not {address_bits!r}"
            )
        word_bits = address_bits - _BYTE_BITS
        self.writable = sorted(set(writable))
        self.readable = sorted(set(readable))
        for word in (*self.writable, *self.readable):
            if not 0 <= word < 1 << word_bits:
                raise ValueError(
                    f"Word address {word:#x} does not fit in byte addresses of {address_bits} bits"
                )
        self.address_bits = address_bits
        write = data.StructLayout({"address": word_bits, "data": _DATA_BITS})
        super().__init__(
            {
                **axi_lite_members(address_bits),
                "writes": Out(stream.Signature(write)),
                "refused": In(1),
                "read_address": Out(word_bits),
                "read_data": In(_DATA_BITS),
                "read_taken": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        self._write(m)
        self._read(m)
        return m

    def _write(self, m: Module) -> None:
        strobed = data.StructLayout({"data": _DATA_BITS, "strobes": _STROBES})
        m.submodules.aw_buffer = aw = SkidBuffer(shape=unsigned(self.address_bits))
        m.submodules.w_buffer = w = SkidBuffer(shape=strobed)
        m.submodules.b_buffer = b = SkidBuffer(shape=Response)
        word = Signal(self.address_bits - _BYTE_BITS)
        legal = Signal()
        arrived = Signal()
        done = Signal()
        m.d.comb += [
            aw.i.payload.eq(self.awaddr),
            aw.i.valid.eq(self.awvalid),
            self.awready.eq(aw.i.ready),
            w.i.payload.data.eq(self.wdata),
            w.i.payload.strobes.eq(self.wstrb),
            w.i.valid.eq(self.wvalid),
            self.wready.eq(w.i.ready),
            self.bresp.eq(b.o.payload),
            self.bvalid.eq(b.o.valid),
            b.o.ready.eq(self.bready),
            word.eq(aw.o.payload[_BYTE_BITS:]),
            legal.eq(_is_one_of(word, self.writable) & (w.o.payload.strobes == _ALL_STROBES)),
            arrived.eq(aw.o.valid & w.o.valid),
            # A write leaves only when its answer has a place.
            self.writes.valid.eq(arrived & legal & b.i.ready),
            self.writes.payload.address.eq(word),
            self.writes.payload.data.eq(w.o.payload.data),
            b.i.valid.eq(arrived & (~legal | self.writes.ready)),
            done.eq(b.i.valid & b.i.ready),
            aw.o.ready.eq(done),
            w.o.ready.eq(done),
        ]
        with m.If(legal & ~self.refused):
            m.d.comb += b.i.payload.eq(Response.OKAY)
        with m.Else():
            m.d.comb += b.i.payload.eq(Response.SLVERR)

    def _read(self, m: Module) -> None:
        answer = data.StructLayout({"data": _DATA_BITS, "response": Response})
        m.submodules.ar_buffer = ar = SkidBuffer(shape=unsigned(self.address_bits))
        m.submodules.r_buffer = r = SkidBuffer(shape=answer)
        m.d.comb += [
            ar.i.payload.eq(self.araddr),
            ar.i.valid.eq(self.arvalid),
            self.arready.eq(ar.i.ready),
            self.read_address.eq(ar.o.payload[_BYTE_BITS:]),
            r.i.valid.eq(ar.o.valid),
            ar.o.ready.eq(r.i.ready),
            self.read_taken.eq(ar.o.valid & r.i.ready),
            self.rdata.eq(r.o.payload.data),
            self.rresp.eq(r.o.payload.response),
            self.rvalid.eq(r.o.valid),
            r.o.ready.eq(self.rready),
        ]
        with m.If(_is_one_of(self.read_address, self.readable)):
            m.d.comb += [
                r.i.payload.data.eq(self.read_data),
                r.i.payload.response.eq(Response.OKAY),
            ]
        with m.Else():
            m.d.comb += r.i.payload.response.eq(Response.SLVERR)


def _is_one_of(value: Value, numbers: list[int]) -> Value:
    """Whether a value is among sorted numbers; long runs of them cost few comparisons."""
    patterns = []
    at = 0
    while at < len(numbers):
        first, bits = numbers[at], 0
        # As far as the numbers fill an aligned block of twice the size.
        while (
            first % (2 << bits) == 0
            and at + (2 << bits) <= len(numbers)
            and numbers[at + (2 << bits) - 1] == first + (2 << bits) - 1
        ):
            bits += 1
        upper = len(value) - bits
        patterns.append((f"{first >> bits:0{upper}b}" if upper else "") + "-" * bits)
        at += 1 << bits
    return value.matches(*patterns)
