from fanweave.sim.waves import read_header, read_waveform
from fanweave.sim.waves.texts import TextSignal, add_texts

SPACE = "\N{NO-BREAK SPACE}"


def test_text_follows_a_signal(dump):
    texts = {5: "r0 = 1"}
    assert add_texts(dump, [TextSignal(name="program", path="top.in__payload", texts=texts)]) == []
    lines = dump.read_text().splitlines()
    assert "$var string 1 text0 program $end" in lines
    assert lines.index("$var string 1 text0 program $end") < lines.index("$enddefinitions $end")
    assert lines[lines.index("b00000101 $") + 1] == f"sr0{SPACE}={SPACE}1 text0"
    # A value without a text shows nothing.
    assert lines[lines.index("b00000110 $") + 1] == "s text0"


def test_single_bits_and_unknown_values(dump):
    signals = [
        TextSignal(name="valid", path="top.in__valid", texts={0: "no", 1: "yes"}),
        TextSignal(name="table", path="top.unit.table[0]", texts={0: "zero"}),
    ]
    add_texts(dump, signals)
    lines = dump.read_text().splitlines()
    assert lines[lines.index("1#") + 1] == "syes text0"
    assert lines[lines.index("bxxxxxxxx &") + 1] == "s text1"


def test_signals_that_are_not_there_are_named(dump):
    before = {signal.path for signal in read_header(dump).signals}
    signals = [TextSignal(name="a", path="top.gone", texts={})]
    assert add_texts(dump, signals) == ["top.gone"]
    assert {signal.path for signal in read_header(dump).signals} == before


def test_texts_can_be_read(dump):
    add_texts(dump, [TextSignal(name="program", path="top.in__payload", texts={5: "r0 = 1"})])
    shown = [text for _, text in read_waveform(dump, ["text.program"]).changes["text.program"]]
    assert f"r0{SPACE}={SPACE}1" in shown


def test_a_gate_hides_a_text(dump):
    gate = ("top.in__valid", 0)
    signal = TextSignal(name="program", path="top.in__payload", texts={5: "five"}, gate=gate)
    assert add_texts(dump, [signal]) == []
    lines = dump.read_text().splitlines()
    assert lines[lines.index("1#") + 1].endswith(" text0")
    assert lines[lines.index("0#") + 1] == "s text0"
    gone = TextSignal(name="b", path="top.in__payload", texts={}, gate=("top.gone", 0))
    assert add_texts(dump, [gone]) == ["top.gone"]
