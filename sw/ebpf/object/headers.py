"""The C headers: those written by hand, and those that follow from the tables in ``golden/isa``."""

import enum
from collections.abc import Mapping, Sequence
from pathlib import Path

from fanweave.golden.errors import InputError
from fanweave.golden.files import replace_file
from fanweave.golden.isa.bpftime import DEVICE_HELPERS, DEVICE_MAPS
from fanweave.golden.isa.cxl_event import (
    CXL_ENUMS,
    EVENT_BYTES,
    EVENT_FIELDS,
    VERDICT_FIELDS,
    EventField,
    VerdictAction,
)
from fanweave.golden.isa.dpu_event import (
    DPU_ENUMS,
    HOLD_LSB,
    QUEUE_LSB,
    QUEUES,
    TRANSFER_BYTES,
    TRANSFER_FIELDS,
)
from fanweave.golden.isa.ebpf_helpers import HELPERS, ArgumentKind, Helper, ResultKind
from fanweave.golden.isa.ebpf_maps import (
    Errno,
    MapFlag,
    MapType,
    RingFlag,
    RingQuery,
    UpdateFlag,
)

__all__ = ["header_files", "write_headers"]

_WRITTEN = Path(__file__).resolve().parent.parent / "include"
_FOLDER = "fanweave"
_NOTE = "/* Written by `fanweave ebpf headers` from the tables of the project; do not edit. */"

_ARGUMENTS = {
    ArgumentKind.ANYTHING: "__u64",
    ArgumentKind.CONTEXT: "void *context",
    ArgumentKind.MAP: "void *map",
    ArgumentKind.KEY: "const void *key",
    ArgumentKind.VALUE: "const void *value",
    ArgumentKind.WRITTEN: "void *value",
    ArgumentKind.MEMORY: "const void *data",
    ArgumentKind.LENGTH: "__u64 size",
    ArgumentKind.RESERVED: "void *data",
}
_RESULTS = {
    ResultKind.NUMBER: "__u64 ",
    ResultKind.ERROR: "long ",
    ResultKind.VALUE: "void *",
    ResultKind.RECORD: "void *",
    ResultKind.NOTHING: "void ",
}
#: Linux's names where they are not made of ours.
_ERRNO = {
    Errno.NOENT: "ENOENT",
    Errno.TOO_BIG: "E2BIG",
    Errno.AGAIN: "EAGAIN",
    Errno.EXIST: "EEXIST",
    Errno.INVALID: "EINVAL",
    Errno.NO_SPACE: "ENOSPC",
    Errno.NOT_SUPPORTED: "EOPNOTSUPP",
}
_UPDATE = {
    UpdateFlag.ANY: "BPF_ANY",
    UpdateFlag.NOEXIST: "BPF_NOEXIST",
    UpdateFlag.EXIST: "BPF_EXIST",
    UpdateFlag.LOCK: "BPF_F_LOCK",
}
_QUERY = {
    RingQuery.AVAILABLE: "BPF_RB_AVAIL_DATA",
    RingQuery.SIZE: "BPF_RB_RING_SIZE",
    RingQuery.CONSUMER: "BPF_RB_CONS_POS",
    RingQuery.PRODUCER: "BPF_RB_PROD_POS",
}


def header_files() -> Mapping[str, str]:
    """Text of each header, by the name that programs include it by."""
    made = {
        "bpf_numbers.h": _numbers(),
        "bpf_helpers.h": _helpers(),
        "cxl.h": _cxl(),
        "dpu.h": _dpu(),
        "bpftime.h": _bpftime(),
    }
    files = {f"{_FOLDER}/{name}": _guarded(name, text) for name, text in made.items()}
    for path in sorted(_WRITTEN.glob(f"{_FOLDER}/*.h")):
        files[f"{_FOLDER}/{path.name}"] = path.read_text()
    return files


def write_headers(folder: Path) -> list[Path]:
    """Write all headers into a folder, for a compiler or an editor.

    Parameters
    ----------
    folder : Path
        What the compiler is given as ``-I``; made if it is not there.

    Returns
    -------
    list of Path
        The files.

    Raises
    ------
    InputError
        If they cannot be written.
    """
    written = []
    try:
        for name, text in header_files().items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            replace_file(path, text.encode())
            written.append(path)
    except OSError as error:
        raise InputError(f"headers cannot be written to {folder}: {error.strerror}") from None
    return written


def _guarded(name: str, text: str) -> str:
    guard = f"FANWEAVE_{name.upper().replace('.', '_')}"
    return f"{_NOTE}\n#ifndef {guard}\n#define {guard}\n\n{text}\n#endif\n"


def _enum(name: str, members: Mapping[str, int]) -> str:
    lines = [f"\t{member} = {value},\n" for member, value in members.items()]
    return f"enum {name} {{\n{''.join(lines)}}};\n"


def _named(prefix: str, kind: type[enum.IntEnum] | type[enum.IntFlag]) -> dict[str, int]:
    return {f"{prefix}{member.name}": int(member) for member in kind}


def _numbers() -> str:
    parts = [
        _enum("bpf_map_type", _named("BPF_MAP_TYPE_", MapType)),
        "/* Of a definition's map_flags. */\n" + _enum("bpf_map_flag", _named("BPF_F_", MapFlag)),
        "/* Of an update. */\n"
        + _enum("bpf_update_flag", {name: int(flag) for flag, name in _UPDATE.items()}),
        "/* Of an output to a ring buffer, and questions to one. */\n"
        + _enum("bpf_ringbuf_flag", _named("BPF_RB_", RingFlag)),
        _enum("bpf_ringbuf_query", {name: int(what) for what, name in _QUERY.items()}),
        "/* Helpers return these negated. */\n"
        + "".join(f"#define {name} {int(number)}\n" for number, name in _ERRNO.items()),
    ]
    return "\n".join(parts)


def _helpers() -> str:
    return "\n".join(_helper(helper) for helper in HELPERS.values())


def _helper(helper: Helper) -> str:
    arguments = ", ".join(_ARGUMENTS[argument] for argument in helper.arguments) or "void"
    maps = ", ".join(kind.name for kind in sorted(helper.maps))
    return (
        (f"/* For {maps}. */\n" if maps else "") + "__attribute__((unused)) static "
        f"{_RESULTS[helper.result]}(*const bpf_{helper.name})(\n"
        f"\t{arguments}) = (void *){helper.number};\n"
    )


def _cxl() -> str:
    parts = ["#include <fanweave/bpf.h>\n"]
    for prefix, kind in CXL_ENUMS.items():
        tag = f"cxl_{prefix.lower()}" if prefix else "cxl_action"
        parts.append(_enum(tag, _named(f"CXL_{prefix}_" if prefix else "CXL_", kind)))
    parts += [_event("cxl_event", "message", EVENT_FIELDS, EVENT_BYTES), _verdict()]
    return "\n".join(parts)


def _event(struct: str, what: str, fields: Sequence[EventField], size: int) -> str:
    lines = [f"/* What a program gets: the context of a {what}'s event. */\nstruct {struct} {{\n"]
    for field in fields:
        lines.append(f"\t__u{8 * field.bytes} {field.name}; /* {field.meaning} */\n")
    last = fields[-1]
    lines.append(f"\t__u8 reserved[{size - last.offset - last.bytes}]; /* Zero. */\n}};\n\n")
    for field in fields:
        lines.append(
            f"_Static_assert(__builtin_offsetof(struct {struct}, {field.name}) == "
            f'{field.offset}, "{field.name}");\n'
        )
    lines.append(f'_Static_assert(sizeof(struct {struct}) == {size}, "{struct}");\n')
    return "".join(lines)


def _dpu() -> str:
    """What programs of the reference runtime of a DPU need."""
    parts = ["#include <fanweave/bpf.h>\n", f"#define DPU_QUEUES {QUEUES}\n"]
    for prefix, kind in DPU_ENUMS.items():
        tag = f"dpu_{prefix.lower()}" if prefix else "dpu_action"
        parts.append(_enum(tag, _named(f"DPU_{prefix}_" if prefix else "DPU_", kind)))
    parts.append(_event("dpu_transfer", "transfer", TRANSFER_FIELDS, TRANSFER_BYTES))
    calls = (
        ("send", "__u8 queue", f"(__u64)DPU_SEND | (__u64)queue << {QUEUE_LSB}"),
        ("hold", "__u32 ns", f"(__u64)DPU_HOLD | (__u64)ns << {HOLD_LSB}"),
        ("reject", "void", "(__u64)DPU_REJECT"),
    )
    parts += [
        f"static inline __u64 dpu_{name}({argument})\n{{\n\treturn {value};\n}}\n"
        for name, argument, value in calls
    ]
    return "\n".join(parts)


def _bpftime() -> str:
    """Numbers of the device side of bpftime."""
    parts = ["#include <fanweave/bpf.h>\n"]
    parts += [f"#define BPF_MAP_TYPE_{row.name} {row.number}" for row in DEVICE_MAPS]
    parts.append("")
    for row in DEVICE_HELPERS:
        arguments = ", ".join(["__u64 *"] * row.arguments) or "void"
        if row.name == "puts":
            arguments = "const char *"
        parts.append(
            f"/* {row.meaning} */\n__attribute__((unused)) static __u64 (*const bpf_{row.name})(\n"
            f"\t{arguments}) = (void *){row.number};"
        )
    return "\n".join(parts) + "\n"


def _verdict() -> str:
    """Functions that put a verdict together, one for each action and what it takes."""
    lines = ["/* What a program returns. */\n"]
    action, *others = VERDICT_FIELDS
    for member in VerdictAction:
        used = [field for field in others if member in field.actions]
        arguments = ", ".join(f"__u{field.bits} {field.name}" for field in used) or "void"
        terms = [f"(__u64)CXL_{member.name} << {action.lsb}"]
        terms += [f"(__u64){field.name} << {field.lsb}" for field in used]
        lines.append(
            f"static inline __u64 cxl_{member.name.lower()}({arguments})\n"
            f"{{\n\treturn {' | '.join(terms)};\n}}\n\n"
        )
    return "".join(lines).rstrip("\n") + "\n"
