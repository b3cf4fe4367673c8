"""Golden model of the switch: what becomes of each message, without time.

The model is told of messages in the order in which the switch takes them. It does not choose
tags: a request that goes to a device is *open* from when the device sees it, under the tag that
it sees.
"""

from collections import deque
from dataclasses import dataclass

from fanweave.golden.cxl.config import SwitchConfig
from fanweave.golden.cxl.messages import Message, message
from fanweave.golden.cxl.migration import Migration
from fanweave.golden.cxl.moves import Moves
from fanweave.golden.cxl.tables import Device, Tables
from fanweave.golden.errors import FaultError
from fanweave.golden.isa.cxl_event import (
    BirspOpcode,
    BisnpOpcode,
    Channel,
    Verdict,
    VerdictAction,
)
from fanweave.golden.isa.cxl_messages import ANSWERS, BI_LINES, answers_of, error_answers

__all__ = ["Delivery", "SwitchModel"]

_PASS = Verdict(action=VerdictAction.PASS)
_BLOCKS = (BisnpOpcode.CUR_BLK, BisnpOpcode.DATA_BLK, BisnpOpcode.INV_BLK)
_BLOCK_ANSWERS = (BirspOpcode.I_BLK, BirspOpcode.S_BLK, BirspOpcode.E_BLK)


@dataclass(frozen=True)
class Delivery:
    """A message that leaves the switch.

    Attributes
    ----------
    port : int
        Where it leaves.
    message : Message
        As it leaves; a device's tag is 0.
    request : Message or None
        The host's request, of a request to a device.
    host : int
        Whose; the number behind those of all hosts for a request of the switch's own.
    copy : bool
        Whether its answers go nowhere.
    """

    port: int
    message: Message
    request: Message | None = None
    host: int = 0
    copy: bool = False


@dataclass
class _Open:
    host: int
    request: Message
    waits: set[Channel]
    copy: bool


@dataclass
class _Snooped:
    host: int
    bi_id: int
    bi_tag: int
    lines: int


class SwitchModel:
    """The switch as a function from messages to messages.

    Parameters
    ----------
    config : SwitchConfig
        Parameters of the switch.
    """

    def __init__(self, config: SwitchConfig) -> None:
        self.config = config
        self.tables = Tables(config)
        self.moves = Moves(self.tables)
        self.migration = Migration(
            self.moves, send=self._send_own, forget=self._forget_own, locate=self.locate
        )
        self._open: dict[tuple[int, int], _Open] = {}
        self._snooped: dict[tuple[int, int], _Snooped] = {}
        self._waiting: dict[tuple[int, Channel, int], deque[Delivery]] = {}

    def write(self, address: int, word: int) -> None:
        """A register write, by word address."""
        self.tables.write(address, word)
        entry = self.tables.move_entry(address)
        if entry is not None:
            self.moves.clear(*entry)
        self.migration.ask()

    def locate(self, host: int, line: int) -> Device | None:
        """The logical device that has a line of a host now."""
        return self.moves.locate(host, line, self.tables.decode(host, line))

    def request(
        self,
        host: int,
        request: Message,
        verdict: Verdict | None = None,
        *,
        deny: bool = False,
        dead: frozenset[int] = frozenset(),
        decoded: tuple[Device | None] | None = None,
    ) -> list[Delivery]:
        """A request of a host.

        Parameters
        ----------
        host : int
            Its port.
        request : Message
            Of Req or RwD.
        verdict : Verdict or None
            What was said in time; None for the default.
        deny : bool
            The default is to deny.
        dead : frozenset of int
            Ports that are dead.
        decoded : tuple of Device or None, optional
            What the tables said when it came in; without, what they say now.

        Returns
        -------
        list of Delivery
            To devices in their order, or the answers in place of one.
        """
        channel, opcode, snoop = request.channel, request["opcode"], request["snoop"]
        if opcode not in ANSWERS[channel]:
            return []
        default = Verdict(action=VerdictAction.DENY) if deny else _PASS
        verdict = verdict or default
        line = request["address"]
        (ranges_say,) = decoded or (self.tables.decode(host, line),)
        target = home = self.moves.locate(host, line, ranges_say)
        other = None
        if verdict.action in (VerdictAction.REDIRECT, VerdictAction.MIRROR):
            other = self.tables.own_device(host, verdict.island)
            verdict = verdict if other else default
        if verdict.action is VerdictAction.REDIRECT:
            target = other
        denied = verdict.action is VerdictAction.DENY
        if denied or target is None or target.port in dead:
            lost = not denied and target is not None
            sent = self.error(host, request, answers_of(channel, opcode, snoop), lost=lost)
        else:
            sent = [self._deliver(host, request, target, copy=False)]
        mirrored = verdict.action is VerdictAction.MIRROR and home
        if mirrored and other and other.port not in dead:
            sent.append(self._deliver(host, request, other, copy=True))
        return sent

    def error(
        self, host: int, request: Message, waits: set[Channel] | frozenset[Channel], *, lost: bool
    ) -> list[Delivery]:
        """Answers in place of a device, on those channels that are still open."""
        answers = error_answers(request.channel, request["opcode"], request["snoop"], lost=lost)
        return [
            Delivery(
                host,
                message(channel, tag=request["tag"], ld_id=request["ld_id"], **fields),
            )
            for channel, fields in answers.items()
            if channel in waits
        ]

    def _deliver(self, host: int, request: Message, target: Device, *, copy: bool) -> Delivery:
        sent = request.changed(tag=0, ld_id=target.ld_id)
        delivery = Delivery(target.port, sent, request, host, copy)
        queue = self._waiting.setdefault((target.port, request.channel, host), deque())
        queue.append(delivery)
        return delivery

    def _send_own(self, request: Message, target: Device) -> None:
        self._deliver(self.config.upstream, request, target, copy=False)

    def _forget_own(self) -> None:
        own = self.config.upstream
        self._waiting = {key: queue for key, queue in self._waiting.items() if key[2] != own}
        self._open = {key: entry for key, entry in self._open.items() if entry.host != own}

    def on_its_way(self, host: int, line: int) -> bool:
        """Whether a host's request for a line is between the switch and a device, or open there."""
        waiting = (
            delivery.message
            for (_, _, whose), queue in self._waiting.items()
            if whose == host
            for delivery in queue
        )
        opened = (entry.request for entry in self._open.values() if entry.host == host)
        return any(sent["address"] == line for sent in (*waiting, *opened))

    def arrives(self, port: int, came: Message, *, lossy: bool = False) -> Delivery:
        """A request reaches its device, with the tag that the switch gave it.

        Parameters
        ----------
        port : int
            The device's.
        came : Message
            The request.
        lossy : bool
            The port was dead: requests before this one may be lost.

        Raises
        ------
        FaultError
            If none that is on its way there looks so and may come next, or the tag is taken.
        """
        plain = came.changed(tag=0)
        for (where, channel, _), queue in self._waiting.items():
            if (where, channel) != (port, came.channel) or not queue:
                continue
            answers = answers_of(channel, came["opcode"], came["snoop"])
            for place, next_one in enumerate(queue if lossy else (queue[0],)):
                assert next_one.request is not None
                same_tag = answers or came["tag"] == next_one.request["tag"]
                if next_one.message != plain or not same_tag:
                    continue
                for _ in range(place + 1):
                    queue.popleft()
                if answers:
                    self._begin(port, came["tag"], next_one, set(answers))
                return next_one
        raise FaultError(f"port {port}: no request is next that looks like {came}")

    def _begin(self, port: int, tag: int, delivery: Delivery, waits: set[Channel]) -> None:
        if (port, tag) in self._open:
            raise FaultError(f"port {port}: tag {tag:#x} is on its way twice")
        assert delivery.request is not None
        self._open[port, tag] = _Open(delivery.host, delivery.request, waits, delivery.copy)

    def answer(self, port: int, came: Message) -> list[Delivery]:
        """An answer of a device: to the host that waits for it, or nowhere."""
        entry = self._open.get((port, came["tag"]))
        if entry is None or came.channel not in entry.waits:
            return []
        entry.waits.remove(came.channel)
        if not entry.waits:
            del self._open[port, came["tag"]]
        if entry.host == self.config.upstream:
            self.migration.answered(entry.request, came)
            return []
        if entry.copy:
            return []
        answer = came.changed(tag=entry.request["tag"], ld_id=entry.request["ld_id"])
        return [Delivery(entry.host, answer)]

    def expires(self, port: int, tag: int) -> list[Delivery]:
        """The device did not answer in time."""
        entry = self._open.pop((port, tag), None)
        if entry is None or entry.copy or entry.host == self.config.upstream:
            return []
        return self.error(entry.host, entry.request, entry.waits, lost=True)

    def snoop(self, port: int, came: Message, tag: int) -> Delivery | list[Delivery]:
        """A back-invalidation, and the ``bi_tag`` that its host would see.

        Returns
        -------
        Delivery or list of Delivery
            To the host; if there is none, the answers to the device.
        """
        block = came["opcode"] in _BLOCKS
        low = came["address"] & 3
        lines = BI_LINES[low] if block else 1 << low
        host = self.tables.owner(Device(port, came["bi_id"] & 15))
        if host is None:
            return _no_copies(port, came["bi_id"], came["bi_tag"], lines)
        self._snooped[port, tag] = _Snooped(host, came["bi_id"], came["bi_tag"], lines)
        return Delivery(host, came.changed(bi_id=port, bi_tag=tag))

    def snooped(self, host: int, came: Message) -> list[Delivery]:
        """A host's answer to a back-invalidation: to the device, or nowhere."""
        key = came["bi_id"], came["bi_tag"]
        entry = self._snooped.get(key)
        if entry is None or entry.host != host:
            return []
        block = came["opcode"] in _BLOCK_ANSWERS
        lines = entry.lines if block else entry.lines & 1 << came["low_address"]
        if not lines:
            return []
        entry.lines &= ~lines
        if not entry.lines:
            del self._snooped[key]
        return [Delivery(key[0], came.changed(bi_id=entry.bi_id, bi_tag=entry.bi_tag))]


def _no_copies(port: int, bi_id: int, bi_tag: int, lines: int) -> list[Delivery]:
    return [
        Delivery(
            port,
            message(
                Channel.M2S_BIRSP,
                opcode=BirspOpcode.I,
                bi_id=bi_id,
                bi_tag=bi_tag,
                low_address=line,
            ),
        )
        for line in range(4)
        if lines >> line & 1
    ]
