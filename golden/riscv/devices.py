"""The cluster's devices: mailbox to the host, barrier, DMA."""

from fanweave.golden.isa.cluster import BARRIER, DMA, HOST, Peripheral
from fanweave.golden.riscv.memory import Memory
from fanweave.golden.riscv.trap import EndError, WaitError

__all__ = ["Barrier", "Dma", "Host"]


class _Registers:
    """Registers that keep what is written."""

    block: Peripheral

    def __init__(self) -> None:
        self.values = {entry.name: 0 for entry in self.block.registers}
        self._by_address = {
            self.block.base + 4 * entry.address: entry for entry in self.block.registers
        }

    def read(self, address: int) -> int | None:
        """Value; what can only be written reads zero."""
        entry = self._by_address.get(address)
        return None if entry is None else self.read_register(entry.name)

    def write(self, address: int, value: int) -> bool:
        """What cannot be written ignores it."""
        entry = self._by_address.get(address)
        if entry is None:
            return False
        if entry.access == "rw":
            self.values[entry.name] = value
        self.written(entry.name, value)
        return True

    def read_register(self, name: str) -> int:
        """Hook: what a read gives."""
        return self.values[name]

    def written(self, name: str, value: int) -> None:
        """Hook: what follows from a write."""


class Host(_Registers):
    """Mailbox.

    Attributes
    ----------
    output : bytearray
        What the program printed.
    """

    block = HOST

    def __init__(self, harts: int) -> None:
        super().__init__()
        self.output = bytearray()
        self.values["harts"] = harts

    def written(self, name: str, value: int) -> None:
        """Print or end."""
        if name == "putchar":
            self.output.append(value & 0xFF)
        elif name == "tohost" and value & 1:
            raise EndError(value >> 1)
        elif name == "trap_code":
            raise EndError(1, by_trap=True)


class Barrier(_Registers):
    """Holds harts back until all have arrived.

    Attributes
    ----------
    hart : int
        The hart that runs.
    """

    block = BARRIER

    def __init__(self, harts: int) -> None:
        super().__init__()
        self.hart = 0
        self._harts = harts
        self._waiting: set[int] = set()
        self._released: set[int] = set()

    def read_register(self, name: str) -> int:
        """Arrive, or see whether the others have."""
        if self.hart in self._released:
            self._released.remove(self.hart)
            return 0
        self._waiting.add(self.hart)
        if len(self._waiting) < self._harts:
            raise WaitError
        self._released = self._waiting - {self.hart}
        self._waiting = set()
        return 0


class Dma(_Registers):
    """Copies rows; here a transfer is over when it is started."""

    block = DMA

    def __init__(self, memory: Memory) -> None:
        super().__init__()
        self._memory = memory

    def written(self, name: str, value: int) -> None:
        """Start a transfer, or clear the error."""
        if name == "error":
            self.values["error"] = 0
        elif name == "start":
            self._copy()

    def _copy(self) -> None:
        values = self.values
        source, destination = values["source"], values["destination"]
        for _ in range(values["rows"]):
            if not self._row(source, destination, values["bytes"]):
                return
            source = source + values["source_stride"] & 0xFFFFFFFF
            destination = destination + values["destination_stride"] & 0xFFFFFFFF

    def _row(self, source: int, destination: int, size: int) -> bool:
        """One row; an address that cannot be reached ends the transfer before it."""
        spans = []
        for address in (source, destination):
            span = self._memory.span(address, size, dma=True)
            if span is None or address & 3 or size & 3:
                self.values["error"] = self.values["error"] or address
                return False
            spans.append(span)
        spans[1][:] = spans[0].copy()
        return True
