"""Long random programs on the Verilated core, held against golden's."""

import random

import numpy as np

from fanweave.golden.isa.cluster import RESET_ADDRESS, RegionName
from fanweave.golden.presets import find_preset
from fanweave.golden.riscv.config import CoreConfig
from fanweave.golden.riscv.hart import Hart
from fanweave.hw.core.config import PRESETS
from fanweave.sim.benches.core.checker import Checker, DifferenceError
from fanweave.sim.benches.core.lockstep import load
from fanweave.sim.benches.core.programs import DATA_BASE, ScalarProgram
from fanweave.sim.benches.core.random_programs import random_program
from fanweave.sim.benches.core.verilated import CoreMachine, CoreRun, core_machine, run_core

__all__ = ["image_of", "play", "run_verilated"]

_PIECES, _PROGRAMS = 3000, 4
_LIMIT = 10_000_000


def image_of(program: ScalarProgram) -> list[tuple[int, bytes]]:
    """Memory with a program in it."""
    words = np.array(program.words, np.uint32).tobytes()
    return [(RESET_ADDRESS, words), (DATA_BASE, program.data)]


def run_verilated(
    program: ScalarProgram,
    *,
    machine: CoreMachine,
    golden: CoreConfig | None = None,
    seed: int = 0,
    pause: float = 0.0,
    watch: tuple[int, int] = (0, 0),
) -> tuple[CoreRun, Checker]:
    """Run a program on both, and compare registers, traps and memory.

    CSRs are seen where the program reads them; the handler of traps reads those of a trap.

    Parameters
    ----------
    program : ScalarProgram
        What they run; mcycle must not be read.
    machine : CoreMachine
        What is held against golden's core.
    golden : CoreConfig or None
        Parameters of that.
    seed, pause, watch
        See `run_core`; what is stored where that is watched are whole vector registers.

    Raises
    ------
    DifferenceError
        At the first difference, or if the program does not end.
    """
    memory = load(program)
    checker = Checker(Hart(memory, config=golden), watch=watch)
    run = run_core(
        image_of(program),
        boot=RESET_ADDRESS,
        end=program.end,
        limit=_LIMIT,
        seed=seed,
        pause=pause,
        machine=machine,
        traced=True,
        watch=watch,
    )
    # The core goes round its last loop a little longer.
    for kind, first, second in run.trace.tolist():
        if kind < 2:
            checker.instruction(first, second, bool(kind))
        elif kind == 4:
            checker.stored(first, second)
        else:
            checker.written(f"{'xf'[kind - 2]}{first}", second)
    if run.ending != "end":
        raise DifferenceError(f"the run ends with {run.ending} at {run.pc:#x}; expected its end")
    if not checker.settled:
        checker.fail("results are missing at the end")
    for name, content in (
        (RegionName.L1, run.l1),
        (RegionName.INSTRUCTIONS, run.code_memory),
    ):
        if (memory.part(name).data != content).any():
            raise DifferenceError(f"memory {name.value} differs in the end")
    return run, checker


def play(seed: int, config: str | None = None) -> str:
    """Play a round of the soak.

    Parameters
    ----------
    seed : int
        Decides everything.
    config : str, optional
        Preset.

    Raises
    ------
    FaultError
        If something differs.
    InputError
        If there is no such preset.
    """
    name = config or "default"
    chosen = find_preset("core", name, PRESETS)
    generator = random.Random(seed)
    instructions = traps = cycles = 0
    for _ in range(_PROGRAMS):
        program = random_program(generator.getrandbits(48), _PIECES)
        run, checker = run_verilated(
            program,
            seed=generator.getrandbits(31),
            pause=generator.choice((0.0, 0.1, 0.4)),
            machine=core_machine(chosen),
        )
        instructions += checker.instructions
        traps += checker.traps
        cycles += run.cycles
    return f"{name}: {instructions} instructions, {traps} of them traps, in {cycles} cycles"
