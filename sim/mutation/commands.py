"""``fanweave mutate``: the share of faults in the RTL that the tests find."""

import random
from pathlib import Path

import click

__all__ = ["mutate"]

#: Share of faults that the tests should find.
_GOAL = 0.95


@click.command(epilog="Example: fanweave mutate ventaglio --mutants 40 --seed 1")
@click.argument("unit")
@click.option("--mutants", type=click.IntRange(1, 500), default=40, show_default=True)
@click.option("--seed", type=int, help="Replay a campaign.")
@click.option("--json", "json_file", help="Write the result to this file; - is standard output.")
def mutate(unit: str, mutants: int, seed: int | None, json_file: str | None) -> None:
    """Put faults into the RTL of UNIT and count those that its soak finds.

    Each fault is one bit of one cell that is inverted, held, or mixed with another. One that is
    proved to change nothing, whatever the state of its module and its inputs are, does not count.
    Those that nothing found are listed with their place in the source: a test is missing there, or
    the fault shows only in states that are never reached.
    """
    from fanweave.sim.mutation.campaign import find_campaign, run_campaign
    from fanweave.sim.report.bench_rows import BenchRow, bench_document, print_bench
    from fanweave.sim.report.files import check_output, write_json
    from fanweave.sim.runner.toolchain import build_root

    find_campaign(unit)
    check_output(json_file)
    if seed is None:
        seed = random.SystemRandom().randrange(1 << 31)
    click.echo(f"mutate {unit}: seed {seed}", err=True)
    folder = Path(build_root()) / "mutation" / unit
    trials = []
    for trial in run_campaign(unit, count=mutants, seed=seed, folder=folder):
        trials.append(trial)
        each = trial.mutant
        word = "caught" if trial.caught else "equal" if trial.equal else "NOT CAUGHT"
        click.echo(f"{each.number:4} {word:10} {each.mode:6} {each.port:10} {each.place}", err=True)
    caught = sum(trial.caught for trial in trials)
    counted = sum(not trial.equal for trial in trials)
    row = BenchRow(
        case=f"{unit}, {len(trials)} mutants, {len(trials) - counted} proved equal",
        metric="mutants_caught",
        value=caught / counted if counted else 1.0,
        unit="1",
        goal=_GOAL,
        origin="rtl",
    )
    document = bench_document("mutation", seed=seed, rows=[row])
    survivors = [vars(t.mutant) for t in trials if not t.caught and not t.equal]
    kept = Path(build_root()) / "bench" / f"mutation.{unit}.json"
    kept.parent.mkdir(parents=True, exist_ok=True)
    for file in (kept, json_file):
        if file is not None:
            write_json(file, document | {"survivors": survivors})
    print_bench("mutation", seed=seed, rows=[row])
