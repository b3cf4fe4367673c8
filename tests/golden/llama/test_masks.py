"""The choice of weights by score."""

import numpy as np

from fanweave.golden.llama.masks import keep_largest, keep_largest_of_row, keep_n_of_m

SCORES = np.array([[1.0, 9, 8, 7], [2, 3, 4, 5]])


def test_lowest_of_the_matrix_go():
    expected = [[False, True, True, True], [False, False, False, True]]
    np.testing.assert_array_equal(keep_largest(SCORES, 0.5), np.array(expected))
    assert keep_largest(SCORES, 0.0).all()


def test_lowest_of_each_output_go():
    expected = [[False, True, True, False], [False, False, True, True]]
    np.testing.assert_array_equal(keep_largest_of_row(SCORES, 0.5), np.array(expected))


def test_n_of_m_counts_along_the_outputs():
    scores = np.random.default_rng(0).random((10, 6))
    keep = keep_n_of_m(scores, 2, 4)
    np.testing.assert_array_equal(keep[:4].sum(axis=0), [2] * 6)
    np.testing.assert_array_equal(keep[4:8].sum(axis=0), [2] * 6)
    np.testing.assert_array_equal(keep[8:].sum(axis=0), [2] * 6)  # the short block keeps both
    for column in range(6):
        kept, dropped = scores[:4, column][keep[:4, column]], scores[:4, column][~keep[:4, column]]
        assert kept.min() > dropped.max()


def test_ties_go_to_the_first():
    np.testing.assert_array_equal(keep_n_of_m(np.zeros((4, 1)), 1, 4)[:, 0], [1, 0, 0, 0])
