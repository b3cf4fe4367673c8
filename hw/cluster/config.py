"""Parameters of a cluster."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from fanweave.golden.errors import InputError
from fanweave.hw.core.config import ScalarConfig
from fanweave.hw.vector import config as vector_config
from fanweave.hw.vector.config import VectorConfig

__all__ = ["PRESETS", "ClusterConfig"]


@dataclass(frozen=True, kw_only=True)
class ClusterConfig:
    """What can be chosen of a cluster.

    The L1 is as large as the memory map says.

    Parameters
    ----------
    cores : int
        Core complexes, 1 or 2.
    core : ScalarConfig
        Each of them; its ``hart`` has no effect.
    vector : VectorConfig
        The vector unit of each.
    l1_banks : int
        Banks of the L1, of 64 bits each; a power of two from 8 to 64.
    instruction_bytes : int
        Instruction memory, which repeats itself in its region of the memory map; a power of two
        from 4 Ki to 1 Mi.
    instruction_banks : int
        Banks of the instruction memory; a power of two from 2 to 16.
    transfers : int
        Transfers that wait for the DMA, 1 to 16.
    rows : int
        Rows of transfers that the DMA works on at once, a power of two from 2 to 256.
    beats : int
        Reads of the outer memory that may wait for their response, 1 to 1024.

    Raises
    ------
    InputError
        If one of them is not as said.
    """

    cores: int = 1
    core: ScalarConfig = field(default_factory=ScalarConfig)
    vector: VectorConfig = field(default_factory=VectorConfig)
    l1_banks: int = 16
    instruction_bytes: int = 128 * 1024
    instruction_banks: int = 4
    transfers: int = 4
    rows: int = 32
    beats: int = 256

    def __post_init__(self) -> None:
        for name, least, most, power in (
            ("cores", 1, 2, False),
            ("l1_banks", 8, 64, True),
            ("instruction_bytes", 4096, 1024 * 1024, True),
            ("instruction_banks", 2, 16, True),
            ("transfers", 1, 16, False),
            ("rows", 2, 256, True),
            ("beats", 1, 1024, False),
        ):
            value = getattr(self, name)
            whole = isinstance(value, int) and not isinstance(value, bool)
            if not whole or not least <= value <= most or (power and value & value - 1):
                kind = "a power of two" if power else "an integer"
                raise InputError(f"{name} is {value!r}; expected {kind} from {least} to {most}")


_SMALL = ClusterConfig(
    vector=vector_config.PRESETS["small"],
    l1_banks=8,
    instruction_bytes=32 * 1024,
    instruction_banks=2,
    rows=4,
    beats=16,
)

#: By name, as command lines have them. ``ventaglio`` has all formats, ``ventaglio-fp32`` the one
#: that the benchmarks use.
PRESETS: Mapping[str, ClusterConfig] = {
    "default": ClusterConfig(),
    "two-cores": ClusterConfig(cores=2),
    "small": _SMALL,
    "ventaglio": ClusterConfig(cores=2, vector=vector_config.PRESETS["ventaglio"]),
    "one-core-ventaglio": ClusterConfig(vector=vector_config.PRESETS["ventaglio"]),
    "ventaglio-fp32": ClusterConfig(vector=vector_config.PRESETS["ventaglio-fp32"]),
    "small-ventaglio": replace(_SMALL, vector=vector_config.PRESETS["small-ventaglio"]),
}
