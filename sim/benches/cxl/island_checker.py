"""Follows an island: events are those of messages, verdicts those of golden, and have effect."""

from fanweave.golden.cxl.island_config import IslandConfig
from fanweave.golden.cxl.messages import Message
from fanweave.golden.ebpf.machine import Machine
from fanweave.golden.isa.cxl_event import (
    Channel,
    Verdict,
    VerdictAction,
    decode_event,
    encode_event,
    payload_digest,
)
from fanweave.golden.isa.cxl_messages import LINE_BYTES
from fanweave.golden.isa.cxl_switch import PAGE_BYTES, MoveStep
from fanweave.golden.isa.ebpf_machine import FaultCause
from fanweave.sim.benches.cxl.checker import DifferenceError, TrafficChecker
from fanweave.sim.benches.cxl.records import Asked, Moved, Record, Told

__all__ = ["IslandChecker"]

_REQUESTS = (Channel.M2S_REQ, Channel.M2S_RWD)
#: What an event says that no message does: how busy a device was.
_STATE = ("dev_load",)


class IslandChecker(TrafficChecker):
    """The model of a switch, with golden programs that judge its requests.

    Events are handled one after the other, in the order in which the engine gets them. Threads of
    an engine may finish in another order, so a program whose verdict hangs on what others have left
    in maps can differ; counters that it adds to cannot.

    Parameters
    ----------
    config : IslandConfig
        The island.
    machine : Machine
        Programs by number, with their maps.
    deny : bool
        Whether the default of inline rules is to deny.

    Attributes
    ----------
    count : Counter
        Beside those of `TrafficChecker`: asked, told, judged, defaulted.
    """

    def __init__(self, config: IslandConfig, machine: Machine, *, deny: bool = False) -> None:
        super().__init__(config.switch)
        self.machine = machine
        self._deny = deny
        self.judge = self._judge
        #: The last one with each tag, for an event may come when it has left; the port where its
        #: line was.
        self._requests: dict[tuple[int, Channel, int], tuple[Message, int]] = {}
        #: Host, page and port of moves that programs asked for.
        self._promoted: set[tuple[int, int, int]] = set()
        #: Event by tag, verdict by request; what the engine has not said yet is only in the first.
        self._asked: dict[int, tuple[tuple[int, Channel, int], int | None]] = {}
        self._told: dict[tuple[int, Channel, int], Verdict | None] = {}

    def look(self, record: Record) -> None:
        """See events and verdicts."""
        match record.what:
            case Asked(tag, program, context):
                self._ask(tag, program, context)
            case Told(tag, r0, failed):
                self._tell(tag, r0, failed)

    def request(self, host: int, came: Message) -> None:
        """An event says where the line is when its request comes in."""
        super().request(host, came)
        target = self.model.locate(host, came["address"])
        self._requests[host, came.channel, came["tag"]] = came, target.port if target else 0

    def moves(self, moved: Moved) -> None:
        """A move begins because a program said so.

        Raises
        ------
        DifferenceError
            If none did.
        """
        wanted = moved.host, moved.page, moved.target.port
        if moved.step is MoveStep.BEGIN and wanted not in self._promoted:
            raise DifferenceError(f"no program moves page {moved.page:#x} to {moved.target}")
        super().moves(moved)

    def _ask(self, tag: int, program: int, context: bytes) -> None:
        self.count["asked"] += 1
        event = decode_event(context)
        channel = Channel(event["channel"])
        if channel in _REQUESTS:
            self._compare_request(event["port"], channel, event)
        outcome = self.machine.run(self.machine.programs[program], context)
        r0 = outcome.r0 if outcome.fault is FaultCause.NONE else None
        host = event["port"] if channel in _REQUESTS else event["island"]
        self._asked[tag] = (host, channel, event["tag"]), r0
        verdict = None if r0 is None else Verdict.decode(r0)
        if verdict is not None and verdict.action is VerdictAction.PROMOTE:
            self._promoted.add((host, event["address"] // PAGE_BYTES, verdict.island))

    def _compare_request(self, host: int, channel: Channel, event: dict[str, int]) -> None:
        """The event of a request is what its message says."""
        request = self._requests.get((host, channel, event["tag"]))
        if request is None:
            raise DifferenceError(f"an event of host {host} is of no request: {event}")
        message, island = request
        fields = {name: message[name] for name in message.fields if name in event}
        fields |= {
            "address": message["address"] * LINE_BYTES,
            "port": host,
            "channel": channel,
            "island": island,
            **{name: event[name] for name in _STATE},
        }
        if channel is Channel.M2S_RWD:
            fields["payload_digest"] = payload_digest(
                message["data"].to_bytes(LINE_BYTES, "little")
            )
        expected = decode_event(encode_event(**fields))
        if event != expected:
            raise DifferenceError(f"host {host}: the event is {event} instead of {expected}")

    def _tell(self, tag: int, r0: int, failed: bool) -> None:
        self.count["told"] += 1
        if tag not in self._asked:
            raise DifferenceError(f"a verdict with tag {tag:#x} is for no event")
        request, expected = self._asked.pop(tag)
        if failed != (expected is None) or (expected is not None and r0 != expected):
            raise DifferenceError(f"verdict {r0:#x} (failed: {failed}) instead of {expected}")
        self._told[request] = None if failed else Verdict.decode(r0)

    def _judge(self, host: int, message: Message, judged: bool) -> tuple[Verdict | None, bool]:
        verdict = self._told.pop((host, message.channel, message["tag"]), None)
        if judged and verdict is None:
            raise DifferenceError(f"host {host}: no verdict says what becomes of {message}")
        self.count["judged" if judged else "defaulted"] += 1
        return verdict if judged else None, self._deny
