"""Runs a Verilated design in a plain C++ loop: the yardstick for the cost of cocotb."""

import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from fanweave.golden.errors import FaultError, InputError
from fanweave.sim.runner.design import Design
from fanweave.sim.runner.loop import build_loop, member_of
from fanweave.sim.runner.progress import Progress

__all__ = ["BareResult", "run_bare"]

_MAIN = """\
#include <chrono>
#include <cstdio>
#include <memory>
#include "Vtop.h"
#include "verilated.h"

int main(int argc, char** argv) {
    const auto context = std::make_unique<VerilatedContext>();
    context->commandArgs(argc, argv);
    const auto top = std::make_unique<Vtop>(context.get());
    const long long limit = std::atoll(argv[1]);
    long long cycles = 0;
    const auto edge = [&](int level) {
        top->@CLOCK@ = level;
        top->eval();
        context->timeInc(5);
    };
@INPUTS@
    @RESET@ = 1;
    for (int i = 0; i < 2; ++i) { edge(0); edge(1); }
    edge(0);
    @RESET@ = 0;
    const auto start = std::chrono::steady_clock::now();
    for (; cycles < limit && !context->gotFinish() && !(@UNTIL@); ++cycles) { edge(1); edge(0); }
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    top->final();
    std::printf("\\n%lld %.9f\\n", cycles, taken.count());
    return 0;
}
"""


@dataclass(frozen=True, kw_only=True)
class BareResult:
    """How many cycles ran, and in which wall time (build and reset not counted)."""

    cycles: int
    seconds: float

    @property
    def cycles_per_second(self) -> float:
        return self.cycles / self.seconds


def run_bare(
    design: Design,
    *,
    cycles: int,
    reset: str = "rst",
    inputs: Mapping[str, int] | None = None,
    until: str | None = None,
    plusargs: Mapping[str, object] | None = None,
    folder: Path | None = None,
) -> BareResult:
    """Set some inputs once, reset a design, and toggle its clock.

    Parameters
    ----------
    design
        The design; built apart from its cocotb variant, with the same options.
    cycles
        Number of cycles to run at most.
    reset
        Name of the reset port, active high.
    inputs
        Constant values of further ports, up to 64 bits wide; the others stay 0.
    until
        Port that ends the run when it is not 0.
    plusargs
        ``name: value`` becomes ``+name=value``.
    folder
        Working folder of the program.

    Raises
    ------
    InputError
        If a port does not exist, a program is missing or the design does not build.
    FaultError
        If the program fails.
    """
    inputs = dict(inputs or {})
    for port in [reset, *inputs, *([until] if until else [])]:
        if port not in design.ports:
            raise InputError(
                f"design {design.name!r} has no port {port!r}; its ports are "
                f"{', '.join(design.ports)}"
            )
    main = _main_text(design, reset=reset, inputs=inputs, until=until)
    executable = build_loop(design, main, label=f"building {design.name} for a bare loop")
    command = [str(executable), str(cycles)]
    command += [f"+{name}={value}" for name, value in (plusargs or {}).items()]
    with Progress(f"simulating {design.name} in a bare loop"):
        outcome = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if outcome.returncode != 0:
        raise FaultError(
            f"bare loop of {design.name!r} ended with status {outcome.returncode}: "
            f"{outcome.stderr.strip() or outcome.stdout.strip()}"
        )
    ran, seconds = outcome.stdout.splitlines()[-1].split()
    return BareResult(cycles=int(ran), seconds=float(seconds))


def _main_text(design: Design, *, reset: str, inputs: Mapping[str, int], until: str | None) -> str:
    assignments = [f"    top->{member_of(name)} = {value}ull;" for name, value in inputs.items()]
    replacements = {
        "top->@CLOCK@": f"top->{member_of(design.clock)}",
        "@RESET@": f"top->{member_of(reset)}",
        "@INPUTS@": "\n".join(assignments),
        "@UNTIL@": f"top->{member_of(until)}" if until else "false",
    }
    text = _MAIN
    for mark, replacement in replacements.items():
        text = text.replace(mark, replacement)
    return text
