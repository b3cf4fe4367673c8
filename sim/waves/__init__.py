"""Waveforms: VCD, GTKWave save files, pictures."""

from fanweave.sim.waves.expected import Observation, write_expected
from fanweave.sim.waves.gtkw import Group, Trace, stream_group, write_gtkw
from fanweave.sim.waves.svg import Timebase, draw_svg
from fanweave.sim.waves.texts import TextSignal, add_texts
from fanweave.sim.waves.vcd_reader import Header, Signal, Waveform, read_header, read_waveform

__all__ = [
    "Group",
    "Header",
    "Observation",
    "Signal",
    "TextSignal",
    "Timebase",
    "Trace",
    "Waveform",
    "add_texts",
    "draw_svg",
    "read_header",
    "read_waveform",
    "stream_group",
    "write_expected",
    "write_gtkw",
]
