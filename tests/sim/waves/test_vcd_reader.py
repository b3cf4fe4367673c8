import pytest

from fanweave.golden.errors import InputError
from fanweave.sim.waves import read_header, read_waveform


def test_declarations_are_read_with_scopes_and_ranges(dump):
    header = read_header(dump)
    found = {signal.path: (signal.bits, signal.width) for signal in header.signals}
    assert found == {
        "$rootio.clk": ("", 1),
        "top.clk": ("", 1),
        "top.in__valid": ("", 1),
        "top.in__ready": ("", 1),
        "top.in__payload": ("[7:0]", 8),
        "top.unit.$1": ("", 1),
        "top.unit.table[0]": ("[7:0]", 8),
        "top.unit.table[1]": ("[7:0]", 8),
        "top.unit.flag[3]": ("", 1),
    }
    assert header.timescale == "1 ns"
    assert header.clock().name == "clk"
    assert header.clock().scope in ("top", "$rootio")


def test_values_over_the_whole_dump(dump):
    waveform = read_waveform(dump, ["top.in__payload", "top.in__valid", "top.unit.table[0]"])
    assert (waveform.start, waveform.stop) == (20, 50)
    assert waveform.changes == {
        "top.in__payload": [(20, 5), (30, 6)],
        "top.in__valid": [(20, 0), (30, 1), (40, 0)],
        "top.unit.table[0]": [(20, "xxxxxxxx"), (40, 0xAA)],
    }


def test_a_window_begins_with_the_values_that_hold_there(dump):
    waveform = read_waveform(dump, ["top.in__payload", "top.in__valid"], start=32, stop=38)
    assert (waveform.start, waveform.stop) == (32, 38)
    assert waveform.changes == {"top.in__payload": [(32, 6)], "top.in__valid": [(32, 1)]}


@pytest.mark.parametrize(("start", "stop"), [(60, None), (60, 70), (0, 10)])
def test_a_window_outside_of_the_dump_is_refused(dump, start, stop):
    with pytest.raises(InputError, match=r"has no values from \d+ to \d+ \(1 ns\)"):
        read_waveform(dump, ["top.clk"], start=start, stop=stop)


def test_an_unknown_signal_is_refused(dump):
    with pytest.raises(InputError, match=r"waveform .*dump\.vcd has no signal 'top\.nope'"):
        read_waveform(dump, ["top.nope"])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is not a VCD file, or ends within its declarations"),
        (b"\x7fELF\x00\x01\xff", "is not a VCD file: it has"),
        (b"hello world\n", "is not a VCD file: it has 'hello'"),
        (b"$timescale 1ns $end\n$scope module top $end\n", "ends within its declarations"),
        (b"$var wire x ! clk $end\n$enddefinitions $end\n", "bad declaration \\$var wire x"),
        (b"$var wire 1 $end\n$enddefinitions $end\n", "bad declaration \\$var wire 1"),
    ],
)
def test_a_file_that_is_no_vcd_is_refused(tmp_path, content, message):
    file = tmp_path / "bad.vcd"
    file.write_bytes(content)
    with pytest.raises(InputError, match=message):
        read_header(file)


def test_damage_within_the_values_is_refused(dump):
    dump.write_text(dump.read_text() + "\ngarbage\n")
    with pytest.raises(InputError, match="is not a VCD file, or is damaged"):
        read_waveform(dump, ["top.clk"])


def test_a_dump_without_values_is_refused(dump):
    dump.write_text(dump.read_text().partition("#20")[0])
    with pytest.raises(InputError, match="is empty"):
        read_waveform(dump, ["top.clk"])


def test_a_missing_file_is_refused_with_the_mend(tmp_path):
    with pytest.raises(InputError, match=r"does not exist; make one with: make sim WAVES=1"):
        read_header(tmp_path / "missing.vcd")
