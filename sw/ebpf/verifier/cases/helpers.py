"""Cases of calls of helpers: their arguments and what they leave."""

from fanweave.sw.ebpf.verifier.cases.case import Case
from fanweave.sw.ebpf.verifier.rules import Rule

__all__ = ["CASES"]

_END = "\nr0 = 0\nexit"
_KEY = "*(u32 *)(r10 - 4) = 0\nr2 = r10\nr2 += -4\n"
_VALUE = "*(u64 *)(r10 - 16) = 0\nr3 = r10\nr3 += -16\n"


def _refused(rule: Rule, rows: tuple[tuple[str, str], ...]) -> tuple[Case, ...]:
    return tuple(Case(name=f"helper: {name}", text=text, rule=rule) for name, text in rows)


_MAPS = (
    *_refused(
        Rule.MAP_ARGUMENT,
        (
            ("a number as a map", f"{_KEY}r1 = 5\ncall lookup{_END}"),
            ("the context as a map", f"{_KEY}call lookup{_END}"),
            ("the stack as a map", f"{_KEY}r1 = r10\ncall lookup{_END}"),
            ("a value as a map", f"{_KEY}r1 = value array\ncall lookup{_END}"),
            ("the handle of no map", f"{_KEY}r1 = 0x80000063 ll\ncall lookup{_END}"),
            (
                "one of two handles",
                f"{_KEY}r3 = *(u8 *)(r1 + 0)\nr3 &= 1\nr1 = 0x80000000 ll\nr1 += r3\ncall lookup"
                f"{_END}",
            ),
        ),
    ),
    *_refused(
        Rule.MAP_TYPE,
        (
            ("a lookup in a queue", f"{_KEY}r1 = map queue\ncall lookup{_END}"),
            ("a lookup in a ring", f"{_KEY}r1 = map ring\ncall lookup{_END}"),
            ("a push to an array", f"{_KEY}r1 = map array\nr3 = 0\ncall push{_END}"),
            ("a reservation in a hash map", f"r1 = map hash\nr2 = 8\nr3 = 0\ncall reserve{_END}"),
            (
                "an update of programs",
                f"{_KEY}{_VALUE}r1 = map programs\nr4 = 0\ncall update{_END}",
            ),
            ("a tail call by a hash map", f"r2 = map hash\nr3 = 0\ncall tail{_END}"),
            ("a query of a queue", f"r1 = map queue\nr2 = 0\ncall query{_END}"),
        ),
    ),
    *_refused(
        Rule.MAP_READ_ONLY,
        (
            (
                "an update of constants",
                f"{_KEY}{_VALUE}r1 = map constants\nr4 = 0\ncall update{_END}",
            ),
            ("a delete of constants", f"{_KEY}r1 = map constants\ncall delete{_END}"),
        ),
    ),
    Case(
        name="helper: a map by its handle",
        text=f"{_KEY}r1 = 0x80000001 ll\ncall lookup{_END}",
    ),
    Case(
        name="helper: a lookup in constants",
        text=f"{_KEY}r1 = map constants\ncall lookup{_END}",
    ),
)

_MEMORY = (
    *_refused(
        Rule.STACK_UNSET,
        (
            (
                "a key of which nothing is set",
                f"r1 = map hash\nr2 = r10\nr2 += -4\ncall lookup{_END}",
            ),
            (
                "a key of which half is set",
                f"{_KEY}r2 = r10\nr2 += -8\nr1 = map trie\ncall lookup{_END}",
            ),
            (
                "a value that is not set",
                f"{_KEY}r1 = map hash\nr3 = r10\nr3 += -16\nr4 = 0\ncall update{_END}",
            ),
            (
                "bytes of a record that are not set",
                f"r1 = map ring\nr2 = r10\nr2 += -8\nr3 = 8\nr4 = 0\ncall output{_END}",
            ),
        ),
    ),
    *_refused(
        Rule.STACK_BOUNDS,
        (
            ("a key across the top", f"r1 = map hash\nr2 = r10\nr2 += -2\ncall lookup{_END}"),
            (
                "a popped value across the top",
                f"r1 = map queue\nr2 = r10\nr2 += -4\ncall pop{_END}",
            ),
            (
                "a record across the top",
                f"{_KEY}r1 = map ring\nr3 = 5\nr4 = 0\ncall output{_END}",
            ),
            (
                "a record of any length",
                f"r3 = *(u8 *)(r1 + 0)\n{_KEY}r1 = map ring\nr4 = 0\ncall output{_END}",
            ),
        ),
    ),
    *_refused(
        Rule.NO_ADDRESS,
        (
            ("a number as a key", f"r1 = map hash\nr2 = 4\ncall lookup{_END}"),
            ("a map as a key", f"r1 = map hash\nr2 = r1\ncall lookup{_END}"),
            ("null as a record", f"r1 = map ring\nr2 = 0\nr3 = 8\nr4 = 0\ncall output{_END}"),
        ),
    ),
    *_refused(
        Rule.MAP_WRITE_ONLY,
        (("a key in what is write-only", f"r1 = map hash\nr2 = value log\ncall lookup{_END}"),),
    ),
    *_refused(
        Rule.MAP_READ_ONLY,
        (("a pop into constants", f"r1 = map queue\nr2 = value constants\ncall pop{_END}"),),
    ),
    *_refused(
        Rule.CONTEXT_BOUNDS,
        (("a key behind the context", f"r2 = r1\nr2 += 61\nr1 = map hash\ncall lookup{_END}"),),
    ),
    *_refused(
        Rule.VALUE_BOUNDS,
        (("a key behind a value", f"r1 = map hash\nr2 = value array + 13\ncall lookup{_END}"),),
    ),
    *_refused(
        Rule.REGISTER_UNSET,
        (
            ("a flag that is not set", f"{_KEY}{_VALUE}r1 = map hash\ncall update{_END}"),
            ("a key that is not set", "call time\nr1 = map hash\ncall lookup\nr0 = 0\nexit"),
        ),
    ),
    *_refused(
        Rule.ADDRESS_AS_NUMBER,
        (
            ("an address as a flag", f"{_KEY}{_VALUE}r1 = map hash\nr4 = r10\ncall update{_END}"),
            ("an address as a length", f"{_KEY}r1 = map ring\nr3 = r10\nr4 = 0\ncall output{_END}"),
            (
                "an address as a record's length",
                f"r1 = map ring\nr2 = r10\nr3 = 0\ncall reserve{_END}",
            ),
        ),
    ),
    Case(
        name="helper: a key in the context",
        text=f"r2 = r1\nr2 += 60\nr1 = map hash\ncall lookup{_END}",
    ),
    Case(
        name="helper: a key in a value",
        text=f"r1 = map hash\nr2 = value array + 12\ncall lookup{_END}",
    ),
    Case(
        name="helper: an update",
        text=f"{_KEY}{_VALUE}r1 = map hash\nr4 = 0\ncall update\nexit",
        longest=10,
    ),
    Case(
        name="helper: a delete in a trie",
        text="*(u64 *)(r10 - 8) = 0\nr2 = r10\nr2 += -8\nr1 = map trie\ncall delete\nexit",
    ),
    Case(
        name="helper: what a pop wrote is set",
        text="r1 = map queue\nr2 = r10\nr2 += -8\ncall pop\nr0 = *(u64 *)(r10 - 8)\nexit",
    ),
    Case(
        name="helper: what a peek wrote is set",
        text="r1 = map queue\nr2 = r10\nr2 += -8\ncall peek\nr0 = *(u64 *)(r10 - 8)\nexit",
    ),
    Case(
        name="helper: a peek writes over an address",
        text="""
            *(u64 *)(r10 - 8) = r10
            r1 = map queue
            r2 = r10
            r2 += -8
            call peek
            r0 = *(u32 *)(r10 - 4)
            exit
        """,
    ),
    Case(
        name="helper: a record of a length with bounds",
        text="""
            r3 = *(u8 *)(r1 + 0)
            r3 &= 15
            *(u64 *)(r10 - 8) = 0
            *(u64 *)(r10 - 16) = 0
            r1 = map ring
            r2 = r10
            r2 += -16
            r4 = 0
            call output
            r0 = 0
            exit
        """,
    ),
    Case(
        name="helper: an error is not positive",
        text=f"{_KEY}r1 = map hash\ncall delete\nif r0 s> 0 goto +1\nexit\n"
        "r0 = *(u8 *)(r10 + 0)\nexit",
    ),
    Case(
        name="helper: an own value of each engine",
        text=f"{_KEY}r1 = map engine\ncall lookup\nif r0 == 0 goto end\n"
        f"*(u64 *)(r0 + 0) = 1\nend:{_END}",
    ),
    Case(name="helper: the processor's number", text="call processor\nexit"),
)

_INNER = (
    Case(
        name="helper: a lookup in a map of an array of maps",
        text=f"""{_KEY}
            r1 = map tables
            call lookup
            if r0 == 0 goto end
            r1 = r0
            r2 = r10
            r2 += -4
            call lookup
            if r0 == 0 goto end
            r0 = *(u64 *)(r0 + 8)
            exit
        end:{_END}""",
    ),
    Case(
        name="helper: a map of an array of maps may be null",
        text=f"{_KEY}r1 = map tables\ncall lookup\nr1 = r0\nr2 = r10\nr2 += -4\ncall lookup{_END}",
        rule=Rule.NULL_CHECK,
    ),
    Case(
        name="helper: a value of a map of an array of maps has its bounds",
        text=f"""{_KEY}
            r1 = map tables
            call lookup
            if r0 == 0 goto end
            r1 = r0
            r2 = r10
            r2 += -4
            call lookup
            if r0 == 0 goto end
            r0 = *(u64 *)(r0 + 16)
            exit
        end:{_END}""",
        rule=Rule.VALUE_BOUNDS,
    ),
    Case(
        name="helper: a map of which nothing is known",
        text=f"""{_KEY}
            r1 = map anything
            call lookup
            if r0 == 0 goto end
            r1 = r0
            r2 = r10
            r2 += -4
            call lookup
        end:{_END}""",
        rule=Rule.INNER_MAP,
    ),
)

CASES: tuple[Case, ...] = (*_MAPS, *_MEMORY, *_INNER)
