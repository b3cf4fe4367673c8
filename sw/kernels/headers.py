"""Headers, linker script and start-up symbols of programs, from the tables in ``golden/isa``."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from fanweave.golden.files import replace_file
from fanweave.golden.isa.cluster import (
    HOST,
    PERIPHERALS,
    REGIONS,
    STACK_BYTES,
    Region,
    RegionName,
    peripheral_address,
)
from fanweave.golden.isa.formats import ElementFormat
from fanweave.golden.isa.riscv import INSTRUCTION_BY_NAME
from fanweave.golden.isa.riscv_encoding import InstructionKind
from fanweave.golden.isa.riscv_ventaglio import VENTAGLIO_CSRS, VENTAGLIO_INSTRUCTIONS
from fanweave.golden.isa.ventaglio import IndexMode

__all__ = ["LINKER_SCRIPT", "generated_files", "write_generated"]

LINKER_SCRIPT = "cluster.ld"
_WRITTEN = Path(__file__).resolve().parent / "include"
_NOTE = "/* Written from the tables of the project; do not edit. */"
#: Harts that have a stack.
_STACKS = 2


def generated_files() -> Mapping[str, str]:
    """Text of each file, by the name below the folder of headers."""
    files = {
        "fanweave/cluster_map.h": _guarded("CLUSTER_MAP", _cluster_map()),
        "fanweave/ventaglio_isa.h": _guarded("VENTAGLIO_ISA", _ventaglio()),
        LINKER_SCRIPT: _linker_script(),
    }
    for path in sorted(_WRITTEN.rglob("*.h")):
        files[str(path.relative_to(_WRITTEN))] = path.read_text()
    return files


def write_generated(folder: Path) -> None:
    """Write all of them below a folder."""
    for name, text in generated_files().items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, text.encode())


def _guarded(name: str, lines: Iterator[str]) -> str:
    guard = f"FANWEAVE_{name}_H"
    return "\n".join((_NOTE, f"#ifndef {guard}", f"#define {guard}", *lines, "#endif", ""))


def _region(name: RegionName) -> Region:
    return next(region for region in REGIONS if region.name is name)


def _cluster_map() -> Iterator[str]:
    """Constants only: assembly includes it as well."""
    for region in REGIONS:
        name = region.name.name
        yield f"#define {name}_BASE {region.base:#010x}"
        yield f"#define {name}_BYTES {region.size:#x}"
    yield f"#define STACK_BYTES {STACK_BYTES}"
    yield f"#define STACKS {_STACKS}"
    for block in PERIPHERALS:
        for entry in block.registers:
            name = f"{block.name}_{entry.name}".upper()
            yield f"#define {name} {block.base + 4 * entry.address:#010x} /* {entry.description} */"


def _ventaglio() -> Iterator[str]:
    for entry in VENTAGLIO_CSRS:
        yield f"#define CSR_{entry.name.upper()} {entry.address:#x} /* {entry.description} */"
        for field in entry.fields:
            name = f"{entry.name}_{field.name}".upper()
            yield f"#define {name}(value) ((unsigned)(value) << {field.low})"
    for element in ElementFormat:
        yield f"#define ELEMENT_{element.name} {int(element)}"
    for mode in IndexMode:
        yield f"#define INDEX_{mode.name} {int(mode)}"
    yield "/* Registers are numbers; scalars and pointers are C expressions. */"
    for kind in VENTAGLIO_INSTRUCTIONS:
        yield from _wrapper(kind)
    yield from _wrapper(INSTRUCTION_BY_NAME["vlx8.v"])
    yield from _wrapper(INSTRUCTION_BY_NAME["vlx16.v"])
    yield from _wrapper(INSTRUCTION_BY_NAME["vlx32.v"])


def _wrapper(kind: InstructionKind) -> Iterator[str]:
    """A macro that puts an instruction together with ``.insn``.

    Vector registers are named by number, because clang does not know that the instruction
    uses them; a kernel that does keeps them all in its own hands.
    """
    name = kind.name.upper().replace(".", "_")
    fields = sorted(set(kind.fields) - {"vm", "rm"}, key=lambda f: kind.fields[f][0].low)
    numbers = [field for field in fields if field.startswith(("v", "uimm", "part"))]
    operands = [field for field in fields if field not in numbers]
    arguments = ", ".join(f"{field}_" for field in (*numbers, *operands))
    yield f"#define {name}({arguments}) \\"
    if not fields:
        yield f'  __asm__ volatile(".4byte {kind.match:#x}" : : : "memory")'
        return
    outputs = [f for f in operands if f == "fd" or (f == "rs1" and ".rrpost" in kind.name)]
    written = [f'[{f}] "{"=f" if f == "fd" else "+r"}"({f}_)' for f in outputs]
    read = [f'[{f}] "{f[0]}"({f}_)' for f in operands if f not in outputs]
    read += [f'[{f}] "i"({f}_)' for f in numbers]
    yield f'  __asm__ volatile("{_insn(kind, numbers, operands)}" \\'
    yield f'                   : {", ".join(written)} : {", ".join(read)} : "memory")'


def _insn(kind: InstructionKind, numbers: list[str], operands: list[str]) -> str:
    """Text of ``.insn r``; the assembler puts scalar registers into their places.

    Vector registers have no letter there, and immediates no place: x registers of the same number
    stand in for them.
    """
    slots = {7: "x0", 15: "x0", 20: "x0"}
    funct7 = kind.match >> 25 | ("vm" in kind.fields)
    high = f"{funct7:#x}"
    for field in (*numbers, *operands):
        low = kind.fields[field][0].low
        register = f"x%[{field}]" if field in numbers else f"%[{field}]"
        if low in slots:
            slots[low] = register
        else:  # in the upper bits of funct7
            high += f" + (%[{field}] << {low - 25})"
    registers = ", ".join(slots.values())
    return f".insn r {kind.match & 0x7F:#x}, {kind.match >> 12 & 7}, {high}, {registers}"


def _linker_script() -> str:
    code, l1, outer = (
        _region(name) for name in (RegionName.INSTRUCTIONS, RegionName.L1, RegionName.OUTER)
    )
    return f"""{_NOTE}
OUTPUT_ARCH(riscv)
ENTRY(_start)
tohost = {peripheral_address(HOST, "tohost"):#x};
MEMORY
{{
  instructions (rx) : ORIGIN = {code.base:#x}, LENGTH = {code.size:#x}
  l1 (rw) : ORIGIN = {l1.base:#x}, LENGTH = {l1.size:#x}
  outer (rw) : ORIGIN = {outer.base:#x}, LENGTH = {outer.size:#x}
}}
PHDRS
{{
  code PT_LOAD FLAGS(5);
  data PT_LOAD FLAGS(6);
  outer PT_LOAD FLAGS(6);
}}
SECTIONS
{{
  .text : {{ KEEP(*(.text.start)) *(.text .text.*) }} > instructions :code
  .rodata : {{ *(.rodata .rodata.* .srodata .srodata.*) }} > instructions :code
  /* The stacks are below: the first one that overflows leaves the memory. */
  .data {l1.base + _STACKS * STACK_BYTES:#x} : {{
    *(.data .data.* .sdata .sdata.*)
  }} > l1 :data
  __global_pointer$ = ADDR(.data) + 0x800;
  .bss (NOLOAD) : {{ *(.sbss .sbss.* .bss .bss.* COMMON) . = ALIGN(64); }} > l1 :data
  __heap = .;
  __heap_end = {l1.end:#x};
  .outer : {{ *(.outer .outer.*) }} > outer :outer
  /DISCARD/ : {{ *(.comment .note .note.* .eh_frame .eh_frame_hdr .riscv.attributes) }}
}}
"""
