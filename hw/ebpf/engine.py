"""One engine: a core with its programs and its helpers."""

from amaranth import Module
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from fanweave.golden.ebpf.config import EbpfConfig
from fanweave.hw.ebpf.core import Core
from fanweave.hw.ebpf.helper_unit import HelperUnit
from fanweave.hw.ebpf.maps.copier import ROW_BITS
from fanweave.hw.ebpf.maps.descriptor_memory import DescriptorWrite
from fanweave.hw.ebpf.maps.payloads import (
    BEAT_BITS,
    Access,
    AccessResult,
    OperationResult,
    operation_layout,
)
from fanweave.hw.ebpf.payloads import Event, Verdict
from fanweave.hw.ebpf.program_payloads import Bind, Commit, CommitResult, ProgramWrite, Release
from fanweave.hw.ebpf.program_store import ProgramStore

__all__ = ["ACCESSORS", "Engine"]

#: Streams of accesses to values of maps: of the core, and of what its helpers copy.
ACCESSORS = 2


class Engine(wiring.Component):
    """Executes programs on events; maps are outside, shared with other engines.

    Parameters
    ----------
    config : EbpfConfig
        Parameters of the engine.
    number : int
        What programs see as their processor.

    Members
    -------
    events, contexts, verdicts, contexts_after, budget, busy, instructions, in_use
        As of `Core`.
    program_in_use : In(images)
        Images that any engine uses; so all engines decide alike.
    write, refused, commit, committed, release, released, release_refused, bind, bound, bind_refused
        As of `ProgramStore`.
    descriptors : stream in of `DescriptorWrite`
    accesses, access_results : arrays of streams
    operations, results, operand, operand_row, result_write, result_row, result_data
        To the map unit; see `MapUnit`.
    """

    def __init__(self, *, config: EbpfConfig, number: int) -> None:
        self.config = config
        self.number = number
        contexts_after = Out(stream.Signature(64))
        super().__init__(
            {
                "events": In(stream.Signature(Event)),
                "contexts": In(stream.Signature(64)),
                "verdicts": Out(stream.Signature(Verdict)),
                **({"contexts_after": contexts_after} if config.returns_context else {}),
                "budget": In(32),
                "busy": Out(1),
                "instructions": Out(1),
                "in_use": Out(config.images),
                "program_in_use": In(config.images),
                "write": In(stream.Signature(ProgramWrite)),
                "refused": Out(1),
                "commit": In(stream.Signature(Commit)),
                "committed": Out(stream.Signature(CommitResult)),
                "release": In(stream.Signature(Release)),
                "released": Out(1),
                "release_refused": Out(1),
                "bind": In(stream.Signature(Bind)),
                "bound": Out(1),
                "bind_refused": Out(1),
                "descriptors": In(stream.Signature(DescriptorWrite)),
                "accesses": Out(stream.Signature(Access)).array(ACCESSORS),
                "access_results": In(stream.Signature(AccessResult)).array(ACCESSORS),
                "operations": Out(stream.Signature(operation_layout(config))),
                "results": In(stream.Signature(OperationResult)),
                "operand_row": In(ROW_BITS),
                "operand": Out(BEAT_BITS),
                "result_write": In(1),
                "result_row": In(ROW_BITS),
                "result_data": In(BEAT_BITS),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.core = self._core = Core(config=self.config)
        m.submodules.store = self._store = ProgramStore(
            slots=self.config.slots,
            images=self.config.images,
            programs=self.config.programs,
            maps=self.config.maps,
        )
        m.submodules.helper_unit = self._unit = HelperUnit(config=self.config, engine=self.number)
        self._events(m)
        self._programs(m)
        self._helpers(m)
        self._maps(m)
        return m

    def _events(self, m: Module) -> None:
        core = self._core
        wiring.connect(m, wiring.flipped(self.events), core.events)
        wiring.connect(m, wiring.flipped(self.contexts), core.contexts)
        wiring.connect(m, core.verdicts, wiring.flipped(self.verdicts))
        if self.config.returns_context:
            wiring.connect(m, core.contexts_after, wiring.flipped(self.contexts_after))
        m.d.comb += [
            core.budget.eq(self.budget),
            self.busy.eq(core.busy),
            self.instructions.eq(core.instructions),
            self.in_use.eq(core.in_use),
        ]

    def _programs(self, m: Module) -> None:
        core, store = self._core, self._store
        for name in ("write", "commit", "release", "bind"):
            wiring.connect(m, wiring.flipped(getattr(self, name)), getattr(store, name))
        wiring.connect(m, store.committed, wiring.flipped(self.committed))
        for name in ("refused", "released", "release_refused", "bound", "bind_refused"):
            m.d.comb += getattr(self, name).eq(getattr(store, name))
        m.d.comb += store.in_use.eq(self.program_in_use)
        for name in ("fetch_slot", "image_number", "event_program", "call_program"):
            m.d.comb += getattr(store, name).eq(getattr(core, name))
        for name in ("fetch_word", "fetch_next_high", "image_base", "image_limit"):
            m.d.comb += getattr(core, name).eq(getattr(store, name))
        for port in ("event", "call"):
            for name in (f"{port}_valid", f"{port}_image", f"{port}_base"):
                m.d.comb += getattr(core, name).eq(getattr(store, name))

    def _helpers(self, m: Module) -> None:
        core, unit = self._core, self._unit
        wiring.connect(m, core.calls, unit.calls)
        wiring.connect(m, unit.replies, core.replies)
        wiring.connect(m, unit.writes, core.writes)
        m.d.comb += [
            core.helper_thread.eq(unit.thread),
            unit.frames.eq(core.helper_frames),
            unit.context_length.eq(core.helper_context_length),
            unit.time_ns.eq(core.helper_time_ns),
            core.arguments_thread.eq(unit.arguments_thread),
            core.copy_in_stack.eq(unit.copy_in_stack),
            core.copy_offset.eq(unit.copy_offset),
            unit.copy_data.eq(core.copy_data),
            core.open.eq(unit.open),
        ]
        for ours, theirs in zip(unit.arguments, core.arguments, strict=True):
            m.d.comb += ours.eq(theirs)

    def _maps(self, m: Module) -> None:
        core, unit = self._core, self._unit
        asked, sent = core.accesses.payload, self.accesses[0]
        wiring.connect(m, wiring.flipped(self.access_results[0]), core.access_results)
        wiring.connect(m, unit.accesses, wiring.flipped(self.accesses[1]))
        wiring.connect(m, wiring.flipped(self.access_results[1]), unit.access_results)
        m.d.comb += [
            sent.valid.eq(core.accesses.valid),
            sent.payload.eq(asked),
            core.accesses.ready.eq(sent.ready),
            unit.access_thread.eq(asked.thread),
            unit.access_map.eq(asked.map),
            unit.access_place.eq(asked.place),
            unit.access_span.eq(asked.span),
            sent.payload.in_record.eq(unit.access_inside),
            unit.operand_row.eq(self.operand_row),
            self.operand.eq(unit.operand),
            unit.result_write.eq(self.result_write),
            unit.result_row.eq(self.result_row),
            unit.result_data.eq(self.result_data),
        ]
        wiring.connect(m, wiring.flipped(self.descriptors), unit.descriptors)
        wiring.connect(m, unit.operations, wiring.flipped(self.operations))
        wiring.connect(m, wiring.flipped(self.results), unit.results)
