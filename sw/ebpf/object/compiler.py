"""From C to an object file, with the clang that the `ziglang` package brings."""

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from fanweave.golden.errors import InputError
from fanweave.sw.clang import argument, run_clang
from fanweave.sw.ebpf.object.headers import write_headers

__all__ = ["CPUS", "Compiled", "compile_c"]

#: Versions of the instruction set; v3 has 32-bit jumps, v4 everything.
CPUS = ("v1", "v2", "v3", "v4")
_OPTIONS = (
    *("-target", "bpfel-freestanding", "-g", "-O2", "-Wall"),
    # What a machine without an operating system does not have.
    *("-fno-stack-protector", "-fno-sanitize=all", "-fno-jump-tables"),
    *("-fno-unwind-tables", "-fno-asynchronous-unwind-tables"),
    # The same object wherever it is built.
    "-fdebug-compilation-dir=.",
)
#: What the compiler says -> what it means.
_HINTS = {
    "changed binding to STB_GLOBAL": (
        "a variable has the name of its section; call it otherwise, such as "
        '`char LICENSE[] SEC("license")`'
    ),
    "'fanweave/": "`fanweave ebpf headers -o DIR` shows which headers there are",
}


@dataclass(frozen=True, kw_only=True)
class Compiled:
    """What came of a source.

    Attributes
    ----------
    data : bytes
        The object file.
    warnings : str
        What the compiler said beside it.
    """

    data: bytes
    warnings: str


def compile_c(
    source: Path,
    *,
    cpu: str = "v3",
    include: Sequence[Path | str] = (),
    define: Sequence[str] = (),
) -> Compiled:
    """Compile a program.

    Parameters
    ----------
    source : Path
        The C file.
    cpu : str
        One of `CPUS`.
    include : sequence of Path or str
        Folders with headers, before those of the project.
    define : sequence of str
        ``NAME`` or ``NAME=VALUE``.

    Returns
    -------
    Compiled
        The object file with its types and lines (BTF).

    Raises
    ------
    InputError
        If the compiler refuses the source; the message is what it says. If there is no source or
        no compiler.
    """
    if cpu not in CPUS:
        raise InputError(f"cpu {cpu!r} does not exist; choose one of {', '.join(CPUS)}")
    if not source.is_file():
        raise InputError(f"{source} is not a file; a C source is expected")
    with tempfile.TemporaryDirectory(prefix="fanweave-") as temporary:
        folder = Path(temporary)
        headers = folder / "include"
        write_headers(headers)
        target = folder / "program.o"
        options = [*_OPTIONS, f"-mcpu={cpu}", *(f"-I{path}" for path in include)]
        # Nor does it matter where the headers are.
        options += [f"-ffile-prefix-map={path}/=" for path in include]
        options += [f"-I{headers}", f"-ffile-prefix-map={headers}/=", *(f"-D{x}" for x in define)]
        done = run_clang([*options, "-c", "-o", str(target), argument(source)], str(source))
        if not done.ok or not target.is_file():
            raise InputError(f"{source} does not compile:\n{done.said}{_hint(done.said)}")
        return Compiled(data=target.read_bytes(), warnings=done.said)


def _hint(said: str) -> str:
    hints = [f"\nhint: {meaning}" for words, meaning in _HINTS.items() if words in said]
    return "".join(hints)
