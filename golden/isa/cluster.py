"""Memory map and registers of the cluster, once."""

import enum
from dataclasses import dataclass

from fanweave.golden.isa.registers import Field, Register

__all__ = [
    "BARRIER",
    "DMA",
    "HOST",
    "PERIPHERALS",
    "REGIONS",
    "RESET_ADDRESS",
    "STACK_BYTES",
    "Peripheral",
    "Region",
    "RegionName",
    "peripheral_address",
]


class RegionName(enum.Enum):
    """Parts of the address space."""

    L1 = "l1"
    PERIPHERALS = "peripherals"
    INSTRUCTIONS = "instructions"
    OUTER = "outer"


@dataclass(frozen=True, kw_only=True)
class Region:
    """A part of the address space.

    Attributes
    ----------
    name : RegionName
        Which.
    base, size : int
        First address and bytes.
    fetch, data, dma : bool
        Whether instructions are fetched from it, loads and stores reach it, the DMA reaches it.
    description : str
        One sentence.
    """

    name: RegionName
    base: int
    size: int
    fetch: bool
    data: bool
    dma: bool
    description: str

    @property
    def end(self) -> int:
        """First address behind it."""
        return self.base + self.size


#: By address. What lies between them faults.
REGIONS: tuple[Region, ...] = (
    Region(
        name=RegionName.L1,
        base=0x1000_0000,
        size=128 * 1024,
        fetch=False,
        data=True,
        dma=True,
        description="Banked data memory of a single cycle; hart 0's stack is at its bottom, "
        "so a stack that overflows faults.",
    ),
    Region(
        name=RegionName.PERIPHERALS,
        base=0x2000_0000,
        size=0x1000,
        fetch=False,
        data=True,
        dma=False,
        description="Registers of 32 bits, for scalar loads and stores of a word.",
    ),
    Region(
        name=RegionName.INSTRUCTIONS,
        base=0x8000_0000,
        size=1024 * 1024,
        fetch=True,
        data=True,
        dma=True,
        description="Instructions and constants; loads and stores reach it slowly.",
    ),
    Region(
        name=RegionName.OUTER,
        base=0xC000_0000,
        size=512 * 1024 * 1024,
        fetch=False,
        data=False,
        dma=True,
        description="Memory outside the cluster; only the DMA reaches it.",
    ),
)

#: Where harts begin.
RESET_ADDRESS = 0x8000_0000

#: Bytes of each hart's stack; hart h has the h-th from the bottom of the L1.
STACK_BYTES = 4096


@dataclass(frozen=True, kw_only=True)
class Peripheral:
    """A block of registers.

    Attributes
    ----------
    name : str
        Name, snake_case.
    base : int
        Its first address.
    registers : tuple of Register
        Byte addresses are ``base + 4 * address``.
    """

    name: str
    base: int
    registers: tuple[Register, ...]


def _value(description: str) -> tuple[Field, ...]:
    return (Field("value", 0, 32, description),)


HOST = Peripheral(name="host", base=0x2000_0000, registers=(
    Register("tohost", 0, "rw", "Ends the run: 1 is a pass, an odd number n the failure n / 2.",
             _value("Even numbers are ignored.")),
    Register("putchar", 1, "wo", "Prints a byte.", _value("Low 8 bits.")),
    Register("trap_cause", 2, "rw", "mcause of a trap that ends the run.", _value("Cause.")),
    Register("trap_pc", 3, "rw", "mepc of that trap.", _value("Address.")),
    Register("trap_value", 4, "rw", "mtval of that trap.", _value("Value.")),
    Register("trap_code", 5, "wo", "A write ends the run by that trap.", _value("Any.")),
    Register("harts", 6, "ro", "Number of harts.", _value("1 or more.")),
))  # fmt: skip

BARRIER = Peripheral(name="barrier", base=0x2000_0100, registers=(
    Register("wait", 0, "ro", "A load completes when all harts have loaded.", _value("Zero.")),
))  # fmt: skip

DMA = Peripheral(name="dma", base=0x2000_0200, registers=(
    Register("source", 0, "rw", "Address of the first byte.", _value("A multiple of 4.")),
    Register("destination", 1, "rw", "Address of the first byte.", _value("A multiple of 4.")),
    Register("bytes", 2, "rw", "Bytes of a row.", _value("A multiple of 4.")),
    Register("rows", 3, "rw", "Rows.", _value("0 copies nothing.")),
    Register("source_stride", 4, "rw", "Bytes from a row to the next.", _value("Any.")),
    Register("destination_stride", 5, "rw", "Bytes from a row to the next.", _value("Any.")),
    Register("start", 6, "wo", "A write queues the transfer.", _value("Any.")),
    Register("pending", 7, "ro", "Transfers that are queued or running.", _value("Count.")),
    Register("error", 8, "w1", "Address that a transfer could not reach; sticky; a write clears "
             "it.", _value("0 is none.")),
))  # fmt: skip

PERIPHERALS: tuple[Peripheral, ...] = (HOST, BARRIER, DMA)


def peripheral_address(peripheral: Peripheral, name: str) -> int:
    """Byte address of a register."""
    entry = next(entry for entry in peripheral.registers if entry.name == name)
    return peripheral.base + 4 * entry.address
