"""Cases of addresses: how they are moved, compared and kept, and what may be null."""

from fanweave.sw.ebpf.verifier.cases.case import Case
from fanweave.sw.ebpf.verifier.rules import Rule

__all__ = ["CASES"]

_END = "\nr0 = 0\nexit"
_LOOKUP = """
    *(u32 *)(r10 - 4) = 0
    r1 = map hash
    r2 = r10
    r2 += -4
    call lookup
"""
_SAVED = f"r6 = r1\n{_LOOKUP}"


def _refused(kind: str, rule: Rule, rows: tuple[tuple[str, str], ...]) -> tuple[Case, ...]:
    return tuple(Case(name=f"{kind}: {name}", text=text, rule=rule) for name, text in rows)


_NULL = (
    *_refused(
        "null",
        Rule.NULL_CHECK,
        (
            ("a load without a comparison", f"{_LOOKUP}r0 = *(u64 *)(r0 + 0)\nexit"),
            ("a store without a comparison", f"{_LOOKUP}*(u64 *)(r0 + 0) = 0{_END}"),
            ("moved before the comparison", f"{_LOOKUP}r0 += 4{_END}"),
            (
                "an argument without a comparison",
                f"{_LOOKUP}r2 = r0\nr1 = map hash\ncall lookup{_END}",
            ),
            (
                "the other lookup was compared",
                f"{_LOOKUP}r7 = r0\n{_LOOKUP}if r0 == 0 goto end\nr0 = *(u64 *)(r7 + 0)\nexit"
                f"\nend:{_END}",
            ),
            ("compared with another address", f"{_SAVED}if r0 == r6 goto +0{_END}"),
            ("a difference", f"{_SAVED}r0 -= r6{_END}"),
        ),
    ),
    Case(
        name="null: compared by !=",
        text=f"{_LOOKUP}if r0 != 0 goto +2\nr0 = 0\nexit\nr0 = *(u64 *)(r0 + 0)\nexit",
        longest=8,
    ),
    Case(
        name="null: compared with a register that is 0",
        text=f"r7 = 0\n{_LOOKUP}if r0 == r7 goto end\nr0 = *(u64 *)(r0 + 0)\nexit\nend:{_END}",
    ),
    Case(
        name="null: a copy was compared",
        text=f"{_LOOKUP}r7 = r0\nif r0 == 0 goto end\nr0 = *(u64 *)(r7 + 0)\nexit\nend:{_END}",
    ),
    Case(
        name="null: a copy on the stack was compared",
        text=f"""{_LOOKUP}
            *(u64 *)(r10 - 16) = r0
            if r0 == 0 goto end
            r3 = *(u64 *)(r10 - 16)
            r0 = *(u64 *)(r3 + 0)
            exit
        end:{_END}""",
    ),
    Case(
        name="null: what is null is 0",
        text=f"{_SAVED}if r0 != 0 goto end\nr6 += r0\nr0 = *(u64 *)(r6 + 56)\nexit\nend:{_END}",
    ),
    Case(
        name="null: a function compares",
        text=f"""{_LOOKUP}
            r1 = r0
            call f
            exit
        f:  if r1 == 0 goto end
            r0 = *(u64 *)(r1 + 0)
            exit
        end:{_END}""",
    ),
    Case(
        name="null: a function returns what may be null",
        text=f"""
            call f
            if r0 == 0 goto end
            r0 = *(u64 *)(r0 + 0)
            exit
        end:{_END}
        f:{_LOOKUP}
            exit
        """,
    ),
)

_ARITHMETIC = (
    *_refused(
        "arithmetic",
        Rule.ADDRESS_ARITHMETIC,
        (
            ("an address in 32 bits", f"w1 += 4{_END}"),
            ("an address moved in 32 bits", f"w3 = w1{_END}"),
            ("an address multiplied", f"r1 *= 2{_END}"),
            ("an address masked", f"r1 &= -8{_END}"),
            ("an address shifted", f"r1 <<= 1{_END}"),
            ("an address negated", f"r1 = -r1{_END}"),
            ("an address divided", f"r1 /= 2{_END}"),
            ("an address with its bytes reversed", f"r1 = be64 r1{_END}"),
            ("an address extended", f"r3 = (s32)r1{_END}"),
            ("an address subtracted from a number", f"r2 -= r1{_END}"),
            ("two addresses added", f"r1 += r10{_END}"),
            ("addresses of different memories subtracted", f"r1 -= r10{_END}"),
            ("a map moved", f"r1 = map hash\nr1 += 8{_END}"),
        ),
    ),
    *_refused(
        "arithmetic",
        Rule.ADDRESS_RANGE,
        (
            ("moved by any number", "r3 = *(u64 *)(r1 + 0)\nr1 += r3\nr0 = 0\nexit"),
            ("moved by a great constant", f"r3 = 0x10000000 ll\nr1 += r3{_END}"),
            ("moved back by any number", "r3 = *(u64 *)(r1 + 0)\nr1 -= r3\nr0 = 0\nexit"),
            (
                "moved far by many steps",
                "r3 = 0\nl: r1 += 0x2000000\nr3 += 1\nif r3 != 9 goto l\nr0 = 0\nexit",
            ),
        ),
    ),
    Case(
        name="arithmetic: moved there and back",
        text="r1 += 4096\nr1 -= 4096\nr0 = *(u64 *)(r1 + 56)\nexit",
    ),
    Case(
        name="arithmetic: a number plus an address",
        text="r3 = 8\nr3 += r1\nr0 = *(u64 *)(r3 + 48)\nexit",
    ),
    Case(
        name="arithmetic: a distance",
        text="r3 = r1\nr3 += 8\nr3 -= r1\nr0 = r3\nexit",
    ),
    Case(
        name="arithmetic: a number that may be negative, within the value",
        text="""
            r3 = *(s8 *)(r1 + 0)
            if r3 s< -8 goto end
            if r3 s> 7 goto end
            r1 = value array + 8
            r1 += r3
            r0 = *(u8 *)(r1 + 0)
            exit
        end:
            r0 = 0
            exit
        """,
    ),
    Case(
        name="arithmetic: a number that may be negative, before the value",
        text="""
            r3 = *(s8 *)(r1 + 0)
            if r3 s< -9 goto end
            if r3 s> 7 goto end
            r1 = value array + 8
            r1 += r3
            r0 = *(u8 *)(r1 + 0)
            exit
        end:
            r0 = 0
            exit
        """,
        rule=Rule.VALUE_BOUNDS,
        says="at -1 to 15",
    ),
)

_COMPARISON = (
    *_refused(
        "comparison",
        Rule.ADDRESS_COMPARISON,
        (
            ("an address with a number", f"if r1 > 5 goto +0{_END}"),
            ("an address with any number", f"if r1 == r2 goto +0{_END}"),
            ("an address with 0 by order", f"if r1 s> 0 goto +0{_END}"),
            ("an address in 32 bits", f"if w1 == 0 goto +0{_END}"),
            ("bits of an address", f"if r1 & 1 goto +0{_END}"),
            ("a value that may be null by order", f"{_LOOKUP}if r0 > 0 goto +0{_END}"),
        ),
    ),
    Case(
        name="comparison: an address is not 0",
        text="r0 = 0\nif r1 != 0 goto +1\nr0 = *(u64 *)(r1 + 999)\nexit",
        longest=3,
    ),
    Case(
        name="comparison: addresses in one memory",
        text="r3 = r1\nr3 += 8\nr0 = 0\nif r3 > r1 goto +1\nr0 = 1\nexit",
        longest=6,
    ),
)

_KEPT = (
    *_refused(
        "kept",
        Rule.ADDRESS_STORED,
        (
            ("an address in the context", f"*(u64 *)(r1 + 0) = r10{_END}"),
            ("an address in a value", f"r3 = value array\n*(u64 *)(r3 + 0) = r1{_END}"),
            ("half of an address on the stack", f"*(u32 *)(r10 - 8) = r1{_END}"),
            ("an address at an odd place", f"*(u64 *)(r10 - 12) = r1{_END}"),
            (
                "an address somewhere on the stack",
                f"""
                    r3 = *(u8 *)(r1 + 0)
                    r3 &= 8
                    r4 = r10
                    r4 += -16
                    r4 += r3
                    *(u64 *)(r4 + 0) = r1{_END}
                """,
            ),
        ),
    ),
    *_refused(
        "kept",
        Rule.ADDRESS_IN_PIECES,
        (
            ("a byte of an address", f"*(u64 *)(r10 - 8) = r1\nr0 = *(u8 *)(r10 - 8){_END}"),
            ("half of an address", f"*(u64 *)(r10 - 8) = r1\nr0 = *(u32 *)(r10 - 4){_END}"),
            (
                "an address in a key",
                f"*(u64 *)(r10 - 8) = r1\nr1 = map hash\nr2 = r10\nr2 += -8\ncall lookup{_END}",
            ),
        ),
    ),
    *_refused(
        "kept",
        Rule.STACK_UNSET,
        (
            (
                "an address that was written over in part",
                f"*(u64 *)(r10 - 8) = r1\n*(u8 *)(r10 - 1) = 0\nr0 = *(u64 *)(r10 - 8){_END}",
            ),
        ),
    ),
    *_refused(
        "kept",
        Rule.FRAME_ENDS,
        (
            ("a function returns its frame", f"call f{_END}\nf: r0 = r10\nexit"),
            (
                "a function leaves its frame with its caller",
                f"r1 = r10\nr1 += -8\ncall f{_END}\nf: *(u64 *)(r1 + 0) = r10{_END}",
            ),
        ),
    ),
    *_refused(
        "kept",
        Rule.RETURN_VALUE,
        (
            ("an address is returned", "r0 = r1\nexit"),
            ("a map is returned", "r0 = map hash\nexit"),
            ("what may be null is returned", f"{_LOOKUP}exit"),
        ),
    ),
    *_refused(
        "kept",
        Rule.NO_ADDRESS,
        (
            ("a number is no address", "r0 = *(u8 *)(r2 + 0)\nexit"),
            ("a constant is no address", "r3 = 0x10000000 ll\nr0 = *(u8 *)(r3 + 0)\nexit"),
            ("null is no address", f"{_LOOKUP}if r0 != 0 goto +1\nr0 = *(u8 *)(r0 + 0){_END}"),
            ("a map is no address", "r1 = map hash\nr0 = *(u8 *)(r1 + 0)\nexit"),
            ("what was loaded is no address", "r3 = *(u64 *)(r1 + 0)\nr0 = *(u8 *)(r3 + 0)\nexit"),
        ),
    ),
    Case(
        name="kept: a caller's frame with the caller",
        text="""
            r1 = r10
            r1 += -8
            r2 = r10
            call f
            r3 = *(u64 *)(r10 - 8)
            *(u8 *)(r3 - 1) = 1
            exit
        f:  *(u64 *)(r1 + 0) = r2
            r0 = 0
            exit
        """,
    ),
    Case(
        name="kept: a function returns the context",
        text="call f\nr0 = *(u8 *)(r0 + 3)\nexit\nf: r0 = r1\nexit",
    ),
    Case(
        name="kept: an address is written over",
        text="*(u64 *)(r10 - 8) = r1\n*(u64 *)(r10 - 8) = 5\nr0 = *(u32 *)(r10 - 4)\nexit",
    ),
)

CASES: tuple[Case, ...] = (*_NULL, *_ARITHMETIC, *_COMPARISON, *_KEPT)
