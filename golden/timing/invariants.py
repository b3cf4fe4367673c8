"""What must hold of every run of a server, whatever it simulates."""

from fanweave.golden.errors import FaultError
from fanweave.golden.timing.cluster import ServingRun

__all__ = ["check_run"]


def check_run(run: ServingRun) -> None:
    """Check a run that has ended.

    - Every request finished once, and its times follow each other.
    - Tokens: what was generated is what the requests asked for; every prompt was computed or
      found in the cache, once and again after each preemption; times between tokens sum
      up to the times from first to last tokens.
    - Memory: no block was lost or invented, none is in use, and there were never more in use
      than there are.
    - Devices: no stage did two steps at a time (checked while they were placed).

    Raises
    ------
    FaultError
        If one does not hold.
    """
    _check_times(run)
    _check_tokens(run)
    for replica, use in zip(run.replicas, run.recorder.uses, strict=True):
        replica.memory.check()
        if replica.memory.used or replica.running or replica.waiting or replica.inbox:
            raise FaultError(
                f"replica {replica.index}: {replica.memory.used} blocks in use and "
                f"{len(replica.running) + len(replica.waiting) + len(replica.inbox)} requests "
                "left at the end"
            )
        if use.peak_blocks > replica.memory.blocks:
            raise FaultError(f"replica {replica.index}: {use.peak_blocks} blocks in use")
        if replica.outstanding:
            raise FaultError(f"replica {replica.index}: {replica.outstanding} tokens outstanding")


def _check_times(run: ServingRun) -> None:
    record = run.recorder
    for index, request in enumerate(run.trace.requests):
        times = (request.arrival, *record.times(index))
        if list(times) != sorted(times) or times[2] == times[3]:
            raise FaultError(f"request {request.name}: its times {times} do not follow each other")
        if (times[3] == times[4]) != (request.output_tokens == 1):
            raise FaultError(
                f"request {request.name}: {request.output_tokens} tokens from {times[3]} to "
                f"{times[4]} ps"
            )


def _check_tokens(run: ServingRun) -> None:
    record, requests = run.recorder, run.trace.requests
    generated = len(requests) + sum(record.gap_counts)
    asked = sum(request.output_tokens for request in requests)
    if generated != asked:
        raise FaultError(f"{generated} tokens were generated and {asked} asked for")
    between = sum(
        length * count for length, count in zip(record.gap_lengths, record.gap_counts, strict=True)
    )
    spans = sum(last - first for first, last in zip(record.first_at, record.last_at, strict=True))
    if between != spans:
        raise FaultError(f"times between tokens sum up to {between} ps and not to {spans} ps")
    done = sum(use.prefill_tokens for use in record.uses) + record.cached_all
    needed = sum(request.input_tokens for request in requests) + record.repeated
    if done != needed:
        raise FaultError(f"{done} prompt tokens were computed or found, and {needed} needed")
