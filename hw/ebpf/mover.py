"""Moves bytes between what a program can reach and the words of a helper's operand."""

from amaranth import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from fanweave.golden.isa.ebpf_machine import FRAME_BYTES, MAP_SPAN, Region
from fanweave.hw.ebpf.helper_payloads import CopyWrite
from fanweave.hw.ebpf.maps.payloads import PLACE_BITS, Access, AccessResult
from fanweave.hw.ebpf.payloads import THREAD_BITS, Cause

__all__ = ["Move", "Mover"]

_WORD = 8
_DOUBLE_WORD = 3  # size field of 8 bytes


class Move(data.Struct):
    """``length`` bytes at an address; read into words, stored from words, or only checked.

    What is checked is whether they could be stored.
    """

    address: 64
    length: 16
    stores: 1
    probes: 1


class Mover(wiring.Component):
    """A word of 8 bytes a cycle from or to stack and context, and one after the other of a map.

    All bytes are checked before the first is touched. A move of no bytes does nothing.

    A move takes a cycle for each word of stack or context and one more to read; of a map, an
    access for each word, and for what is left of the last one to store up to three. So it ends:
    the core takes a word to store in bounded time, and the map unit answers each access.

    Members
    -------
    start : In(1); move : In(Move); thread : In
        Begin; the thread holds still until it is done.
    frames : In; context_length : In
        Frames of the stack that the thread may use, and bytes of its context.
    done : Out(1); cause : Out(Cause)
        The move ended in this cycle, and why if it was not possible; of one that needs no steps
        that is the cycle of its start.
    word : Out; word_write : Out(1); word_value : Out(64)
        A word that was read, bytes behind the length zero.
    word_data : In(64)
        The word that is stored next; combinational.
    copy_in_stack : Out(1); copy_offset : Out; copy_data : In(64)
        A read of stack or context, whose data comes a cycle later.
    writes : stream out of `CopyWrite`
    accesses : stream out of `Access`; access_results : stream in of `AccessResult`
        Its ``in_record`` is left to be filled in.
    """

    def __init__(self) -> None:
        super().__init__(
            {
                "start": In(1),
                "move": In(Move),
                "thread": In(THREAD_BITS),
                "frames": In(4),
                "context_length": In(16),
                "done": Out(1),
                "cause": Out(Cause),
                "word": Out(16),
                "word_write": Out(1),
                "word_value": Out(64),
                "word_data": In(64),
                "copy_in_stack": Out(1),
                "copy_offset": Out(16),
                "copy_data": In(64),
                "writes": Out(stream.Signature(CopyWrite)),
                "accesses": Out(stream.Signature(Access)),
                "access_results": In(stream.Signature(AccessResult)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        self._move = Signal(Move)  # what is left of it
        self._position = Signal(16)  # bytes that were moved
        self._behind = Signal(16)  # the word that is on its way
        self._arriving = Signal(4)  # its bytes
        self._in_stack = Signal()
        with m.FSM(name="mover"):
            with m.State("IDLE"):
                self._begin(m)
            with m.State("READ"):
                self._read(m)
            with m.State("WRITE"):
                self._write(m)
            with m.State("ACCESS"):
                self._access(m)
            with m.State("ANSWER"):
                self._answer(m)
        return m

    def _end(self, m: Module, cause: Value | Cause = Cause.NONE) -> None:
        m.d.comb += [self.done.eq(1), self.cause.eq(cause)]
        m.next = "IDLE"

    def _begin(self, m: Module) -> None:
        """Where the bytes are, and whether all of them are there; the first read begins at once."""
        move = self.move
        address = move.address
        behind = Signal(30)
        in_stack, in_context, in_values = Signal(), Signal(), Signal()
        m.d.comb += [
            behind.eq(address[:28] + move.length),
            in_stack.eq(
                (address[28:] == Region.STACK >> 28) & (behind <= self.frames * FRAME_BYTES)
            ),
            in_context.eq((address[28:] == Region.CONTEXT >> 28) & (behind <= self.context_length)),
            in_values.eq(address[30:] == Region.MAP_VALUES >> 30),
            self.copy_in_stack.eq(in_stack),
            self.copy_offset.eq(address),
        ]
        m.d.sync += self._in_stack.eq(in_stack)
        with m.If(self.start):
            m.d.sync += [self._move.eq(move), self._position.eq(0), self._behind.eq(0)]
            with m.If(move.length == 0):
                self._end(m)
            with m.Elif(in_values):
                m.next = "ACCESS"
            with m.Elif(~in_stack & ~in_context):
                self._end(m, Cause.OUT_OF_BOUNDS)
            with m.Elif(move.probes):
                self._end(m)
            with m.Elif(move.stores):
                m.next = "WRITE"
            with m.Else():
                count = _piece(move)
                m.d.sync += [
                    self._move.address.eq(address + count),
                    self._move.length.eq(move.length - count),
                    self._position.eq(count),
                    self._arriving.eq(count),
                ]
                m.next = "READ"

    def _advance(self, m: Module, count: Value) -> None:
        m.d.sync += [
            self._move.address.eq(self._move.address + count),
            self._move.length.eq(self._move.length - count),
            self._position.eq(self._position + count),
        ]

    def _take_word(self, m: Module, number: Value, value: Value, count: Value) -> None:
        """Give a word that was read, without what lies behind the end."""
        shift = Cat(Const(0, 3), count)
        m.d.comb += [
            self.word.eq(number),
            self.word_write.eq(1),
            self.word_value.eq(value & ~(Const((1 << 64) - 1, 64) << shift)[:64]),
        ]

    def _read(self, m: Module) -> None:
        """A word arrives while the next one is asked for."""
        m.d.comb += [
            self.copy_in_stack.eq(self._in_stack),
            self.copy_offset.eq(self._move.address),
        ]
        self._take_word(m, self._behind, self.copy_data, self._arriving)
        m.d.sync += [self._arriving.eq(_piece(self._move)), self._behind.eq(self._position >> 3)]
        self._advance(m, _piece(self._move))
        with m.If(self._move.length == 0):
            self._end(m)

    def _write(self, m: Module) -> None:
        request = self.writes.payload
        m.d.comb += [
            self.word.eq(self._position >> 3),
            self.writes.valid.eq(1),
            request.in_stack.eq(self._in_stack),
            request.offset.eq(self._move.address),
            request.size.eq(_piece(self._move)),
            request.data.eq(self.word_data),
        ]
        with m.If(self.writes.ready):
            self._advance(m, _piece(self._move))
            with m.If(self._move.length <= _WORD):
                self._end(m)

    def _access(self, m: Module) -> None:
        """Ask for the next bytes of a map's value."""
        move, request = self._move, self.accesses.payload
        place = move.address[:PLACE_BITS]
        assert MAP_SPAN == 1 << PLACE_BITS
        size, count = Signal(2), Signal(4)
        # A store is of 8, 4, 2 or 1 bytes; what is read too much is cut off.
        with m.If(~move.stores | (move.length >= 8)):
            m.d.comb += [size.eq(_DOUBLE_WORD), count.eq(_piece(self._move))]
        with m.Elif(move.length >= 4):
            m.d.comb += [size.eq(0), count.eq(4)]
        with m.Elif(move.length >= 2):
            m.d.comb += [size.eq(1), count.eq(2)]
        with m.Else():
            m.d.comb += [size.eq(2), count.eq(1)]
        m.d.comb += [
            self.word.eq(self._position >> 3),
            self.accesses.valid.eq(1),
            request.thread.eq(self.thread),
            request.map.eq(move.address[PLACE_BITS:30]),
            request.place.eq(place),
            request.span.eq(move.length),
            request.size.eq(size),
            request.stores.eq(move.stores & ~move.probes),
            request.probes.eq(move.probes),
            request.loads.eq(~move.stores & ~move.probes),
            request.source.eq(self.word_data >> Cat(Const(0, 3), self._position[:3])),
        ]
        with m.If(self.accesses.ready):
            m.d.sync += [self._arriving.eq(count), self._behind.eq(self._position >> 3)]
            m.next = "ANSWER"

    def _answer(self, m: Module) -> None:
        move, result = self._move, self.access_results.payload
        m.d.comb += self.access_results.ready.eq(1)
        with m.If(self.access_results.valid):
            with m.If(result.cause != Cause.NONE):
                self._end(m, result.cause)
            with m.Elif(move.probes):
                self._end(m)
            with m.Else():
                with m.If(~move.stores):
                    self._take_word(m, self._behind, result.value, self._arriving)
                self._advance(m, self._arriving)
                m.next = "ACCESS"
                with m.If(move.length == self._arriving):
                    self._end(m)


def _piece(move: data.View) -> Value:
    """Bytes of the next word."""
    return Mux(move.length >= _WORD, _WORD, move.length)[:4]
