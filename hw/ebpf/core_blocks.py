"""What the stages of the core's pipeline share."""

from dataclasses import dataclass

from fanweave.hw.ebpf.context_wait import ContextWait
from fanweave.hw.ebpf.registers import RegisterFile
from fanweave.hw.ebpf.return_stack import ReturnStack
from fanweave.hw.ebpf.threads import Threads
from fanweave.hw.ebpf.write_back import ThreadMemories
from fanweave.hw.stream.queue import Queue

__all__ = ["CoreBlocks"]


@dataclass(frozen=True, kw_only=True)
class CoreBlocks:
    """Blocks of the core, and the queues of what leaves its pipeline.

    Attributes
    ----------
    threads : Threads
    registers : RegisterFile
    memories : ThreadMemories
    returns : ReturnStack
    wait : ContextWait
    divisions, accesses, calls, verdicts : Queue
        With a place for each thread in all of them, so none is ever full.
    """

    threads: Threads
    registers: RegisterFile
    memories: ThreadMemories
    returns: ReturnStack
    wait: ContextWait
    divisions: Queue
    accesses: Queue
    calls: Queue
    verdicts: Queue
