"""The island that tests of programs in islands share, so that it is built once."""

from dataclasses import replace

from fanweave.golden.cxl.island_config import PRESETS

_TINY = PRESETS["tiny"]
#: The smallest one, with room for the maps of policies.
ISLAND = replace(
    _TINY, engine=replace(_TINY.engine, prefixes=64, prefix_lanes=16, value_bytes=8192)
)
