import io

import pytest

from fanweave.sim.report import Column, format_number, print_table


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1234567, "1,234,567"),
        (3.0, "3"),
        (0.951234, "0.9512"),
        (12345.678, "12,345.7"),
        (1.23456e-9, "1.235e-09"),
        (0.0, "0"),
        (-0.5, "-0.5"),
    ],
)
def test_numbers_read_well(value, text):
    assert format_number(value) == text


def test_a_table_fits_and_loses_nothing():
    stream = io.StringIO()
    words = " ".join(f"word{index}" for index in range(40))
    columns = [Column(heading="name", numeric=False), Column(heading="cycles")]
    print_table(columns, [[words, "1,000"], ["data[1:0]", "7"]], title="A table", stream=stream)
    text = stream.getvalue()
    assert max(map(len, text.splitlines())) <= 100
    assert all(f"word{index}" in text for index in range(40))
    assert "data[1:0]" in text
    assert text.splitlines()[0].rstrip() == "A table"


def test_a_row_of_another_length_is_refused():
    with pytest.raises(ValueError, match="has 2 cells, not 1"):
        print_table([Column(heading="a")], [["1", "2"]])
