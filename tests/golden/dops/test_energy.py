"""Energy of a placement: against sums by hand, and what is not known."""

from dataclasses import replace

import numpy as np
import pytest

from fanweave.golden.dops.costs.physical import memory_bytes, operations
from fanweave.golden.dops.energy import EnergyMeter
from fanweave.golden.dops.energy_cards import EnergyCard
from fanweave.golden.dops.models import load_model
from fanweave.golden.dops.platforms import load_platform, platform_from_table
from fanweave.golden.dops.records import load_record
from fanweave.golden.dops.registry import Request, place
from fanweave.golden.dops.simulate import Workload
from fanweave.golden.dops.work import Step
from fanweave.golden.errors import InputError

WORK = Workload(batch=2, prefill=64, decode=3)


def request(platform, workload=WORK, **more):
    return Request(
        model=load_model("qwen-1.8b"),
        platform=platform,
        workload=workload,
        record=load_record("log"),
        scheduler="HEFT",
        **more,
    )


@pytest.fixture(scope="module")
def platform():
    return load_platform("a100-pim")


@pytest.fixture(scope="module")
def placed(platform):
    passes = []

    def observe(work, log, plan):
        passes.append((work.phase, work.token, log.copy()))

    return place(request(platform), "sound", observe), passes


def test_operations_and_bytes_are_those_of_every_operator_on_its_device(placed, platform):
    result, passes = placed
    flat = result.flat
    expected = np.zeros((2, len(platform.devices)))
    runs = passes[-1 - WORK.decode :]  # the runs before them chose the home of keys and values
    assert [token for _, token, _ in runs] == [0, 0, 1, 2]
    for phase, token, log in runs:
        step = Step(phase, WORK.batch, WORK.prefill + token)
        for index, operator in enumerate(flat.graph.operators):
            if flat.collective[index]:
                continue
            place_, work = int(log.place[index]), flat.graph.classes[operator.class_index]
            device = platform.devices[place_]
            expected[0, place_] += operations(device, work, step) * device.energy.pj_per_flop
            expected[1, place_] += memory_bytes(device, work, step, 16) * device.energy.pj_per_byte
        for _, _, source, target, start, finish in log.messages.tolist():
            size, _ = platform.link(source, target).sent(finish - start)
            for end in (source, target):
                expected[1, end] += size * platform.devices[end].energy.pj_per_byte
    found = result.energy.parts[:-1]
    assert [part.operations for part in found] == pytest.approx(expected[0] * 1e-12)
    assert [part.memory for part in found] == pytest.approx(expected[1] * 1e-12)
    assert result.energy.parts[-1].name == "links"
    assert result.energy.total == pytest.approx(sum(part.total for part in result.energy.parts))
    assert result.energy.per_token == pytest.approx(result.energy.total / 6)


def test_bytes_of_weights_pass_links_once(placed, platform):
    """What the links take is at least that of all weights, which come from the host."""
    result, _ = placed
    graph = result.flat.graph
    weights = sum(2 * graph.classes[kind].weights for kind in graph.weight_class)
    link = platform.default_link
    wire = weights * (link.payload_bytes + link.header_bytes) / link.payload_bytes
    least = wire * link.energy.pj_per_byte * 1e-12
    assert least <= result.energy.parts[-1].memory < 2 * least


def test_idle_power_counts_the_whole_run(placed, platform):
    result, _ = placed
    seconds = result.total / 1e12
    for part, device in zip(result.energy.parts, platform.devices, strict=False):
        assert part.idle == pytest.approx(device.energy.idle_w * seconds)
    ports = len(platform.devices)
    assert result.energy.parts[-1].idle == pytest.approx(ports * seconds)


def test_a_link_knows_how_many_bytes_took_a_time(platform):
    link = platform.default_link
    payload, wire = link.sent(link.time(64_000))
    assert payload == pytest.approx(64_000, rel=1e-6)
    assert wire == pytest.approx(68_000, rel=1e-6)
    assert link.sent(1) == (0.0, 0.0)


def test_a_sample_of_tokens_has_the_energy_of_all(platform):
    long = Workload(batch=2, prefill=64, decode=100)
    whole = place(request(platform, long), "sound").energy
    some = place(request(platform, long, sampled=True), "sound").energy
    for one, other in zip(whole.parts, some.parts, strict=True):
        assert other.operations == pytest.approx(one.operations, rel=1e-3)
        assert other.memory == pytest.approx(one.memory, rel=2e-2)


def test_what_is_not_known_is_named_and_left_out(platform):
    bare = replace(
        platform, devices=tuple(replace(device, energy=None) for device in platform.devices)
    )
    assert place(request(bare), "sound").energy is None
    assert "energy" not in place(request(bare), "sound").document()
    gpu = replace(bare.devices[1], energy=platform.devices[1].energy)
    some = replace(bare, devices=(bare.devices[0], gpu, *bare.devices[2:]))
    report = place(request(some), "sound").energy
    assert report.unknown == ("CPU0", *(f"PIM{i}" for i in range(5)))
    assert [part.name for part in report.parts] == ["GPU0", "links"]
    without = replace(some, default_link=replace(some.default_link, energy=None))
    assert place(request(without), "sound").energy.unknown[-1] == "links"


def test_the_origin_is_published_only_if_all_is(placed):
    result, _ = placed
    assert result.energy.origin == "assumed"
    card = EnergyCard(
        pj_per_flop=1.0, pj_per_byte=2.0, idle_w=0.0, source="s", literature=("pj_per_flop",)
    )
    assert card.origin == "assumed"
    assert replace(card, literature=("pj_per_flop", "pj_per_byte")).origin == "literature"
    assert result.document()["energy"]["origin"] == "assumed"


def test_a_pass_without_messages(platform):
    result = place(request(platform), "sound")
    meter = EnergyMeter(result.flat, result.platform, 16)
    log = replace(result.kept[-1].log, messages=np.zeros((0, 6), np.int64))
    measured = meter.measure(Step("decode", 2, 66), log)
    assert measured.links == 0
    assert measured.total == pytest.approx(float(measured.operations.sum() + measured.memory.sum()))


@pytest.mark.parametrize(
    ("energy", "message"),
    [
        ({"pj_per_flop": 1.0, "pj_per_byte": 1.0, "source": "s"}, "key 'idle_w' is missing"),
        ({"pj_per_flops": 1.0}, "did you mean 'pj_per_flop'?"),
        (5, "energy = 5 must be a table"),
        (
            {"pj_per_flop": float("nan"), "pj_per_byte": 1.0, "idle_w": 1.0, "source": "s"},
            "pj_per_flop = nan must be a finite number",
        ),
        (
            {
                "pj_per_flop": 1.0,
                "pj_per_byte": 1.0,
                "idle_w": 1.0,
                "source": "s",
                "literature": ["capacity_gib"],
            },
            "literature = 'capacity_gib' must be one of",
        ),
    ],
)
def test_energies_that_do_not_fit(energy, message):
    device = {
        "name": "CPU0",
        "type": "cpu",
        "peak_tflops": 1.0,
        "bandwidth_gib": 1.0,
        "capacity_gib": 1.0,
        "source": "s",
        "energy": energy,
    }
    table = {"name": "p", "topology": "fc", "link": {"bandwidth_gib": 1.0}, "devices": [device]}
    with pytest.raises(InputError, match="file: device CPU0: energy") as raised:
        platform_from_table("file", table)
    assert message in str(raised.value)
