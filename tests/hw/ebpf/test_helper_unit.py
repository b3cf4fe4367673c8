# amaranth: UnusedElaboratable=no
"""The helper unit with a map unit, against golden: each helper, each fault, and their order."""

import random

import pytest

from fanweave.golden.ebpf.config import EbpfConfig
from fanweave.golden.ebpf.maps import MapSpec
from fanweave.golden.isa.ebpf_helpers import HELPERS
from fanweave.golden.isa.ebpf_machine import FaultCause, Region, map_address, map_handle
from fanweave.golden.isa.ebpf_maps import Errno, MapType
from fanweave.hw.ebpf.helper_unit import HelperUnit
from fanweave.sim.benches.ebpf.helper_bench import HelperBench, HelperCall, number_of
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


#: Name, arguments, and how the call ends. Where several things are wrong, the first one counts.
FAULTS = [
    ("map_lookup_elem", (handle("queue"), 0), BAD_MAP),
    ("map_lookup_elem", (handle("programs"), STACK), BAD_MAP),
    ("map_lookup_elem", (map_handle(16), STACK), BAD_MAP),
    ("map_lookup_elem", (map_handle(256), STACK), BAD_MAP),
    ("map_lookup_elem", (1 << 32 | handle("array"), STACK), BAD_MAP),
    ("map_lookup_elem", (map_address(0), STACK), BAD_MAP),
    ("map_lookup_elem", (handle("array"), STACK + 509), OUT_OF_BOUNDS),
    ("map_lookup_elem", (handle("array"), 1 << 32 | STACK), OUT_OF_BOUNDS),
    ("map_lookup_elem", (handle("array"), CONTEXT + 13), OUT_OF_BOUNDS),
    ("map_lookup_elem", (handle("array"), map_address(0) + 9), OUT_OF_BOUNDS),
    ("map_lookup_elem", (handle("array"), map_address(NUMBERS["secrets"])), FORBIDDEN),
    ("map_lookup_elem", (handle("array"), map_address(NUMBERS["queue"])), OUT_OF_BOUNDS),
    ("map_lookup_elem", (handle("array"), map_address(NUMBERS["ring"])), OUT_OF_BOUNDS),
    ("map_lookup_elem", (handle("array"), map_address(200)), OUT_OF_BOUNDS),
    ("map_update_elem", (handle("maps"), 0, 0, 9), BAD_MAP),
    ("map_update_elem", (handle("constants"), 0, 0, 9), FORBIDDEN),
    ("map_update_elem", (handle("pages"), 0, 0, 9), OPERAND_SIZE),
    ("map_update_elem", (handle("array"), 0, map_address(NUMBERS["secrets"]), 9), OUT_OF_BOUNDS),
    ("map_update_elem", (handle("array"), STACK, STACK + 501, 9), OUT_OF_BOUNDS),
    ("map_update_elem", (handle("secrets"), STACK, map_address(NUMBERS["secrets"]), 9), FORBIDDEN),
    ("map_delete_elem", (handle("constants"), 0), FORBIDDEN),
    ("map_delete_elem", (handle("hash"), STACK + 506), OUT_OF_BOUNDS),
    ("map_push_elem", (handle("hash"), 0, 9), BAD_MAP),
    ("map_push_elem", (handle("requests"), 0, 9), FORBIDDEN),
    ("map_push_elem", (handle("batches"), 0, 9), OPERAND_SIZE),
    ("map_push_elem", (handle("queue"), STACK + 501, 9), OUT_OF_BOUNDS),
    ("map_pop_elem", (handle("requests"), 0), FORBIDDEN),
    ("map_pop_elem", (handle("answers"), 0), FORBIDDEN),
    ("map_pop_elem", (handle("batches"), 0), OPERAND_SIZE),
    ("map_pop_elem", (handle("queue"), map_address(NUMBERS["constants"])), FORBIDDEN),
    ("map_pop_elem", (handle("queue"), map_address(NUMBERS["constants"]) + 5), OUT_OF_BOUNDS),
    ("map_peek_elem", (handle("answers"), 0), FORBIDDEN),
    ("map_peek_elem", (handle("batches"), 0), OPERAND_SIZE),
    ("map_peek_elem", (handle("requests"), map_address(NUMBERS["constants"])), FORBIDDEN),
    ("ringbuf_output", (handle("queue"), 0, 65, 4), BAD_MAP),
    ("ringbuf_output", (handle("ring"), 0, 65, 4), OPERAND_SIZE),
    ("ringbuf_output", (handle("ring"), STACK, 1 << 63, 4), OPERAND_SIZE),
    ("ringbuf_output", (handle("ring"), STACK + 480, 33, 4), OUT_OF_BOUNDS),
    ("ringbuf_reserve", (handle("array"), 8, 1), BAD_MAP),
    ("ringbuf_query", (handle("array"), 0), BAD_MAP),
    ("ringbuf_submit", (handle("ring"), 0), BAD_MAP),
    ("ringbuf_submit", (0, 0), BAD_MAP),
    ("ringbuf_discard", (map_address(NUMBERS["ring"]) + 8, 0), BAD_MAP),
    ("tail_call", (0, handle("maps"), 0), BAD_MAP),
    ("tail_call", (0, handle("programs") + 256, 0), BAD_MAP),
]


def test_every_fault_and_the_order_of_checks():
    async def scenario(bench):
        for name, arguments, cause in FAULTS:
            reply = await bench.call(name, *arguments)
            assert reply.cause is cause, (name, [hex(a) for a in arguments])

    play(scenario)


#: Name, arguments, r0.
ERRORS = [
    ("map_update_elem", (handle("array"), STACK, STACK, 1 << 63), error(Errno.INVALID)),
    ("map_update_elem", (handle("array"), STACK, STACK, 1), error(Errno.EXIST)),
    ("map_update_elem", (handle("hash"), STACK, STACK, 2), error(Errno.NOENT)),
    ("map_update_elem", (handle("hash"), STACK, STACK, 4), error(Errno.INVALID)),
    ("map_delete_elem", (handle("array"), STACK), error(Errno.INVALID)),
    ("map_delete_elem", (handle("hash"), STACK), error(Errno.NOENT)),
    ("map_push_elem", (handle("queue"), STACK, 1), error(Errno.INVALID)),
    ("map_push_elem", (handle("queue"), STACK, 1 << 32 | 2), error(Errno.INVALID)),
    ("map_peek_elem", (handle("requests"), STACK + 64), error(Errno.NOENT)),
    ("ringbuf_output", (handle("ring"), STACK, 8, 4), error(Errno.INVALID)),
    ("ringbuf_output", (handle("ring"), STACK, 8, 1 << 63 | 1), error(Errno.INVALID)),
    ("ringbuf_output", (handle("ring"), STACK, 8, 3), 0),
    ("ringbuf_output", (handle("ring"), 0, 0, 0), 0),
    ("ringbuf_reserve", (handle("ring"), 8, 1), 0),
    ("ringbuf_reserve", (handle("ring"), 8, 1 << 63), 0),
    ("ringbuf_reserve", (handle("ring"), 1 << 23, 0), 0),
    ("ringbuf_reserve", (handle("ring"), 1 << 63, 0), 0),
    ("ringbuf_query", (handle("ring"), 1 << 63), 0),
    ("ringbuf_query", (handle("ring"), 1), 256),
    ("tail_call", (0, handle("programs"), 5), error(Errno.NOENT)),
    ("tail_call", (0, handle("programs"), 6), error(Errno.NOENT)),
    ("tail_call", (0, handle("programs"), 2), error(Errno.NOENT)),  # no number of a program
    ("tail_call", (0, handle("programs"), 1 << 40), 3),
    ("tail_call", (0, handle("programs"), 1), 255),
    ("map_lookup_elem", (handle("maps"), STACK), handle("hash")),
]


def test_results_that_are_no_fault():
    async def scenario(bench):
        for name, arguments, value in ERRORS:
            reply = await bench.call(name, *arguments)
            assert reply.cause is FaultCause.NONE
            assert reply.value == value, (name, [hex(a) for a in arguments])
            assert reply.goes_on_elsewhere == (name == "tail_call" and value < 256)

    play(scenario)


def test_a_value_stays_if_it_cannot_be_stored():
    async def scenario(bench):
        bench.poke(0, 0, bytes(range(1, 13)))
        for target in (STACK + 501, map_address(NUMBERS["constants"]), 0):
            await bench.call("map_push_elem", handle("queue"), STACK, 0)
            assert (await bench.call("map_pop_elem", handle("queue"), target)).cause
            assert (await bench.call("map_pop_elem", handle("queue"), STACK + 99)).value == 0
            assert bench.stacks[0][99:111] == bytes(range(1, 13))
            # Nothing is left; zeros are stored.
            empty = await bench.call("map_pop_elem", handle("queue"), STACK + 99)
            assert empty.value == error(Errno.NOENT)
            assert bench.stacks[0][99:111] == bytes(12)

    play(scenario)


def test_a_value_can_be_stored_where_programs_may_not_read():
    async def scenario(bench):
        secrets = NUMBERS["secrets"]
        await bench.call("map_update_elem", handle("secrets"), STACK, STACK, 0)
        bench.poke(0, 0, bytes(range(1, 13)))
        for name in ("map_peek_elem", "map_pop_elem"):
            await bench.call("map_push_elem", handle("queue"), STACK, 0)
            reply = await bench.call(name, handle("queue"), map_address(secrets))
            assert (reply.cause, reply.value) == (FaultCause.NONE, 0)
        await compare_maps(bench)

    play(scenario)


def test_numbers_that_ask_no_map():
    async def scenario(bench):
        drawn = set()
        for thread in range(CONFIG.threads):
            time = await bench.call("ktime_get_ns", thread=thread)
            assert time.value == bench.time_of(thread)
            drawn.add((await bench.call("get_prandom_u32", thread=thread)).value)
            assert (await bench.call("get_smp_processor_id", thread=thread)).value == 1
        assert len(drawn) == CONFIG.threads

    play(scenario)


def test_values_of_an_engine_are_its_own():
    async def scenario(bench):
        found = await bench.call("map_lookup_elem", handle("per engine"), STACK)
        # The second engine's values lie behind the three of the first.
        assert found.value == map_address(NUMBERS["per engine"]) + 3 * 8

    play(scenario)


def inside(bench, thread, place, span, number=NUMBERS["ring"]):
    unit = bench.unit
    for port, value in (
        (unit.access_thread, thread),
        (unit.access_map, number),
        (unit.access_place, place),
        (unit.access_span, span),
    ):
        bench.ctx.set(port, value)
    return bench.ctx.get(unit.access_inside)


def test_open_records():
    async def scenario(bench):
        records = []
        for length in (16, 5, 8, 8):
            assert bench.ctx.get(bench.unit.open) == (1 << 2 if records else 0)
            reply = await bench.call("ringbuf_reserve", handle("ring"), length, 0, thread=2)
            records.append(reply.value)
        fifth = await bench.call("ringbuf_reserve", handle("ring"), 8, 0, thread=2)
        assert fifth.value == 0
        # Another thread has records of its own, and cannot give back this one's.
        assert (await bench.call("ringbuf_reserve", handle("ring"), 8, 0, thread=1)).value
        assert (await bench.call("ringbuf_submit", records[0], thread=1)).cause is BAD_MAP
        place = (records[1] - map_address(0)) % (1 << 22)
        assert inside(bench, 2, place, 5)
        assert inside(bench, 2, place + 4, 1)
        assert not inside(bench, 2, place, 6)
        assert not inside(bench, 2, place - 1, 1)
        assert not inside(bench, 1, place, 5)
        assert not inside(bench, 2, place, 5, number=NUMBERS["array"])
        # What helpers copy may lie in one.
        await bench.call("map_push_elem", handle("queue"), STACK, 0, thread=2)
        await bench.call("map_pop_elem", handle("queue"), records[0] + 3, thread=2)
        assert (await bench.call("map_pop_elem", handle("queue"), records[0] + 5, thread=2)).cause
        await bench.call("ringbuf_discard", records[1], thread=2)
        assert (await bench.call("ringbuf_discard", records[1], thread=2)).cause is BAD_MAP
        assert not inside(bench, 2, place, 5)
        assert (await bench.call("ringbuf_reserve", handle("ring"), 8, 0, thread=2)).value
        await bench.call("ringbuf_submit", records[2], thread=2)
        assert bench.ctx.get(bench.unit.open) == 0b0110
        assert await drain_rings(bench) == 0
        await bench.call("", thread=2)
        assert bench.ctx.get(bench.unit.open) == 0b0010
        await bench.call("", thread=1)
        assert bench.ctx.get(bench.unit.open) == 0
        assert await drain_rings(bench) == 1
        await compare_maps(bench)

    play(scenario)


def test_replies_wait_for_the_core_and_calls_do_not():
    async def scenario(bench):
        bench.patience = 60
        for thread, name in enumerate(("map_lookup_elem", "map_update_elem") * 2):
            bench.waiting.append(
                HelperCall(
                    thread=thread,
                    helper=number_of(name),
                    arguments=(handle("array"), STACK, STACK, 0),
                )
            )
        for _ in range(60):
            await bench.step()
        assert not bench.waiting
        assert len(bench.under_way) == 4
        await bench.settle()
        assert len(bench.replies) == 4

    play(scenario)


def test_lookups_follow_each_other_before_their_results():
    async def scenario(bench):
        for number in range(16):
            bench.waiting.append(
                HelperCall(
                    thread=number % 4,
                    helper=number_of("map_lookup_elem"),
                    arguments=(handle("array"), STACK),
                )
            )
        before = bench.cycle
        await bench.settle()
        assert bench.cycle - before <= 16 * 5 + 8

    play(scenario)


@pytest.mark.parametrize("key_bytes", [8, 128])
def test_shortest_and_longest_keys(key_bytes):
    specs = [
        MapSpec(name="a", kind=MapType.HASH, key_size=size, value_size=8, max_entries=4)
        for size in (key_bytes, key_bytes - 1)
    ]
    config = EbpfConfig(
        threads=2, maps=4, key_bytes=key_bytes, value_bytes=512, entries=8, buckets=32
    )
    bench = HelperBench(specs, config)

    async def scenario(bench):
        bench.poke(0, 0, bytes(range(1, 201)))
        for number in (0, 1):
            for place in (0, 3, 64):
                key = STACK + place
                await bench.call("map_update_elem", map_handle(number), key, STACK, 0)
                assert (await bench.call("map_lookup_elem", map_handle(number), key)).value
        # Of the maps that there could be, two do not exist.
        for number in (2, 3):
            reply = await bench.call("map_lookup_elem", map_handle(number), STACK)
            assert reply.cause is BAD_MAP

    bench.run(scenario)


@pytest.mark.parametrize("engine", [-1, 2])
def test_an_engine_that_there_is_not(engine):
    with pytest.raises(ValueError, match=f"engine = {engine} must be from 0 to 1"):
        HelperUnit(config=CONFIG, engine=engine)
