"""Which product or row-wise operator stands behind the name of a layer in measurements."""

from fanweave.golden.dops.models import ModelCard

__all__ = ["GEMM", "ROWWISE", "operator_shape"]

#: A matrix product; a row-wise operator, limited by memory.
GEMM, ROWWISE = "gemm", "rowwise"

#: Names in the shipped measurements -> our operator.
_ALIASES = {
    "attn_pre_proj": "qkv_proj",
    "attn_post_proj": "o_proj",
    "mlp_up_proj": "gate_up_proj",
    "mlp_down_proj": "down_proj",
    "emb": "embedding",
    "input_layernorm": "layernorm",
    "post_attention_layernorm": "layernorm",
    "final_layernorm": "layernorm",
    "attn_rope": "rotary_emb",
    "mlp_act": "act_fn",
}


def operator_shape(name: str, card: ModelCard) -> tuple[str, int, int] | None:
    """Return the kind of a layer and its N and K, or None for a name that is not known.

    Parameters
    ----------
    name : str
        Name in the measurements.
    card : ModelCard
        Sizes of the measured model.

    Returns
    -------
    tuple of (kind, N, K), or None
        Columns of the result and, for a product, the length of its sums; a row-wise operator
        has K = 0, and N is the length of its row.
    """
    attention = (card.heads + 2 * card.kv_heads) * card.head_size
    shapes = {
        "qkv_proj": (GEMM, attention, card.hidden),
        "o_proj": (GEMM, card.hidden, card.heads * card.head_size),
        "gate_up_proj": (GEMM, 2 * card.intermediate, card.hidden),
        "down_proj": (GEMM, card.hidden, card.intermediate),
        "lm_head": (GEMM, card.vocabulary, card.hidden),
        "embedding": (ROWWISE, card.hidden, 0),
        "layernorm": (ROWWISE, card.hidden, 0),
        "rotary_emb": (ROWWISE, (card.heads + card.kv_heads) * card.head_size, 0),
        "act_fn": (ROWWISE, 2 * card.intermediate, 0),
        "add": (ROWWISE, card.hidden, 0),
        "sampler": (ROWWISE, card.vocabulary, 0),
    }
    return shapes.get(_ALIASES.get(name, name))
