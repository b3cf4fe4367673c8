"""Linux as a machine: programs of this project, verified, translated and run by the kernel."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from types import TracebackType

from fanweave.golden.ebpf.build import call, copy, helper, jump, leave, mov, store, wide
from fanweave.golden.ebpf.linux.maps import LinuxMap
from fanweave.golden.ebpf.linux.system import load_program, test_run
from fanweave.golden.ebpf.maps import MapSpec
from fanweave.golden.ebpf.program import Program
from fanweave.golden.errors import InputError
from fanweave.golden.isa.ebpf import Instruction, JumpOperation, WideKind, encode_program
from fanweave.golden.isa.ebpf_helpers import HELPERS
from fanweave.golden.isa.ebpf_maps import MapType

__all__ = ["LinuxMachine", "RefusedError"]

_NUMBERS = {row.name: row.number for row in HELPERS.values()}
_OF_MAP = (WideKind.MAP_FD, WideKind.MAP_INDEX)
_OF_VALUE = (WideKind.MAP_VALUE, WideKind.MAP_INDEX_VALUE)
_KEY = bytes(4)


class RefusedError(InputError):
    """Linux's verifier does not let a program run; the message is the verifier's last words."""


class LinuxMachine:
    """Runs programs in the kernel.

    The context is the value of a map, whose address is in r1 and length in r2, as in the golden
    machine; the program is a function that a few instructions call, which keep its r0. So it has
    one frame less.

    Parameters
    ----------
    specs : sequence of MapSpec
        Definitions of maps 0, 1, and so on.
    inner : mapping of int to int
        By the number of an array of maps: the number of a map like those that it will name.

    Raises
    ------
    LinuxError
        If Linux refuses a map, or everything: see `why_unavailable`.
    """

    def __init__(
        self, specs: Sequence[MapSpec] = (), *, inner: Mapping[int, int] | None = None
    ) -> None:
        templates = inner or {}
        self._programs: dict[tuple[Program, int], int] = {}
        self._own: list[LinuxMap] = []
        made: dict[int, LinuxMap] = {}
        try:
            # An array of maps needs another map first.
            for number in sorted(range(len(specs)), key=lambda number: number in templates):
                template = made[templates[number]] if number in templates else None
                made[number] = LinuxMap(specs[number], template)
            self._result = self._array(8)
        finally:
            self.maps = [made[number] for number in sorted(made)]
        for ring in self.maps:
            if ring.padding:
                self._pad(ring)

    def __enter__(self) -> "LinuxMachine":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Give everything back to Linux."""
        for descriptor in self._programs.values():
            os.close(descriptor)
        for made in (*self.maps, *self._own):
            made.close()
        self._programs.clear()
        self.maps, self._own = [], []

    def _array(self, value_size: int) -> LinuxMap:
        """An array of one value."""
        made = LinuxMap(
            MapSpec(
                name="own", kind=MapType.ARRAY, key_size=4, value_size=value_size, max_entries=1
            )
        )
        self._own.append(made)
        return made

    def _pad(self, ring: LinuxMap) -> None:
        """Fill a ring until only as much is left as its definition says."""
        program = [
            *(_of(1, ring), mov(2, ring.padding - 8), mov(3, 0)),
            *(helper(_NUMBERS["ringbuf_reserve"]), jump(JumpOperation.JEQ, 0, 3, imm=0)),
            *(copy(1, 0), mov(2, 0), helper(_NUMBERS["ringbuf_discard"]), mov(0, 0), leave()),
        ]
        descriptor = _load(program, "padding")
        try:
            test_run(descriptor)
        finally:
            os.close(descriptor)

    def run(self, program: Program, context: bytearray | bytes = b"") -> int:
        """Run a program once, on the first processor.

        Parameters
        ----------
        program : Program
            Its 64-bit immediates name maps by their numbers.
        context : bytearray or bytes
            A bytearray holds what the program made of it afterwards.

        Returns
        -------
        int
            r0; unsigned, 64 bits.

        Raises
        ------
        RefusedError
            If the verifier does not accept the program.
        LinuxError
            If Linux does not run it.
        """
        memory = self._contexts(len(context))
        memory.update(_KEY, bytes(context) or b"\0")
        descriptor = self._program(program, len(context), memory)
        with _first_processor():
            test_run(descriptor)
        if isinstance(context, bytearray) and context:
            context[:] = memory.get(_KEY) or b""
        return int.from_bytes(self._result.get(_KEY) or b"", "little")

    def load_raw(self, program: Program) -> int:
        """Load a program that gets Linux's context, for a program array; returns its descriptor.

        Raises
        ------
        RefusedError
            If the verifier does not accept it.
        """
        key = (program, -1)
        if key not in self._programs:
            self._programs[key] = _load(self._with_maps(program.instructions), program.name)
        return self._programs[key]

    def _contexts(self, length: int) -> LinuxMap:
        size = max(length, 1)
        for made in self._own[1:]:
            if made.spec.value_size == size:
                return made
        return self._array(size)

    def _program(self, program: Program, length: int, memory: LinuxMap) -> int:
        key = (program, length)
        if key not in self._programs:
            before = (_value_of(1, memory), mov(2, length), call(5))
            after = (_value_of(1, self._result), store(1, 0), mov(0, 0), leave())
            # A program of this project may rely on the zero that r0 begins with.
            body = (mov(0, 0), *self._with_maps(program.instructions))
            self._programs[key] = _load([*before, *after, *body], program.name)
        return self._programs[key]

    def _with_maps(self, instructions: Iterable[Instruction]) -> list[Instruction]:
        """Descriptors instead of the numbers of maps."""
        result = []
        for instruction in instructions:
            if instruction.is_wide and instruction.src in (*_OF_MAP, *_OF_VALUE):
                if not 0 <= instruction.imm < len(self.maps):
                    raise RefusedError(f"there is no map {instruction.imm}")
                kind = WideKind.MAP_FD if instruction.src in _OF_MAP else WideKind.MAP_VALUE
                descriptor = self.maps[instruction.imm].descriptor
                instruction = replace(instruction, src=int(kind), imm=descriptor)
            result.append(instruction)
        return result


def _of(register: int, made: LinuxMap) -> Instruction:
    return wide(register, made.descriptor, kind=WideKind.MAP_FD)


def _value_of(register: int, made: LinuxMap) -> Instruction:
    return wide(register, made.descriptor, kind=WideKind.MAP_VALUE)


def _load(instructions: list[Instruction], name: str) -> int:
    descriptor, log = load_program(encode_program(instructions))
    if descriptor < 0:
        lines = [line for line in log.splitlines() if line and not line.startswith("processed ")]
        raise RefusedError(f"Linux refuses {name!r}: {'; '.join(lines[-2:])}")
    return descriptor


@contextmanager
def _first_processor() -> Iterator[None]:
    """Stay on the first processor, so that programs see number 0."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)
