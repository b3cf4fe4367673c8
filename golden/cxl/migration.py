"""What the switch itself sends to move a page, held line by line against what it may.

A group of lines is read where it is and written where it goes. Writes leave in the order of their
lines; the group may flip when all of them are answered.
"""

from collections.abc import Callable

from fanweave.golden.cxl.messages import Message, message
from fanweave.golden.cxl.moves import Moves
from fanweave.golden.cxl.tables import Device
from fanweave.golden.errors import FaultError
from fanweave.golden.isa.cxl_event import Channel, DrsOpcode, ReqOpcode, RwdOpcode
from fanweave.golden.isa.cxl_switch import MoveStep

__all__ = ["Migration"]


class Migration:
    """Moves pages in a model of the switch, as it is told that the switch does.

    Parameters
    ----------
    moves : Moves
        Where pages are.
    send : callable
        Expects a message at a device.
    forget : callable
        Expects none of those any more.
    locate : callable
        Where a line of a host is now.
    """

    def __init__(
        self,
        moves: Moves,
        *,
        send: Callable[[Message, Device], None],
        forget: Callable[[], None],
        locate: Callable[[int, int], Device | None],
    ) -> None:
        self.moves = moves
        self._send, self._forget, self._locate = send, forget, locate
        #: Lines of the group that is held that are not written yet, in order.
        self._left: list[int] = []
        #: Those that were asked for, what was read of them, those without an answer to their write.
        self._asked: set[int] = set()
        self._read: dict[int, Message] = {}
        self._unwritten: set[int] = set()

    def step(
        self, step: MoveStep, *, host: int, entry: int, page: int, group: int, target: Device
    ) -> None:
        """The switch takes a step.

        Parameters
        ----------
        step : MoveStep
            Which.
        host, entry, page, group : int
            Whose page, its place in the host's table and its number, and a group of its lines.
        target : Device
            Where it goes.

        Raises
        ------
        FaultError
            If it may not.
        """
        if step is MoveStep.BEGIN:
            self.moves.begin(host, page, target, entry)
            return
        moving = self.moves.moving
        said, due = (host, entry, page, target), (*(self.moves.going or ()), moving.number)
        if said != (*due, moving.new):
            raise FaultError(f"{step.name} of {said} while {(*due, moving.new)} moves")
        match step:
            case MoveStep.HOLD:
                self._hold(host, group, target)
            case MoveStep.FLIP:
                if self._unwritten:
                    raise FaultError(
                        f"group {group} flips before lines {self._unwritten} are there"
                    )
                self.moves.flip(group)
            case MoveStep.END | MoveStep.HOME:
                self.moves.finish(home=step is MoveStep.HOME)
            case _:
                self.moves.give_up()
                self._clear()
                self._forget()

    def _clear(self) -> None:
        self._left, self._read, self._unwritten, self._asked = [], {}, set(), set()

    def _hold(self, host: int, group: int, target: Device) -> None:
        self._clear()
        for line in self.moves.hold(group):
            if self._locate(host, line) != target:
                self._left.append(line)
                self._unwritten.add(line)
        self.ask()

    def ask(self) -> None:
        """Expect reads of the lines that are left, as soon as their host has them somewhere."""
        for line in self._left:
            host, _ = self.moves.going or (0, 0)
            source = self._locate(host, line)
            if source is not None and line not in self._asked:
                self._asked.add(line)
                read = message(
                    Channel.M2S_REQ, opcode=ReqOpcode.MEM_RD, address=line, ld_id=source.ld_id
                )
                self._send(read, source)

    def answered(self, request: Message, came: Message) -> None:
        """A device answered one of the switch's own requests."""
        line = request["address"]
        if request.channel is Channel.M2S_RWD:
            self._unwritten.discard(line)
        elif came["opcode"] == DrsOpcode.MEM_DATA:
            self._read[line] = came
        while self._left and self._left[0] in self._read:
            self._write(self._left.pop(0))

    def _write(self, line: int) -> None:
        target, read = self.moves.moving.new, self._read[line]
        same = {name: read[name] for name in ("meta_field", "meta_value", "poison", "data")}
        write = message(
            Channel.M2S_RWD, opcode=RwdOpcode.MEM_WR, address=line, ld_id=target.ld_id, **same
        )
        self._send(write, target)
