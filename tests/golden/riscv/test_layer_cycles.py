"""The model of layers' cycles: what it counts, and where it saves nothing."""

from dataclasses import replace

import numpy as np
import pytest

from fanweave.golden.riscv.layer_cycles import (
    BlockCosts,
    DenseCosts,
    SparseCosts,
    dense_cycles,
    sparse_cycles,
)

AROUND = BlockCosts(block=0, share=0, latency=0, start=0)
FREE = SparseCosts(row=0, columns=0, least=0, output=0, around=AROUND)
NOTHING = DenseCosts(four=0, one=0, strip=0, around=AROUND)


def sides():
    """Two output rows; every block of two rows and 32 columns is slower than its transfer."""
    a = np.zeros((2, 4), np.float32)
    w = np.zeros((4, 64), np.float32)
    a[:, 0] = a[1, 3] = 1
    w[0, :9] = w[0, 32] = w[3, 40:45] = 1
    return a, w


def sparse(**costs):
    """Cycles of `sides` without the first block's transfer, which nothing is beside of."""
    a, w = sides()
    first = (2 * (4 + 4) + 4 * 9 + 4 * 2 + 6 * 2) / 64
    return sparse_cycles(a, w, width=32, depth=2, costs=replace(FREE, **costs)) - first


def test_parts_of_a_sparse_layer():
    base = sparse(output=1000)
    assert base == pytest.approx(4 * 2 * 1000 + 2 * 2 + 2 * 1 + 1, abs=1e-9)
    assert sparse(output=1001) - base == pytest.approx(8)
    # Three activations, each with a row in both tiles.
    assert sparse(output=1000, row=1) - base == pytest.approx(6)
    assert sparse(output=1000, columns=1) - base == pytest.approx(6)
    # Row 0 has two words and one, twice; row 3 none and one, once.
    assert sparse(output=1000, least=2) - base == pytest.approx(2 * 1 + 2 + 1)


@pytest.mark.parametrize(
    ("costs", "more"),
    [({"start": 7}, 7), ({"block": 3}, 12), ({"latency": 5}, 5)],
)
def test_what_is_around_blocks(costs, more):
    base = sparse(output=1000)
    found = sparse(output=1000, around=BlockCosts(**{**vars(AROUND), **costs}))
    assert found - base == pytest.approx(more)


def test_transfers_take_their_share_of_the_work_beside_them():
    half = sparse(output=1000, around=replace(AROUND, share=0.5)) - sparse(output=1000)
    whole = sparse(output=1000, around=replace(AROUND, share=1.0)) - sparse(output=1000)
    assert whole == pytest.approx(2 * half)
    assert half > 0


def test_a_row_that_no_activation_asks_for_costs_only_its_transfer():
    a, w = sides()
    more = w.copy()
    more[1] = 1
    slow = replace(FREE, output=1000)
    base, other = (sparse_cycles(a, each, width=32, depth=4, costs=slow) for each in (w, more))
    assert other - base == pytest.approx(4 * 32 / 64)  # of the first block


@pytest.mark.parametrize(
    ("costs", "expected"),
    [
        ({}, 5 * 8 * 64 / 8),
        ({"four": 1}, 5 * 8 * 64 / 8 + 8),
        ({"one": 1}, 5 * 8 * 64 / 8 + 8),
        ({"strip": 1}, 5 * 8 * 64 / 8 + 2 * 3),
    ],
)
def test_parts_of_a_dense_layer(costs, expected):
    found = dense_cycles(5, 8, 64, width=64, depth=3, costs=replace(NOTHING, **costs))
    assert found == pytest.approx(expected + (4 * 3 * 69 + 16) / 64)


def test_a_block_takes_as_long_as_the_dma_needs():
    found = dense_cycles(0, 64, 128, width=64, depth=64, costs=NOTHING)
    assert found == pytest.approx(2 * (4 * 64 * 64 + 16) / 64)
