"""Which vector instructions vtype allows: widths, register groups and their overlaps.

Source: The RISC-V Instruction Set Manual, Volume I, version 20240411, sections 31.3.4, 31.5
and those of the instructions. What the manual reserves is illegal here.
"""

from dataclasses import dataclass

from fanweave.golden.isa.riscv_encoding import InstructionKind, Width
from fanweave.golden.riscv.trap import illegal
from fanweave.golden.riscv.vector_state import VectorState

__all__ = [
    "APART",
    "MASK_DESTINATIONS",
    "Group",
    "check_arithmetic",
    "check_group",
    "check_mask",
    "float_widths",
    "overlap",
]

#: Destinations that must not overlap any source.
APART = frozenset({"vslideup", "vrgather", "vrgatherei16", "vcompress", "viota"})
APART |= {"vslide1up", "vfslide1up", "vmsbf", "vmsif", "vmsof"}
#: Destinations of one register, whatever LMUL is.
MASK_DESTINATIONS = (Width.MASK, Width.SCALAR, Width.SCALAR_DOUBLE)


@dataclass(frozen=True)
class Group:
    """A register group.

    Attributes
    ----------
    first : int
        Its first register.
    count : int
        Its registers.
    eew : int
        Bits of its elements; 1 for a mask.
    emul8 : int
        Eight times EMUL.
    """

    first: int
    count: int
    eew: int
    emul8: int

    @property
    def registers(self) -> range:
        """Their numbers."""
        return range(self.first, self.first + self.count)


def overlap(a: Group, b: Group) -> bool:
    """Whether groups share a register."""
    return a.first < b.first + b.count and b.first < a.first + a.count


def check_group(vector: VectorState, register: int, eew: int, emul8: int, fields: int = 1) -> Group:
    """A group of elements, or of as many groups as a segment has fields.

    Raises
    ------
    TrapError
        If there is no such group.
    """
    count = max(emul8 // 8, 1)
    legal = 8 <= eew <= vector.config.elen and 1 <= emul8 <= 64 and register % count == 0
    if not legal or count * fields > 8 or register + count * fields > 32:
        raise illegal()
    return Group(register, count * fields, eew, emul8)


def _operand(vector: VectorState, width: Width, register: int) -> Group:
    """Group of an operand."""
    sew, lmul8 = vector.sew, vector.lmul8
    match width:
        case Width.MASK:
            return Group(register, 1, 1, 8)
        case Width.SCALAR:
            return Group(register, 1, sew, 8)
        case Width.SCALAR_DOUBLE:
            check_group(vector, 0, 2 * sew, 8)
            return Group(register, 1, 2 * sew, 8)
        case Width.DOUBLE:
            return check_group(vector, register, 2 * sew, 2 * lmul8)
        case Width.HALF:
            return check_group(vector, register, sew // 2, lmul8 // 2)
        case Width.QUARTER:
            return check_group(vector, register, sew // 4, lmul8 // 4)
        case Width.EEW16:
            return check_group(vector, register, 16, 16 * lmul8 // sew)
        case _:
            return check_group(vector, register, sew, lmul8)


def float_widths(kind: InstructionKind, sew: int) -> tuple[int, ...]:
    """Widths of the operands that are floating-point numbers."""
    name = kind.name
    if name.startswith("vfwcvt.f.x") or (name.startswith("vfncvt") and ".f.f" not in name):
        from_integer = name.startswith("vfncvt.f.x")
        return (sew,) if from_integer else (2 * sew,)
    shape = kind.vector
    assert shape is not None
    double = {Width.DOUBLE, Width.SCALAR_DOUBLE} & {shape.vd, shape.vs2, shape.vs1}
    integer_result = name.startswith("vfwcvt") and not name.startswith("vfwcvt.f.f")
    return (sew, 2 * sew) if double and not integer_result else (sew,)


def check_mask(fields: dict[str, int], destination: Group | None) -> None:
    """A destination of elements must not be the mask that is in use.

    Raises
    ------
    TrapError
        If it is.
    """
    if fields.get("vm", 1) == 0 and destination is not None and destination.first == 0:
        raise illegal()


def _check_overlap(destination: Group, source: Group) -> None:
    """The three overlaps that are allowed between a destination and a source."""
    if not overlap(destination, source) or destination.eew == source.eew:
        return
    if destination.eew < source.eew:
        allowed = destination.first == source.first
    else:
        end = destination.first + destination.count
        allowed = source.emul8 >= 8 and source.first + source.count == end
    if not allowed:
        raise illegal()


def check_arithmetic(
    vector: VectorState, kind: InstructionKind, fields: dict[str, int], base: str
) -> None:
    """Check an arithmetic instruction.

    Parameters
    ----------
    vector : VectorState
        For vtype.
    kind : InstructionKind
        Its row.
    fields : dict of str to int
        Its fields.
    base : str
        Mnemonic without operands' letters.

    Raises
    ------
    TrapError
        If it is illegal under vtype.
    """
    shape = kind.vector
    assert shape is not None
    if shape.vd is Width.WHOLE:
        count = int(base[3])
        if fields["vd"] % count or fields["vs2"] % count:
            raise illegal()
        return
    if vector.illegal:
        raise illegal()
    if shape.floating and not all(w in (16, 32) for w in float_widths(kind, vector.sew)):
        raise illegal()
    if shape.vd is None and shape.vs2 is None and shape.vs1 is None:
        return
    sources = [
        _operand(vector, width, fields[name])
        for width, name in ((shape.vs2, "vs2"), (shape.vs1, "vs1"))
        if width is not None
    ]
    masked = fields.get("vm", 1) == 0 or "v0" in kind.syntax.split(", ")
    used = [*sources, Group(0, 1, 1, 8)] if masked else sources
    _check_sources(used)
    if shape.vd is None:
        return
    destination = _operand(vector, shape.vd, fields["vd"])
    if shape.vd not in MASK_DESTINATIONS or base in APART:
        if masked and destination.first == 0:
            raise illegal()
        if shape.accumulates:
            _check_sources([destination, *used])
    if base in APART:
        if any(overlap(destination, source) for source in sources):
            raise illegal()
    elif shape.vd not in (Width.SCALAR, Width.SCALAR_DOUBLE):
        for source in sources:
            _check_overlap(destination, source)


def _check_sources(sources: list[Group]) -> None:
    """A register is read with one width only."""
    for index, source in enumerate(sources):
        for other in sources[index + 1 :]:
            if source.eew != other.eew and overlap(source, other):
                raise illegal()
