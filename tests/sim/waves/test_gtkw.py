import pytest

from fanweave.sim.waves import Group, Trace, stream_group, write_gtkw


def write(dump, groups, **options):
    file = dump.with_suffix(".gtkw")
    missing = write_gtkw(file, dump=dump, groups=groups, **options)
    return file.read_text(), missing


def test_a_stream_is_a_group_with_short_names(dump):
    text, missing = write(dump, [stream_group("operands in", "top.in")])
    assert missing == []
    lines = text.splitlines()
    begin, end = lines.index("-operands in"), len(lines) - lines[::-1].index("-operands in") - 1
    assert begin < lines.index("+{valid} top.in__valid") < end
    assert begin < lines.index("+{ready} top.in__ready") < end
    assert begin < lines.index("top.in__payload[7:0]") < end
    assert '[dumpfile] "dump.vcd"' in text


def test_a_pattern_takes_all_elements_of_a_memory(dump):
    text, _ = write(dump, [Group(name="table", traces=(Trace(path="top.unit.table[*"),))])
    assert "top.unit.table[0][7:0]" in text
    assert "top.unit.table[1][7:0]" in text


def test_what_is_not_in_the_dump_is_named(dump):
    traces = (Trace(path="top.gone"), Trace(path="top.clk"))
    text, missing = write(dump, [Group(name="some", traces=traces)])
    assert missing == ["top.gone"]
    assert "Not in this dump: top.gone" in text
    assert "\ntop.gone" not in text


def test_marker_and_zoom(dump):
    text, _ = write(dump, [], marker=40, zoom=(20, 1020))
    assert "[timestart] 20" in text
    assert "*-0.000000 40" in text or "*0.000000 40" in text


def test_a_radix_that_does_not_exist_is_refused():
    with pytest.raises(ValueError, match="radix 'roman' must be one of hex, dec"):
        Trace(path="top.clk", radix="roman")
