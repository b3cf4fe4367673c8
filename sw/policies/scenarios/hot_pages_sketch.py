"""Hot pages, counted by a sketch.

The counters that must be there follow from the definition of the hash, not from the program.
"""

from collections.abc import Mapping
from itertools import count

from fanweave.sw.policies.library import MapEntries
from fanweave.sw.policies.scenario import Scenario
from fanweave.sw.policies.scenarios.hot_pages import settings
from fanweave.sw.policies.scenarios.messages import (
    NEAR,
    OTHER_HOST,
    OTHERS,
    block,
    data,
    invalidate,
    promote,
    read,
    write,
)

__all__ = ["SCENARIOS"]

_PAGE = 12
_WIDTH_BITS = 9
_MULTIPLIERS = (
    0x9E37_79B9_7F4A_7C15,
    0xC2B2_AE3D_27D4_EB4F,
    0x1656_67B1_9E37_79F9,
    0xD6E8_FEB8_6659_FD93,
)
_HOT, _COLD = 0x40_0000_3000, 0x40_0000_4000


def _columns(page: int) -> list[int]:
    return [(page * m & (1 << 64) - 1) >> 64 - _WIDTH_BITS for m in _MULTIPLIERS]


def _sketch(uses: Mapping[int, int]) -> dict[str, list[list[int]]]:
    """Counters after so many uses of each page."""
    counts = [[0] * (1 << _WIDTH_BITS) for _ in _MULTIPLIERS]
    for page, times in uses.items():
        for row, column in zip(counts, _columns(page), strict=True):
            row[column] += times
    return {"counts": counts}


def _alike(page: int) -> list[int]:
    """For each row the next page that shares the counter there and nowhere else."""
    found = []
    for row in range(len(_MULTIPLIERS)):
        for other in count(page + 1):
            pairs = zip(_columns(page), _columns(other), strict=True)
            if [a == b for a, b in pairs] == [n == row for n in range(len(_MULTIPLIERS))]:
                found.append(other)
                break
    return found


_PAGES = {block(_HOT, _PAGE): 4, block(_COLD, _PAGE): 1}
_ALIKE = _alike(block(_HOT, _PAGE))
_EMPTY: MapEntries = {0: _sketch({})}


SCENARIOS = (
    Scenario(
        policy="hot_pages_sketch",
        name="a page that reaches the threshold is asked for once",
        maps=settings(3),
        steps=(
            *(read(_HOT), read(_COLD), write(_HOT)),
            read(_HOT, verdict=promote(NEAR)),
            read(_HOT),
        ),
        after={"sketches": {0: _sketch(_PAGES)}, "asked": {block(_HOT, _PAGE): 0}},
    ),
    Scenario(
        policy="hot_pages_sketch",
        name="a page that shares every counter is hot too early",
        maps=settings(4),
        steps=(
            *(read(page << _PAGE) for page in _ALIKE for _ in range(3)),
            read(_HOT, verdict=promote(NEAR)),
            read(_HOT),
        ),
        after={
            "sketches": {0: _sketch({**dict.fromkeys(_ALIKE, 3), block(_HOT, _PAGE): 2})},
            "asked": {block(_HOT, _PAGE): 0},
        },
    ),
    Scenario(
        policy="hot_pages_sketch",
        name="a new epoch has the other counters, and asks again",
        maps=settings(2, epoch=4),
        steps=(
            read(_HOT),
            read(_HOT, verdict=promote(NEAR)),
            read(_HOT, before=settings(2, epoch=5)),
            read(_HOT, verdict=promote(NEAR)),
            read(_HOT, before={"sketches": _EMPTY, **settings(2, epoch=6)}),
        ),
        after={
            "sketches": {0: _sketch({block(_HOT, _PAGE): 1}), 1: _sketch({block(_HOT, _PAGE): 2})},
            "asked": {block(_HOT, _PAGE): 5},
        },
    ),
    Scenario(
        policy="hot_pages_sketch",
        name="two hosts, and what does not count",
        maps=settings(2),
        steps=(
            *(read(_HOT), read(_HOT, port=OTHER_HOST)),
            *(read(_HOT, island=NEAR), invalidate(_HOT), data(_HOT), *OTHERS),
            read(_HOT, port=OTHER_HOST, verdict=promote(NEAR)),
        ),
        after={
            "sketches": {
                0: _sketch({block(_HOT, _PAGE): 1, block(_HOT, _PAGE, OTHER_HOST): 2}),
            },
            "asked": {block(_HOT, _PAGE, OTHER_HOST): 0},
        },
    ),
)
