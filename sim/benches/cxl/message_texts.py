"""Text in waveforms of the switch: the messages at its ports, and the pages that move."""

from pathlib import Path

from fanweave.golden.cxl.config import SwitchConfig
from fanweave.golden.cxl.messages import Message
from fanweave.golden.isa.cxl_event import Channel
from fanweave.golden.isa.cxl_messages import LINE_BYTES, OPCODES
from fanweave.golden.isa.cxl_switch import PAGE_BYTES, MoveStep
from fanweave.sim.waves.gtkw import Group, Trace, write_gtkw
from fanweave.sim.waves.texts import MadeTexts, StructTexts, TextSignal, add_texts
from fanweave.sim.waves.vcd_reader import read_header

__all__ = ["MessageTexts", "MoveTexts", "message_text", "show_messages"]


def message_text(message: Message) -> str:
    """A message in a few words: opcode, address, and what tells it from others."""
    fields = message.fields
    opcodes = OPCODES[message.channel]
    known = fields["opcode"] in list(opcodes)
    words = [opcodes(fields["opcode"]).name if known else f"opcode {fields['opcode']}"]
    if "address" in fields:
        words.append(f"{fields['address'] * LINE_BYTES:#x}")
    if "tag" in fields:
        words.append(f"tag {fields['tag']:#x}")
        words.append(f"ld {fields['ld_id']}")
    if "bi_tag" in fields:
        words.append(f"bi {fields['bi_id']}.{fields['bi_tag']:#x}")
    if "low_address" in fields:
        words.append(f"line {fields['low_address']}")
    if fields.get("poison"):
        words.append("poison")
    return " ".join(words)


class MessageTexts(MadeTexts):
    """What a dump shows for the bits of a message; made when it is asked for.

    Parameters
    ----------
    channel : Channel
        Of the messages.
    """

    def __init__(self, channel: Channel) -> None:
        self._channel = channel

    def __getitem__(self, bits: int) -> str:
        return message_text(Message.unpack(self._channel, bits))


class MoveTexts(StructTexts):
    """What a dump shows for a step of a page's move; between steps that is nothing."""

    def __init__(self) -> None:
        from fanweave.hw.cxl.payloads import Moving

        super().__init__(Moving)

    def __getitem__(self, bits: int) -> str:
        values = {name: self._field(bits, name) for name in self._fields}
        step = MoveStep(values["step"])
        if step is MoveStep.NONE:
            return ""
        words = [step.name, f"host {values['host']}", f"page {values['page'] * PAGE_BYTES:#x}"]
        if step in (MoveStep.HOLD, MoveStep.FLIP):
            words.append(f"group {values['group']}")
        return " ".join([*words, f"to port {values['port']} ld {values['ld_id']}"])


def show_messages(dump: Path, config: SwitchConfig) -> list[str]:
    """Add the messages of all ports, and moves, to a dump as text; write a save file beside it.

    A text stands from when its message is offered; ``valid`` says whether one is.

    Parameters
    ----------
    dump : Path
        The VCD.
    config : SwitchConfig
        The switch.

    Returns
    -------
    list of str
        What should be shown and is not in the dump.
    """
    from fanweave.hw.cxl.switch import channel_name

    header = read_header(dump)
    paths = {signal.path.rpartition(".")[2]: signal.path for signal in header.signals}
    signals, groups, missing = [], [], []
    for port in range(config.ports):
        host = port < config.upstream
        side = f"host{port}" if host else f"device{port - config.upstream}"
        traces = []
        for channel in Channel:
            name = f"{side}_{channel_name(channel)}"
            path = paths.get(f"{name}__payload")
            if path is None:
                missing.append(name)
                continue
            signals.append(TextSignal(name=name, path=path, texts=MessageTexts(channel)))
            traces.append(Trace(path=f"text.{name}"))
            traces += [
                Trace(path=path.replace("__payload", f"__{end}")) for end in ("valid", "ready")
            ]
        groups.append(Group(name=side, traces=tuple(traces)))
    if path := paths.get("moving"):
        signals.append(TextSignal(name="moving", path=path, texts=MoveTexts()))
        groups.append(Group(name="pages", traces=(Trace(path="text.moving"),)))
    else:
        missing.append("moving")
    missing += add_texts(dump, signals)
    return missing + write_gtkw(dump.with_suffix(".gtkw"), dump=dump, groups=groups)
