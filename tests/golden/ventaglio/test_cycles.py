import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fanweave.golden.errors import InputError
from fanweave.golden.isa.formats import ElementFormat
from fanweave.golden.isa.ventaglio import IndexMode
from fanweave.golden.ventaglio.config import VentaglioConfig, preset
from fanweave.golden.ventaglio.cycles import CAUSES, MemoryModel, count_cycles
from fanweave.golden.ventaglio.model import Ventaglio
from fanweave.sw.ventaglio import SparseMatrix, lower

FP32, FP16, E4M3, INT8 = (
    ElementFormat.FP32, ElementFormat.FP16, ElementFormat.E4M3, ElementFormat.INT8,
)  # fmt: skip


def matrix(keep, mode, element_format=FP16, n=0, m=0):
    return SparseMatrix(
        shape=keep.shape,
        indptr=np.concatenate(([0], np.cumsum(keep.sum(axis=1)))),
        indices=np.nonzero(keep)[1],
        data=np.ones(int(keep.sum()), dtype=np.uint32),
        element_format=element_format,
        index_mode=mode,
        n=n,
        m=m,
    )


def cycles(keep, mode, config, *, tokens=1, memory=None, x=None, **options):
    pattern = {key: options.pop(key) for key in ("element_format", "n", "m") if key in options}
    x = np.ones((tokens, keep.shape[0]), dtype=np.uint32) if x is None else x
    workload = lower(matrix(keep, mode, **pattern), x, config=config, **options)
    return count_cycles(workload, config, memory), workload


@pytest.mark.parametrize(("element_format", "groups"), [(FP32, 4), (FP16, 2), (E4M3, 1)])
@pytest.mark.parametrize("outputs", [1, 2])
def test_dense_rows_issue_a_full_group_every_cycle(element_format, groups, outputs):
    """32 columns of a 256-bit unit: 4, 2 or 1 groups a row and output, without any loss."""
    counts, _ = cycles(
        np.ones((300, 32), dtype=bool),
        IndexMode.DENSE,
        preset("default"),
        tokens=outputs,
        outputs=outputs,
        element_format=element_format,
    )
    assert counts["cycles_issue"] == 300 * groups * outputs
    assert counts["products"] == 300 * 32 * outputs
    # Fill, the last sums, 4 or 8 beats of results.
    hazards = counts["cycles_hazard"]
    assert counts["cycles"] - counts["cycles_issue"] - hazards < 40
    assert (hazards > 0) == (groups * outputs == 1)  # the same accumulators every cycle


def test_a_wide_n_of_m_product_loses_only_fill_and_drain():
    keep = np.zeros((256, 256), dtype=bool)
    keep[:, 1::4] = keep[:, 2::4] = True
    counts, _ = cycles(keep, IndexMode.N_OF_M, preset("default"), n=2, m=4)
    assert counts["cycles_issue"] == 256 * 128 // 16
    assert counts["cycles"] < counts["cycles_issue"] + 32 + 40


def test_accumulations_of_one_accumulator_are_a_latency_apart():
    config = VentaglioConfig(accumulate_latency=4)
    counts, _ = cycles(np.ones((500, 1), dtype=bool), IndexMode.DENSE, config, element_format=FP32)
    # Two rows a group: two products of the same accumulator a group.
    assert 500 * 4 <= counts["cycles"] < 500 * 4 + 40
    assert counts["hazards"] > 1000


def test_one_bank_takes_one_product_a_cycle():
    config = preset("default")
    keep = np.zeros((200, 256), dtype=bool)
    same = [column for column in range(256) if config.bank_of(column) == 0]
    assert len(same) == 4
    keep[:, same] = True
    counts, _ = cycles(keep, IndexMode.ABSOLUTE_8, config)
    assert 800 <= counts["cycles"] < 800 + 80
    assert counts["cycles_conflict"] > counts["cycles_issue"]
    assert counts["conflicts"] > 800


def test_skipped_rows_cost_a_cycle_each():
    x = np.zeros((1, 1000), dtype=np.uint32)
    x[0, -1] = 0x3C00
    counts, _ = cycles(np.ones((1000, 16), dtype=bool), IndexMode.DENSE, preset("default"), x=x)
    assert counts["skipped_rows"] == 999
    assert 1000 < counts["cycles"] < 1000 + 40


def test_a_shared_port_binds_one_output_of_narrow_elements():
    """8-bit weights with 8-bit indices: two beats for 32 products."""
    keep = np.ones((200, 32), dtype=bool)
    options = {"element_format": INT8}
    split, _ = cycles(keep, IndexMode.ABSOLUTE_8, preset("default"), **options)
    shared, _ = cycles(
        keep, IndexMode.ABSOLUTE_8, preset("default"), memory=MemoryModel(ports="shared"), **options
    )
    assert shared["cycles_weights"] + shared["cycles_indices"] > 0
    assert 400 <= shared["cycles"] < 440
    assert split["cycles"] <= shared["cycles"]


def test_alternating_tiles_hide_the_drain():
    keep = np.ones((64, 128), dtype=bool)
    small, _ = cycles(keep, IndexMode.DENSE, VentaglioConfig(accumulators=128), tokens=8)
    double, _ = cycles(keep, IndexMode.DENSE, preset("default"), tokens=8)
    assert small["cycles_drain"] > 7 * 10
    assert double["cycles_drain"] == 0
    assert double["cycles"] < small["cycles"]


def test_a_long_memory_latency_shows_once():
    keep = np.ones((100, 64), dtype=bool)
    near, _ = cycles(keep, IndexMode.DENSE, preset("default"), memory=MemoryModel(latency=1))
    far, _ = cycles(keep, IndexMode.DENSE, preset("default"), memory=MemoryModel(latency=21))
    assert far["cycles"] == near["cycles"] + 20


@st.composite
def runs(draw):
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    mode = draw(st.sampled_from(list(IndexMode)))
    keep = random.random((draw(st.integers(1, 20)), draw(st.integers(1, 64)))) < draw(
        st.sampled_from([0.1, 0.5, 0.9])
    )
    n = m = 0
    if mode is IndexMode.DENSE:
        keep[:] = True
    if mode is IndexMode.N_OF_M:
        n, m = 1, draw(st.sampled_from([1, 2, 3, 16]))
        keep[:] = False
        keep[:, ::m] = True
    x = random.integers(0, 3, (draw(st.integers(1, 5)), keep.shape[0])).astype(np.uint32)
    element_format = draw(st.sampled_from(list(ElementFormat)))
    config = VentaglioConfig(
        beat_bits=64,
        accumulators=64,
        banks=draw(st.sampled_from([2, 4, 16])),
        mask_columns=draw(st.sampled_from([32, 64])),
        window=draw(st.sampled_from([1, 2, 4])),
        accumulate_latency=draw(st.integers(1, 4)),
        row_queue=draw(st.sampled_from([2, 8])),
    )
    workload = lower(
        matrix(keep, mode, element_format, n, m),
        x,
        config=config,
        outputs=draw(st.integers(1, 4)),
        width=16 - 16 % max(m, 1),
        skip_zeros=draw(st.booleans()),
        target=draw(st.sampled_from([None, FP16, INT8])),
    )
    memory = MemoryModel(
        latency=draw(st.integers(1, 9)), ports=draw(st.sampled_from(["split", "shared"]))
    )
    return workload, config, memory


@settings(max_examples=80, deadline=None, print_blob=True)
@given(runs())
def test_causes_add_up_and_counts_agree_with_the_functional_model(case):
    workload, config, memory = case
    counts = count_cycles(workload, config, memory)
    assert sum(counts[cause] for cause in CAUSES) == counts["cycles"]
    unit = Ventaglio(config, workload.image, workload.activations)
    unit.write_all(workload.commands)
    assert {name: counts[name] for name in unit.counters} == unit.counters
    assert counts["cycles"] >= counts["activation_beats"]
    assert counts["products"] <= counts["cycles_issue"] * config.lanes


def test_refused_memories():
    with pytest.raises(InputError, match="memory latency is 0; expected 1 cycle or more"):
        MemoryModel(latency=0)
    with pytest.raises(InputError, match="memory ports are 'both'; expected 'split' or 'shared'"):
        MemoryModel(ports="both")
