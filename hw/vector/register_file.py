"""The vector registers: banks of words that several units read and write at once."""

from collections.abc import Sequence

from amaranth import Cat, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from fanweave.hw.reduction import choose, count_ones
from fanweave.hw.vector.config import VectorConfig
from fanweave.hw.vector.payloads import read_port, write_port

__all__ = ["BANK_READS", "RegisterFile", "bank_count"]

#: Words that a bank gives in a cycle; it takes one.
BANK_READS = 3
_BANKS = 4


def bank_count(config: VectorConfig) -> int:
    """Banks; a word's address modulo this number is its bank."""
    return min(_BANKS, 32 * config.words)


class RegisterFile(wiring.Component):
    """Gives each bank's ports to those that ask for it, first to those that wait together.

    These are all that were refused in one cycle; when all of them are served, the next ones come
    together. So nobody waits for long: for those before, and for the others with it.

    A word that is read in the cycle in which it is written is what it was before. `mask` is v0 as
    it is written; like the memories it keeps its contents over a reset.

    Parameters
    ----------
    config : VectorConfig
    readers, writers : int
        Ports, 1 or more of each.

    Members
    -------
    reads : array of `read_port`, from the reader's side; writes : array of `write_port`
    mask : Out(vlen)
        All of v0; a write shows in the cycle after its transfer.
    """

    def __init__(self, *, config: VectorConfig, readers: int, writers: int) -> None:
        for name, value in (("readers", readers), ("writers", writers)):
            if value < 1:
                raise ValueError(f"{name} = {value} must be at least 1")
        self.config = config
        self.readers = readers
        self.writers = writers
        super().__init__(
            {
                "reads": In(read_port(config)).array(readers),
                "writes": In(write_port(config)).array(writers),
                "mask": Out(config.vlen),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config, banks = self.config, bank_count(self.config)
        self._bank_bits = (banks - 1).bit_length()
        depth = 32 * config.words // banks
        memories = []
        for bank in range(banks):
            memory = Memory(shape=config.word_bits, depth=depth, init=[])
            m.submodules[f"bank_{bank}"] = memory
            memories.append(memory)
        read_grants = self._arbitrate(m, self.reads, BANK_READS, "read")
        write_grants = self._arbitrate(m, self.writes, 1, "write")
        ports = [
            [self._read(m, memory, grants, port) for port in range(BANK_READS)]
            for memory, grants in zip(memories, read_grants, strict=True)
        ]
        for memory, grants in zip(memories, write_grants, strict=True):
            self._write(m, memory, grants)
        for number, reader in enumerate(self.reads):
            granted = [[port[number] for port in grants] for grants in read_grants]
            self._answer(m, reader, granted, ports, number)
        self._follow_mask(m)
        return m

    def _arbitrate(
        self, m: Module, asking: Sequence[wiring.PureInterface], ports: int, name: str
    ) -> list[list[Signal]]:
        """Who gets which port of which bank: a bit for each of those who ask."""
        count = len(asking)
        waits = Signal(count, name=f"{name}_waits")
        grants: list[list[Signal]] = []
        for bank in range(bank_count(self.config)):
            wants = Signal(count, name=f"{name}_wants_{bank}")
            m.d.comb += wants.eq(
                Cat(one.valid & (one.address[: self._bank_bits] == bank) for one in asking)
            )
            granted = [Signal(count, name=f"{name}_{bank}_{port}") for port in range(ports)]
            for number in range(count):
                earlier = wants & ((1 << number) - 1)
                # Those that wait together go first; within both groups the lower numbers do.
                before = count_ones(Mux(waits[number], earlier & waits, earlier | (wants & waits)))
                for port in range(ports):
                    m.d.comb += granted[port][number].eq(wants[number] & (before == port))
            grants.append(granted)
        served = [Cat(port[n] for bank in grants for port in bank).any() for n in range(count)]
        for one, ready in zip(asking, served, strict=True):
            m.d.comb += one.ready.eq(ready)
        refused = Signal(count, name=f"{name}_refused")
        m.d.comb += refused.eq(Cat(one.valid & ~one.ready for one in asking))
        left = refused & waits
        m.d.sync += waits.eq(Mux(left.any(), left, refused))
        return grants

    def _read(self, m: Module, memory: Memory, grants: list[Signal], port: int) -> Value:
        read = memory.read_port()
        addresses = [one.address[self._bank_bits :] for one in self.reads]
        m.d.comb += [
            read.en.eq(grants[port].any()),
            read.addr.eq(choose(grants[port], addresses)),
        ]
        return read.data

    def _write(self, m: Module, memory: Memory, grants: list[Signal]) -> None:
        write = memory.write_port(granularity=8)
        (granted,) = grants
        m.d.comb += [
            write.addr.eq(choose(granted, [w.address[self._bank_bits :] for w in self.writes])),
            write.data.eq(choose(granted, [w.value for w in self.writes])),
            write.en.eq(choose(granted, [w.enable for w in self.writes])),
        ]

    def _answer(
        self,
        m: Module,
        reader: wiring.PureInterface,
        granted: list[list[Value]],
        ports: list[list[Value]],
        number: int,
    ) -> None:
        """The word in the cycle after, and what it was from then on."""
        bits = Cat(bit for bank in granted for bit in bank)
        came = Signal(len(bits), name=f"came_{number}")
        kept = Signal(self.config.word_bits, name=f"kept_{number}")
        words = [word for bank in ports for word in bank]
        m.d.comb += reader.value.eq(Mux(came.any(), choose(came, words), kept))
        m.d.sync += [came.eq(bits), kept.eq(reader.value)]

    def _follow_mask(self, m: Module) -> None:
        config = self.config
        mask = Signal(config.vlen, reset_less=True)
        m.d.comb += self.mask.eq(mask)
        for writer in self.writes:
            for place in range(config.words):
                with m.If(writer.valid & writer.ready & (writer.address == place)):
                    for byte in range(config.word_bytes):
                        low = place * config.word_bits + 8 * byte
                        with m.If(writer.enable[byte]):
                            m.d.sync += mask[low : low + 8].eq(writer.value.word_select(byte, 8))
