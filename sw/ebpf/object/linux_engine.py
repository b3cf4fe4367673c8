"""The Linux kernel of this machine as an engine."""

from fanweave.golden.ebpf.linux import LinuxMachine, LinuxMap, why_unavailable
from fanweave.golden.errors import InputError
from fanweave.golden.isa.ebpf import WideKind
from fanweave.golden.isa.ebpf_maps import TABLES, Errno, MapType
from fanweave.sw.ebpf.object.contents import Contents, Entries, initial_contents
from fanweave.sw.ebpf.object.engines import RunRequest, RunResult
from fanweave.sw.ebpf.object.model import ObjectFile, ObjectProgram

__all__ = ["run"]

_DESCRIPTOR_BYTES = 4


def run(request: RunRequest) -> RunResult:
    """Run a program in the kernel, with maps of its own.

    Raises
    ------
    InputError
        If this kernel runs no programs, its verifier refuses this one, a map does not take what is
        put into it, or a trace is wanted.
    LinuxError
        If a system call fails.
    """
    if request.trace is not None or request.reference:
        raise InputError("the kernel shows no instructions; --engine golden does")
    if reason := why_unavailable():
        raise InputError(f"the kernel of this machine runs no programs: {reason}")
    loaded = request.loaded
    specs = [made.spec for made in loaded.maps]
    templates = {}
    for number, made in enumerate(loaded.maps):
        if made.inner is not None:
            # Linux learns from a map what those in the array will be like.
            templates[number] = len(specs)
            specs.append(made.inner)
    contents = initial_contents(loaded)
    for number, entries in request.contents.items():
        contents[number] = [*contents.get(number, ()), *entries]
    context = bytearray(request.context)
    with LinuxMachine(specs, inner=templates) as linux:
        for number, entries in contents.items():
            _fill(linux, loaded, number, entries, request.program)
        r0 = linux.run(request.program.program, context)
        found = _contents(linux, loaded, contents)
    return RunResult(r0=r0, context=bytes(context), contents=found)


def _fill(
    linux: LinuxMachine,
    loaded: ObjectFile,
    number: int,
    entries: Entries,
    program: ObjectProgram,
) -> None:
    made = linux.maps[number]
    kind = made.spec.kind
    if kind is MapType.RINGBUF and entries:
        raise InputError(f"map {made.spec.name!r} is a ring buffer, which only programs write")
    # Programs in a table that this program does not use need not please the verifier.
    if kind is MapType.PROG_ARRAY and number not in _maps_of(program):
        return
    for key, value in entries:
        _put(made, key, _value_for(linux, loaded, kind, value))


def _value_for(linux: LinuxMachine, loaded: ObjectFile, kind: MapType, value: bytes) -> bytes:
    """What Linux wants: of tables descriptors."""
    if kind not in TABLES:
        return value
    number = int.from_bytes(value, "little")
    if kind is MapType.ARRAY_OF_MAPS:
        descriptor = linux.maps[number].descriptor
    else:
        descriptor = linux.load_raw(loaded.programs[number].program)
    return descriptor.to_bytes(_DESCRIPTOR_BYTES, "little")


def _put(made: LinuxMap, key: bytes, value: bytes) -> None:
    result = made.update(key, value[: made.spec.value_size])
    if result:
        known = -result in list(Errno)
        raise InputError(
            f"map {made.spec.name!r} does not take the entry with key {key.hex() or 'none'}: "
            f"{Errno(-result).name if known else result}"
        )


def _maps_of(program: ObjectProgram) -> set[int]:
    return {
        instruction.imm
        for instruction in program.program.instructions
        if instruction.is_wide and instruction.src == WideKind.MAP_FD
    }


def _contents(linux: LinuxMachine, loaded: ObjectFile, before: Contents) -> dict[int, Entries]:
    """What is in the maps; programs cannot change tables, and Linux gives them no names."""
    return {
        number: sorted(dict(before.get(number, ())).items())
        if made.spec.kind in TABLES
        else list(linux.maps[number].items())
        for number, made in enumerate(loaded.maps)
    }
