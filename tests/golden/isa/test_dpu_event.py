"""Events and verdicts of the reference runtime of a DPU."""

import pytest

from fanweave.golden.errors import InputError
from fanweave.golden.isa.dpu_event import (
    TRANSFER_BYTES,
    DpuAction,
    decode_dpu_verdict,
    decode_transfer,
    dpu_verdict,
    encode_transfer,
)


def test_a_transfer_comes_back_as_it_was():
    context = encode_transfer(address=1 << 40, bytes=4096, movement=7, tenant=2, event=1)
    assert len(context) == TRANSFER_BYTES
    found = decode_transfer(context)
    assert {name: value for name, value in found.items() if value} == {
        "address": 1 << 40,
        "bytes": 4096,
        "movement": 7,
        "tenant": 2,
        "event": 1,
    }


@pytest.mark.parametrize(
    ("values", "message"), [({"tennant": 1}, "no field 'tennant'"), ({"tenant": 256}, "0 to 0xff")]
)
def test_what_does_not_fit_is_refused(values, message):
    with pytest.raises(InputError, match=message):
        encode_transfer(**values)


@pytest.mark.parametrize(
    ("r0", "meaning"),
    [
        (0x0300, (DpuAction.SEND, 3, 0)),
        (0x12345_0001, (DpuAction.HOLD, 0, 0x12345)),
        (2, (DpuAction.REJECT, 0, 0)),
        (0x0400, None),  # no such queue
        (0x0102, None),  # a rejection has no queue
        (0x1_0000, None),  # and what is sent is not held
        (3, None),
        (1 << 48, None),
    ],
)
def test_verdicts(r0, meaning):
    assert decode_dpu_verdict(r0) == meaning
    if meaning is not None:
        action, queue, hold_ns = meaning
        assert dpu_verdict(action, queue=queue, hold_ns=hold_ns) == r0


def test_a_verdict_that_says_too_much_is_refused():
    with pytest.raises(InputError, match="queue = 1 of HOLD; it must be from 0 to 0"):
        dpu_verdict(DpuAction.HOLD, queue=1)
