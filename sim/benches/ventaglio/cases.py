"""Cuts a trace into cases: one for each projection and phase."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from fanweave.golden.errors import InputError
from fanweave.golden.ventaglio.config import VentaglioConfig
from fanweave.golden.ventaglio.model import nonzero
from fanweave.golden.ventaglio.roofline import bytes_per_nonzero
from fanweave.golden.ventaglio.workload import Workload
from fanweave.sw.traces.trace import Operand, Trace
from fanweave.sw.ventaglio.lower import default_width, lower, matrix_of

__all__ = ["Case", "bound_cycles", "case_of", "cut"]

#: Tokens that share a weight row: several in prefill; decode has one token at a time.
_OUTPUTS = {"prefill": 2, "decode": 1}


@dataclass(frozen=True, kw_only=True, eq=False)
class Case:
    """One projection of a trace in one phase, lowered.

    Attributes
    ----------
    name : str
        Name of the projection.
    phase : str
        ``"prefill"`` or ``"decode"``.
    operand : Operand
        The projection with the phase's tokens.
    outputs, width : int
        Tokens that share each weight row, and columns of a tile.
    workload : Workload
        What the unit is given.
    """

    name: str
    phase: str
    operand: Operand
    outputs: int
    width: int
    workload: Workload

    @property
    def dense_products(self) -> int:
        """Products of the same matrix product if nothing were zero."""
        rows, columns = self.operand.shape
        return self.operand.tokens * rows * columns


def cut(trace: Trace, config: VentaglioConfig, *, only: str = "") -> Iterator[Case]:
    """Lower each projection of a trace, a phase at a time.

    Parameters
    ----------
    trace : Trace
        The trace.
    config : VentaglioConfig
        The unit.
    only : str
        Part of the names of the projections that are wanted.

    Raises
    ------
    InputError
        If no projection matches, or one does not fit the unit.
    """
    operands = [operand for operand in trace.operands if only in operand.name]
    if not operands:
        raise InputError(
            f"no projection's name contains '{only}'; the trace has "
            + ", ".join(operand.name for operand in trace.operands)
        )
    for operand in operands:
        for phase, most in _OUTPUTS.items():
            chosen = [i for i, known in enumerate(operand.phases) if known == phase]
            if not chosen:
                continue
            part = replace(
                operand,
                activations=operand.activations[chosen],
                phases=tuple(operand.phases[i] for i in chosen),
            )
            outputs = min(most, len(chosen), config.max_outputs)
            width = default_width(part.shape[1], config, outputs=outputs, m=part.m)
            yield case_of(part, config, phase=phase, outputs=outputs, width=width)


def case_of(
    operand: Operand, config: VentaglioConfig, *, phase: str, outputs: int, width: int
) -> Case:
    """Lower one operand with given tiles; see `Case` for the parameters."""
    return Case(
        name=operand.name,
        phase=phase,
        operand=operand,
        outputs=outputs,
        width=width,
        workload=lower(operand, config=config, outputs=outputs, width=width),
    )


def bound_cycles(case: Case, config: VentaglioConfig, *, shared: bool) -> float:
    """Cycles that no schedule of this case can beat.

    The larger of the products over the lanes and of the bytes of the rows that must be read
    over the port; a row must be read once for each group of tokens that has a nonzero
    activation for it.

    Parameters
    ----------
    case : Case
        The case.
    config : VentaglioConfig
        The unit.
    shared : bool
        Whether weights and indices share one port of a beat a cycle; otherwise the weights
        alone count.
    """
    operand = case.operand
    nnz = np.diff(operand.indptr)
    wanted = nonzero(operand.activations.astype(np.uint32), operand.element_format)
    products = int((wanted * nnz).sum())
    groups = [
        wanted[start : start + case.outputs].any(axis=0)
        for start in range(0, len(wanted), case.outputs)
    ]
    fetched = int(sum((group * nnz).sum() for group in groups))
    if shared:
        each = bytes_per_nonzero(
            operand.element_format,
            matrix_of(operand, case.width).index_mode,
            m=max(operand.m, 1),
            density=len(operand.data) / max(operand.shape[0] * operand.shape[1], 1),
        )
    else:
        each = operand.element_format.bits / 8
    lanes = config.lanes_of(operand.element_format)
    return max(products / lanes, fetched * each / (config.beat_bits // 8), 1.0)
