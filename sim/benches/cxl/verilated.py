"""The switch in Verilator, among hosts and devices that play a plan."""

import struct
import subprocess
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fanweave.golden.cxl.config import SwitchConfig
from fanweave.golden.cxl.messages import Message
from fanweave.golden.errors import FaultError
from fanweave.golden.isa.cxl_event import BirspOpcode, BisnpOpcode, Channel, Direction
from fanweave.golden.isa.cxl_messages import ANSWERS, BI_LINES, LINE_BYTES, MESSAGES, answers_of
from fanweave.sim.runner.converted import converted_design
from fanweave.sim.runner.design import Design
from fanweave.sim.runner.loop import build_loop, member_of

__all__ = ["SOURCES", "Devices", "Planned", "Record", "play_plan", "switch_design"]

_NAME = "cxl_switch"
#: Sources that decide what the conversion gives: those that the switch imports, as a test checks.
SOURCES = (
    "golden/cxl/config.py",
    "golden/errors.py",
    "golden/isa/cxl*.py",
    "golden/isa/registers.py",
    "hw/cxl/*.py",
    "hw/generate/*.py",
    "hw/reduction.py",
    "hw/stream/*.py",
)
_HEADER = struct.Struct("<IBBBx")
_WRITE = struct.Struct("<II")
_TAKES, _WRITES, _GIVES = range(3)
_WORDS = {
    channel: -(-sum(field.bits for field in MESSAGES[channel].all_fields) // 32)
    for channel in Channel
}


def switch_design(config: SwitchConfig) -> Design:
    """The switch alone."""

    def build() -> Any:
        # Only now: describing hardware is slow to import.
        from fanweave.hw.cxl.switch import Switch

        return Switch(config=config)

    return converted_design(build, name=_NAME, key=repr(config), sources=SOURCES)


@dataclass(frozen=True, kw_only=True)
class Planned:
    """What is sent, at the earliest in a cycle.

    Attributes
    ----------
    cycle : int
        Of the clock, after reset.
    port : int
        Hosts first; without meaning for writes.
    sent : Message or tuple of int
        A message, or the word address and the data of a write of a register.
    """

    cycle: int
    port: int
    sent: Message | tuple[int, int]


@dataclass(frozen=True, kw_only=True)
class Devices:
    """How the surroundings behave.

    Attributes
    ----------
    stall : float
        Chance that a sender or a receiver waits for a cycle.
    delay : tuple of int
        Least and most cycles until a device answers.
    silent, faulty : frozenset of int
        Ports whose devices never answer, or answer twice at times.
    """

    stall: float = 0.0
    delay: tuple[int, int] = (1, 10)
    silent: frozenset[int] = frozenset()
    faulty: frozenset[int] = frozenset()


@dataclass(frozen=True, kw_only=True)
class Record:
    """What happened in a cycle: a write of a register, or a message that was taken or given.

    Attributes
    ----------
    cycle, port : int
        When and where.
    gives : bool
        Whether it left the switch.
    sent : Message or tuple of int
        As in `Planned`; a request has its tag.
    """

    cycle: int
    port: int
    gives: bool
    sent: Message | tuple[int, int]


def play_plan(
    config: SwitchConfig,
    plan: Iterable[Planned],
    *,
    limit: int,
    seed: int = 0,
    devices: Devices | None = None,
) -> Iterator[Record]:
    """Play a plan, then say what happened, in order.

    Parameters
    ----------
    config : SwitchConfig
        The switch.
    plan : iterable of Planned
        By port and channel in the order in which they leave; writes in theirs.
    limit : int
        Cycles at most.
    seed : int
        Of pauses, delays and data of answers.
    devices : Devices or None
        Of the surroundings.

    Raises
    ------
    InputError
        If the switch does not build.
    FaultError
        If not everything is answered within the limit, or the switch makes a sender wait that
        has credits.
    """
    around = devices or Devices()
    executable = build_loop(
        switch_design(config), _main_text(config), label="building the CXL switch"
    )
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with open(folder / "plan", "wb") as stream:
            stream.writelines(_packed(entry) for entry in plan)
        command = [executable, folder / "plan", folder / "log", limit, seed]
        command += [min(255, round(256 * around.stall)), *around.delay]
        command += [sum(1 << port for port in ports) for ports in (around.silent, around.faulty)]
        outcome = subprocess.run(
            [str(part) for part in command], capture_output=True, text=True, check=False
        )
        if outcome.returncode != 0:
            raise FaultError(f"the simulation of the switch ended with {outcome.returncode}")
        yield from _records(folder / "log")
    ending, cycles = outcome.stdout.split()
    if ending != "done":
        raise FaultError(f"the simulation of the switch ended with {ending!r} in cycle {cycles}")


def _packed(entry: Planned) -> bytes:
    if isinstance(entry.sent, tuple):
        return _HEADER.pack(entry.cycle, _WRITES, 0, 0) + _WRITE.pack(*entry.sent)
    channel = entry.sent.channel
    size = 4 * _WORDS[channel]
    header = _HEADER.pack(entry.cycle, _TAKES, entry.port, channel)
    return header + entry.sent.pack().to_bytes(size, "little")


def _records(log: Path) -> Iterator[Record]:
    with open(log, "rb") as stream:
        while header := stream.read(_HEADER.size):
            cycle, kind, port, number = _HEADER.unpack(header)
            sent: Message | tuple[int, int]
            if kind == _WRITES:
                address, word = _WRITE.unpack(stream.read(_WRITE.size))
                sent = (address, word)
            else:
                channel = Channel(number)
                bits = int.from_bytes(stream.read(4 * _WORDS[channel]), "little")
                sent = Message.unpack(channel, bits)
            yield Record(cycle=cycle, port=port, gives=kind == _GIVES, sent=sent)


def _main_text(config: SwitchConfig) -> str:
    template = (Path(__file__).resolve().parent / "traffic.cpp").read_text()
    return template.replace("@CONSTANTS@", "\n".join(_constants(config))).replace(
        "@LINKS@", "\n".join(_links(config))
    )


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


def _constants(config: SwitchConfig) -> Iterator[str]:
    """Channels, places of fields and what answers what, as C++."""
    from amaranth.lib import data

    from fanweave.hw.cxl.payloads import RegisterWrite, message_layout

    for channel in Channel:
        yield f"constexpr int k{channel.name.split('_')[1].capitalize()} = {int(channel)};"
    numbers = {
        "kChannels": len(Channel),
        "kHosts": config.upstream,
        # A tag comes again as late as possible, but a table of all would be slow to fill.
        "kTags": 4096,
        "kLineWords": LINE_BYTES // 4,
        "kCommandData": data.Layout.cast(RegisterWrite)["data"].offset,
        "kBlocks": _bits(opcode for opcode in BisnpOpcode if opcode.name.endswith("BLK")),
        "kBlockAnswers": _bits(opcode for opcode in BirspOpcode if opcode.name.endswith("BLK")),
        "kGivesLine": int(BirspOpcode.I),
        "kGivesBlock": int(BirspOpcode.I_BLK),
    }
    for name, number in numbers.items():
        yield f"constexpr uint32_t {name} = {number};"
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
    ):
        places = ", ".join(place(channel, name) for channel in Channel)
        yield f"constexpr Field {constant}[] = {{{places}}};"
    for constant, channel, name in (
        ("kData", Channel.S2M_DRS, "data"),
        ("kPoison", Channel.S2M_DRS, "poison"),
        ("kLowAddress", Channel.M2S_BIRSP, "low_address"),
        ("kSnoopAddress", Channel.S2M_BISNP, "address"),
    ):
        yield f"constexpr Field {constant} = {place(channel, name)};"
    yield f"constexpr int kWords[] = {{{', '.join(str(_WORDS[channel]) for channel in Channel)}}};"
    yield f"constexpr uint32_t kLines[] = {{{', '.join(map(str, BI_LINES))}}};"
    rows = [
        [[_bits(answers_of(channel, opcode, snoop)) for snoop in range(8)] for opcode in range(16)]
        for channel in ANSWERS
    ]
    text = str(rows).replace("[", "{").replace("]", "}")
    yield f"constexpr uint32_t kAnswers[][16][8] = {text};"


def _bits(numbers: Iterable[int]) -> int:
    return sum(1 << int(number) for number in numbers)
