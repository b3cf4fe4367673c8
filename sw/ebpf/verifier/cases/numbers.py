"""Cases of what is known of numbers: each uses one to find a place in a value of 16 bytes."""

from fanweave.sw.ebpf.verifier.cases.case import Case
from fanweave.sw.ebpf.verifier.rules import Rule

__all__ = ["CASES"]

#: Name; instructions that make r3, which is any byte, any word (r4) or any number (r5); the
#: greatest and the least value that it may then have.
_ROWS: tuple[tuple[str, str, int, int], ...] = (
    ("a mask", "r3 &= 7", 0, 7),
    ("a mask of 32 bits", "w5 &= 7\nr3 = r5", 0, 7),
    ("a remainder", "r3 %= 8", 0, 7),
    ("a remainder by 3", "r3 %= 3", 0, 2),
    ("a quotient", "r3 /= 32", 0, 7),
    ("a quotient by zero is 0", "r6 = 0\nr3 /= r6", 0, 0),
    ("a shift to the right", "r3 >>= 5", 0, 7),
    ("a shift to the right of any number", "r5 >>= 61\nr3 = r5", 0, 7),
    ("a shift by any number of places", "r6 = 8\nr6 >>= r3\nr3 = r6", 0, 8),
    ("a count of places is taken modulo 64", "r6 = 66\nr3 &= 1\nr3 <<= r6", 0, 4),
    ("a shift to the left", "r3 &= 1\nr3 <<= 3", 0, 8),
    ("an arithmetic shift", "r5 s>>= 61\nr3 = r5\nr3 += 4", 0, 7),
    ("an arithmetic shift of 32 bits", "w5 s>>= 29\nr3 = (s32)r5\nr3 += 4", 0, 7),
    ("a product", "r3 &= 3\nr3 *= 3", 0, 9),
    ("a product of 32 bits", "r3 &= 3\nw3 *= 3", 0, 9),
    ("a product with a negative number", "r3 &= 3\nr3 *= -3\nr3 += 9", 0, 9),
    ("a sum", "r3 &= 3\nr3 += r3\nr3 += 1", 1, 7),
    ("a difference", "r3 &= 7\nr6 = 7\nr6 -= r3\nr3 = r6", 0, 7),
    ("a negation", "r3 &= 7\nr3 = -r3\nr3 += 7", 0, 7),
    ("bits set", "r3 &= 3\nr3 |= 4", 4, 7),
    ("bits changed", "r3 &= 7\nr3 ^= 5", 0, 7),
    ("a byte extended by its sign", "r3 = (s8)r3\nr3 &= 7", 0, 7),
    ("a small number extended by its sign", "r3 &= 7\nr3 = (s8)r3", 0, 7),
    ("a signed quotient", "r3 = (s8)r3\nr3 s/= 32\nr3 += 4", 0, 7),
    ("a signed remainder", "r3 = (s8)r3\nr3 s%= 4\nr3 += 3", 0, 6),
    ("the low bytes of a number", "r3 = le16 r3", 0, 255),
    ("bytes reversed", "r3 = be16 r3\nr3 >>= 13", 0, 7),
    ("bytes reversed twice", "r3 = bswap64 r3\nr3 = bswap64 r3\nr3 &= 3", 0, 3),
    ("a move of 32 bits", "r5 &= 7\nw3 = w5", 0, 7),
    ("a copy is limited", "r6 = r3\nif r3 > 7 goto end\nr3 = r6", 0, 7),
    ("unsigned: not greater", "if r5 > 7 goto end\nr3 = r5", 0, 7),
    ("unsigned: less", "if r5 < 8 goto +1\ngoto end\nr3 = r5", 0, 7),
    ("unsigned: not at least", "if r5 >= 8 goto end\nr3 = r5", 0, 7),
    ("unsigned: at most", "if r5 <= 7 goto +1\ngoto end\nr3 = r5", 0, 7),
    ("signed: between", "if r5 s< 0 goto end\nif r5 s> 7 goto end\nr3 = r5", 0, 7),
    (
        "signed: between, the other way",
        "if r5 s>= 8 goto end\nif r5 s<= -1 goto end\nr3 = r5",
        0,
        7,
    ),
    ("equal", "if r5 != 7 goto end\nr3 = r5", 7, 7),
    ("not equal at the end", "r3 &= 7\nif r3 == 7 goto end\nif r3 == 0 goto end", 1, 6),
    ("no bit of a mask", "if r3 & 0xf8 goto end", 0, 7),
    ("a bit of a mask", "r3 &= 7\nif r3 & 4 goto +1\ngoto end", 4, 7),
    ("32 bits: not greater", "w3 = w5\nif w3 > 7 goto end", 0, 7),
    ("32 bits: less", "w3 = w5\nif w3 < 8 goto +1\ngoto end", 0, 7),
    ("32 bits: signed", "w3 = w5\nif w3 s< 0 goto end\nif w3 s> 7 goto end", 0, 7),
    ("32 bits: equal", "w3 = w5\nif w3 != 7 goto end", 7, 7),
    ("32 bits: no bit of a mask", "w3 = w5\nif w3 & -8 goto end", 0, 7),
    ("two registers: less", "r6 = 8\nif r5 < r6 goto +1\ngoto end\nr3 = r5", 0, 7),
    ("two registers: not greater", "r3 &= 7\nif r5 > r3 goto end\nr3 = r5", 0, 7),
    ("two registers: equal", "r3 &= 7\nif r5 != r3 goto end\nr3 = r5", 0, 7),
    ("two registers: the second is learnt of", "r6 = 7\nif r6 < r5 goto end\nr3 = r5", 0, 7),
    ("a signed byte", "r3 = *(s8 *)(r1 + 0)\nr3 &= 7", 0, 7),
)
_BYTE_TOO_FAR = 16
_PROLOGUE = "r3 = *(u8 *)(r1 + 0)\nr4 = *(u32 *)(r1 + 4)\nr5 = *(u64 *)(r1 + 8)\n"
#: Makes the end reachable, without which Linux refuses the program.
_WAY_TO_END = "if r4 == 1 goto end\n"


def _program(make: str, offset: int) -> str:
    return f"""{_PROLOGUE}{_WAY_TO_END}{make}
        r1 = value array
        r1 += r3
        r0 = *(u8 *)(r1 {offset:+d})
        exit
    end:
        r0 = 0
        exit
    """


def _row(name: str, make: str, least: int, most: int) -> tuple[Case, ...]:
    """The farthest access that is possible, and one byte farther, at both ends."""
    places = (("most", 15 - most), ("least", -least))
    accepted = tuple(
        Case(name=f"number: {name}, the {end}", text=_program(make, offset))
        for end, offset in places
        if most - least <= 15
    )
    return (
        *accepted,
        Case(
            name=f"number: {name}, beyond the most",
            text=_program(make, _BYTE_TOO_FAR - most),
            rule=Rule.VALUE_BOUNDS,
        ),
        Case(
            name=f"number: {name}, below the least",
            text=_program(make, -least - 1),
            rule=Rule.VALUE_BOUNDS,
        ),
    )


def _way(name: str, make: str, condition: str, taken: bool) -> Case:
    """A condition of which one way is impossible; there lies what would be refused."""
    over = "+1" if taken else "+2"
    body = "r0 = *(u8 *)(r10 + 8)" if taken else "r0 = 0\nexit\nr0 = *(u8 *)(r10 + 8)"
    text = f"{_PROLOGUE}{make}\nif {condition} goto {over}\n{body}\nr0 = 0\nexit"
    return Case(name=f"way: {name}", text=text)


_WAYS = (
    _way("a byte is at most 255", "r6 = 0", "r3 <= 255", True),
    _way("a byte is not negative", "r6 = 0", "r3 s< 0", False),
    _way("an odd number is not 6", "r3 |= 1", "r3 == 6", False),
    _way("an odd number has its first bit", "r3 |= 1", "r3 & 1", True),
    _way("a multiple of 4 has no low bits", "r3 <<= 2", "r3 & 3", False),
    _way("a multiple of 4 is not 3", "r3 *= 4", "r3 != 3", True),
    _way("a number is itself", "r6 = 0", "r5 == r5", True),
    _way("no number is greater than itself", "r6 = 0", "w5 s> w5", False),
    _way("a word is less than 1 << 32", "r6 = 0x100000000 ll", "r4 < r6", True),
    _way("a remainder is less than the divisor", "r5 %= 10", "r5 > 9", False),
    _way("the low half of a small number", "r5 &= 0xff", "w5 > 255", False),
    _way("constants", "r3 = 5\nr3 *= 7", "r3 == 35", True),
    _way("constants of 32 bits", "w3 = -1\nw3 >>= 28", "w3 == 15", True),
    _way("a difference of constants", "r3 = 5\nr3 -= 7", "r3 s< -1", True),
)

CASES: tuple[Case, ...] = (*(case for row in _ROWS for case in _row(*row)), *_WAYS)
