"""Reads weights and indices of products from the vector registers, a word of each a cycle."""

from amaranth import Cat, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from fanweave.hw.stream.queue import Queue
from fanweave.hw.vector.config import VectorConfig
from fanweave.hw.vector.payloads import read_port
from fanweave.hw.vector.ventaglio_payloads import product_plan
from fanweave.hw.ventaglio.aligner import Aligner, Extent
from fanweave.hw.ventaglio.payloads import Marker

__all__ = ["ProductFetch"]

#: Rows whose words are being read or wait for the lanes.
_ROWS = 4
_BYTE, _INDEX_WORD = 8, 32


class ProductFetch(wiring.Component):
    """Reads ahead as far as two words of each, without a pause between instructions.

    Both operands are read in ascending order, each at its own pace, so an instruction begins as
    soon as its first words are written, and what it has read may be written again.

    Parameters
    ----------
    config : VectorConfig

    Members
    -------
    plans : stream in of `product_plan`
    weights, indices : read ports
    weights_blocked, indices_blocked : In(1)
        The word at the port's address may not be read yet.
    mask : In(vlen); mask_blocked : In(1)
        v0, and whether it may not be read yet.
    slot : Out
        The instruction whose words are read.
    fetched : Out(1)
        Its last word is being read. Loads and stores of accumulators read nothing here.
    scalars_read : Out(1)
        Of many rows, the last scalar is being read.
    rows : stream out of `product_plan`
    weights_head, indices_head, weights_level, indices_level : Out
    weights_take, indices_take : In
        See `Aligner`; what belongs to the first row comes first.
    busy : Out(1)
        There is an instruction.
    """

    def __init__(self, *, config: VectorConfig) -> None:
        self.config = config
        beat = config.word_bits
        level = range(2 * beat + 1)
        super().__init__(
            {
                "plans": In(stream.Signature(product_plan(config))),
                "weights": Out(read_port(config)),
                "indices": Out(read_port(config)),
                "weights_blocked": In(1),
                "indices_blocked": In(1),
                "mask": In(config.vlen),
                "mask_blocked": In(1),
                "slot": Out((config.slots - 1).bit_length()),
                "fetched": Out(1),
                "scalars_read": Out(1),
                "rows": Out(stream.Signature(product_plan(config))),
                "weights_head": Out(2 * beat),
                "weights_level": Out(level),
                "weights_take": In(level),
                "indices_head": Out(2 * beat),
                "indices_level": Out(level),
                "indices_take": In(level),
                "busy": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        following = self.plans.payload
        self._aligners, self._extents = {}, {}
        for name, unit in (("weights", _BYTE), ("indices", _INDEX_WORD)):
            self._aligners[name] = Aligner(beat_bits=self.config.word_bits, unit_bits=unit)
            self._extents[name] = Queue(shape=Extent, depth=_ROWS)
            m.submodules[f"{name}_aligner"] = self._aligners[name]
            m.submodules[f"{name}_extents"] = self._extents[name]
        m.submodules.rows = rows = Queue(shape=product_plan(self.config), depth=_ROWS)
        wiring.connect(m, rows.o, wiring.flipped(self.rows))
        busy, over, begins, releases, scatters = (
            Signal(name=name) for name in ("reading", "over", "begins", "releases", "scatters")
        )
        per_word = self.config.word_bits // _INDEX_WORD
        count = Mux(following.many, following.rows, 1)
        extent = following.index_words * count
        index_words = (extent + per_word - 1) >> (per_word - 1).bit_length()
        weight_bytes = (following.count * count) << following.size
        left = [
            self._walk(m, "weights", begins, following.weight_words, weight_bytes),
            self._walk(m, "indices", begins, index_words, extent),
        ]
        m.d.comb += [
            over.eq(busy & ~left[0] & ~left[1] & ~scatters),
            begins.eq(
                self.plans.valid
                & ~scatters
                & (~busy | over)
                & (rows.i.ready | following.many)
                & Cat(queue.i.ready for queue in self._extents.values()).all()
            ),
            self.fetched.eq(over & releases),
            self.busy.eq(busy | rows.o.valid),
        ]
        self._give_rows(m, rows, begins, scatters)
        with m.If(begins):
            m.d.sync += [
                busy.eq(1),
                self.slot.eq(following.slot),
                releases.eq(following.marker != Marker.DRAIN),
            ]
        with m.Elif(over):
            m.d.sync += busy.eq(0)
        return m

    def _give_rows(self, m: Module, rows: Queue, begins: Signal, scatters: Signal) -> None:
        """An instruction's only row as it begins; many rows one after the other, with scalars."""
        following = self.plans.payload
        number = Signal.like(following.scalars, name="row_number")  # the row's element of v0
        scalar = Signal(32, name="row_scalar")
        goes, last = Signal(name="row_goes"), Signal(name="row_last")
        with m.Switch(following.size):
            for size in range(3):
                with m.Case(size):
                    m.d.comb += scalar.eq(self.mask.word_select(number, 8 << size))
        m.d.comb += [
            goes.eq(scatters & rows.i.ready & ~self.mask_blocked),
            last.eq(number + 1 == following.scalars + following.rows),
            self.scalars_read.eq(goes & last),
            rows.i.valid.eq(Mux(scatters, ~self.mask_blocked, begins & ~following.many)),
            rows.i.payload.eq(following),
            self.plans.ready.eq(Mux(scatters, goes & last, begins & ~following.many)),
        ]
        with m.If(following.many):
            m.d.comb += rows.i.payload.scalar.eq(scalar)
        with m.If(begins & following.many):
            m.d.sync += [scatters.eq(1), number.eq(following.scalars)]
        with m.Elif(goes):
            m.d.sync += [number.eq(number + 1), scatters.eq(~last)]

    def _walk(self, m: Module, name: str, begins: Signal, words: Value, extent: Value) -> Signal:
        """Words of one operand, one behind the other; whether more than this cycle's is left."""
        following = self.plans.payload
        port: wiring.PureInterface = getattr(self, name)
        aligner, extents = self._aligners[name], self._extents[name]
        wiring.connect(m, extents.o, aligner.extents)
        wanted = Signal(range(32 * self.config.words + 1), name=f"{name}_wanted")
        there, taken = Signal(name=f"{name}_there"), Signal(name=f"{name}_taken")
        more = Signal(name=f"{name}_more")
        is_row = following.marker == Marker.ROW
        m.d.comb += [
            port.valid.eq(
                (wanted != 0) & ~getattr(self, f"{name}_blocked") & (~there | aligner.beats.ready)
            ),
            taken.eq(port.valid & port.ready),
            more.eq(wanted != taken),
            aligner.beats.valid.eq(there),
            aligner.beats.payload.eq(port.value),
            aligner.take.eq(getattr(self, f"{name}_take")),
            getattr(self, f"{name}_head").eq(aligner.head),
            getattr(self, f"{name}_level").eq(aligner.level),
            extents.i.valid.eq(begins & is_row & (extent != 0)),
            extents.i.payload.length.eq(extent),
        ]
        with m.If(taken):
            m.d.sync += [port.address.eq(port.address + 1), wanted.eq(wanted - 1), there.eq(1)]
        with m.Elif(aligner.beats.ready):
            m.d.sync += there.eq(0)
        with m.If(begins):
            m.d.sync += [port.address.eq(following[name]), wanted.eq(Mux(is_row, words, 0))]
        return more
