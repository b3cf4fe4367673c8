"""Shape of a LLaMA-architecture model."""

from dataclasses import dataclass, fields

from fanweave.golden.errors import InputError

__all__ = ["PROJECTIONS", "LlamaConfig", "projection_name", "projection_shapes"]

#: The seven matrix products of a layer in the order of their evaluation, with their module.
PROJECTIONS = {
    "q_proj": "self_attn",
    "k_proj": "self_attn",
    "v_proj": "self_attn",
    "o_proj": "self_attn",
    "gate_proj": "mlp",
    "up_proj": "mlp",
    "down_proj": "mlp",
}


@dataclass(frozen=True, kw_only=True)
class LlamaConfig:
    """Sizes and constants of a model.

    Parameters
    ----------
    layers, hidden, intermediate, heads, kv_heads, head_size, vocabulary : int
        Positive; `heads` a multiple of `kv_heads`, `head_size` even.
    rope_base : float
        Base of the rotary embedding's frequencies.
    norm_epsilon : float
        Added to the mean square in RMSNorm.

    Raises
    ------
    InputError
        If a size is not positive or two do not fit each other.
    """

    layers: int
    hidden: int
    intermediate: int
    heads: int
    kv_heads: int
    head_size: int
    vocabulary: int
    rope_base: float
    norm_epsilon: float

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if not value > 0:
                raise InputError(f"model: {field.name} must be positive, got {value}")
        if self.heads % self.kv_heads:
            raise InputError(
                f"model: heads must be a multiple of kv_heads {self.kv_heads}, got {self.heads}"
            )
        if self.head_size % 2:
            raise InputError(f"model: head_size must be even, got {self.head_size}")


def projection_name(layer: int, projection: str) -> str:
    """Full name, such as ``layers.3.mlp.up_proj``."""
    return f"layers.{layer}.{PROJECTIONS[projection]}.{projection}"


def projection_shapes(config: LlamaConfig) -> dict[str, tuple[int, int]]:
    """Shape [out, in] of each of the seven projections of a layer."""
    queries = config.heads * config.head_size
    keys = config.kv_heads * config.head_size
    return {
        "q_proj": (queries, config.hidden),
        "k_proj": (keys, config.hidden),
        "v_proj": (keys, config.hidden),
        "o_proj": (config.hidden, queries),
        "gate_proj": (config.intermediate, config.hidden),
        "up_proj": (config.intermediate, config.hidden),
        "down_proj": (config.hidden, config.intermediate),
    }
