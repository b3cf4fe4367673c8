"""Register writes that attach an island's programs: bindings, ranges, and rules of the filter."""

from collections.abc import Iterator, Mapping
from typing import Any

from fanweave.golden.cxl.config import PRESETS, SwitchConfig
from fanweave.golden.cxl.tables import range_writes
from fanweave.golden.isa.registers import Register

__all__ = ["switch_writes"]

_PAGE_BITS = 20


def switch_writes(attach: Mapping[str, Any]) -> list[tuple[int, int]]:
    """Addresses and words, in the order in which a host writes them.

    Parameters
    ----------
    attach : mapping
        What the manifest says of an island. Programs go by their numbers in the object.
    """
    config = PRESETS[attach["switch"]]
    registers = {entry.name: entry for entry in config.registers}
    return [
        *_bindings(registers, attach["bindings"]),
        *(write for row in attach["ranges"] for write in range_writes(config, **row)),
        *_rules(config, registers, attach["rules"]),
    ]


def _bindings(
    registers: Mapping[str, Register], rows: list[dict[str, int]]
) -> Iterator[tuple[int, int]]:
    for row in rows:
        entry = registers[f"binding_{row['host']}_{row['number']}"]
        yield entry.address, entry.pack(bound=1, port=row["port"], ld_id=row["ld_id"])


def _rules(
    config: SwitchConfig, registers: Mapping[str, Register], rows: list[dict[str, Any]]
) -> Iterator[tuple[int, int]]:
    ports = (1 << config.ports) - 1
    for number, row in enumerate(rows):
        name = f"rule_{number}"
        fields: dict[str, dict[str, int]] = {
            "match": {"ports": row["ports"] & ports, "channels": row["channels"]},
            "opcodes": {"mask": row["opcodes"]},
        }
        for end in ("first", "last"):
            page = row[f"{end}_page"]
            fields[f"{end}_low"] = {"page": page % (1 << _PAGE_BITS)}
            fields[f"{end}_high"] = {"page": page >> _PAGE_BITS}
        # The rule counts only when all of it is there.
        fields["control"] = {
            "enable": 1,
            "inline": int(row["inline"]),
            "deny": int(row["deny"]),
            "program": row["number"],
            "skip": row["skip"],
        }
        for part, values in fields.items():
            entry = registers[f"{name}_{part}"]
            yield entry.address, entry.pack(**values)
