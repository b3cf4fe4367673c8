"""Programs of an island on the policy engine in RTL: the same verdicts and maps as on golden."""

import pytest

from fanweave.golden.isa.cxl_event import Channel, DevLoad, encode_event
from fanweave.golden.isa.ebpf_machine import FaultCause
from fanweave.sw.ebpf.object.engines import RunRequest, find_engine

KV, WEIGHTS, HIDDEN = 0x10_0000_0000, 0x20_0000_0000, 0x40_0000_0000
REQ, RWD, DRS = Channel.M2S_REQ, Channel.M2S_RWD, Channel.S2M_DRS
#: Island, program, channel, address, port of entry, port of exit, and more of the event.
EVENTS = [
    ("island1", "kv_requests", RWD, KV, 1, 3, {}),
    # Redirected: the program stores into its context.
    ("island1", "kv_requests", REQ, KV, 0, 2, {}),
    ("island1", "kv_requests", REQ, WEIGHTS, 0, 3, {}),
    (
        "island1",
        "answers",
        DRS,
        KV,
        3,
        0,
        {"latency_ns": 4000, "dev_load": DevLoad.SEVERE_OVERLOAD},
    ),
    ("island0", "weights_activations_requests", RWD, HIDDEN, 0, 2, {}),
    ("island0", "weights_activations_requests", RWD, HIDDEN, 1, 2, {}),
    ("island0", "other_requests", REQ, 0, 0, 0, {}),
]


@pytest.mark.verilator
@pytest.mark.parametrize("event", EVENTS, ids=lambda event: f"{event[1]}-{event[3]:x}-{event[4]}")
def test_it_decides_as_golden_does(shipped, event):
    island, name, channel, address, port, target, more = event
    built = shipped.built[island]
    context = encode_event(
        channel=channel,
        direction=channel.direction,
        opcode=0 if channel is DRS else 1,
        address=address,
        port=port,
        island=target,
        **more,
    )
    request = RunRequest(
        loaded=built.loaded,
        program=built.loaded.find_program(name),
        context=context,
        contents=built.contents,
    )
    golden, rtl = (find_engine(engine)(request) for engine in ("golden", "rtl"))
    assert golden.fault is rtl.fault is FaultCause.NONE
    assert golden.r0 == rtl.r0
    for number, entries in golden.contents.items():
        assert sorted(rtl.contents[number]) == sorted(entries), built.loaded.maps[number].name
