"""C++ of the program around a Verilated switch: its ports, and tables of messages as constants."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from fanweave.golden.cxl.config import SwitchConfig
from fanweave.golden.cxl.island_config import IslandConfig
from fanweave.golden.isa.cxl_event import (
    BirspOpcode,
    BisnpOpcode,
    Channel,
    Direction,
    DrsOpcode,
    NdrOpcode,
    RwdOpcode,
    VerdictAction,
)
from fanweave.golden.isa.cxl_messages import ANSWERS, BI_LINES, LINE_BYTES, answers_of
from fanweave.sim.benches.cxl.records import MESSAGE_WORDS
from fanweave.sim.benches.host_process import HOST_PORT
from fanweave.sim.runner.loop import member_of

__all__ = ["program_text"]

#: Cycles after which no program of a policy still runs.
_QUIET = 4000


def program_text(config: SwitchConfig | IslandConfig) -> str:
    """The program, for a switch or an island."""
    island = isinstance(config, IslandConfig)
    switch = config.switch if isinstance(config, IslandConfig) else config
    constants = [*_constants(switch), *_moving()]
    if isinstance(config, IslandConfig):
        constants += _observed(config)
    else:
        constants += _judged()
    text = (Path(__file__).resolve().parent / "traffic.cpp").read_text()
    for name, content in (
        ("CONSTANTS", "\n".join(constants)),
        ("LINKS", "\n".join(_links(switch))),
        ("HOST_PORT", HOST_PORT),
        ("ENGINE", str(int(island))),
        ("QUIET", str(_QUIET if island else 0)),
    ):
        text = text.replace(f"@{name}@", content)
    return text


def _links(config: SwitchConfig) -> Iterator[str]:
    from fanweave.hw.cxl.switch import channel_name

    for port in range(config.ports):
        host = port < config.upstream
        side = f"host{port}" if host else f"device{port - config.upstream}"
        for channel in Channel:
            name = f"{side}_{channel_name(channel)}"
            inward = (channel.direction is Direction.M2S) == host
            members = [f"top->{member_of(f'{name}__{end}')}" for end in ("valid", "ready")]
            members += [f"top->{name}_credit", f"words_of(top->{member_of(f'{name}__payload')})"]
            members += [str(port), str(int(channel)), str(inward).lower()]
            yield f"        links_.push_back({{{', '.join(members)}}});"
            if inward:
                yield f"        links_.back().credits = {config.credits};"


def _observed(config: IslandConfig) -> Iterator[str]:
    """Places of what an island shows of a cycle."""
    from fanweave.hw.cxl.island import observed_layout

    layout = observed_layout(config)
    for name, field in layout:
        constant = "k" + "".join(part.capitalize() for part in name.split("_"))
        if name in ("event", "verdict"):
            constant += "Payload"
        if name == "dead":
            constant += "Ports"  # a kind of record has the shorter name
        yield f"constexpr Field {constant} = {{{field.offset}, {field.width}}};"


def _moving() -> Iterator[str]:
    """Places in a step of a move."""
    from amaranth.lib import data

    from fanweave.hw.cxl.payloads import Moving

    for name, field in data.Layout.cast(Moving):
        constant = "kMoving" + "".join(part.capitalize() for part in name.split("_"))
        yield f"constexpr Field {constant} = {{{field.offset}, {field.width}}};"


def _judged() -> Iterator[str]:
    """Places in an event and a verdict, where there is no engine."""
    from amaranth.lib import data

    from fanweave.hw.cxl.payloads import PolicyEvent, PolicyVerdict

    event, verdict = data.Layout.cast(PolicyEvent), data.Layout.cast(PolicyVerdict)
    yield f"constexpr Field kEventPayload = {{0, {event.size}}};"
    for name, field in (("kEventTag", event["tag"]), ("kVerdictTag", verdict["tag"])):
        yield f"constexpr Field {name} = {{{field.offset}, {field.width}}};"
    yield f"constexpr int kVerdictWords = {-(-verdict.size // 32)};"
    yield f"constexpr uint32_t kPromote = {int(VerdictAction.PROMOTE)};"


def _constants(config: SwitchConfig) -> Iterator[str]:
    """Channels, places of fields and what answers what, as C++."""
    from amaranth.lib import data

    from fanweave.hw.cxl.payloads import RegisterWrite, message_layout

    for channel in Channel:
        yield f"constexpr int k{channel.name.split('_')[1].capitalize()} = {int(channel)};"
    numbers = {
        "kChannels": len(Channel),
        "kHosts": config.upstream,
        "kPorts": config.ports,
        # A tag comes again as late as possible, but a table of all would be slow to fill.
        "kTags": 4096,
        "kLineWords": LINE_BYTES // 4,
        "kCommandData": data.Layout.cast(RegisterWrite)["data"].offset,
        "kBlocks": _bits(opcode for opcode in BisnpOpcode if opcode.name.endswith("BLK")),
        "kBlockAnswers": _bits(opcode for opcode in BirspOpcode if opcode.name.endswith("BLK")),
        "kWritesAll": int(RwdOpcode.MEM_WR),
        "kWritesPart": int(RwdOpcode.MEM_WR_PTL),
        "kConflict": int(RwdOpcode.BI_CONFLICT),
        "kConflictAck": int(NdrOpcode.BI_CONFLICT_ACK),
        "kMemory": int(DrsOpcode.MEM_DATA),
        "kNoMemory": int(DrsOpcode.MEM_DATA_NXM),
    }
    for name, number in numbers.items():
        yield f"constexpr uint32_t {name} = {number};"
    completions = [opcode for opcode in NdrOpcode if opcode is not NdrOpcode.BI_CONFLICT_ACK]
    blocks = [opcode for opcode in BirspOpcode if opcode.name.endswith("BLK")]
    lines = [opcode for opcode in BirspOpcode if opcode not in blocks]
    for name, opcodes in (
        ("kCompletions", completions),
        ("kGivesLine", lines),
        ("kGivesBlock", blocks),
    ):
        yield f"constexpr uint32_t {name}[] = {{{', '.join(str(int(n)) for n in opcodes)}}};"
    yield "struct Field { int low, width; };"
    layouts = {channel: message_layout(channel) for channel in Channel}

    def place(channel: Channel, name: str) -> str:
        if name not in dict(layouts[channel]):
            return "{0, 0}"
        field = layouts[channel][name]
        return f"{{{field.offset}, {field.width}}}"

    for constant, name in (
        ("kOpcode", "opcode"),
        ("kSnoop", "snoop"),
        ("kTag", "tag"),
        ("kLdId", "ld_id"),
        ("kDevLoad", "dev_load"),
        ("kBiId", "bi_id"),
        ("kBiTag", "bi_tag"),
        ("kAddress", "address"),
        ("kMetaField", "meta_field"),
        ("kMetaValue", "meta_value"),
    ):
        places = ", ".join(place(channel, name) for channel in Channel)
        yield f"constexpr Field {constant}[] = {{{places}}};"
    for constant, channel, name in (
        ("kData", Channel.S2M_DRS, "data"),
        ("kPoison", Channel.S2M_DRS, "poison"),
        ("kWritten", Channel.M2S_RWD, "data"),
        ("kMask", Channel.M2S_RWD, "mask"),
        ("kWritePoison", Channel.M2S_RWD, "poison"),
        ("kLowAddress", Channel.M2S_BIRSP, "low_address"),
        ("kSnoopAddress", Channel.S2M_BISNP, "address"),
    ):
        yield f"constexpr Field {constant} = {place(channel, name)};"
    words = ", ".join(str(MESSAGE_WORDS[channel]) for channel in Channel)
    yield f"constexpr int kWords[] = {{{words}}};"
    yield f"constexpr uint32_t kLines[] = {{{', '.join(map(str, BI_LINES))}}};"
    rows = [
        [[_bits(answers_of(channel, opcode, snoop)) for snoop in range(8)] for opcode in range(16)]
        for channel in ANSWERS
    ]
    text = str(rows).replace("[", "{").replace("]", "}")
    yield f"constexpr uint32_t kAnswers[][16][8] = {text};"


def _bits(numbers: Iterable[int]) -> int:
    return sum(1 << int(number) for number in numbers)
