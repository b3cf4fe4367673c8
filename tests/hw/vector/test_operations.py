"""Every row of vector arithmetic belongs to one unit, or to the front."""

import pytest

from fanweave.golden.isa.riscv_encoding import Width
from fanweave.golden.isa.riscv_vector import VECTOR_INSTRUCTIONS
from fanweave.hw.vector.float_operations import FLOAT_CONTROLS, FloatOperation, float_operation
from fanweave.hw.vector.integer_operations import (
    INTEGER_CONTROLS,
    IntegerOperation,
    integer_operation,
)
from fanweave.hw.vector.permute_operations import permute_operation

UNITS = {"integer": integer_operation, "float": float_operation, "permute": permute_operation}


@pytest.mark.parametrize("row", VECTOR_INSTRUCTIONS, ids=lambda row: row.name)
def test_one_unit(row):
    units = [name for name, operation_of in UNITS.items() if operation_of(row) is not None]
    if row.name.startswith("vset"):
        assert units == []
    else:
        assert len(units) == 1, f"{row.name} belongs to {units}"


@pytest.mark.parametrize(
    ("operation_of", "operations", "controls"),
    [
        (float_operation, FloatOperation, FLOAT_CONTROLS),
        (integer_operation, IntegerOperation, INTEGER_CONTROLS),
    ],
    ids=["float", "integer"],
)
def test_operations_and_their_widths(operation_of, operations, controls):
    """Forms of one operation differ only in where vs1 comes from, and widths fit ELEN."""
    shapes = {}
    for row in VECTOR_INSTRUCTIONS:
        operation = operation_of(row)
        if operation is None:
            continue
        shape = row.vector
        known = shapes.setdefault(operation, (shape.vd, shape.vs2, shape.accumulates))
        assert known == (shape.vd, shape.vs2, shape.accumulates), row.name
    assert set(shapes) == set(operations)
    assert len(operations) <= 1 << 7
    for operation, (vd, vs2, _) in shapes.items():
        double = Width.DOUBLE in (vd, vs2)
        widths = {sew for code, sew in controls if code == operation}
        assert widths, operation
        assert (2 in widths) != double, operation
