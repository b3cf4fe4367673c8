"""``fanweave ebpf`` with the engine in RTL beside those that need no simulator."""

from fanweave.sw.ebpf.commands import ebpf
from fanweave.sw.ebpf.object.engines import ENGINES, ENGINES_WITH_WAVES

__all__ = ["ebpf"]

ENGINES["rtl"] = "fanweave.sim.benches.ebpf.rtl_engine:run"
ENGINES_WITH_WAVES.add("rtl")
