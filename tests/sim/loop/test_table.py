"""Measurements that are kept."""

from fanweave.sim.loop.table import MeasuredTable


def test_a_result_is_measured_once(tmp_path):
    asked = []

    def measure():
        asked.append(1)
        return {"cycles": 10}

    table = MeasuredTable(tmp_path / "measured")
    assert table.obtain(["a", "b"], measure) == {"cycles": 10}
    assert MeasuredTable(tmp_path / "measured").obtain(["a", "b"], measure) == {"cycles": 10}
    assert table.obtain(["a", "b"], measure) == {"cycles": 10}
    assert (len(asked), table.measured, table.found) == (1, 1, 1)
    table.obtain(["ab"], measure)
    assert len(asked) == 2


def test_a_damaged_result_is_measured_again(tmp_path):
    table = MeasuredTable(tmp_path)
    table.obtain(["a"], lambda: {"cycles": 1})
    (file,) = tmp_path.glob("*.json")
    for text in ("{", '{"key": "other", "result": {"cycles": 3}}', "[]", '{"key": 1}'):
        file.write_text(text)
        assert table.obtain(["a"], lambda: {"cycles": 2}) == {"cycles": 2}
    assert table.found == 0
