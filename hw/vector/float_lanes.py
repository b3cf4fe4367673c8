"""The floating-point lanes: beats of elements in, beats of results out, in order."""

from amaranth import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from fanweave.golden.isa.formats import ElementFormat
from fanweave.hw.vector.config import VectorConfig
from fanweave.hw.vector.float_division import FloatDivision
from fanweave.hw.vector.float_operations import FLOAT_CONTROLS, FloatControls, Path
from fanweave.hw.vector.float_slice import FloatSlice, FloatStage, effective_mode
from fanweave.hw.vector.lane_controls import decode
from fanweave.hw.vector.payloads import operand_beat, result_beat

__all__ = ["FloatLanes"]


class FloatLanes(wiring.Component):
    """A beat a cycle, its result two cycles after its operands; all stands still behind it.

    To each 32 bits of a beat belong a slice for FP32 and FP16, which takes an FP32 element or the
    even one of two FP16 elements, and one for FP16 alone, which takes the odd one. Operations
    between two widths use the wide slices. Quotients and roots come from one divider to each 32
    bits: their beat waits at the input until all of them are there, and beats behind it wait.

    Parameters
    ----------
    config : VectorConfig

    Members
    -------
    i : stream in of `operand_beat`
        ``operation`` is a `FloatOperation`, for a SEW that has a row in `FLOAT_CONTROLS`.
    o : stream out of `result_beat`
    """

    def __init__(self, config: VectorConfig) -> None:
        self.config = config
        super().__init__(
            {
                "i": In(stream.Signature(operand_beat(config))),
                "o": Out(stream.Signature(result_beat(config))),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        beat, result = self.i.payload, self.o.payload
        controls, enable = Signal(FloatControls), Signal()
        entry, first, second = (
            Signal(FloatStage, name=name) for name in ("entry", "first", "second")
        )
        tags = [Signal(len(beat.slot) + 1, name=name) for name in ("first_tag", "second_tag")]
        decode(m, controls, beat.operation, beat.sew, FLOAT_CONTROLS)
        found = self._slices(m, enable, (entry, first, second))
        divides, go = controls.path == Path.QUOTIENT, Signal()
        m.d.comb += [
            go.eq(~divides | Cat(division.done for division in found).all()),
            enable.eq(~second.valid | self.o.ready),
            entry.controls.eq(controls),
            entry.mode.eq(effective_mode(controls, beat.rounding)),
            entry.valid.eq(self.i.valid & go),
            self.i.ready.eq(enable & go),
            self.o.valid.eq(second.valid),
            Cat(result.last, result.slot).eq(tags[1]),
        ]
        for division in found:
            m.d.comb += [
                division.start.eq(self.i.valid & divides),
                division.taken.eq(enable & go),
                division.controls.eq(controls),
            ]
        with m.If(enable):
            m.d.sync += [
                first.eq(entry),
                second.eq(first),
                tags[0].eq(Cat(beat.last, beat.slot)),
                tags[1].eq(tags[0]),
            ]
        return m

    def _slices(
        self, m: Module, enable: Value, stages: tuple[data.View, data.View, data.View]
    ) -> list[FloatDivision]:
        """Slices and dividers, and where their elements stand."""
        result, shown = self.o.payload, stages[2].controls
        columns = []
        for place in range(2 * self.config.lanes):
            wide = FloatSlice(formats=(ElementFormat.FP32, ElementFormat.FP16))
            narrow = FloatSlice(formats=(ElementFormat.FP16,))
            division = FloatDivision()
            m.submodules[f"wide_{place}"] = wide
            m.submodules[f"narrow_{place}"] = narrow
            m.submodules[f"division_{place}"] = division
            for part in (wide, narrow):
                m.d.comb += [
                    part.enable.eq(enable),
                    part.entry.eq(stages[0]),
                    part.first.eq(stages[1]),
                    part.second.eq(stages[2]),
                ]
            self._operands(m, place, stages[0].controls, wide, narrow, division)
            columns.append((wide, narrow, division))
        pairs, flags = shown.pairs, Const(0, 5)
        words, halves, alone, both = [], [], [], []
        for wide, narrow, _ in columns:
            even, odd = wide.result, narrow.result
            words.append(Cat(even[:16], Mux(pairs, odd, even[16:])))
            halves.append(Cat(even[:8], Mux(pairs, odd[:8], even[8:16])))
            alone.append(even[0])
            both.append(Cat(even[0], odd[0]))
            flags |= wide.flags | narrow.flags
        m.d.comb += [
            result.value.eq(Mux(shown.result_dense, Cat(halves), Cat(words))),
            result.bits.eq(Mux(pairs, Cat(both), Cat(alone))),
            result.flags.eq(flags),
        ]
        return [division for _, _, division in columns]

    def _operands(
        self,
        m: Module,
        place: int,
        controls: data.View,
        wide: FloatSlice,
        narrow: FloatSlice,
        division: FloatDivision,
    ) -> None:
        """What the slices and the divider of 32 bits work on."""
        beat, pairs = self.i.payload, controls.pairs
        vd = beat.vd.word_select(place, 32)
        m.d.comb += [wide.vd.eq(vd), narrow.vd.eq(vd[16:])]
        for name, dense in (("vs1", controls.vs1_dense), ("vs2", controls.vs2_dense)):
            word, half = (beat[name].word_select(place, bits) for bits in (32, 16))
            m.d.comb += [
                getattr(wide, name).eq(Mux(dense, half, word)),
                getattr(narrow, name).eq(Mux(dense, half >> 8, word >> 16)),
                getattr(division, name).eq(word),
            ]
        for name in ("active", "carry"):
            bits = beat[name]
            two, one = bits.word_select(place, 2), bits[place]
            m.d.comb += [
                getattr(wide, name).eq(Mux(pairs, two[0], one)),
                getattr(narrow, name).eq(pairs & two[1]),
            ]
        m.d.comb += [
            division.active.eq(Cat(wide.active, narrow.active)),
            wide.quotient.eq(division.wide),
            narrow.quotient.eq(division.narrow),
        ]
