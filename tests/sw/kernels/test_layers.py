"""Tiled products on the instruction-set simulator, bit for bit."""

import numpy as np
import pytest

from fanweave.golden.errors import InputError
from fanweave.golden.isa.formats import ElementFormat
from fanweave.sw.kernels.kernels import product, run_prepared
from fanweave.sw.kernels.layers import LAYERS, Tiling, build_layer, choose_width, prepare_layer


@pytest.fixture(scope="module")
def programs():
    return {name: build_layer(kernel) for name, kernel in LAYERS.items()}


def matrices(m, k, p, sparsity, seed):
    generator = np.random.default_rng(seed)
    a = generator.standard_normal((m, k)).astype(np.float32)
    w = generator.standard_normal((k, p)).astype(np.float32)
    a[generator.random(a.shape) < sparsity] = 0
    w[generator.random(w.shape) < sparsity] = 0
    return a, w


def run(name, programs, a, w, tiling):
    """Bits of the product, and instructions."""
    result = run_prepared(prepare_layer(LAYERS[name], programs[name], a, w, tiling))
    # Columns that fill the last tile have nothing in them.
    assert not result.c[:, w.shape[1] :].any()
    return result.c[:, : w.shape[1]], result.instructions


@pytest.mark.parametrize("name", LAYERS)
@pytest.mark.parametrize(
    ("m", "k", "p", "width", "depth"),
    [(1, 20, 64, 32, 7), (4, 16, 64, 64, 16), (5, 33, 192, 96, 16), (2, 9, 200, 128, 4)],
)
def test_bits(programs, name, m, k, p, width, depth):
    a, w = matrices(m, k, p, 0.5, seed=m * k + p)
    found, spent = run(name, programs, a, w, Tiling(width=width, depth=depth))
    wanted = product(a.view(np.uint32), w.view(np.uint32), ElementFormat.FP32)
    assert found.tolist() == wanted.tolist()
    assert spent > k


def test_empty_rows(programs):
    a, w = matrices(3, 12, 64, 0.5, seed=1)
    a[1], w[5:8], w[:, 32:] = 0, 0, 0
    found, _ = run("layer-sparse", programs, a, w, Tiling(width=32, depth=5))
    wanted = product(a.view(np.uint32), w.view(np.uint32), ElementFormat.FP32)
    assert found.tolist() == wanted.tolist()


def test_zeros_of_both_sides_are_left_out(programs):
    tiling = Tiling(width=128, depth=16)
    dense = run("layer-sparse", programs, *matrices(4, 64, 128, 0.0, seed=2), tiling)[1]
    half = run("layer-sparse", programs, *matrices(4, 64, 128, 0.5, seed=2), tiling)[1]
    assert half < 0.6 * dense


def test_the_widest_tile_has_rows_that_fit():
    _, w = matrices(1, 16, 512, 0.5, seed=3)
    width = choose_width(w)
    counts = [np.count_nonzero(w[:, at : at + width], axis=1).max() for at in range(0, 512, width)]
    assert 160 <= width < 256
    assert max(counts) <= 128
    w[:, ::2] = 0
    assert choose_width(w) == 256
    assert choose_width(np.ones((4, 300), np.float32)) == 128


@pytest.mark.parametrize(
    ("tiling", "message"),
    [
        (Tiling(width=48, depth=4), "tiles of 48 columns; expected a multiple of 32 up to 256"),
        (Tiling(width=192, depth=1000), "bytes or more; the L1 has"),
    ],
)
def test_cuts_that_do_not_fit(programs, tiling, message):
    a, w = matrices(1, 1000, 192, 0, seed=4)
    with pytest.raises(InputError, match=message):
        prepare_layer(LAYERS["layer-dense"], programs["layer-dense"], a, w, tiling)
