"""Cases of local calls and of tail calls."""

from fanweave.golden.isa.ebpf_machine import CALL_FRAMES, TAIL_CALLS
from fanweave.sw.ebpf.verifier.cases.case import Case
from fanweave.sw.ebpf.verifier.rules import Rule

__all__ = ["CASES"]

_END = "\nr0 = 0\nexit"
_TAIL = "r2 = map programs\nr3 = 0\ncall tail"
_RETURN = "r0 = *(u8 *)(r1 + 0)\nexit"


def _chain(depth: int) -> str:
    """Functions that call one another."""
    calls = "".join(f"f{n}: call f{n + 1}\nexit\n" for n in range(depth - 1))
    return f"{calls}f{depth - 1}: r0 = 0\nexit"


CASES: tuple[Case, ...] = (
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
