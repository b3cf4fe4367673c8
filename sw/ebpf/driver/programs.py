"""Programs of an engine: where they lie, and what is bound to them."""

from fanweave.golden.ebpf.config import EbpfConfig
from fanweave.golden.ebpf.program import Program
from fanweave.golden.errors import FaultError, InputError
from fanweave.golden.isa.ebpf_loader import LoadFault
from fanweave.golden.isa.ebpf_registers import register
from fanweave.sw.ebpf.assembler import disassemble
from fanweave.sw.ebpf.driver.registers import EngineRegisters

__all__ = ["EnginePrograms"]

_SLOT_BYTES = 8
_FAULTS = {int(fault): fault for fault in LoadFault}


class EnginePrograms:
    """Loads, binds and replaces programs, as the only host that does.

    Parameters
    ----------
    registers : EngineRegisters
        Of the engine.
    config : EbpfConfig
        The engine.
    """

    def __init__(self, registers: EngineRegisters, config: EbpfConfig) -> None:
        self._registers = registers
        self._config = config
        #: First slot and number of slots of each image.
        self._extents: dict[int, tuple[int, int]] = {}
        self._bound: dict[int, int] = {}

    @property
    def images(self) -> int:
        """Images that are taken."""
        return len(self._extents)

    def extent(self, number: int) -> tuple[int, int]:
        """First slot and number of slots of what a number stands for.

        Raises
        ------
        InputError
            If it stands for nothing.
        """
        if number not in self._bound:
            raise InputError(f"program {number} is not installed")
        return self._extents[self._bound[number]]

    async def install(self, number: int, program: Program) -> int:
        """Load a program, let a number stand for it, and give up what that stood for before.

        Events that run the old one go on in it; while they do its memory stays taken, and a later
        `tidy` gives it back.

        Parameters
        ----------
        number : int
            What events and tail calls name.
        program : Program
            The program.

        Returns
        -------
        int
            The image.

        Raises
        ------
        InputError
            If there is no such number, no room, or the engine refuses the program.
        """
        if not 0 <= number < self._config.programs:
            raise InputError(
                f"program {program.name!r}: number {number} is none; the engine has programs = "
                f"{self._config.programs}"
            )
        await self.tidy()
        image = await self._load(program)
        await self._bind(number, image)
        self._bound[number] = image
        await self.tidy()
        return image

    async def remove(self, number: int) -> None:
        """Let a number stand for nothing."""
        if number in self._bound:
            await self._registers.write_fields("bind", program=number)
            await self._answer("bind_status", f"program {number} cannot be removed")
            del self._bound[number]
        await self.tidy()

    async def tidy(self) -> None:
        """Give up images that no number stands for and no event runs."""
        for image in sorted(set(self._extents) - set(self._bound.values())):
            await self._registers.write_fields("release", image=image)
            status = await self._registers.ended("release_status")
            if not register("release_status").field("refused").extract(status):
                del self._extents[image]

    async def _load(self, program: Program) -> int:
        code = b"".join(instruction.encode() for instruction in program.instructions)
        length = len(code) // _SLOT_BYTES
        image, base = self._room(program, length)
        registers = self._registers
        await registers.write_fields("program_slot", slot=base)
        for at in range(0, len(code), _SLOT_BYTES):
            word = int.from_bytes(code[at : at + _SLOT_BYTES], "little")
            await registers.write("program_low", word)
            await registers.write("program_high", word >> 32)
        await self._answer("program_status", f"program {program.name!r} cannot be written")
        await registers.write_fields("commit_base", slot=base)
        await registers.write_fields("commit_length", slots=length)
        await registers.write_fields("commit", image=image)
        status = await registers.ended("commit_status")
        fault = _FAULTS[register("commit_status").field("fault").extract(status)]
        if fault is not LoadFault.NONE:
            slot = register("commit_status").field("slot").extract(status)
            raise InputError(_refusal(program, fault, slot))
        self._extents[image] = base, length
        return image

    def _room(self, program: Program, length: int) -> tuple[int, int]:
        """A free image, and the first slot of the first gap that is long enough."""
        free = [n for n in range(self._config.images) if n not in self._extents]
        if not free:
            raise InputError(
                f"program {program.name!r} does not fit: all images = {self._config.images} of the "
                "engine are taken"
            )
        base = 0
        for first, count in sorted(self._extents.values()):
            if first - base >= length:
                break
            base = first + count
        if base + length > self._config.slots:
            raise InputError(
                f"program {program.name!r} does not fit: it needs {length} slots in a row; the "
                f"engine has slots = {self._config.slots}, and {self._config.slots - base} are "
                "left at the end"
            )
        return free[0], base

    async def _bind(self, number: int, image: int) -> None:
        await self._registers.write_fields("bind", program=number, image=image, valid=1)
        await self._answer("bind_status", f"program {number} cannot stand for image {image}")

    async def _answer(self, name: str, what: str) -> None:
        status = await self._registers.ended(name)
        if register(name).field("refused").extract(status):
            raise FaultError(f"{what}: the engine refuses")


def _refusal(program: Program, fault: LoadFault, slot: int) -> str:
    """What to say of a program that the engine refuses."""
    instruction = program.slots[slot] if slot < len(program.slots) else None
    shown = f" ({disassemble([instruction])[0]})" if instruction is not None else ""
    return f"program {program.name!r}: the engine refuses slot {slot}{shown}: {fault.text}"
