"""Tables of a switch as the arrays of its timed model."""

from fanweave.golden.cxl.tables import Tables
from fanweave.golden.cxl.timed.columns import MOVER
from fanweave.golden.cxl.timed.state import Islands
from fanweave.golden.errors import InputError
from fanweave.golden.isa.cxl_messages import LINE_BYTES
from fanweave.golden.isa.cxl_switch import GRANULARITY_BYTES, RESET_DELAY_LIMIT, TOKEN_PARTS

__all__ = ["fill_bucket", "fill_tables"]

_LOW_PAGE_BITS = 20


def fill_tables(state: Islands, number: int, tables: Tables) -> None:
    """Ranges, bindings and rules of an island, and whether its pages stay."""
    config = tables.config
    state.mover[number, MOVER.still] = tables.get("policy", "still")
    for host in range(config.upstream):
        for port in range(config.upstream, config.ports):
            device = tables.own_device(host, port)
            state.own[number, host, port] = -1 if device is None else device.ld_id
        for place in range(config.decoders):
            state.ranges[number, host, place] = _range(tables, host, place)
    for place in range(config.rules):
        name = f"rule_{place}"
        state.rules[number, place] = [
            *(
                tables.get(f"{name}_control", field)
                for field in ("enable", "inline", "deny", "program", "skip")
            ),
            *(tables.get(f"{name}_match", field) for field in ("ports", "channels")),
            tables.get(f"{name}_opcodes", "mask"),
            *(_page(tables, f"{name}_{end}") for end in ("first", "last")),
        ]


def _page(tables: Tables, name: str) -> int:
    low, high = tables.get(f"{name}_low", "page"), tables.get(f"{name}_high", "page")
    return high << _LOW_PAGE_BITS | low


def _range(tables: Tables, host: int, place: int) -> list[int]:
    name = f"decoder_{host}_{place}"
    ways = 1 << tables.get(f"{name}_control", "ways")
    finest = (GRANULARITY_BYTES // LINE_BYTES).bit_length() - 1
    row = [
        tables.get(f"{name}_control", "enable"),
        _page(tables, f"{name}_first"),
        _page(tables, f"{name}_last"),
        ways - 1,
        finest + tables.get(f"{name}_control", "granularity"),
    ]
    for way in range(8):
        device = tables.binding(host, tables.get(f"{name}_targets", f"way_{way}"))
        row += [-1, -1] if device is None else [device.port, device.ld_id]
    return row


def fill_bucket(state: Islands, number: int, tables: Tables) -> None:
    """Tokens of an island's hosts; they have as many as they may keep.

    Raises
    ------
    InputError
        If they do not have them when traffic begins.
    """
    for host in range(tables.config.upstream):
        rate = tables.get(f"tokens_{host}", "rate")
        limit = tables.get(f"tokens_{host}", "limit")
        if rate and limit * TOKEN_PARTS > rate * int(state.clock[0]):
            raise InputError(
                f"host {host} of island {number} earns {limit} tokens only after cycle "
                f"{limit * TOKEN_PARTS // rate}; begin with traffic later, or lower the limit"
            )
        delay = tables.words.get("delay_limit", RESET_DELAY_LIMIT)
        level = limit * TOKEN_PARTS if rate else 0
        state.bucket[number, host] = [rate, limit, level, 0, delay, 0, 0]
