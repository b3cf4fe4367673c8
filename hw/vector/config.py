"""Parameters of a vector unit."""

from collections.abc import Mapping
from dataclasses import dataclass

from fanweave.golden.errors import InputError
from fanweave.golden.isa.formats import ElementFormat
from fanweave.golden.riscv.config import CoreConfig
from fanweave.golden.ventaglio.config import VentaglioConfig

__all__ = ["PRESETS", "VectorConfig"]


@dataclass(frozen=True, kw_only=True)
class VectorConfig:
    """What can be chosen of a vector unit.

    Parameters
    ----------
    vlen : int
        Bits of a register, a power of two from 128 to 4096.
    lanes : int
        Lanes of 64 bits, a power of two from 1 to 16; a register is a whole number of them.
    slots : int
        Instructions in flight, a power of two from 2 to 16.
    segments : int
        Fields of the longest segment load or store, 1 to 8.
    ventaglio : VentaglioConfig or None
        The Ventaglio unit, with beats of all lanes, one output, and as many accumulators as a word
        or a register has bits, or a number between; None leaves it out.

    Raises
    ------
    InputError
        If one of them is not as said.
    """

    vlen: int = 512
    lanes: int = 4
    slots: int = 8
    segments: int = 8
    ventaglio: VentaglioConfig | None = None

    def __post_init__(self) -> None:
        for name, least, most in (
            ("vlen", 128, 4096),
            ("lanes", 1, 16),
            ("slots", 2, 16),
        ):
            value = getattr(self, name)
            whole = isinstance(value, int) and not isinstance(value, bool)
            if not whole or not least <= value <= most or value & value - 1:
                raise InputError(
                    f"{name} is {value!r}; expected a power of two from {least} to {most}"
                )
        if self.word_bits > self.vlen:
            raise InputError(
                f"lanes is {self.lanes}; a register of {self.vlen} bits has at most "
                f"{self.vlen // 64}"
            )
        if not 1 <= self.segments <= 8:
            raise InputError(f"segments is {self.segments}; expected 1 to 8")
        if self.ventaglio is not None:
            self._check_ventaglio(self.ventaglio)

    def _check_ventaglio(self, ventaglio: VentaglioConfig) -> None:
        for name, value, expected in (
            ("beat_bits", ventaglio.beat_bits, self.word_bits),
            ("max_outputs", ventaglio.max_outputs, 1),
        ):
            if value != expected:
                raise InputError(f"ventaglio has {name} = {value}; expected {expected} here")
        if not self.word_bits <= ventaglio.accumulators <= self.vlen:
            raise InputError(
                f"ventaglio has accumulators = {ventaglio.accumulators}; "
                f"expected {self.word_bits} to {self.vlen} here"
            )

    @property
    def word_bits(self) -> int:
        """Bits that all lanes work on in a cycle: a word of the register file."""
        return 64 * self.lanes

    @property
    def word_bytes(self) -> int:
        """Bytes of such a word, and so the most elements of a beat."""
        return 8 * self.lanes

    @property
    def words(self) -> int:
        """Words of a register."""
        return self.vlen // self.word_bits

    @property
    def access_words(self) -> int:
        """Words of the largest load or store: of a register group, or of a row of accumulators."""
        return (8 if self.ventaglio is None else 32) * self.words

    @property
    def golden(self) -> CoreConfig:
        """The golden core that this unit belongs to."""
        if self.ventaglio is None:
            return CoreConfig(vlen=self.vlen, segments=self.segments)
        return CoreConfig(
            vlen=self.vlen,
            segments=self.segments,
            accumulators=self.ventaglio.accumulators,
            formats=self.ventaglio.formats,
        )


#: By name, as command lines have them.
PRESETS: Mapping[str, VectorConfig] = {
    "default": VectorConfig(),
    "small": VectorConfig(vlen=128, lanes=1, slots=4),
    "ventaglio": VectorConfig(ventaglio=VentaglioConfig(max_outputs=1)),
    "ventaglio-fp32": VectorConfig(
        ventaglio=VentaglioConfig(formats=(ElementFormat.FP32,), banks=32, max_outputs=1)
    ),
    "small-ventaglio": VectorConfig(
        vlen=128,
        lanes=1,
        slots=4,
        ventaglio=VentaglioConfig(beat_bits=64, accumulators=128, max_outputs=1, mask_columns=32),
    ),
}
