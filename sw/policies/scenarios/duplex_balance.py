"""Balance of reads and writes."""

from collections.abc import Mapping

from fanweave.golden.isa.cxl_event import NdrOpcode, ReqOpcode
from fanweave.sw.policies.library import SETTINGS, MapEntries
from fanweave.sw.policies.ranges import prefixes
from fanweave.sw.policies.scenario import Scenario
from fanweave.sw.policies.scenarios.messages import (
    FAR,
    HOST,
    NEAR,
    OTHERS,
    SPARE,
    completion,
    data,
    delay,
    invalidate,
    read,
    redirect,
    write,
)

__all__ = ["SCENARIOS"]

_MAPS: Mapping[str, MapEntries] = {
    SETTINGS: {0: {"window": 2, "tokens": 5}},
    "copies": dict.fromkeys(prefixes(HOST, 0x10_0000, 0x20_0000), SPARE),
}
_UNANSWERED = (ReqOpcode.MEM_SPEC_RD, ReqOpcode.MEM_RD_FWD, ReqOpcode.MEM_WR_FWD)
_OWN, _COPIED = 0x8000, 0x12_3440


def _flow(reads: int, writes: int) -> dict[str, int]:
    return {"reads": reads, "writes": writes}


SCENARIOS = (
    Scenario(
        policy="duplex_balance",
        name="too many reads go to the copy, or wait for writes",
        maps=_MAPS,
        steps=(
            *(read(_OWN), read(_COPIED)),
            # Too many, but there is nothing to wait for.
            read(_OWN),
            read(_COPIED, verdict=redirect(SPARE)),
            write(_OWN),
            read(_OWN, verdict=delay(5)),
            read(_COPIED, verdict=redirect(SPARE)),
            # 4 - 1 here, 2 there.
            read(_COPIED, verdict=redirect(SPARE)),
            # 3 in both.
            read(_COPIED, verdict=delay(5)),
        ),
        after={"flows": {FAR: _flow(5, 1), SPARE: _flow(3, 0)}},
    ),
    Scenario(
        policy="duplex_balance",
        name="answers free the link",
        maps=_MAPS,
        steps=(
            *(read(_OWN), read(_OWN), write(_OWN)),
            *(read(_OWN), read(_OWN, verdict=delay(5))),
            data(_OWN),
            data(_OWN),
            read(_OWN),
            # Neither ends a write.
            *(completion(_OWN, opcode=NdrOpcode.CMP_E), *OTHERS),
            read(_OWN, verdict=delay(5)),
            completion(_OWN),
            # Of requests that were never seen.
            *(completion(_OWN), data(_OWN, port=NEAR)),
        ),
        after={"flows": {FAR: _flow(4, 0)}},
    ),
    Scenario(
        policy="duplex_balance",
        name="too many writes wait for reads, and go nowhere else",
        maps=_MAPS,
        steps=(
            *(write(_OWN) for _ in range(3)),
            read(_OWN),
            # 3 and 1.
            write(_COPIED, verdict=delay(5)),
            *(read(_OWN) for _ in range(2)),
            write(_OWN),
        ),
        after={"flows": {FAR: _flow(3, 5)}},
    ),
    Scenario(
        policy="duplex_balance",
        name="writes at the copy make it better, reads worse",
        maps=_MAPS,
        steps=(
            *(read(_OWN), read(_OWN)),
            *(read(_OWN, island=SPARE) for _ in range(4)),
            *(write(_OWN, island=SPARE) for _ in range(3)),
            # 2 here, 4 - 3 there.
            read(_COPIED, verdict=redirect(SPARE)),
            # 2 in both, and no writes here.
            read(_COPIED),
        ),
        after={"flows": {FAR: _flow(3, 0), SPARE: _flow(5, 3)}},
    ),
    Scenario(
        policy="duplex_balance",
        name="requests that Cmp answers count as writes",
        maps=_MAPS,
        steps=(
            invalidate(_OWN, island=NEAR),
            read(_OWN, island=SPARE, opcode=ReqOpcode.MEM_INV_NT),
            *(read(_OWN, opcode=ReqOpcode.MEM_CLN_EVCT) for _ in range(2)),
            *(read(_OWN, island=HOST, opcode=opcode) for opcode in _UNANSWERED),
            completion(_OWN),
            read(_OWN, opcode=ReqOpcode.MEM_RD_DATA),
        ),
        after={"flows": {NEAR: _flow(0, 1), SPARE: _flow(0, 1), FAR: _flow(1, 1)}},
    ),
)
