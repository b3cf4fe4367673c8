"""Turns a vector load or store into steps, each of a word of the register file."""

from amaranth import Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from fanweave.hw.vector.config import VectorConfig
from fanweave.hw.vector.instruction import vector_instruction
from fanweave.hw.vector.memory_blocks import BlockWalk, GroupWalk
from fanweave.hw.vector.memory_extent import MemoryExtent
from fanweave.hw.vector.memory_payloads import memory_plan, memory_step
from fanweave.hw.vector.payloads import address_bits

__all__ = ["MemoryWalker"]


class MemoryWalker(wiring.Component):
    """Walks through one access after the other, a step a cycle, without a pause between them.

    Parameters
    ----------
    config : VectorConfig

    Members
    -------
    instructions : stream in of `vector_instruction`; plans : stream in of `memory_plan`
        A plan is transferred together with its instruction.
    mask : In(vlen)
    steps : stream out of `memory_step`
    index_register : Out
        Word of the register file where the step's indices are.
    """

    def __init__(self, *, config: VectorConfig) -> None:
        self.config = config
        super().__init__(
            {
                "instructions": In(stream.Signature(vector_instruction(config))),
                "plans": In(stream.Signature(memory_plan(config))),
                "mask": In(config.vlen),
                "steps": Out(stream.Signature(memory_step(config))),
                "index_register": Out(address_bits(config)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self.config
        m.submodules.extent = extent = MemoryExtent(config=config)
        m.submodules.blocks = blocks = BlockWalk(config=config)
        m.submodules.groups = groups = GroupWalk(config=config)
        instruction = Signal(vector_instruction(config))
        plan = Signal(memory_plan(config))
        busy, first, begins, moves, skips, ends = (
            Signal(name=name) for name in ("busy", "first", "begins", "moves", "skips", "ends")
        )
        step = self.steps.payload
        m.d.comb += [
            extent.instruction.eq(instruction),
            begins.eq(self.instructions.valid & self.plans.valid & (~busy | (moves & ends))),
            self.instructions.ready.eq(begins),
            self.plans.ready.eq(begins),
            self.steps.valid.eq(busy & ~skips),
            moves.eq(busy & (skips | self.steps.ready)),
            step.eq(Mux(plan.contiguous, blocks.walk.step, groups.walk.step)),
            skips.eq(~plan.contiguous & groups.walk.skips),
            ends.eq(Mux(plan.contiguous, blocks.walk.ends, groups.walk.ends)),
            step.slot.eq(instruction.slot),
            step.store.eq(plan.store),
            step.size.eq(extent.size),
            step.first.eq(first),
            step.last.eq(ends),
            self.index_register.eq(groups.walk.index_register),
        ]
        for way in (blocks.walk, groups.walk):
            m.d.comb += [
                way.instruction.eq(instruction),
                way.plan.eq(plan),
                way.controls.eq(extent.controls),
                way.size.eq(extent.size),
                way.fields.eq(extent.fields),
                way.mask.eq(self.mask),
                way.begin.eq(begins),
                way.moves.eq(moves),
            ]
        with m.If(moves & ~skips):
            m.d.sync += first.eq(0)
        with m.If(begins):
            m.d.sync += [
                instruction.eq(self.instructions.payload),
                plan.eq(self.plans.payload),
                busy.eq(1),
                first.eq(1),
            ]
        with m.Elif(moves & ends):
            m.d.sync += busy.eq(0)
        return m
