"""C++ of the program around Verilated islands: their ports, and places of fields."""

from collections.abc import Iterator
from pathlib import Path

from fanweave.golden.cxl.island_config import IslandConfig
from fanweave.golden.cxl.timed.state import RING
from fanweave.golden.isa.cxl_event import (
    Channel,
    Direction,
    DrsOpcode,
    NdrOpcode,
    ReqOpcode,
    RwdOpcode,
)
from fanweave.sim.benches.cxl.records import MESSAGE_WORDS
from fanweave.sim.benches.host_process import HOST_PORT
from fanweave.sim.runner.loop import member_of

__all__ = ["system_program"]

_FIELDS = (
    ("kTag", "tag"),
    ("kLdId", "ld_id"),
    ("kDevLoad", "dev_load"),
    ("kAddress", "address"),
    ("kOpcode", "opcode"),
)
#: What hosts and memories send.
_OPCODES = {
    Channel.M2S_REQ: int(ReqOpcode.MEM_RD),
    Channel.M2S_RWD: int(RwdOpcode.MEM_WR),
    Channel.S2M_NDR: int(NdrOpcode.CMP),
    Channel.S2M_DRS: int(DrsOpcode.MEM_DATA),
}


def system_program(config: IslandConfig, *, islands: int) -> str:
    """The program, for so many islands of a configuration."""
    text = (Path(__file__).resolve().parent / "system.cpp").read_text()
    for name, content in (
        ("CONSTANTS", "\n".join(_constants(config, islands))),
        ("WIRES", "\n".join(_wires(config))),
        ("HOST_PORT", HOST_PORT),
    ):
        text = text.replace(f"@{name}@", content)
    return text


def _constants(config: IslandConfig, islands: int) -> Iterator[str]:
    from amaranth.lib import data

    from fanweave.hw.cxl.island import observed_layout
    from fanweave.hw.cxl.payloads import RegisterWrite, message_layout

    for channel in Channel:
        yield f"constexpr int k{channel.name.split('_')[1].capitalize()} = {int(channel)};"
    for name, number in (
        ("kChannels", len(Channel)),
        ("kPorts", config.switch.ports),
        ("kHosts", config.switch.upstream),
        ("kIslands", islands),
        ("kCredits", RING),
        ("kCommandData", data.Layout.cast(RegisterWrite)["data"].offset),
    ):
        yield f"constexpr int {name} = {number};"
    inward = [
        [(channel.direction is Direction.M2S) == host for channel in Channel]
        for host in (False, True)
    ]
    yield f"constexpr bool kInward[2][kChannels] = {_braces(inward)};"
    yield f"constexpr int kWords[] = {_braces([MESSAGE_WORDS[channel] for channel in Channel])};"
    yield f"constexpr uint32_t kOpcodes[] = {_braces([_OPCODES.get(c, 0) for c in Channel])};"
    for constant, name in _FIELDS:
        rows = []
        for channel in Channel:
            layout = message_layout(channel)
            has = name in dict(layout)
            rows.append([layout[name].offset, layout[name].width] if has else [0, 0])
        yield f"constexpr Field {constant}[] = {_braces(rows)};"
    seen = observed_layout(config)
    verdict = seen["verdict"]
    inner = data.Layout.cast(verdict.shape)
    for constant, low, width in (
        ("kVerdictValid", seen["verdict_valid"].offset, 1),
        ("kR0", verdict.offset + inner["r0"].offset, 64),
        ("kFailed", verdict.offset + inner["failed"].offset, 1),
    ):
        yield f"constexpr Field {constant} = {{{low}, {width}}};"


def _wires(config: IslandConfig) -> Iterator[str]:
    from fanweave.hw.cxl.switch import channel_name

    switch = config.switch
    for port in range(switch.ports):
        host = port < switch.upstream
        side = f"host{port}" if host else f"device{port - switch.upstream}"
        for channel in Channel:
            name = f"{side}_{channel_name(channel)}"
            wire = f"        island.wires[{port}][{int(channel)}]"
            for end in ("valid", "ready"):
                yield f"{wire}.{end} = &top->{member_of(f'{name}__{end}')};"
            yield f"{wire}.credit = &top->{name}_credit;"
            yield f"{wire}.payload = words_of(top->{member_of(f'{name}__payload')});"


def _braces(rows: object) -> str:
    return str(rows).replace("[", "{").replace("]", "}").lower()
