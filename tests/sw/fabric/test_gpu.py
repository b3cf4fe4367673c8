"""Templates of a GPU, with bpftime's numbers of maps and helpers."""

import pytest

from fanweave.golden.errors import InputError
from fanweave.golden.fabric.graph import Phase
from fanweave.golden.isa.bpftime import DEVICE_MAPS
from fanweave.golden.isa.ebpf_maps import MapType
from fanweave.sw.ebpf.object.compiler import compile_c
from fanweave.sw.ebpf.object.elf_reader import read_elf
from fanweave.sw.ebpf.object.loader import load_object, types_of
from fanweave.sw.fabric.compile import compile_graph, plan_graph
from fanweave.sw.fabric.dialect import DIALECTS, load_dialect
from fanweave.sw.fabric.output import manifest

KERNELS = {"kernels": {Phase.ATTENTION: "attend", Phase.FFN: "feed"}}


@pytest.fixture(scope="module")
def built(shipped):
    return shipped.built["gpu1"]


def test_the_clock_of_a_phase(built, device):
    gpu = device(built, engines=2)
    gpu.run("attention_begins", time_ns=1000)
    assert gpu.values("phases") == {1: {"began_ns": 1000, "spent_ns": 0, "epoch": 1, "active": 1}}
    # Another thread of the warp, and a kernel that began already, count nothing.
    gpu.run("attention_begins", time_ns=1500, engine=1)
    gpu.run("attention_begins", time_ns=1500)
    gpu.run("attention_ends", time_ns=1600, engine=1)
    gpu.run("attention_ends", time_ns=1700)
    gpu.run("attention_ends", time_ns=1900)
    gpu.run("ffn_begins", time_ns=2000)
    assert gpu.values("phases") == {
        1: {"began_ns": 1000, "spent_ns": 700, "epoch": 1, "active": 0},
        2: {"began_ns": 2000, "spent_ns": 0, "epoch": 1, "active": 1},
    }


def test_how_long_kernels_take(built, device):
    gpu = device(built)
    for began, took in ((10, 2000), (5000, 2001), (10_000, 1), (20_000, 1 << 40)):
        gpu.run("attention_begins", time_ns=began)
        gpu.run("attention_ends", time_ns=began + took)
    # The last one is longer than the histogram says; it counts as the longest.
    assert gpu.values("durations") == {32 + 10: 2, 32: 1, 32 + 31: 1}
    assert gpu.values("slow") == {1: 2}


def test_the_object_has_the_numbers_of_bpftime(built):
    elf = read_elf(built.data, "gpu1.o")
    btf, _ = types_of(elf)
    assert btf is not None
    array = next(row.number for row in DEVICE_MAPS if row.name == "GPU_ARRAY_MAP")
    with pytest.raises(InputError, match=f"is of type {array} "):
        load_object(built.data, "gpu1.o")
    assert (
        b"".join(n.to_bytes(4, "little") for n in (502,))
        in elf.find("kprobe/_Z14decode_attentionv").data
    )
    assert all(made.spec.kind is MapType.ARRAY for made in built.loaded.maps)


def test_the_manifest_names_kernels_and_types(shipped):
    found = manifest(shipped, "bpftime")["devices"]["gpu1"]
    # Constants in a section of their own would not be in the GPU's memory.
    assert set(found["map_types"]) == {"phases", "bounds", "durations", "slow"}
    assert set(found["map_types"].values()) == {1503}
    assert {(row["kernel"], row["at"]) for row in found["programs"]} == {
        ("_Z14decode_attentionv", "entry"),
        ("_Z14decode_attentionv", "exit"),
        ("_Z10decode_ffnv", "entry"),
        ("_Z10decode_ffnv", "exit"),
    }
    assert [state["reader"] for state in found["publishes"]] == ["island1"]


def test_only_the_clock_where_no_latency_is_bound(small_graph, goal):
    near = goal("keep_hot_near", "kv", near="near", by_phase=1)
    units, states = plan_graph(small_graph(near, gpu=KERNELS))
    assert {program.steps for program in units["gpu"].programs} == {("phase_clock",)}
    assert [(state.owner, state.reader) for state in states] == [("gpu", "island")]
    assert "gpu" in compile_graph(small_graph(near, gpu=KERNELS)).built


def test_a_gpu_without_kernels_runs_nothing(small_graph, goal):
    units, _ = plan_graph(small_graph(goal("bound_tail_latency", "kv")))
    assert set(units) == {"island"}


def test_a_helper_that_nothing_stands_for_is_refused(tmp_path):
    source = tmp_path / "fence.c"
    source.write_text(
        '#include <fanweave/bpftime.h>\nSEC("kprobe/k") int fence(void *c)\n'
        "{ bpf_gpu_membar(); return 0; }\n"
    )
    with pytest.raises(InputError, match=r"helper 506 \(gpu_membar\) of bpftime has no like here"):
        load_dialect(compile_c(source).data, "fence.o", DIALECTS["bpftime"])
