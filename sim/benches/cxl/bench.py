"""Rate and latency of the switch, in Verilator."""

from collections.abc import Sequence

from fanweave.golden.cxl.config import PRESETS, SwitchConfig
from fanweave.golden.cxl.messages import message
from fanweave.golden.isa.cxl_event import Channel, ReqOpcode
from fanweave.golden.isa.cxl_messages import LINE_BYTES
from fanweave.golden.isa.cxl_switch import PAGE_BYTES
from fanweave.sim.benches.cxl.move_bench import idle_moves, moves_under_load
from fanweave.sim.benches.cxl.records import Gave, Planned, Took
from fanweave.sim.benches.cxl.soak import check
from fanweave.sim.benches.cxl.traffic import SETUP_CYCLES, flood, ranges
from fanweave.sim.benches.cxl.verilated import Devices, Traffic
from fanweave.sim.report.bench_rows import BenchRow

__all__ = ["idle_latency", "rate", "rows"]

_GOAL = 0.95
_RATE = "messages_per_cycle_and_port"
#: Reads of a host that pass by between two that move their pages.
_SKIP = 200
_MESSAGES, _QUICK = 20_000, 2_000
#: The first messages find empty queues; the last ones less and less company.
_RAMP = 100


def rate(config: SwitchConfig, channel: Channel, *, messages: int, seed: int) -> float:
    """Messages a cycle that each host's channel gets rid of, with balanced random destinations."""
    devices = Devices(delay=(1, 10))
    plan = flood(config, channel=channel, messages=messages, seed=seed)
    limit = SETUP_CYCLES + 20 * messages
    with Traffic(config) as simulation:
        records = list(simulation.play(plan, limit=limit, seed=seed, devices=devices))
    check(config, iter(records), devices)
    taken: list[list[int]] = [[] for _ in range(config.upstream)]
    for record in records:
        if isinstance(record.what, Took) and record.what.message.channel is channel:
            taken[record.what.port].append(record.cycle)
    end = min(cycles[-1] for cycles in taken)
    begin = SETUP_CYCLES + _RAMP
    sent = sum(begin <= cycle < end for cycles in taken for cycle in cycles)
    return sent / (config.upstream * (end - begin))


def idle_latency(config: SwitchConfig) -> tuple[int, int]:
    """Cycles of a read from the host's port to the device's, and of its answer back."""
    line = PAGE_BYTES // LINE_BYTES
    read = message(Channel.M2S_REQ, opcode=ReqOpcode.MEM_RD, address=line)
    plan = [
        *ranges(config, timeout=1000),
        Planned(cycle=SETUP_CYCLES, port=0, sent=read),
    ]
    devices = Devices(delay=(5, 5))
    with Traffic(config) as simulation:
        records = list(simulation.play(plan, limit=SETUP_CYCLES + 1000, devices=devices))
    cycles = [record.cycle for record in records if isinstance(record.what, Took | Gave)]
    asked, arrived, answered, came = cycles
    return arrived - asked, came - answered


def rows(quick: bool, seed: int) -> list[BenchRow]:
    """Rows of ``fanweave bench switch``; quick ones are of the preset ``tiny``, without a goal: it
    has as many devices as hosts, and short queues."""
    name = "tiny" if quick else "default"
    config = PRESETS[name]
    found = [
        BenchRow(
            case=f"{name}, {what} to all devices",
            metric=_RATE,
            value=rate(config, channel, messages=_QUICK if quick else _MESSAGES, seed=seed),
            unit="1",
            goal=None if quick else _GOAL,
            origin="rtl",
        )
        for what, channel in (("reads", Channel.M2S_REQ), ("writes", Channel.M2S_RWD))
    ]
    down, up = idle_latency(config)
    for case, cycles in (("request to the device", down), ("answer to the host", up)):
        found.append(
            BenchRow(
                case=f"{name}, idle, {case}",
                metric="cycles",
                value=cycles,
                unit="cycles",
                origin="rtl",
            )
        )
    return found + _move_rows(config, name, quick=quick, seed=seed)


def _move_rows(config: SwitchConfig, name: str, *, quick: bool, seed: int) -> list[BenchRow]:
    """How long pages take on their way, and what their host and the others lose."""
    idle = idle_moves(config, moves=4 if quick else 12, seed=seed)
    loaded = moves_under_load(
        config, messages=_QUICK if quick else _MESSAGES, skip=_SKIP, seed=seed
    )
    values: list[tuple[str, str, Sequence[float]]] = [
        (f"{name}, idle, a page moves", "cycles", idle.whole),
        (f"{name}, idle, its lines held", "cycles", idle.held),
        (f"{name}, reads to all devices, a page moves", "cycles", loaded.whole),
        (f"{name}, reads to all devices, its lines held", "cycles", loaded.held),
        (f"{name}, reads of a host whose pages move", _RATE, loaded.rates[:1]),
        (f"{name}, reads of others meanwhile", _RATE, loaded.rates[1:]),
    ]
    return [
        BenchRow(
            case=case,
            metric=metric,
            value=round(sum(numbers) / len(numbers), 4),
            unit="1" if metric == _RATE else "cycles",
            origin="rtl",
        )
        for case, metric, numbers in values
        if numbers
    ]
