"""Grants by port, range and opcode."""

from fanweave.golden.isa.cxl_event import ReqOpcode, RwdOpcode
from fanweave.sw.policies.ranges import grant, prefix_key, prefixes
from fanweave.sw.policies.scenario import Scenario
from fanweave.sw.policies.scenarios.messages import (
    DENY,
    HOST,
    LINE,
    OTHER_HOST,
    OTHERS,
    SPARE,
    completion,
    data,
    invalidate,
    read,
    write,
)

__all__ = ["SCENARIOS"]

_READS = (ReqOpcode.MEM_RD, ReqOpcode.MEM_RD_DATA)
_WRITES = (RwdOpcode.MEM_WR, RwdOpcode.MEM_WR_PTL)
_GIB = 1 << 30
_ALL = grant(*_READS, *_WRITES, ReqOpcode.MEM_INV)
#: Not aligned to its size: three prefixes.
_ODD = range(0x3000, 0x9000)

SCENARIOS = (
    Scenario(
        policy="access_control",
        name="two tenants: own memory, shared weights, a range that is closed",
        maps={
            "grants": {
                **dict.fromkeys(prefixes(HOST, 0, _GIB), _ALL),
                **dict.fromkeys(prefixes(OTHER_HOST, _GIB, 2 * _GIB), _ALL),
                **dict.fromkeys(prefixes(HOST, 4 * _GIB, 8 * _GIB), grant(*_READS)),
                **dict.fromkeys(prefixes(OTHER_HOST, 4 * _GIB, 8 * _GIB), grant(*_READS)),
                **dict.fromkeys(prefixes(HOST, 0x1000, 0x2000), grant()),
            }
        },
        steps=(
            *(read(0), write(_GIB - LINE), invalidate(0x800)),
            read(_GIB, verdict=DENY),
            *(read(_GIB, port=OTHER_HOST), write(_GIB, port=OTHER_HOST)),
            write(0, port=OTHER_HOST, verdict=DENY),
            *(read(5 * _GIB), read(5 * _GIB, port=OTHER_HOST)),
            write(5 * _GIB, verdict=DENY),
            write(8 * _GIB - LINE, port=OTHER_HOST, verdict=DENY),
            *(read(0xFC0), read(0x1000, verdict=DENY), read(0x1FC0, verdict=DENY), read(0x2000)),
            read(0, port=SPARE, verdict=DENY),
        ),
        after={"denied": {HOST: 4, OTHER_HOST: 2, SPARE: 1}},
    ),
    Scenario(
        policy="access_control",
        name="the edges of a range that is no power of two",
        maps={"grants": dict.fromkeys(prefixes(HOST, _ODD.start, _ODD.stop), _ALL)},
        steps=(
            read(_ODD.start - LINE, verdict=DENY),
            *(read(address) for address in range(_ODD.start, _ODD.stop, 0x1000)),
            write(_ODD.stop - LINE),
            write(_ODD.stop, verdict=DENY),
        ),
        after={"denied": {HOST: 2}},
    ),
    Scenario(
        policy="access_control",
        name="opcodes one by one",
        maps={"grants": {prefix_key(HOST, 0, 8): grant(ReqOpcode.MEM_RD, RwdOpcode.MEM_WR)}},
        steps=(
            read(0),
            read(0, opcode=ReqOpcode.MEM_RD_DATA, verdict=DENY),
            invalidate(0, verdict=DENY),
            read(0, opcode=ReqOpcode.MEM_CLN_EVCT, verdict=DENY),
            write(0),
            write(0, opcode=RwdOpcode.MEM_WR_PTL, verdict=DENY),
            write(0, opcode=RwdOpcode.BI_CONFLICT, verdict=DENY),
        ),
        after={"denied": {HOST: 5}},
    ),
    Scenario(
        policy="access_control",
        name="answers pass, and grants change",
        steps=(
            *(data(0), completion(0), *OTHERS),
            read(0, verdict=DENY),
            read(0, before={"grants": {prefix_key(HOST, 0, 8): grant(ReqOpcode.MEM_RD)}}),
            read(0, before={"grants": {prefix_key(HOST, 0, 8): grant()}}, verdict=DENY),
        ),
        after={"denied": {HOST: 2}},
    ),
)
