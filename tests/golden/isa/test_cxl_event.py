"""The layout of events and verdicts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanweave.golden.errors import InputError
from fanweave.golden.isa.cxl_event import (
    EVENT_BYTES,
    EVENT_FIELDS,
    Channel,
    Direction,
    Verdict,
    VerdictAction,
    decode_event,
    encode_event,
    payload_digest,
)


def test_fields_follow_each_other_aligned_and_fit():
    place = 0
    for field in EVENT_FIELDS:
        assert field.offset == place
        assert field.offset % field.bytes == 0
        place += field.bytes
    assert place <= EVENT_BYTES == 64


@given(st.data())
def test_events_come_back(data):
    values = {
        field.name: data.draw(st.integers(0, (1 << 8 * field.bytes) - 1)) for field in EVENT_FIELDS
    }
    assert decode_event(encode_event(**values)) == values


def test_a_field_lies_at_its_offset():
    context = encode_event(address=0x1122334455667788, tag=0xABCD, opcode=7)
    assert context[:8] == bytes.fromhex("8877665544332211")
    assert context[20:22] == b"\xcd\xab"
    assert context[28] == 7
    assert sum(context) == sum(context[:8]) + 0xAB + 0xCD + 7


def test_bad_events_are_refused():
    with pytest.raises(InputError, match="an event has no field 'color'; it has address, "):
        encode_event(color=1)
    with pytest.raises(InputError, match="port = 256 does not fit in 1 bytes"):
        encode_event(port=256)
    with pytest.raises(InputError, match="the event has 63 bytes; it must have 64"):
        decode_event(bytes(63))


def test_channels_have_directions():
    assert [channel.direction for channel in Channel] == [Direction.M2S] * 3 + [Direction.S2M] * 3
    assert all(channel.name.startswith(channel.direction.name) for channel in Channel)


def test_the_digest_is_over_words():
    assert payload_digest(b"") == 0
    assert payload_digest(bytes(range(8)) * 2) == 0
    assert (
        payload_digest((1).to_bytes(8, "little") + (1 << 63).to_bytes(8, "little")) == 1 << 63 | 1
    )


@pytest.mark.parametrize(
    ("verdict", "r0"),
    [
        (Verdict(action=VerdictAction.PASS), 0),
        (Verdict(action=VerdictAction.REDIRECT, island=7), 0x701),
        (Verdict(action=VerdictAction.DELAY, tokens=0xFFFFFFFF), 0xFFFF_FFFF_0002),
        (Verdict(action=VerdictAction.DENY), 3),
        (Verdict(action=VerdictAction.MIRROR, island=255), 0xFF04),
        (Verdict(action=VerdictAction.PROMOTE, island=1), 0x105),
        (Verdict(action=VerdictAction.SPILL, island=3, tokens=0x40), 0x40_0306),
    ],
)
def test_verdicts(verdict, r0):
    assert verdict.encode() == r0
    assert Verdict.decode(r0) == verdict


@pytest.mark.parametrize("r0", [7, 255, 0x100, 0x103, 0x1_0001, 0x102, 1 << 48, 1 << 63, 1 << 64])
def test_what_is_no_verdict(r0):
    assert Verdict.decode(r0) is None


def test_verdicts_that_cannot_be_are_refused():
    with pytest.raises(InputError, match="island = 1 of PASS; it must be from 0 to 0"):
        Verdict(action=VerdictAction.PASS, island=1).encode()
    with pytest.raises(InputError, match="island = 256 of REDIRECT; it must be from 0 to 255"):
        Verdict(action=VerdictAction.REDIRECT, island=256).encode()
