"""Operations as the Ventaglio unit sees them: register contents at the time of the command."""

from dataclasses import dataclass

from fanweave.golden.isa.formats import ElementFormat
from fanweave.golden.isa.ventaglio import REGISTERS, ErrorCause, IndexMode, Opcode, register
from fanweave.golden.ventaglio.config import VentaglioConfig

__all__ = ["Operation", "RegisterFile"]

_FORMAT_CODES = frozenset(int(code) for code in ElementFormat)
_MULTIPLIES = (Opcode.MULTIPLY, Opcode.MULTIPLY_ACCUMULATE)


@dataclass(frozen=True, kw_only=True)
class Operation:
    """A started operation with the whole configuration, legal or not.

    The attributes are the register fields of the same meaning, unchecked.
    """

    opcode: int
    element: int = 0
    index_mode: int = 0
    skip_zeros: int = 0
    n: int = 0
    m: int = 0
    length: int = 0
    width: int = 0
    outputs: int = 0
    base: int = 0
    stride: int = 0
    first_row: int = 0
    count: int = 0
    target: int = 0
    raw: int = 0
    clear: int = 0
    scale: int = 0

    @property
    def is_multiply(self) -> bool:
        """Whether the operation takes activations."""
        return self.opcode in _MULTIPLIES

    @property
    def element_format(self) -> ElementFormat:
        """Element format of the operands."""
        return ElementFormat(self.element)

    @property
    def accumulators(self) -> range:
        """Accumulators that the operation can name, first to last."""
        if self.is_multiply:
            return range(self.base, self.base + (self.outputs - 1) * self.stride + self.width)
        return range(self.base, self.base + self.count)

    def fault(self, config: VentaglioConfig) -> ErrorCause:
        """Why the unit refuses the operation; ``ErrorCause.NONE`` if it does not.

        Parameters
        ----------
        config : VentaglioConfig
            The unit.
        """
        if self.opcode == Opcode.CLEAR:
            return ErrorCause.NONE
        if self.opcode not in (*_MULTIPLIES, Opcode.DRAIN):
            return ErrorCause.ILLEGAL_OPERATION
        if self.element not in config.formats:
            return ErrorCause.ILLEGAL_FORMAT
        if self.is_multiply:
            if self.index_mode not in tuple(IndexMode):
                return ErrorCause.ILLEGAL_FORMAT
            pattern = self.index_mode != IndexMode.N_OF_M or 1 <= self.n <= self.m <= 32
            shape = self.width > 0 and 1 <= self.outputs <= config.max_outputs
        else:
            if not self.raw and self.target not in _FORMAT_CODES:
                return ErrorCause.ILLEGAL_FORMAT
            pattern = shape = True
        aligned = self.base % config.drain_lanes == 0
        if pattern and shape and aligned and self.accumulators.stop <= config.accumulators:
            return ErrorCause.NONE
        return ErrorCause.OVER_CONFIGURATION


class RegisterFile:
    """Configuration registers; a write to ``command`` gives an `Operation`."""

    def __init__(self) -> None:
        self._words = {entry.address: 0 for entry in REGISTERS if entry.access == "rw"}
        timeout = register("timeout")
        self._words[timeout.address] = timeout.pack(cycles=65535)

    def write(self, address: int, data: int) -> Operation | None:
        """Write a register.

        Parameters
        ----------
        address : int
            Word address. Registers that cannot be written, and addresses without a register,
            ignore the write.
        data : int
            32 bits.

        Returns
        -------
        Operation or None
            What a write to ``command`` starts; None for every other register.
        """
        if address in self._words:
            self._words[address] = data
        if address != register("command").address:
            return None
        return Operation(
            opcode=register("command").field("opcode").extract(data),
            element=self.field("format", "element"),
            index_mode=self.field("format", "index_mode"),
            skip_zeros=self.field("format", "skip_zeros"),
            n=self.field("sparsity", "n"),
            m=self.field("sparsity", "m"),
            length=self.field("length", "rows"),
            width=self.field("tile", "width"),
            outputs=self.field("tile", "outputs"),
            base=self.field("accumulators", "base"),
            stride=self.field("accumulators", "stride"),
            first_row=self.field("first_row", "row"),
            count=self.field("drain", "count"),
            target=self.field("drain", "target"),
            raw=self.field("drain", "raw"),
            clear=self.field("drain", "clear"),
            scale=self.field("scale", "bits"),
        )

    def field(self, name: str, field: str) -> int:
        """Value of a configuration register's field."""
        entry = register(name)
        return entry.field(field).extract(self._words[entry.address])
