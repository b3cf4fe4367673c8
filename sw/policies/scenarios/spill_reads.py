"""Reads that go to a copy while too many are open."""

from collections.abc import Mapping

from fanweave.golden.isa.cxl_event import DevLoad, ReqOpcode
from fanweave.sw.policies.library import SETTINGS, MapEntries
from fanweave.sw.policies.ranges import prefixes
from fanweave.sw.policies.scenario import Scenario
from fanweave.sw.policies.scenarios.messages import (
    HOST,
    OTHER_HOST,
    OTHERS,
    SPARE,
    completion,
    data,
    invalidate,
    read,
    spill,
    write,
)

__all__ = ["SCENARIOS"]

_LIGHT, _OPTIMAL, _MODERATE, _SEVERE = DevLoad
_MAPS: Mapping[str, MapEntries] = {
    SETTINGS: {0: {"most": 40, "least": 30, "step": 4}},
    "spills": dict.fromkeys(prefixes(HOST, 0x10_0000, 0x20_0000), SPARE),
}
_OWN, _COPIED = 0x8000, 0x12_3440

SCENARIOS = (
    Scenario(
        policy="spill_reads",
        name="reads of what has a copy may go there, and nothing else",
        maps=_MAPS,
        steps=(
            read(_COPIED, verdict=spill(SPARE, 40)),
            read(_COPIED, opcode=ReqOpcode.MEM_RD_DATA, verdict=spill(SPARE, 40)),
            *(read(_OWN), write(_COPIED), invalidate(_COPIED), read(_COPIED, port=OTHER_HOST)),
            # It goes to the copy already.
            read(_COPIED, island=SPARE),
            *OTHERS,
        ),
        after={"taken": {}},
    ),
    Scenario(
        policy="spill_reads",
        name="the limit of an island follows its load",
        maps=_MAPS,
        steps=(
            data(_OWN, dev_load=_LIGHT),
            read(_COPIED, verdict=spill(SPARE, 40)),
            data(_OWN, dev_load=_MODERATE),
            read(_COPIED, verdict=spill(SPARE, 36)),
            completion(_OWN, dev_load=_SEVERE),
            data(_OWN, dev_load=_OPTIMAL),
            read(_COPIED, verdict=spill(SPARE, 32)),
            # No less than `least`.
            data(_OWN, dev_load=_SEVERE),
            data(_OWN, dev_load=_SEVERE),
            read(_COPIED, verdict=spill(SPARE, 30)),
            data(_OWN, dev_load=_LIGHT),
            read(_COPIED, verdict=spill(SPARE, 34)),
            # Of another island.
            data(_OWN, port=SPARE, dev_load=_SEVERE),
            read(_COPIED, verdict=spill(SPARE, 34)),
            data(_OWN, dev_load=_LIGHT),
            data(_OWN, dev_load=_LIGHT),
            read(_COPIED, verdict=spill(SPARE, 40)),
        ),
        after={"taken": {SPARE: 4}},
    ),
)
