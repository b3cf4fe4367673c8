from fanweave.sim.waves import Observation, read_waveform, write_expected


def test_both_sides_and_the_difference_are_written(tmp_path):
    file = tmp_path / "expected.vcd"
    observations = [
        Observation(cycle=7, name="out", expected=5, got=4),
        Observation(cycle=3, name="out", expected=1, got=1),
    ]
    write_expected(file, observations, width=8, period=10)
    waveform = read_waveform(file, ["expected.out", "got.out", "differs.out"])
    assert waveform.changes["expected.out"][-2:] == [(30, 1), (70, 5)]
    assert waveform.changes["got.out"][-2:] == [(30, 1), (70, 4)]
    assert waveform.changes["differs.out"][-1] == (70, 1)
    assert waveform.stop == 80


def test_nothing_observed_is_still_a_file(tmp_path):
    write_expected(tmp_path / "expected.vcd", [])
    assert "$enddefinitions" in (tmp_path / "expected.vcd").read_text()
