"""What memory answers, on its way into the register file."""

from amaranth import Cat, Module, Mux, Signal, Value, unsigned
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from fanweave.hw.stream.queue import Queue
from fanweave.hw.vector.config import VectorConfig
from fanweave.hw.vector.memory_payloads import memory_step
from fanweave.hw.vector.payloads import write_port

__all__ = ["LoadPath", "rotated"]


def rotated(value: Value, by: Value, unit: int) -> Value:
    """Bits that go up by so many places of `unit` bits; those that fall out come in below."""
    for place in range(len(by)):
        value = Mux(by[place], value.rotate_left(unit << place), value)
    return value


class LoadPath(wiring.Component):
    """Pairs the steps of loads with their responses, and writes what they bring.

    Parameters
    ----------
    config : VectorConfig
    depth : int
        Steps that may wait for responses.

    Members
    -------
    steps : stream in of `memory_step`
        Steps whose requests have all been made; ``lanes`` are the ports that will respond.
    responses : array of streams in of 64 bits
        Of loads only; room is there for all that may come.
    write : write port
    idle : Out(1)
        No step waits.
    finished : Out(1)
        The last step of an access is over; ``step`` is that one.
    step : Out of `memory_step`
        The oldest step, if it is there.
    moved : Out(1)
        It is over.
    """

    def __init__(self, *, config: VectorConfig, depth: int) -> None:
        self.config, self.depth = config, depth
        super().__init__(
            {
                "steps": In(stream.Signature(memory_step(config))),
                "responses": In(stream.Signature(unsigned(64))).array(config.lanes),
                "write": Out(write_port(config)),
                "idle": Out(1),
                "finished": Out(1),
                "step": Out(memory_step(config)),
                "moved": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self.config
        m.submodules.waiting = waiting = Queue(shape=memory_step(config), depth=self.depth)
        step = self.step
        wiring.connect(m, wiring.flipped(self.steps), waiting.i)
        arrived, there = Signal(config.lanes), Signal()
        words = []
        for lane in range(config.lanes):
            # One step more than waits here may have asked.
            queue = Queue(shape=unsigned(64), depth=self.depth + 1)
            m.submodules[f"arrived_{lane}"] = queue
            wiring.connect(m, wiring.flipped(self.responses[lane]), queue.i)
            m.d.comb += [
                arrived[lane].eq(queue.o.valid),
                queue.o.ready.eq(self.moved & step.lanes[lane]),
            ]
            words.append(queue.o.payload)
        m.d.comb += [
            step.eq(waiting.o.payload),
            there.eq(waiting.o.valid & ~(step.lanes & ~arrived).any()),
            self.write.valid.eq(there & step.sink),
            self.write.address.eq(step.register),
            self.write.enable.eq(step.enable),
            self.moved.eq(there & (~step.sink | self.write.ready)),
            waiting.o.ready.eq(self.moved),
            self.finished.eq(self.moved & step.last),
            self.idle.eq(~waiting.o.valid),
        ]
        self._blocks(m, Cat(words))
        self._elements(m, words)
        return m

    def _blocks(self, m: Module, block: Value) -> None:
        """This block's bytes that do not wrap around, and those of the one before that do."""
        step, width = self.step, self.config.word_bytes
        turned, before = Signal(8 * width), Signal(8 * width)
        m.d.comb += turned.eq(rotated(block, step.rotate, 8))
        with m.If(self.moved & step.blocks & step.source):
            m.d.sync += before.eq(turned)
        with m.If(step.blocks):
            for place in range(width):
                part = slice(8 * place, 8 * place + 8)
                m.d.comb += self.write.value[part].eq(
                    Mux(step.rotate <= place, turned[part], before[part])
                )

    def _elements(self, m: Module, words: list[Signal]) -> None:
        """An element out of each port's word, in all chunks of the register's word alike."""
        step = self.step
        moved = []
        for lane, word in enumerate(words):
            element = Signal(32, name=f"element_{lane}")
            m.d.comb += element.eq(word >> (step.addresses[lane][:3] << 3))
            moved.append(element)
        with m.If(~step.blocks), m.Switch(step.size):
            for size in range(3):
                with m.Case(size):
                    chunk = Cat(element[: 8 << size] for element in moved)
                    m.d.comb += self.write.value.eq(chunk.replicate(8 >> size))
