"""Registers of the CXL switch, and codes that they use.

How many registers there are depends on the switch: `switch_registers` lists them. An address of
memory is given in pages of 4 KiB, its bits from 12 on in two registers.
"""

import enum
from collections.abc import Iterator
from functools import cache

from fanweave.golden.isa.registers import Field, Register

__all__ = [
    "COUNTERS",
    "GRANULARITY_BYTES",
    "MAX_VERDICT_CYCLES",
    "MAX_WAYS",
    "PAGE_BYTES",
    "RESET_DELAY_LIMIT",
    "RESET_TIMEOUT",
    "RESET_WAIT",
    "TOKEN_PARTS",
    "MoveStep",
    "SwitchError",
    "switch_registers",
]

#: Unit of ranges and of moved memory.
PAGE_BYTES = 4096
#: Smallest granularity of interleaving; others are 2**n times as large.
GRANULARITY_BYTES = 256
MAX_WAYS = 8
#: Longest wait for a verdict.
MAX_VERDICT_CYCLES = 20
RESET_WAIT = MAX_VERDICT_CYCLES
RESET_TIMEOUT = 4096
RESET_DELAY_LIMIT = 1024
#: Parts of a token that `tokens_n.rate` counts.
TOKEN_PARTS = 256


class SwitchError(enum.IntEnum):
    """What the sticky error register says."""

    NONE = 0
    UNMAPPED = 1  # a request's address is in no range, or its range's port is not bound
    DENIED = 2  # a verdict denied a request
    LOST = 3  # a device did not answer in time
    DEAD = 4  # a request to a port that is dead
    UNKNOWN_ANSWER = 5  # an answer to nothing that is open: late, double or invented
    BAD_OPCODE = 6  # a request that there is not
    BIND_REFUSED = 7  # a logical device that is bound already, or a port that is none
    CREDIT_OVERFLOW = 8  # a peer gave back more credits than it had taken


class MoveStep(enum.IntEnum):
    """What the switch does for a page that moves."""

    NONE = 0
    BEGIN = 1  # a page gets an entry of its host's table
    HOLD = 2  # requests for a group of lines wait
    FLIP = 3  # the group was copied: requests go to the new place
    END = 4  # all of the page was
    HOME = 5  # the same, and its ranges say so too: the entry is free
    GIVE_UP = 6  # the rest of the page stays where it is


#: Counters, each a register of 32 bits that wraps, with their meanings.
COUNTERS = (
    ("requests", "Requests that went to devices, copies and those of moves included."),
    ("answers", "Answers that went to hosts, errors included."),
    ("errors", "Answers that the switch gave in place of a device."),
    ("unmapped", "Requests without a mapped and bound address."),
    ("denied", "Requests that verdicts or defaults denied."),
    ("lost", "Requests whose device did not answer in time, or died."),
    ("unknown_answers", "Answers to nothing that was open; dropped."),
    ("bad_opcodes", "Requests with a reserved opcode; dropped."),
    ("events", "Events for the policy engine."),
    ("dropped_events", "Events that matched a rule and found no place."),
    ("late_verdicts", "Verdicts that came too late for their message."),
    ("default_verdicts", "Inline messages that went on with the rule's default."),
    ("refused_verdicts", "Verdicts that say nothing, or name a port that the host does not have."),
    ("redirected", "Requests that verdicts sent to another port."),
    ("mirrored", "Requests that verdicts copied."),
    ("promotions", "Requests for a move of a page."),
    ("dropped_promotions", "Such requests that found no place, or no entry for their page."),
    ("moved_pages", "Pages that were moved."),
    ("moved_lines", "Lines that were copied for them."),
    ("failed_moves", "Moves that were given up: a device did not answer, or was unbound."),
    ("held_cycles", "Cycles that requests waited for lines that were copied, both channels added."),
)

_PAGE_LOW = Field("page", 12, 20, "Bits 31 to 12 of a byte address.")
_PAGE_HIGH = Field("page", 0, 20, "Bits 51 to 32 of a byte address.")


def _page(name: str, address: int, meaning: str) -> Iterator[Register]:
    yield Register(f"{name}_low", address, "rw", f"{meaning}, low part.", (_PAGE_LOW,))
    yield Register(f"{name}_high", address + 1, "rw", f"{meaning}, high part.", (_PAGE_HIGH,))


def _common() -> Iterator[Register]:
    yield Register(
        "policy",
        0x00,
        "rw",
        "How long messages wait for verdicts, and whether pages move.",
        (
            Field("wait", 0, 5, f"Cycles; more than {MAX_VERDICT_CYCLES} count as so many."),
            Field("still", 8, 1, "Pages stay where they are: promotions are only counted."),
        ),
    )
    yield Register(
        "timeout",
        0x01,
        "rw",
        "How long the switch waits for a device.",
        (Field("cycles", 0, 24, "For an answer, or for a credit before the port counts as dead."),),
    )
    yield Register(
        "delay_limit",
        0x02,
        "rw",
        "How long tokens may delay a request.",
        (Field("cycles", 0, 16, "Then it goes on without them."),),
    )
    yield Register(
        "link_down",
        0x03,
        "rw",
        "Ports that are taken off.",
        (Field("ports", 0, 16, "A bit a port, hosts first."),),
    )
    yield Register(
        "link_dead",
        0x04,
        "ro",
        "Ports that are off or were found dead.",
        (Field("ports", 0, 16, "A bit a port, hosts first."),),
    )
    yield Register(
        "revive",
        0x05,
        "wo",
        "Brings dead ports back, with all their credits.",
        (Field("ports", 0, 16, "A bit a port, hosts first."),),
    )
    yield Register(
        "error",
        0x06,
        "rw",
        "First error since it was cleared; any write clears it.",
        (
            Field("cause", 0, 4, "What was wrong."),
            Field("port", 4, 5, "Port that it was found at."),
        ),
    )
    yield Register("clear_counters", 0x07, "w1", "Makes all counters 0.", ())
    moving = (
        Field("busy", 0, 1, "Whether a page moves."),
        Field("host", 4, 3, "Whose."),
        Field("port", 8, 5, "Where it goes."),
    )
    yield Register("moving", 0x08, "ro", "The page that moves.", moving)
    for at, page in enumerate((_PAGE_LOW, _PAGE_HIGH)):
        name = f"moving_{('low', 'high')[at]}"
        yield Register(name, 0x09 + at, "ro", "Its address, in two parts.", (page,))
    for number, (name, meaning) in enumerate(COUNTERS):
        count = Field("count", 0, 32, "Counts; it wraps.")
        yield Register(f"counter_{name}", 0x10 + number, "ro", meaning, (count,))


def _host(host: int, base: int, decoders: int, bindings: int, moves: int) -> Iterator[Register]:
    yield Register(
        f"tokens_{host}",
        base,
        "rw",
        f"Tokens that host {host} earns.",
        (
            Field("rate", 0, 16, f"Parts a cycle, {TOKEN_PARTS} to a token."),
            Field("limit", 16, 16, "Most tokens that it keeps; a delay takes no more than these."),
        ),
    )
    for number in range(bindings):
        yield Register(
            f"binding_{host}_{number}",
            base + 0x10 + number,
            "rw",
            f"Virtual port {number} of host {host}.",
            (
                Field("bound", 0, 1, "Whether a logical device is bound to it."),
                Field("port", 4, 5, "The device's port."),
                Field("ld_id", 12, 4, "Which of the device's logical devices."),
            ),
        )
    for number in range(decoders):
        name, at = f"decoder_{host}_{number}", base + 0x20 + 8 * number
        control = (
            Field("enable", 0, 1, "Whether the range counts; the first one that fits does."),
            Field("ways", 4, 2, "Ways of interleaving: 1, 2, 4 or 8."),
            Field("granularity", 8, 3, f"{GRANULARITY_BYTES} * 2**n bytes on a way."),
        )
        yield Register(f"{name}_control", at, "rw", f"Range {number} of host {host}.", control)
        yield from _page(f"{name}_first", at + 1, "First page of the range")
        yield from _page(f"{name}_last", at + 3, "Last page of the range")
        targets = tuple(
            Field(f"way_{way}", 4 * way, 4, "Virtual port of the way.") for way in range(MAX_WAYS)
        )
        yield Register(f"{name}_targets", at + 5, "rw", "Where the ways lead.", targets)
    for number in range(moves):
        yield from _move(f"move_{host}_{number}", base + 0x60 + 4 * number, host)


def _move(name: str, at: int, host: int) -> Iterator[Register]:
    fields = (
        Field("valid", 0, 1, "Whether there is one."),
        Field("whole", 1, 1, "Whether all of it is there."),
        Field("port", 4, 5, "The device's port that has it."),
        Field("ld_id", 12, 4, "Which of the device's logical devices."),
    )
    meaning = f"A page of host {host} that was moved; any write forgets it, unless it moves."
    yield Register(name, at, "rw", meaning, fields)
    for place, page in enumerate((_PAGE_LOW, _PAGE_HIGH)):
        part = ("low", "high")[place]
        meaning = "Its address, in two parts."
        yield Register(f"{name}_{part}", at + 1 + place, "ro", meaning, (page,))


def _rule(number: int, base: int) -> Iterator[Register]:
    name = f"rule_{number}"
    control = (
        Field("enable", 0, 1, "Whether the rule counts; the first one that fits does."),
        Field("inline", 1, 1, "Whether a request waits for the verdict."),
        Field("deny", 2, 1, "The default verdict: deny instead of pass."),
        Field("program", 8, 8, "Program that gets the event."),
        Field("skip", 16, 16, "Messages that fit and are passed over after each event."),
    )
    match = (
        Field("ports", 0, 16, "Ports of entry, a bit each, hosts first."),
        Field("channels", 16, 6, "Kinds of message, a bit each."),
    )
    opcodes = (Field("mask", 0, 16, "A bit each."),)
    yield Register(f"{name}_control", base, "rw", f"Rule {number} of the event filter.", control)
    yield Register(f"{name}_match", base + 1, "rw", "Where and what it is for.", match)
    yield Register(f"{name}_opcodes", base + 2, "rw", "Opcodes that it is for.", opcodes)
    yield from _page(f"{name}_first", base + 3, "First page that it is for")
    yield from _page(f"{name}_last", base + 5, "Last page that it is for")


@cache
def switch_registers(
    *, upstream: int, downstream: int, decoders: int, bindings: int, rules: int, moves: int
) -> tuple[Register, ...]:
    """Registers of a switch in the order of their addresses, of 10 bits.

    Parameters
    ----------
    upstream, downstream : int
        Ports to hosts (up to 4) and to devices (up to 8).
    decoders, bindings : int
        Ranges (up to 8) and virtual ports (up to 16) of a host.
    rules : int
        Rules of the event filter, up to 8.
    moves : int
        Moved pages of a host, up to 8.
    """
    registers = [*_common()]
    for number in range(downstream):
        registers.append(
            Register(
                f"outstanding_{number}",
                0x30 + number,
                "ro",
                f"Requests to port {upstream + number} that are not answered yet.",
                (Field("count", 0, 32, "Both tables."),),
            )
        )
    for number in range(rules):
        registers += _rule(number, 0x40 + 8 * number)
    for host in range(upstream):
        registers += _host(host, 0x100 + 0x80 * host, decoders, bindings, moves)
    return tuple(sorted(registers, key=lambda register: register.address))
