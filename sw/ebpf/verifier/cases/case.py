"""What a case of the verifier is: a program, and which rule it violates, if any."""

import re
from dataclasses import dataclass, replace

from fanweave.golden.ebpf.maps import MapSpec
from fanweave.golden.ebpf.program import Program
from fanweave.golden.isa.ebpf import WideKind
from fanweave.golden.isa.ebpf_maps import MapFlag, MapType
from fanweave.sw.ebpf.assembler import assemble
from fanweave.sw.ebpf.verifier.environment import ContextRule
from fanweave.sw.ebpf.verifier.rules import Rule

__all__ = ["INNER", "MAPS", "Case"]


def _map(name: str, kind: MapType, key: int, value: int, entries: int, flags: int = 0) -> MapSpec:
    return MapSpec(
        name=name, kind=kind, key_size=key, value_size=value, max_entries=entries, flags=flags
    )


#: Maps of every case, by number.
MAPS: tuple[MapSpec, ...] = (
    _map("array", MapType.ARRAY, 4, 16, 1),
    _map("hash", MapType.HASH, 4, 8, 8),
    _map("constants", MapType.ARRAY, 4, 16, 1, MapFlag.RDONLY_PROG),
    _map("log", MapType.ARRAY, 4, 16, 1, MapFlag.WRONLY_PROG),
    _map("ring", MapType.RINGBUF, 0, 0, 4096),
    _map("queue", MapType.QUEUE, 0, 8, 4),
    _map("programs", MapType.PROG_ARRAY, 4, 4, 4),
    _map("tables", MapType.ARRAY_OF_MAPS, 4, 4, 4),
    _map("anything", MapType.ARRAY_OF_MAPS, 4, 4, 4),
    _map("trie", MapType.LPM_TRIE, 8, 8, 8),
    _map("recent", MapType.LRU_HASH, 8, 8, 8),
    _map("engine", MapType.PERCPU_ARRAY, 4, 8, 2),
    _map("odd", MapType.ARRAY, 4, 5, 4),
)
#: What arrays of maps hold; of one it is not known.
INNER: dict[int, MapSpec] = {7: MAPS[0]}
_CALLS = {
    "lookup": 1,
    "update": 2,
    "delete": 3,
    "time": 5,
    "random": 7,
    "processor": 8,
    "tail": 12,
    "push": 87,
    "pop": 88,
    "peek": 89,
    "output": 130,
    "reserve": 131,
    "submit": 132,
    "discard": 133,
    "query": 134,
}
_CONTEXT = ContextRule.exactly(64)
_REFERENCE = re.compile(r"(map|value) ([a-z]+)(?: \+ (\d+))?")
_CALL = re.compile(r"call ([a-z]\w*)")
#: What the assembler sees in the place of a reference.
_MARK = 1 << 40


@dataclass(frozen=True, kw_only=True)
class Case:
    """One case.

    Attributes
    ----------
    name : str
        Unlike all others; says what is right or wrong.
    text : str
        The program in the syntax of Linux, with ``map NAME`` and ``value NAME + PLACE`` for 64-bit
        immediates, and ``call NAME`` for helpers and labels.
    rule : Rule, optional
        What it violates; None if it is accepted.
    says : str
        Part of the refusal's message.
    longest : int, optional
        Instructions of its longest path.
    context : ContextRule
        Its context.
    others : tuple of str
        Programs that program arrays may name, by number.
    budget : int
        Instructions that an event may have.
    """

    name: str
    text: str
    rule: Rule | None = None
    says: str = ""
    longest: int | None = None
    context: ContextRule = _CONTEXT
    others: tuple[str, ...] = ()
    budget: int = 10_000

    @property
    def program(self) -> Program:
        """The program, assembled."""
        return _assemble(self.text, self.name)

    @property
    def programs(self) -> dict[int, Program]:
        """The other programs."""
        return {n: _assemble(text, f"{self.name}, {n}") for n, text in enumerate(self.others)}


def _assemble(text: str, name: str) -> Program:
    """Assemble with names of maps and helpers, which the assembler does not know."""
    fields: list[dict[str, int]] = []

    def reference(found: re.Match[str]) -> str:
        kind = WideKind.MAP_FD if found[1] == "map" else WideKind.MAP_VALUE
        number = next(n for n, spec in enumerate(MAPS) if spec.name == found[2])
        fields.append({"src": int(kind), "imm": number, "high": int(found[3] or 0)})
        return f"{_MARK:#x} ll"

    text = _REFERENCE.sub(reference, text)
    text = _CALL.sub(lambda found: f"call {_CALLS.get(found[1], f'pc {found[1]}')}", text)
    waiting = iter(fields)
    return Program.of(
        (
            replace(instruction, **next(waiting))
            if instruction.is_wide and instruction.imm64 == _MARK
            else instruction
            for instruction in assemble(text, name=name)
        ),
        name,
    )
