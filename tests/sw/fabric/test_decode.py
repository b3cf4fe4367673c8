"""Ranges and bindings of an island's switch."""

from dataclasses import replace

import pytest

from fanweave.golden.errors import InputError
from fanweave.golden.fabric.graph import Direction, MovedObject, Movement, ObjectKind, Sharing
from fanweave.golden.fabric.routes import Network
from fanweave.sw.fabric.decode import decoder_plan
from fanweave.sw.fabric.island_plan import flows_of


@pytest.fixture
def ranges(small_graph):
    """First pages, sizes in pages, and ports of a host's ranges, of objects of one page each."""

    def plan(*objects, host="gpu", tenants=()):
        base = small_graph()
        items = tuple(
            MovedObject(
                name=f"o{page}",
                kind=ObjectKind.ACTIVATIONS,
                home=home,
                first=page << 12,
                size=4096,
                tenant=dict(tenants).get(page, ""),
            )
            for page, home, _ in objects
        )
        movements = tuple(
            Movement(
                name=f"m{page}", object=f"o{page}", producer=home, consumer=mover, size=64,
                direction=Direction.READ, sharing=Sharing.READ_ONLY,
            )
            for page, home, mover in objects
        )  # fmt: skip
        graph = replace(
            base,
            objects={item.name: item for item in items},
            movements={movement.name: movement for movement in movements},
        )
        network = Network(graph)
        found = decoder_plan(graph, network, "island", flows_of(graph, network, "island"))
        ports = {(row["host"], row["number"]): row["port"] for row in found["bindings"]}
        number = ("gpu", "npu").index(host)
        return [
            (row["first"] >> 12, row["size"] >> 12, ports[number, row["targets"][0]])
            for row in found["ranges"]
            if row["host"] == number
        ]

    return plan


def test_ranges_of_one_port_are_joined(ranges):
    assert ranges((1, "far", "gpu"), (2, "far", "gpu"), (3, "near", "gpu")) == [
        (1, 2, 3),
        (3, 1, 2),
    ]


def test_they_go_on_over_what_others_have_behind_the_same_port(ranges):
    objects = ((1, "far", "gpu"), (2, "far", "npu"), (3, "far", "gpu"))
    assert ranges(*objects) == [(1, 3, 3)]
    assert ranges(*objects, host="npu") == [(2, 1, 3)]


def test_they_do_not_go_on_over_another_tenants(ranges):
    objects = ((1, "far", "gpu"), (2, "far", "npu"), (3, "far", "gpu"))
    assert ranges(*objects, tenants={2: "b"}) == [(1, 1, 3), (3, 1, 3)]


@pytest.mark.parametrize("between", [(), ((2, "near", "npu"),)])
def test_they_do_not_go_on_over_nothing_or_another_port(ranges, between):
    objects = ((1, "far", "gpu"), *between, (3, "far", "gpu"))
    assert ranges(*objects) == [(1, 1, 3), (3, 1, 3)]


def test_too_many_are_refused(ranges):
    with pytest.raises(InputError, match="host port 0 of island 'island' needs 5 ranges; its swit"):
        ranges(*((2 * page, "far", "gpu") for page in range(1, 6)))
