"""Where a number comes from: every report tells these apart."""

from typing import Literal, get_args

__all__ = ["ORIGINS", "Origin"]

#: Counted in RTL, computed by a model, measured on a machine or of a real model's values, published
#: by others, or assumed.
Origin = Literal["rtl", "model", "measured", "literature", "assumed"]
ORIGINS: tuple[str, ...] = get_args(Origin)
