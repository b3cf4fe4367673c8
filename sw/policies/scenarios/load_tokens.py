"""Prices that follow the load of devices."""

from fanweave.golden.isa.cxl_event import DevLoad
from fanweave.sw.policies.library import SETTINGS
from fanweave.sw.policies.scenario import Scenario
from fanweave.sw.policies.scenarios.messages import (
    FAR,
    NEAR,
    OTHER_HOST,
    OTHERS,
    completion,
    data,
    delay,
    invalidate,
    read,
    write,
)

__all__ = ["SCENARIOS"]

_LIGHT, _OPTIMAL, _MODERATE, _SEVERE = DevLoad
_A = 0x8000

SCENARIOS = (
    Scenario(
        policy="load_tokens",
        name="a moderate overload makes its island dearer, a light load cheaper",
        maps={"weights": {OTHER_HOST: 3}},
        steps=(
            read(_A),
            data(_A, dev_load=_MODERATE),
            read(_A, verdict=delay(4)),
            completion(_A, dev_load=_MODERATE),
            write(_A, verdict=delay(8)),
            write(_A, port=OTHER_HOST, verdict=delay(24)),
            invalidate(_A, verdict=delay(8)),
            read(_A, island=NEAR),
            data(_A, dev_load=_OPTIMAL),
            read(_A, verdict=delay(8)),
            data(_A, dev_load=_LIGHT),
            read(_A, verdict=delay(4)),
            data(_A, dev_load=_LIGHT),
            read(_A),
            data(_A, dev_load=_LIGHT),
        ),
        after={"prices": {}},
    ),
    Scenario(
        policy="load_tokens",
        name="a severe overload doubles the price, up to the highest",
        maps={SETTINGS: {0: {"step": 4, "most": 50}}},
        steps=(
            data(_A, dev_load=_SEVERE),
            read(_A, verdict=delay(4)),
            data(_A, dev_load=_SEVERE),
            read(_A, verdict=delay(8)),
            *(data(_A, dev_load=_SEVERE), data(_A, dev_load=_SEVERE)),
            read(_A, verdict=delay(32)),
            data(_A, dev_load=_SEVERE),
            read(_A, verdict=delay(50)),
            data(_A, dev_load=_MODERATE),
            data(_A, dev_load=_SEVERE),
            read(_A, verdict=delay(50)),
            data(_A, dev_load=_LIGHT),
            read(_A, verdict=delay(46)),
            data(_A, dev_load=_MODERATE),
            read(_A, verdict=delay(50)),
        ),
        after={"prices": {FAR: 50}},
    ),
    Scenario(
        policy="load_tokens",
        name="each island has its own price; other messages have none",
        steps=(
            data(_A, port=NEAR, dev_load=_SEVERE),
            data(_A, port=FAR, dev_load=_MODERATE),
            data(_A, port=FAR, dev_load=_MODERATE),
            *OTHERS,
            read(_A, island=NEAR, verdict=delay(4)),
            read(_A, island=FAR, verdict=delay(8)),
        ),
        after={"prices": {NEAR: 4, FAR: 8}},
    ),
    Scenario(
        policy="load_tokens",
        name="a lower limit holds from the next answer on",
        steps=(
            *(data(_A, dev_load=_SEVERE) for _ in range(5)),
            read(_A, verdict=delay(64), before={SETTINGS: {0: {"step": 4, "most": 16}}}),
            data(_A, dev_load=_MODERATE),
            read(_A, verdict=delay(16)),
        ),
        after={"prices": {FAR: 16}},
    ),
)
