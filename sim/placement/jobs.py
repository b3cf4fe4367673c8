"""Many placements at once, spread over processes; a worker that dies costs only its own job."""

import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field, replace

from fanweave.golden.dops.graph import Sharding
from fanweave.golden.dops.models import load_model
from fanweave.golden.dops.platforms import load_platform
from fanweave.golden.dops.records import load_record
from fanweave.golden.dops.registry import Request, place
from fanweave.golden.dops.simulate import Workload
from fanweave.golden.errors import FaultError, InputError

__all__ = ["Job", "Outcome", "Times", "Variant", "request_of", "run_job", "run_jobs"]

#: How often workers may die without a job done in between.
_MOST_DEATHS = 3


@dataclass(frozen=True, kw_only=True)
class Variant:
    """A scheduler with its parameters, and how weights are stored.

    Attributes
    ----------
    label : str
    scheduler : str
    parameters : tuple of (str, int)
    seed : int
    layouts : str
        A name of `fanweave.golden.dops.registry.LAYOUT_NAMES`.
    """

    label: str
    scheduler: str
    parameters: tuple[tuple[str, int], ...] = ()
    seed: int = 0
    layouts: str = "linear"


@dataclass(frozen=True, kw_only=True)
class Job:
    """A workload of a model on a platform, under some variants."""

    model: str
    platform: str
    workload: Workload
    variants: tuple[Variant, ...]
    record: str = "log"
    mode: str = "imitation"
    elements: str = "fp16"
    pieces: int | None = None
    sampled: bool = False


@dataclass(frozen=True, kw_only=True)
class Times:
    """What comes out of a placement, in picoseconds."""

    prefill: int
    total: int
    lower_bound: int


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What came of a job: times by label of the variant, and what was refused, with the reason."""

    job: Job
    times: dict[str, Times] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)


def run_job(job: Job) -> Outcome:
    """Run all variants; a refused one does not keep the others from running.

    Raises
    ------
    FaultError
        If a schedule breaks a rule of its mode.
    """
    outcome = Outcome(job=job)
    for variant in job.variants:
        try:
            result = place(request_of(job, variant), job.mode)
        except InputError as error:
            outcome.refused[variant.label] = str(error)
            continue
        outcome.times[variant.label] = Times(
            prefill=result.prefill, total=result.total, lower_bound=result.lower_bound
        )
    return outcome


def request_of(job: Job, variant: Variant) -> Request:
    """The request of a variant."""
    pieces = job.pieces
    return Request(
        model=load_model(job.model),
        platform=load_platform(job.platform),
        workload=job.workload,
        record=load_record(job.record),
        scheduler=variant.scheduler,
        elements=job.elements,
        sharding=None if pieces is None else Sharding(attention=pieces, feed_forward=pieces),
        parameters=dict(variant.parameters),
        seed=variant.seed,
        sampled=job.sampled,
        layouts=variant.layouts,
    )


def run_jobs(
    jobs: Sequence[Job],
    *,
    workers: int | None = None,
    done: Callable[[int, Outcome], None] | None = None,
    work: Callable[[Job], Outcome] = run_job,
) -> list[Outcome]:
    """Run jobs in processes and return their outcomes, in the order of the jobs.

    Parameters
    ----------
    jobs : sequence of Job
    workers : int, optional
        Processes; as many as there are processors if not given.
    done : callable, optional
        Told of each outcome as soon as it is there, with the number of the job.
    work : callable
        What runs a job.

    Raises
    ------
    FaultError
        If workers die again and again, or a schedule breaks a rule.
    """
    outcomes: dict[int, Outcome] = {}
    deaths = 0
    while len(outcomes) < len(jobs):
        before = len(outcomes)
        try:
            _round(jobs, outcomes, workers or os.cpu_count() or 1, done, work)
        except BrokenProcessPool as error:
            deaths = deaths + 1 if len(outcomes) == before else 1
            if deaths == _MOST_DEATHS:
                left = [job for index, job in enumerate(jobs) if index not in outcomes]
                raise FaultError(
                    f"worker processes died {deaths} times without a job done in between; "
                    f"{len(left)} jobs are left, the first one {_words(left[0])}"
                ) from error
    return [outcomes[index] for index in range(len(jobs))]


def _words(job: Job) -> str:
    work = job.workload
    return f"{job.model} on {job.platform}, {work.batch} x ({work.prefill} + {work.decode})"


def _round(
    jobs: Sequence[Job],
    outcomes: dict[int, Outcome],
    workers: int,
    done: Callable[[int, Outcome], None] | None,
    work: Callable[[Job], Outcome],
) -> None:
    """Run what is left until all is done or a worker dies."""
    left = [index for index in range(len(jobs)) if index not in outcomes]
    with ProcessPoolExecutor(min(workers, len(left))) as pool:
        futures: dict[Future[Outcome], int] = {
            pool.submit(work, replace(jobs[index])): index for index in left
        }
        try:
            _collect(as_completed(futures), futures, outcomes, done)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _collect(
    finished: Iterable[Future[Outcome]],
    futures: dict[Future[Outcome], int],
    outcomes: dict[int, Outcome],
    done: Callable[[int, Outcome], None] | None,
) -> None:
    for future in finished:
        index = futures[future]
        outcomes[index] = future.result()
        if done is not None:
            done(index, outcomes[index])
