"""What a register table is made of; the tables themselves stand beside this module."""

from dataclasses import dataclass

__all__ = ["Field", "Register"]


@dataclass(frozen=True)
class Field:
    """One field of a register.

    Attributes
    ----------
    name : str
        Name, snake_case.
    low : int
        Lowest bit.
    width : int
        Width in bits.
    description : str
        One sentence for the register document.
    """

    name: str
    low: int
    width: int
    description: str

    def place(self, value: int) -> int:
        """Put ``value`` at this field's place in a word.

        Raises
        ------
        ValueError
            If the value does not fit in the field.
        """
        if not 0 <= value < 1 << self.width:
            raise ValueError(f"{self.name} = {value} does not fit in {self.width} bits")
        return value << self.low

    def extract(self, word: int) -> int:
        """Take this field out of a word."""
        return word >> self.low & (1 << self.width) - 1


@dataclass(frozen=True)
class Register:
    """One register of 32 bits.

    Attributes
    ----------
    name : str
        Name, snake_case.
    address : int
        Word address; the byte address on a bus is four times as large.
    access : str
        ``"rw"``, ``"ro"``, ``"wo"`` or ``"w1"`` (any write acts).
    description : str
        One sentence for the register document.
    fields : tuple of Field
        From low to high.
    words : int
        Registers that follow each other from the address on; the fields are those of each.
    reset : int
        Value after a reset.
    """

    name: str
    address: int
    access: str
    description: str
    fields: tuple[Field, ...]
    words: int = 1
    reset: int = 0

    def field(self, name: str) -> Field:
        """Look a field up by its name."""
        return next(field for field in self.fields if field.name == name)

    def pack(self, **values: int) -> int:
        """Build a word from named field values; fields not named are zero."""
        return sum(self.field(name).place(value) for name, value in values.items())
