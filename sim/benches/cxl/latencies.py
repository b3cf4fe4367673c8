"""How long requests take at a switch: from when it takes them to when it gives the last answer."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from fanweave.golden.cxl.messages import Message
from fanweave.golden.isa.cxl_event import Channel
from fanweave.golden.isa.cxl_messages import OPCODES, answers_of
from fanweave.sim.benches.cxl.records import Gave, Record, Took

__all__ = ["Flow", "Latencies"]

_REQUESTS = (Channel.M2S_REQ, Channel.M2S_RWD)
_ANSWERS = (Channel.S2M_NDR, Channel.S2M_DRS)


@dataclass(frozen=True, kw_only=True)
class Flow:
    """Requests of a host with one opcode.

    Attributes
    ----------
    host : int
        Whose.
    opcode : str
        Its name.
    requests : int
        Those with an answer.
    mean, p99, most : float
        Cycles, those of the device counted too.
    """

    host: int
    opcode: str
    requests: int
    mean: float
    p99: float
    most: float


class Latencies:
    """Collects times while records go by."""

    def __init__(self) -> None:
        self._open: dict[tuple[int, int], tuple[int, str, set[Channel]]] = {}
        self._cycles: dict[tuple[int, str], list[int]] = {}

    def through(self, records: Iterable[Record]) -> Iterator[Record]:
        """The same records, looked at on their way."""
        for record in records:
            match record.what:
                case Took(port, message) if message.channel in _REQUESTS:
                    self._begin(record.cycle, port, message)
                case Gave(port, message) if message.channel in _ANSWERS:
                    self._end(record.cycle, port, message)
            yield record

    def _begin(self, cycle: int, host: int, message: Message) -> None:
        channel, opcode = message.channel, message["opcode"]
        waits = set(answers_of(channel, opcode, message["snoop"]))
        if waits:
            name = OPCODES[channel](opcode).name
            self._open[host, message["tag"]] = (cycle, name, waits)

    def _end(self, cycle: int, host: int, message: Message) -> None:
        key = (host, message["tag"])
        begin, name, waits = self._open[key]
        waits.discard(message.channel)
        if not waits:
            del self._open[key]
            self._cycles.setdefault((host, name), []).append(cycle - begin)

    def flows(self) -> list[Flow]:
        """By host and opcode."""
        return [
            Flow(
                host=host,
                opcode=opcode,
                requests=len(cycles),
                mean=float(np.mean(cycles)),
                p99=float(np.percentile(cycles, 99, method="higher")),
                most=float(max(cycles)),
            )
            for (host, opcode), cycles in sorted(self._cycles.items())
        ]
