"""What a host does with the policy engine: programs, maps, counters, over any bus."""

from fanweave.sw.ebpf.driver.bus import Bus, PlainBus, over, run_now
from fanweave.sw.ebpf.driver.driver import EngineDriver

__all__ = ["Bus", "EngineDriver", "PlainBus", "over", "run_now"]
