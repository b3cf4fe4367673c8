"""All operations by their number, on scalars and on arrays."""

from fanweave.golden.fp.instructions.comparisons import classify, compare, extreme
from fanweave.golden.fp.instructions.compile import compiled
from fanweave.golden.fp.instructions.conversions import convert, from_integer, to_integer
from fanweave.golden.fp.instructions.estimates import reciprocal_7, reciprocal_root_7
from fanweave.golden.fp.instructions.operation import Operation
from fanweave.golden.fp.instructions.sums import arithmetic, fused, root

__all__ = ["compute", "compute_array"]


@compiled
def compute(operation, a, b, c, a_kind, b_kind, kind, mode, bits):
    """One instruction on scalars.

    Parameters
    ----------
    operation : int
        An `Operation`.
    a, b, c : int
        Operands, low-aligned; the addend c has the result's format. Unused ones are 0.
    a_kind, b_kind, kind : int
        `ElementFormat` of a, b and the result, FP32 or FP16; comparisons and minima take them
        from `a_kind`.
    mode : int
        A `RoundingMode` other than DYN, or 6 for rounding to odd.
    bits : int
        Width of an integer result, 8 to 32; otherwise unused.

    Returns
    -------
    result, flags : int
        Result low-aligned (a comparison gives 0 or 1), and exceptions as in `Flag`.
    """
    if operation <= Operation.DIV:
        return arithmetic(operation, a, b, a_kind, b_kind, kind, mode)
    if operation == Operation.SQRT:
        return root(a, a_kind, kind, mode)
    if operation == Operation.FMA:
        return fused(a, b, c, a_kind, b_kind, kind, mode)
    if operation <= Operation.MAX:
        return extreme(operation == Operation.MAX, a, b, a_kind)
    if operation <= Operation.LE:
        return compare(operation, a, b, a_kind)
    if operation == Operation.CLASS:
        return classify(a, a_kind), 0
    if operation == Operation.CONVERT:
        return convert(a, a_kind, kind, mode)
    if operation <= Operation.TO_UNSIGNED:
        return to_integer(operation == Operation.TO_SIGNED, a, a_kind, bits, mode)
    if operation <= Operation.FROM_UNSIGNED:
        return from_integer(a, kind, mode)
    if operation == Operation.RECIPROCAL_7:
        return reciprocal_7(a, a_kind, mode)
    return reciprocal_root_7(a, a_kind)


@compiled
def compute_array(operation, a, b, c, active, out, a_kind, b_kind, kind, mode, bits):
    """One instruction on arrays.

    Parameters
    ----------
    operation, a_kind, b_kind, kind, mode, bits : int
        As in `compute`.
    a, b, c : ndarray, int64 [n]
        Operands.
    active : ndarray, bool [n]
        Elements that are computed.
    out : ndarray, int64 [n]
        Results; inactive elements stay.

    Returns
    -------
    int
        All flags that were raised.
    """
    raised = 0
    for i in range(out.shape[0]):
        if active[i]:
            result, flags = compute(operation, a[i], b[i], c[i], a_kind, b_kind, kind, mode, bits)
            out[i] = result
            raised |= flags
    return raised
