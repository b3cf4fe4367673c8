"""Messages as values: made from the table, checked, packed."""

from dataclasses import dataclass

from fanweave.golden.errors import InputError
from fanweave.golden.isa.cxl_event import Channel
from fanweave.golden.isa.cxl_messages import MESSAGES

__all__ = ["Message", "message"]


@dataclass(frozen=True)
class Message:
    """A message of a channel.

    Attributes
    ----------
    channel : Channel
        Its kind.
    fields : dict
        Every field of the table, header and trailer, by name.
    """

    channel: Channel
    fields: dict[str, int]

    def __getitem__(self, name: str) -> int:
        return self.fields[name]

    def changed(self, **values: int) -> "Message":
        """The same with other values of some fields."""
        return message(self.channel, **{**self.fields, **values})

    def pack(self) -> int:
        """The bits as they stand in RTL, first field lowest."""
        word, place = 0, 0
        for field in MESSAGES[self.channel].all_fields:
            word |= self.fields[field.name] << place
            place += field.bits
        return word

    @classmethod
    def unpack(cls, channel: Channel, word: int) -> "Message":
        """A message from its bits."""
        fields = {}
        for field in MESSAGES[channel].all_fields:
            fields[field.name] = word & (1 << field.bits) - 1
            word >>= field.bits
        return cls(channel, fields)


def message(channel: Channel, **values: int) -> Message:
    """A message; fields not named are 0.

    Raises
    ------
    InputError
        If there is no such field, or a value does not fit.
    """
    widths = {field.name: field.bits for field in MESSAGES[channel].all_fields}
    for name, value in values.items():
        if name not in widths:
            raise InputError(f"{channel.name} has no field {name!r}; it has {', '.join(widths)}")
        if not 0 <= value < 1 << widths[name]:
            raise InputError(
                f"{name} = {value} of {channel.name} does not fit in {widths[name]} bits"
            )
    return Message(channel, {name: int(values.get(name, 0)) for name in widths})
