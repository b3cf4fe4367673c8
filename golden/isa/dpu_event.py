"""What a program of `dputime`, this project's reference runtime of a DPU, gets and gives: the
context of a transfer's event, and the verdict.
"""

import enum
from collections.abc import Mapping

from fanweave.golden.errors import InputError
from fanweave.golden.isa.cxl_event import decode_fields, encode_fields, layout

__all__ = [
    "DPU_ENUMS",
    "HOLD_LSB",
    "QUEUES",
    "QUEUE_LSB",
    "TRANSFER_BYTES",
    "TRANSFER_FIELDS",
    "DpuAction",
    "DpuEvent",
    "decode_dpu_verdict",
    "decode_transfer",
    "dpu_verdict",
    "encode_transfer",
]

#: Queues of the network interface; a lower number is served first.
QUEUES = 4
_ACTION_BITS, _QUEUE_BITS, _HOLD_BITS = 8, 8, 32
#: Places of the queue and of the time in a verdict.
QUEUE_LSB = _ACTION_BITS
HOLD_LSB = QUEUE_LSB + _QUEUE_BITS


class DpuEvent(enum.IntEnum):
    """Why the program is called."""

    POSTED = 0  # a host wants to send
    AGAIN = 1  # it was held, and its time is up
    DONE = 2  # the last byte has arrived; the verdict means nothing


class DpuAction(enum.IntEnum):
    """What becomes of the transfer."""

    SEND = 0  # into a queue
    HOLD = 1  # asked again later
    REJECT = 2  # not at all: its host gets an error


#: By the prefix of their names in C.
DPU_ENUMS: Mapping[str, type[enum.IntEnum]] = {"EVENT": DpuEvent, "": DpuAction}

TRANSFER_BYTES = 64
TRANSFER_FIELDS = layout(
    (
        ("address", 8, "First byte, in the addresses of its tenant."),
        ("bytes", 8, "How many."),
        ("deadline_ns", 8, "When it must have arrived; 0 for never."),
        ("posted_ns", 8, "When its host posted it."),
        ("waiting_bytes", 8, "In the queues of the interface."),
        ("movement", 4, "Number of the movement."),
        ("held", 4, "How often it was held."),
        ("source", 1, "Number of the host."),
        ("target", 1, "Number of the host that it goes to."),
        ("tenant", 1, "Number of the tenant."),
        ("phase", 1, "0 other, 1 attention, 2 FFN."),
        ("priority", 1, "0 to 7, 7 the most urgent."),
        ("event", 1, "Why the program is called."),
    )
)


def encode_transfer(**values: int) -> bytes:
    """The context of an event; fields that are left out are 0.

    Raises
    ------
    InputError
        If there is no such field, or a value does not fit.
    """
    return encode_fields(TRANSFER_FIELDS, TRANSFER_BYTES, values)


def decode_transfer(context: bytes) -> dict[str, int]:
    """Fields of a context by name.

    Raises
    ------
    InputError
        If it has another length.
    """
    return decode_fields(TRANSFER_FIELDS, TRANSFER_BYTES, context)


def dpu_verdict(action: DpuAction, *, queue: int = 0, hold_ns: int = 0) -> int:
    """r0: bits 0 to 7 the action, 8 to 15 the queue of `SEND`, 16 to 47 the time of `HOLD`.

    Raises
    ------
    InputError
        If a number does not fit, or the action does not use it.
    """
    most = {
        "queue": QUEUES - 1 if action is DpuAction.SEND else 0,
        "hold_ns": (1 << _HOLD_BITS) - 1 if action is DpuAction.HOLD else 0,
    }
    for name, value in (("queue", queue), ("hold_ns", hold_ns)):
        if not 0 <= value <= most[name]:
            raise InputError(
                f"{name} = {value} of {action.name}; it must be from 0 to {most[name]}"
            )
    return action | queue << QUEUE_LSB | hold_ns << HOLD_LSB


def decode_dpu_verdict(r0: int) -> tuple[DpuAction, int, int] | None:
    """Action, queue and time that r0 says; None if it says nothing."""
    queue = r0 >> QUEUE_LSB & (1 << _QUEUE_BITS) - 1
    hold = r0 >> HOLD_LSB & (1 << _HOLD_BITS) - 1
    try:
        action = DpuAction(r0 & (1 << _ACTION_BITS) - 1)
        made = dpu_verdict(action, queue=queue, hold_ns=hold)
    except ValueError:
        return None
    return (action, queue, hold) if made == r0 else None
