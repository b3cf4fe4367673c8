"""Where a number comes from: every report tells these apart."""

from collections.abc import Iterable
from typing import Literal, get_args

__all__ = ["ORIGINS", "Origin", "published"]

#: Counted in RTL, computed by a model, measured on a machine or of a real model's values, published
#: by others, or assumed.
Origin = Literal["rtl", "model", "measured", "literature", "assumed"]
ORIGINS: tuple[str, ...] = get_args(Origin)


def published(origins: Iterable[Origin]) -> Origin:
    """Origin of a sum of numbers of cards: published only if none of them is assumed."""
    return "assumed" if "assumed" in origins else "literature"
