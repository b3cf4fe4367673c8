"""``fanweave synth``: area in gate equivalents, longest path and frequency of units."""

import sys
from typing import TextIO

import click

from fanweave.golden.errors import FaultError
from fanweave.hw.generate.units import UNITS, find_unit
from fanweave.sim.report.bench_rows import write_bench
from fanweave.sim.report.files import STANDARD, check_output
from fanweave.sim.report.table import Column, format_number, print_table
from fanweave.sim.synthesis.measure import (
    GOALS_MHZ,
    TARGETS,
    Measurement,
    measure,
    note_history,
    rows_of,
)

__all__ = ["synth"]

_EXAMPLE = """\b
Examples:
  fanweave synth
  fanweave synth ventaglio --config tiny --json synth.json
  fanweave synth ebpf --config tiny --target ecp5
"""


@click.command(epilog=_EXAMPLE)
@click.argument("unit_name", metavar="[UNIT]", required=False)
@click.option("--config", "preset", metavar="PRESET", help="One configuration; all if not given.")
@click.option(
    "--target",
    type=click.Choice(TARGETS),
    default="asic",
    show_default=True,
    help="Standard cells, or place and route on the largest ECP5.",
)
@click.option(
    "--limit",
    type=click.FloatRange(min=0.01),
    default=3600.0,
    show_default=True,
    metavar="SECONDS",
    help="Stop a tool that takes longer.",
)
@click.option(
    "--json", "json_file", metavar="FILE", help="Write the rows here; - is standard output."
)
def synth(
    unit_name: str | None, preset: str | None, target: str, limit: float, json_file: str | None
) -> None:
    """Synthesise UNIT, or all units, and show area, longest path and frequency.

    What was synthesised before is not again; every result goes to build/synth/history.jsonl.
    """
    units = list(UNITS.values()) if unit_name is None else [find_unit(unit_name)]
    if preset is not None:
        for unit in units:
            unit.preset(preset)
    check_output(json_file)
    stream = sys.stderr if json_file == STANDARD else sys.stdout
    measured: list[Measurement] = []
    faults: list[str] = []
    for unit in units:
        for name in unit.presets if preset is None else (preset,):
            try:
                measured.append(measure(unit, name, target, limit=limit))
            except FaultError as fault:
                faults.append(f"{unit.name} {name}: {fault}")
                continue
            note_history(measured[-1])
    if measured:
        (_print_asic if target == "asic" else _print_ecp5)(measured, stream)
    if json_file is not None:
        rows = [row for each in measured for row in rows_of(each)]
        write_bench(json_file, "synth", seed=0, rows=rows)
    if faults:
        raise FaultError("\n".join(faults))


def _print_asic(measured: list[Measurement], stream: TextIO) -> None:
    headings = ("GE", "logic", "flip-flops", "memory", "FFs", "memory FFs", "macro bits", "ps")
    keys = (
        *("area_ge", "logic_ge", "flip_flop_ge", "memory_ge"),
        *("flip_flops", "memory_flip_flops", "macro_bits"),
    )
    print_table(
        [Column(heading="unit", numeric=False), *(Column(heading=each) for each in headings)],
        [
            [
                f"{each.unit} {each.preset}",
                *(format_number(round(each.data["total"][key])) for key in keys),
                format_number(each.data["path"]["delay_ps"]),
            ]
            for each in measured
        ],
        title="area in gate equivalents without RAM macros, longest path in ps (delays assumed)",
        stream=stream,
    )
    for each in measured:
        path = each.data["path"]
        click.echo(
            f"{each.unit} {each.preset}: longest path, {path['delay_ps']:,} ps, "
            f"{path['gates']} gates",
            file=stream,
        )
        for step in path["steps"]:
            name = ".".join(part for part in (step["block"], step["signal"]) if part)
            click.echo(f"  {step['at_ps']:7,}  {name}  {step['source']}".rstrip(), file=stream)


def _print_ecp5(measured: list[Measurement], stream: TextIO) -> None:
    rows = []
    for each in measured:
        used, goal = each.data["used"], GOALS_MHZ.get((each.unit, each.preset))
        rows.append(
            [
                f"{each.unit} {each.preset}",
                format_number(each.data["fmax_mhz"]),
                "" if goal is None else f">= {format_number(goal)}",
                *(format_number(used[kind]) for kind in ("TRELLIS_COMB", "TRELLIS_FF", "DP16KD")),
                format_number(used["MULT18X18D"]),
            ]
        )
    headings = ("MHz", "goal", "LUTs", "FFs", "18k RAMs", "mult.")
    print_table(
        [Column(heading="unit", numeric=False), *(Column(heading=each) for each in headings)],
        rows,
        title="placed and routed on LFE5U-85F, speed grade 8, between scan chains",
        stream=stream,
    )
    for each in measured:
        path = each.data["path"]
        click.echo(
            f"{each.unit} {each.preset}: longest path, {path['delay_ns']:.2f} ns, of it wires "
            f"{path['routing_ns']:.2f} ns, {path['cells']} cells",
            file=stream,
        )
        for step in path["steps"]:
            click.echo(f"  {step['at_ns']:7.2f}  {step['signal']}", file=stream)
