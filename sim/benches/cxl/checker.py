"""Follows all messages of a switch: each request is answered once, rightly, in order.

What a switch takes and gives is told in the order of its cycles; within one, first comes what
happens inside (requests leave their entries, then pages move), then writes of registers, then what
it takes, then what it gives.
"""

from collections import Counter, defaultdict, deque
from collections.abc import Callable

from fanweave.golden.cxl.config import SwitchConfig
from fanweave.golden.cxl.messages import Message
from fanweave.golden.cxl.switch import Delivery, SwitchModel
from fanweave.golden.cxl.tables import Device
from fanweave.golden.errors import FaultError
from fanweave.golden.isa.cxl_event import Channel, Verdict, VerdictAction
from fanweave.golden.isa.cxl_messages import answers_of
from fanweave.sim.benches.cxl.contents import LineContents
from fanweave.sim.benches.cxl.records import Dead, Gave, Left, Moved, Record, Took, Wrote
from fanweave.sim.coverage.cross import Cell
from fanweave.sim.coverage.switch import NO_VERDICT, REFUSED, message_name

__all__ = ["DifferenceError", "OpenRequest", "TrafficChecker"]


class DifferenceError(FaultError):
    """The switch did what the model does not."""


class OpenRequest:
    """A host's request.

    Attributes
    ----------
    sent : Message
        As the host sent it.
    waits : dict of Channel to Message or None
        Answers that have not come; None for those that are not known yet.
    home : Device or None
        What the ranges said.
    port, device_tag : int or None
        Where it went, and under which tag.
    """

    def __init__(self, sent: Message) -> None:
        self.sent = sent
        self.home: Device | None = None
        self.port: int | None = None
        self.device_tag: int | None = None
        channels = answers_of(sent.channel, sent["opcode"], sent["snoop"])
        self.waits: dict[Channel, Message | None] = dict.fromkeys(channels)


class TrafficChecker:
    """The model of a switch, and what is still to come.

    Parameters
    ----------
    config : SwitchConfig
        Parameters of the switch.

    Attributes
    ----------
    requests : list of dict
        Open requests of each host, by tag.
    faulty, silent : set of int
        Ports whose devices may answer late or twice, or say nothing.
    dead, died : set of int
        Ports that are dead now, or were.
    judge : callable
        What is said of a request that leaves its entry, by host, message and whether it met a
        verdict: that verdict, and whether the default is to deny.
    contents : LineContents or None
        If given, what hosts read is held against what they wrote.
    covered : dict of Counter
        Coverage points that were met, see `fanweave.sim.coverage.switch`.
    count : Counter
        Messages by what became of them: taken, delivered, answered,
        lost, snooped, snoop_answered; steps of moves by their names.
    """

    def __init__(self, config: SwitchConfig) -> None:
        self.config = config
        self.model = SwitchModel(config)
        self.requests: list[dict[int, OpenRequest]] = [{} for _ in range(config.upstream)]
        self.faulty: set[int] = set()
        self.silent: set[int] = set()
        self.dead: frozenset[int] = frozenset()
        self.died: set[int] = set()
        self.judge: Callable[[int, Message, bool], tuple[Verdict | None, bool]]
        self.judge = lambda host, message, judged: (None, False)
        self.count: Counter[str] = Counter()
        self.contents: LineContents | None = None
        self.covered: dict[str, Counter[Cell]] = defaultdict(Counter)
        #: Requests in their entries, with what the tables said when they came in.
        self._entered: dict[tuple[int, Channel], deque[tuple[Message, Device | None]]]
        self._entered = defaultdict(deque)
        self._order: dict[tuple[int, Channel, int], deque[Message]] = defaultdict(deque)
        self._snoops: dict[int, deque[Message]] = defaultdict(deque)
        self._snoop_answers: dict[int, deque[Message]] = defaultdict(deque)

    @property
    def settled(self) -> bool:
        """Whether nothing is open."""
        return not any(self.requests) and not any(self._snoop_answers.values())

    def see(self, record: Record) -> None:
        """Something happened.

        Raises
        ------
        DifferenceError
            If the model does not do so.
        """
        try:
            match record.what:
                case Wrote(address, data):
                    self.model.write(address, data)
                case Took(port, message):
                    self.takes(port, message)
                case Gave(port, message):
                    self.gives(port, message)
                case Left(port, channel, judged):
                    self.leaves(port, channel, judged)
                case Moved():
                    self.moves(record.what)
                case Dead(ports):
                    self.dead = frozenset(n for n in range(self.config.ports) if ports >> n & 1)
                    self.died |= self.dead
                case _:
                    self.look(record)
        except DifferenceError as error:
            raise DifferenceError(f"cycle {record.cycle}: {error}") from error

    def look(self, record: Record) -> None:
        """See what an island shows beside messages; a switch alone shows nothing."""

    def takes(self, port: int, came: Message) -> None:
        """The switch took a message at a port, hosts counted first."""
        self.count["taken"] += 1
        self.covered["messages"][message_name(came.channel, came["opcode"]), "taken"] += 1
        match came.channel:
            case Channel.M2S_REQ | Channel.M2S_RWD:
                self.request(port, came)
            case Channel.M2S_BIRSP:
                self.snoop_answer(port, came)
            case Channel.S2M_BISNP:
                self.snoop(port, came)
            case _:
                self.answer(port, came)

    def gives(self, port: int, came: Message) -> None:
        """The switch gave a message at a port.

        Raises
        ------
        DifferenceError
            If the model does not.
        """
        self.covered["messages"][message_name(came.channel, came["opcode"]), "given"] += 1
        if port < self.config.upstream:
            self.at_host(port, came)
        elif came.channel is Channel.M2S_BIRSP:
            self.at_snooper(port, came)
        else:
            self.at_device(port, came)

    # What the switch takes.

    def request(self, host: int, came: Message) -> None:
        """It took a request; `OpenRequest` is made unless the test did."""
        if came["tag"] not in self.requests[host]:
            self.opens(host, came)
        decoded = self.model.tables.decode(host, came["address"])
        self._entered[host, came.channel].append((came, decoded))
        if self.requests[host].get(came["tag"]) is not None:
            self.requests[host][came["tag"]].home = decoded

    def leaves(self, host: int, channel: Channel, judged: bool) -> None:
        """A request leaves its entry, with a verdict or without.

        Raises
        ------
        DifferenceError
            If there is none.
        """
        if not self._entered[host, channel]:
            raise DifferenceError(f"host {host}: nothing waits in the entry of {channel.name}")
        came, decoded = self._entered[host, channel].popleft()
        verdict, deny = self.judge(host, came, judged)
        said = self._said(host, verdict)
        self.covered["verdicts"][message_name(channel, came["opcode"]), said] += 1
        for delivery in self.model.request(
            host, came, verdict, deny=deny, dead=self.dead, decoded=(decoded,)
        ):
            if delivery.request is None:
                self._expect(host, came["tag"], delivery.message)
            elif not delivery.copy and came["tag"] in self.requests[host]:
                self.requests[host][came["tag"]].port = delivery.port

    def _said(self, host: int, verdict: Verdict | None) -> str:
        if verdict is None:
            return NO_VERDICT
        sends = verdict.action in (VerdictAction.REDIRECT, VerdictAction.MIRROR)
        if sends and self.model.tables.own_device(host, verdict.island) is None:
            return REFUSED
        return verdict.action.name

    def moves(self, moved: Moved) -> None:
        """A page moves a step.

        Raises
        ------
        DifferenceError
            If it may not.
        """
        self.count[moved.step.name.lower()] += 1
        try:
            self.model.migration.step(
                moved.step,
                host=moved.host,
                entry=moved.entry,
                page=moved.page,
                group=moved.group,
                target=moved.target,
            )
        except FaultError as error:
            raise DifferenceError(str(error)) from error

    def opens(self, host: int, sent: Message) -> None:
        """A host sends a request; one that nothing answers is not open."""
        request = OpenRequest(sent)
        if request.waits:
            self.requests[host][sent["tag"]] = request

    def answer(self, port: int, came: Message) -> None:
        """It took a device's answer."""
        for delivery in self.model.answer(port, came):
            answer = delivery.message
            request = self.requests[delivery.port].get(answer["tag"])
            if request is None or answer.channel not in request.waits:
                if port not in self.faulty | self.died:
                    raise DifferenceError(f"port {port}: {came} would answer twice")
                continue
            self._expect(delivery.port, answer["tag"], answer)
            self._order[port, answer.channel, delivery.port].append(answer)

    def snoop(self, port: int, came: Message) -> None:
        """It took a back-invalidation; which tag its host sees is known when that gets it."""
        if self._owner(port, came) is None:
            answers = self.model.snoop(port, came, 0)
            assert isinstance(answers, list)
            self._answers_snoop(answers)
        else:
            self._snoops[port].append(came)

    def snoop_answer(self, host: int, came: Message) -> None:
        """It took a host's answer to a back-invalidation."""
        self._answers_snoop(self.model.snooped(host, came))

    # What the switch gives.

    def at_device(self, port: int, came: Message) -> Delivery:
        """A device got a request.

        Raises
        ------
        DifferenceError
            If it is not one that comes next.
        """
        self.count["delivered"] += 1
        try:
            delivery = self.model.arrives(port, came, lossy=port in self.died)
        except FaultError as error:
            raise DifferenceError(str(error)) from error
        assert delivery.request is not None
        if delivery.host == self.config.upstream:
            self._untorn(delivery.request["address"])
            return delivery
        request = self.requests[delivery.host].get(delivery.request["tag"])
        if request is not None and not delivery.copy:
            request.device_tag = came["tag"]
        return delivery

    def at_host(self, host: int, came: Message) -> None:
        """A host got an answer: the right one, in order, and the only one.

        Raises
        ------
        DifferenceError
            If it is not.
        """
        if came.channel is Channel.S2M_BISNP:
            self._snoop_at_host(host, came)
            return
        self.count["answered"] += 1
        request = self.requests[host].get(came["tag"])
        if request is None:
            raise DifferenceError(f"host {host} did not ask: {came}")
        if came.channel not in request.waits:
            raise DifferenceError(f"host {host} is answered twice: {came}")
        expected = request.waits.pop(came.channel)
        lost = came != expected or request.port is None
        if came == expected:
            self._in_order(host, request, came)
        else:
            self._lost(host, request, came, expected)
        self._hold_content(host, request, came, lost=lost)
        if not request.waits:
            del self.requests[host][came["tag"]]

    def at_snooper(self, port: int, came: Message) -> None:
        """A device got an answer to its back-invalidation.

        Raises
        ------
        DifferenceError
            If no such answer is on its way.
        """
        self.count["snoop_answered"] += 1
        due = self._snoop_answers[port]
        if came not in due:
            raise DifferenceError(f"port {port}: no host answered {came}")
        due.remove(came)

    # Inside.

    def _untorn(self, line: int) -> None:
        """While a line is copied, its host has no request for it on its way."""
        self.count["copies"] += 1
        host, _ = self.model.moves.going or (0, 0)
        known = not (self.faulty or self.silent or self.died)
        if known and self.model.on_its_way(host, line):
            raise DifferenceError(f"line {line:#x} of host {host} is copied while it is in use")

    def _expect(self, host: int, tag: int, answer: Message) -> None:
        waits = self.requests[host][tag].waits
        if waits[answer.channel] is not None:
            raise DifferenceError(f"host {host} would be answered twice: {answer}")
        waits[answer.channel] = answer

    def _hold_content(self, host: int, request: OpenRequest, came: Message, *, lost: bool) -> None:
        if self.contents is None:
            return
        try:
            self.contents.answered(host, request.sent, came, home=request.home, lost=lost)
        except FaultError as error:
            raise DifferenceError(str(error)) from error

    def _lost(
        self, host: int, request: OpenRequest, came: Message, expected: Message | None
    ) -> None:
        """In place of a device that did not answer, the switch does."""
        lost = self.model.error(host, request.sent, {came.channel}, lost=True)
        if request.port not in self.faulty | self.silent | self.died:
            raise DifferenceError(f"host {host}: {came} instead of {expected}")
        if came != lost[0].message:
            raise DifferenceError(f"host {host}: {came} instead of {lost[0].message}")
        self.count["lost"] += 1
        if request.port is not None and request.device_tag is not None:
            self.model.expires(request.port, request.device_tag)

    def _in_order(self, host: int, request: OpenRequest, came: Message) -> None:
        if request.port is None:
            return
        queue = self._order[request.port, came.channel, host]
        if came not in queue:
            return  # an answer of the switch itself
        while (first := queue.popleft()) != came:
            if request.port not in self.faulty | self.died:
                raise DifferenceError(f"host {host}: {came} overtook {first}")

    def _snoop_at_host(self, host: int, came: Message) -> None:
        """The port is in ``bi_id``; the rest is as the device sent it."""
        self.count["snooped"] += 1
        port = came["bi_id"]
        waiting = self._snoops[port]
        for sent in waiting:
            same = sent["opcode"] == came["opcode"] and sent["address"] == came["address"]
            if same and self._owner(port, sent) == host:
                waiting.remove(sent)
                self.model.snoop(port, sent, came["bi_tag"])
                return
        raise DifferenceError(f"host {host}: no device sent {came}")

    def _owner(self, port: int, snoop: Message) -> int | None:
        return self.model.tables.owner(Device(port, snoop["bi_id"] & 15))

    def _answers_snoop(self, deliveries: list[Delivery]) -> None:
        for delivery in deliveries:
            self._snoop_answers[delivery.port].append(delivery.message)
