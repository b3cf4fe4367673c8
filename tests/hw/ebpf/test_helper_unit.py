"""The helper unit with a map unit, against golden: each helper, each fault, and their order."""

import random

import pytest

from fanweave.golden.isa.ebpf_helpers import HELPERS
from fanweave.golden.isa.ebpf_machine import FaultCause, Region, map_handle
from fanweave.sim.benches.ebpf.helper_bench import HelperBench
from fanweave.sim.benches.ebpf.helper_calls import (
    CONFIG,
    ENTRIES,
    SPECS,
    compare_maps,
    drain_rings,
    play_random,
)

MASK = (1 << 64) - 1
STACK = int(Region.STACK)
CONTEXT = int(Region.CONTEXT)
NUMBERS = {spec.name: number for number, spec in enumerate(SPECS)}
BAD_MAP, FORBIDDEN = FaultCause.BAD_MAP, FaultCause.FORBIDDEN
OUT_OF_BOUNDS, OPERAND_SIZE = FaultCause.OUT_OF_BOUNDS, FaultCause.OPERAND_SIZE


def handle(name):
    return map_handle(NUMBERS[name])


def error(number):
    return -number & MASK


def play(scenario, **parameters):
    bench = HelperBench(SPECS, CONFIG, engine=1, **parameters)

    async def with_entries(bench):
        for number, entries in ENTRIES.items():
            await bench.set_entries(number, entries)
        await scenario(bench)

    bench.run(with_entries)
    return bench


@pytest.mark.parametrize("seed", range(3))
def test_random_calls_of_all_threads(seed):
    generator = random.Random(seed)
    drained = 0

    async def scenario(bench):
        nonlocal drained
        for _ in range(3):
            await play_random(bench, 80, generator)
            drained += await drain_rings(bench)
        await compare_maps(bench)

    contexts = [generator.randbytes(length) for length in (0, 5, 40, 64)]
    bench = play(scenario, contexts=contexts, seed=seed, stalls=seed > 0)
    assert drained
    ends = {(call.helper, reply.cause) for call, reply in bench.replies}
    assert {helper for helper, _ in ends} == {0, *HELPERS}
    assert {cause for _, cause in ends} == {
        FaultCause.NONE, BAD_MAP, FORBIDDEN, OUT_OF_BOUNDS, OPERAND_SIZE,
    }  # fmt: skip
