"""Routes of KV cache and weights."""

from fanweave.golden.isa.cxl_event import ReqOpcode, RwdOpcode
from fanweave.sw.policies.ranges import prefixes
from fanweave.sw.policies.scenario import Scenario
from fanweave.sw.policies.scenarios.messages import (
    FAR,
    HOST,
    LINE,
    NEAR,
    OTHER_HOST,
    OTHERS,
    SPARE,
    completion,
    data,
    invalidate,
    mirror,
    read,
    redirect,
    write,
)
from fanweave.sw.policies.values import Value

__all__ = ["SCENARIOS"]

_OTHER, _KV, _FFN, _ATTENTION = range(4)
_KV_CACHE = range(0x10_0000_0000, 0x20_0000_0000)
_KV_PAGE = range(0x12_3456_0000, 0x12_3456_4000)
_WEIGHTS = range(0x40_0000_0000, 0x40_8000_0000)


def _routes(
    port: int, addresses: range, island: int, kind: int, **more: int
) -> dict[int | bytes, Value]:
    route = {"island": island, "kind": kind, **more}
    return dict.fromkeys(prefixes(port, addresses.start, addresses.stop), route)


def _lines(read: int, written: int) -> dict[str, int]:
    return {"read": read, "written": written}


SCENARIOS = (
    Scenario(
        policy="steering",
        name="a decode step: cache and weights on two islands",
        maps={
            "routes": {
                **_routes(HOST, _KV_CACHE, NEAR, _KV),
                **_routes(HOST, _WEIGHTS, SPARE, _FFN),
            }
        },
        steps=(
            *(read(_KV_CACHE.start + LINE * n, verdict=redirect(NEAR)) for n in range(4)),
            write(_KV_CACHE.stop - LINE, verdict=redirect(NEAR)),
            *(read(_WEIGHTS.start + LINE * n, verdict=redirect(SPARE)) for n in range(6)),
            *(read(_WEIGHTS.stop), read(_KV_CACHE.start - LINE), write(_KV_CACHE.stop)),
            read(_KV_CACHE.start, port=OTHER_HOST),
        ),
        after={"traffic": {_OTHER: _lines(3, 1), _KV: _lines(4, 1), _FFN: _lines(6, 0)}},
    ),
    Scenario(
        policy="steering",
        name="a page of the cache that lives elsewhere, and moves",
        maps={
            "routes": {
                **_routes(HOST, _KV_CACHE, NEAR, _KV),
                **_routes(HOST, _KV_PAGE, FAR, _ATTENTION),
            }
        },
        steps=(
            read(_KV_PAGE.start),
            read(_KV_PAGE.start, island=NEAR, verdict=redirect(FAR)),
            write(_KV_PAGE.stop - LINE),
            read(_KV_PAGE.stop, verdict=redirect(NEAR)),
            read(_KV_PAGE.start - LINE, island=NEAR),
            read(
                _KV_PAGE.start,
                before={"routes": _routes(HOST, _KV_PAGE, SPARE, _ATTENTION)},
                verdict=redirect(SPARE),
            ),
        ),
        after={"traffic": {_KV: _lines(2, 0), _ATTENTION: _lines(3, 1)}},
    ),
    Scenario(
        policy="steering",
        name="what a prompt writes into its cache is copied to the island that decodes",
        maps={
            "routes": {
                **_routes(HOST, _KV_CACHE, FAR, _KV),
                **_routes(HOST, _KV_PAGE, FAR, _KV, has_copy=1, copy=SPARE),
            }
        },
        steps=(
            write(_KV_PAGE.start, verdict=mirror(SPARE)),
            read(_KV_PAGE.start),
            write(_KV_PAGE.stop - LINE, opcode=RwdOpcode.MEM_WR_PTL, verdict=mirror(SPARE)),
            write(_KV_PAGE.stop),
            # A message has one verdict.
            write(_KV_PAGE.start, island=NEAR, verdict=redirect(FAR)),
        ),
        after={"traffic": {_KV: _lines(1, 4)}},
    ),
    Scenario(
        policy="steering",
        name="only reads and writes are steered",
        maps={"routes": _routes(HOST, _KV_CACHE, NEAR, _KV)},
        steps=(
            invalidate(_KV_CACHE.start),
            read(_KV_CACHE.start, opcode=ReqOpcode.MEM_SPEC_RD),
            *(data(_KV_CACHE.start), completion(_KV_CACHE.start), *OTHERS),
            read(_KV_CACHE.start, opcode=ReqOpcode.MEM_RD_DATA, verdict=redirect(NEAR)),
        ),
        after={"traffic": {_KV: _lines(1, 0)}},
    ),
)
