"""Puts programs together: an entry, the functions that it calls, and the numbers of its maps."""

from collections.abc import Sequence
from dataclasses import replace

from fanweave.golden.ebpf.program import Program
from fanweave.golden.errors import InputError
from fanweave.golden.isa.ebpf import (
    INSTRUCTION_BYTES,
    CallKind,
    Instruction,
    InstructionClass,
    JumpOperation,
    WideKind,
)
from fanweave.sw.ebpf.check import MAX_SLOTS
from fanweave.sw.ebpf.object.btf import Btf, BtfError
from fanweave.sw.ebpf.object.btf_ext import BtfExt, LineInfo
from fanweave.sw.ebpf.object.elf import Elf, Relocation, RelocationKind, relocation_name
from fanweave.sw.ebpf.object.functions import SHARED, Code, decode
from fanweave.sw.ebpf.object.map_table import MapTable
from fanweave.sw.ebpf.object.model import Function, ObjectProgram, SourceLine

__all__ = ["Linker"]

_CALL = JumpOperation.CALL << 4 | InstructionClass.JMP
#: Characters of a source line that are kept.
_LINE_BYTES = 4096
#: Slots of all programs of a file; functions that several of them call count for each.
_ALL_SLOTS = 4 * MAX_SLOTS


class Linker:
    """Links the programs of one file.

    Parameters
    ----------
    elf : Elf
        The file.
    functions : sequence of Code
        All that it has.
    maps : MapTable
        Its maps.
    btf : Btf, optional
        Its types, for lines.
    ext : BtfExt, optional
        Its lines.
    """

    def __init__(
        self,
        elf: Elf,
        functions: Sequence[Code],
        maps: MapTable,
        btf: Btf | None,
        ext: BtfExt | None,
    ) -> None:
        self.elf = elf
        self.functions = functions
        self.maps = maps
        self.btf = btf
        self.ext = ext
        self._by_key: dict[tuple[int, int], Code] = {}
        for code in functions:
            # Of two names for one place the visible one is the better.
            if code.key not in self._by_key or not code.local:
                self._by_key[code.key] = code
        self._decoded: dict[tuple[int, int], list[tuple[int, Instruction]]] = {}
        self._lines = {
            (name, line.offset): line
            for name, lines in (ext.lines.items() if ext else ())
            for line in lines
        }
        self._texts: dict[LineInfo, SourceLine] = {}
        self._relocations = self._check_relocations()
        #: Functions that some program uses.
        self.used: set[tuple[int, int]] = set()
        #: Slots of all programs so far.
        self.slots = 0

    def _check_relocations(self) -> dict[int, dict[int, Relocation]]:
        """Relocations of code, by section and offset."""
        found: dict[int, dict[int, Relocation]] = {}
        for number, relocations in self.elf.relocations.items():
            section = self.elf.sections[number]
            if not section.executable:
                continue
            rows = found.setdefault(number, {})
            for relocation in relocations:
                where = f"{section}, offset {relocation.offset:#x}"
                if relocation.offset % INSTRUCTION_BYTES or relocation.offset in rows:
                    raise self.elf.refusal(
                        where, "a relocation in the middle of an instruction, or a second one"
                    )
                rows[relocation.offset] = relocation
        return found

    def entries(self) -> list[Code]:
        """Functions that are programs: those outside of ``.text``, if there are any."""
        visible = [code for code in self.functions if not code.local]
        outside = [code for code in visible if code.section.name != SHARED]
        return outside or visible

    def link(self, entry: Code) -> ObjectProgram:
        """A program.

        Parameters
        ----------
        entry : Code
            Where it begins.

        Raises
        ------
        InputError
            If it needs something that this file, or this machine, does not have; the message names
            section, offset and symbol.
        """
        order = [entry]
        bases = {entry.key: 0}
        total = entry.slots
        instructions: list[Instruction] = []
        lines: dict[int, SourceLine] = {}
        functions: list[Function] = []
        # `order` grows while it is worked off.
        for code in order:
            base = bases[code.key]
            functions.append(
                Function(name=code.name, section=code.section.name, start=base, slots=code.slots)
            )
            for offset, instruction in self._instructions(code):
                slot = base + (offset - code.start) // INSTRUCTION_BYTES
                if line := self._line(code, offset):
                    lines[slot] = line
                made = self._resolve(code, offset, instruction)
                if isinstance(made, Code):
                    if made.key not in bases:
                        bases[made.key] = total
                        total += made.slots
                        order.append(made)
                        self._check_length(entry, total)
                    made = replace(instruction, imm=bases[made.key] - slot - 1)
                instructions.append(made)
        self._check_length(entry, total)
        self.slots += total
        if self.slots > _ALL_SLOTS:
            raise self.elf.refusal(
                entry, f"the programs up to here have {self.slots} slots; at most {_ALL_SLOTS}"
            )
        self.used.update(bases)
        return ObjectProgram(
            name=entry.name,
            section=entry.section.name,
            program=Program.of(instructions, name=entry.name),
            functions=tuple(functions),
            lines=lines,
        )

    def _check_length(self, entry: Code, slots: int) -> None:
        if slots > MAX_SLOTS:
            raise self.elf.refusal(
                entry, f"with what it calls it has {slots} slots; at most {MAX_SLOTS} are possible"
            )

    def _instructions(self, code: Code) -> list[tuple[int, Instruction]]:
        if code.key not in self._decoded:
            self._decoded[code.key] = decode(self.elf, code)
            starts = {offset for offset, _ in self._decoded[code.key]}
            for offset in self._relocations.get(code.section.number, ()):
                if code.start <= offset < code.end and offset not in starts:
                    raise self.elf.refusal(
                        f"{code}, offset {offset:#x}",
                        "a relocation in the second half of a 64-bit immediate load",
                    )
        return self._decoded[code.key]

    def _line(self, code: Code, offset: int) -> SourceLine | None:
        info = self._lines.get((code.section.name, offset))
        # Line 0 is the compiler's way to say that there is none.
        if info is None or not info.line or self.btf is None:
            return None
        if info not in self._texts:
            try:
                self._texts[info] = SourceLine(
                    file=self.btf.text(info.file),
                    line=info.line,
                    column=info.column,
                    text=self.btf.text(info.text, _LINE_BYTES).strip(),
                )
            except BtfError as error:
                raise self.elf.refusal(
                    f"section '.BTF.ext', line of {code}, offset {offset:#x}", str(error)
                ) from None
        return self._texts[info]

    def _resolve(self, code: Code, offset: int, instruction: Instruction) -> Instruction | Code:
        """The instruction as the machine gets it, or the function that it calls."""
        relocation = self._relocations.get(code.section.number, {}).get(offset)
        where = f"{code}, offset {offset:#x}"
        local_call = instruction.opcode == _CALL and instruction.src == CallKind.LOCAL
        if relocation is None:
            if not local_call:
                return instruction
            target = offset + (1 + instruction.imm) * INSTRUCTION_BYTES
            return self._callee(where, code.section.number, target)
        if relocation.kind == RelocationKind.WIDE:
            if not instruction.is_wide or instruction.src != WideKind.IMMEDIATE:
                raise self.elf.refusal(where, "the address of a symbol needs a 64-bit load")
            return self._address(where, instruction, relocation)
        if relocation.kind == RelocationKind.CALL:
            if not local_call:
                raise self.elf.refusal(where, "a relocation of a call at what is no local call")
            section = self._defined(where, relocation)
            # The assembler keeps the distance from the symbol in the immediate.
            target = relocation.symbol.value + (1 + instruction.imm) * INSTRUCTION_BYTES
            return self._callee(where, section, target)
        possible = ", ".join(relocation_name(kind) for kind in RelocationKind)
        raise self.elf.refusal(
            where,
            f"relocation {relocation_name(relocation.kind)} of {relocation.symbol.name!r} is not "
            f"possible here; known are {possible}",
        )

    def _callee(self, where: str, section: int, target: int) -> Code:
        found = self._by_key.get((section, target))
        if found is None:
            raise self.elf.refusal(
                where,
                f"a call to offset {target:#x} of {self.elf.sections[section]}, where no function "
                "begins",
            )
        return found

    def _defined(self, where: str, relocation: Relocation) -> int:
        """Number of the section that a symbol lies in."""
        symbol = relocation.symbol
        if symbol.section is not None and symbol.section != 0:
            return symbol.section
        raise self.elf.refusal(
            where, f"{symbol.name!r} is not defined in this file; {self._origin(symbol.name)}"
        )

    def _origin(self, name: str) -> str:
        """What is known of a symbol of elsewhere."""
        if self.btf is not None:
            for section, found in self.btf.sections().items():
                for member in found.members:
                    with_name = 0 <= member.type < len(self.btf.types)
                    if with_name and self.btf.types[member.type].name == name:
                        return f"it is an extern of {section!r}, and there is no kernel here"
        return "all that a program uses must be in one file, or be a helper"

    def _address(self, where: str, instruction: Instruction, relocation: Relocation) -> Instruction:
        symbol = relocation.symbol
        section = self.elf.sections[self._defined(where, relocation)]
        if section.executable:
            raise self.elf.refusal(
                where,
                f"the address of {symbol.name!r} in {section}, which is code; functions can be "
                "called, and not be pointed to",
            )
        if not self.maps.holds(section):
            raise self.elf.refusal(
                where,
                f"the address of {symbol.name!r} in {section}, which holds neither maps nor "
                "variables; expected .maps, maps, .rodata, .data or .bss",
            )
        place = self.maps.place(section, symbol.value + instruction.imm, where)
        if place.offset is None:
            return replace(instruction, src=int(WideKind.MAP_FD), imm=place.number, high=0)
        return replace(
            instruction, src=int(WideKind.MAP_VALUE), imm=place.number, high=place.offset
        )

    def check_unused(self) -> None:
        """Refuse programs that were meant to be some, and are hidden.

        Raises
        ------
        InputError
            If a static function outside of ``.text`` is not called.
        """
        for code in self.functions:
            if code.local and code.section.name != SHARED and code.key not in self.used:
                raise InputError(
                    f"{self.elf.name}, {code}: it is static, and nothing calls it; a program must "
                    "be visible: leave `static` out"
                )
