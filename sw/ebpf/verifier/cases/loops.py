"""Cases of loops: how many turns they have, whether they end, and whether within the budget."""

from fanweave.sw.ebpf.verifier.cases.case import Case
from fanweave.sw.ebpf.verifier.rules import Rule

__all__ = ["CASES"]

_END = "\nr0 = 0\nexit"


def _turns(count: int, body: str = "") -> str:
    return f"r6 = 0\nr7 = r1\nl: {body or 'r0 = r6'}\nr6 += 1\nif r6 != {count} goto l{_END}"


CASES: tuple[Case, ...] = (
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
