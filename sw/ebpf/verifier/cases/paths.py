"""Cases of loops, calls, tail calls, and how long the longest path is."""

from fanweave.golden.isa.ebpf_machine import CALL_FRAMES, TAIL_CALLS
from fanweave.sw.ebpf.verifier.cases.case import Case
from fanweave.sw.ebpf.verifier.rules import Rule

__all__ = ["CASES"]

_END = "\nr0 = 0\nexit"
_TAIL = "r2 = map programs\nr3 = 0\ncall tail"
_RETURN = "r0 = *(u8 *)(r1 + 0)\nexit"


def _diamonds(count: int) -> str:
    """Ways that part and meet again, each with a number of its own."""
    text = "r0 = 0\n"
    for number in range(count):
        text += f"r3 = *(u8 *)(r1 + {number})\nr4 = 1\nif r3 > 5 goto m{number}\nr4 = 2\n"
        text += f"m{number}: r0 += r4\nr0 += 1\nr0 ^= 3\nr0 += 2\n"
    return f"{text}exit"


def _turns(count: int, body: str = "") -> str:
    return f"r6 = 0\nr7 = r1\nl: {body or 'r0 = r6'}\nr6 += 1\nif r6 != {count} goto l{_END}"


_LOOPS = (
    Case(name="loop: a hundred turns", text=_turns(100), longest=2 + 300 + 2),
    Case(
        name="loop: a condition in each turn",
        text=_turns(100, "r3 = *(u8 *)(r7 + 0)\nif r3 > 9 goto +1\nr8 = r6"),
        longest=2 + 500 + 2,
    ),
    Case(
        name="loop: as many turns as a byte says",
        text="r3 = *(u8 *)(r1 + 0)\nr0 = 0\nl: if r0 >= r3 goto end\nr0 += 1\ngoto l\nend: exit",
        longest=2 + 255 * 3 + 2,
    ),
    Case(
        name="loop: down to zero",
        text="r3 = *(u8 *)(r1 + 0)\nr3 &= 15\nr0 = 0\n"
        "l: if r3 == 0 goto end\nr3 -= 1\ngoto l\nend: exit",
        longest=3 + 15 * 3 + 2,
    ),
    Case(
        name="loop: shifted to zero",
        text="r0 = *(u64 *)(r1 + 0)\nl: if r0 == 0 goto end\nr0 >>= 8\ngoto l\nend: exit",
    ),
    Case(
        name="loop: within a loop",
        text="""
            r0 = 0
            r6 = 0
        a:  r7 = 0
        b:  r0 += r7
            r7 += 1
            if r7 < 10 goto b
            r6 += 1
            if r6 < 10 goto a
            exit
        """,
        longest=2 + 10 * (1 + 30 + 2) + 1,
    ),
    Case(
        name="loop: each turn loads a byte of the context",
        text="r0 = 0\nr6 = 0\nl: r3 = r1\nr3 += r6\nr4 = *(u8 *)(r3 + 0)\nr0 += r4\nr6 += 1\n"
        "if r6 != 64 goto l\nexit",
        longest=2 + 64 * 6 + 1,
    ),
    Case(
        name="loop: one turn too many for the context",
        text="r0 = 0\nr6 = 0\nl: r3 = r1\nr3 += r6\nr4 = *(u8 *)(r3 + 0)\nr0 += r4\nr6 += 1\n"
        "if r6 != 65 goto l\nexit",
        rule=Rule.CONTEXT_BOUNDS,
    ),
    Case(
        name="loop: it ends early on a byte",
        text="r0 = 0\nl: r3 = *(u8 *)(r1 + 0)\nif r3 == 7 goto end\n"
        "r0 += 1\nif r0 < 20 goto l\nend: exit",
        longest=1 + 20 * 4 + 1,
    ),
    Case(name="endless: a jump to itself", text="l: goto l", rule=Rule.ENDLESS, says="no exit"),
    Case(
        name="endless: a counter that nobody looks at",
        text="r0 = 0\nl: r0 += 1\ngoto l",
        rule=Rule.ENDLESS,
    ),
    Case(
        name="endless: behind a condition",
        text="r3 = *(u8 *)(r1 + 0)\nif r3 == 7 goto l\nr0 = 0\nexit\nl: r3 += 1\ngoto l",
        rule=Rule.ENDLESS,
    ),
    Case(
        name="endless: until a byte changes",
        text="r0 = 0\nl: r3 = *(u8 *)(r1 + 0)\nif r3 != 7 goto l\nexit",
        rule=Rule.ENDLESS,
        says="in the same state",
    ),
    Case(
        name="endless: until a random number",
        text="l: call random\nif r0 != 7 goto l\nexit",
        rule=Rule.ENDLESS,
    ),
    Case(
        name="endless: a counter that goes round",
        text="r6 = 0\nl: r6 += 1\nr6 &= 3\nr3 = *(u8 *)(r1 + 0)\nif r3 != 0 goto l\nr0 = r6\nexit",
        rule=Rule.ENDLESS,
    ),
    Case(
        name="endless: a function",
        text="call f\nexit\nf: goto -1",
        rule=Rule.ENDLESS,
    ),
    Case(
        name="budget: a counter without a bound",
        text="r6 = 0\nl: r6 += 1\nr3 = *(u8 *)(r1 + 0)\nif r3 != 0 goto l\nr0 = r6\nexit",
        rule=Rule.BUDGET,
        says="executed 10000 instructions",
    ),
    Case(name="budget: a loop of too many turns", text=_turns(5000), rule=Rule.BUDGET),
    Case(
        name="budget: one instruction too many",
        text=_turns(100),
        rule=Rule.BUDGET,
        budget=303,
    ),
    Case(name="budget: as many as there are", text=_turns(100), longest=304, budget=304),
    Case(
        name="budget: the longer of two ways",
        text="r3 = *(u8 *)(r1 + 0)\nr0 = 0\nif r3 > 5 goto end\nr0 = 1\nr0 = 2\nend: exit",
        rule=Rule.BUDGET,
        budget=5,
    ),
)

_WAYS = (
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
        text="""
            r3 = *(u64 *)(r1 + 0)
            r4 = r3
            r5 = *(u64 *)(r1 + 8)
            r6 = 1
            r6 = 2
            if r5 > 5 goto next
            r4 = *(u64 *)(r1 + 16)
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
        name="ways: what is never reached may be wrong",
        text="r0 = 0\ngoto end\nr0 = *(u64 *)(r9 + 0)\nend: exit",
    ),
)


def _chain(depth: int) -> str:
    """Functions that call one another."""
    calls = "".join(f"f{n}: call f{n + 1}\nexit\n" for n in range(depth - 1))
    return f"{calls}f{depth - 1}: r0 = 0\nexit"


_CALLS = (
    Case(
        name="calls: as deep as there are frames",
        text=_chain(CALL_FRAMES),
        longest=2 * CALL_FRAMES,
    ),
    Case(
        name="calls: a function from two places",
        text="call f\ncall f\nexit\nf: r0 = 1\nexit",
        longest=7,
    ),
    Case(
        name="tail: where nothing is",
        text=f"{_TAIL}{_END}",
        longest=5,
    ),
    Case(
        name="tail: a program that ends",
        text=f"{_TAIL}{_END}",
        others=(_RETURN,),
        longest=5 + 2,
    ),
    Case(
        name="tail: a program that goes on in itself",
        text=f"{_TAIL}{_END}",
        others=(f"{_TAIL}{_END}",),
        longest=5 * (1 + TAIL_CALLS),
    ),
    Case(
        name="tail: too many programs for the budget",
        text=f"{_TAIL}{_END}",
        others=(f"{_TAIL}{_END}",),
        budget=100,
        rule=Rule.BUDGET,
        says="with tail calls 170 instructions",
    ),
    Case(
        name="tail: a program that relies on r2",
        text=f"{_TAIL}{_END}",
        others=("r0 = r2\nexit",),
        rule=Rule.REGISTER_UNSET,
    ),
    Case(
        name="tail: a program that is refused by itself",
        text=f"{_TAIL}{_END}",
        others=("r0 = *(u8 *)(r1 + 64)\nexit",),
        rule=Rule.CONTEXT_BOUNDS,
    ),
    Case(
        name="tail: in a function, the caller goes on",
        text=f"r6 = r1\ncall f\nr0 += 1\nexit\nf: {_TAIL}\nr0 = 5\nexit",
        others=(_RETURN,),
    ),
    Case(
        name="tail: in a function, what the caller knows of r0 is gone",
        text=f"r6 = r1\ncall f\nr6 += r0\nr0 = *(u8 *)(r6 + 0)\nexit\nf: {_TAIL}\nr0 = 5\nexit",
        others=(_RETURN,),
        rule=Rule.ADDRESS_RANGE,
    ),
    Case(
        name="tail: in functions, again and again",
        text=f"call f\nexit\nf: {_TAIL}\nr0 = 5\nexit",
        others=(f"call f\nexit\nf: {_TAIL}\nr0 = 5\nexit",),
        rule=Rule.CALL_DEPTH,
    ),
    Case(
        name="tail: without the context",
        text=f"r1 = r10\n{_TAIL}{_END}",
        rule=Rule.CONTEXT_ARGUMENT,
    ),
    Case(
        name="tail: with the context's second byte",
        text=f"r1 += 1\n{_TAIL}{_END}",
        rule=Rule.CONTEXT_ARGUMENT,
    ),
    Case(
        name="tail: what was in r1 is gone",
        text=f"{_TAIL}\nr0 = *(u8 *)(r1 + 0)\nexit",
        rule=Rule.REGISTER_UNSET,
    ),
)

CASES: tuple[Case, ...] = (*_LOOPS, *_WAYS, *_CALLS)
