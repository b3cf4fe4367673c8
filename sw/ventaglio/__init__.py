"""Programs and memory images for the Ventaglio unit."""

from fanweave.sw.ventaglio.layout import SparseMatrix, build_image
from fanweave.sw.ventaglio.lower import default_width, lower, matrix_of
from fanweave.sw.ventaglio.program import Clear, Drain, Multiply, MultiplyAccumulate, assemble

__all__ = [
    "Clear",
    "Drain",
    "Multiply",
    "MultiplyAccumulate",
    "SparseMatrix",
    "assemble",
    "build_image",
    "default_width",
    "lower",
    "matrix_of",
]
