"""Changes object files at random and loads them: a loader may refuse, and do nothing else.

Everything follows from the seed. A change knows the structures of the file: it sets a field of a
header, a symbol, a relocation, a type or an instruction, as well as flipping bits and cutting.
"""

import random
import resource
import signal
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from fanweave.golden.errors import FaultError, InputError
from fanweave.sw.ebpf.object.compiler import CPUS, compile_c
from fanweave.sw.ebpf.object.elf import Elf
from fanweave.sw.ebpf.object.elf_reader import read_elf
from fanweave.sw.ebpf.object.loader import load_object
from fanweave.sw.ebpf.object.report import code_report, file_report, load_report
from fanweave.sw.ebpf.object.samples import SAMPLES
from fanweave.sw.ebpf.object.verification import check_object, verify_for_load

__all__ = ["Tally", "fuzz", "load_changed", "mutate", "play", "sample_objects"]

#: Changes of one round of the soak.
_ROUND = 1000
#: A loader that takes longer for a file of some kilobytes hangs.
_SECONDS = 5
#: That the verifier follows of one program; the samples need some hundreds.
_STEPS = 20_000
#: By which the process may grow.
_KIBIBYTES = 512 * 1024


@cache
def sample_objects() -> tuple[bytes, ...]:
    """Valid files to begin with: each sample, for two versions of the instruction set."""
    with tempfile.TemporaryDirectory() as folder:
        made = []
        for name, text in SAMPLES.items():
            source = Path(folder) / f"{name}.c"
            source.write_text(text)
            made += [compile_c(source, cpu=cpu).data for cpu in CPUS[-2:]]
        return tuple(made)


@dataclass(frozen=True)
class _Place:
    """A field of the file: where, and how many bytes."""

    offset: int
    size: int


# Fields of ELF's structures, in order: bytes of each.
_HEADER_FIELDS = (4, 1, 1, 1, 1, 8, 2, 2, 4, 8, 8, 8, 4, 2, 2, 2, 2, 2, 2)
_SECTION_FIELDS = (4, 4, 8, 8, 8, 8, 4, 4, 8, 8)
_ENTRY_FIELDS = {
    "SHT_SYMTAB": (4, 1, 1, 2, 8, 8),
    "SHT_REL": (8, 4, 4),
    "code": (1, 1, 2, 4),
    "words": (4,),
}


def _repeated(start: int, end: int, sizes: Sequence[int]) -> Iterator[_Place]:
    while start + sum(sizes) <= end:
        for size in sizes:
            yield _Place(start, size)
            start += size


def _places(elf: Elf, data: bytes) -> list[list[_Place]]:
    """Fields by structure, so that small tables are hit as often as large ones."""
    table = int.from_bytes(data[40:48], "little")
    groups = [
        list(_repeated(0, 64, _HEADER_FIELDS)),
        list(_repeated(table, len(data), _SECTION_FIELDS)),
    ]
    for section in elf.sections:
        end = section.offset + section.size
        if section.name.startswith((".debug", ".rel.debug", ".rel.BTF")) or not section.data:
            continue
        kind = "code" if section.executable else section.kind
        sizes = _ENTRY_FIELDS.get(kind, _ENTRY_FIELDS["words"])
        if section.kind != "SHT_STRTAB":
            groups.append(list(_repeated(section.offset, end, sizes)))
    return [group for group in groups if group]


class _Mutator:
    """Makes changes of one file."""

    def __init__(self, data: bytes, generator: random.Random) -> None:
        self.data = bytearray(data)
        self.generator = generator
        self.groups = _known_places(data)

    def _at(self) -> int:
        """Any byte, and most often not one of debugging information, which nobody looks at."""
        if self.generator.random() < 0.1:
            return self.generator.randrange(len(self.data))
        return min(self._place().offset, len(self.data) - 1)

    def _range(self) -> tuple[int, int]:
        start = self._at()
        return start, start + self.generator.choice((1, 2, 4, 8, 16, 64, 512))

    def flip(self) -> None:
        for _ in range(self.generator.choice((1, 1, 2, 8))):
            at = self._at()
            self.data[at] ^= 1 << self.generator.randrange(8)

    def cut(self) -> None:
        del self.data[self.generator.randrange(1, len(self.data)) :]

    def remove(self) -> None:
        start, end = self._range()
        del self.data[start:end]

    def insert(self) -> None:
        start, end = self._range()
        self.data[start:start] = self.generator.randbytes(end - start)

    def fill(self) -> None:
        start, end = self._range()
        end = min(end, len(self.data))
        self.data[start:end] = bytes([self.generator.choice((0, 1, 0x7F, 0x80, 0xFF))]) * (
            end - start
        )

    def repeat(self) -> None:
        """Copy some bytes to another place."""
        start, end = self._range()
        piece = self.data[start:end]
        at = self._at()
        self.data[at : at + len(piece)] = piece

    def field(self) -> None:
        """Set a field of a structure to something that is interesting there."""
        place = self._place()
        mask = (1 << 8 * place.size) - 1
        old = int.from_bytes(self.data[place.offset : place.offset + place.size], "little")
        other = self._place()
        value = self.generator.choice(
            (
                *(0, 1, 2, 4, 7, 8, mask, mask >> 1, mask // 2 + 1, len(self.data)),
                *(old + 1, old - 1, old + 8, old - 8, 2 * old, old ^ 1 << 8 * place.size - 1),
                int.from_bytes(self.data[other.offset : other.offset + other.size], "little"),
                self.generator.getrandbits(8 * place.size),
            )
        )
        self.data[place.offset : place.offset + place.size] = (value & mask).to_bytes(
            place.size, "little"
        )

    def _place(self) -> _Place:
        return self.generator.choice(self.generator.choice(self.groups))


_CHANGES: tuple[tuple[Callable[[_Mutator], None], int], ...] = (
    (_Mutator.field, 12),
    (_Mutator.flip, 4),
    (_Mutator.fill, 2),
    (_Mutator.repeat, 2),
    (_Mutator.cut, 1),
    (_Mutator.remove, 1),
    (_Mutator.insert, 1),
)


@cache
def _known_places(data: bytes) -> list[list[_Place]]:
    return _places(read_elf(data, "sample"), data)


def mutate(data: bytes, seed: int) -> bytes:
    """A changed file.

    Parameters
    ----------
    data : bytes
        A valid object file.
    seed : int
        Decides everything.
    """
    mutator = _Mutator(data, random.Random(seed))
    changes, weights = zip(*_CHANGES, strict=True)
    count = mutator.generator.choice((1, 1, 1, 2, 3))
    # Fields are where they were only as long as nothing was cut or put in.
    for change in mutator.generator.choices(changes, weights, k=count):
        if len(mutator.data) > 1:
            change(mutator)
    return bytes(mutator.data)


class _HangError(Exception):
    """A loader took too long."""


@contextmanager
def _time_limit() -> Iterator[None]:
    def stop(number: int, frame: object) -> None:
        raise _HangError(f"more than {_SECONDS} seconds")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, _SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def load_changed(data: bytes) -> bool:
    """Do all that the commands do with a file; returns whether it was accepted.

    Raises
    ------
    Exception
        Anything but a refusal is a fault of the loader.
    """
    with _time_limit():
        try:
            list(file_report(read_elf(data, "changed")))
            loaded = load_object(data, "changed")
            list(code_report(loaded))
            check_object(loaded)
            verified = [
                verify_for_load(loaded, program, max_steps=_STEPS) for program in loaded.programs
            ]
            load_report(loaded, verified=verified)
        except InputError:
            return False
        return True


@dataclass
class Tally:
    """What a fuzzing run saw.

    Attributes
    ----------
    outcomes : Counter of str
        How many files were accepted and refused.
    slowest : float
        Seconds that one file took at most.
    """

    outcomes: Counter[str] = field(default_factory=Counter)
    slowest: float = 0.0


def fuzz(
    seed: int,
    count: int,
    *,
    objects: Sequence[bytes] | None = None,
    load: Callable[[bytes], bool] = load_changed,
) -> Tally:
    """Load so many changed files.

    Parameters
    ----------
    seed : int
        Of the first change; the next ones count on.
    count : int
        Changes.
    objects : sequence of bytes, optional
        Valid files; `sample_objects` if not given.
    load : callable
        What is tested.

    Raises
    ------
    FaultError
        If a file makes it fail in another way than by refusing, takes too long, or too much memory;
        the message says which.
    """
    files = sample_objects() if objects is None else objects
    tally = Tally()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for number in range(seed, seed + count):
        data = mutate(files[number % len(files)], number)
        start = time.perf_counter()
        try:
            accepted = load(data)
        except Exception as error:
            raise FaultError(
                f"change {number} of object {number % len(files)}: {type(error).__name__}: {error}"
            ) from error
        tally.outcomes["accepted" if accepted else "refused"] += 1
        tally.slowest = max(tally.slowest, time.perf_counter() - start)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    if grown > _KIBIBYTES:
        raise FaultError(f"changes {seed} to {seed + count - 1}: {grown} KiB more memory")
    return tally


def play(seed: int, config: str | None = None) -> str:
    """Play a round of the soak.

    Parameters
    ----------
    seed : int
        Decides everything.
    config : str, optional
        There is nothing to choose.

    Raises
    ------
    FaultError
        If the loader does anything but load and refuse.
    InputError
        If a preset is named.
    """
    if config is not None:
        raise InputError(f"the loader has no preset {config!r}; leave --config out")
    tally = fuzz(_ROUND * seed, _ROUND)
    return (
        f"{_ROUND} changed objects: {tally.outcomes['refused']} refused, "
        f"{tally.outcomes['accepted']} loaded, {1000 * tally.slowest:.0f} ms at most"
    )
