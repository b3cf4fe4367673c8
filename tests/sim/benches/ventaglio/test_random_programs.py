"""Random programs, and directed ones at the edges: RTL equals golden, held back or not."""

from dataclasses import replace

import numpy as np
import pytest

from fanweave.golden.errors import FaultError
from fanweave.golden.isa.formats import ElementFormat
from fanweave.golden.isa.ventaglio import ErrorCause, IndexMode, Opcode, register
from fanweave.golden.ventaglio.config import preset
from fanweave.golden.ventaglio.model import ErrorState, Ventaglio
from fanweave.golden.ventaglio.workload import Workload
from fanweave.sim.benches.ventaglio import batches
from fanweave.sim.benches.ventaglio.batches import check_batch
from fanweave.sim.benches.ventaglio.random_programs import random_batch
from fanweave.sim.benches.ventaglio.run import MemoryModel, Stalls, simulate
from fanweave.sim.benches.ventaglio.soak import CONFIGURATIONS, play
from fanweave.sw.ventaglio import (
    Clear,
    Drain,
    Multiply,
    MultiplyAccumulate,
    SparseMatrix,
    assemble,
    build_image,
)

FP16 = ElementFormat.FP16
CONFIG = preset("tiny")


@pytest.mark.parametrize("seed", [1, 2])
def test_random_programs(seed):
    """Each round has 100 programs in surroundings of its own."""
    play(seed=seed, config="tiny")


@pytest.mark.parametrize("seed", range(3, 15))
def test_short_batches_with_different_first_errors(seed, tmp_path):
    batch = random_batch(CONFIG, seed=seed, programs=12)
    check_batch(
        batch, CONFIG, folder=tmp_path, stalls=Stalls(probability=30 * (seed % 4), seed=seed)
    )


def test_programs_cover_operations_modes_and_refusals():
    batch = random_batch(CONFIG, seed=1, programs=100)
    operations = [operation for program in batch.programs for operation in program.operations]
    assert {type(operation) for operation in operations} >= {Clear, Drain, Multiply}
    sums = [o for o in operations if isinstance(o, MultiplyAccumulate)]
    assert {o.index_mode for o in sums} >= set(IndexMode)
    assert {o.outputs for o in sums} >= {1, 2, 3, 4}
    assert {o.skip_zeros for o in sums} == {True, False}


def test_batches_meet_the_errors_that_do_not_halt():
    """The error register keeps the first one, so it takes batches to see all.

    Undefined operations are rare and have a test of their own below.
    """
    first = set()
    for seed in range(1, 40):
        workload = random_batch(CONFIG, seed=seed, programs=12).workload
        unit = Ventaglio(CONFIG, workload.image, workload.activations)
        unit.write_all(workload.commands.tolist())
        first.add(unit.error.cause)
    assert first >= {
        ErrorCause.INDEX_RANGE,
        ErrorCause.OVER_CONFIGURATION,
        ErrorCause.ILLEGAL_FORMAT,
    }


def test_a_difference_is_reported_with_its_program(monkeypatch, tmp_path):
    """Golden is made to lie about one bit."""
    batch = random_batch(CONFIG, seed=3, programs=5)
    honest = batches.expectation

    def lying(batch, config):
        expected = honest(batch, config)
        results = list(expected.results)
        results[2] = results[2] ^ np.uint32(1)
        return replace(expected, results=tuple(results))

    monkeypatch.setattr(batches, "expectation", lying)
    with pytest.raises(FaultError, match=r"program \d+ of seed .*, operation \d+: element 0 of"):
        check_batch(batch, CONFIG, folder=tmp_path)


def matrix_of(rows, width=40, seed=0):
    """A matrix with every second column in each row, values from a seed."""
    generator = np.random.default_rng(seed)
    columns = np.arange(0, width, 2)
    weights = generator.normal(size=rows * len(columns)).astype(np.float16).view(np.uint16)
    return SparseMatrix(
        shape=(rows, width),
        indptr=np.arange(rows + 1) * len(columns),
        indices=np.tile(columns, rows),
        data=weights,
        element_format=FP16,
        index_mode=IndexMode.BITMASK,
    )


def run_both(operations, matrices, activations, folder, *, extra=(), **options):
    """Run on golden and RTL; returns both."""
    image, _ = build_image(matrices, beat_bits=CONFIG.beat_bits)
    commands = np.concatenate([*extra, assemble(operations)]).astype(np.uint32)
    workload = Workload(
        commands=commands,
        activations=np.asarray(activations, dtype=np.uint32).reshape(-1, CONFIG.max_outputs),
        image=image,
        drains=(),
        shape=(0, 0),
        result_format=None,
    )
    unit = Ventaglio(CONFIG, image, workload.activations)
    unit.write_all(commands.tolist())
    outcome = simulate(workload, CONFIG, folder=folder, **options)
    return unit, outcome


def assert_same(unit, outcome):
    assert (
        ErrorState(outcome.cause, outcome.error_row, outcome.error_element, halted=outcome.halted)
        == unit.error
    )
    for name, value in unit.counters.items():
        assert outcome.counters[name] == value, name
    expected = [int(word) for drained in unit.results for word in drained]
    assert outcome.log.elements(32).tolist() == expected


def ones(count):
    return np.full((count, CONFIG.max_outputs), 0x3C00)


def sums(length, **options):
    return MultiplyAccumulate(
        element_format=FP16, index_mode=IndexMode.BITMASK, length=length, width=40, **options
    )


DRAIN = Drain(element_format=FP16, count=40)


@pytest.mark.parametrize("length", [0, 1, 2, 3, 5, 9])
@pytest.mark.parametrize("stalls", [Stalls(), Stalls(probability=120, seed=4)])
def test_every_length(length, stalls, tmp_path):
    """The same length twice, so that a leftover of the first would show in the second."""
    operations = [Clear(), sums(length), sums(length), DRAIN]
    unit, outcome = run_both(
        operations, [matrix_of(max(length, 1))], ones(2 * length), tmp_path, stalls=stalls
    )
    assert_same(unit, outcome)
    assert len(unit.results) == 1


@pytest.mark.parametrize("count", [0, 1, 2, 3, 40, 63, 64])
def test_every_tail_of_a_drain(count, tmp_path):
    operations = [Clear(), sums(3), Drain(element_format=FP16, count=count, clear=True), DRAIN]
    unit, outcome = run_both(operations, [matrix_of(3)], ones(3), tmp_path)
    assert_same(unit, outcome)


def test_a_drain_sees_all_sums_before_it_and_none_after(tmp_path):
    """Sums on both sides of each drain, on the same accumulators, with no clear between."""
    operations = [Clear()]
    for _ in range(4):
        operations += [sums(2), DRAIN]
    operations += [Clear(), DRAIN, sums(1), Drain(element_format=FP16, count=40, clear=True), DRAIN]
    unit, outcome = run_both(operations, [matrix_of(2)], ones(9), tmp_path)
    assert_same(unit, outcome)


def test_a_mask_that_contradicts_its_row_halts(tmp_path):
    """The row says one element less than its mask has; what is queued behind never runs."""
    matrix = matrix_of(3)
    image, _ = build_image([matrix], beat_bits=CONFIG.beat_bits)
    image.nnz[1] -= 1
    error = np.array([[register("error").address, 0]])
    operations = [Clear(), sums(3), DRAIN]
    again = assemble([Clear(), sums(1), DRAIN])
    commands = np.concatenate([assemble(operations), error, again]).astype(np.uint32)
    workload = Workload(
        commands=commands[: len(commands) - len(again) - 1],
        activations=ones(3).astype(np.uint32),
        image=image,
        drains=(),
        shape=(0, 0),
        result_format=None,
    )
    unit = Ventaglio(CONFIG, image, workload.activations)
    unit.write_all(workload.commands.tolist())
    outcome = simulate(workload, CONFIG, folder=tmp_path)
    assert unit.error == ErrorState(ErrorCause.LENGTH, row=1, element=19, halted=True)
    assert (outcome.cause, outcome.error_row, outcome.error_element, outcome.halted) == (
        ErrorCause.LENGTH,
        1,
        19,
        True,
    )
    assert len(outcome.log.counts) == 0


def test_a_missing_activation_ends_in_a_timeout(tmp_path):
    timeout = np.array([[register("timeout").address, 50]])
    unit, outcome = run_both(
        [Clear(), sums(4), DRAIN], [matrix_of(4)], ones(3), tmp_path, extra=[timeout]
    )
    assert unit.error.cause == ErrorCause.TIMEOUT
    assert outcome.cause == ErrorCause.TIMEOUT
    assert outcome.halted
    assert outcome.cycles < 400
    assert len(outcome.log.counts) == 0


@pytest.mark.parametrize("opcode", [0, *range(max(Opcode) + 1, 8)])
def test_a_code_without_an_operation_is_an_error_and_the_next_one_runs(opcode, tmp_path):
    code = np.array([[register("command").address, opcode]])
    unit, outcome = run_both(
        [Clear(), sums(1), DRAIN], [matrix_of(1)], ones(1), tmp_path, extra=[code]
    )
    assert unit.error.cause == ErrorCause.ILLEGAL_OPERATION
    assert_same(unit, outcome)
    assert len(unit.results) == 1


def test_a_slow_memory_changes_no_bit(tmp_path):
    operations = [Clear(), sums(8), DRAIN]
    results = []
    for latency in (1, 60):
        unit, outcome = run_both(
            operations,
            [matrix_of(8)],
            ones(8),
            tmp_path / str(latency),
            memory=MemoryModel(latency=latency, ports="shared"),
        )
        assert_same(unit, outcome)
        results.append(outcome.log.elements(32).tolist())
    assert results[0] == results[1]


def test_configurations_at_the_ends_are_legal_and_different():
    assert len(set(map(repr, CONFIGURATIONS.values()))) == len(CONFIGURATIONS)
