from dataclasses import replace

import pytest

from fanweave.golden.dops.platforms import PICOSECONDS
from fanweave.golden.errors import InputError
from fanweave.golden.timing.requests import RequestTrace


def test_a_trace_that_does_not_fit(trace_of):
    with pytest.raises(InputError, match="no requests"):
        RequestTrace(name="made", requests=())
    with pytest.raises(InputError, match="request 0: input_tokens = 0 must be at least 1"):
        trace_of((0, 0, 1))
    with pytest.raises(InputError, match="output_tokens = 0"):
        trace_of((0, 1, 0))
    with pytest.raises(InputError, match=r"request 1: arrives 2 s before request 0.*sort"):
        trace_of((3 * PICOSECONDS, 1, 1), (PICOSECONDS, 1, 1))
    with pytest.raises(InputError, match="prefix_block is not given"):
        trace_of((0, 10, 1, [1]))
    with pytest.raises(InputError, match="2 blocks of 16 tokens are more than its 16 input"):
        trace_of((0, 16, 1, [1, 2]), prefix_block=16)
    trace_of((0, 17, 1, [1, 2]), prefix_block=16)


def test_cached_tokens_leave_one_to_compute(trace_of):
    (request,) = trace_of((0, 16, 1)).requests
    for cached in (-1, 16):
        with pytest.raises(InputError, match=f"request 0: cached_tokens = {cached}"):
            RequestTrace(name="made", requests=(replace(request, cached_tokens=cached),))
    fits = RequestTrace(name="made", requests=(replace(request, cached_tokens=15),))
    assert fits.first(1).requests[0].cached_tokens == 15


def test_first_and_stretched(trace_of):
    trace = trace_of((0, 1, 1), (PICOSECONDS, 2, 1), (4 * PICOSECONDS, 3, 1))
    assert len(trace.first(2).requests) == 2
    assert trace.seconds == 4
    fast = trace.at_rate(1.0)
    assert [request.arrival for request in fast.requests] == [0, PICOSECONDS // 2, 2 * PICOSECONDS]
    assert [request.input_tokens for request in fast.requests] == [1, 2, 3]
    for rate in (0.0, -1.0, float("nan"), float("inf")):
        with pytest.raises(InputError, match="must be a finite number over 0"):
            trace.at_rate(rate)
    with pytest.raises(InputError, match=r"spreads 3 requests over 2e\+09 s"):
        trace.at_rate(1e-9)
    with pytest.raises(InputError, match="all requests arrive at once"):
        trace.first(1).at_rate(1.0)
