"""Placements on many machines, through the scheduler of a Dask cluster."""

from collections.abc import Callable, Sequence
from typing import Any

from fanweave.golden.errors import FaultError, InputError
from fanweave.sim.placement.jobs import Job, Outcome, run_job

__all__ = ["run_on_dask"]

_SECONDS_TO_CONNECT = 10


def run_on_dask(
    jobs: Sequence[Job],
    address: str,
    *,
    done: Callable[[int, Outcome], None] | None = None,
    work: Callable[[Job], Outcome] = run_job,
) -> list[Outcome]:
    """Run jobs on the workers of a Dask scheduler and return their outcomes, in their order.

    Fanweave must be installed where the workers are. The scheduler gives the job of a worker that
    dies to another one.

    Parameters
    ----------
    jobs : sequence of Job
    address : str
        Of the scheduler, such as ``tcp://10.0.0.1:8786``.
    done : callable, optional
        Told of each outcome as soon as it is there, with the number of the job.
    work : callable
        What runs a job.

    Raises
    ------
    InputError
        If Dask is not installed, or no scheduler answers.
    FaultError
        If workers die again and again at one job, or a schedule breaks a rule.
    """
    try:
        import distributed
    except ImportError as error:
        raise InputError(
            "spreading over machines needs the package 'distributed'; install fanweave[dask]"
        ) from error
    try:
        client = distributed.Client(address, timeout=_SECONDS_TO_CONNECT)
    except (OSError, ValueError, TypeError) as error:
        raise InputError(
            f"no Dask scheduler answers at {address!r}: {error}; start one with 'dask scheduler'"
        ) from error
    with client:
        return _run(distributed, client, jobs, done, work)


def _run(
    distributed: Any,
    client: Any,
    jobs: Sequence[Job],
    done: Callable[[int, Outcome], None] | None,
    work: Callable[[Job], Outcome],
) -> list[Outcome]:
    futures = {client.submit(work, job, pure=False): index for index, job in enumerate(jobs)}
    outcomes: dict[int, Outcome] = {}
    try:
        for future in distributed.as_completed(list(futures)):
            index = futures[future]
            outcomes[index] = future.result()
            if done is not None:
                done(index, outcomes[index])
    except distributed.KilledWorker as error:
        left = len(jobs) - len(outcomes)
        raise FaultError(
            f"workers died again and again at one job; {left} jobs are left"
        ) from error
    finally:
        client.cancel([future for future, index in futures.items() if index not in outcomes])
    return [outcomes[index] for index in range(len(jobs))]
