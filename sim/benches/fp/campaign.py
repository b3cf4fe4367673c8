"""Long comparisons: golden arithmetic with SoftFloat, and the RTL in Verilator with golden."""

import functools
import os
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

import numpy as np

from fanweave.golden.fp import convert_accumulator, multiply, multiply_accumulate
from fanweave.golden.isa.formats import ElementFormat
from fanweave.hw.fp import AccumulatorConverter, MultiplyAccumulate
from fanweave.sim.benches.fp.pipelines import CONTROL, Outcome, build, run_vectors
from fanweave.sim.benches.fp.reference import softfloat_multiply_accumulate
from fanweave.sim.benches.fp.vectors import conversion_vectors, corner_vectors, random_vectors

__all__ = ["CaseResult", "check_golden", "rows", "run"]

_FLOATS = tuple(item for item in ElementFormat if not item.is_integer)
_CHUNK = 250_000
_LATENCY = 3


@dataclass(frozen=True, kw_only=True)
class CaseResult:
    """Comparison of one case.

    Attributes
    ----------
    case : str
        Operation and format.
    vectors, mismatches : int
        How many were compared, and how many differed.
    seconds : float
        Time of the loop that computed results.
    example : str
        The first mismatch, for a message; empty if there is none.
    """

    case: str
    vectors: int
    mismatches: int
    seconds: float
    example: str = ""


def run(vectors_per_format: int, seed: int, latency: int = _LATENCY) -> list[CaseResult]:
    """Compare the RTL with golden in Verilator.

    Multiply-accumulate: all combinations of corners, then random vectors of three kinds (see
    `random_vectors`), an eighth of them with the addend ignored. Conversion: vectors as from
    `conversion_vectors`, from either kind of accumulator to every target, and raw.

    Parameters
    ----------
    vectors_per_format : int
        Number of random vectors for each format and operation.
    seed : int
        Seed of the vectors.
    latency : int
        Latency of the pipelines.
    """
    rng = np.random.default_rng(seed)
    return [
        *_run_multiply_accumulate(vectors_per_format, rng, latency),
        *_run_conversion(vectors_per_format, rng, latency),
    ]


def _run_multiply_accumulate(
    count: int, rng: np.random.Generator, latency: int
) -> Iterator[CaseResult]:
    pipeline = MultiplyAccumulate(formats=tuple(ElementFormat), latency=latency)
    program = build(pipeline)
    for element_format in ElementFormat:
        corner = corner_vectors(element_format)
        random = random_vectors(element_format, count, rng)
        a, b, addend = (np.concatenate(pair) for pair in zip(corner, random, strict=True))
        alone = rng.integers(0, 8, len(a)) == 0
        expected = np.where(
            alone,
            multiply(a, b, element_format),
            multiply_accumulate(addend, a, b, element_format),
        )
        control = (alone.astype(np.uint32) << CONTROL["multiply"]) | int(element_format)
        outcome = run_vectors(program, pipeline, (a, b, addend), control, expected)
        yield _case(
            f"rtl multiply-accumulate {element_format.name}", outcome, (a, b, addend), expected
        )


def _run_conversion(count: int, rng: np.random.Generator, latency: int) -> Iterator[CaseResult]:
    pipeline = AccumulatorConverter(targets=tuple(ElementFormat), latency=latency)
    program = build(pipeline)
    for target in (*ElementFormat, None):
        parts = []
        for source_integer in (False, True):
            accumulator, scale = conversion_vectors(
                target or ElementFormat.FP32, source_integer, count // 2, rng
            )
            expected = convert_accumulator(
                accumulator, scale=scale, source_is_integer=source_integer, target=target
            )
            control = source_integer << CONTROL["source_integer"]
            control |= 1 << CONTROL["raw"] if target is None else int(target)
            parts.append((accumulator, scale, np.full_like(expected, control), expected))
        accumulator, scale, controls, expected = (
            np.concatenate(column) for column in zip(*parts, strict=True)
        )
        outcome = run_vectors(program, pipeline, (accumulator, scale), controls, expected)
        name = "raw" if target is None else target.name
        yield _case(f"rtl convert to {name}", outcome, (accumulator, scale, controls), expected)


def _case(name: str, outcome: Outcome, words: tuple, expected: np.ndarray) -> CaseResult:
    example = ""
    if outcome.first_mismatches:
        position, result = outcome.first_mismatches[0]
        inputs = ", ".join(f"{word[position]:#x}" for word in words)
        example = f"({inputs}) gave {result:#x}, expected {expected[position]:#x}"
    return CaseResult(
        case=name,
        vectors=outcome.vectors,
        mismatches=outcome.mismatches,
        seconds=outcome.seconds,
        example=example,
    )


def check_golden(vectors_per_format: int, seed: int) -> list[CaseResult]:
    """Compare golden multiply-accumulate with SoftFloat on random vectors.

    Takes about a microsecond a vector, spread over the processors.

    Parameters
    ----------
    vectors_per_format : int
        Number of vectors for each floating-point format.
    seed : int
        Seed of the vectors.
    """
    results = []
    chunks = max(1, -(-vectors_per_format // _CHUNK))
    sizes = np.full(chunks, vectors_per_format // chunks)
    sizes[: vectors_per_format % chunks] += 1
    workers = min(chunks, os.cpu_count() or 1)
    with ProcessPoolExecutor(workers) as pool:
        for element_format in _FLOATS:
            check = functools.partial(_check_golden_chunk, element_format, seed)
            parts = list(pool.map(check, range(chunks), map(int, sizes)))
            results.append(
                CaseResult(
                    case=f"golden multiply-accumulate {element_format.name}",
                    vectors=vectors_per_format,
                    mismatches=sum(part.mismatches for part in parts),
                    seconds=sum(part.seconds for part in parts),
                    example=next((part.example for part in parts if part.example), ""),
                )
            )
    return results


def _check_golden_chunk(
    element_format: ElementFormat, seed: int, chunk: int, count: int
) -> CaseResult:
    rng = np.random.default_rng([seed, int(element_format), chunk])
    a, b, addend = random_vectors(element_format, count, rng)
    started = time.perf_counter()
    got = multiply_accumulate(addend, a, b, element_format)
    seconds = time.perf_counter() - started
    expected = softfloat_multiply_accumulate(addend, a, b, element_format)
    wrong = np.flatnonzero(got != expected)
    example = ""
    if wrong.size:
        at = wrong[0]
        example = (
            f"({a[at]:#x}, {b[at]:#x}, {addend[at]:#x}) gave {got[at]:#x}, "
            f"SoftFloat {expected[at]:#x}"
        )
    return CaseResult(
        case="", vectors=count, mismatches=len(wrong), seconds=seconds, example=example
    )


def rows(quick: bool, seed: int) -> list[dict]:
    """Rows of the ``fp`` benchmark.

    Parameters
    ----------
    quick : bool
        20 thousand vectors a format in Verilator and 100 thousand against SoftFloat, which ends
        within a minute; otherwise a million and ten million.
    seed : int
        Seed of the vectors.

    Returns
    -------
    list of dict
        For each case the number of mismatches (goal 0) and of vectors, and for golden the speed
        (goal 5 million a second).
    """
    rtl = run(20_000 if quick else 1_000_000, seed)
    golden = check_golden(100_000 if quick else 10_000_000, seed)
    result = []
    for origin, cases in (("rtl", rtl), ("model", golden)):
        for case in cases:
            result.append(_row(case.case, "mismatches", case.mismatches, "vectors", 0, origin))
            result.append(_row(case.case, "vectors", case.vectors, "vectors", None, origin))
    for case in golden:
        speed = case.vectors / case.seconds
        result.append(_row(case.case, "operations_per_second", speed, "1/s", 5e6, "measured"))
    return result


def _row(case: str, metric: str, value: float, unit: str, goal: float | None, origin: str) -> dict:
    return {
        "case": case,
        "metric": metric,
        "value": value,
        "unit": unit,
        "goal": goal,
        "origin": origin,
    }
