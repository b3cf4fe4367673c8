"""Pictures of graphs."""

from xml.etree import ElementTree

from fanweave.golden.fabric.read import load_graph
from fanweave.sw.fabric.draw import draw

SVG = "{http://www.w3.org/2000/svg}"


def test_all_places_links_and_movements_are_there():
    graph = load_graph("prefill_decode")
    root = ElementTree.fromstring(draw(graph))
    assert len(root.findall(f"{SVG}rect")) == len(graph.places)
    assert len(root.findall(f"{SVG}line")) == len(graph.links)
    texts = "\n".join(text.text or "" for text in root.iter(f"{SVG}text"))
    assert all(name in texts for name in (*graph.places, *graph.movements))
    assert "7  hand_over_a: 65536 bytes of kv_a, by 50000 ns, priority 6" in texts


def test_lines_begin_and_end_at_boxes_and_lie_in_the_picture():
    graph = load_graph("prefill_decode")
    root = ElementTree.fromstring(draw(graph))
    _, _, width, height = map(float, root.attrib["viewBox"].split())
    paths = root.findall(f"{SVG}path")
    assert len(paths) == len(graph.movements)
    ends = [stop.find(f"{SVG}title").text for stop in paths]
    assert ends[0].startswith("prefill_writes_kv_a: ")
    for path in paths:
        points = [tuple(map(float, part.split())) for part in path.attrib["d"][1:].split("L")]
        assert all(0 < x < width and 0 < y < height for x, y in points)
    # Over both islands; from one device through the interface to another.
    assert [path.attrib["d"].count("L") for path in paths[:1]] == [3]
    assert paths[6].attrib["d"].count("L") == 2


def test_names_are_text(small_graph):
    graph = small_graph()
    odd = type(graph)(
        name='<a & "b">',
        places=graph.places,
        links=graph.links,
        objects=graph.objects,
        movements=graph.movements,
        goals=(),
    )
    root = ElementTree.fromstring(draw(odd))
    assert root.attrib["aria-label"] == '<a & "b">'
