"""``fanweave sweep``: many placements, over processes, into one file that a run goes on with."""

import itertools
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fanweave.golden.errors import InputError
from fanweave.sim.placement.place_command import workload_options
from fanweave.sim.report.files import check_output

if TYPE_CHECKING:
    from fanweave.sim.placement.jobs import Job, Outcome

__all__ = ["sweep"]

_EXAMPLE = """Examples:

\b
  fanweave sweep results.jsonl --model qwen-1.8b --model qwen-7b --platform hp32
      --batch 1,4,8,16 --prefill 512,1024 --decode 128 --scheduler PD --scheduler Bifocal
  fanweave sweep results.jsonl ...    (the same again goes on where it was stopped)
"""


class _Integers(click.ParamType):
    """Integers with commas between."""

    name = "integers"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, ...]:
        """Split and read."""
        if isinstance(value, tuple):
            return value
        try:
            return tuple(int(item) for item in str(value).split(","))
        except ValueError:
            self.fail(f"{value!r} must be integers with commas between, such as 1,4,16", param, ctx)


@click.command(epilog=_EXAMPLE)
@click.argument("results", metavar="RESULTS.jsonl")
@click.option("--model", "models", multiple=True, required=True, metavar="CARD|FILE")
@click.option("--platform", "platforms", multiple=True, required=True, metavar="NAME|FILE")
@click.option("--batch", type=_Integers(), default="1", show_default=True)
@click.option("--prefill", type=_Integers(), default="512", show_default=True)
@click.option("--decode", type=_Integers(), default="128", show_default=True)
@click.option("--scheduler", "schedulers", multiple=True, default=("PD", "Bifocal"))
@workload_options
@click.option("--workers", type=click.IntRange(min=1), help="Processes; else one a processor.")
@click.option(
    "--dask", metavar="ADDRESS", help="Run on the workers of this Dask scheduler (fanweave[dask])."
)
def sweep(
    results: str,
    models: Sequence[str],
    platforms: Sequence[str],
    batch: Sequence[int],
    prefill: Sequence[int],
    decode: Sequence[int],
    workers: int | None,
    dask: str | None,
    **given: Any,
) -> None:
    """Place every workload of every model on every platform with every scheduler.

    Each finished workload is a line of RESULTS.jsonl at once; the same command goes on with what
    is not there yet, and a worker that dies costs only the workload it was at.
    """
    from fanweave.golden.dops.simulate import Workload
    from fanweave.sim.placement.dask_jobs import run_on_dask
    from fanweave.sim.placement.jobs import Job, run_jobs

    if dask is not None and workers is not None:
        raise click.UsageError("--workers are processes of this machine; give it or --dask")
    check_output(results)
    shared = _shared(given)
    jobs = [
        Job(
            model=model,
            platform=platform,
            workload=Workload(batch=sizes[0], prefill=sizes[1], decode=sizes[2]),
            **shared,
        )
        for model, platform, *sizes in itertools.product(models, platforms, batch, prefill, decode)
    ]
    _check(jobs)
    path = Path(results)
    known = _read(path)
    left = [job for job in jobs if _key(job) not in known]
    click.echo(f"{len(jobs)} workloads, {len(jobs) - len(left)} of them in {path}", err=True)

    with path.open("a") as stream:

        def write(_: int, outcome: "Outcome") -> None:
            line = _line(outcome)
            known[_key(outcome.job)] = line
            stream.write(json.dumps(line, allow_nan=False) + "\n")
            stream.flush()

        if dask is not None:
            run_on_dask(left, dask, done=write)
        else:
            run_jobs(left, workers=workers, done=write)
    _print([known[_key(job)] for job in jobs])


def _shared(given: dict[str, Any]) -> dict[str, Any]:
    """What all jobs have in common."""
    from fanweave.golden.dops.registry import mode_name, scheduler_name
    from fanweave.sim.placement.choices import parameters
    from fanweave.sim.placement.jobs import Variant

    settings = tuple(sorted(parameters(given["settings"]).items()))
    names = list(dict.fromkeys(scheduler_name(name) for name in given["schedulers"]))
    return {
        "variants": tuple(
            Variant(
                label=name,
                scheduler=name,
                parameters=settings if name == "Bifocal" else (),
                seed=given["seed"],
            )
            for name in names
        ),
        "mode": mode_name(given["mode"]),
        **{key: given[key] for key in ("record", "elements", "pieces", "sampled")},
    }


def _check(jobs: "Sequence[Job]") -> None:
    """Refuse what no worker could run, before any is started."""
    from fanweave.golden.dops.registry import make_scheduler
    from fanweave.golden.dops.work import element_bits
    from fanweave.sim.placement.jobs import request_of

    for job in {(job.model, job.platform): job for job in jobs}.values():
        element_bits(job.elements)
        for variant in job.variants:
            make_scheduler(request_of(job, variant))


def _key(job: "Job") -> str:
    """All that decides what comes out; a line that was written under another is not taken."""
    work = job.workload
    return json.dumps(
        {
            "model": job.model,
            "platform": job.platform,
            "batch": work.batch,
            "prefill_tokens": work.prefill,
            "decode_tokens": work.decode,
            "mode": job.mode,
            "record": job.record,
            "elements": job.elements,
            "pieces": job.pieces,
            "sampled": job.sampled,
            "schedulers": [
                {"scheduler": v.scheduler, "parameters": dict(v.parameters), "seed": v.seed}
                for v in job.variants
            ],
        }
    )


def _line(outcome: "Outcome") -> dict[str, Any]:
    from fanweave.golden.dops.platforms import PICOSECONDS

    return {
        "asked": json.loads(_key(outcome.job)),
        "results": {
            label: {
                "prefill_s": times.prefill / PICOSECONDS,
                "decode_s": (times.total - times.prefill) / PICOSECONDS,
                "total_s": times.total / PICOSECONDS,
                "lower_bound_s": times.lower_bound / PICOSECONDS,
            }
            for label, times in outcome.times.items()
        },
        "refused": outcome.refused,
    }


def _read(path: Path) -> dict[str, dict[str, Any]]:
    """Lines of an earlier run by their keys; a last line that was cut off is taken away."""
    if not path.exists():
        return {}
    text = path.read_text()
    whole, newline, rest = text.rpartition("\n")
    if rest:
        from fanweave.golden.files import replace_file

        replace_file(path, (whole + newline).encode())
    known = {}
    for number, line in enumerate(whole.splitlines(), 1):
        try:
            entry = json.loads(line)
            known[json.dumps(entry["asked"])] = entry
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(
                f"{path}, line {number} is not of a sweep; name another file, or remove the line"
            ) from error
    return known


def _print(lines: Sequence[dict[str, Any]]) -> None:
    from fanweave.sim.report.table import Column, format_number, print_table

    labels = list(dict.fromkeys(label for line in lines for label in line["results"]))
    columns = [Column(heading="workload", numeric=False)]
    columns += [Column(heading=f"{label} s") for label in labels]
    rows = []
    for line in lines:
        asked = line["asked"]
        sizes = f"{asked['batch']} x ({asked['prefill_tokens']}+{asked['decode_tokens']})"
        cells = [
            format_number(line["results"][label]["total_s"])
            if label in line["results"]
            else "refused"
            for label in labels
        ]
        rows.append([f"{asked['model']} on {asked['platform']}, {sizes}", *cells])
    print_table(columns, rows, title="total times")
    reasons = dict.fromkeys(text for line in lines for text in line["refused"].values())
    for reason in reasons:
        click.echo(f"refused: {reason}", file=sys.stderr)
