"""What the policies cost an event: instructions and work for the maps, on the golden machine."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from fanweave.golden.ebpf.event import Event
from fanweave.golden.isa.ebpf import (
    CallKind,
    Instruction,
    InstructionClass,
    JumpOperation,
)
from fanweave.golden.isa.ebpf_helpers import HELPERS, ArgumentKind
from fanweave.golden.isa.ebpf_machine import Region
from fanweave.sw.policies.library import BuiltPolicy, build_policy
from fanweave.sw.policies.play import play, require
from fanweave.sw.policies.scenarios import SCENARIOS

__all__ = ["Cost", "Share", "measure"]

_CALL = JumpOperation.CALL << 4 | InstructionClass.JMP
#: Helpers that the map unit answers.
_MAP_HELPERS = frozenset(
    number
    for number, helper in HELPERS.items()
    if {ArgumentKind.MAP, ArgumentKind.RESERVED} & {*helper.arguments}
)


@dataclass(frozen=True, kw_only=True)
class Share:
    """A number an event, over all events."""

    mean: float
    most: int

    @classmethod
    def of(cls, numbers: Sequence[int]) -> "Share":
        """Of one number for each event."""
        return cls(mean=sum(numbers) / len(numbers), most=max(numbers))


@dataclass(frozen=True, kw_only=True)
class Cost:
    """Of a policy, over the events of all its scenarios.

    Attributes
    ----------
    policy : str
        Its name.
    slots : int
        Slots of 8 bytes.
    worst_case_instructions : int
        As the verifier says; no event executes more.
    events : int
        How many were played.
    instructions : Share
        Executed.
    map_calls : Share
        Helpers called that work on maps.
    value_accesses : Share
        Loads, stores and atomic operations on values and records, among the instructions.
    """

    policy: str
    slots: int
    worst_case_instructions: int
    events: int
    instructions: Share
    map_calls: Share
    value_accesses: Share

    def document(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


@dataclass
class _Counter:
    """Sees the instructions of events, one after the other."""

    calls: list[int] = field(default_factory=list)
    accesses: list[int] = field(default_factory=list)

    def __call__(self, event: Event, instruction: Instruction) -> None:
        if event.executed == 0:
            self.calls.append(0)
            self.accesses.append(0)
        if instruction.opcode == _CALL and instruction.src == CallKind.HELPER:
            self.calls[-1] += instruction.imm in _MAP_HELPERS
        else:
            self.accesses[-1] += _reaches_values(event, instruction)


def _reaches_values(event: Event, instruction: Instruction) -> bool:
    kind = instruction.instruction_class
    if kind is InstructionClass.LDX:
        base = instruction.src
    elif kind in (InstructionClass.ST, InstructionClass.STX):
        base = instruction.dst
    else:
        return False
    return Region.MAP_VALUES <= event.registers[base] < Region.MAP_HANDLES


def measure(name: str) -> Cost:
    """Play all scenarios of a policy and count.

    Parameters
    ----------
    name : str
        Of the policy.

    Raises
    ------
    InputError
        If there is no such policy, or it cannot be built.
    FaultError
        If a verdict or a map is not as it must be.
    """
    built: BuiltPolicy = build_policy(name)
    counter = _Counter()
    instructions: list[int] = []
    for scenario in SCENARIOS:
        if scenario.policy == name:
            played = play(scenario, trace=counter)
            require(scenario, played)
            instructions += [count for count in played.instructions if count is not None]
    return Cost(
        policy=name,
        slots=built.report.slots,
        worst_case_instructions=built.report.worst_case_instructions,
        events=len(instructions),
        instructions=Share.of(instructions),
        map_calls=Share.of(counter.calls),
        value_accesses=Share.of(counter.accesses),
    )
