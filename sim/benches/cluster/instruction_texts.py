"""Text in waveforms of the cluster: the instructions of cores, and of the vector units' slots."""

import re
from pathlib import Path

from fanweave.golden.riscv.disassembler import disassemble
from fanweave.hw.cluster.config import ClusterConfig
from fanweave.sim.waves.gtkw import Group, Trace, write_gtkw
from fanweave.sim.waves.texts import StructTexts, TextSignal, add_texts
from fanweave.sim.waves.vcd_reader import Header, read_header

__all__ = ["ExecutedTexts", "RetiredTexts", "SlotTexts", "show_instructions"]


class RetiredTexts(StructTexts):
    """What a core completes in a cycle, or what traps."""

    def __init__(self) -> None:
        from fanweave.hw.core.payloads import Trace as CoreTrace

        super().__init__(CoreTrace)

    def __getitem__(self, bits: int) -> str:
        text = disassemble(self._field(bits, "word"), self._field(bits, "pc"))
        if self._field(bits, "trapped"):
            return f"trap: {text}"
        return text if self._field(bits, "retired") else ""


class ExecutedTexts(StructTexts):
    """What stands in a core's execute stage."""

    def __init__(self) -> None:
        from amaranth.lib import data

        from fanweave.hw.core.issue import Issued
        from fanweave.hw.core.payloads import Fetched

        super().__init__(Fetched)
        place = data.Layout.cast(Issued)["fetched"]
        self._offset, self._width = place.offset, place.width

    def __getitem__(self, bits: int) -> str:
        fetched = bits >> self._offset & (1 << self._width) - 1
        return disassemble(self._field(fetched, "word"), self._field(fetched, "pc"))


class SlotTexts(StructTexts):
    """What is in a slot of a vector unit.

    Parameters
    ----------
    config : ClusterConfig
        Of the cluster.
    """

    def __init__(self, config: ClusterConfig) -> None:
        from amaranth.lib import data

        from fanweave.hw.vector.instruction import vector_instruction
        from fanweave.hw.vector.plans import vector_plan

        super().__init__(vector_instruction(config.vector))
        self._offset = data.Layout.cast(vector_plan(config.vector))["instruction"].offset

    def __getitem__(self, bits: int) -> str:
        return disassemble(self._field(bits >> self._offset, "word"))


def _path(header: Header, pattern: str) -> str | None:
    """The first signal whose path ends like this; ``vector`` may have a number behind it."""
    wanted = re.compile(rf"(?:.*\.)?{pattern}")
    return next((each.path for each in header.signals if wanted.fullmatch(each.path)), None)


def show_instructions(dump: Path, config: ClusterConfig) -> list[str]:
    """Add the instructions of a cluster to a dump as text; write a save file beside it.

    ``core_N`` is what completes in a cycle, ``execute_N`` what stands in the execute stage, and
    ``slot_N_S`` what is in slot S of the vector unit, from its dispatch until it is over.

    Parameters
    ----------
    dump : Path
        The VCD.
    config : ClusterConfig
        The cluster.

    Returns
    -------
    list of str
        What should be shown and is not in the dump.
    """
    header = read_header(dump)
    signals: list[TextSignal] = []
    groups, missing = [], []
    slots = SlotTexts(config)

    def follow(
        name: str, path: str, texts: StructTexts, gate: tuple[str, int] | None = None
    ) -> Trace:
        found = _path(header, path)
        opened = gate and (_path(header, gate[0]), gate[1])
        if found is None or (opened is not None and opened[0] is None):
            missing.append(name)
        else:
            kept = opened and (str(opened[0]), opened[1])
            signals.append(TextSignal(name=name, path=found, texts=texts, gate=kept))
        return Trace(path=f"text.{name}")

    for hart in range(config.cores):
        execute = rf"complex_{hart}\.core\.execute\."
        sequencer = rf"complex_{hart}\.vector[^.]*\.sequencer\."
        traces = [
            follow(f"core_{hart}", rf"observed__{hart}", RetiredTexts()),
            follow(
                f"execute_{hart}",
                rf"{execute}held",
                ExecutedTexts(),
                (rf"{execute}valid", 0),
            ),
        ]
        traces += [
            follow(
                f"slot_{hart}_{slot}",
                rf"{sequencer}storage\[{slot}\]",
                slots,
                (rf"{sequencer}table\.live", slot),
            )
            for slot in range(config.vector.slots)
        ]
        groups.append(Group(name=f"hart {hart}", traces=tuple(traces)))
    missing += add_texts(dump, signals)
    return missing + write_gtkw(dump.with_suffix(".gtkw"), dump=dump, groups=groups)
