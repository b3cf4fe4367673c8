"""A memory of banks that many ports reach at once."""

from collections.abc import Sequence

from amaranth import Array, Cat, Module, Mux, Signal, Value, unsigned
from amaranth.lib import stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from fanweave.hw.cluster.grants import Grants
from fanweave.hw.cluster.payloads import WordRequest
from fanweave.hw.reduction import choose, or_tree

__all__ = ["BankedMemory"]


class _Bank(wiring.Component):
    """Words of 64 bits, one read or written a cycle; what is read is there in the next cycle."""

    def __init__(self, *, depth: int) -> None:
        self.depth = depth
        super().__init__(
            {
                "enable": In(1),
                "address": In(range(depth)),
                "write": In(1),
                "mask": In(8),
                "data": In(64),
                "value": Out(64),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.storage = storage = Memory(shape=64, depth=self.depth, init=[])
        read, write = storage.read_port(), storage.write_port(granularity=8)
        m.d.comb += [
            read.addr.eq(self.address),
            read.en.eq(self.enable & ~self.write),
            write.addr.eq(self.address),
            write.data.eq(self.data),
            write.en.eq(Mux(self.enable & self.write, self.mask, 0)),
            self.value.eq(read.data),
        ]
        return m


class BankedMemory(wiring.Component):
    """Serves a request a cycle in each bank; the response comes in the next cycle.

    A request is carried out in the cycle in which it is taken, and a bank takes one a cycle: so
    requests to one address take effect in the order in which they are taken, whatever ports they
    come from, and responses are in the order of each port's requests. A port whose request meets
    no other in its bank is always served. Where they meet, `Grants` chooses.

    Consecutive words of 64 bits lie in consecutive banks. Addresses count from any multiple of
    the size.

    Parameters
    ----------
    size : int
        Bytes, a power of two.
    banks : int
        A power of two from 2 on.
    ports : int
        Ports that reach all banks.
    lanes : int
        Further ports, of which number i reaches the banks i, i + lanes and so on: those of a wide
        access, each with the part that is always its own. 0, or a power of two up to `banks`.

    Members
    -------
    requests : array of streams in of `WordRequest`; responses : array of streams out of 64 bits
        Those of the lanes are behind those of the ports. Responses must be taken; to a store they
        have no meaning.
    conflicts : Out(ports + lanes)
        Ports that ask and are not served in this cycle.
    """

    def __init__(self, *, size: int, banks: int, ports: int, lanes: int = 0) -> None:
        for name, value in (("size", size), ("banks", banks), ("lanes", lanes)):
            if value & value - 1:
                raise ValueError(f"{name} = {value} must be a power of two")
        if banks < 2:
            raise ValueError(f"banks = {banks} must be at least 2")
        if size < 16 * banks:
            raise ValueError(f"size = {size} must be at least 16 bytes a bank, {16 * banks}")
        if lanes > banks:
            raise ValueError(f"lanes = {lanes} must be at most banks = {banks}")
        self.size, self.banks, self.ports, self.lanes = size, banks, ports, lanes
        self._row_low, self._row_high = 3 + (banks - 1).bit_length(), (size - 1).bit_length()
        count = ports + lanes
        super().__init__(
            {
                "requests": In(stream.Signature(WordRequest)).array(count),
                "responses": Out(stream.Signature(unsigned(64), always_ready=True)).array(count),
                "conflicts": Out(count),
            }
        )

    def _reach(self, port: int) -> Sequence[int]:
        """Banks that a port reaches."""
        if port < self.ports:
            return range(self.banks)
        return range(port - self.ports, self.banks, self.lanes)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        count = self.ports + self.lanes
        self._wants = [Signal(self.banks, name=f"wants_{port}") for port in range(count)]
        for port, wants in enumerate(self._wants):
            request = self.requests[port]
            bank = request.payload.address[3 : self._row_low]
            m.d.comb += wants.eq(request.valid << bank)
        served: list[dict[int, Value]] = [{} for _ in range(count)]
        values = [self._bank(m, bank, served) for bank in range(self.banks)]
        for port in range(count):
            self._answer(m, port, served[port], values)
        return m

    def _bank(self, m: Module, bank: int, served: list[dict[int, Value]]) -> Value:
        """One bank and who may use it; returns what it gives."""
        ports = [port for port in range(self.ports + self.lanes) if bank in self._reach(port)]
        chosen = [self.requests[port].payload for port in ports]
        storage = _Bank(depth=self.size // 8 // self.banks)
        grants = Grants(count=len(ports))
        m.submodules[f"bank_{bank}"], m.submodules[f"grants_{bank}"] = storage, grants
        m.d.comb += [
            grants.requests.eq(Cat(self._wants[port][bank] for port in ports)),
            grants.locks.eq(Cat(request.lock for request in chosen)),
            grants.accept.eq(1),
            storage.enable.eq(grants.grants.any()),
            storage.address.eq(
                choose(
                    grants.grants,
                    [request.address[self._row_low : self._row_high] for request in chosen],
                )
            ),
        ]
        for name in ("write", "mask", "data"):
            found = choose(grants.grants, [getattr(request, name) for request in chosen])
            m.d.comb += getattr(storage, name).eq(found)
        for place, port in enumerate(ports):
            served[port][bank] = grants.grants[place]
        return storage.value

    def _answer(self, m: Module, port: int, served: dict[int, Value], values: list[Value]) -> None:
        request, response = self.requests[port], self.responses[port]
        answering = Signal(range(self.banks), name=f"answering_{port}")
        answered = Signal(name=f"answered_{port}")
        m.d.comb += [
            request.ready.eq(or_tree(list(served.values()))),
            self.conflicts[port].eq(request.valid & ~request.ready),
            response.valid.eq(answered),
            response.payload.eq(Array(values)[answering]),
        ]
        m.d.sync += answered.eq(request.valid & request.ready)
        with m.If(request.valid & request.ready):
            m.d.sync += answering.eq(request.payload.address[3 : self._row_low])
