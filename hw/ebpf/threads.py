"""What the core keeps of each thread, and whose turn it is."""

from amaranth import Array, Cat, Module, Signal, Value, unsigned
from amaranth.hdl import ShapeLike, ValueLike
from amaranth.lib import data

from fanweave.golden.ebpf.config import EbpfConfig
from fanweave.golden.isa.ebpf_machine import CALL_FRAMES, TAIL_CALLS
from fanweave.hw.ebpf.payloads import Cause
from fanweave.hw.ebpf.program_payloads import SLOT_BITS

__all__ = ["Place", "Threads"]


class Place(data.Struct):
    """Where an instruction is: a slot, or ``outside`` of the memory or image altogether."""

    slot: unsigned(SLOT_BITS)
    outside: unsigned(1)


class Threads:
    """Registers of all threads, each an array that a thread's number chooses from.

    Attributes
    ----------
    shape : range
        Of a thread's number.
    free, ready : Array
        A thread has no event; it has one, and its next instruction can be selected.
    slot, outside, image : Array
        Its next instruction, that this is no slot of the memory at all, and the image it runs.
    used : Array
        Images that it runs or may return to, a bit each.
    frame, count, tail_calls : Array
        Its frame, and what it has executed.
    length, tag : Array
        Of its event.
    target, writes, size, extends_sign : Array
        What becomes of a result that comes late.
    ending, cause : Array
        The event has ended, and why; its verdict is still to be given.
    """

    def __init__(self, m: Module, *, config: EbpfConfig) -> None:
        self.m = m
        self.count_of = config.threads
        self.images = config.images
        self.shape = range(config.threads)
        self.free = self._each("free", 1, init=1)
        self.ready = self._each("ready", 1)
        self.slot = self._each("slot", SLOT_BITS)
        self.outside = self._each("outside", 1)
        self.image = self._each("image", range(config.images))
        self.used = self._each("used", config.images)
        self.frame = self._each("frame", range(CALL_FRAMES))
        self.count = self._each("count", 32)
        self.tail_calls = self._each("tail_calls", range(TAIL_CALLS + 1))
        self.length = self._each("length", 16)
        self.tag = self._each("tag", 16)
        self.target = self._each("target", 4)
        self.writes = self._each("writes", 1)
        self.size = self._each("size", 2)
        self.extends_sign = self._each("extends_sign", 1)
        self.ending = self._each("ending", 1)
        self.cause = self._each("cause", Cause)

    def _each(self, name: str, shape: ShapeLike, init: int = 0) -> Array:
        if shape is Cause:
            return Array(Signal(Cause, name=f"{name}_{t}") for t in self.shape)
        return Array(Signal(shape, name=f"{name}_{t}", init=init) for t in self.shape)

    @property
    def in_use(self) -> Value:
        """Images that a thread with an event uses."""
        used: Value = self.used[0] & (~self.free[0]).replicate(self.images)
        for t in self.shape[1:]:
            used |= self.used[t] & (~self.free[t]).replicate(self.images)
        return used

    @property
    def all_free(self) -> Value:
        """No thread has an event."""
        return Cat(self.free).all()

    def image_bit(self, image: Value) -> Value:
        """The bit of an image."""
        return Cat(image == number for number in range(self.images))

    def choose(self, hold: Value) -> tuple[Signal, Signal]:
        """Select a thread that can go on, in turn, unless selection is held.

        Returns
        -------
        tuple of Signal
            Its number, and whether there is one.
        """
        m = self.m
        last = Signal(self.shape)
        chosen = Signal(self.shape)
        found = Signal()
        # From the least urgent on, so that the next in turn has the last word.
        for distance in reversed(self.shape):
            thread = (last + 1 + distance)[: len(last)]
            with m.If(self.ready[thread] & ~hold):
                m.d.comb += [chosen.eq(thread), found.eq(1)]
        with m.If(found):
            m.d.sync += [last.eq(chosen), self.ready[chosen].eq(0)]
        return chosen, found

    def claim(self, thread: Value, *, image: Value, base: Value, bound: Value) -> None:
        """An event is given to a thread, which begins; without a program it has ended already."""
        self.m.d.sync += [
            self.free[thread].eq(0),
            self.ready[thread].eq(1),
            self.image[thread].eq(image),
            self.used[thread].eq(self.image_bit(image) & bound.replicate(self.images)),
            self.slot[thread].eq(base),
            self.outside[thread].eq(0),
            self.frame[thread].eq(0),
            self.count[thread].eq(0),
            self.tail_calls[thread].eq(0),
            self.ending[thread].eq(~bound),
            self.cause[thread].eq(Cause.NO_PROGRAM),
        ]

    def end(self, thread: Value, cause: Value) -> None:
        """The event ends with its next turn."""
        self.m.d.sync += [self.ending[thread].eq(1), self.cause[thread].eq(cause)]

    def go_to(self, thread: Value, place: ValueLike) -> None:
        """The next instruction is at a `Place`."""
        where = data.View(Place, Value.cast(place))
        self.m.d.sync += [
            self.slot[thread].eq(where.slot),
            self.outside[thread].eq(where.outside),
        ]

    def go_back(self, thread: Value, *, slot: Value, image: Value, frame: Value) -> None:
        """A function returns to its caller."""
        self.m.d.sync += [
            self.slot[thread].eq(slot),
            self.outside[thread].eq(0),
            self.image[thread].eq(image),
            self.frame[thread].eq(frame),
        ]

    def go_on_in(self, thread: Value, *, image: Value, base: Value) -> None:
        """Another program takes over."""
        self.m.d.sync += [
            self.image[thread].eq(image),
            self.used[thread].eq(self.used[thread] | self.image_bit(image)),
            self.slot[thread].eq(base),
            self.outside[thread].eq(0),
            self.tail_calls[thread].eq(self.tail_calls[thread] + 1),
        ]
