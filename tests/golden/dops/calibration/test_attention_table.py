import itertools

import pytest

from fanweave.golden.dops.calibration.attention_table import AttentionTable
from fanweave.golden.dops.calibration.profile import load_profile
from fanweave.golden.errors import InputError


def time(chunk, context, sequences, decode_context):
    """Linear in every size, so that interpolation is exact."""
    return 5.0 + chunk * 2 + context * 3 + sequences * 7 + decode_context * 11


def rows(chunks=(16, 32, 64), contexts=(0, 100, 200)):
    for chunk, context in itertools.product(chunks, contexts):
        # Without decode the time must not depend on the context of decode.
        yield chunk, context, 0, 0, time(chunk, context, 0, 0)
        for n, decode_context in itertools.product((1, 4), (10, 30)):
            yield chunk, context, n, decode_context, time(chunk, context, n, decode_context)
    for n, decode_context in itertools.product((1, 4, 8), (10, 30, 50)):
        yield 0, 0, n, decode_context, time(0, 0, n, decode_context)


def test_measured_points_and_what_lies_between():
    table = AttentionTable(rows())
    assert table.decode_ps(4, 30) == time(0, 0, 4, 30)
    assert table.decode_ps(6, 25) == pytest.approx(time(0, 0, 6, 25))
    assert table.prefill_ps(48, 150) == pytest.approx(time(48, 150, 0, 0))
    assert table.mixed_ps(64, 200, 4, 30) == pytest.approx(time(64, 200, 4, 30))
    assert table.mixed_ps(40, 50, 3, 20) == pytest.approx(time(40, 50, 3, 20))
    assert table.floor_ps == time(16, 0, 0, 0)


def test_beyond_the_measured_sizes_the_last_line_goes_on():
    table = AttentionTable(rows())
    assert table.decode_ps(8, 70) == pytest.approx(time(0, 0, 8, 70))
    assert table.covers(64, 200, 4, 30)
    assert not table.covers(65, 0, 0, 0)
    assert not table.covers(64, 201, 0, 0)
    assert not table.covers(64, 0, 5, 30)
    assert not table.covers(64, 0, 4, 31)
    assert table.covers(0, 0, 8, 50)
    assert not table.covers(0, 0, 9, 50)
    # A chunk below the smallest takes that one's time.
    assert table.prefill_ps(1, 0) == table.prefill_ps(16, 0)


def test_a_chunk_with_a_coarser_grid_takes_the_shape_of_its_neighbours():
    kept = [row for row in rows() if row[0] != 32 or (row[1] != 100 and row[3] != 10)]
    table = AttentionTable(kept)
    assert table.mixed_ps(32, 100, 4, 10) == pytest.approx(time(32, 100, 4, 10))


def test_rows_that_do_not_make_a_table():
    with pytest.raises(InputError, match="stands twice"):
        AttentionTable([*rows(), (16, 0, 0, 0, 1.0)])
    with pytest.raises(InputError, match="pure decode and of pure prefill"):
        AttentionTable(row for row in rows() if row[0])
    with pytest.raises(InputError, match="smallest and the largest chunk"):
        AttentionTable(row for row in rows() if row[0] != 64 or row[3] != 10)


def test_shipped_measurements_are_met():
    attention = load_profile("rtxpro6000").attention
    # 8.35233 us and 348.6 us stand in the file.
    assert attention.decode_ps(1, 16) == pytest.approx(8_352_330)
    assert attention.mixed_ps(512, 0, 64, 1024) == pytest.approx(348.6e6, rel=1e-3)
