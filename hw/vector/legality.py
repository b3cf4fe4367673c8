"""Which vector arithmetic vtype allows: widths, register groups and their overlaps.

The rules are those of `fanweave.golden.riscv.vector_legality`, as logic.
"""

from collections.abc import Callable, Iterator, Sequence

from amaranth import Const, Module, Mux, Signal, Value, signed, unsigned
from amaranth.lib import data, enum, wiring
from amaranth.lib.wiring import In, Out

from fanweave.golden.isa.riscv import INSTRUCTIONS
from fanweave.golden.isa.riscv_encoding import Extension, InstructionKind, VectorShape, Width
from fanweave.golden.riscv.vector_legality import APART, MASK_DESTINATIONS, float_widths
from fanweave.hw.reduction import or_tree

__all__ = ["ArithmeticLegality", "arithmetic_rows"]

#: log2 of the bytes of the widest element, and the most and least of log2 of LMUL.
_WIDEST, _MOST_LMUL, _LEAST_LMUL = 2, 3, -3
#: log2 of the bytes of an element of a mask, of which a bit is less than anything else.
_MASK_WIDTH = -4


#: Asks something of a row and its shape.
_Condition = Callable[[InstructionKind, VectorShape], bool]


class _Kind(enum.Enum, shape=unsigned(3)):
    """What a register operand is; the others are groups of elements."""

    NONE = 0
    GROUP = 1
    MASK = 2
    SCALAR = 3
    SCALAR_DOUBLE = 4


#: Added to log2 of SEW's bytes.
_STEPS = {Width.DOUBLE: 1, Width.HALF: -1, Width.QUARTER: -2}
_KINDS = {
    None: _Kind.NONE,
    Width.MASK: _Kind.MASK,
    Width.SCALAR: _Kind.SCALAR,
    Width.SCALAR_DOUBLE: _Kind.SCALAR_DOUBLE,
}


class _Group(data.Struct):
    """Registers ``first`` to ``first + count - 1``, if ``there``; widths are log2 of bytes."""

    there: unsigned(1)
    first: unsigned(5)
    count: unsigned(4)
    width: signed(4)
    emul: signed(4)


def _shapes() -> Iterator[tuple[InstructionKind, VectorShape]]:
    for row in INSTRUCTIONS:
        shape = row.vector
        if shape is None or row.extension is Extension.VENTAGLIO:
            continue
        if any((shape.vd, shape.vs2, shape.vs1)):
            yield row, shape


def arithmetic_rows() -> list[InstructionKind]:
    """Rows of vector arithmetic, whole moves too, without what configures."""
    return [row for row, _ in _shapes()]


class ArithmeticLegality(wiring.Component):
    """Combinational; only for words of `arithmetic_rows`.

    Members
    -------
    word : In(32)
    sew : In(2); lmul : In(3); illegal_type : In(1)
        vtype: log2 of SEW's bytes, LMUL's code, and ``vill``.
    legal : Out(1)
    """

    word: In(32)
    sew: In(2)
    lmul: In(3)
    illegal_type: In(1)
    legal: Out(1)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        self._wrong: list[Value] = []
        vd = self._operand(m, "vd", 7, lambda shape: shape.vd)
        vs2 = self._operand(m, "vs2", 20, lambda shape: shape.vs2)
        vs1 = self._operand(m, "vs1", 15, lambda shape: shape.vs1)
        masked = Signal()
        m.d.comb += masked.eq(
            (~self.word[25] & self._is(lambda row, _: "vm" in row.fields))
            | self._is(lambda row, _: "v0" in row.syntax.split(", "))
        )
        mask = Signal(_Group)
        m.d.comb += [mask.there.eq(masked), mask.count.eq(1), mask.width.eq(_MASK_WIDTH)]
        sources = (vs2, vs1)
        self._read_alike((vs2, vs1, mask))
        apart = self._is(lambda row, _: row.name.split(".")[0] in APART)
        elements = apart | self._is(lambda _, shape: shape.vd not in (None, *MASK_DESTINATIONS))
        self._wrong.append(elements & masked & (vd.first == 0))
        accumulates = elements & self._is(lambda _, shape: shape.accumulates)
        for other in (vs2, vs1, mask):
            self._wrong.append(accumulates & _overlap(vd, other) & (vd.width != other.width))
        scalar = self._is(lambda _, shape: shape.vd in (Width.SCALAR, Width.SCALAR_DOUBLE))
        for source in sources:
            self._wrong.append(apart & _overlap(vd, source))
            self._wrong.append(~apart & ~scalar & ~_may_share(vd, source))
        for sew in range(4):
            self._wrong.append((self.sew == sew) & self._is(_has_no_such_numbers(8 << sew)))
        whole = self._is(lambda _, shape: shape.vd is Width.WHOLE)
        legal = ~(self.illegal_type | or_tree(self._wrong))
        m.d.comb += self.legal.eq(Mux(whole, self._whole_is_aligned(), legal))
        return m

    def _is(self, condition: _Condition) -> Value:
        """Whether the word is of a row that meets a condition."""
        return self.word.matches(*(row.bits for row, shape in _shapes() if condition(row, shape)))

    def _operand(
        self, m: Module, name: str, low: int, width_of: Callable[[VectorShape], Width | None]
    ) -> data.View:
        """The group that a field names, as wide as the row says."""
        group, kind = Signal(_Group, name=name), Signal(_Kind, name=f"{name}_kind")
        lmul, step = self.lmul.as_signed(), Signal(signed(4), name=f"{name}_step")
        m.d.comb += kind.eq(_Kind.GROUP)

        def has(width: Width | None) -> Value:
            return self._is(lambda _, shape: width_of(shape) is width)

        for width, its_kind in _KINDS.items():
            with m.If(has(width)):
                m.d.comb += kind.eq(its_kind)
        for width, its_step in _STEPS.items():
            with m.If(has(width)):
                m.d.comb += step.eq(its_step)
        with m.If(has(Width.EEW16)):
            m.d.comb += step.eq(1 - self.sew)
        emul = Signal(signed(5), name=f"{name}_emul")
        m.d.comb += [
            emul.eq(lmul + step),
            group.there.eq(kind != _Kind.NONE),
            group.first.eq(self.word[low : low + 5]),
            group.count.eq(1),
            group.width.eq(self.sew + step),
        ]
        with m.Switch(kind):
            with m.Case(_Kind.GROUP):
                m.d.comb += [group.emul.eq(emul), group.count.eq(Mux(emul > 0, 1 << emul[:2], 1))]
                self._wrong.append(
                    (kind == _Kind.GROUP)
                    & (
                        (group.width < 0)
                        | (group.width > _WIDEST)
                        | (emul < _LEAST_LMUL)
                        | (emul > _MOST_LMUL)
                        | (group.first & (group.count - 1)).any()
                    )
                )
            with m.Case(_Kind.MASK):
                m.d.comb += group.width.eq(_MASK_WIDTH)
            with m.Case(_Kind.SCALAR_DOUBLE):
                m.d.comb += group.width.eq(self.sew + 1)
                self._wrong.append((kind == _Kind.SCALAR_DOUBLE) & (group.width > _WIDEST))
        return group

    def _read_alike(self, sources: Sequence[data.View]) -> None:
        """A register is read with one width only."""
        for number, source in enumerate(sources):
            for other in sources[number + 1 :]:
                self._wrong.append(_overlap(source, other) & (source.width != other.width))

    def _whole_is_aligned(self) -> Value:
        """Whole registers: only their numbers count."""
        aligned: Value = Const(1)
        for row, shape in _shapes():
            if shape.vd is Width.WHOLE:
                numbers = (self.word[7:12] | self.word[20:25]) & (int(row.name[3]) - 1)
                aligned &= ~self.word.matches(row.bits) | ~numbers.any()
        return aligned


def _has_no_such_numbers(sew: int) -> _Condition:
    """Rows whose floating-point operands have a width that there is not."""

    def condition(row: InstructionKind, shape: VectorShape) -> bool:
        return shape.floating and not all(n in (16, 32) for n in float_widths(row, sew))

    return condition


def _overlap(a: data.View, b: data.View) -> Value:
    """Whether groups share a register."""
    shares = (a.first < b.first + b.count) & (b.first < a.first + a.count)
    return a.there & b.there & shares


def _may_share(destination: data.View, source: data.View) -> Value:
    """The overlaps that are allowed between a destination and a source."""
    end = destination.first + destination.count
    wider = (source.emul >= 0) & (source.first + source.count == end)
    allowed = Mux(destination.width < source.width, destination.first == source.first, wider)
    return ~_overlap(destination, source) | (destination.width == source.width) | allowed
