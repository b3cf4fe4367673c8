"""What the harness around Linux does by itself, and limits that need programs of their own."""

import os

import pytest

from fanweave.golden.ebpf.build import (
    alu,
    atomic,
    call,
    copy,
    helper,
    jump,
    leave,
    load,
    map_of,
    mov,
    store_imm,
)
from fanweave.golden.ebpf.linux import LinuxMachine, RefusedError, why_unavailable
from fanweave.golden.ebpf.linux.maps import possible_processors
from fanweave.golden.ebpf.linux.system import Command, element
from fanweave.golden.ebpf.linux.system import test_run as run_raw
from fanweave.golden.ebpf.machine import Machine
from fanweave.golden.ebpf.maps import MapSpec, create_map
from fanweave.golden.ebpf.program import Program
from fanweave.golden.isa.ebpf import AluOperation, JumpOperation, Size
from fanweave.golden.isa.ebpf_machine import CALL_FRAMES, TAIL_CALLS
from fanweave.golden.isa.ebpf_maps import Errno, MapType

pytestmark = pytest.mark.skipif(
    bool(why_unavailable()), reason=f"no eBPF from Linux: {why_unavailable()}"
)


def spec(kind, *, key=4, value=8, entries=1):
    return MapSpec(name="m", kind=kind, key_size=key, value_size=value, max_entries=entries)


def test_a_context_has_its_length_and_keeps_what_is_stored():
    program = Program.of([store_imm(1, 7, 2, Size.B), copy(0, 2), leave()])
    with LinuxMachine() as machine:
        for length in (5, 3, 5):
            context = bytearray(range(length))
            assert machine.run(program, context) == length
            assert context == bytes([0, 1, 7, *range(3, length)])


def test_r0_has_64_bits():
    program = Program.of([mov(0, -1), leave()])
    with LinuxMachine() as machine:
        assert machine.run(program) == (1 << 64) - 1


def test_a_refusal_says_what_the_verifier_says():
    with LinuxMachine() as machine, pytest.raises(RefusedError) as refused:
        machine.run(Program.of([load(0, 1, 8), leave()], "too far"), bytes(8))
    assert "Linux refuses 'too far'" in str(refused.value)
    assert "invalid access to map value, value_size=8 off=8 size=8" in str(refused.value)


def test_a_map_that_is_not_there_is_refused():
    with LinuxMachine() as machine, pytest.raises(RefusedError, match="there is no map 3"):
        machine.run(Program.of([map_of(1, 3), leave()]))


def nested(depth):
    calls = [call(2), alu(AluOperation.ADD, 0, imm=1), leave()] * depth
    return Program.of([*calls, mov(0, 0), leave()])


def test_linux_has_as_many_frames():
    """One of them is the harness's."""
    with LinuxMachine() as machine:
        assert machine.run(nested(CALL_FRAMES - 2)) == CALL_FRAMES - 2
        with pytest.raises(RefusedError, match=f"the call stack of {CALL_FRAMES + 1} frames"):
            machine.run(nested(CALL_FRAMES - 1))


def test_linux_makes_as_many_tail_calls():
    """A program counts in a map and goes on in itself as often as it may."""
    again = Program.of(
        [
            *(copy(6, 1), store_imm(10, 0, -8, Size.W)),
            *(map_of(1, 1), copy(2, 10), alu(AluOperation.ADD, 2, imm=-8), helper(1)),
            *(jump(JumpOperation.JEQ, 0, 2, imm=0), mov(1, 1), atomic(0, 0, 1)),
            *(copy(1, 6), map_of(2, 0), mov(3, 0), helper(12), mov(0, 5), leave()),
        ]
    )
    specs = [spec(MapType.PROG_ARRAY, value=4), spec(MapType.ARRAY)]
    maps = [create_map(each) for each in specs]
    assert maps[0].update(bytes(4), bytes(4)) == 0
    assert Machine(maps, programs={0: again}).run(again).r0 == 5
    with LinuxMachine(specs) as machine:
        descriptor = machine.load_raw(again)
        assert machine.maps[0].update(bytes(4), descriptor.to_bytes(4, "little")) == 0
        assert run_raw(descriptor) == 5
        counted = machine.maps[1].get(bytes(4))
    assert counted == maps[1].get(bytes(4)) == (TAIL_CALLS + 1).to_bytes(8, "little")


def test_a_ring_is_as_small_as_its_definition_says_and_can_be_read():
    fill = Program.of(
        [
            *(copy(2, 1), map_of(1, 0), mov(3, 40), mov(4, 0), helper(130), leave()),
        ]
    )
    ring = spec(MapType.RINGBUF, key=0, value=0, entries=64)
    with LinuxMachine([ring]) as machine:
        results = []
        for turn in range(3):
            results.append(machine.run(fill, bytes([turn] * 40)))
            if turn == 1:
                assert machine.maps[0].consume() == bytes(40)
                assert machine.maps[0].consume() is None
        assert results == [0, 2**64 - Errno.AGAIN, 0]
        assert list(machine.maps[0].items()) == [(b"", bytes([2] * 40))]


@pytest.mark.parametrize(("kind", "order"), [(MapType.QUEUE, b"ab"), (MapType.STACK, b"ab")])
def test_queues_are_read_from_the_oldest_on(kind, order):
    with LinuxMachine([spec(kind, key=0, value=1, entries=2)]) as machine:
        made = machine.maps[0]
        assert [made.update(b"", value) for value in (b"a", b"b", b"c")] == [0, 0, -Errno.TOO_BIG]
        assert b"".join(value for _, value in made.items()) == order


def test_a_host_changes_the_values_of_all_processors():
    array = spec(MapType.PERCPU_ARRAY, value=5)
    with LinuxMachine([array]) as machine:
        made = machine.maps[0]
        assert made.update(bytes(4), b"abcde") == 0
        size = 8 * possible_processors()
        values = element(Command.MAP_LOOKUP_ELEM, made.descriptor, bytes(4), bytes(size))
        assert values == b"abcde\0\0\0" * possible_processors()
        assert made.get(bytes(4)) == b"abcde"
        assert made.per_processor


def test_descriptors_are_given_back():
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(3):
        with LinuxMachine([spec(MapType.ARRAY)]) as machine:
            machine.run(Program.of([mov(0, 1), leave()]), b"x")
    assert len(os.listdir("/proc/self/fd")) == before
