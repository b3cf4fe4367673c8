"""Plays random programs and operations on the golden machine and in Linux, and compares."""

import random
from collections import Counter

from fanweave.golden.ebpf.arithmetic import signed
from fanweave.golden.ebpf.linux import LinuxMachine, RefusedError, why_unavailable
from fanweave.golden.ebpf.machine import Machine
from fanweave.golden.ebpf.maps import Map, MapSpec, RingMap, create_map
from fanweave.golden.ebpf.program import Program
from fanweave.golden.errors import FaultError, InputError
from fanweave.golden.isa.ebpf_machine import FaultCause
from fanweave.golden.isa.ebpf_maps import MapType
from fanweave.sim.benches.ebpf.linux_maps import (
    SPECS,
    operations_of,
    operator_program,
    random_operation,
)
from fanweave.sim.benches.ebpf.linux_programs import CONTEXT_BYTES, verifiable_program

__all__ = ["compare_maps", "compare_programs", "play"]

_PROGRAMS = 40
_CONTEXTS = 4
_OPERATIONS = 400
#: Kinds that a host changes too; queues, rings and arrays for each processor it reads only.
_HOST_KINDS = (MapType.ARRAY, MapType.HASH, MapType.LRU_HASH, MapType.LPM_TRIE)
_HOST_SHARE = 0.1
_READER_SHARE = 0.1


def compare_programs(seed: int, programs: int) -> int:
    """Run random programs on random contexts; returns how many instructions.

    Raises
    ------
    FaultError
        If a result or a context differs, or Linux refuses a program.
    """
    generator = random.Random(seed)
    golden = Machine()
    executed = 0
    for _ in range(programs):
        program = verifiable_program(generator.getrandbits(48))
        with LinuxMachine() as linux:
            for _ in range(_CONTEXTS):
                begin = _context(generator)
                executed += _compare_event(program, begin, golden, linux)
    return executed


def _context(generator: random.Random) -> bytes:
    """Any bytes, or those at whose edges arithmetic differs."""
    if generator.random() < 0.5:
        return generator.randbytes(CONTEXT_BYTES)
    return bytes(generator.choice((0, 0, 1, 0x7F, 0x80, 0xFF)) for _ in range(CONTEXT_BYTES))


def _compare_event(program: Program, begin: bytes, golden: Machine, linux: LinuxMachine) -> int:
    expected, found = bytearray(begin), bytearray(begin)
    try:
        r0 = linux.run(program, found)
    except RefusedError as error:
        raise FaultError(str(error)) from None
    outcome = golden.run(program, expected)
    if (outcome.fault, outcome.r0, expected) != (FaultCause.NONE, r0, found):
        raise FaultError(
            f"program {program.name!r} with context {begin.hex()}: Linux has r0 = {r0:#x}, context "
            f"{found.hex()}; golden {outcome.fault.name}, {outcome.r0:#x}, {expected.hex()}"
        )
    return outcome.instructions


def compare_maps(seed: int, spec: MapSpec, operations: int) -> Counter[tuple[str, int]]:
    """Do random operations to a map, by a program and by a host.

    Returns
    -------
    Counter
        How often an operation by the program had a result: name and r0, signed.

    Raises
    ------
    FaultError
        If a result, a value or what is in the map in the end differs.
    """
    generator = random.Random(seed)
    program = operator_program(spec)
    made = create_map(spec)
    golden = Machine([made])
    names = operations_of(spec.kind)
    results: Counter[tuple[str, int]] = Counter()
    with LinuxMachine([spec]) as linux:
        for number in range(operations):
            operation = random_operation(generator, spec)
            expected, found = operation.context, operation.context
            r0 = linux.run(program, found)
            outcome = golden.run(program, expected)
            if (outcome.fault, outcome.r0, expected) != (FaultCause.NONE, r0, found):
                raise FaultError(
                    f"operation {number} on {spec}, {names[operation.number]} "
                    f"{operation}: Linux has r0 = {r0:#x}, context {found.hex()}; golden "
                    f"{outcome.fault.name}, {outcome.r0:#x}, {expected.hex()}"
                )
            results[names[operation.number], signed(r0, 64)] += 1
            _as_host(generator, made, linux)
        found_items, expected_items = list(linux.maps[0].items()), list(made.items())
    if found_items != expected_items:
        raise FaultError(f"{spec}: in the end Linux has {found_items}; golden {expected_items}")
    return results


def _as_host(generator: random.Random, made: Map, linux: LinuxMachine) -> None:
    """Now and then, something that a host does."""
    other = linux.maps[0]
    spec = made.spec
    pairs: list[tuple[object, object]] = []
    if isinstance(made, RingMap) and generator.random() < _READER_SHARE:
        pairs = [(made.consume(), other.consume()) for _ in range(generator.randrange(6))]
    elif spec.kind in _HOST_KINDS and generator.random() < _HOST_SHARE:
        operation = random_operation(generator, spec)
        key, value = operation.key[: spec.key_size], operation.value[: spec.value_size]
        flags = operation.flags & 3
        pairs = [
            (made.get(key), other.get(key)),
            (made.update(key, value, flags), other.update(key, value, flags)),
        ]
        if generator.random() < 0.3:
            pairs.append((made.delete(key), other.delete(key)))
    for expected, found in pairs:
        if found != expected:
            raise FaultError(f"{spec}, by a host: Linux has {found!r}; golden {expected!r}")


def play(seed: int, config: str | None = None) -> str:
    """Play a round of the soak: programs, and operations on every kind of map.

    Parameters
    ----------
    seed : int
        Decides everything.
    config : str, optional
        There is nothing to choose.

    Raises
    ------
    FaultError
        If something differs.
    InputError
        If this machine's kernel does not run programs, or a preset is named.
    """
    if config is not None:
        raise InputError(f"Linux has no preset {config!r}; leave --config out")
    if reason := why_unavailable():
        raise InputError(f"the kernel of this machine runs no programs: {reason}")
    executed = compare_programs(seed, _PROGRAMS)
    for spec in SPECS:
        compare_maps(seed, spec, _OPERATIONS)
    return (
        f"{_PROGRAMS} programs on {_CONTEXTS} contexts each, {executed} instructions; "
        f"{_OPERATIONS} operations on each of {len(SPECS)} maps"
    )
