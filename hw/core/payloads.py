"""What travels between the core and its memories, its vector unit, and its observer."""

from amaranth import unsigned
from amaranth.lib import data

__all__ = [
    "Access",
    "DataRequest",
    "DataResponse",
    "Fetched",
    "Halt",
    "Loaded",
    "Offload",
    "OffloadResult",
    "Stalls",
    "Trace",
    "VectorBusy",
    "Verdict",
]


class DataRequest(data.Struct):
    """A load or store of the word that ``address`` lies in.

    ``write`` stores the bytes of ``data`` that ``mask`` names. With ``lock`` the memory serves
    nobody else at this word until the next request of this core, which is a store; a mask of zero
    only unlocks. Every request has a response, in the order of requests.
    """

    address: unsigned(32)
    write: unsigned(1)
    lock: unsigned(1)
    mask: unsigned(4)
    data: unsigned(32)


class Access(data.Struct):
    """A load or store of 1, 2 or 4 bytes, ``size`` being 0, 1 or 2.

    A load goes to ``register``, a floating-point one if ``floating``, extended with zeros if
    ``extends_zero``. With ``held``, the instruction itself waits for the response; with
    ``silent`` a load goes to no register. A store that is ``empty`` stores nothing.
    """

    address: unsigned(32)
    write: unsigned(1)
    size: unsigned(2)
    extends_zero: unsigned(1)
    floating: unsigned(1)
    register: unsigned(5)
    lock: unsigned(1)
    held: unsigned(1)
    silent: unsigned(1)
    empty: unsigned(1)
    data: unsigned(32)


class Loaded(data.Struct):
    """A number from memory for a register."""

    floating: unsigned(1)
    register: unsigned(5)
    value: unsigned(32)


class DataResponse(data.Struct):
    """``data`` is the word that was loaded; ``error`` says that nothing is at the address.

    Only an address among the peripherals may give an error: the core knows the memories.
    """

    data: unsigned(32)
    error: unsigned(1)


class Offload(data.Struct):
    """An instruction for the vector unit, or an access to one of its CSRs.

    ``rs1``, ``rs2`` and ``fs1`` are the values of the registers that the word names. ``id`` counts
    instructions that were offloaded.
    """

    word: unsigned(32)
    id: unsigned(4)
    rs1: unsigned(32)
    rs2: unsigned(32)
    fs1: unsigned(32)


class VectorBusy(data.Struct):
    """What the vector unit still has to do: loads, stores, instructions that may set flags."""

    loads: unsigned(1)
    stores: unsigned(1)
    floats: unsigned(1)


class Verdict(data.Struct):
    """Whether an offloaded instruction traps; without a trap it can no longer do so.

    ``value`` is for ``mtval``; with an illegal instruction it has no meaning.
    """

    trap: unsigned(1)
    cause: unsigned(4)
    value: unsigned(32)


class OffloadResult(data.Struct):
    """A result for the scalar register ``register``, a floating-point one if ``floating``."""

    floating: unsigned(1)
    register: unsigned(5)
    value: unsigned(32)


class Fetched(data.Struct):
    """An instruction, or with ``fault`` an address that none can be fetched from.

    ``following`` is the address that was fetched after it.
    """

    pc: unsigned(32)
    word: unsigned(32)
    following: unsigned(32)
    fault: unsigned(1)


class Halt(data.Struct):
    """Why the core stands still: a trap without a handler at ``mtvec``."""

    halted: unsigned(1)
    cause: unsigned(4)
    pc: unsigned(32)
    value: unsigned(32)


class Trace(data.Struct):
    """What the core does in a cycle.

    The instruction ``word`` at ``pc`` completes (``retired``) or traps (``trapped``). Registers
    are written by it at once (``x``) or later by units and loads (``late_x``, ``late_f``).
    """

    retired: unsigned(1)
    trapped: unsigned(1)
    pc: unsigned(32)
    word: unsigned(32)
    x_write: unsigned(1)
    x_register: unsigned(5)
    x_value: unsigned(32)
    late_x_write: unsigned(1)
    late_x_register: unsigned(5)
    late_x_value: unsigned(32)
    late_f_write: unsigned(1)
    late_f_register: unsigned(5)
    late_f_value: unsigned(32)


class Stalls(data.Struct):
    """Why no instruction was issued in a cycle; at most one is set.

    ``fetch``: none was there. ``load``: an operand is being loaded. ``operand``: it comes from
    another unit. ``memory``, ``offload``, ``unit``: the one before waits for memory, for the
    vector unit, for a multiplier, divider or the floating-point unit. ``redirect``: the way
    through the program was not the predicted one.
    """

    fetch: unsigned(1)
    load: unsigned(1)
    operand: unsigned(1)
    memory: unsigned(1)
    offload: unsigned(1)
    unit: unsigned(1)
    redirect: unsigned(1)
