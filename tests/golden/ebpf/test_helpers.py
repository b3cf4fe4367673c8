"""Helpers as programs call them."""

import pytest

from fanweave.golden.ebpf.build import (
    alu,
    copy,
    helper,
    jump,
    leave,
    load,
    map_of,
    mov,
    store,
    store_imm,
    wide,
)
from fanweave.golden.ebpf.build import (
    call as call_local,
)
from fanweave.golden.ebpf.helpers import next_random
from fanweave.golden.ebpf.machine import Machine
from fanweave.golden.ebpf.maps import MapSpec, create_map
from fanweave.golden.ebpf.program import Program
from fanweave.golden.errors import InputError
from fanweave.golden.isa.ebpf import AluOperation, JumpOperation, Size
from fanweave.golden.isa.ebpf_helpers import HELPERS
from fanweave.golden.isa.ebpf_machine import FaultCause
from fanweave.golden.isa.ebpf_maps import MapFlag, MapType

NUMBERS = {h.name: n for n, h in HELPERS.items()}
M64 = (1 << 64) - 1


def make(kind, *, key=4, value=8, entries=4, flags=0):
    return create_map(
        MapSpec(
            name="m",
            kind=kind,
            key_size=key,
            value_size=value,
            max_entries=entries,
            flags=flags,
        )
    )


def one_of_each():
    """A map of every type."""
    sizes = {
        MapType.LPM_TRIE: {"key": 8},
        MapType.PROG_ARRAY: {"value": 4},
        MapType.ARRAY_OF_MAPS: {"value": 4},
        MapType.QUEUE: {"key": 0},
        MapType.STACK: {"key": 0},
        MapType.RINGBUF: {"key": 0, "value": 0, "entries": 64},
    }
    return [make(kind, **sizes.get(kind, {})) for kind in MapType]


def run(program, maps=(), **options):
    """Run a program once, in translated code."""
    return Machine(list(maps)).run(Program.of([*program, leave()]), bytes(16), **options)


def call(name):
    return helper(NUMBERS[name])


COUNT = [
    store_imm(10, 2, -4, Size.W),
    map_of(1, 0),
    copy(2, 10),
    alu(AluOperation.ADD, 2, imm=-4),
    call("map_lookup_elem"),
    jump(JumpOperation.JEQ, 0, 4, imm=0),
    load(1, 0),
    alu(AluOperation.ADD, 1, imm=1),
    store(0, 1),
    copy(0, 1),
]


def test_a_program_counts_in_an_array():
    array = make(MapType.ARRAY)
    machine = Machine([array])
    program = Program.of([*COUNT, leave()])
    for turn in range(1, 4):
        outcome = machine.run(program, reference=turn == 2)
        assert (outcome.fault, outcome.r0) == (FaultCause.NONE, turn)
    assert array.value_at(array.lookup((2).to_bytes(4, "little"))) == (3).to_bytes(8, "little")


def test_a_lookup_without_a_key_gives_zero():
    assert run(COUNT, [make(MapType.HASH)]).r0 == 0


def test_update_and_delete_give_negative_error_numbers():
    table = make(MapType.HASH, entries=1)
    update = [
        store_imm(10, 7, -4, Size.W),
        store_imm(10, 99, -16),
        map_of(1, 0),
        copy(2, 10),
        alu(AluOperation.ADD, 2, imm=-4),
        copy(3, 10),
        alu(AluOperation.ADD, 3, imm=-16),
        mov(4, 1),
        call("map_update_elem"),
    ]
    assert run(update, [table]).r0 == 0
    assert run(update, [table]).r0 == -17 & M64
    delete = [*update[:5], call("map_delete_elem")]
    assert run(delete, [table]).r0 == 0
    assert run(delete, [table]).r0 == -2 & M64


def test_queues_move_values_through_the_stack():
    queue = make(MapType.QUEUE, key=0)
    push = [
        store_imm(10, 41, -8),
        map_of(1, 0),
        copy(2, 10),
        alu(AluOperation.ADD, 2, imm=-8),
        mov(3, 0),
        call("map_push_elem"),
    ]
    assert run(push, [queue]).r0 == 0
    take = [map_of(1, 0), copy(2, 10), alu(AluOperation.ADD, 2, imm=-8)]
    assert run([*take, call("map_peek_elem"), load(0, 10, -8)], [queue]).r0 == 41
    assert run([*take, call("map_pop_elem"), load(0, 10, -8)], [queue]).r0 == 41
    assert run([*take, call("map_pop_elem")], [queue]).r0 == -2 & M64


def test_a_pop_to_a_bad_address_costs_no_value():
    queue = make(MapType.QUEUE, key=0)
    queue.push(bytes(8))
    outcome = run([map_of(1, 0), mov(2, 0), call("map_pop_elem")], [queue])
    assert outcome.fault is FaultCause.OUT_OF_BOUNDS
    assert len(queue.values) == 1


def test_a_record_is_reserved_filled_and_submitted():
    ring = make(MapType.RINGBUF, key=0, value=0, entries=64)
    program = [
        map_of(1, 0),
        mov(2, 8),
        mov(3, 0),
        call("ringbuf_reserve"),
        jump(JumpOperation.JEQ, 0, 5, imm=0),
        store_imm(0, 5),
        copy(1, 0),
        mov(2, 0),
        call("ringbuf_submit"),
        mov(0, 1),
    ]
    assert run(program, [ring]).r0 == 1
    assert ring.consume() == (5).to_bytes(8, "little")
    # Beyond the record, and after its end, nothing may be written.
    beyond = [*program[:5], store_imm(0, 5, 8), leave()]
    assert run(beyond, [ring]).fault is FaultCause.OUT_OF_BOUNDS
    late = [
        *program[:5],
        copy(6, 0),
        copy(1, 0),
        mov(2, 0),
        call("ringbuf_submit"),
        store_imm(6, 1),
    ]
    ring = make(MapType.RINGBUF, key=0, value=0, entries=64)
    assert run(late, [ring]).fault is FaultCause.OUT_OF_BOUNDS


def test_a_submit_of_something_else_is_a_fault():
    array = make(MapType.ARRAY)
    program = [copy(1, 10), mov(2, 0), call("ringbuf_submit")]
    assert run(program, [array]).fault is FaultCause.BAD_MAP


def test_output_copies_a_record():
    ring = make(MapType.RINGBUF, key=0, value=0, entries=64)
    program = [copy(2, 1), map_of(1, 0), mov(3, 16), mov(4, 0), call("ringbuf_output")]
    assert run(program, [ring]).r0 == 0
    assert ring.consume() == bytes(16)
    for _ in range(2):
        assert run(program, [ring]).r0 == 0
    assert run(program, [ring]).r0 == -11 & M64
    assert run([map_of(1, 0), mov(2, 0), call("ringbuf_query")], [ring]).r0 == 48


def test_an_inner_map_can_be_used():
    outer = make(MapType.ARRAY_OF_MAPS, value=4)
    inner = make(MapType.ARRAY)
    inner.update(bytes(4), (1234).to_bytes(8, "little"))
    outer.update((2).to_bytes(4, "little"), (1).to_bytes(4, "little"))
    program = [
        *COUNT[:5],
        jump(JumpOperation.JEQ, 0, 7, imm=0),
        copy(1, 0),
        store_imm(10, 0, -4, Size.W),
        copy(2, 10),
        alu(AluOperation.ADD, 2, imm=-4),
        call("map_lookup_elem"),
        jump(JumpOperation.JEQ, 0, 1, imm=0),
        load(0, 0),
    ]
    assert run(program, [outer, inner]).r0 == 1234


def test_seeds_of_engines_are_those_that_are_written_down():
    """0x2545f491, and that xor n times 0x9e3779b1 in 32 bits, worked out by hand."""
    seeds = [engine.random for engine in Machine(engines=4).engines]
    assert seeds == [0x2545F491, 0xBB728D20, 0x192B07F3, 0xFFE39982]


def test_time_stands_still_and_engines_draw_different_numbers():
    assert run([call("ktime_get_ns")], time_ns=77).r0 == 77
    machine = Machine(engines=2)
    program = Program.of([call("get_prandom_u32"), leave()])
    first = [machine.run(program, engine=0).r0 for _ in range(3)]
    second = [machine.run(program, engine=1).r0 for _ in range(3)]
    assert len({*first, *second}) == 6
    assert Machine().run(program).r0 == first[0]
    who = Program.of([call("get_smp_processor_id"), leave()])
    assert [machine.run(who, engine=n).r0 for n in range(2)] == [0, 1]


def test_the_generator_is_marsaglias():
    """Its first number from 1 with shifts of 13, 17 and 5, worked out by hand."""
    assert next_random(1) == 270_369
    state, seen = 1, set()
    for _ in range(10_000):
        state = next_random(state)
        seen.add(state)
    assert len(seen) == 10_000
    assert 0 not in seen


@pytest.mark.parametrize("handle", [0, 0x1000_0000, 0x8000_0001, 1 << 63])
def test_a_map_that_is_no_map_is_a_fault(handle):
    outcome = run([wide(1, handle), call("map_lookup_elem")])
    assert outcome.fault is FaultCause.BAD_MAP


def test_engines_and_maps_must_fit_the_machine():
    array = make(MapType.PERCPU_ARRAY)
    with pytest.raises(InputError) as refused:
        Machine([array], engines=2)
    assert str(refused.value) == ("map 'm' has values for 1 engines; the machine has engines = 2")
    with pytest.raises(InputError, match="257 maps; addresses can name 256"):
        Machine([array] * 257)
    with pytest.raises(InputError, match="engine = 1; the machine has 0 to 0"):
        run([], engine=1)


def test_each_engine_sees_its_own_values():
    array = create_map(
        MapSpec(name="m", kind=MapType.PERCPU_ARRAY, key_size=4, value_size=8, max_entries=4),
        engines=2,
    )
    machine = Machine([array], engines=2)
    program = Program.of([*COUNT, leave()])
    assert [machine.run(program, engine=engine).r0 for engine in (0, 1, 1)] == [1, 1, 2]


@pytest.mark.parametrize("arguments", [{"engines": 0}, {"budget": 0}])
def test_a_machine_needs_an_engine_and_a_budget(arguments):
    with pytest.raises(InputError, match="needs 1"):
        Machine(**arguments)


WITH_MAP = [helper for helper in HELPERS.values() if helper.maps]


@pytest.mark.parametrize("called", WITH_MAP, ids=lambda helper: helper.name)
def test_a_map_of_another_type_is_a_fault(called):
    """Linux's verifier has the same table."""
    maps = one_of_each()
    for number, made in enumerate(maps):
        first = 2 if called.name == "tail_call" else 1
        program = [
            *(copy(register, 10) for register in range(1, 6)),
            *(alu(AluOperation.ADD, register, imm=-64) for register in (1, 2, 3)),
            map_of(first, number),
            *([mov(3, 0)] if called.name in ("tail_call", "ringbuf_output") else []),
            *([mov(2, 8)] if called.name.startswith("ringbuf_res") else []),
            call(called.name),
        ]
        fault = run(program, maps).fault
        assert (fault is FaultCause.BAD_MAP) == (made.spec.kind not in called.maps)
        assert fault in (FaultCause.BAD_MAP, FaultCause.NONE)


def test_records_left_open_end_with_the_event():
    ring = make(MapType.RINGBUF, key=0, value=0, entries=256)
    reserve = [map_of(1, 0), mov(2, 8), mov(3, 0), call("ringbuf_reserve")]
    assert run([*reserve, *reserve], [ring]).r0 != 0
    assert ring.query(0) == 32
    assert run([*reserve, mov(1, 0), load(0, 1)], [ring]).fault is FaultCause.OUT_OF_BOUNDS
    assert ring.query(0) == 48
    # Nothing holds the next one up.
    assert (
        run(
            [
                mov(4, 0),
                copy(2, 10),
                alu(AluOperation.ADD, 2, imm=-8),
                map_of(1, 0),
                mov(3, 8),
                call("ringbuf_output"),
            ],
            [ring],
        ).r0
        == 0
    )
    assert ring.consume() == bytes(8)


def test_an_event_holds_so_many_records():
    ring = make(MapType.RINGBUF, key=0, value=0, entries=256)
    reserve = [map_of(1, 0), mov(2, 8), mov(3, 0), call("ringbuf_reserve")]
    submit = [copy(1, 0), mov(2, 0), call("ringbuf_submit")]
    assert run(reserve * 4, [ring]).r0 != 0
    assert run(reserve * 5, [ring]).r0 == 0
    ring = make(MapType.RINGBUF, key=0, value=0, entries=256)
    assert run([*(reserve + submit) * 4, *reserve], [ring]).r0 != 0


def test_reservations_with_flags_and_outputs_with_unknown_ones():
    ring = make(MapType.RINGBUF, key=0, value=0, entries=64)
    assert run([map_of(1, 0), mov(2, 8), mov(3, 1), call("ringbuf_reserve")], [ring]).r0 == 0
    output = [copy(2, 1), map_of(1, 0), mov(3, 4)]
    for flags, expected in ((4, -22 & M64), (1, 0), (2, 0), (3, 0)):
        assert run([*output, mov(4, flags), call("ringbuf_output")], [ring]).r0 == expected
    # Behind the last one there are 16 bytes, all of which may not be used.
    assert run([*output, mov(4, 0), call("ringbuf_output")], [ring]).r0 == -11 & M64


@pytest.mark.parametrize(
    ("flags", "last", "fault"),
    [
        (MapFlag.RDONLY_PROG, load(0, 0), FaultCause.NONE),
        (MapFlag.RDONLY_PROG, store(0, 0), FaultCause.FORBIDDEN),
        (MapFlag.WRONLY_PROG, load(0, 0), FaultCause.FORBIDDEN),
        (MapFlag.WRONLY_PROG, store_imm(0, 0), FaultCause.NONE),
        (0, store_imm(0, 0), FaultCause.NONE),
    ],
)
def test_flags_keep_programs_from_values(flags, last, fault):
    array = make(MapType.ARRAY, flags=flags)
    program = [wide(0, 0, kind=2), last, mov(0, 0)]
    assert run(program, [array]).fault is fault
    assert run(program, [array], reference=True).fault is fault


def test_helpers_do_not_change_a_map_that_is_read_only():
    array = make(MapType.ARRAY, flags=MapFlag.RDONLY_PROG)
    key = [store_imm(10, 0, -8), copy(2, 10), alu(AluOperation.ADD, 2, imm=-8), copy(3, 2)]
    for name in ("map_update_elem", "map_delete_elem"):
        outcome = run([*key, mov(4, 0), map_of(1, 0), call(name)], [array])
        assert outcome.fault is FaultCause.FORBIDDEN
    queue = make(MapType.QUEUE, key=0, flags=MapFlag.RDONLY_PROG)
    queue.push(bytes(8))
    for name, fault in (
        ("map_push_elem", FaultCause.FORBIDDEN),
        ("map_pop_elem", FaultCause.FORBIDDEN),
        ("map_peek_elem", FaultCause.NONE),
    ):
        assert run([*key, mov(3, 0), map_of(1, 0), call(name)], [queue]).fault is fault


@pytest.mark.parametrize("reference", [False, True])
def test_a_program_that_a_function_goes_on_in_returns_to_the_functions_caller(reference):
    table = make(MapType.PROG_ARRAY, value=4)
    table.update((1).to_bytes(4, "little"), (3).to_bytes(4, "little"))
    caller = Program.of(
        [
            *(mov(6, 40), call_local(2), alu(AluOperation.ADD, 0, 6), leave()),
            *(map_of(2, 0), mov(3, 1), call("tail_call"), mov(0, 1000), leave()),
        ],
        "caller",
    )
    # Its r6 is its own, and its slot 2 is not where the caller goes on.
    other = Program.of([mov(6, 7), mov(0, 2), leave(), mov(0, 99), leave()], "other")
    machine = Machine([table], programs={3: other})
    outcome = machine.run(caller, reference=reference)
    assert (outcome.fault, outcome.r0) == (FaultCause.NONE, 42)
    assert outcome.instructions == 2 + 3 + 3 + 2


@pytest.mark.parametrize(
    ("operand_bytes", "fault"), [(16, FaultCause.NONE), (15, FaultCause.OPERAND_SIZE)]
)
def test_a_machine_may_copy_so_many_bytes(operand_bytes, fault):
    ring = make(MapType.RINGBUF, key=0, value=0, entries=64)
    queue = make(MapType.QUEUE, key=0, value=16)
    keyed = make(MapType.HASH, value=16)
    for program in (
        [copy(2, 1), map_of(1, 0), mov(3, 16), mov(4, 0), call("ringbuf_output")],
        [copy(2, 1), map_of(1, 1), mov(3, 0), call("map_push_elem")],
        [copy(2, 1), map_of(1, 1), call("map_peek_elem")],
        [copy(2, 1), map_of(1, 1), call("map_pop_elem")],
        [copy(2, 1), copy(3, 1), map_of(1, 2), mov(4, 0), call("map_update_elem")],
    ):
        machine = Machine([ring, queue, keyed], operand_bytes=operand_bytes)
        assert machine.run(Program.of([*program, leave()]), bytearray(16)).fault is fault
