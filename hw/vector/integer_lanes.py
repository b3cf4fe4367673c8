"""The integer lanes: beats of elements in, beats of results out, in order."""

from amaranth import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from fanweave.hw.vector.config import VectorConfig
from fanweave.hw.vector.integer_division import IntegerDivision
from fanweave.hw.vector.integer_operations import INTEGER_CONTROLS, IntegerControls, Result
from fanweave.hw.vector.integer_slice import IntegerSlice, IntegerStage
from fanweave.hw.vector.lane_controls import decode
from fanweave.hw.vector.payloads import operand_beat, result_beat
from fanweave.hw.vector.simd import by_width

__all__ = ["IntegerLanes"]


class IntegerLanes(wiring.Component):
    """A beat a cycle, its result one cycle after its operands; all stands still behind it.

    A slice works on 32 bits, whatever the width of elements. Elements of a beat that are narrower
    than its widest ones are widened in front of the slices, and narrow results are put together
    behind them. A division waits at the input for as many cycles as its elements have bits, and
    beats behind it wait.

    Parameters
    ----------
    config : VectorConfig

    Members
    -------
    i : stream in of `operand_beat`
        ``operation`` is an `IntegerOperation`, for a SEW that has a row in `INTEGER_CONTROLS`.
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
        controls, enable = Signal(IntegerControls), Signal()
        entry, first = (Signal(IntegerStage, name=name) for name in ("entry", "first"))
        tag = Signal(1 + len(beat.slot))
        decode(m, controls, beat.operation, beat.sew, INTEGER_CONTROLS)
        divisions = self._slices(m, enable, entry, first)
        divides, go = controls.result == Result.QUOTIENT, Signal()
        m.d.comb += [
            # All take the same time.
            go.eq(~divides | divisions[0].done),
            enable.eq(~first.valid | self.o.ready),
            entry.controls.eq(controls),
            entry.mode.eq(beat.rounding),
            entry.valid.eq(self.i.valid & go),
            self.i.ready.eq(enable & go),
            self.o.valid.eq(first.valid),
            Cat(result.last, result.slot).eq(tag),
        ]
        for division in divisions:
            m.d.comb += [
                division.start.eq(self.i.valid & divides),
                division.taken.eq(enable & go),
                division.controls.eq(controls),
            ]
        with m.If(enable):
            m.d.sync += [first.eq(entry), tag.eq(Cat(beat.last, beat.slot))]
        return m

    def _slices(
        self, m: Module, enable: Value, entry: data.View, first: data.View
    ) -> list[IntegerDivision]:
        """Slices and dividers, and where their elements stand."""
        beat, result = self.i.payload, self.o.payload
        controls, shown = entry.controls, first.controls
        slices, divisions = [], []
        for place in range(2 * self.config.lanes):
            part, division = IntegerSlice(), IntegerDivision()
            m.submodules[f"slice_{place}"] = part
            m.submodules[f"division_{place}"] = division
            vs1, vs2 = Signal(32, name=f"vs1_{place}"), Signal(32, name=f"vs2_{place}")
            quarter = beat.vs2.word_select(place, 8)
            sign = quarter[-1] & controls.vs2_signed
            m.d.comb += [
                vs1.eq(_widened(beat.vs1, place, controls.vs1_dense, controls, "vs1_signed")),
                vs2.eq(_widened(beat.vs2, place, controls.vs2_dense, controls, "vs2_signed")),
                part.enable.eq(enable),
                part.entry.eq(entry),
                part.first.eq(first),
                part.vs1.eq(vs1),
                part.vs2.eq(vs2),
                part.vd.eq(beat.vd.word_select(place, 32)),
                part.quotient.eq(division.result),
                division.vs1.eq(vs1),
                division.vs2.eq(vs2),
            ]
            with m.If(controls.vs2_quarter):
                m.d.comb += vs2.eq(Cat(quarter, sign.replicate(24)))
            for name in ("carry", "active"):
                bits = beat[name]
                two, one = bits.word_select(place, 2), bits[place]
                m.d.comb += getattr(part, name).eq(
                    by_width(
                        controls.width,
                        (
                            bits.word_select(place, 4),
                            Cat(two[0], two[0], two[1], two[1]),
                            one.replicate(4),
                        ),
                    )
                )
            slices.append(part)
            divisions.append(division)
        m.d.comb += [
            result.value.eq(
                Mux(
                    shown.result_dense,
                    Cat(part.result[:16] for part in slices),
                    Cat(part.result for part in slices),
                )
            ),
            result.bits.eq(
                by_width(
                    shown.width,
                    (
                        Cat(part.bits for part in slices),
                        Cat(Cat(part.bits[1], part.bits[3]) for part in slices),
                        Cat(part.bits[3] for part in slices),
                    ),
                )
            ),
            result.saturated.eq(Cat(part.saturated for part in slices).any()),
        ]
        return divisions


def _widened(
    operand: Value, place: int, dense: Value, controls: data.View, is_signed: str
) -> Value:
    """The 32 bits of an operand that belong to a slice, elements of half the width widened."""
    half = operand.word_select(place, 16)
    fills = [half[bit] & controls[is_signed] for bit in (7, 15)]
    pair = Cat(half[:8], fills[0].replicate(8), half[8:], fills[1].replicate(8))
    alone = Cat(half, fills[1].replicate(16))
    return Mux(dense, Mux(controls.width[1], alone, pair), operand.word_select(place, 32))
