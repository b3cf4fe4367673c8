"""Cases of registers and the stack: what is set, and where the frame ends."""

from fanweave.sw.ebpf.verifier.cases.case import Case
from fanweave.sw.ebpf.verifier.rules import Rule

__all__ = ["CASES"]

_END = "\nr0 = 0\nexit"


def _registers() -> tuple[Case, ...]:
    rule = Rule.REGISTER_UNSET
    unset = (
        ("r0 at the exit", "exit", "r0 is not set"),
        ("r3 at the beginning", "r0 = r3\nexit", "r3 is not set"),
        ("r9 as an operand", "r0 = 1\nr0 += r9\nexit", "r9 is not set"),
        ("r5 in a condition", f"r0 = 0\nif r5 > 3 goto +0{_END}", "r5 is not set"),
        ("r4 stored", f"*(u64 *)(r10 - 8) = r4{_END}", "r4 is not set"),
        ("r6 as an address", "r0 = *(u8 *)(r6 + 0)\nexit", "r6 is not set"),
        ("r7 negated", f"r7 = -r7{_END}", "r7 is not set"),
        ("r1 behind a call of a helper", f"call time\nr0 = r1{_END}", "r1 is not set"),
        ("r5 behind a call of a helper", f"r5 = 1\ncall random\nr0 = r5{_END}", "r5 is not set"),
        (
            "r0 on one of two ways",
            "if r2 > 5 goto end\nr0 = 1\nend: exit",
            "r0 is not set",
        ),
        ("r0 behind a function without a result", "call f\nexit\nf: exit", "r0 is not set"),
        ("r2 behind a function", "r2 = 1\ncall f\nr0 = r2\nexit\nf: r0 = 0\nexit", "r2 is not set"),
        ("r6 in a function", "r6 = 1\ncall f\nexit\nf: r0 = r6\nexit", "r6 is not set"),
        ("r0 in a function", "r0 = 1\ncall f\nexit\nf: exit", "r0 is not set"),
        (
            "r0 of a compare and exchange",
            f"r2 = 1\n*(u64 *)(r10 - 8) = 0\nr0 = cmpxchg_64((u64 *)(r10 - 8), r0, r2){_END}",
            "r0 is not set",
        ),
    )
    return (
        *(Case(name=f"unset: {n}", text=text, rule=rule, says=says) for n, text, says in unset),
        Case(name="a number is returned", text="r0 = 42\nexit", longest=2),
        Case(name="r2 is the length of the context", text="r0 = r2\nexit", longest=2),
        Case(
            name="r0 is set on both ways",
            text="if r2 > 500 goto a\nr0 = 1\nexit\na: r0 = 2\nexit",
        ),
        Case(
            name="r6 to r9 are kept by calls",
            text="""
                r6 = 1
                r9 = r1
                call time
                call f
                r6 += r0
                r0 = *(u8 *)(r9 + 0)
                r0 += r6
                exit
            f:  r6 = 7
                r0 = r6
                exit
            """,
            longest=11,
        ),
        Case(
            name="a function's result is what it left in r0",
            text="r1 = 3\ncall f\nr0 += 1\nexit\nf: r0 = r1\nr0 *= 2\nexit",
            longest=7,
        ),
    )


#: Accesses that no frame allows: name, text, rule, and what it says.
_OUTSIDE: tuple[tuple[str, str, Rule, str], ...] = (
    ("above the frame", "*(u8 *)(r10 + 0) = 1", Rule.STACK_BOUNDS, "1 bytes at 0"),
    ("across the top", "*(u64 *)(r10 - 4) = 1", Rule.STACK_BOUNDS, "8 bytes at -4"),
    ("below the frame", "*(u8 *)(r10 - 513) = 1", Rule.STACK_BOUNDS, "at -513"),
    ("across the bottom", "*(u32 *)(r10 - 514) = 1", Rule.STACK_BOUNDS, "at -514"),
    (
        "a register moved too far",
        "r3 = r10\nr3 += -600\n*(u8 *)(r3 + 0) = 1",
        Rule.STACK_BOUNDS,
        "-600",
    ),
    ("nothing was stored", "r0 = *(u64 *)(r10 - 8)", Rule.STACK_UNSET, "r10-8"),
    (
        "half of it was stored",
        "*(u32 *)(r10 - 8) = 1\nr0 = *(u64 *)(r10 - 8)",
        Rule.STACK_UNSET,
        "the byte at r10-4",
    ),
    (
        "stored somewhere",
        """
            r3 = *(u8 *)(r1 + 0)
            r3 &= 8
            r4 = r10
            r4 += -16
            r4 += r3
            *(u64 *)(r4 + 0) = 1
            r0 = *(u64 *)(r10 - 16)
        """,
        Rule.STACK_UNSET,
        "r10-16",
    ),
    (
        "somewhere beyond the top",
        """
            r3 = *(u8 *)(r1 + 0)
            r3 &= 15
            r4 = r10
            r4 += -16
            r4 += r3
            *(u16 *)(r4 + 0) = 1
        """,
        Rule.STACK_BOUNDS,
        "an access of 2 bytes at -16 to -1",
    ),
    (
        "somewhere, where not all was stored",
        """
            *(u64 *)(r10 - 8) = 1
            r3 = *(u8 *)(r1 + 0)
            r3 &= 15
            r4 = r10
            r4 += -16
            r4 += r3
            r0 = *(u8 *)(r4 + 0)
        """,
        Rule.STACK_UNSET,
        "r10-16",
    ),
    (
        "a frame of a function that returned",
        "call f\nr0 = *(u64 *)(r10 - 8)\nexit\nf: *(u64 *)(r10 - 8) = 1\nr0 = 0",
        Rule.STACK_UNSET,
        "r10-8",
    ),
)


def _stack_refused() -> tuple[Case, ...]:
    return (
        *(
            Case(
                name=f"stack: {name}",
                text=f"{text}{_END}",
                rule=rule,
                says=says,
            )
            for name, text, rule, says in _OUTSIDE
        ),
        Case(
            name="stack: stored on one way only",
            text="""
                r3 = *(u8 *)(r1 + 0)
                if r3 > 5 goto next
                *(u64 *)(r10 - 8) = 1
            next:
                r0 = *(u64 *)(r10 - 8)
                exit
            """,
            rule=Rule.STACK_UNSET,
        ),
    )


def _stack_stores() -> tuple[Case, ...]:
    return (
        Case(name="stack: the lowest byte", text=f"*(u8 *)(r10 - 512) = 1{_END}", longest=3),
        Case(
            name="stack: bytes of two stores",
            text="*(u32 *)(r10 - 8) = 1\n*(u32 *)(r10 - 4) = 2\nr0 = *(u64 *)(r10 - 8)\nexit",
        ),
        Case(
            name="stack: an address comes back as it was",
            text="*(u64 *)(r10 - 8) = r1\nr3 = *(u64 *)(r10 - 8)\nr0 = *(u8 *)(r3 + 63)\nexit",
        ),
        Case(
            name="stack: somewhere within what was stored",
            text="""
                *(u64 *)(r10 - 8) = 1
                *(u64 *)(r10 - 16) = 1
                r3 = *(u8 *)(r1 + 0)
                r3 &= 15
                r4 = r10
                r4 += -16
                r4 += r3
                *(u8 *)(r4 + 0) = 5
                r0 = *(u8 *)(r4 + 0)
                exit
            """,
        ),
    )


def _stack_numbers() -> tuple[Case, ...]:
    return (
        Case(
            name="stack: a number comes back as it was",
            text="""
                r3 = *(u8 *)(r1 + 0)
                r3 &= 63
                *(u64 *)(r10 - 8) = r3
                r4 = *(u64 *)(r10 - 8)
                r1 += r4
                r0 = *(u8 *)(r1 + 0)
                exit
            """,
        ),
        Case(
            name="stack: what is learnt of a stored number holds for the register",
            text="""
                r3 = *(u8 *)(r1 + 0)
                *(u64 *)(r10 - 8) = r3
                r4 = *(u64 *)(r10 - 8)
                if r4 > 63 goto end
                r1 += r3
                r0 = *(u8 *)(r1 + 0)
                exit
            end:
                r0 = 0
                exit
            """,
        ),
        Case(
            name="stack: a part of a known number",
            text="""
                *(u64 *)(r10 - 8) = 0x1234
                r3 = *(u8 *)(r10 - 7)
                r3 -= 0x12
                r1 += r3
                r0 = *(u64 *)(r1 + 56)
                exit
            """,
        ),
        Case(
            name="stack: a known number of two stores",
            text="""
                *(u32 *)(r10 - 8) = 0
                *(u32 *)(r10 - 4) = 0
                r3 = *(u64 *)(r10 - 8)
                r1 += r3
                r0 = *(u64 *)(r1 + 56)
                exit
            """,
        ),
    )


def _stack_of_callers() -> tuple[Case, ...]:
    return (
        Case(
            name="stack: a function works on its caller's frame",
            text="""
                *(u64 *)(r10 - 8) = 1
                r1 = r10
                r1 += -8
                call f
                r0 = *(u64 *)(r10 - 8)
                exit
            f:  *(u64 *)(r1 + 0) = 5
                r0 = 0
                exit
            """,
        ),
        Case(
            name="stack: a function sets its caller's frame",
            text="""
                r1 = r10
                r1 += -8
                call f
                r0 = *(u64 *)(r10 - 8)
                exit
            f:  *(u64 *)(r1 + 0) = 5
                r0 = 0
                exit
            """,
        ),
    )


CASES: tuple[Case, ...] = (
    *_registers(),
    *_stack_refused(),
    *_stack_stores(),
    *_stack_numbers(),
    *_stack_of_callers(),
)
