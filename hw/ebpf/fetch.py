"""The core's first two stages: an instruction is chosen, decoded, and followed up early."""

from amaranth import Module, Mux, Signal, Value, signed
from amaranth.lib import data

from fanweave.golden.isa.ebpf import AtomicOperation, WideKind
from fanweave.golden.isa.ebpf_machine import CALL_FRAMES
from fanweave.hw.ebpf.core_blocks import CoreBlocks
from fanweave.hw.ebpf.decoder import Controls, Decoder, InstructionWord
from fanweave.hw.ebpf.threads import Place, Threads

__all__ = ["Cancel", "decode", "decoded_layout", "select"]


class Cancel:
    """*Execute* takes back the turn that *decode* gave too early.

    Attributes
    ----------
    enable, thread : Signal
        The instruction of that thread that is chosen in this cycle, if one is, has no effect.
    """

    def __init__(self, threads: Threads) -> None:
        self.enable = Signal(name="cancels")
        self.thread = Signal(threads.shape, name="cancelled")


def fetched_layout(threads: int) -> data.StructLayout:
    """What *select* hands to *decode*."""
    return data.StructLayout({"valid": 1, "thread": range(threads), "place": Place})


def decoded_layout(threads: int) -> data.StructLayout:
    """What *decode* hands to *execute*.

    ``follows`` says that the thread has its next turn already, at ``target`` if ``jumps`` and at
    ``behind`` otherwise; ``register`` is the one that is written, if one is.
    """
    return data.StructLayout(
        {
            "valid": 1,
            "thread": range(threads),
            "place": Place,
            "exhausted": 1,
            "frame": range(CALL_FRAMES),
            "word": InstructionWord,
            "high": 32,
            "controls": Controls,
            "register": 4,
            "behind": Place,
            "target": Place,
            "follows": 1,
            "jumps": 1,
        }
    )


def select(m: Module, threads: Threads, *, hold: Value, cancel: Cancel) -> tuple[Signal, data.View]:
    """Choose a thread that can go on, in turn.

    Returns
    -------
    tuple
        Its number, and what *decode* gets.
    """
    chosen, found = threads.choose(hold)
    fetched = Signal(fetched_layout(threads.count_of))
    m.d.sync += [
        fetched.valid.eq(found & ~(cancel.enable & (cancel.thread == chosen))),
        fetched.thread.eq(chosen),
        fetched.place.slot.eq(threads.slot[chosen]),
        fetched.place.outside.eq(threads.outside[chosen]),
    ]
    return chosen, fetched


def decode(
    m: Module,
    blocks: CoreBlocks,
    fetched: data.View,
    *,
    word: Value,
    high: Value,
    within: Value,
    budget: Value,
) -> data.View:
    """Decode an instruction and read registers; guess what comes next, if that is likely.

    Parameters
    ----------
    m : Module
        Of the core.
    blocks : CoreBlocks
        Of the core.
    fetched : View
        Of `fetched_layout`.
    word, high : Value
        The slot, and the upper half of the next one.
    within : Value
        The slot belongs to the image.
    budget : Value
        Instructions an event may execute.
    """
    threads, registers = blocks.threads, blocks.registers
    thread = fetched.thread
    m.submodules.decoder = decoder = Decoder()
    controls, instruction = decoder.controls, decoder.word
    frame = threads.frame[thread]
    decoded = Signal(decoded_layout(threads.count_of))
    names_map = controls.is_wide_load & instruction.src.matches(WideKind.MAP_FD, WideKind.MAP_INDEX)
    # The upper half of a name is the one field of an instruction that the decoder does not see.
    legal = controls.legal & ~(names_map & (high != 0))
    outside = fetched.place.outside | ~within
    exhausted = threads.count[thread] == budget
    m.d.comb += [
        Value.cast(instruction).eq(word),
        registers.read_thread.eq(thread),
        registers.read_frame.eq(frame),
        registers.read_dst.eq(instruction.dst),
        registers.read_src.eq(instruction.src),
        blocks.returns.read_thread.eq(thread),
        blocks.returns.read_frame.eq(frame),
    ]
    behind, target, jumps = _next_places(m, fetched.place.slot, instruction, controls)
    follows = Signal(name="follows")
    executes = fetched.valid & ~threads.ending[thread] & ~outside & ~exhausted & legal
    m.d.comb += follows.eq(executes & _can_follow(controls))
    with m.If(follows):
        threads.go_to(thread, Mux(jumps, target, behind))
        m.d.sync += threads.ready[thread].eq(1)
    m.d.sync += [
        decoded.valid.eq(fetched.valid),
        decoded.thread.eq(thread),
        decoded.place.slot.eq(fetched.place.slot),
        decoded.place.outside.eq(outside),
        decoded.exhausted.eq(exhausted),
        decoded.frame.eq(frame),
        decoded.word.eq(instruction),
        decoded.high.eq(high),
        decoded.controls.eq(controls),
        decoded.controls.legal.eq(legal),
        decoded.register.eq(_written_register(instruction, controls)),
        decoded.behind.eq(behind),
        decoded.target.eq(target),
        decoded.follows.eq(follows),
        decoded.jumps.eq(jumps),
    ]
    return decoded


def _can_follow(controls: data.View) -> Value:
    """Whether an instruction mostly neither ends the event nor leaves the pipeline.

    An access may do both, which only its address shows.
    """
    others = (controls.is_division, controls.is_helper_call, controls.is_local_call)
    result: Value = ~controls.is_exit
    for other in others:
        result &= ~other
    return result


def _next_places(
    m: Module, slot: Value, word: data.View, controls: data.View
) -> tuple[data.View, data.View, Signal]:
    """Where a thread goes on without a jump and with one, and which of both is likely.

    A jump backwards most likely closes a loop.
    """
    behind, target = Signal(Place, name="behind"), Signal(Place, name="target")
    distance, sum_ = Signal(signed(32), name="distance"), Signal(signed(34), name="sum")
    size = Mux(controls.is_wide_load, 2, 1)
    jumps = Signal(name="jumps")
    m.d.comb += [
        Value.cast(behind).eq(slot + size),
        distance.eq(Mux(controls.distance_in_imm, word.imm.as_signed(), word.offset.as_signed())),
        sum_.eq(slot + 1 + distance),
        target.slot.eq(sum_),
        target.outside.eq((sum_ < 0) | (sum_ >= 1 << len(target.slot))),
        jumps.eq(controls.is_goto | (controls.is_conditional & word.offset[-1])),
    ]
    return behind, target, jumps


def _written_register(word: data.View, controls: data.View) -> Value:
    """Register that an instruction writes, if it writes one."""
    exchange = word.imm[:8] == AtomicOperation.CMPXCHG
    return Mux(controls.is_atomic, Mux(exchange, 0, word.src), word.dst)
