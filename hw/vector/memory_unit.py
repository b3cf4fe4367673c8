"""Vector loads and stores."""

from amaranth import Cat, Module, Mux, Signal, unsigned
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from fanweave.hw.stream.queue import Queue
from fanweave.hw.vector.config import VectorConfig
from fanweave.hw.vector.instruction import vector_instruction
from fanweave.hw.vector.memory_checker import MemoryChecker
from fanweave.hw.vector.memory_issue import MemoryIssue
from fanweave.hw.vector.memory_load import LoadPath
from fanweave.hw.vector.memory_payloads import VectorRequest, memory_plan, memory_verdict
from fanweave.hw.vector.memory_walker import MemoryWalker
from fanweave.hw.vector.payloads import address_bits, read_port, write_port
from fanweave.hw.vector.read_share import ReadShare

__all__ = ["MemoryUnit"]

#: Steps of loads that may wait for their responses.
_WAITING = 8


class MemoryUnit(wiring.Component):
    """Checks accesses, then carries them out one after the other, overlapping.

    Every instruction is offered twice, in the same order: first to ``checks``, for its verdict,
    and then to ``instructions``, which carries out as much of it as the check has found
    reachable. So an instruction that traps is offered there too, for the elements before the one
    that cannot be reached. A verdict stays there as long as its instruction does, until it is
    taken.

    Parameters
    ----------
    config : VectorConfig

    Members
    -------
    checks : stream in of `vector_instruction`
        Transferred together with its verdict. While it is offered, v0 (if it is the mask) and the
        index registers are as the instruction has to see them, and they stay so until it is
        finished.
    verdicts : stream out of `memory_verdict`
    instructions : stream in of `vector_instruction`
    mask : In(vlen)
        v0.
    data, index : read ports
        Of stores; of indices.
    write : write port
    data_bank, write_bank : Out(1); data_slot, write_slot : Out
        The words are of Ventaglio's bank, not of the register file; and whose they are.
    requests, responses : arrays of streams, of `VectorRequest` out, of 64 bits in
        Responses are always taken.
    finished : Out(1); slot : Out
        An instruction is over: all its registers are read and written, in order of instructions.
    ascending : Out(1); progress : Out; writer : Out
        If the load in slot ``writer`` writes its words one after the other, it has written all of
        them below ``progress``.
    loads, stores : Out(1)
        From the cycle behind a verdict on until the last response, or the last write.
    """

    def __init__(self, *, config: VectorConfig) -> None:
        self.config = config
        instruction = stream.Signature(vector_instruction(config))
        slot = unsigned((config.slots - 1).bit_length())
        super().__init__(
            {
                "checks": In(instruction),
                "verdicts": Out(stream.Signature(memory_verdict(config))),
                "instructions": In(instruction),
                "mask": In(config.vlen),
                "data": Out(read_port(config)),
                "index": Out(read_port(config)),
                "write": Out(write_port(config)),
                "data_bank": Out(1),
                "data_slot": Out(slot),
                "write_bank": Out(1),
                "write_slot": Out(slot),
                "requests": Out(stream.Signature(VectorRequest)).array(config.lanes),
                "responses": In(stream.Signature(unsigned(64))).array(config.lanes),
                "finished": Out(1),
                "slot": Out(slot),
                "ascending": Out(1),
                "progress": Out(address_bits(config)),
                "writer": Out(slot),
                "loads": Out(1),
                "stores": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self.config
        m.submodules.checker = checker = MemoryChecker(config=config)
        m.submodules.plans = plans = Queue(shape=memory_plan(config), depth=config.slots)
        m.submodules.walker = walker = MemoryWalker(config=config)
        m.submodules.issue = issue = MemoryIssue(config=config)
        m.submodules.load = load = LoadPath(config=config, depth=_WAITING)
        m.submodules.share = share = ReadShare(config=config)
        for source, sink in (
            (wiring.flipped(self.checks), checker.checks),
            (checker.verdicts, wiring.flipped(self.verdicts)),
            (checker.plans, plans.i),
            (plans.o, walker.plans),
            (wiring.flipped(self.instructions), walker.instructions),
            (walker.steps, issue.steps),
            (issue.loads, load.steps),
            (issue.index, share.kept),
            (checker.index, share.passing),
            (share.port, wiring.flipped(self.index)),
            (issue.data, wiring.flipped(self.data)),
            (load.write, wiring.flipped(self.write)),
        ):
            wiring.connect(m, source, sink)
        m.d.comb += [
            checker.mask.eq(self.mask),
            walker.mask.eq(self.mask),
            issue.index_register.eq(walker.index_register),
            issue.loads_idle.eq(load.idle),
            self.data_bank.eq(issue.data_bank),
            self.data_slot.eq(issue.data_slot),
            self.write_bank.eq(load.step.bank),
            self.write_slot.eq(load.step.slot),
            self.finished.eq(load.finished | issue.finished),
            self.slot.eq(Mux(load.finished, load.step.slot, issue.step.slot)),
        ]
        for lane in range(config.lanes):
            wiring.connect(m, issue.requests[lane], wiring.flipped(self.requests[lane]))
            response = self.responses[lane]
            m.d.comb += [
                response.ready.eq(1),
                issue.answered[lane].eq(response.valid),
                load.responses[lane].valid.eq(response.valid & (issue.stores == 0)),
                load.responses[lane].payload.eq(response.payload),
            ]
        self._progress(m, load)
        self._busy(m, checker, issue, load)
        return m

    def _progress(self, m: Module, load: LoadPath) -> None:
        step = load.step
        with m.If(load.moved & step.sink):
            m.d.sync += [
                self.ascending.eq(step.ascending & ~step.last),
                self.writer.eq(step.slot),
                self.progress.eq(step.register + step.complete),
            ]
        with m.If(load.finished):
            m.d.sync += self.ascending.eq(0)

    def _busy(self, m: Module, checker: MemoryChecker, issue: MemoryIssue, load: LoadPath) -> None:
        """Count accesses between their verdict and their end."""
        plan = checker.plans.payload
        given = checker.plans.valid & checker.plans.ready
        for store, finished, busy in (
            (0, load.finished, self.loads),
            (1, issue.finished, self.stores),
        ):
            count = Signal(range(2 * self.config.slots + 4), name=f"live_{busy.name}")
            m.d.sync += count.eq(count + (given & (plan.store == store)) - finished)
            m.d.comb += busy.eq((count != 0) | (Cat(issue.stores).any() if store else 0))
