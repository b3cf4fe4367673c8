"""What an instruction asks of the pipeline, built from the tables of `fanweave.golden.isa`."""

from amaranth import Cat, Const, Module, Value, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from fanweave.golden.isa.riscv import INSTRUCTIONS
from fanweave.golden.isa.riscv_encoding import Extension, FieldPart, InstructionKind
from fanweave.hw.core.operations import Unit, asks

__all__ = ["Controls", "Decoder"]

#: Fields that an immediate operand comes from.
_IMMEDIATES = ("imm", "shamt")


class Controls(data.Struct):
    """Decoded instruction; nothing has a meaning without ``legal``.

    ``unit`` and ``operation`` are codes of `fanweave.hw.core.operations`. ``first_pc`` and
    ``first_zero`` say what takes the place of rs1, ``immediate`` that the immediate takes the
    place of rs2. ``writes_x`` and ``writes_f`` tell of the result's register, ``post_increment``
    that rs1 + rs2 goes to rs1. ``floating`` and ``vector`` are units that must not be off.
    """

    legal: unsigned(1)
    unit: unsigned(4)
    operation: unsigned(5)
    first_pc: unsigned(1)
    first_zero: unsigned(1)
    immediate: unsigned(1)
    reads_rs1: unsigned(1)
    reads_rs2: unsigned(1)
    reads_fs1: unsigned(1)
    reads_fs2: unsigned(1)
    reads_fs3: unsigned(1)
    writes_x: unsigned(1)
    writes_f: unsigned(1)
    post_increment: unsigned(1)
    rounds: unsigned(1)
    floating: unsigned(1)
    vector: unsigned(1)
    reads_memory: unsigned(1)
    writes_memory: unsigned(1)


class Decoder(wiring.Component):
    """Combinational; agrees with `fanweave.golden.isa.riscv` on every word.

    Members
    -------
    word : In(32)
    controls : Out of `Controls`
    immediate : Out(32)
        The immediate with its sign, or the amount of a shift.
    """

    word: In(32)
    controls: Out(Controls)
    immediate: Out(32)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        for values, patterns in _classes().items():
            with m.If(self.word.matches(*patterns)):
                m.d.comb += [self.controls[name].eq(value) for name, value in values]
        for (name, parts), patterns in _immediate_classes().items():
            with m.If(self.word.matches(*patterns)):
                m.d.comb += self.immediate.eq(self._gather(name, parts))
        return m

    def _gather(self, name: str, parts: tuple[FieldPart, ...]) -> Value:
        """Bits of an immediate from their parts; the sign of an ``imm`` fills the rest."""
        pieces: list[Value] = []
        at = 0
        for part in parts:
            if part.place > at:
                pieces.append(Const(0, part.place - at))
            pieces.append(self.word[part.low : part.low + part.width])
            at = part.place + part.width
        value = Cat(*pieces)
        return value.as_signed() if name == "imm" else value


def _classes() -> dict[tuple[tuple[str, int], ...], list[str]]:
    """Patterns of the instructions that ask for the same."""
    classes: dict[tuple[tuple[str, int], ...], list[str]] = {}
    for row in INSTRUCTIONS:
        values = _values(row)
        if values is not None:
            classes.setdefault(values, []).append(row.bits)
    return classes


def _values(row: InstructionKind) -> tuple[tuple[str, int], ...] | None:
    """Fields of `Controls` that are not zero."""
    found = asks(row)
    if found is None:
        return None
    unit, operation = found
    fields = row.fields.keys()
    post_increment = row.name.endswith(".rrpost")
    loads = row.memory is not None and not row.memory.store
    values = {
        "legal": True,
        "unit": int(unit),
        "operation": int(operation),
        "first_pc": row.name in ("auipc", "jal"),
        "first_zero": row.name == "lui",
        "immediate": any(name in fields for name in _IMMEDIATES) and unit in (Unit.ALU, Unit.JUMP),
        **{f"reads_{name}": name in fields for name in ("rs1", "rs2", "fs1", "fs2", "fs3")},
        "writes_x": "rd" in fields,
        "writes_f": "fd" in fields,
        "post_increment": post_increment,
        "rounds": "rm" in fields,
        "floating": _is_floating(row),
        "vector": unit is Unit.OFFLOAD,
        "reads_memory": unit in (Unit.LOAD, Unit.ATOMIC) or loads,
        "writes_memory": unit in (Unit.STORE, Unit.ATOMIC)
        or (row.memory is not None and row.memory.store),
    }
    return tuple((name, int(value)) for name, value in values.items() if value)


def _is_floating(row: InstructionKind) -> bool:
    """Whether the floating-point unit must be on."""
    if row.vector is not None:
        return row.vector.floating
    if row.memory is not None:
        return False
    return row.extension in (Extension.F, Extension.ZFHMIN, Extension.POST_INCREMENT) or (
        row.extension is Extension.VENTAGLIO and "fs1" in row.fields
    )


def _immediate_classes() -> dict[tuple[str, tuple[FieldPart, ...]], list[str]]:
    """Patterns of the instructions whose immediate stands at the same places."""
    classes: dict[tuple[str, tuple[FieldPart, ...]], list[str]] = {}
    for row in INSTRUCTIONS:
        for name in _IMMEDIATES:
            if asks(row) is not None and name in row.fields:
                parts = tuple(sorted(row.fields[name], key=lambda part: part.place))
                classes.setdefault((name, parts), []).append(row.bits)
    return classes
