"""What hosts must read: the last that they wrote, wherever the line is meanwhile."""

from dataclasses import dataclass

from fanweave.golden.cxl.messages import Message
from fanweave.golden.cxl.tables import Device
from fanweave.golden.errors import FaultError
from fanweave.golden.isa.cxl_event import Channel, DrsOpcode, ReqOpcode, RwdOpcode
from fanweave.golden.isa.cxl_messages import DATA_BITS, LINE_BYTES

__all__ = ["Content", "LineContents", "initial"]

_READS = (ReqOpcode.MEM_RD, ReqOpcode.MEM_RD_DATA)
_WRITES = (RwdOpcode.MEM_WR, RwdOpcode.MEM_WR_PTL)
_WORD = (1 << 32) - 1
#: Contents that a line may have, before it counts as not known.
_MOST = 64


@dataclass(frozen=True)
class Content:
    """What a line holds."""

    data: int
    poison: int = 0
    meta_field: int = 0
    meta_value: int = 0

    @classmethod
    def of(cls, message: Message) -> "Content":
        """What a write brings, or an answer to a read."""
        names = ("data", "poison", "meta_field", "meta_value")
        return cls(*(message[name] for name in names))

    def under(self, write: Message) -> "Content":
        """This with a write over it."""
        new = Content.of(write)
        if write["opcode"] == RwdOpcode.MEM_WR:
            return new
        mask = sum(0xFF << 8 * byte for byte in range(LINE_BYTES) if write["mask"] >> byte & 1)
        data = self.data & ~mask | new.data & mask
        return Content(data, new.poison, new.meta_field, new.meta_value)


def initial(device: Device, line: int) -> Content:
    """What a line holds in a device that nobody wrote to; as the program around the switch says."""
    data = 0
    seed = (device.port * 16 + device.ld_id) * 0x85EBCA6B
    for word in range(DATA_BITS // 32):
        mixed = ((line * 16 + word) * 0x9E3779B1 ^ seed) & _WORD
        mixed ^= mixed >> 15
        mixed = mixed * 0x2C1B3CE5 & _WORD
        data |= (mixed ^ mixed >> 12) << 32 * word
    return Content(data)


class LineContents:
    """Lines of each host, whose requests for a line come one after the other.

    A write that got lost may come late, so a line may hold one of several contents, until the
    next write that is answered.
    """

    def __init__(self) -> None:
        #: Contents by host and line. One that is not here is as in the beginning; without any
        #: content it is not known.
        self._may: dict[tuple[int, int], set[Content]] = {}
        self.reads = 0

    def answered(
        self, host: int, request: Message, answer: Message, *, home: Device | None, lost: bool
    ) -> None:
        """A request got its last answer, or a read its data.

        Parameters
        ----------
        host : int
            Whose.
        request, answer : Message
            As the host sent and got them.
        home : Device or None
            What the ranges say about its line.
        lost : bool
            Whether the switch answered in place of a device.

        Raises
        ------
        FaultError
            If a read is not what the line holds.
        """
        line, opcode = request["address"], request["opcode"]
        may = self._may.get((host, line))
        if may is None:
            # Where the ranges lead nowhere now, it is not known what the line holds elsewhere.
            may = {initial(home, line)} if home is not None else set()
        if request.channel is Channel.M2S_RWD and opcode in _WRITES:
            new = {content.under(request) for content in may}
            if opcode == RwdOpcode.MEM_WR:
                new.add(Content.of(request))
            known = may | new if may else set[Content]()
            # Each lost write of a part may double them; what may be anything is not known.
            self._may[host, line] = new if not lost else known if len(known) <= _MOST else set()
        elif answer.channel is Channel.S2M_DRS and opcode in _READS and not lost:
            if answer["opcode"] == DrsOpcode.MEM_DATA_NXM:
                return
            self.reads += 1
            if may and Content.of(answer) not in may:
                raise FaultError(f"host {host} reads {Content.of(answer)} of line {line:#x}: {may}")
