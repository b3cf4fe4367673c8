"""Vector instructions: configuration, legality, dispatch."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from fanweave.golden.isa.riscv_encoding import Extension, InstructionKind
from fanweave.golden.riscv.expressions import Closure
from fanweave.golden.riscv.trap import illegal
from fanweave.golden.riscv.vector_fixed import FIXED
from fanweave.golden.riscv.vector_float import FLOAT
from fanweave.golden.riscv.vector_integer import INTEGER
from fanweave.golden.riscv.vector_legality import check_arithmetic
from fanweave.golden.riscv.vector_mask import MASK
from fanweave.golden.riscv.vector_memory import run_memory
from fanweave.golden.riscv.vector_permute import PERMUTE, WHOLE_MOVES
from fanweave.golden.riscv.vector_reduce import REDUCE
from fanweave.golden.riscv.vector_step import Step
from fanweave.golden.riscv.ventaglio_unit import clear, multiply, multiply_rows, refuse_bank

if TYPE_CHECKING:
    from fanweave.golden.riscv.hart import Hart

__all__ = ["vector_closure"]

_BY_BASE = INTEGER | FIXED | FLOAT | MASK | REDUCE | PERMUTE
_BY_NAME = PERMUTE | WHOLE_MOVES


def vector_closure(hart: "Hart", kind: InstructionKind, fields: dict[str, int]) -> Closure:
    """Closure of a vector or Ventaglio instruction."""
    step = Step(hart, kind, fields)
    if kind.name.startswith("vset"):
        return _configuration(step)
    if kind.memory is not None:
        return _simple(step, lambda: run_memory(step))
    if kind.extension is Extension.VENTAGLIO:
        return _ventaglio(step)
    execute = _BY_NAME.get(kind.name) or _BY_BASE[step.base]
    shape = kind.vector
    assert shape is not None
    vector, csrs, floating = hart.vector, hart.csrs, shape.floating
    checked = [-1]  # vtype for which the instruction is known to be legal

    def run() -> None:
        csrs.check_enabled(floating, True)
        if csrs.values["vtlreg"]:
            refuse_bank(step)
        if checked[0] != vector.vtype:
            check_arithmetic(vector, kind, fields, step.base)
            checked[0] = vector.vtype
        execute(step)
        vector.vstart = 0

    return run


def _simple(step: Step, execute: Callable[[], None]) -> Closure:
    vector, csrs = step.vector, step.hart.csrs

    def run() -> None:
        csrs.check_enabled(False, True)
        execute()
        vector.vstart = 0

    return run


def _ventaglio(step: Step) -> Closure:
    if step.kind.name == "vventclr":
        return _simple(step, lambda: clear(step))
    if step.kind.name.endswith(".vrf"):
        return _simple(step, lambda: multiply(step))
    if step.kind.name == "vfxmacc.rows":
        return _simple(step, lambda: multiply_rows(step))

    def refuse() -> None:
        raise illegal()  # the old forms do not say where the indices are

    return refuse


def _configuration(step: Step) -> Closure:
    hart, vector, fields = step.hart, step.vector, step.fields
    rd, rs1, rs2 = fields["rd"], fields.get("rs1", 0), fields.get("rs2")
    immediate = fields.get("zimm")

    def run() -> None:
        hart.csrs.check_enabled(False, True)
        old_vlmax = 0 if vector.illegal else vector.vlmax
        wanted = fields.get("vtype", fields.get("vtype10"))
        vlmax = vector.set_vtype(hart.x[rs2] if rs2 is not None else wanted or 0)
        if immediate is not None:
            length = immediate
        elif rs1:
            length = hart.x[rs1]
        elif rd:
            length = vlmax
        else:
            # The length stays; a change of VLMAX is reserved, and refused like an illegal vtype.
            length = vector.vl
            if vlmax != old_vlmax:
                vlmax = vector.set_vtype(1 << 31)
        vector.vl = min(length, vlmax)
        vector.vstart = 0
        hart.x[rd or 32] = vector.vl

    return run
