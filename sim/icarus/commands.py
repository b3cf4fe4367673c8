"""``fanweave icarus``: the small presets in a second simulator."""

import time
from pathlib import Path

import click

from fanweave.golden.entries import find_entry

__all__ = ["UNITS", "icarus"]

#: Unit -> "module:function" of what plays it, from a seed, in a folder.
UNITS = {
    "ventaglio": "fanweave.sim.icarus.units:play_ventaglio",
    "ebpf": "fanweave.sim.icarus.units:play_ebpf",
    "switch": "fanweave.sim.icarus.units:play_switch",
}


@click.command(epilog="Example: fanweave icarus ventaglio switch --seed 7")
@click.argument("units", nargs=-1, metavar="[UNIT]...")
@click.option("--seed", type=int, default=1, show_default=True, help="Of what is played.")
def icarus(units: tuple[str, ...], seed: int) -> None:
    """Play the small preset of each UNIT, or of all, in Verilator and in Icarus Verilog.

    Ventaglio runs the same test bench in both, and has to be bit-exact with golden in the same
    cycles. What Verilator saw at the ports of the other units is played again, and every output
    has to be equal after every edge of the clock. Needs the programs iverilog and vvp.
    """
    plays = {unit: find_entry("unit", unit, UNITS) for unit in units or UNITS}
    # Only now: the runner is slow to import.
    from fanweave.sim.runner.icarus import find_icarus
    from fanweave.sim.runner.toolchain import build_root

    find_icarus()
    for unit, play in plays.items():
        folder = Path(build_root()) / "icarus" / unit
        folder.mkdir(parents=True, exist_ok=True)
        start = time.monotonic()
        line = play(seed, folder)
        click.echo(f"{unit:<10} tiny, seed {seed}: {line} ({time.monotonic() - start:.0f} s)")
