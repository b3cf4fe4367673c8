"""The event loop: posts, holds, the link, arrivals; deterministic, in nanoseconds."""

import heapq
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from fanweave.golden.errors import FaultError
from fanweave.golden.isa.dpu_event import (
    DpuAction,
    DpuEvent,
    decode_dpu_verdict,
    encode_transfer,
)
from fanweave.golden.isa.ebpf_machine import FaultCause
from fanweave.sw.fabric.build import Built
from fanweave.sw.fabric.dputime.nic import Nic, Transfer

__all__ = ["MOST_HOLDS", "DpuTime"]

#: A transfer that is held as often is rejected: no program may hold one for ever.
MOST_HOLDS = 1000


@dataclass(order=True)
class _Entry:
    time_ns: int
    number: int
    call: Callable[[int], None] = field(compare=False)


class DpuTime:
    """Runs a DPU's object on the golden machine.

    Parameters
    ----------
    built : Built
        Its object.

    Attributes
    ----------
    nic : Nic
    machine : Machine
        With the maps as they are.
    finished : list of Transfer
        Those that arrived or were rejected, in this order.
    instructions : list of int
        Of each event, in order.
    """

    def __init__(self, built: Built) -> None:
        attach = built.unit.attach
        self.built = built
        self.nic = Nic(**attach["nic"])
        self.machine = built.machine()
        self.finished: list[Transfer] = []
        self.instructions: list[int] = []
        self._program = built.loaded.find_program(attach["program"]).program
        self._heap: list[_Entry] = []
        self._count = 0
        self._busy = False

    def at(self, time_ns: int, call: Callable[[int], None]) -> None:
        """Have something called with the time when it has come; first come, first served."""
        heapq.heappush(self._heap, _Entry(time_ns, self._count, call))
        self._count += 1

    def run(self, transfers: Iterable[Transfer]) -> list[Transfer]:
        """Run until nothing is left to do; every transfer arrives or is rejected.

        Raises
        ------
        FaultError
            If the program ends with a fault, or r0 says nothing.
        """
        for transfer in transfers:
            self.at(transfer.posted_ns, self._caller(transfer, DpuEvent.POSTED))
        while self._heap:
            entry = heapq.heappop(self._heap)
            entry.call(entry.time_ns)
        return self.finished

    def _caller(self, transfer: Transfer, event: DpuEvent) -> Callable[[int], None]:
        return lambda now: self._ask(transfer, event, now)

    def _ask(self, transfer: Transfer, event: DpuEvent, now: int) -> None:
        action, queue, hold_ns = self._verdict(transfer, event, now)
        if action is DpuAction.SEND:
            transfer.queue = queue
            self.nic.put(transfer)
            self._start(now)
        elif action is DpuAction.HOLD and transfer.held < MOST_HOLDS:
            transfer.held += 1
            # Time goes on even if the program does not say by how much.
            self.at(now + max(hold_ns, 1), self._caller(transfer, DpuEvent.AGAIN))
        else:
            transfer.rejected = True
            self.finished.append(transfer)

    def _start(self, now: int) -> None:
        if self._busy:
            return
        transfer = self.nic.take()
        if transfer is None:
            return
        self._busy = True
        end = now + self.nic.time_ns(transfer)
        self.at(end, self._leaves)
        self.at(end + self.nic.latency_ns, lambda then: self._arrives(transfer, then))

    def _leaves(self, now: int) -> None:
        self._busy = False
        self._start(now)

    def _arrives(self, transfer: Transfer, now: int) -> None:
        transfer.arrived_ns = now
        self.finished.append(transfer)
        self._verdict(transfer, DpuEvent.DONE, now)

    def _verdict(self, transfer: Transfer, event: DpuEvent, now: int) -> tuple[DpuAction, int, int]:
        context = encode_transfer(
            address=transfer.address,
            bytes=transfer.size,
            deadline_ns=transfer.deadline_ns,
            posted_ns=transfer.posted_ns,
            waiting_bytes=self.nic.waiting_bytes,
            movement=transfer.movement,
            held=transfer.held,
            source=transfer.source,
            target=transfer.target,
            tenant=transfer.tenant,
            phase=transfer.phase,
            priority=transfer.priority,
            event=event,
        )
        outcome = self.machine.run(self._program, context, time_ns=now)
        where = f"DPU {self.built.unit.place.name!r}"
        if outcome.fault is not FaultCause.NONE:
            raise FaultError(f"{where}: its program ended with {outcome.fault.name}")
        verdict = decode_dpu_verdict(outcome.r0)
        if verdict is None:
            raise FaultError(f"{where}: r0 = {outcome.r0:#x} is no verdict")
        self.instructions.append(outcome.instructions)
        return verdict
