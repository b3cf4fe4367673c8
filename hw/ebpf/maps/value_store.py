"""Memory of all values: four words a cycle from any word on, or bytes of one for an access."""

from amaranth import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from fanweave.golden.isa.ebpf_engine import BANK_WORDS
from fanweave.hw.ebpf.atomic import changed
from fanweave.hw.ebpf.bytes import bytes_of, low_bytes
from fanweave.hw.ebpf.maps.payloads import BEAT_BITS

__all__ = ["StoreCommand", "ValueStore"]

_BANK_BITS = (BANK_WORDS - 1).bit_length()


class StoreCommand(data.Struct):
    """One visit to the memory.

    Words are counted from ``base``, a multiple of the banks; ``offset`` counts on from there and
    comes around at ``mask`` + 1, a multiple of the banks too. A beat (``access`` = 0) writes the
    bytes of ``enables``. An access works on ``size`` bytes from ``byte`` of the first word on.
    """

    base: 16
    offset: 20
    mask: 20
    enables: 8 * BANK_WORDS
    data: BEAT_BITS
    access: 1
    byte: 3
    size: 2
    stores: 1
    atomic: 1
    atomic_operation: 8
    r0: 64


class ValueStore(wiring.Component):
    """Reads in one cycle and writes in the next; visits take effect in the order they came.

    A visit waits a cycle when it would read what the one before is just writing, so an atomic
    operation never works on an old value: two visits to one word are always two cycles apart.

    Parameters
    ----------
    words : int
        Words of 8 bytes; a power of two.

    Members
    -------
    i : stream in of `StoreCommand`
    done : Out(1)
        A visit ends in this cycle, the one after it was taken or later.
    words_read : Out(BEAT_BITS)
        With ``done``: the words, the first one lowest.
    value_read : Out(64)
        With ``done``: the bytes of an access, the others zero.
    """

    def __init__(self, *, words: int) -> None:
        if words < BANK_WORDS or words & words - 1:
            raise ValueError(f"words = {words} must be a power of two of at least {BANK_WORDS}")
        self.words = words
        super().__init__(
            {
                "i": In(stream.Signature(StoreCommand)),
                "done": Out(1),
                "words_read": Out(BEAT_BITS),
                "value_read": Out(64),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        command = self.i.payload
        taken = Signal()
        held = Signal(StoreCommand)
        valid = Signal()
        m.d.comb += [taken.eq(self.i.valid & self.i.ready), self.done.eq(valid)]
        m.d.sync += valid.eq(taken)
        with m.If(taken):
            m.d.sync += held.eq(command)

        enables, stored = self._stored(m, held)
        rows = self.words // BANK_WORDS
        collides = Signal(BANK_WORDS)
        read_words = []
        for bank in range(BANK_WORDS):
            memory = Memory(shape=64, depth=rows, init=[])
            m.submodules[f"bank_{bank}"] = memory
            read, write = memory.read_port(), memory.write_port(granularity=8)
            row = self._row(command, bank)
            written = Signal(range(max(rows, 2)), name=f"row_{bank}")
            place = _distance(bank, held.offset)
            with m.If(taken):
                m.d.sync += written.eq(row)
            m.d.comb += [
                read.addr.eq(row),
                read.en.eq(taken),
                write.addr.eq(written),
                write.data.eq(stored.word_select(place, 64)),
                write.en.eq(Mux(valid, enables.word_select(place, 8), 0)),
                collides[bank].eq(write.en.any() & (row == written)),
            ]
            read_words.append(read.data)
        m.d.comb += self.i.ready.eq(~collides.any())
        turned = Cat(read_words)
        for place in range(BANK_WORDS):
            bank = (held.offset + place)[:_BANK_BITS]
            m.d.comb += self.words_read.word_select(place, 64).eq(turned.word_select(bank, 64))
        return m

    def _row(self, command: data.View, bank: int) -> Value:
        """Row of a bank's word among the four from the offset on."""
        word = (command.offset + _distance(bank, command.offset))[:20] & command.mask
        return ((command.base + word) >> _BANK_BITS)[
            : max((self.words // BANK_WORDS - 1).bit_length(), 1)
        ]

    def _stored(self, m: Module, held: data.View) -> tuple[Signal, Signal]:
        """Bytes that are written, and what, the first word lowest."""
        shift = Cat(Const(0, 3), held.byte)
        both = self.words_read[:128]
        source = held.data[:64]
        size = bytes_of(held.size)
        new = Signal(64)
        enables = Signal(8 * BANK_WORDS)
        stored = Signal(BEAT_BITS)
        m.d.comb += [
            self.value_read.eq(low_bytes((both >> shift)[:64], held.size)),
            new.eq(source),
            enables.eq(held.enables),
            stored.eq(held.data),
        ]
        atomic = changed(
            m,
            operation=held.atomic_operation,
            size=held.size,
            old=self.value_read,
            source=source,
            r0=held.r0,
        )
        with m.If(held.atomic):
            m.d.comb += new.eq(atomic)
        with m.If(held.access):
            m.d.comb += [
                enables.eq(Mux(held.stores, ((1 << size) - 1)[:8] << held.byte, 0)),
                stored.eq(new << shift),
            ]
        return enables, stored


def _distance(bank: int, offset: Value) -> Value:
    """How far behind the offset's word a bank's word is."""
    return (bank - offset[:_BANK_BITS])[:_BANK_BITS]
