"""Prefixes of tries: rows of them, compared lane by lane."""

from amaranth import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from fanweave.golden.ebpf.config import EbpfConfig

__all__ = ["PrefixTable"]

_LENGTH_BITS = 11
_LENGTH_BYTES = 4


class PrefixTable(wiring.Component):
    """Searches a map's prefixes; a row takes a cycle, and the answer two more.

    The first byte of a prefix's data counts most. All data is placed at the upper end, so that a
    mask of as many ones as the prefix has bits covers what counts.

    Parameters
    ----------
    config : EbpfConfig
        The engine; ``prefixes`` and ``prefix_lanes`` are the size and the width of the memory.

    Members
    -------
    start : In(1); exact : In(1); key : In; first_row, row_count : In
        Begin a search for the longest prefix of the key that is no longer than its length, or for
        the same prefix. The others hold still until it is done.
    done : Out(1); hit : Out(1); slot : Out
        The search ends in this cycle.
    row : In; lane : In; write : In(1); taken : In(1)
        Store the key, or free its place.
    read_key : Out; read_taken : Out(1)
        What is at ``row`` and ``lane``, a cycle later, while no search runs.
    """

    def __init__(self, *, config: EbpfConfig) -> None:
        self.lanes = config.prefix_lanes
        self.rows = config.prefixes // config.prefix_lanes
        self.key_bits = 8 * config.key_bytes
        self.data_bits = self.key_bits - 8 * _LENGTH_BYTES
        lane = range(max(self.lanes, 2))
        super().__init__(
            {
                "start": In(1),
                "exact": In(1),
                "key": In(self.key_bits),
                "first_row": In(16),
                "row_count": In(16),
                "done": Out(1),
                "hit": Out(1),
                "slot": Out(16),
                "row": In(16),
                "lane": In(lane),
                "write": In(1),
                "taken": In(1),
                "read_key": Out(self.key_bits),
                "read_taken": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        row = data.StructLayout({"taken": 1, "length": _LENGTH_BITS, "data": self.data_bits})
        searching = Signal()
        position = Signal(16)
        length = Signal(_LENGTH_BITS)
        wanted = Signal(self.data_bits)
        m.d.comb += [
            length.eq(self.key[:_LENGTH_BITS]),
            wanted.eq(_turned(self.key[8 * _LENGTH_BYTES :])),
        ]
        lanes = []
        for number in range(self.lanes):
            m.submodules[f"lane_{number}"] = memory = Memory(
                shape=row, depth=max(self.rows, 2), init=[]
            )
            read, write = memory.read_port(), memory.write_port()
            m.d.comb += [
                read.en.eq(1),
                read.addr.eq(Mux(searching | self.start, self.first_row + position, self.row)),
                write.addr.eq(self.row),
                write.data.taken.eq(self.taken),
                write.data.length.eq(length),
                write.data.data.eq(wanted),
                write.en.eq(self.write & (self.lane == number)),
            ]
            lanes.append(read.data)
        chosen = Signal(row)
        with m.Switch(self.lane):
            for number, found in enumerate(lanes):
                with m.Case(number):
                    m.d.comb += chosen.eq(found)
        m.d.comb += [
            self.read_taken.eq(chosen.taken),
            self.read_key.eq(Cat(chosen.length, Const(0, 32 - _LENGTH_BITS), _turned(chosen.data))),
        ]
        self._search(m, lanes, searching, position, length, wanted)
        return m

    def _search(
        self,
        m: Module,
        lanes: list[data.View],
        searching: Signal,
        position: Signal,
        length: Signal,
        wanted: Signal,
    ) -> None:
        """Rows one after the other; the best of each against the best so far."""
        compared = Signal()  # a row was read in the cycle before
        last = Signal()
        row = Signal(16)  # number of that row
        best_length, best_slot, best_hit = Signal(_LENGTH_BITS), Signal(16), Signal()
        here_length, here_lane, here_hit = self._best(m, lanes, length, wanted)
        better = here_hit & (~best_hit | (here_length > best_length))
        m.d.sync += [compared.eq(self.start | searching), row.eq(position)]
        with m.If(self.start):
            m.d.sync += best_hit.eq(0)
        with m.If(self.start | searching):
            m.d.sync += last.eq(position + 1 == self.row_count)
            with m.If(position + 1 == self.row_count):
                m.d.sync += [searching.eq(0), position.eq(0)]
            with m.Else():
                m.d.sync += [searching.eq(1), position.eq(position + 1)]
        with m.If(compared & better):
            m.d.sync += [
                best_hit.eq(1),
                best_length.eq(here_length),
                best_slot.eq(row * self.lanes + here_lane),
            ]
        ends = Signal()
        m.d.sync += ends.eq(compared & last)
        m.d.comb += [self.done.eq(ends), self.hit.eq(best_hit), self.slot.eq(best_slot)]

    def _best(
        self, m: Module, lanes: list[data.View], length: Value, wanted: Value
    ) -> tuple[Value, Value, Value]:
        """Longest match of a row: its length, its lane, and whether there is one."""
        candidates = []
        for number, found in enumerate(lanes):
            differs = (found.data ^ wanted) & self._mask(found.length)
            fits = Mux(self.exact, found.length == length, found.length <= length)
            hit = Signal(name=f"hit_{number}")
            m.d.comb += hit.eq(found.taken & fits & ~differs.any())
            candidates.append((found.length, number, hit))
        while len(candidates) > 1:
            paired = []
            for first, second in zip(candidates[::2], candidates[1::2], strict=True):
                takes = second[2] & (~first[2] | (second[0] > first[0]))
                longer = Signal(_LENGTH_BITS, name="longer")
                lane = Signal(range(max(self.lanes, 2)), name="longer_lane")
                m.d.comb += [
                    longer.eq(Mux(takes, second[0], first[0])),
                    lane.eq(Mux(takes, second[1], first[1])),
                ]
                paired.append((longer, lane, first[2] | second[2]))
            candidates = paired
        return candidates[0]

    def _mask(self, length: Value) -> Value:
        """Ones for the bits of a prefix, from the top on."""
        ones = Const((1 << self.data_bits) - 1, self.data_bits)
        return ~(ones >> length)


def _turned(value: Value) -> Value:
    """The bytes in the other order: the first one on top."""
    count = len(value) // 8
    return Cat(value.word_select(number, 8) for number in reversed(range(count)))
