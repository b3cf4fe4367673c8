"""Records of ring buffers that events have reserved and not given back."""

from amaranth import Array, Cat, Module, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from fanweave.golden.isa.ebpf_machine import OPEN_RECORDS
from fanweave.hw.ebpf.maps.payloads import PLACE_BITS

__all__ = ["Record", "Records"]


class Record(data.Struct):
    """Data of a record: its map, where it begins there, and its length."""

    map: 8
    place: PLACE_BITS + 1
    length: PLACE_BITS + 1


class Records(wiring.Component):
    """A few records for each thread.

    Parameters
    ----------
    threads : int
        A power of two, 2 or more.

    Members
    -------
    thread : In
        Whose records the next ones are about.
    add : In(1); record : In(Record); full : Out(1)
        It has one more; without effect on others, and only while it has not as many as it may.
    remove : In(1); chosen : In
        It gives one back.
    wanted_map, wanted_place : In; found, found_number, found_length : Out
        Which of its records begins at a place.
    first, first_number : Out
        One of its records, if it has any.
    open : Out(threads)
        Threads that have any.
    access_thread, access_map, access_place, access_span : In; access_inside : Out(1)
        Whether bytes lie in one record of a thread. A second set of the same, ``helper``, is for
        what helpers copy.
    """

    def __init__(self, *, threads: int) -> None:
        self.threads = threads
        thread = range(threads)
        readers: dict[str, object] = {}
        for reader in ("access", "helper"):
            readers |= {
                f"{reader}_thread": In(thread),
                f"{reader}_map": In(8),
                f"{reader}_place": In(PLACE_BITS),
                f"{reader}_span": In(16),
                f"{reader}_inside": Out(1),
            }
        number = range(OPEN_RECORDS)
        super().__init__(
            {
                "thread": In(thread),
                "add": In(1),
                "record": In(Record),
                "remove": In(1),
                "chosen": In(number),
                "full": Out(1),
                "wanted_map": In(8),
                "wanted_place": In(PLACE_BITS + 1),
                "found": Out(1),
                "found_number": Out(number),
                "found_length": Out(PLACE_BITS + 1),
                "first": Out(Record),
                "first_number": Out(number),
                "open": Out(threads),
                **readers,
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        taken = Array(Signal(OPEN_RECORDS, name=f"taken_{t}") for t in range(self.threads))
        shape = data.ArrayLayout(Record, OPEN_RECORDS)
        m.submodules.storage = storage = Memory(shape=shape, depth=self.threads, init=[])
        own = storage.read_port(domain="comb")
        write = storage.write_port(granularity=1)
        mine = taken[self.thread]
        free = Signal(range(OPEN_RECORDS))
        m.d.comb += [
            own.addr.eq(self.thread),
            self.full.eq(mine.all()),
            self.open.eq(Cat(bits.any() for bits in taken)),
            write.addr.eq(self.thread),
            write.en.eq(self.add << free),
        ]
        for number in reversed(range(OPEN_RECORDS)):
            record = own.data[number]
            same = (record.map == self.wanted_map) & (record.place == self.wanted_place)
            m.d.comb += write.data[number].eq(self.record)
            with m.If(~mine[number]):
                m.d.comb += free.eq(number)
            with m.If(mine[number]):
                m.d.comb += [self.first.eq(record), self.first_number.eq(number)]
            with m.If(mine[number] & same):
                m.d.comb += [
                    self.found.eq(1),
                    self.found_number.eq(number),
                    self.found_length.eq(record.length),
                ]
        for t in range(self.threads):
            with m.If(self.thread == t):
                with m.If(self.add):
                    m.d.sync += taken[t].bit_select(free, 1).eq(1)
                with m.If(self.remove):
                    m.d.sync += taken[t].bit_select(self.chosen, 1).eq(0)
        for reader in ("access", "helper"):
            self._reader(m, storage, taken, reader)
        return m

    def _reader(self, m: Module, storage: Memory, taken: Array, reader: str) -> None:
        def of(name: str) -> Value:
            return getattr(self, f"{reader}_{name}")

        read = storage.read_port(domain="comb")
        m.d.comb += read.addr.eq(of("thread"))
        inside = [
            taken[of("thread")][number]
            & (read.data[number].map == of("map"))
            & (of("place") >= read.data[number].place)
            & (of("place") + of("span") <= read.data[number].place + read.data[number].length)
            for number in range(OPEN_RECORDS)
        ]
        m.d.comb += of("inside").eq(Cat(inside).any())
