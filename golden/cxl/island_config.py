"""Parameters of a switch island: a switch and the policy engine that it asks."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from fanweave.golden.cxl.config import PRESETS as SWITCH_PRESETS
from fanweave.golden.cxl.config import SwitchConfig
from fanweave.golden.ebpf.config import PRESETS as ENGINE_PRESETS
from fanweave.golden.ebpf.config import EbpfConfig
from fanweave.golden.errors import InputError
from fanweave.golden.isa.cxl_event import EVENT_BYTES

__all__ = ["PRESETS", "IslandConfig"]


@dataclass(frozen=True, kw_only=True)
class IslandConfig:
    """What can be chosen of an island.

    Parameters
    ----------
    switch : SwitchConfig
    engine : EbpfConfig
    verdict_entries : int
        Verdicts that the island keeps; a power of two from 4 to 1024.

    Raises
    ------
    InputError
        If the engine cannot hold the context of an event, or would give it back, or the number of
        verdicts is illegal.
    """

    switch: SwitchConfig = field(default_factory=SwitchConfig)
    engine: EbpfConfig = field(default_factory=EbpfConfig)
    verdict_entries: int = 64

    def __post_init__(self) -> None:
        entries = self.verdict_entries
        if not isinstance(entries, int) or not 4 <= entries <= 1024 or entries & entries - 1:
            raise InputError(
                f"verdict_entries = {entries!r} is illegal; it must be a power of two from 4 to "
                "1024"
            )
        if self.engine.context_bytes < EVENT_BYTES:
            raise InputError(
                f"context_bytes = {self.engine.context_bytes}: an event has {EVENT_BYTES}; "
                "choose an engine that holds it"
            )
        if self.engine.returns_context:
            raise InputError(
                "returns_context is set; nothing in an island takes contexts, so leave it out"
            )


#: By name, as command lines have them.
PRESETS: Mapping[str, IslandConfig] = {
    "default": IslandConfig(),
    "dual": IslandConfig(engine=ENGINE_PRESETS["dual"]),
    "tiny": IslandConfig(
        switch=SWITCH_PRESETS["tiny"],
        verdict_entries=16,
        engine=replace(ENGINE_PRESETS["tiny"], context_bytes=EVENT_BYTES, slots=256),
    ),
}
