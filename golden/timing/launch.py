"""What starting kernels costs, with recorded graphs of them and without."""

from dataclasses import dataclass

from fanweave.golden.errors import InputError

__all__ = ["GRAPH_SIZES", "TILE_TOKENS", "LaunchModel"]

#: Token counts for which graphs are recorded: 1, 2, 4 and the multiples of 8 up to 256, the
#: default of vLLM for 128 sequences.
GRAPH_SIZES = (1, 2, 4, *range(8, 257, 8))

_COSTS = (
    "graph_ps",
    "eager_ps",
    "kernel_ps",
    "kernels_per_layer",
    "kernels_per_step",
    "idle_ps",
)
#: Tokens of a tile of matrix products, by which `LaunchModel.tiles_ps` goes.
TILE_TOKENS = 128


@dataclass(frozen=True, kw_only=True)
class LaunchModel:
    """Launch overhead of a step.

    A step of at most the largest recorded size is replayed as a graph, its tokens padded to the
    next recorded size. Any other step is launched kernel by kernel, and takes no less than all
    its launches one after another. Before its kernels can start, the host prepares a step. With
    asynchronous scheduling it does so while the step before runs, so that only what is longer
    than that step delays the device.

    Attributes
    ----------
    graph_sizes : tuple of int
        Recorded sizes, increasing; empty without graphs.
    graph_ps, eager_ps : int
        Time of the host from scheduling a step, with and without a graph, to its first kernel.
    kernel_ps : int
        Time of the host to launch one kernel.
    kernels_per_layer, kernels_per_step : int
        Kernels of one layer, and of a step beside its layers.
    idle_ps : int
        Time of a step without a graph in which its device waits, beyond its kernels.
    tiles_ps : tuple of (int, int)
        Of a step without a graph, by the tiles of `TILE_TOKENS` tokens that it fills: what it
        takes beyond `idle_ps`, or less. A server may choose other kernels for its products than
        those that were measured.
    uncut : tuple of (int, int)
        From how many decoding sequences to how many the kernels of a graph do not cut a
        sequence along its context. How to cut is decided when a graph is recorded, for the
        longest context there may be, so that a shorter one is not cut.
    """

    graph_sizes: tuple[int, ...] = GRAPH_SIZES
    graph_ps: int = 0
    eager_ps: int = 0
    kernel_ps: int = 5_000_000
    kernels_per_layer: int = 10
    kernels_per_step: int = 5
    idle_ps: int = 0
    tiles_ps: tuple[tuple[int, int], ...] = ()
    uncut: tuple[int, int] = (0, 0)

    def __post_init__(self) -> None:
        sizes = self.graph_sizes
        if any(size < 1 for size in sizes) or list(sizes) != sorted(set(sizes)):
            raise InputError(f"graph_sizes {sizes} must be positive and increase")
        for name in _COSTS:
            if getattr(self, name) < 0:
                raise InputError(f"{name} = {getattr(self, name)} must not be negative")
        tiles = [tile for tile, _ in self.tiles_ps]
        if any(tile < 1 for tile in tiles) or len(set(tiles)) < len(tiles):
            raise InputError(f"tiles_ps of {tiles} tiles: each number once, and at least 1")
        if not 0 <= self.uncut[0] <= self.uncut[1]:
            raise InputError(f"uncut = {self.uncut} must be two numbers of sequences that increase")

    def padded(self, tokens: int) -> int:
        """Tokens that a step computes, padding included."""
        for size in self.graph_sizes:
            if size >= tokens:
                return size
        return tokens

    def has_graph(self, tokens: int) -> bool:
        """Whether a step of so many tokens is replayed as a graph."""
        return bool(self.graph_sizes) and tokens <= self.graph_sizes[-1]

    def host(self, tokens: int) -> int:
        """Time of the host from scheduling a step to its first kernel."""
        return self.graph_ps if self.has_graph(tokens) else self.eager_ps

    def total(self, tokens: int, layers: int, device_ps: int) -> int:
        """Time of a step, or of a pipeline stage of it, from the time of its kernels."""
        if self.has_graph(tokens):
            return device_ps
        launches = layers * self.kernels_per_layer + self.kernels_per_step
        beyond = self.idle_ps + dict(self.tiles_ps).get(-(-tokens // TILE_TOKENS), 0)
        return max(device_ps + beyond, launches * self.kernel_ps)

    def cuts(self, sequences: int) -> bool:
        """Whether kernels of decode alone cut so many sequences along their contexts."""
        low, high = self.uncut
        return not (low <= sequences <= high and self.has_graph(sequences))
