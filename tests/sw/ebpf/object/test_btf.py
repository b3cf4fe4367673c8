"""Types: what they are called, how large they are, and circles among them."""

import pytest

from fanweave.sw.ebpf.object.btf import Btf, BtfError, BtfKind, BtfMember, BtfType

K = BtfKind


def types(*rows):
    """Types from 1 on: kind, name, size, type."""
    made = [BtfType(number=0, kind=K.UNKNOWN, name="void")]
    for number, (kind, name, size, target) in enumerate(rows, start=1):
        made.append(BtfType(number=number, kind=kind, name=name, size=size, type=target))
    return Btf(types=tuple(made), strings=b"\0name\0" + 600 * b"x")


ROWS = (
    (K.INT, "int", 4, 0),
    (K.TYPEDEF, "u32", 0, 1),
    (K.CONST, "", 0, 2),
    (K.ARRAY, "", 6, 3),
    (K.PTR, "", 0, 4),
    (K.PTR, "", 0, 0),
    (K.STRUCT, "page", 24, 0),
    (K.ARRAY, "", 2, 4),
    (K.PTR, "", 0, 7),
    (K.FWD, "hidden", 0, 0),
    (K.TYPEDEF, "loop", 0, 12),
    (K.CONST, "", 0, 11),
    (K.ARRAY, "", 2, 13),
    (K.FUNC_PROTO, "", 0, 1),
    (K.PTR, "", 0, 14),
    (K.ENUM64, "wide", 8, 0),
)


def test_names_as_in_c():
    made = types(*ROWS)
    assert [made.describe(number) for number in (0, 1, 2, 3, 4)] == [
        *("void", "int", "u32", "u32 const", "u32 const[6]"),
    ]
    assert made.describe(5) == "u32 const (*)[6]"
    assert made.describe(6) == "void *"
    assert made.describe(7) == "struct page"
    assert made.describe(9) == "struct page *"
    assert made.describe(16) == "enum wide"
    assert made.describe(11) == "loop"
    assert made.describe(13) == "type 13, which refers to itself"
    assert made.describe(99) == "type 99, which does not exist"


@pytest.mark.parametrize(
    ("number", "size"), [(1, 4), (2, 4), (3, 4), (4, 24), (5, 8), (7, 24), (8, 48), (16, 8)]
)
def test_sizes(number, size):
    assert types(*ROWS).size_of(number) == size


@pytest.mark.parametrize(
    ("number", "message"),
    [
        (0, "void has no size"),
        (10, "struct hidden has no size"),
        (11, "type 11 refers to itself"),
        (13, "type 13 refers to itself"),
        (14, "function has no size"),
        (17, "type 17 does not exist; there are 0 to 16"),
        (-1, "type -1 does not exist"),
    ],
)
def test_what_has_no_size(number, message):
    made = types(*ROWS)
    with pytest.raises(BtfError, match=message):
        made.size_of(number)


def test_bare_types():
    made = types(*ROWS)
    assert made.bare(3).number == 1
    assert made.bare(4).number == 4
    with pytest.raises(BtfError, match="refers to itself"):
        made.bare(12)


def test_strings():
    made = types(*ROWS)
    assert made.text(0) == ""
    assert made.text(1) == "name"
    for offset in (6, 10_000):
        with pytest.raises(BtfError, match="no string of less than 512 bytes at 0x"):
            made.text(offset)


def test_sections_by_name():
    section = BtfType(number=1, kind=K.DATASEC, name=".maps", members=(BtfMember(type=1),))
    made = Btf(types=(BtfType(number=0, kind=K.UNKNOWN), section), strings=b"\0")
    assert made.sections() == {".maps": section}
