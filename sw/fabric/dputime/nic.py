"""A network interface: queues in strict order before one link."""

from collections import deque
from dataclasses import dataclass, field

from fanweave.golden.errors import InputError
from fanweave.golden.isa.dpu_event import QUEUES

__all__ = ["Nic", "Transfer"]

_BITS = 8


@dataclass(kw_only=True)
class Transfer:
    """What a host posts.

    Attributes
    ----------
    movement, tenant, source, target, phase, priority : int
        Numbers, as the context has them.
    address, size : int
    posted_ns : int
        When.
    deadline_ns : int
        When it must have arrived; 0 for never.
    queue : int
        Where it was sent by; -1 before.
    held : int
        How often it was held.
    arrived_ns : int
        When the last byte arrived; -1 before.
    rejected : bool
    """

    movement: int
    tenant: int
    source: int
    target: int
    address: int
    size: int
    posted_ns: int
    phase: int = 0
    priority: int = 0
    deadline_ns: int = 0
    queue: int = -1
    held: int = 0
    arrived_ns: int = -1
    rejected: bool = False


@dataclass(eq=False)
class Nic:
    """One link, one transfer at a time; the lowest queue that has something goes first.

    Parameters
    ----------
    gbit_s : int
        Rate of the link.
    latency_ns : int
        From the last byte's leaving to its arrival.

    Raises
    ------
    InputError
        If there is no rate.
    """

    gbit_s: int
    latency_ns: int
    queues: list[deque[Transfer]] = field(default_factory=lambda: [deque() for _ in range(QUEUES)])
    waiting_bytes: int = 0

    def __post_init__(self) -> None:
        if self.gbit_s < 1:
            raise InputError(f"gbit_s = {self.gbit_s}; a link needs 1 or more")

    def put(self, transfer: Transfer) -> None:
        """Append a transfer to its queue."""
        self.queues[transfer.queue].append(transfer)
        self.waiting_bytes += transfer.size

    def take(self) -> Transfer | None:
        """The next transfer for the link."""
        for queue in self.queues:
            if queue:
                transfer = queue.popleft()
                self.waiting_bytes -= transfer.size
                return transfer
        return None

    def time_ns(self, transfer: Transfer) -> int:
        """Nanoseconds that the link is busy with it, rounded up."""
        return -(-transfer.size * _BITS // self.gbit_s)
