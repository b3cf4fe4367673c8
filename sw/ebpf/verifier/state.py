"""What is known at one point of one path: registers, stack, open records, calls."""

from collections.abc import Callable, Iterator

from fanweave.golden.isa.ebpf import FRAME_POINTER, REGISTERS
from fanweave.sw.ebpf.verifier.origins import Origin, Sources, mark_read, union
from fanweave.sw.ebpf.verifier.rules import Rule, Violation
from fanweave.sw.ebpf.verifier.scalar import Scalar
from fanweave.sw.ebpf.verifier.stack import Stack
from fanweave.sw.ebpf.verifier.values import UNSET, Kind, Value, number

__all__ = ["ARGUMENTS", "Frame", "State"]

#: Registers that a call takes, and does not keep.
ARGUMENTS = range(1, 6)
_ZERO = Scalar.constant(0)


class Frame:
    """Registers and stack of one call.

    Attributes
    ----------
    registers : list of Value
        r0 to r10.
    origins : list of Origin or None
        Of each register, if it was not written since a state was kept.
    stack : Stack
        512 bytes.
    back : int
        Slot behind the call; -1 of the outermost frame.
    """

    __slots__ = ("back", "origins", "registers", "stack")

    def __init__(self, back: int, number: int) -> None:
        self.registers: list[Value] = [UNSET] * REGISTERS
        self.registers[FRAME_POINTER] = Value(Kind.STACK, _ZERO, place=number)
        self.origins: list[Origin | None] = [None] * REGISTERS
        self.stack = Stack()
        self.back = back

    def copy(self) -> "Frame":
        """A frame that can be changed by itself; the stack is copied when it is."""
        made = Frame.__new__(Frame)
        made.registers = list(self.registers)
        made.origins = list(self.origins)
        self.stack.shared = True
        made.stack = self.stack
        made.back = self.back
        return made


class State:
    """All frames, and what belongs to none.

    Attributes
    ----------
    slot : int
        Next instruction.
    frames : list of Frame
        The outermost first.
    records : frozenset of int
        Identities of records that are open.
    context_bytes : int
        Bytes that the context surely has.
    executed : int
        Instructions on the path so far.
    """

    __slots__ = ("context_bytes", "executed", "frames", "records", "slot")

    def __init__(self, context_bytes: int) -> None:
        self.slot = 0
        self.frames = [Frame(-1, 0)]
        self.records: frozenset[int] = frozenset()
        self.context_bytes = context_bytes
        self.executed = 0

    def copy(self) -> "State":
        """A state that can be changed by itself."""
        made = State.__new__(State)
        made.slot = self.slot
        made.frames = [frame.copy() for frame in self.frames]
        made.records = self.records
        made.context_bytes = self.context_bytes
        made.executed = self.executed
        return made

    @property
    def depth(self) -> int:
        """Number of the innermost frame."""
        return len(self.frames) - 1

    def read(self, register: int) -> Value:
        """A register's value.

        Raises
        ------
        Violation
            If it was not set.
        """
        frame = self.frames[-1]
        value = frame.registers[register]
        if value.kind is Kind.UNSET:
            raise Violation(Rule.REGISTER_UNSET, f"r{register} is not set")
        origin = frame.origins[register]
        if origin is not None and not origin.read:
            mark_read(origin)
        return value

    def recognised(self, register: int, new_identity: Callable[[], int]) -> Value:
        """A register's value before it is copied, so that what is learnt of one holds for both.

        Raises
        ------
        Violation
            If it was not set.
        """
        value = self.read(register)
        if value.kind is Kind.NUMBER and not value.identity and not value.scalar.is_constant:
            value = value.with_identity(new_identity())
            self.frames[-1].registers[register] = value
        return value

    def write(self, register: int, value: Value) -> None:
        """Set a register."""
        frame = self.frames[-1]
        frame.registers[register] = value
        frame.origins[register] = None

    def unset(self, register: int) -> None:
        """Leave nothing in a register that may be read."""
        self.write(register, UNSET)

    def forget_arguments(self) -> None:
        """A call leaves nothing in r1 to r5 that may be read."""
        for register in ARGUMENTS:
            self.unset(register)

    def stack(self, number: int) -> Stack:
        """A frame's stack, to be read."""
        return self.frames[number].stack

    def changing_stack(self, number: int) -> Stack:
        """A frame's stack, to be changed."""
        frame = self.frames[number]
        if frame.stack.shared:
            frame.stack = frame.stack.copy()
        return frame.stack

    def values(self) -> Iterator[Value]:
        """All values in registers and on the stack."""
        for frame in self.frames:
            yield from frame.registers
            for _, value in frame.stack.stored.values():
                yield value

    def replace(self, identity: int, change: Callable[[Value], Value]) -> None:
        """Change all values of an identity; what becomes unset on the stack is gone from it."""
        for at, frame in enumerate(self.frames):
            for register, value in enumerate(frame.registers):
                if value.identity == identity:
                    frame.registers[register] = change(value)
            found = [
                (place, size, value)
                for place, (size, value) in frame.stack.stored.items()
                if value.identity == identity
            ]
            for place, size, value in found:
                self.changing_stack(at).replace(place, size, change(value))

    def learn(self, value: Value, scalar: Scalar, sources: Sources) -> Value:
        """Note what is now known of a number, wherever it is; returns it."""
        known = value.with_number(scalar, union(value.sources, sources))
        if value.identity:
            self.replace(
                value.identity,
                lambda same: same.with_number(scalar, union(same.sources, known.sources)),
            )
        return known

    def settle_null(self, value: Value, *, null: bool) -> None:
        """Note whether what could be null is, wherever it is."""
        zero = number(_ZERO)
        self.replace(
            value.identity,
            (lambda same: zero) if null else (lambda same: same.not_null()),
        )
        if null:
            self.records -= {value.identity}

    def end_record(self, identity: int) -> None:
        """A record is submitted or discarded; no address in it can be used any more."""
        self.replace(identity, lambda same: UNSET)
        self.records -= {identity}
