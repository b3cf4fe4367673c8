"""A small graph as a table, which tests change."""

import copy

import pytest

from fanweave.golden.fabric.read import graph_from_table

TABLE = {
    "name": "small",
    "places": [
        {"name": "gpu", "kind": "gpu", "kernels": {"attention": "attend"}},
        {"name": "npu", "kind": "npu"},
        {"name": "dpu", "kind": "dpu"},
        {"name": "island", "kind": "island"},
        {"name": "near", "kind": "memory"},
        {"name": "far", "kind": "memory"},
    ],
    "links": [
        {"island": "island", "port": 0, "place": "gpu"},
        {"island": "island", "port": 1, "place": "npu"},
        {"island": "island", "port": 2, "place": "near"},
        {"island": "island", "port": 3, "place": "far"},
    ],
    "objects": [
        {"name": "kv", "kind": "kv", "home": "far", "first": 0x10_0000, "size": 0x4000},
        {"name": "weights", "kind": "weights", "home": "far", "first": 0x20_0000, "size": 0x8000},
    ],
    "movements": [
        {
            "name": "write_kv", "object": "kv", "producer": "gpu", "consumer": "far",
            "size": 0x1000, "phase": "attention", "deadline_ns": 9000, "sharing": "handover",
        },
        {
            "name": "read_kv", "object": "kv", "producer": "far", "consumer": "npu",
            "size": 0x1000, "phase": "attention", "after": ["write_kv"], "deadline_ns": 5000,
            "sharing": "handover",
        },
        {
            "name": "stream", "object": "weights", "producer": "far", "consumer": "gpu",
            "size": 0x8000,
        },
    ],
    "goals": [{"kind": "isolate_tenants"}],
}  # fmt: skip


@pytest.fixture
def table():
    """A table of its own, to be changed."""
    return copy.deepcopy(TABLE)


@pytest.fixture
def read():
    """Build a graph of a table, which stands in `graph.toml`."""
    return lambda table: graph_from_table("graph.toml", table)
