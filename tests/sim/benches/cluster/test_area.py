# amaranth: UnusedElaboratable=no
"""The parts of a cluster are all there, each as often as the cluster has it."""

from collections import Counter

import pytest
from amaranth import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from fanweave.golden.errors import InputError
from fanweave.hw.cluster.cluster import Cluster
from fanweave.hw.cluster.config import PRESETS
from fanweave.hw.vector.config import PRESETS as VECTORS
from fanweave.sim.benches.cluster import area, bench
from fanweave.sim.benches.cluster.area import Part, cluster_parts, part_areas, ventaglio_parts
from fanweave.sim.synthesis.asic import AsicArea


@pytest.mark.parametrize("preset", ["default", "two-cores", "small-ventaglio", "ventaglio"])
def test_parts_are_those_of_the_cluster(preset):
    config = PRESETS[preset]
    # Only the top is elaborated, which is quick.
    inside = Cluster(config=config).elaborate(None)._named_submodules.values()
    found = Counter(type(part.build()) for part in cluster_parts(config) for _ in range(part.count))
    assert found == Counter(type(each) for each, *_ in inside)


def test_ventaglio_is_all_that_is_there_for_it_alone():
    names = [part.name for part in ventaglio_parts(VECTORS["small-ventaglio"])]
    assert names == ["Ventaglio", "Ventaglio's CSRs", "Ventaglio's way to memory"]


class Bits(wiring.Component):
    """Some flip-flops."""

    d: In(4)
    q: Out(4)

    def elaborate(self, platform):
        m = Module()
        m.d.sync += self.q.eq(self.d)
        return m


def test_a_part_is_synthesised_once(tmp_path, monkeypatch):
    monkeypatch.setattr(area, "build_root", lambda: tmp_path)
    monkeypatch.setattr("fanweave.sim.synthesis.blocks.build_root", lambda: tmp_path)
    made = []

    def build():
        made.append(1)
        return Bits()

    part = Part(name="bits", count=1, key="bits", build=build)
    (found,) = part_areas(part)
    assert found.flip_flops == 4
    assert part_areas(part) == (found,)
    assert len(made) == 1


def block(path, number):
    return AsicArea(block=path, cells={"NAND2": number})


def test_lines_add_up_and_know_ventaglio(monkeypatch):
    monkeypatch.setattr(
        area,
        "part_areas",
        lambda part: (
            (
                block("", 1),
                block("core.execute", 2),
                block("vector$109.ventaglio.bank.scatter", 4),
                block("vector$109.front.ventaglio.registers", 8),
                block("vector$109.front.decoder", 16),
            )
            if part.name == "core complex"
            else (AsicArea(block="", cells={"DFF": 3}, macro_bits=100),)
        ),
    )
    lines = area._lines(PRESETS["ventaglio"])
    assert lines["scalar core"].logic == 2 * 2
    assert lines["Ventaglio: accumulators and scatter"].logic == 2 * 4
    assert lines["Ventaglio: CSRs, errors"].logic == 2 * 8
    assert lines["vector: front"].logic == 2 * 16
    assert lines["L1"].flip_flops == 3
    assert lines["L1"].total == pytest.approx(16 + 100 * area.GE_PER_BIT)
    rows = list(area._whole(PRESETS["ventaglio"], area.Area(logic=5.0)))
    share = {row.case: row for row in rows if row.metric == "area_share"}
    own = share["2 cores, all formats: Ventaglio, all formats, of the cluster"]
    everything = next(row for row in rows if row.origin == "assumed").value
    assert own.value == pytest.approx(24 / everything, abs=1e-4)
    assert own.goal == 0.031
    release = share["2 cores, all formats: Ventaglio, as the public release has, of the cluster"]
    assert release.value == pytest.approx(10 / (everything - 24 + 10), abs=1e-4)


def test_features_grow():
    steps = [config for _, config in area._features()]
    assert [len(config.formats) for config in steps] == [1, 1, 1, 1, 3, 6]
    assert steps[0].window < steps[1].window
    assert steps[1].banks < steps[2].banks


def test_parts_of_the_benchmark():
    parts = ["dense", "sparse", "vector", "layers", "trace", "model", "speed", "area"]
    assert list(bench.PARTS) == parts
    with pytest.raises(InputError, match="benchmark cluster has no part 'none'; choose one of"):
        bench.rows(quick=True, seed=1, part="none")
