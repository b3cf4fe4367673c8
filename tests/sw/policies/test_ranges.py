"""Ranges as prefixes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanweave.golden.errors import InputError
from fanweave.golden.isa.cxl_event import ReqOpcode, RwdOpcode
from fanweave.sw.policies.ranges import ADDRESS_BITS, grant, prefix_key, prefixes

END = 1 << ADDRESS_BITS
ADDRESSES = st.integers(0, END) | st.integers(0, 64)


def blocks(keys):
    """Port, first byte and the one behind the last, of each key."""
    for key in keys:
        data = int.from_bytes(key[4:], "big")
        size = 1 << 64 - int.from_bytes(key[:4], "little")
        first = data & END - 1
        yield data >> ADDRESS_BITS, first, first + size


@given(st.integers(0, 255), ADDRESSES, ADDRESSES)
def test_prefixes_are_the_range(port, one, other):
    first, end = sorted((one, other))
    if first == end:
        return
    at = first
    sizes = []
    for found, begin, behind in blocks(prefixes(port, first, end)):
        assert (found, begin) == (port, at)
        assert begin % (behind - begin) == 0
        sizes.append(behind - begin)
        at = behind
    assert at == end
    # Growing, then shrinking, so no two could be one.
    top = sizes.index(max(sizes))
    assert sizes[: top + 1] == sorted(set(sizes[: top + 1]))
    assert sizes[top + 1 :] == sorted(set(sizes[top + 1 :]), reverse=True)


def test_a_key():
    assert prefix_key(3, 0x12_3400_0000, 34).hex() == "22000000" + "0300001234000000"
    assert list(prefixes(3, 0, END)) == [prefix_key(3, 0, 8)]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((256, 0, 8), "port = 0x100; it must be less than 0x100"),
        ((0, END, 8), "address = 0x100000000000000; it must be less than 0x100000000000000"),
        ((0, 0, 65), "bits = 0x41; it must be less than 0x41"),
    ],
)
def test_keys_out_of_range(arguments, message):
    with pytest.raises(InputError, match=message):
        prefix_key(*arguments)


@pytest.mark.parametrize("ends", [(5, 5), (6, 5), (-1, 5), (0, END + 1)])
def test_ranges_that_are_none(ends):
    with pytest.raises(InputError, match="is empty or not within 0x100000000000000 bytes"):
        list(prefixes(0, *ends))


def test_opcodes_of_a_grant():
    assert grant() == {"req": 0, "rwd": 0}
    assert grant(ReqOpcode.MEM_INV, ReqOpcode.MEM_CLN_EVCT, RwdOpcode.MEM_WR_PTL) == {
        "req": 0x401,
        "rwd": 4,
    }
