"""Text in waveforms of the policy engine: what is executed, and what the map unit does."""

from pathlib import Path

from fanweave.golden.isa.ebpf_engine import MapCommand
from fanweave.golden.isa.ebpf_helpers import HELPERS
from fanweave.hw.ebpf.program_payloads import SLOT_BITS
from fanweave.sim.waves.gtkw import Group, Trace, write_gtkw
from fanweave.sim.waves.texts import TextSignal, add_texts
from fanweave.sim.waves.vcd_reader import Header, read_header
from fanweave.sw.ebpf import disassemble
from fanweave.sw.ebpf.driver import EngineDriver
from fanweave.sw.ebpf.object.model import ObjectFile

__all__ = ["show_texts"]

#: Streams of the engine, and of each core.
_OUTSIDE = ("events", "contexts", "verdicts")
_INSIDE = ("calls", "replies", "accesses", "access_results")
_VALID = 1 << SLOT_BITS
_COMMAND_VALID = 1 << 4
_CALL = 0x85


def show_texts(dump: Path, driver: EngineDriver, loaded: ObjectFile) -> list[str]:
    """Add text to a dump, and write a save file for GTKWave beside it.

    Parameters
    ----------
    dump : Path
        The VCD.
    driver : EngineDriver
        Says where the programs lie.
    loaded : ObjectFile
        Installed as programs 0, 1, and so on.

    Returns
    -------
    list of str
        What should be shown and is not in the dump.
    """
    header = read_header(dump)
    signals = [
        *(
            TextSignal(name=f"program_{number}", path=path, texts=_program_texts(driver, loaded))
            for number, path in enumerate(_paths(header, ".core.executing"))
        ),
        *(
            TextSignal(name="map_operation", path=path, texts=_command_texts())
            for path in _paths(header, ".maps.working")
        ),
    ]
    missing = add_texts(dump, signals)
    groups = [
        Group(name="what happens", traces=tuple(Trace(path=f"text.{s.name}") for s in signals)),
        *(_stream_group(name, f"*.policy_engine.{name}__*_") for name in _OUTSIDE),
        *(_stream_group(name, f"*.core.{name}_") for name in _INSIDE),
    ]
    return missing + write_gtkw(dump.with_suffix(".gtkw"), dump=dump, groups=groups)


def _stream_group(name: str, prefix: str) -> Group:
    return Group(name=name, traces=(Trace(path=f"{prefix}_valid"), Trace(path=f"{prefix}_ready")))


def _paths(header: Header, ending: str) -> list[str]:
    return sorted({s.path for s in header.signals if s.path.endswith(ending)})


def _program_texts(driver: EngineDriver, loaded: ObjectFile) -> dict[int, str]:
    """Instructions by slot of the program memory."""
    texts = {}
    for number, each in enumerate(loaded.programs):
        base, _ = driver.programs.extent(number)
        for slot, instruction in enumerate(each.program.slots):
            if instruction is None:
                continue
            line = disassemble([instruction])[0].strip()
            if instruction.opcode == _CALL and not instruction.src and instruction.imm in HELPERS:
                line = f"call {HELPERS[instruction.imm].name}"
            texts[_VALID | base + slot] = f"{Path(each.name).name}+{slot}: {line}"
    return texts


def _command_texts() -> dict[int, str]:
    return {_COMMAND_VALID | command: command.name for command in MapCommand}
