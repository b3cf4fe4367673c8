"""Parameters of the Ventaglio unit: one object for RTL, model, driver and report."""

from dataclasses import dataclass

from fanweave.golden.errors import InputError
from fanweave.golden.isa.formats import ElementFormat
from fanweave.golden.presets import find_preset

__all__ = ["PRESETS", "VentaglioConfig", "preset"]

_ALL_FORMATS = tuple(ElementFormat)


def _is_power_of_two(value: int) -> bool:
    return value > 0 and value & (value - 1) == 0


@dataclass(frozen=True, kw_only=True)
class VentaglioConfig:
    """Parameters of the unit.

    Attributes
    ----------
    formats : tuple of ElementFormat
        Element formats that are built.
    beat_bits : int
        Width of a beat of weights, of indices and of results, in bits.
    accumulators : int
        Accumulators of 32 bits.
    banks : int
        Accumulator banks; each accepts one product a cycle. 0 means twice the lanes.
    window : int
        Groups of products that wait for their banks at the same time; 1, 2 or 4.
    max_outputs : int
        Most output rows that can share a weight row.
    accumulate_latency : int
        Cycles from an accumulator's read to the next possible read of its sum.
    mask_columns : int
        Columns of a bitmask that are searched for nonzeros in a cycle.
    row_queue : int
        Rows that may be fetched ahead of the one being decoded.

    Raises
    ------
    InputError
        If a parameter has an illegal value; the message names it.
    """

    formats: tuple[ElementFormat, ...] = _ALL_FORMATS
    beat_bits: int = 256
    accumulators: int = 256
    banks: int = 0
    window: int = 2
    max_outputs: int = 4
    accumulate_latency: int = 2
    mask_columns: int = 128
    row_queue: int = 8

    def __post_init__(self) -> None:
        if not self.formats or len(set(self.formats)) != len(self.formats):
            raise InputError("formats must name one or more different element formats")
        if self.banks == 0:
            object.__setattr__(self, "banks", min(2 * self.lanes, self.accumulators))
        self._check_power("beat_bits", 64, 1024)
        self._check_power("accumulators", 8, 4096)
        self._check_power("banks", 2, 256)
        self._check_power("window", 1, 4)
        self._check_range("max_outputs", 1, 8)
        self._check_range("accumulate_latency", 1, 4)
        self._check_power("mask_columns", 32, self.beat_bits)
        self._check_range("row_queue", 2, 64)
        if self.banks > self.accumulators:
            raise InputError(
                f"banks = {self.banks} exceeds accumulators = {self.accumulators}; "
                "every bank needs at least one accumulator"
            )
        if self.banks < self.drain_lanes:
            raise InputError(
                f"banks = {self.banks} is less than the {self.drain_lanes} accumulators that a "
                "drain reads in a cycle; use more banks or a narrower beat"
            )

    def _check_power(self, name: str, low: int, high: int) -> None:
        value = getattr(self, name)
        if not _is_power_of_two(value) or not low <= value <= high:
            raise InputError(
                f"{name} = {value!r} is illegal; it must be a power of two from {low} to {high}"
            )

    def _check_range(self, name: str, low: int, high: int) -> None:
        value = getattr(self, name)
        if not isinstance(value, int) or not low <= value <= high:
            raise InputError(f"{name} = {value!r} is illegal; it must be from {low} to {high}")

    @property
    def element_bits(self) -> int:
        """Width of the narrowest element in bits."""
        return min(f.bits for f in self.formats)

    @property
    def lanes(self) -> int:
        """Products a cycle in the narrowest format."""
        return self.beat_bits // self.element_bits

    @property
    def drain_lanes(self) -> int:
        """Accumulators that a drain reads in a cycle."""
        return self.beat_bits // 32

    @property
    def entries(self) -> int:
        """Accumulators of one bank."""
        return self.accumulators // self.banks

    def bank_of(self, accumulator: int) -> int:
        """Bank in which an accumulator stands.

        Each further entry of the banks is turned back by ``drain_lanes`` banks: with plain
        residues, output rows that stand a multiple of the banks apart would load the same banks
        at the same time. Turned back rather than on, neighbouring columns of one row stay
        further than the number of banks apart before they meet.
        """
        turns = accumulator // self.banks
        return (accumulator - turns * self.drain_lanes) % self.banks

    def lanes_of(self, element_format: ElementFormat) -> int:
        """Products a cycle in ``element_format``."""
        return self.beat_bits // element_format.bits


#: Named configurations.
PRESETS: dict[str, VentaglioConfig] = {
    "default": VentaglioConfig(),
    "double": VentaglioConfig(accumulators=512, window=4),
    "quad": VentaglioConfig(accumulators=512, banks=128, window=4),
    "fp32": VentaglioConfig(formats=(ElementFormat.FP32,)),
    "fp16": VentaglioConfig(formats=(ElementFormat.FP16, ElementFormat.BF16)),
    "tiny": VentaglioConfig(
        formats=(ElementFormat.FP16,), beat_bits=64, accumulators=64, mask_columns=32
    ),
}


def preset(name: str) -> VentaglioConfig:
    """Look a preset up by its name.

    Raises
    ------
    InputError
        If there is no such preset; the message lists those that exist.
    """
    return find_preset("ventaglio", name, PRESETS)
