import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fanweave.golden.errors import InputError
from fanweave.golden.isa.formats import ElementFormat
from fanweave.golden.isa.ventaglio import IndexMode
from fanweave.sw.ventaglio import SparseMatrix, build_image

FP16 = ElementFormat.FP16


def matrix(rows, columns, mode=IndexMode.ABSOLUTE_8, element_format=FP16, n=0, m=0):
    """Matrix of rows given as lists of columns; elements count from 1."""
    flat = [column for row in rows for column in row]
    return SparseMatrix(
        shape=(len(rows), columns),
        indptr=np.concatenate(([0], np.cumsum([len(row) for row in rows], dtype=np.int64))),
        indices=np.array(flat, dtype=np.int64),
        data=np.arange(1, len(flat) + 1),
        element_format=element_format,
        index_mode=mode,
        n=n,
        m=m,
    )


def test_rows_by_hand():
    """Two tiles; elements back to back, indices padded to a word, tiles from a fresh beat."""
    whole = matrix([[1, 4, 5], [], [0, 1, 2, 3, 6], [7]], 8, mode=IndexMode.ABSOLUTE_16)
    image, first_rows = build_image(whole.column_tiles(4), beat_bits=64)
    assert first_rows == [0, 4]
    assert image.elements(FP16).tolist() == [1, 4, 5, 6, 7, 0, 0, 0, 2, 3, 8, 9]
    assert image.nnz.tolist() == [1, 0, 4, 0, 2, 0, 1, 1]
    assert image.element_start.tolist() == [0, 1, 1, 5, 8, 10, 10, 11]
    assert image.index_words.tolist() == [1, 0, 2, 0, 1, 0, 1, 1]
    assert image.index_start.tolist() == [0, 1, 1, 3, 4, 5, 5, 6]
    assert image.index_memory.tolist() == [
        1, 0x00010000, 0x00030002, 0,
        0x00010000, 2, 3, 0,
    ]  # fmt: skip


def test_packing_of_n_of_m_by_hand():
    """2:5 takes 3 bits; the last block of 12 columns holds 2; 6 fields take 18 bits."""
    one = matrix([[0, 4, 6, 8, 10, 11]], 12, mode=IndexMode.N_OF_M, n=2, m=5)
    fields = [0, 4, 1, 3, 0, 1]
    assert one.pack_indices().tolist() == [sum(f << 3 * i for i, f in enumerate(fields))]
    eleven = matrix([[2, 5, 8, 11, 14, 17, 20, 23, 26, 29, 32]], 33, IndexMode.N_OF_M, n=1, m=3)
    assert eleven.pack_indices().tolist() == [0b10_1010_1010_1010_1010_1010]


def test_packing_across_a_word():
    """1:17 takes 5 bits, so field 6 lies in bits 30 to 34."""
    columns = [17 * block + 16 for block in range(7)]
    one = matrix([columns], 17 * 7, mode=IndexMode.N_OF_M, n=1, m=17)
    words = one.pack_indices()
    assert (int(words[0]) | int(words[1]) << 32) == sum(16 << 5 * i for i in range(7))


def test_packing_of_a_bitmask_and_of_nothing():
    mask = matrix([[0, 33], []], 40, mode=IndexMode.BITMASK)
    assert mask.pack_indices().tolist() == [1, 2]
    assert mask.index_words().tolist() == [2, 0]
    dense = matrix([[0, 1, 2]], 3, mode=IndexMode.DENSE)
    assert dense.pack_indices().tolist() == []
    assert matrix([[0, 1]], 2, IndexMode.N_OF_M, n=1, m=1).pack_indices().tolist() == []


@st.composite
def n_of_m_rows(draw):
    m = draw(st.integers(1, 32))
    n = draw(st.integers(1, m))
    columns = draw(st.integers(1, 70))
    rows = []
    for _ in range(draw(st.integers(1, 4))):
        row = []
        for start in range(0, columns, m):
            block = range(start, min(start + m, columns))
            row += sorted(draw(st.permutations(block))[:n])
        rows.append(row)
    return n, m, columns, rows


@settings(max_examples=60, deadline=None, print_blob=True)
@given(n_of_m_rows())
def test_n_of_m_can_be_read_back(case):
    n, m, columns, rows = case
    packed = matrix(rows, columns, mode=IndexMode.N_OF_M, n=n, m=m)
    bits = (m - 1).bit_length()
    stream = sum(int(word) << 32 * i for i, word in enumerate(packed.pack_indices()))
    for row in rows:
        got = []
        for e in range(len(row)):
            place = stream >> e * bits & (1 << bits) - 1
            got.append(e // n * m + place)
        assert got == row
        stream >>= -(-len(row) * bits // 32) * 32


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([[0, 5]], 5), r"matrix of shape \(1, 5\): indices\[1\] is 5; expected 0 to 4"),
        (([[0, 2]], 4, IndexMode.DENSE), "row 0, element 1: column 2 does not fit, as a dense row"),
        (([[], [3, 3]], 4, IndexMode.BITMASK), "row 1, element 1: column 3 .* ascending columns"),
        (
            ([[0, 1]], 8, IndexMode.N_OF_M, FP16, 1, 4),
            "row 0, element 1: column 1 does not fit, as the 1:4 pattern fills every block",
        ),
        (([[0]], 8, IndexMode.N_OF_M, FP16, 5, 4), "N:M pattern 5:4; expected 1 <= n <= m <= 32"),
    ],
)
def test_refused_patterns(arguments, message):
    with pytest.raises(InputError, match=message):
        matrix(*arguments)


def test_refused_shapes_and_reach():
    with pytest.raises(InputError, match="indptr has 1 entries and data 0; expected 2"):
        SparseMatrix(
            shape=(1, 4),
            indptr=np.array([0]),
            indices=np.zeros(0, int),
            data=np.zeros(0, int),
            element_format=FP16,
            index_mode=IndexMode.BITMASK,
        )
    with pytest.raises(InputError, match="tile width 6 cuts blocks of 4 columns"):
        matrix([[0, 4]], 8, IndexMode.N_OF_M, n=1, m=4).column_tiles(6)
    with pytest.raises(InputError, match="tile width is 0"):
        matrix([[0]], 8).column_tiles(0)
    with pytest.raises(InputError, match="column 256 is beyond index mode ABSOLUTE_8"):
        build_image([matrix([[256]], 300)], beat_bits=64)
    with pytest.raises(InputError, match="a row holds 65536 elements, at most 65535"):
        matrix([list(range(65536))], 65536, IndexMode.DENSE)
