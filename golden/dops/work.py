"""Floating-point operations and elements that an operator reads and writes."""

import math
from dataclasses import dataclass
from typing import Literal

from fanweave.golden.dops.graph import Kind, OperatorClass
from fanweave.golden.errors import InputError

__all__ = [
    "ELEMENT_BITS",
    "Phase",
    "Step",
    "byte_count",
    "element_bits",
    "flops",
    "kv_elements",
    "touched_weights",
    "traffic",
]

Phase = Literal["prefill", "decode"]

#: Bits of an element, of weights, activations, keys and values alike.
ELEMENT_BITS = {"fp32": 32, "fp16": 16, "bf16": 16, "fp8": 8, "int8": 8, "int4": 4}


def element_bits(name: str) -> int:
    """Bits of a named element format.

    Raises
    ------
    InputError
        If it is not known.
    """
    if name not in ELEMENT_BITS:
        raise InputError(
            f"element format {name!r} is not known; use one of {', '.join(ELEMENT_BITS)}"
        )
    return ELEMENT_BITS[name]


def byte_count(elements: int, bits: int) -> int:
    """Bytes that hold so many elements."""
    return -(-elements * bits // 8)


@dataclass(frozen=True)
class Step:
    """One pass through the graph.

    Attributes
    ----------
    phase : str
        ``prefill`` or ``decode``.
    batch : int
        Sequences.
    context : int
        Tokens of each: all of them are new in prefill; in decode, those before the new one.
    """

    phase: Phase
    batch: int
    context: int

    @property
    def tokens(self) -> int:
        """New tokens of all sequences."""
        return self.batch * (self.context if self.phase == "prefill" else 1)

    @property
    def pairs(self) -> int:
        """Pairs of a query and a key of one head, one sequence; causal in prefill."""
        if self.phase == "prefill":
            return self.context * (self.context + 1) // 2
        return self.context


def flops(work: OperatorClass, step: Step) -> int:
    """Floating-point operations of one pass."""
    kind, tokens, hidden = work.kind, step.tokens, work.hidden
    if kind is Kind.HEAD:
        # The last token of each sequence alone is asked for the next one.
        return 2 * work.weights * step.batch
    if work.weights and kind is not Kind.ROUTER:
        return 2 * (work.weights // work.group) * tokens
    scores = step.batch * work.heads * step.pairs
    match kind:
        case Kind.LN:
            return 5 * tokens * hidden
        case Kind.QK | Kind.SV:
            return 2 * scores * work.head_size
        case Kind.SOFTMAX:
            return 5 * scores
        case Kind.SWIGLU:
            return 6 * tokens * work.intermediate
        case Kind.ADD:
            return tokens * hidden
        case Kind.ROUTER:
            # Gate, softmax, choice of the experts, weighted sum of their outputs.
            gate = (2 * hidden + 5 + 2) * work.experts
            return tokens * (gate + 2 * hidden * work.experts_per_token)
    return 0


def traffic(work: OperatorClass, step: Step) -> tuple[int, int]:
    """Elements of activations that one pass reads and writes, weights and history apart.

    Attention scores are written and read again in full.
    """
    tokens, hidden, kind = step.tokens, work.hidden, work.kind
    queries = tokens * work.heads * work.head_size
    keys = tokens * work.kv_heads * work.head_size
    inner = tokens * work.intermediate
    scores = step.batch * work.heads * step.pairs
    match kind:
        case Kind.Q:
            return tokens * hidden, queries
        case Kind.K | Kind.V:
            return tokens * hidden, keys
        case Kind.K_WRITE | Kind.V_WRITE:
            return 0, keys
        case Kind.QK:
            return queries, scores
        case Kind.SOFTMAX:
            return scores, scores
        case Kind.SV:
            return scores, queries
        case Kind.O:
            return queries, tokens * hidden
        case Kind.ADD:
            return 2 * tokens * hidden, tokens * hidden
        case Kind.W1 | Kind.W3:
            return tokens * hidden, inner
        case Kind.SWIGLU:
            return 2 * inner, inner
        case Kind.W2:
            return inner, tokens * hidden
        case Kind.ROUTER:
            return tokens * hidden * (1 + work.experts_per_token), tokens * hidden
        case Kind.HEAD:
            return step.batch * hidden, step.batch * (work.weights // hidden)
    return tokens * hidden, tokens * hidden


def touched_weights(work: OperatorClass, step: Step) -> int:
    """Elements of the weights that a pass reads: of a group of experts, those that tokens take.

    The mean over even, independent choices of every token: an expert of ``g`` is left out by
    ``t`` tokens with the chance (1 - 1/g)^t.
    """
    if work.group == 1:
        return work.weights
    return math.ceil(work.weights * (1.0 - (1.0 - 1.0 / work.group) ** step.tokens))


def kv_elements(work: OperatorClass, step: Step) -> int:
    """Stored keys (for QK) or values (for SV) that a pass reads; none in prefill."""
    if step.phase == "prefill" or work.kind not in (Kind.QK, Kind.SV):
        return 0
    return step.batch * work.kv_heads * work.head_size * step.context
