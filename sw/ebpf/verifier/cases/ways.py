"""Cases of ways that part and meet again."""

from fanweave.sw.ebpf.verifier.cases.case import Case
from fanweave.sw.ebpf.verifier.environment import ContextRule
from fanweave.sw.ebpf.verifier.rules import Rule

__all__ = ["CASES"]

_END = "\nr0 = 0\nexit"
#: As many instructions as lie between two kept states at least.
_FILL = "r9 = 0\n" * 8


def _diamonds(count: int) -> str:
    """Ways that part and meet again, each with a number of its own."""
    text = "r0 = 0\n"
    for number in range(count):
        text += f"r3 = *(u8 *)(r1 + {number})\nr4 = 1\nif r3 > 5 goto m{number}\nr4 = 2\n"
        text += f"m{number}: r0 += r4\nr0 += 1\nr0 ^= 3\nr0 += 2\n"
    return f"{text}exit"


def _thrice(first: str, third: str, last: str) -> str:
    """Three ways: the second is like the first in the end, and the third like the second before.

    So the third one is compared with a state whose end was not followed either.
    """
    return f"""
        r6 = *(u8 *)(r1 + 0)
        r7 = *(u8 *)(r1 + 1)
        {_FILL}
        if r6 > 5 goto two
        {first}
        r4 = 0
        goto meet
    two:
        {third}
        r4 = 1
        if r7 > 5 goto meet
        {first}
    meet:
        r5 = 1
        if r4 == 0 goto other
        {_FILL}
        goto again
    other:
        {_FILL}
    again:
        {last}
        exit
    """


CASES: tuple[Case, ...] = (
    Case(name="ways: twenty that part and meet", text=_diamonds(20), longest=1 + 20 * 8 + 1),
    Case(
        name="ways: of two, the longer one counts",
        text="r3 = *(u8 *)(r1 + 0)\nr0 = 0\nif r3 > 5 goto end\nr0 = 1\nr0 = 2\nend: exit",
        longest=6,
    ),
    Case(
        name="ways: a number that differs counts where it is used",
        text="""
            r3 = *(u8 *)(r1 + 0)
            r4 = 0
            if r3 > 5 goto next
            r4 = 57
        next:
            r5 = 1
            r5 = 2
            r5 = 3
            r1 += r4
            r0 = *(u64 *)(r1 + 0)
            exit
        """,
        rule=Rule.CONTEXT_BOUNDS,
    ),
    Case(
        name="ways: a number that differs counts in a condition",
        text="""
            r3 = *(u8 *)(r1 + 0)
            r4 = 0
            if r3 > 5 goto next
            r4 = 1
        next:
            r0 = 0
            r5 = 2
            r5 = 3
            r5 = 4
            r5 = 5
            r4 += 3
            if r4 != 4 goto end
            r0 = *(u8 *)(r1 + 64)
        end:
            exit
        """,
        rule=Rule.CONTEXT_BOUNDS,
    ),
    Case(
        name="ways: a number that differs on the stack",
        text="""
            r3 = *(u8 *)(r1 + 0)
            *(u64 *)(r10 - 8) = 0
            if r3 > 5 goto next
            *(u64 *)(r10 - 8) = 57
        next:
            r5 = 1
            r5 = 2
            r5 = 3
            r5 = 4
            r4 = *(u64 *)(r10 - 8)
            r1 += r4
            r0 = *(u64 *)(r1 + 0)
            exit
        """,
        rule=Rule.CONTEXT_BOUNDS,
    ),
    Case(
        name="ways: an address on one, a number on the other",
        text="""
            r3 = *(u8 *)(r1 + 0)
            r4 = r1
            r5 = 1
            r5 = 2
            r5 = 3
            if r3 > 5 goto next
            r4 = 5
        next:
            r0 = *(u8 *)(r4 + 0)
            exit
        """,
        rule=Rule.NO_ADDRESS,
    ),
    Case(
        name="ways: a copy that is none on the other way",
        text=f"""
            r3 = *(u64 *)(r1 + 0)
            r4 = *(u64 *)(r1 + 8)
            r5 = *(u64 *)(r1 + 16)
            {_FILL}
            if r5 > 5 goto next
            r4 = r3
        next:
            r6 = 3
            if r4 > 7 goto end
            r1 += r3
            r0 = *(u8 *)(r1 + 0)
            exit
        end:
            r0 = 0
            exit
        """,
        rule=Rule.ADDRESS_RANGE,
    ),
    Case(
        name="ways: a limit that is another on the other way",
        text=f"""
            r3 = *(u8 *)(r1 + 0)
            r5 = *(u64 *)(r1 + 8)
            r4 = 100
            {_FILL}
            if r3 > 5 goto next
            r4 = 7
        next:
            if r5 > r4 goto end
            r1 += r5
            r0 = *(u8 *)(r1 + 56)
            exit
        end:
            r0 = 0
            exit
        """,
        rule=Rule.CONTEXT_BOUNDS,
    ),
    Case(
        name="ways: a limit of a copy that is another on the other way",
        text=f"""
            r3 = *(u8 *)(r1 + 0)
            r5 = *(u64 *)(r1 + 8)
            r6 = r5
            r4 = 100
            {_FILL}
            if r3 > 5 goto next
            r4 = 7
        next:
            if r6 > r4 goto end
            r1 += r5
            r0 = *(u8 *)(r1 + 56)
            exit
        end:
            r0 = 0
            exit
        """,
        rule=Rule.CONTEXT_BOUNDS,
    ),
    Case(
        name="ways: the length is looked at on one of them",
        text=f"""
            {_FILL}
            if r2 < 20 goto next
            r2 = 1
        next:
            r0 = *(u32 *)(r1 + 16)
            exit
        """,
        context=ContextRule(least=0, most=64),
        rule=Rule.CONTEXT_BOUNDS,
    ),
    Case(
        name="ways: null is looked at on one of them",
        text=f"""
            r6 = *(u8 *)(r1 + 0)
            *(u32 *)(r10 - 4) = 0
            r1 = map hash
            r2 = r10
            r2 += -4
            call lookup
            r7 = r0
            if r6 > 5 goto next
            if r0 == 0 goto end
        next:
            r0 = *(u64 *)(r7 + 0)
        end:{_END}
        """,
        rule=Rule.NULL_CHECK,
    ),
    Case(
        name="ways: a record is open on one of them",
        text=f"""
            r6 = *(u8 *)(r1 + 0)
            r1 = map ring
            r2 = 8
            r3 = 0
            call reserve
            if r0 == 0 goto end
            r7 = r0
            if r6 > 5 goto next
            r1 = r0
            r2 = 0
            call discard
        next:
            r6 = 1
        end:{_END}
        """,
        rule=Rule.RECORD_OPEN,
    ),
    Case(
        name="ways: an address of two memories",
        text=f"""
            r6 = *(u8 *)(r1 + 0)
            r3 = value array
            {_FILL}
            if r6 > 5 goto next
            r3 = r1
        next:
            r0 = *(u64 *)(r3 + 16)
            exit
        """,
        rule=Rule.VALUE_BOUNDS,
    ),
    Case(
        name="ways: what is never reached may be wrong",
        text="r0 = 0\ngoto end\nr0 = *(u64 *)(r9 + 0)\nend: exit",
    ),
    Case(
        name="ways: three, and the last did not set the stack",
        text=_thrice("*(u64 *)(r10 - 8) = 1", "r5 = 1", "r0 = *(u64 *)(r10 - 8)"),
        rule=Rule.STACK_UNSET,
    ),
    Case(
        name="ways: three, and the last did not set a register",
        text=_thrice("r8 = 1", "r5 = 1", "r0 = r8"),
        rule=Rule.REGISTER_UNSET,
    ),
    Case(
        name="ways: three, and the last stored another number",
        text=_thrice(
            "*(u64 *)(r10 - 8) = 0",
            "*(u64 *)(r10 - 8) = 60",
            "r3 = *(u64 *)(r10 - 8)\nr1 += r3\nr0 = *(u64 *)(r1 + 56)",
        ),
        rule=Rule.CONTEXT_BOUNDS,
    ),
    Case(
        name="ways: three, and the last has another number",
        text=_thrice("r8 = 0", "r8 = 60", "r1 += r8\nr0 = *(u64 *)(r1 + 56)"),
        rule=Rule.CONTEXT_BOUNDS,
    ),
)
