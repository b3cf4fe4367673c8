"""Tools for eBPF programs: assembler and disassembler in the two syntaxes that people use."""

from fanweave.sw.ebpf.assembler import SYNTAXES, assemble, disassemble

__all__ = ["SYNTAXES", "assemble", "disassemble"]
