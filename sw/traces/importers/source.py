"""What every reader returns."""

from dataclasses import dataclass

from fanweave.sw.traces.build import Matrix

__all__ = ["SourceMatrix"]


@dataclass(frozen=True, kw_only=True)
class SourceMatrix:
    """A matrix as it stands in its file, not yet transposed.

    Parameters
    ----------
    name : str
    matrix : Matrix
        Its values are zero where `has_values` is False.
    has_values : bool
        False if the file holds the pattern only.
    """

    name: str
    matrix: Matrix
    has_values: bool = True
