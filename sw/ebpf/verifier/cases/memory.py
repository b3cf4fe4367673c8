"""Cases of the context, of values and of atomic operations: what may be read and written."""

from fanweave.sw.ebpf.verifier.cases.case import Case
from fanweave.sw.ebpf.verifier.environment import ContextRule
from fanweave.sw.ebpf.verifier.rules import Rule

__all__ = ["CASES"]

_END = "\nr0 = 0\nexit"
_FOUND = """
    *(u32 *)(r10 - 4) = 0
    r1 = map hash
    r2 = r10
    r2 += -4
    call lookup
    if r0 == 0 goto end
"""
_LEAVE = "\nend: r0 = 0\nexit"
_ANY_LENGTH = ContextRule(least=0, most=256)
_READ_ONLY = ContextRule.exactly(64, writable=False)


def _context() -> tuple[Case, ...]:
    bounds = Rule.CONTEXT_BOUNDS
    return (
        Case(name="context: the last bytes", text="r0 = *(u64 *)(r1 + 56)\nexit", longest=2),
        Case(name="context: a store", text=f"*(u8 *)(r1 + 0) = 1{_END}", longest=3),
        Case(
            name="context: behind it",
            text="r0 = *(u64 *)(r1 + 57)\nexit",
            rule=bounds,
            says="r1 is an address in the context, offset 0; an access of 8 bytes at 57, where 64",
        ),
        Case(name="context: before it", text="r0 = *(u8 *)(r1 - 1)\nexit", rule=bounds),
        Case(
            name="context: any place in it",
            text="r3 = *(u8 *)(r1 + 0)\nr3 &= 63\nr1 += r3\nr0 = *(u8 *)(r1 + 0)\nexit",
        ),
        Case(
            name="context: any place, a byte too far",
            text="r3 = *(u8 *)(r1 + 0)\nr3 &= 63\nr1 += r3\nr0 = *(u8 *)(r1 + 1)\nexit",
            rule=bounds,
            says="offset 0 to 63; an access of 1 bytes at 1 to 64",
        ),
        Case(
            name="context: a place without bounds",
            text="r3 = *(u32 *)(r1 + 0)\nr1 += r3\nr0 = *(u8 *)(r1 + 0)\nexit",
            rule=Rule.ADDRESS_RANGE,
        ),
        Case(
            name="context: a store where it is read-only",
            text=f"*(u8 *)(r1 + 0) = 1{_END}",
            rule=Rule.CONTEXT_READ_ONLY,
            context=_READ_ONLY,
        ),
        Case(
            name="context: an atomic operation where it is read-only",
            text=f"r3 = 1\nlock *(u64 *)(r1 + 0) += r3{_END}",
            rule=Rule.CONTEXT_READ_ONLY,
            context=_READ_ONLY,
        ),
        Case(
            name="context: a load where it is read-only",
            text="r0 = *(u8 *)(r1 + 0)\nexit",
            context=_READ_ONLY,
        ),
        Case(
            name="context: the length is looked at",
            text="r0 = 0\nif r2 < 20 goto end\nr0 = *(u32 *)(r1 + 16)\nend: exit",
            context=_ANY_LENGTH,
            longest=4,
        ),
        Case(
            name="context: the length is looked at in 32 bits, in a copy",
            text="r0 = 0\nr3 = r2\nif w3 <= 19 goto end\nr0 = *(u32 *)(r1 + 16)\nend: exit",
            context=_ANY_LENGTH,
        ),
        Case(
            name="context: the length is one byte short",
            text="r0 = 0\nif r2 < 19 goto end\nr0 = *(u32 *)(r1 + 16)\nend: exit",
            rule=bounds,
            says="where 19 bytes are",
            context=_ANY_LENGTH,
        ),
        Case(
            name="context: the length is not looked at",
            text="r0 = *(u8 *)(r1 + 0)\nexit",
            rule=bounds,
            says="where 0 bytes are",
            context=_ANY_LENGTH,
        ),
        Case(
            name="context: another number is looked at than the length",
            text="""
                r0 = 0
                r2 += 1
                if r2 < 20 goto end
                r0 = *(u32 *)(r1 + 16)
            end:
                exit
            """,
            rule=bounds,
            context=_ANY_LENGTH,
        ),
        Case(
            name="context: the other way of the comparison",
            text="r0 = 0\nif r2 >= 20 goto end\nr0 = *(u32 *)(r1 + 16)\nend: exit",
            rule=bounds,
            context=_ANY_LENGTH,
        ),
    )


def _values() -> tuple[Case, ...]:
    bounds = Rule.VALUE_BOUNDS
    refused = (
        ("behind it", f"{_FOUND}r0 = *(u64 *)(r0 + 1){_LEAVE}", bounds, "'hash' (8 bytes)"),
        ("before it", f"{_FOUND}*(u8 *)(r0 - 1) = 0{_LEAVE}", bounds, "at -1"),
        ("behind a known one", "r1 = value array\nr0 = *(u32 *)(r1 + 13)\nexit", bounds, "at 13"),
        (
            "any place beyond it",
            "r3 = *(u8 *)(r1 + 0)\nr1 = value array\nr1 += r3\nr0 = *(u8 *)(r1 + 0)\nexit",
            bounds,
            "at 0 to 255",
        ),
    )
    return (
        *(
            Case(name=f"value: {name}", text=text, rule=rule, says=says)
            for name, text, rule, says in refused
        ),
        Case(name="value: all of it", text=f"{_FOUND}r0 = *(u64 *)(r0 + 0){_LEAVE}", longest=9),
        Case(name="value: a known one", text="r1 = value array\nr0 = *(u64 *)(r1 + 8)\nexit"),
        Case(
            name="value: a place in a known one",
            text="r1 = value array + 8\nr0 = *(u64 *)(r1 + 0)\nr0 = *(u64 *)(r1 - 8)\nexit",
        ),
        Case(
            name="value: a place behind a known one",
            text="r1 = value array + 16\nr0 = *(u64 *)(r1 - 8)\nexit",
            rule=Rule.MAP_VALUE_ADDRESS,
            says="1 values of 16 bytes, none of them with a byte at 16",
        ),
        Case(
            name="value: a known one of a hash map",
            text=f"r1 = value hash{_END}",
            rule=Rule.MAP_VALUE_ADDRESS,
            says="map 'hash' is of type HASH",
        ),
        Case(
            name="value: a later one of an array",
            text="r1 = value odd + 12\nr0 = *(u8 *)(r1 - 4)\nr0 = *(u8 *)(r1 + 0)\nexit",
        ),
        Case(
            name="value: between two of an array",
            text=f"r1 = value odd + 5{_END}",
            rule=Rule.MAP_VALUE_ADDRESS,
        ),
        Case(
            name="value: a store to a constant",
            text=f"r1 = value constants\n*(u8 *)(r1 + 0) = 1{_END}",
            rule=Rule.MAP_READ_ONLY,
        ),
        Case(
            name="value: an atomic operation on a constant",
            text=f"r2 = 1\nr1 = value constants\nlock *(u64 *)(r1 + 0) += r2{_END}",
            rule=Rule.MAP_READ_ONLY,
        ),
        Case(
            name="value: a load of a constant",
            text="r1 = value constants\nr0 = *(u64 *)(r1 + 0)\nexit",
        ),
        Case(
            name="value: a load of what is write-only",
            text="r1 = value log\nr0 = *(u8 *)(r1 + 0)\nexit",
            rule=Rule.MAP_WRITE_ONLY,
        ),
        Case(
            name="value: an atomic operation on what is write-only",
            text=f"r2 = 1\nr1 = value log\nlock *(u64 *)(r1 + 0) += r2{_END}",
            rule=Rule.MAP_WRITE_ONLY,
        ),
        Case(
            name="value: a store to what is write-only",
            text=f"r1 = value log\n*(u64 *)(r1 + 0) = 1{_END}",
        ),
    )


def _atomics() -> tuple[Case, ...]:
    rule = Rule.ATOMIC_ALIGNMENT
    return (
        Case(
            name="atomic: on the stack, fetched",
            text="""
                *(u64 *)(r10 - 8) = 5
                r3 = 1
                r3 = atomic_fetch_add((u64 *)(r10 - 8), r3)
                r0 = r3
                exit
            """,
        ),
        Case(
            name="atomic: an exchange in a value",
            text="""
                r1 = value array
                r0 = 1
                r2 = 2
                r0 = cmpxchg_64((u64 *)(r1 + 8), r0, r2)
                exit
            """,
        ),
        Case(
            name="atomic: at half its width",
            text=f"r3 = 1\nlock *(u64 *)(r1 + 4) += r3{_END}",
            rule=rule,
            says="8 bytes at +4",
        ),
        Case(
            name="atomic: a word at half its width",
            text=f"r3 = 1\nlock *(u32 *)(r1 + 2) += r3{_END}",
            rule=rule,
        ),
        Case(
            name="atomic: any place in the context",
            text=f"r3 = *(u8 *)(r1 + 0)\nr3 &= 31\nr1 += r3\nlock *(u32 *)(r1 + 0) += r3{_END}",
            rule=rule,
        ),
        Case(
            name="atomic: any aligned place in the context",
            text=f"r3 = *(u8 *)(r1 + 0)\nr3 &= 28\nr1 += r3\nlock *(u32 *)(r1 + 4) += r3{_END}",
        ),
        Case(
            name="atomic: on bytes that were not stored",
            text=f"r3 = 1\nlock *(u64 *)(r10 - 8) += r3{_END}",
            rule=Rule.STACK_UNSET,
        ),
        Case(
            name="atomic: with an address",
            text=f"lock *(u64 *)(r1 + 0) += r10{_END}",
            rule=Rule.ADDRESS_STORED,
        ),
        Case(
            name="atomic: on an address",
            text=f"*(u64 *)(r10 - 8) = r1\nr3 = 1\nlock *(u64 *)(r10 - 8) += r3{_END}",
            rule=Rule.ADDRESS_IN_PIECES,
        ),
    )


CASES: tuple[Case, ...] = (*_context(), *_values(), *_atomics())
