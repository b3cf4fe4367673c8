"""The driver of a policy engine."""

from fanweave.golden.ebpf.config import EbpfConfig
from fanweave.golden.errors import InputError
from fanweave.golden.isa.ebpf_registers import COUNTERS, LIMITS, MAGIC, VERSION
from fanweave.sw.ebpf.driver.bus import Bus
from fanweave.sw.ebpf.driver.maps import EngineMaps
from fanweave.sw.ebpf.driver.programs import EnginePrograms
from fanweave.sw.ebpf.driver.registers import EngineRegisters

__all__ = ["EngineDriver"]


class EngineDriver:
    """One engine, made known by `identify`.

    Attributes
    ----------
    config : EbpfConfig
        What the engine says of itself.
    registers : EngineRegisters
    programs : EnginePrograms
    maps : EngineMaps
    """

    def __init__(self, registers: EngineRegisters, config: EbpfConfig) -> None:
        self.config = config
        self.registers = registers
        self.programs = EnginePrograms(registers, config)
        self.maps = EngineMaps(registers, config)

    @classmethod
    async def identify(cls, bus: Bus) -> "EngineDriver":
        """Ask what is on the bus.

        Raises
        ------
        InputError
            If it is no engine, or one of another major version.
        """
        registers = EngineRegisters(bus)
        magic = await registers.read("magic")
        if magic != MAGIC:
            raise InputError(
                f"there is no policy engine on the bus: register magic is {magic:#x}; an engine "
                f"has {MAGIC:#x}"
            )
        major = await registers.read_field("version", "major")
        if major != VERSION[0]:
            raise InputError(
                f"the engine has registers of version {major}; the driver knows version "
                f"{VERSION[0]}"
            )
        limits = {name: await registers.read(f"limit_{name}") for name, _ in LIMITS}
        returns_context = bool(limits.pop("returns_context"))
        return cls(registers, EbpfConfig(**limits, returns_context=returns_context))

    async def set_budget(self, instructions: int) -> None:
        """Instructions after which the watchdog ends an event."""
        await self.registers.write("budget", instructions)

    async def set_default_verdict(self, verdict: int) -> None:
        """Verdict of an event that ends before its time."""
        await self.registers.write_long("default_verdict", verdict)

    async def counters(self) -> dict[str, int]:
        """Events, instructions, and verdicts by cause, since reset."""
        return {name: await self.registers.read_long(f"counter_{name}") for name, _ in COUNTERS}
