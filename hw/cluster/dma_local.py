"""The DMA's way to the memories of the cluster."""

from amaranth import Cat, Const, Module, Mux, Signal, unsigned
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from fanweave.hw.cluster.payloads import BEAT_BYTES, OuterRequest, WordRequest

__all__ = ["LANES", "DmaLocal"]

#: Parts of a beat, of 64 bits each.
LANES = BEAT_BYTES // 8


class DmaLocal(wiring.Component):
    """Carries a beat out in parts: all at once in the L1, one a cycle in the instruction memory.

    A part that its bank refuses asks again; the others do not wait for it, but the next beat does.

    Members
    -------
    beats : stream in of `OuterRequest`; instructions : In(1)
        Taken when all its parts are; ``instructions`` says which memory and holds with the beat.
    l1 : array of streams out of `WordRequest`; l1_answers : array of streams in of 64 bits
    code : stream out of `WordRequest`; code_answers : stream in of 64 bits
        An answer comes in the cycle after its request was taken.
    parts : array of streams out of 64 bits
        What was read, by its place in the beat; must be taken.
    """

    def __init__(self) -> None:
        words, answers = stream.Signature(WordRequest), stream.Signature(unsigned(64))
        super().__init__(
            {
                "beats": In(stream.Signature(OuterRequest)),
                "instructions": In(1),
                "l1": Out(words).array(LANES),
                "l1_answers": In(answers).array(LANES),
                "code": Out(words),
                "code_answers": In(answers),
                "parts": Out(answers).array(LANES),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        beat = self.beats.payload
        wanted, done, made, turn = Signal(LANES), Signal(LANES), Signal(LANES), Signal(LANES)
        pending = wanted & ~done
        reading, from_code = Signal(LANES), Signal()
        m.d.comb += [
            wanted.eq(
                Mux(
                    beat.write,
                    Cat(beat.mask.word_select(lane, 8).any() for lane in range(LANES)),
                    (1 << LANES) - 1,
                )
            ),
            turn.eq(pending & ~(pending - 1)),
            self.beats.ready.eq(~(pending & ~made).any()),
            self.code.valid.eq(self.beats.valid & self.instructions & pending.any()),
            self.code_answers.ready.eq(1),
        ]
        m.d.sync += [
            done.eq(Mux(self.beats.valid & ~self.beats.ready, done | made, 0)),
            reading.eq(Mux(beat.write, 0, made)),
            from_code.eq(self.instructions),
        ]
        for lane in range(LANES):
            port, answer, part = self.l1[lane], self.l1_answers[lane], self.parts[lane]
            here = Signal(WordRequest, name=f"part_{lane}")
            m.d.comb += [
                here.address.eq(Cat(Const(8 * lane, 6), beat.address[6:])),
                here.write.eq(beat.write),
                here.mask.eq(beat.mask.word_select(lane, 8)),
                here.data.eq(beat.data.word_select(lane, 64)),
                port.payload.eq(here),
                port.valid.eq(self.beats.valid & ~self.instructions & pending[lane]),
                made[lane].eq(
                    Mux(
                        self.instructions,
                        self.code.valid & self.code.ready & turn[lane],
                        port.valid & port.ready,
                    )
                ),
                answer.ready.eq(1),
                part.valid.eq(reading[lane]),
                part.payload.eq(Mux(from_code, self.code_answers.payload, answer.payload)),
            ]
            with m.If(turn[lane]):
                m.d.comb += self.code.payload.eq(here)
        return m
