"""Random orders of Ventaglio's instructions on the Verilated core complex, against golden's."""

import random
from collections import Counter

from fanweave.golden.errors import InputError
from fanweave.golden.presets import find_preset
from fanweave.hw.vector.config import PRESETS
from fanweave.sim.benches.core.soak import run_verilated
from fanweave.sim.benches.vector.complex_machine import complex_machine
from fanweave.sim.benches.vector.ventaglio_programs import WATCH, ventaglio_program

__all__ = ["play"]

_PIECES, _PROGRAMS = 1500, 4
_PRODUCTS = ("vfxmacc.vrf", "vfxmul.vrf", "vfxmacc.rows")


def play(seed: int, config: str | None = None) -> str:
    """Play a round of the soak.

    Parameters
    ----------
    seed : int
        Decides everything.
    config : str, optional
        Preset of the vector unit, one with Ventaglio.

    Returns
    -------
    str
        What was compared.

    Raises
    ------
    FaultError
        If something differs, or a program does not end.
    InputError
        If there is no such preset, or it has no Ventaglio unit.
    """
    name = config or "ventaglio"
    chosen = find_preset("vector", name, PRESETS)
    if chosen.ventaglio is None:
        raise InputError(f"preset {name} has no Ventaglio unit; try ventaglio or small-ventaglio")
    machine = complex_machine(chosen)
    generator = random.Random(seed)
    completed: Counter[str] = Counter()
    instructions = cycles = 0
    for _ in range(_PROGRAMS):
        run, checker = run_verilated(
            ventaglio_program(generator.getrandbits(48), chosen, _PIECES),
            machine=machine,
            golden=chosen.golden,
            seed=generator.getrandbits(31),
            pause=generator.choice((0.0, 0.1, 0.4)),
            watch=(WATCH, 4 * chosen.vlen),
        )
        completed += checker.completed
        instructions += checker.instructions
        cycles += run.cycles
    products = sum(completed[row] for row in _PRODUCTS)
    loads = sum(count for row, count in completed.items() if "vlx" in row)
    return (
        f"{name}: {instructions} instructions, {products} products, {loads} loads of indices, "
        f"{completed['vventclr']} clears, {cycles} cycles"
    )
