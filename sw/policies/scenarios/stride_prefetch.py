"""Streams with a constant stride."""

from fanweave.sw.policies.library import SETTINGS
from fanweave.sw.policies.scenario import Scenario, Step
from fanweave.sw.policies.scenarios.messages import (
    FAR,
    HOST,
    LINE,
    NEAR,
    OTHER_HOST,
    OTHERS,
    block,
    data,
    read,
    write,
)

__all__ = ["SCENARIOS"]

_REGION = 16
_REGION_LINES = (1 << _REGION) // LINE
_BASE = 0x12_0000
_FIRST = _BASE // LINE
#: The length of the queue.
_ADVICES = 64


def _reads(*lines: int, port: int = HOST, island: int = FAR) -> list[Step]:
    """Of lines in the region."""
    return [read(_BASE + LINE * line, port=port, island=island) for line in lines]


def _stream(line: int, stride: int, confidence: int) -> dict[str, int]:
    return {"line": _FIRST + line, "stride": stride, "confidence": confidence}


def _advice(line: int, *, port: int = HOST, island: int = FAR) -> dict[str, int]:
    return {"address": _BASE + LINE * line, "port": port, "island": island}


_KEY = block(_BASE, _REGION)

SCENARIOS = (
    Scenario(
        policy="stride_prefetch",
        name="lines in a row, with the settings that it begins with",
        steps=(*_reads(0, 1, 2, 3), *OTHERS),
        after={"streams": {_KEY: _stream(3, 1, 3)}, "prefetches": [_advice(6), _advice(7)]},
    ),
    Scenario(
        policy="stride_prefetch",
        name="columns of a matrix, backwards",
        maps={SETTINGS: {0: {"region_shift": _REGION, "confidence": 3, "distance": 2}}},
        steps=tuple(_reads(500, 484, 468, 452, 436)),
        after={
            "streams": {_KEY: _stream(436, -16, 4)},
            "prefetches": [_advice(420), _advice(404)],
        },
    ),
    Scenario(
        policy="stride_prefetch",
        name="a stride that changes begins again, the same line twice does not",
        maps={SETTINGS: {0: {"region_shift": _REGION, "confidence": 2, "distance": 1}}},
        steps=tuple(_reads(0, 2, 4, 4, 6, 7, 9, 11)),
        after={
            "streams": {_KEY: _stream(11, 2, 2)},
            "prefetches": [_advice(6), _advice(8), _advice(13)],
        },
    ),
    Scenario(
        policy="stride_prefetch",
        name="no advice beyond the region",
        maps={SETTINGS: {0: {"region_shift": _REGION, "confidence": 1, "distance": 4}}},
        steps=tuple(_reads(*range(_REGION_LINES - 8, _REGION_LINES - 3))),
        after={
            "streams": {_KEY: _stream(_REGION_LINES - 4, 1, 4)},
            "prefetches": [_advice(_REGION_LINES - 2), _advice(_REGION_LINES - 1)],
        },
    ),
    Scenario(
        policy="stride_prefetch",
        name="two hosts in turn, writes and answers in between",
        maps={SETTINGS: {0: {"region_shift": _REGION, "confidence": 2, "distance": 4}}},
        steps=tuple(
            step
            for n in range(4)
            for step in (
                *_reads(n),
                *_reads(9 - 3 * n, port=OTHER_HOST, island=NEAR),
                write(_BASE + LINE * (100 - n)),
                data(_BASE + LINE * n),
            )
        ),
        after={
            "streams": {
                _KEY: _stream(3, 1, 3),
                block(_BASE, _REGION, OTHER_HOST): _stream(0, -3, 3),
            },
            "prefetches": [_advice(6), _advice(7)],
        },
    ),
    Scenario(
        policy="stride_prefetch",
        name="a full queue loses the oldest advice",
        maps={SETTINGS: {0: {"region_shift": _REGION, "confidence": 2, "distance": 1}}},
        steps=tuple(_reads(*range(_ADVICES + 5))),
        after={
            "streams": {_KEY: _stream(_ADVICES + 4, 1, _ADVICES + 4)},
            "prefetches": [_advice(line) for line in range(6, _ADVICES + 6)],
        },
    ),
)
