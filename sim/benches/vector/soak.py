"""Long random programs on the Verilated core complex, held against golden's."""

import random
from collections import Counter

from fanweave.golden.presets import find_preset
from fanweave.hw.vector.config import PRESETS
from fanweave.sim.benches.core.soak import run_verilated
from fanweave.sim.benches.vector.complex_machine import complex_machine
from fanweave.sim.benches.vector.random_programs import ROWS, WATCH, vector_program

__all__ = ["play"]

_PIECES, _PROGRAMS = 3000, 2
_NAMES = {row.name for row in ROWS}


def play(seed: int, config: str | None = None) -> str:
    """Play a round of the soak.

    Parameters
    ----------
    seed : int
        Decides everything.
    config : str, optional
        Preset of the vector unit.

    Returns
    -------
    str
        What was compared, with the mnemonics of which no instruction was completed.

    Raises
    ------
    FaultError
        If something differs.
    InputError
        If there is no such preset.
    """
    name = config or "default"
    chosen = find_preset("vector", name, PRESETS)
    machine = complex_machine(chosen)
    generator = random.Random(seed)
    completed: Counter[str] = Counter()
    instructions = traps = cycles = 0
    for _ in range(_PROGRAMS):
        run, checker = run_verilated(
            vector_program(generator.getrandbits(48), chosen, _PIECES),
            machine=machine,
            golden=chosen.golden,
            seed=generator.getrandbits(31),
            pause=generator.choice((0.0, 0.1, 0.4)),
            watch=(WATCH, 4 * chosen.vlen),
        )
        completed += checker.completed
        instructions += checker.instructions
        traps += checker.traps
        cycles += run.cycles
    vector = sum(completed[row] for row in _NAMES)
    missing = sorted(_NAMES - completed.keys())
    line = (
        f"{name}: {instructions} instructions, {vector} of them of vectors, {traps} traps, "
        f"in {cycles} cycles; {len(_NAMES) - len(missing)} of {len(_NAMES)} rows"
    )
    return line + (f"; never {', '.join(missing)}" if missing else "")
