"""Tables of the switch as its registers hold them: ranges, bindings, rules."""

from dataclasses import dataclass, field

from fanweave.golden.cxl.config import SwitchConfig
from fanweave.golden.errors import InputError
from fanweave.golden.isa.cxl_messages import LINE_BYTES
from fanweave.golden.isa.cxl_switch import (
    GRANULARITY_BYTES,
    MAX_VERDICT_CYCLES,
    PAGE_BYTES,
    SwitchError,
)
from fanweave.golden.isa.registers import Register

__all__ = ["PAGE_LINES", "Device", "Tables", "range_writes"]

#: Lines of a page.
PAGE_LINES = PAGE_BYTES // LINE_BYTES
_LOW_PAGE_BITS = 20


@dataclass(frozen=True)
class Device:
    """A logical device: its port, hosts counted too, and which of the port's it is."""

    port: int
    ld_id: int


@dataclass
class Tables:
    """Registers by name, with what the switch reads from them.

    Attributes
    ----------
    config : SwitchConfig
        Parameters of the switch.
    words : dict
        Words of registers by name; those not written are 0.
    error : SwitchError
        Of the last write.
    """

    config: SwitchConfig
    words: dict[str, int] = field(default_factory=dict)
    error: SwitchError = SwitchError.NONE

    def __post_init__(self) -> None:
        self._by_address = {entry.address: entry for entry in self.config.registers}
        self._by_name = {entry.name: entry for entry in self.config.registers}
        self.words.setdefault("policy", MAX_VERDICT_CYCLES)

    def write(self, address: int, word: int) -> None:
        """A register write, as the switch takes it; a binding that may not be has no effect."""
        entry = self._by_address.get(address)
        self.error = SwitchError.NONE
        if entry is None or entry.access != "rw" or self.move_entry(address):
            return
        if entry.name.startswith("binding_") and self._refused(entry, word):
            self.error = SwitchError.BIND_REFUSED
            return
        self.words[entry.name] = word

    def _refused(self, entry: Register, word: int) -> bool:
        if not entry.field("bound").extract(word):
            return False
        device = _device(entry, word)
        if not self.config.upstream <= device.port < self.config.ports:
            return True
        return any(
            other.name != entry.name
            and other.name.startswith("binding_")
            and self.get(other.name, "bound")
            and _device(other, self.words[other.name]) == device
            for other in self.config.registers
        )

    def move_entry(self, address: int) -> tuple[int, int] | None:
        """Host and number of the entry of a moved page at a register's address, if it is one."""
        entry = self._by_address.get(address)
        if entry is None or not entry.name.startswith("move_") or entry.access != "rw":
            return None
        _, host, number = entry.name.split("_")
        return int(host), int(number)

    def get(self, register: str, name: str) -> int:
        """A field of a register."""
        return self._by_name[register].field(name).extract(self.words.get(register, 0))

    def binding(self, host: int, number: int) -> Device | None:
        """What is bound to a virtual port."""
        name = f"binding_{host}_{number}"
        if number >= self.config.bindings or not self.get(name, "bound"):
            return None
        return _device(self._by_name[name], self.words[name])

    def own_device(self, host: int, port: int) -> Device | None:
        """The host's first logical device at a port."""
        for number in range(self.config.bindings):
            device = self.binding(host, number)
            if device is not None and device.port == port:
                return device
        return None

    def owner(self, device: Device) -> int | None:
        """The host that has a logical device."""
        for host in range(self.config.upstream):
            for number in range(self.config.bindings):
                if self.binding(host, number) == device:
                    return host
        return None

    def decode(self, host: int, line: int) -> Device | None:
        """The logical device that a host's line belongs to, by the first range that holds it."""
        page = line // PAGE_LINES
        for number in range(self.config.decoders):
            name = f"decoder_{host}_{number}"
            if self.get(f"{name}_control", "enable") and (
                self._page(f"{name}_first") <= page <= self._page(f"{name}_last")
            ):
                size = GRANULARITY_BYTES << self.get(f"{name}_control", "granularity")
                ways = 1 << self.get(f"{name}_control", "ways")
                way = line * LINE_BYTES // size % ways
                return self.binding(host, self.get(f"{name}_targets", f"way_{way}"))
        return None

    def _page(self, name: str) -> int:
        low, high = self.get(f"{name}_low", "page"), self.get(f"{name}_high", "page")
        return high << _LOW_PAGE_BITS | low


def _device(entry: Register, word: int) -> Device:
    return Device(entry.field("port").extract(word), entry.field("ld_id").extract(word))


def range_writes(
    config: SwitchConfig,
    *,
    host: int,
    number: int,
    first: int,
    size: int,
    targets: list[int],
    granularity: int = GRANULARITY_BYTES,
) -> list[tuple[int, int]]:
    """Register writes, address and word, that set up a range.

    Parameters
    ----------
    config : SwitchConfig
        Parameters of the switch.
    host, number : int
        Whose range, and which of its ranges.
    first, size : int
        First address and size in bytes, whole pages.
    targets : list of int
        Virtual port of each way; 1, 2, 4 or 8.
    granularity : int
        Bytes on a way, 256 to 32768.

    Raises
    ------
    InputError
        If an argument is not as described; the message names it.
    """
    if size <= 0 or size % PAGE_BYTES or first % PAGE_BYTES:
        raise InputError(
            f"range from {first:#x} of {size:#x} bytes: both must be multiples of {PAGE_BYTES:#x}"
        )
    if len(targets) not in (1, 2, 4, 8):
        raise InputError(f"a range has {len(targets)} ways; it must have 1, 2, 4 or 8")
    if any(not 0 <= target < config.bindings for target in targets):
        raise InputError(f"targets = {targets}: each must be below {config.bindings}")
    step = (granularity // GRANULARITY_BYTES).bit_length() - 1
    if not 0 <= step < 8 or GRANULARITY_BYTES << step != granularity:
        raise InputError(
            f"granularity = {granularity} must be {GRANULARITY_BYTES} times a power of two to 128"
        )
    entries = {entry.name: entry for entry in config.registers}
    name = f"decoder_{host}_{number}"
    if f"{name}_control" not in entries:
        raise InputError(f"there is no range {number} of host {host}")
    words = {"targets": sum(target << 4 * way for way, target in enumerate(targets))}
    for end, byte in (("first", first), ("last", first + size - PAGE_BYTES)):
        page = byte // PAGE_BYTES
        words[f"{end}_low"] = entries[f"{name}_{end}_low"].pack(page=page % (1 << _LOW_PAGE_BITS))
        words[f"{end}_high"] = page >> _LOW_PAGE_BITS
    control = entries[f"{name}_control"]
    ways = len(targets).bit_length() - 1
    # The range counts only when all of it is there.
    return [
        (control.address, 0),
        *((entries[f"{name}_{end}"].address, word) for end, word in words.items()),
        (control.address, control.pack(enable=1, ways=ways, granularity=step)),
    ]
