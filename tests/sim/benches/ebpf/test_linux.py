"""The golden machine and Linux agree on random programs and on random operations on maps."""

import pytest

from fanweave.golden.ebpf.linux import why_unavailable
from fanweave.golden.ebpf.machine import Machine
from fanweave.golden.ebpf.maps import HashMap, QueueMap, RingMap
from fanweave.golden.errors import FaultError, InputError
from fanweave.golden.isa.ebpf import AtomicOperation, CallKind, WideKind
from fanweave.golden.isa.ebpf_instructions import INSTRUCTIONS, kind_of
from fanweave.golden.isa.ebpf_machine import FaultCause
from fanweave.golden.isa.ebpf_maps import Errno, MapType
from fanweave.sim.benches.ebpf import linux
from fanweave.sim.benches.ebpf.linux_maps import SPECS, operations_of
from fanweave.sim.benches.ebpf.linux_programs import CONTEXT_BYTES, verifiable_program

needs_linux = pytest.mark.skipif(
    bool(why_unavailable()), reason=f"no eBPF from Linux: {why_unavailable()}"
)

ARRAY_RESULTS = {
    *(("lookup", 0), ("lookup", 1), ("delete", -Errno.INVALID)),
    *(("update", -error) for error in (0, Errno.TOO_BIG, Errno.EXIST, Errno.INVALID)),
}
KEYED_RESULTS = {
    *(("lookup", 0), ("lookup", 1), ("delete", 0), ("delete", -Errno.NOENT)),
    *(("update", -error) for error in (0, Errno.NOENT, Errno.EXIST, Errno.INVALID)),
}
QUEUE_RESULTS = {
    *(("push", -error) for error in (0, Errno.TOO_BIG, Errno.INVALID)),
    *((name, -error) for name in ("pop", "peek") for error in (0, Errno.NOENT)),
}
RESULTS = {
    MapType.ARRAY: ARRAY_RESULTS,
    MapType.PERCPU_ARRAY: ARRAY_RESULTS,
    MapType.HASH: KEYED_RESULTS | {("update", -Errno.TOO_BIG)},
    MapType.LRU_HASH: KEYED_RESULTS,
    MapType.LPM_TRIE: KEYED_RESULTS | {("update", -Errno.NO_SPACE), ("delete", -Errno.INVALID)},
    MapType.QUEUE: QUEUE_RESULTS,
    MapType.STACK: QUEUE_RESULTS,
    MapType.RINGBUF: {
        *(("output", -error) for error in (0, Errno.AGAIN, Errno.INVALID)),
        *(("8 bytes, submit", 1), ("8 bytes, submit", 0), ("200 bytes, discard", 1)),
        *(("query", 0), ("query", 4096)),
    },
}


def test_programs_have_every_instruction_that_linux_lets_run():
    rows = {
        id(kind_of(instruction))
        for seed in range(150)
        for instruction in verifiable_program(seed).instructions
    }
    missing = [row for row in INSTRUCTIONS if id(row) not in rows]
    others = {row.src for row in missing}
    assert {row.name.split()[0] for row in missing} == {"call", "lddw"}
    assert others == {*WideKind} - {WideKind.IMMEDIATE} | {CallKind.HELPER, CallKind.BTF}


def test_nothing_is_fetched_from_the_stack():
    fetches = [
        instruction
        for seed in range(100)
        for instruction in verifiable_program(seed).instructions
        if instruction.opcode in (0xC3, 0xDB) and instruction.imm & AtomicOperation.FETCH
    ]
    assert {instruction.dst for instruction in fetches} == {9}


def test_programs_end_without_a_fault():
    for seed in range(100):
        outcome = Machine().run(verifiable_program(seed), bytes(CONTEXT_BYTES))
        assert outcome.fault is FaultCause.NONE


@needs_linux
def test_random_programs():
    assert linux.compare_programs(seed=9669, programs=40) > 5_000


@needs_linux
@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: f"{spec.name}-{spec.key_size}")
def test_random_operations(spec):
    results = linux.compare_maps(9, spec, 1_000)
    assert RESULTS[spec.kind] <= set(results)
    assert {name for name, _ in results} == set(operations_of(spec.kind))


@needs_linux
def test_a_difference_in_a_program_is_reported(monkeypatch):
    class Wrong(Machine):
        def run(self, *arguments, **options):
            outcome = super().run(*arguments, **options)
            context = arguments[1]
            context[-1] ^= 1
            return outcome

    monkeypatch.setattr(linux, "Machine", Wrong)
    with pytest.raises(FaultError, match=r"program 'verifiable \d+' with context .*: Linux has r0"):
        linux.compare_programs(seed=1, programs=1)


@needs_linux
@pytest.mark.parametrize(
    ("kind", "owner", "method", "replacement", "message"),
    [
        (MapType.HASH, HashMap, "delete", lambda self, key: 0, "golden"),
        (MapType.QUEUE, QueueMap, "next", lambda self: self.values[-1], "operation"),
        (MapType.RINGBUF, RingMap, "query", lambda self, what: 0, "query Operation"),
        (MapType.RINGBUF, RingMap, "consume", lambda self: None, "by a host"),
        (MapType.STACK, QueueMap, "items", lambda self: iter(()), "in the end Linux has"),
    ],
)
def test_a_difference_in_a_map_is_reported(monkeypatch, kind, owner, method, replacement, message):
    spec = next(spec for spec in SPECS if spec.kind is kind)
    monkeypatch.setattr(owner, method, replacement)
    with pytest.raises(FaultError, match=message):
        linux.compare_maps(3, spec, 300)


@needs_linux
def test_a_round_of_the_soak(monkeypatch):
    monkeypatch.setattr(linux, "_PROGRAMS", 2)
    monkeypatch.setattr(linux, "_OPERATIONS", 3)
    line = linux.play(seed=5)
    assert line.startswith("2 programs on 4 contexts each, ")
    assert line.endswith("; 3 operations on each of 10 maps")


def test_there_are_no_presets_and_without_a_kernel_no_rounds(monkeypatch):
    with pytest.raises(InputError, match="Linux has no preset 'tiny'"):
        linux.play(seed=1, config="tiny")
    monkeypatch.setattr(linux, "why_unavailable", lambda: "bpf(PROG_LOAD): Operation not permitted")
    with pytest.raises(InputError, match="the kernel of this machine runs no programs: bpf"):
        linux.play(seed=1)
