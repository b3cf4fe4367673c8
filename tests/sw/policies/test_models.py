"""Policies against models of a few lines, over long random sequences of messages."""

import random

import pytest

from fanweave.golden.isa.cxl_event import (
    Channel,
    DevLoad,
    DrsOpcode,
    NdrOpcode,
    ReqOpcode,
    RwdOpcode,
    Verdict,
    VerdictAction,
)
from fanweave.sw.policies.library import SETTINGS
from fanweave.sw.policies.ranges import grant, prefix_key

EVENTS = 3000
READS = (ReqOpcode.MEM_RD, ReqOpcode.MEM_RD_DATA)
WRITES = (RwdOpcode.MEM_WR, RwdOpcode.MEM_WR_PTL)
COMPLETED = (ReqOpcode.MEM_INV, ReqOpcode.MEM_INV_NT, ReqOpcode.MEM_CLN_EVCT)
OPCODES = {
    Channel.M2S_REQ: tuple(ReqOpcode),
    Channel.M2S_RWD: tuple(RwdOpcode),
    Channel.M2S_BIRSP: (0, 1),
    Channel.S2M_NDR: (NdrOpcode.CMP, NdrOpcode.CMP, NdrOpcode.CMP_S),
    Channel.S2M_DRS: tuple(DrsOpcode),
    Channel.S2M_BISNP: (0, 1, 2),
}
PASS = Verdict(action=VerdictAction.PASS)
DENY = Verdict(action=VerdictAction.DENY)

seeded = pytest.mark.parametrize("seed", range(2))


def delay(tokens):
    return Verdict(action=VerdictAction.DELAY, tokens=tokens)


def messages(draw, lines=64):
    """Events of two hosts, 0 and 1, and three islands, 2 to 4; answers and requests as many."""
    for _ in range(EVENTS):
        channel = draw.choice(
            (*OPCODES, *(Channel.M2S_REQ, Channel.M2S_RWD, Channel.S2M_NDR, Channel.S2M_DRS) * 3)
        )
        host, island = draw.randrange(2), draw.randrange(2, 5)
        ports = (host, island) if channel <= Channel.M2S_BIRSP else (island, host)
        yield {
            "channel": channel,
            "opcode": draw.choice(OPCODES[channel]),
            "address": 64 * draw.randrange(lines),
            "port": ports[0],
            "island": ports[1],
            "dev_load": draw.choice(tuple(DevLoad)),
        }


@seeded
def test_prices(start, seed):
    draw = random.Random(seed)
    step, most, weights = 3, 40, {0: 0, 1: 5}
    policy = start("load_tokens", {SETTINGS: {0: {"step": step, "most": most}}, "weights": weights})
    prices = dict.fromkeys(range(2, 5), 0)
    for event in messages(draw):
        wanted = PASS
        if event["channel"] in (Channel.M2S_REQ, Channel.M2S_RWD):
            price = prices[event["island"]] * (weights[event["port"]] or 1)
            wanted = delay(price) if price else PASS
        elif event["channel"] in (Channel.S2M_NDR, Channel.S2M_DRS):
            price = prices[event["port"]]
            change = {0: -step, 1: 0, 2: step, 3: max(step, price)}[event["dev_load"]]
            prices[event["port"]] = min(max(price + change, 0), most)
        assert policy.on(**event) == wanted
    assert policy.values("prices") == {port: price for port, price in prices.items() if price}


@seeded
def test_grants(start, seed):
    draw = random.Random(seed)
    grants = {}
    for _ in range(40):
        # Of 64 lines of 64 bytes: up to the last 12 bits, down to a line.
        bits = draw.choice((8, *range(52, 59)))
        opcodes = draw.sample((*ReqOpcode, *RwdOpcode), draw.randrange(8))
        grants[draw.randrange(2), 64 * draw.randrange(64) >> 64 - bits, bits] = opcodes
    keys = {prefix_key(port, at << 64 - bits, bits): v for (port, at, bits), v in grants.items()}
    policy = start("access_control", {"grants": {key: grant(*v) for key, v in keys.items()}})
    denied = {}
    for event in messages(draw):
        wanted = PASS
        if event["channel"] in (Channel.M2S_REQ, Channel.M2S_RWD):
            port, address = event["port"], event["address"]
            found = [
                opcodes
                for bits in range(64, 7, -1)
                if (opcodes := grants.get((port, address >> 64 - bits, bits))) is not None
            ]
            # Opcodes of both channels have the same numbers, so `in` would not do.
            if not found or not any(opcode is event["opcode"] for opcode in found[0]):
                wanted = DENY
                denied[port] = denied.get(port, 0) + 1
        assert policy.on(**event) == wanted
    assert policy.values("denied") == denied


@seeded
def test_flows(start, seed):
    draw = random.Random(seed)
    window, tokens, copied, copy = 3, 9, 64 * 32, 4
    maps = {
        SETTINGS: {0: {"window": window, "tokens": tokens}},
        "copies": {prefix_key(0, 0, 64 - 11): copy},
    }
    policy = start("duplex_balance", maps)
    flows = {port: [0, 0] for port in range(256)}
    for event in messages(draw):
        wanted = PASS
        request = event["channel"], event["opcode"]
        flow = flows[event["island"]]
        if request[0] is Channel.M2S_REQ and request[1] in READS:
            excess = flow[0] - flow[1]
            other = flows[copy]
            if excess >= window:
                has_copy = event["port"] == 0 and event["address"] < copied
                if has_copy and other[0] - other[1] < excess:
                    flow, wanted = other, Verdict(action=VerdictAction.REDIRECT, island=copy)
                elif flow[1]:
                    wanted = delay(tokens)
            flow[0] += 1
        elif request[0] is Channel.M2S_RWD and request[1] in WRITES:
            if flow[0] and flow[1] - flow[0] >= window:
                wanted = delay(tokens)
            flow[1] += 1
        elif request[0] is Channel.M2S_REQ and request[1] in COMPLETED:
            flow[1] += 1
        elif request[0] is Channel.S2M_DRS:
            flows[event["port"]][0] = max(flows[event["port"]][0] - 1, 0)
        elif request == (Channel.S2M_NDR, NdrOpcode.CMP):
            flows[event["port"]][1] = max(flows[event["port"]][1] - 1, 0)
        assert policy.on(**event) == wanted
    expected = {port: {"reads": r, "writes": w} for port, (r, w) in flows.items() if r or w}
    assert policy.values("flows") == expected


@seeded
def test_streams(start, seed):
    """Two walkers through four regions of 16 lines, whose strides change now and then."""
    draw = random.Random(seed)
    settings = {"region_shift": 10, "confidence": 2, "distance": 2}
    policy = start("stride_prefetch", {SETTINGS: {0: settings}})
    histories, advice = {}, []
    lines, strides = [0, 0], [1, 1]
    for event in messages(draw):
        reads = event["channel"] is Channel.M2S_REQ and event["opcode"] in READS
        if reads:
            port = event["port"]
            if draw.random() < 0.1:
                strides[port] = draw.choice((-3, -1, 0, 1, 2))
            lines[port] = line = (lines[port] + strides[port]) % 64
            event["address"] = 64 * line
        assert policy.on(**event) == PASS
        if not reads:
            continue
        key = port, line // 16
        if key not in histories:
            histories[key] = [line, 0, 0]
            continue
        last, stride, times = histories[key]
        if line == last:
            continue
        times = times + 1 if line - last == stride else 1
        histories[key] = [line, line - last, times]
        ahead = line + 2 * (line - last)
        if times >= 2 and ahead // 16 == line // 16:
            advice.append({"address": 64 * ahead, "port": port, "island": event["island"]})
    assert len(advice) > 64
    assert policy.values("prefetches") == advice[-64:]
    assert policy.values("streams") == {
        port << 56 | region: {"line": line, "stride": stride, "confidence": times}
        for (port, region), (line, stride, times) in histories.items()
    }
