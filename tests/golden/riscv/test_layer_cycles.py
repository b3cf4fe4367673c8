"""The model of layers' cycles: what it counts, and where it saves nothing."""

import numpy as np
import pytest

from fanweave.golden.riscv.layer_cycles import (
    DenseCosts,
    SparseCosts,
    dense_cycles,
    sparse_cycles,
)

FREE = SparseCosts(row=0, word=0, least=0, output=0, block=0, start=0)
NOTHING = DenseCosts(four=0, one=0, strip=0, block=0, start=0)


def sides():
    a = np.zeros((2, 4), np.float32)
    w = np.zeros((4, 64), np.float32)
    a[0, 0] = a[1, 0] = a[1, 3] = 1
    w[0, :9] = w[0, 32] = w[3, 40:45] = 1
    return a, w


@pytest.mark.parametrize(
    ("costs", "expected"),
    [
        ({"start": 7}, 7),
        ({"block": 3}, 3 * 2 * 2),
        ({"output": 3}, 3 * 2 * 2 * 2),
        # Three activations, each with a row in both tiles.
        ({"row": 1}, 6),
        # Row 0 has nine weights and one, twice; row 3 none and five, once.
        ({"word": 1}, 2 * (2 + 1) + 0 + 1),
        ({"word": 1, "least": 2}, 2 * (2 + 2) + 2 + 2),
    ],
)
def test_parts_of_a_sparse_layer(costs, expected):
    a, w = sides()
    kept = SparseCosts(**{**vars(FREE), **costs})
    assert sparse_cycles(a, w, width=32, depth=2, costs=kept) == expected


def test_a_row_that_no_activation_asks_for_costs_nothing():
    a, w = sides()
    more = w.copy()
    more[1] = 1
    assert sparse_cycles(a, more, width=32, depth=2) == sparse_cycles(a, w, width=32, depth=2)


@pytest.mark.parametrize(
    ("costs", "expected"),
    [
        ({}, 5 * 8 * 64 / 8),
        ({"four": 1}, 5 * 8 * 64 / 8 + 8),
        ({"one": 1}, 5 * 8 * 64 / 8 + 8),
        ({"strip": 1}, 5 * 8 * 64 / 8 + 2 * 3),
        ({"block": 10, "start": 1}, 5 * 8 * 64 / 8 + 3 * 10 + 1),
    ],
)
def test_parts_of_a_dense_layer(costs, expected):
    kept = DenseCosts(**{**vars(NOTHING), **costs})
    assert dense_cycles(5, 8, 64, width=64, depth=3, costs=kept) == expected


def test_a_block_takes_as_long_as_the_dma_needs():
    assert dense_cycles(0, 64, 64, width=64, depth=64, costs=NOTHING) == 4 * 64 * 64 / 64
