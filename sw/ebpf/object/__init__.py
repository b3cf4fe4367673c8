"""Object files of eBPF programs: built from C, read, linked, run."""

from fanweave.sw.ebpf.object.compiler import compile_c
from fanweave.sw.ebpf.object.loader import load_object
from fanweave.sw.ebpf.object.model import (
    Function,
    ObjectFile,
    ObjectMap,
    ObjectProgram,
    SourceLine,
)

__all__ = [
    "Function",
    "ObjectFile",
    "ObjectMap",
    "ObjectProgram",
    "SourceLine",
    "compile_c",
    "load_object",
]
