"""Samples and latencies."""

from fanweave.golden.isa.cxl_event import Channel, DevLoad
from fanweave.sw.policies.library import SETTINGS
from fanweave.sw.policies.scenario import Scenario
from fanweave.sw.policies.scenarios.messages import (
    FAR,
    HOST,
    NEAR,
    OTHER_HOST,
    OTHERS,
    completion,
    data,
    read,
    write,
)

__all__ = ["SCENARIOS"]

_TOTALS = ".bss.totals"
_A = 0x7F_FFFF_FFC0


def _record(number: int, latency_ns: int, *, slow: int = 0, **fields: int) -> dict[str, int]:
    begin = {"address": _A, "tag": 0, "port": FAR, "island": HOST, "channel": Channel.S2M_DRS}
    values = {"opcode": 0, "dev_load": 0, "number": number, "latency_ns": latency_ns, "slow": slow}
    return {**begin, **values, **fields}


SCENARIOS = (
    Scenario(
        policy="telemetry",
        name="one in four, and all that are slow",
        maps={SETTINGS: {0: {"sample_mask": 3, "slow_ns": 500}}},
        steps=(
            data(_A, latency_ns=200, tag=0xBEEF, dev_load=DevLoad.MODERATE_OVERLOAD),
            *(data(_A, latency_ns=latency) for latency in (210, 499)),
            completion(_A, port=NEAR, island=OTHER_HOST, latency_ns=500, tag=7),
            data(_A, latency_ns=255),
            data(_A, latency_ns=256),
            data(_A, latency_ns=2000, dev_load=DevLoad.SEVERE_OVERLOAD),
            data(_A, latency_ns=300),
            data(_A, latency_ns=511),
        ),
        after={
            _TOTALS: {0: {"answers": 9, "lost": 0}},
            "latencies": {7: 3, 8: 5, 10: 1},
            "records": [
                _record(0, 200, tag=0xBEEF, dev_load=2),
                _record(
                    *(3, 500),
                    slow=1,
                    tag=7,
                    port=NEAR,
                    island=OTHER_HOST,
                    channel=Channel.S2M_NDR,
                ),
                _record(4, 255),
                _record(6, 2000, slow=1, dev_load=3),
                _record(8, 511, slow=1),
            ],
        },
    ),
    Scenario(
        policy="telemetry",
        name="the ends of the histogram",
        maps={SETTINGS: {0: {"sample_mask": 0xFFFF_FFFF, "slow_ns": 0xFFFF_FFFF}}},
        steps=tuple(
            data(_A, latency_ns=latency) for latency in (0, 1, 2, 3, 4, 0x8000_0000, 0xFFFF_FFFF)
        ),
        after={
            _TOTALS: {0: {"answers": 7, "lost": 0}},
            "latencies": {0: 2, 1: 2, 2: 1, 31: 2},
            "records": [_record(0, 0), _record(6, 0xFFFF_FFFF, slow=1)],
        },
    ),
    Scenario(
        policy="telemetry",
        name="only answers count",
        maps={SETTINGS: {0: {"sample_mask": 0, "slow_ns": 1000}}},
        steps=(read(_A), write(_A), *OTHERS, data(_A, latency_ns=100)),
        after={
            _TOTALS: {0: {"answers": 1, "lost": 0}},
            "latencies": {6: 1},
            "records": [_record(0, 100)],
        },
    ),
)
