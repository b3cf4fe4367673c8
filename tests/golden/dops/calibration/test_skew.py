import pytest

from fanweave.golden.dops.calibration.profile import data_folder, load_profile
from fanweave.golden.dops.calibration.skew import (
    DecodeSkew,
    SkewRow,
    fit_mixed_skew,
    read_decode_skew,
    read_rows,
)
from fanweave.golden.errors import InputError


class Line:
    """Attention whose time is n times the context, and 1 more with prefill."""

    def decode_ps(self, n, context):
        return float(n * context)

    def mixed_ps(self, chunk, context, n, decode_context):
        return 1.0 + n * decode_context


def test_share_by_lever_and_the_nearest_number_of_sequences():
    skew = DecodeSkew([(0.5, 4, 0.1), (0.5, 16, 0.2), (float("inf"), 4, 0.3)])
    assert skew.share(0.5, 4) == 0.1
    assert skew.share(0.4, 8) == 0.1  # the geometric middle belongs to the smaller one
    assert skew.share(0.4, 9) == 0.2
    assert skew.share(7.0, 99) == 0.3
    assert DecodeSkew([(0.5, 4, 0.1)]).share(0.6, 4) == 0.0


def test_decode_goes_a_share_of_the_way_to_the_longest():
    skew = DecodeSkew([(float("inf"), 4, 0.25)])
    assert skew.time_ps(Line(), 4, 10, 30) == 40 + 0.25 * 80
    assert skew.time_ps(Line(), 4, 10, 10) == 40
    assert skew.time_ps(Line(), 1, 10, 30) == 10
    levers = DecodeSkew([(0.5, 4, 0.25), (float("inf"), 4, 0.75)])
    assert levers.time_ps(Line(), 4, 10, 14) == 40 + 0.25 * 16
    assert levers.time_ps(Line(), 4, 10, 30) == 40 + 0.75 * 80


def test_mixed_share_is_found_again():
    rows = [
        SkewRow(chunk=16, sequences=n, long=1, short_context=10, long_context=long, time_ps=0.0)
        for n in (2, 5, 9)
        for long in (50, 90)
    ]
    made = []
    for row in rows:
        even = 1 + row.sequences * row.mean_context
        tail = row.long_context - row.mean_context
        made.append(
            SkewRow(
                chunk=16,
                sequences=row.sequences,
                long=1,
                short_context=10,
                long_context=row.long_context,
                time_ps=even + 0.6 * tail,
            )
        )
    skew = fit_mixed_skew(made, Line())
    assert skew.share == pytest.approx(0.6, abs=2e-3)
    assert skew.error.worst < 1e-3 < skew.even_error.mean
    assert skew.time_ps(Line(), 16, 0, 4, 10, 30) == 1 + 40 + skew.share * 20
    assert skew.time_ps(Line(), 16, 0, 1, 10, 30) == 11


def test_shipped_skews_halve_the_error():
    profile = load_profile("rtxpro6000")
    assert profile.mixed_skew.error.mean < 0.6 * profile.mixed_skew.even_error.mean
    rows = read_rows(data_folder() / "rtxpro6000_llama31_8b_tp1_skew_mixed.csv")
    assert len(rows) == profile.mixed_skew.error.count == 112


def test_files_that_are_none(tmp_path):
    file = tmp_path / "skew.csv"
    file.write_text("lever_up_to,n_decode,share\n,4,x\n")
    with pytest.raises(InputError, match="expected the columns"):
        read_decode_skew(file)
    with pytest.raises(InputError, match="cannot be read"):
        read_rows(tmp_path / "none.csv")
