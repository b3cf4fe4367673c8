"""The core alone, for benches: any program in its memory, and no map or helper behind it."""

from amaranth import Module, Mux, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from fanweave.golden.ebpf.config import EbpfConfig
from fanweave.hw.ebpf.core import Core
from fanweave.hw.ebpf.payloads import Cause, Event, Verdict
from fanweave.hw.ebpf.program_payloads import LENGTH_BITS, ProgramWrite

__all__ = ["BareCore"]


class BareCore(wiring.Component):
    """A core with one program, which nothing checks: so its own checks can be seen.

    Every access to a map is out of bounds, and every call of a helper one of an unknown helper.

    Parameters
    ----------
    config : EbpfConfig
        Parameters of the core.

    Members
    -------
    events, contexts, verdicts, contexts_after, budget, instructions
        As of `Core`.
    program : stream in of `ProgramWrite`
        Always ready. The program may only change while no event is handled.
    program_slots : In(17)
        Slots of the program.
    """

    def __init__(self, *, config: EbpfConfig) -> None:
        self.config = config
        contexts_after = Out(stream.Signature(64))
        super().__init__(
            {
                "events": In(stream.Signature(Event)),
                "contexts": In(stream.Signature(64)),
                "verdicts": Out(stream.Signature(Verdict)),
                **({"contexts_after": contexts_after} if config.returns_context else {}),
                "budget": In(32),
                "instructions": Out(1),
                "program": In(stream.Signature(ProgramWrite)),
                "program_slots": In(LENGTH_BITS),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.core = core = Core(config=self.config)
        wiring.connect(m, wiring.flipped(self.events), core.events)
        wiring.connect(m, wiring.flipped(self.contexts), core.contexts)
        wiring.connect(m, core.verdicts, wiring.flipped(self.verdicts))
        if self.config.returns_context:
            wiring.connect(m, core.contexts_after, wiring.flipped(self.contexts_after))
        m.d.comb += [
            core.budget.eq(self.budget),
            self.instructions.eq(core.instructions),
            core.event_valid.eq(1),
            core.image_limit.eq(self.program_slots),
            core.access_results.valid.eq(core.accesses.valid),
            core.access_results.payload.thread.eq(core.accesses.payload.thread),
            core.access_results.payload.cause.eq(Cause.OUT_OF_BOUNDS),
            core.accesses.ready.eq(core.access_results.ready),
            core.replies.valid.eq(core.calls.valid),
            core.replies.payload.thread.eq(core.calls.payload.thread),
            core.replies.payload.cause.eq(Cause.UNKNOWN_HELPER),
            core.calls.ready.eq(core.replies.ready),
        ]
        self._memory(m, core)
        return m

    def _memory(self, m: Module, core: Core) -> None:
        word = data.StructLayout({"low": unsigned(32), "high": unsigned(32)})
        # Twice, for the upper half of the slot that comes next.
        here = Memory(shape=word, depth=self.config.slots, init=[])
        behind = Memory(shape=word, depth=self.config.slots, init=[])
        m.submodules.here, m.submodules.behind = here, behind
        m.d.comb += self.program.ready.eq(1)
        written = self.program.payload
        for memory in (here, behind):
            write = memory.write_port()
            m.d.comb += [
                write.addr.eq(written.slot),
                write.data.as_value().eq(written.word),
                write.en.eq(self.program.valid),
            ]
        fetched, following = here.read_port(), behind.read_port()
        m.d.comb += [
            fetched.addr.eq(core.fetch_slot),
            following.addr.eq(
                Mux(core.fetch_slot == self.config.slots - 1, 0, core.fetch_slot + 1)
            ),
            core.fetch_word.eq(fetched.data.as_value()),
            core.fetch_next_high.eq(following.data.high),
        ]
