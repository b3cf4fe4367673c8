"""Cases of records of rings: reserved, written, submitted or discarded, and never lost."""

from fanweave.sw.ebpf.verifier.cases.case import Case
from fanweave.sw.ebpf.verifier.rules import Rule

__all__ = ["CASES"]

_END = "\nr0 = 0\nexit"
_RESERVE = """
    r1 = map ring
    r2 = 16
    r3 = 0
    call reserve
    if r0 == 0 goto end
"""
_SUBMIT = "\nr1 = r0\nr2 = 0\ncall submit"
_LEAVE = f"\nend:{_END}"


def _refused(rule: Rule, rows: tuple[tuple[str, str], ...]) -> tuple[Case, ...]:
    return tuple(Case(name=f"record: {name}", text=text, rule=rule) for name, text in rows)


CASES: tuple[Case, ...] = (
    Case(
        name="record: written and submitted",
        text=f"{_RESERVE}*(u64 *)(r0 + 8) = 5{_SUBMIT}{_LEAVE}",
        longest=11,
    ),
    Case(
        name="record: discarded",
        text=f"{_RESERVE}r1 = r0\nr2 = 0\ncall discard{_LEAVE}",
    ),
    Case(
        name="record: kept on the stack and submitted",
        text=f"{_RESERVE}*(u64 *)(r10 - 8) = r0\nr0 = 1\nr1 = *(u64 *)(r10 - 8)\n"
        f"r2 = 0\ncall submit{_LEAVE}",
    ),
    Case(
        name="record: submitted by a function",
        text=f"{_RESERVE}r1 = r0\ncall f{_LEAVE}\nf: r2 = 0\ncall submit\nr0 = 0\nexit",
    ),
    Case(
        name="record: reserved by a function",
        text=f"call f\nif r0 == 0 goto end{_SUBMIT}{_LEAVE}\n"
        "f: r1 = map ring\nr2 = 16\nr3 = 0\ncall reserve\nexit",
    ),
    Case(
        name="record: two at a time",
        text=f"""
            r1 = map ring
            r2 = 8
            r3 = 0
            call reserve
            if r0 == 0 goto end
            r6 = r0
            r1 = map ring
            r2 = 16
            r3 = 0
            call reserve
            if r0 == 0 goto one
            *(u64 *)(r0 + 8) = 1
            r1 = r0
            r2 = 0
            call submit
        one:
            r1 = r6
            r2 = 0
            call discard
        end:{_END}""",
    ),
    Case(
        name="record: one in each turn of a loop",
        text=f"""
            r6 = 0
        l:  r1 = map ring
            r2 = 8
            r3 = 0
            call reserve
            if r0 == 0 goto end
            *(u64 *)(r0 + 0) = r6
            r1 = r0
            r2 = 0
            call submit
            r6 += 1
            if r6 != 10 goto l
        end:{_END}""",
    ),
    Case(
        name="record: bytes as many as are surely reserved",
        text=f"""
            r2 = *(u8 *)(r1 + 0)
            r2 |= 8
            r1 = map ring
            r3 = 0
            call reserve
            if r0 == 0 goto end
            *(u64 *)(r0 + 0) = 1{_SUBMIT}{_LEAVE}
        """,
    ),
    *_refused(
        Rule.RECORD_OPEN,
        (
            ("left open", f"{_RESERVE}{_LEAVE}"),
            (
                "left open on one way",
                f"r6 = *(u8 *)(r1 + 0)\n{_RESERVE}if r6 == 0 goto end{_SUBMIT}{_LEAVE}",
            ),
            ("forgotten", f"{_RESERVE}r0 = 5{_LEAVE}"),
            (
                "open at a tail call",
                f"r6 = r1\n{_RESERVE}r1 = r6\nr2 = map programs\nr3 = 0\ncall tail{_LEAVE}",
            ),
            (
                "the first of two left open",
                f"{_RESERVE}r6 = r0\nr1 = map ring\nr2 = 8\nr3 = 0\ncall reserve\n"
                f"if r0 == 0 goto end{_SUBMIT}\nr1 = r6\nr2 = 0\ncall submit{_LEAVE}",
            ),
            ("never compared", f"r1 = map ring\nr2 = 16\nr3 = 0\ncall reserve{_END}"),
        ),
    ),
    *_refused(
        Rule.REGISTER_UNSET,
        (
            (
                "submitted twice",
                f"{_RESERVE}r6 = r0{_SUBMIT}\nr1 = r6\nr2 = 0\ncall submit{_LEAVE}",
            ),
            (
                "written after the submit",
                f"{_RESERVE}r6 = r0{_SUBMIT}\n*(u8 *)(r6 + 0) = 1{_LEAVE}",
            ),
            ("the result of a submit", f"{_RESERVE}{_SUBMIT}\nexit{_LEAVE}"),
        ),
    ),
    *_refused(
        Rule.STACK_UNSET,
        (
            (
                "loaded from the stack after the submit",
                f"{_RESERVE}*(u64 *)(r10 - 8) = r0{_SUBMIT}\nr3 = *(u64 *)(r10 - 8)\n"
                f"*(u8 *)(r3 + 0) = 1{_LEAVE}",
            ),
        ),
    ),
    *_refused(
        Rule.RECORD_ARGUMENT,
        (
            ("a number submitted", f"r1 = 5\nr2 = 0\ncall submit{_END}"),
            ("the context submitted", f"r2 = 0\ncall submit{_END}"),
            ("a value discarded", f"r1 = value array\nr2 = 0\ncall discard{_END}"),
            (
                "submitted from its second half",
                f"{_RESERVE}r1 = r0\nr1 += 8\nr2 = 0\ncall submit{_LEAVE}",
            ),
        ),
    ),
    *_refused(
        Rule.RECORD_BOUNDS,
        (
            ("a store behind it", f"{_RESERVE}*(u64 *)(r0 + 9) = 5{_SUBMIT}{_LEAVE}"),
            ("a store before it", f"{_RESERVE}*(u64 *)(r0 - 8) = 5{_SUBMIT}{_LEAVE}"),
            (
                "bytes that are perhaps reserved",
                f"r2 = *(u8 *)(r1 + 0)\nr1 = map ring\nr3 = 0\ncall reserve\nif r0 == 0 goto end\n"
                f"*(u8 *)(r0 + 0) = 1{_SUBMIT}{_LEAVE}",
            ),
        ),
    ),
    *_refused(
        Rule.NULL_CHECK,
        (
            (
                "submitted without a comparison",
                f"r1 = map ring\nr2 = 16\nr3 = 0\ncall reserve{_SUBMIT}{_END}",
            ),
            (
                "written without a comparison",
                f"r1 = map ring\nr2 = 16\nr3 = 0\ncall reserve\n*(u8 *)(r0 + 0) = 1{_SUBMIT}{_END}",
            ),
        ),
    ),
)
