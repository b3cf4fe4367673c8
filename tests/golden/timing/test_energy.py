"""Energy of serving: against operations and bytes by hand, and over placed devices."""

from dataclasses import replace

import pytest

from fanweave.golden.dops.calibration.profile import load_profile
from fanweave.golden.dops.models import load_model
from fanweave.golden.dops.platforms import PICOSECONDS, load_platform
from fanweave.golden.timing.cluster import Cluster, ReplicaSpec
from fanweave.golden.timing.config import ReplicaConfig
from fanweave.golden.timing.deployment import Deployment
from fanweave.golden.timing.energy import Power, StepEnergy
from fanweave.golden.timing.metrics import measure
from fanweave.golden.timing.placed_serving import PlacedServer, serve_placed
from fanweave.golden.timing.requests import RequestTrace
from fanweave.golden.timing.serving import ServerOptions, serve
from fanweave.golden.timing.step import Chunk, StepShape

PROFILE = load_profile("rtxpro6000")


def test_a_step_takes_its_operations_weights_keys_and_values():
    card, energy = PROFILE.card, PROFILE.energy
    head = card.vocabulary * card.hidden
    # 30 tokens behind 100, 8 alone, and two sequences that decode behind 50 and 70.
    shape = StepShape((Chunk(30, 100), Chunk(8, 0)), 2, 120, 70)
    pairs = (30 * 100 + 30 * 31 // 2) + 8 * 9 // 2 + (50 + 1) + (70 + 1)
    flops = 2 * card.linear_elements * 40 + 2 * head * 4
    flops += 4 * card.layers * card.heads * card.head_size * pairs
    weights = 2 * (card.linear_elements + head)
    history = 2 * card.kv_elements * (100 + 120)
    new = 2 * card.kv_elements * 40
    expected = flops * energy.pj_per_flop + (weights + history + new) * energy.pj_per_byte
    found = StepEnergy(energy, card, Deployment()).step_pj(shape)
    assert found == pytest.approx(expected, rel=1e-12)
    less = StepEnergy(energy, card, Deployment(kv_bits=8)).step_pj(shape)
    assert found - less == pytest.approx((history + new) / 2 * energy.pj_per_byte, rel=1e-9)


def test_a_run_takes_its_steps_and_idles_all_the_time(trace_of):
    trace = trace_of((0, 300, 4), (PICOSECONDS, 50, 2))
    energies = {}
    for replicas in (1, 2):
        options = ServerOptions(replicas=replicas, deployment=Deployment(tensor=2))
        metrics = measure(serve(trace, PROFILE, options))
        energy = energies[replicas] = metrics.energy
        idle = 2 * replicas * PROFILE.energy.idle_w * metrics.makespan_s
        assert energy.idle_j == pytest.approx(idle)
        assert energy.total_j == energy.steps_j + energy.idle_j
        assert energy.per_output_token_j == energy.total_j / 6
        assert energy.unknown == ("links",)
        assert metrics.document()["energy_origin"] == energy.origin == "assumed"
    costs = StepEnergy(PROFILE.energy, PROFILE.card, Deployment())
    shapes = [StepShape((Chunk(300, 0),), 0, 0, 0)]
    shapes += [StepShape((), 1, 300 + i, 300 + i) for i in range(3)]
    shapes += [StepShape((Chunk(50, 0),), 0, 0, 0), StepShape((), 1, 50, 50)]
    total = sum(costs.step_pj(shape) for shape in shapes) / PICOSECONDS
    assert energies[1].steps_j == pytest.approx(total, rel=1e-9)
    assert energies[2].steps_j == pytest.approx(total, rel=1e-9)


def test_where_nothing_is_known_nothing_is_said(trace_of, linear):
    run = Cluster([ReplicaSpec(costs=linear(), config=ReplicaConfig(kv_blocks=10))]).serve(
        trace_of((0, 5, 2))
    )
    metrics = measure(run)
    assert metrics.energy is None
    assert "energy_j" not in metrics.document()


def test_power_of_a_platform():
    platform = load_platform("a100-cxl")
    power = Power.of_platform(platform)
    assert power.idle_w == 60 + 50 + 2 * 10 + 4 * 1.0
    assert (power.origin, power.unknown) == ("assumed", ())
    bare = replace(
        platform,
        devices=tuple(replace(d, energy=None) for d in platform.devices),
        default_link=replace(platform.default_link, energy=None),
    )
    assert Power.of_platform(bare) is None
    gpu = replace(bare, devices=(bare.devices[0], platform.devices[1]))
    assert Power.of_platform(gpu).unknown == ("CPU0", "links")


def test_placed_steps_take_energy_and_a_chunk_what_the_whole_prompt_takes_more(trace_of):
    server = PlacedServer(
        model=load_model("qwen-1.8b"),
        platform=load_platform("a100-cxl"),
        scheduler="HEFT",
        max_sequences=2,
        token_budget=400,
    )
    requests = trace_of((0, 600, 3)).requests
    run, placed = serve_placed(RequestTrace(name="placed", requests=requests), server)
    energy = measure(run).energy
    assert energy.steps_j > 0
    prompt = placed.step(StepShape((Chunk(600, 0),), 0, 0, 0)).energy_pj
    part = placed.step(StepShape((Chunk(400, 0),), 0, 0, 0)).energy_pj
    rest = placed.step(StepShape((Chunk(200, 400),), 0, 0, 0)).energy_pj
    assert rest == pytest.approx(prompt - part, rel=1e-3)
    assert 0 < rest < part
    server = replace(server, platform=load_platform("hp32"))
    run, placed = serve_placed(RequestTrace(name="placed", requests=requests), server)
    assert measure(run).energy is None
    assert placed.step(StepShape((Chunk(600, 0),), 0, 0, 0)).energy_pj == 0
