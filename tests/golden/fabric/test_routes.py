"""Ways through a fabric."""

from fanweave.golden.fabric.read import load_graph
from fanweave.golden.fabric.routes import Hop, Network


def test_a_way_over_two_islands():
    graph = load_graph("prefill_decode")
    network = Network(graph)
    assert network.way("gpu0", "far1") == (
        Hop(island="island0", entry=0, exit=4),
        Hop(island="island1", entry=1, exit=3),
    )
    assert network.way("gpu1", "far1") == (Hop(island="island1", entry=0, exit=3),)
    # Island 0 leads to island 1 and not back.
    assert network.way("gpu1", "far0") is None
    assert network.of(graph.movements["hand_over_a"]) == ()


def test_ports_towards_memories():
    network = Network(load_graph("prefill_decode"))
    assert network.exit_of("island0", "near0") == 2
    assert network.exit_of("island0", "near1") == network.exit_of("island0", "far1") == 4
    assert network.exit_of("island1", "near0") is None


def test_islands_in_a_ring_do_not_go_round(table, read):
    table["places"] += [{"name": "other", "kind": "island"}, {"name": "third", "kind": "memory"}]
    table["links"].pop(1)
    table["movements"].pop(1)
    table["links"] += [
        {"island": "island", "port": 4, "place": "other", "place_port": 0},
        {"island": "other", "port": 4, "place": "island", "place_port": 1},
        {"island": "other", "port": 2, "place": "third"},
    ]
    network = Network(read(table))
    assert [hop.island for hop in network.way("gpu", "third") or ()] == ["island", "other"]
    assert network.exit_of("other", "far") == 4
    assert network.exit_of("other", "nowhere") is None
