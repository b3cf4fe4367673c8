"""Hot pages, counted exactly."""

from fanweave.golden.isa.cxl_event import ReqOpcode, RwdOpcode
from fanweave.sw.policies.library import SETTINGS, MapEntries
from fanweave.sw.policies.scenario import Scenario
from fanweave.sw.policies.scenarios.messages import (
    FAR,
    LINE,
    NEAR,
    OTHER_HOST,
    OTHERS,
    block,
    completion,
    data,
    invalidate,
    promote,
    read,
    write,
)

__all__ = ["SCENARIOS", "settings"]

_PAGE = 12
_HUGE = 21
_HOT, _COLD = 0x40_0000_3000, 0x40_0000_4000


def settings(threshold: int, *, epoch: int = 0, shift: int = _PAGE) -> dict[str, MapEntries]:
    """Of both policies that count pages."""
    values = {"threshold": threshold, "epoch": epoch, "page_shift": shift, "target": NEAR}
    return {SETTINGS: {0: values}}


def _use(epoch: int, count: int) -> dict[str, int]:
    return {"epoch": epoch, "count": count}


SCENARIOS = (
    Scenario(
        policy="hot_pages",
        name="a page that reaches the threshold is asked for once",
        maps=settings(3),
        steps=(
            read(_HOT),
            read(_COLD),
            write(_HOT + 63 * LINE),
            read(_HOT + 7 * LINE, opcode=ReqOpcode.MEM_RD_DATA, verdict=promote(NEAR)),
            write(_HOT, opcode=RwdOpcode.MEM_WR_PTL),
            read(_COLD - LINE),
        ),
        after={"pages": {block(_HOT, _PAGE): _use(0, 5), block(_COLD, _PAGE): _use(0, 1)}},
    ),
    Scenario(
        policy="hot_pages",
        name="two hosts use the same addresses",
        maps=settings(2),
        steps=(
            read(_HOT),
            read(_HOT, port=OTHER_HOST),
            read(_HOT, verdict=promote(NEAR)),
            read(_HOT, port=OTHER_HOST, verdict=promote(NEAR)),
        ),
        after={
            "pages": {
                block(_HOT, _PAGE): _use(0, 2),
                block(_HOT, _PAGE, OTHER_HOST): _use(0, 2),
            }
        },
    ),
    Scenario(
        policy="hot_pages",
        name="a new epoch begins all counts again",
        maps=settings(2, epoch=7),
        steps=(
            read(_HOT),
            read(_COLD),
            read(_HOT, before=settings(2, epoch=8)),
            read(_HOT, verdict=promote(NEAR)),
            read(_HOT, before=settings(2, epoch=9)),
            read(_HOT, verdict=promote(NEAR)),
        ),
        after={"pages": {block(_HOT, _PAGE): _use(9, 2), block(_COLD, _PAGE): _use(7, 1)}},
    ),
    Scenario(
        policy="hot_pages",
        name="what is near, moves no data or comes back does not count",
        maps=settings(1),
        steps=(
            read(_HOT, island=NEAR),
            write(_HOT, island=NEAR),
            invalidate(_HOT),
            read(_HOT, opcode=ReqOpcode.MEM_SPEC_RD),
            data(_HOT),
            completion(_HOT),
            *OTHERS,
            write(_HOT, opcode=RwdOpcode.BI_CONFLICT),
            write(_HOT, island=FAR, verdict=promote(NEAR)),
        ),
        after={"pages": {block(_HOT, _PAGE): _use(0, 1)}},
    ),
    Scenario(
        policy="hot_pages",
        name="huge pages",
        maps=settings(2, shift=_HUGE),
        steps=(read(_HOT), read(_COLD, verdict=promote(NEAR)), read(_HOT + (1 << _HUGE))),
        after={
            "pages": {
                block(_HOT, _HUGE): _use(0, 2),
                block(_HOT, _HUGE) + 1: _use(0, 1),
            }
        },
    ),
    Scenario(
        policy="hot_pages",
        name="without a threshold no page is hot",
        maps=settings(0),
        steps=(read(_HOT),) * 3,
        after={"pages": {block(_HOT, _PAGE): _use(0, 3)}},
    ),
)
