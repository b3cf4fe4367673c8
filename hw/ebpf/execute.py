"""The core's third stage: an instruction computes, decides where to go on, or ends its event."""

from amaranth import Cat, Module, Mux, Signal, Value
from amaranth.lib import data

from fanweave.golden.isa.ebpf import WideKind
from fanweave.golden.isa.ebpf_helpers import HELPERS
from fanweave.golden.isa.ebpf_machine import CALL_FRAMES, MAP_SPAN, Region
from fanweave.hw.ebpf.alu import Alu, Comparator
from fanweave.hw.ebpf.core_blocks import CoreBlocks
from fanweave.hw.ebpf.fetch import Cancel
from fanweave.hw.ebpf.memory_access import start_access
from fanweave.hw.ebpf.payloads import Cause
from fanweave.hw.ebpf.program_payloads import SLOT_BITS
from fanweave.hw.ebpf.requests import call, divide, reach_values
from fanweave.hw.ebpf.write_back import executed_layout

__all__ = ["Execute"]


class Execute:
    """Logic of the stage, in the core's module.

    Parameters
    ----------
    m : Module
        Of the core.
    blocks : CoreBlocks
        Of the core.
    decoded : View
        Of `decoded_layout`.
    cancel : Cancel
        Is driven.
    open_records : Value
        Threads that have open records, a bit each.

    Attributes
    ----------
    completes : Signal
        An instruction is executed in this cycle.
    executed : View
        Of `executed_layout`: what *write back* needs.
    """

    def __init__(
        self,
        m: Module,
        blocks: CoreBlocks,
        decoded: data.View,
        *,
        cancel: Cancel,
        open_records: Value,
    ) -> None:
        self.m = m
        self.blocks = blocks
        self.decoded = decoded
        self.cancel = cancel
        self.completes = Signal(name="completes")
        self.executed = Signal(executed_layout(blocks.threads.count_of), name="executed")
        self._operands()
        self._access = access = start_access(
            m, blocks, decoded, Mux(decoded.controls.is_load, blocks.registers.src, self._dst)
        )
        cause, counts = self._cause()
        self._outcome(cause, counts)
        self._go_on()
        self._return_and_call()
        controls, goes_on = decoded.controls, self._goes_on
        has_open = open_records.bit_select(decoded.thread, 1)
        divide(
            m,
            blocks,
            decoded,
            dst=self._dst,
            src=self._src,
            enable=goes_on & controls.is_division,
        )
        reach_values(m, blocks, decoded, access, self._src, goes_on & access.in_values)
        call(
            m,
            blocks,
            decoded,
            enable=goes_on & controls.is_helper_call,
            cleans=self._ends & has_open,
        )
        self._end(cause, has_open)
        self._hand_on()

    def _operands(self) -> None:
        m, decoded, registers = self.m, self.decoded, self.blocks.registers
        word, controls = decoded.word, decoded.controls
        m.submodules.alu = self._alu = alu = Alu()
        m.submodules.comparator = self._comparator = comparator = Comparator()
        self._dst, self._src = dst, src = Signal(64, name="dst"), Signal(64, name="src")
        imm = Signal(64, name="imm")
        m.d.comb += [
            registers.length.eq(self.blocks.threads.length[decoded.thread]),
            dst.eq(registers.dst),
            imm.eq(word.imm.as_signed()),
            src.eq(Mux(controls.register_source, registers.src, imm)),
            alu.operation.eq(controls.operation),
            alu.wide.eq(controls.wide),
            alu.dst.eq(dst),
            alu.src.eq(src),
            alu.extend.eq(word.offset[:6]),
            alu.bits.eq(word.imm[:7]),
            alu.swap.eq(controls.wide | controls.register_source),
            comparator.operation.eq(controls.operation),
            comparator.wide.eq(controls.wide),
            comparator.dst.eq(dst),
            comparator.src.eq(src),
        ]

    def _cause(self) -> tuple[Signal, Signal]:
        """Why the event ends here, if it does, and whether the instruction counts as executed."""
        m, decoded, access = self.m, self.decoded, self._access
        controls, threads = decoded.controls, self.blocks.threads
        cause = Signal(Cause, name="cause")
        counts = Signal(name="counts")
        m.d.comb += counts.eq(1)
        with m.If(threads.ending[decoded.thread]):
            m.d.comb += [cause.eq(threads.cause[decoded.thread]), counts.eq(0)]
        with m.Elif(decoded.place.outside):
            m.d.comb += [cause.eq(Cause.END_OF_PROGRAM), counts.eq(0)]
        with m.Elif(decoded.exhausted):
            m.d.comb += [cause.eq(Cause.WATCHDOG), counts.eq(0)]
        with m.Elif(~controls.legal):
            m.d.comb += cause.eq(Cause.ILLEGAL_INSTRUCTION)
        with m.Elif(controls.is_atomic & ~access.aligned):
            m.d.comb += cause.eq(Cause.MISALIGNED_ATOMIC)
        with m.Elif(~access.legal):
            m.d.comb += cause.eq(Cause.OUT_OF_BOUNDS)
        with m.Elif(controls.is_local_call & (decoded.frame == CALL_FRAMES - 1)):
            m.d.comb += cause.eq(Cause.CALL_DEPTH)
        with m.Elif(controls.is_helper_call & ~decoded.word.imm.matches(*HELPERS)):
            m.d.comb += cause.eq(Cause.UNKNOWN_HELPER)
        return cause, counts

    def _outcome(self, cause: Value, counts: Value) -> None:
        """Whether the instruction has to wait, the thread goes on, or its event ends."""
        m, decoded, access = self.m, self.decoded, self._access
        controls, thread, wait = decoded.controls, decoded.thread, self.blocks.wait
        self._goes_on, self._ends = Signal(name="goes_on"), Signal(name="ends")
        leaves = self.blocks.threads.ending[thread] | (controls.is_exit & (decoded.frame == 0))
        stays = (cause == Cause.NONE) & ~leaves
        done = decoded.valid & ~wait.waits
        # For waveforms: the slot that is executed, under a bit that says whether there is one.
        executing = Signal(SLOT_BITS + 1, name="executing")
        m.d.comb += [
            wait.executes.eq(decoded.valid),
            wait.thread.eq(thread),
            wait.whole.eq(~stays | controls.is_helper_call),
            wait.touches.eq(access.in_context),
            wait.behind.eq(access.behind),
            self._goes_on.eq(done & stays),
            self._ends.eq(done & ~stays),
            self.completes.eq(done & counts),
            executing.eq(Mux(done, Cat(decoded.place.slot, 1), 0)),
        ]

    def _go_on(self) -> None:
        """Where the thread goes on, and whether it can at once."""
        m, decoded, access = self.m, self.decoded, self._access
        controls, thread, threads = decoded.controls, decoded.thread, self.blocks.threads
        jumps, strays, waits = Signal(name="taken"), Signal(name="strays"), Signal(name="waits")
        m.d.comb += [
            jumps.eq(
                controls.is_goto
                | controls.is_local_call
                | (controls.is_conditional & self._comparator.taken)
            ),
            strays.eq(jumps != decoded.jumps),
            waits.eq(controls.is_division | controls.is_helper_call | access.in_values),
            self.cancel.thread.eq(thread),
            self.cancel.enable.eq(
                decoded.valid & decoded.follows & ~(self._goes_on & ~strays & ~waits)
            ),
        ]
        with m.If(self.cancel.enable):
            m.d.sync += threads.ready[thread].eq(0)
        with m.If(self._goes_on & (~decoded.follows | strays)):
            threads.go_to(thread, Mux(jumps, decoded.target, decoded.behind))
            m.d.sync += threads.ready[thread].eq(~waits)
        with m.If(self.blocks.wait.waits):
            threads.go_to(thread, decoded.place)
        with m.If(self._goes_on & waits):
            m.d.sync += [
                threads.target[thread].eq(decoded.register),
                threads.writes[thread].eq(
                    controls.is_load | (controls.is_atomic & decoded.word.imm[0])
                ),
                threads.size[thread].eq(controls.size),
                threads.extends_sign[thread].eq(controls.extends_sign),
            ]

    def _return_and_call(self) -> None:
        """Local functions."""
        m, decoded, blocks = self.m, self.decoded, self.blocks
        thread, threads, returns = decoded.thread, blocks.threads, blocks.returns
        calls = self._goes_on & decoded.controls.is_local_call
        inner = (decoded.frame + 1)[: len(decoded.frame)]
        m.d.comb += [
            returns.write_enable.eq(calls),
            returns.write_thread.eq(thread),
            returns.write_frame.eq(inner),
            returns.write_slot.eq(decoded.behind.slot),
            returns.write_image.eq(threads.image[thread]),
            blocks.registers.call_enable.eq(calls),
            blocks.registers.call_thread.eq(thread),
            blocks.registers.call_frame.eq(inner),
        ]
        with m.If(calls):
            m.d.sync += threads.frame[thread].eq(inner)
        with m.If(self._goes_on & decoded.controls.is_exit):
            threads.go_back(thread, slot=returns.slot, image=returns.image, frame=decoded.frame - 1)

    def _end(self, cause: Value, has_open: Value) -> None:
        """Count the instruction; give the verdict if it was the last one."""
        m, thread, threads = self.m, self.decoded.thread, self.blocks.threads
        count = Signal(32, name="count")
        m.d.comb += count.eq(threads.count[thread] + self.completes)
        with m.If(self.completes):
            m.d.sync += threads.count[thread].eq(count)
        with m.If(self._ends):
            threads.end(thread, cause)
        verdicts = self.blocks.verdicts.i
        entry = verdicts.payload
        m.d.comb += [
            verdicts.valid.eq(self._ends & ~has_open),
            entry.thread.eq(thread),
            entry.length.eq(threads.length[thread]),
            entry.verdict.r0.eq(self.blocks.registers.r0),
            entry.verdict.cause.eq(cause),
            entry.verdict.tag.eq(threads.tag[thread]),
            entry.verdict.instructions.eq(count),
        ]

    def _hand_on(self) -> None:
        """What *write back* needs."""
        m, decoded, access, executed = self.m, self.decoded, self._access, self.executed
        word, controls = decoded.word, decoded.controls
        loads = (controls.is_load | (controls.is_atomic & word.imm[0])) & ~access.in_values
        stores = (controls.is_store | controls.is_atomic) & ~access.in_values
        wide = _wide_value(m, word, decoded.high)
        m.d.sync += [
            executed.writes.eq(self._goes_on & (controls.is_alu | controls.is_wide_load | loads)),
            executed.stores.eq(self._goes_on & stores),
            executed.atomic.eq(controls.is_atomic),
            executed.thread.eq(decoded.thread),
            executed.frame.eq(decoded.frame),
            executed.register.eq(decoded.register),
            executed.value.eq(Mux(controls.is_wide_load, wide, self._alu.result)),
            executed.source.eq(self._src),
            executed.r0.eq(self.blocks.registers.r0),
            executed.from_memory.eq(controls.is_load | controls.is_atomic),
            executed.in_stack.eq(access.in_stack),
            executed.offset.eq(access.offset),
            executed.size.eq(controls.size),
            executed.extends_sign.eq(controls.extends_sign),
            executed.atomic_operation.eq(word.imm[:8]),
        ]


def _wide_value(m: Module, word: data.View, high: Value) -> Value:
    """What a 64-bit immediate load gives."""
    handle, address = Signal(64, name="handle"), Signal(64, name="map_address")
    number = word.imm.as_signed()
    # Through signals, which extend the sign of what is narrower.
    m.d.comb += [
        handle.eq(Region.MAP_HANDLES + number),
        address.eq(Region.MAP_VALUES + number * MAP_SPAN + high),
    ]
    is_handle = word.src.matches(WideKind.MAP_FD, WideKind.MAP_INDEX)
    return Mux(word.src == WideKind.IMMEDIATE, Cat(word.imm, high), Mux(is_handle, handle, address))
