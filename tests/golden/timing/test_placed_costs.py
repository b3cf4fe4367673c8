"""Steps that a scheduler places: as in a placement of its own, and by shape alone."""

from dataclasses import replace

import numpy as np
import pytest

from fanweave.golden.dops.models import load_model
from fanweave.golden.dops.platforms import load_platform
from fanweave.golden.dops.records import load_record
from fanweave.golden.dops.schedulers.lists import Heft
from fanweave.golden.dops.schedulers.static import Static
from fanweave.golden.dops.simulate import Workload
from fanweave.golden.dops.sound import place_sound
from fanweave.golden.dops.sound_problem import sound_problems
from fanweave.golden.errors import InputError
from fanweave.golden.timing.placed_costs import PLACED_SPREAD, PlacedCosts
from fanweave.golden.timing.placed_serving import PlacedServer, serve_placed
from fanweave.golden.timing.step import Chunk, StepShape

MODEL = replace(load_model("qwen-1.8b"), layers=4)
PLATFORM = load_platform("hp32")


def costs(make=Heft, **changed):
    return PlacedCosts(MODEL, PLATFORM, make, **({"max_sequences": 4, "max_tokens": 600} | changed))


def decode(n, context):
    return StepShape((), n, n * context, context)


def prefill(*chunks):
    return StepShape(tuple(Chunk(*chunk) for chunk in chunks), 0, 0, 0)


def took(server, shape):
    (time,) = server.step(shape).stages
    return time


@pytest.mark.parametrize("make", [Heft, lambda: Static("PD")])
def test_decode_takes_what_a_late_token_of_a_placement_takes(make):
    work = Workload(batch=4, prefill=512, decode=64)
    cases = sound_problems(MODEL, PLATFORM, work, load_record("log"))
    case, result = place_sound(cases, make)
    server = costs(make, max_tokens=576, home=case.home.place)
    took(server, decode(4, 100))
    for token in (40, 60):
        late = result.token_ends[token] - result.token_ends[token - 1]
        # The placement spreads a load over 64 tokens, and a server over many more.
        assert took(server, decode(4, 512 + token)) == pytest.approx(late, rel=0.015)


def test_a_step_hangs_on_its_shape_alone():
    server = costs()
    shapes = [decode(4, 300), prefill((200, 0)), decode(1, 20), prefill((64, 128))]
    first = [took(server, shape) for shape in shapes]
    assert [took(server, shape) for shape in reversed(shapes)] == first[::-1]
    step = server.step(shapes[0])
    assert (step.spread, step.calibrated, step.host) == (PLACED_SPREAD, False, 0)


def test_chunks_add_up_to_their_prompt_and_parts_of_a_step_to_the_step():
    server = costs()
    whole = took(server, prefill((400, 0)))
    parts = took(server, prefill((150, 0))) + took(server, prefill((250, 150)))
    assert parts == pytest.approx(whole, rel=0.01)
    both = took(server, StepShape((Chunk(150, 0),), 4, 1200, 300))
    alone = took(server, prefill((150, 0))) + took(server, decode(4, 300))
    assert both == pytest.approx(alone, rel=0.05)


def test_what_does_not_fit_is_refused():
    with pytest.raises(InputError, match=r"no room at home 'nvme'; choose one of pim, npu, host$"):
        costs(home="nvme")


def test_homes_are_where_a_full_batch_is_served_first():
    edge = load_platform("sparse-edge")

    def made(**more):
        sizes = {"max_sequences": 4, "max_tokens": 600, "typical": (100, 500)}
        return PlacedCosts(MODEL, edge, Heft, **sizes, **more)

    times = {}
    for home in ("pim", "npu", "host"):
        server = made(home=home)
        assert server.homes == {"keys_values": home, "weights": "host"}
        times[home] = 4 * took(server, prefill((100, 0))) + 500 * took(server, decode(4, 350))
    best = min(times, key=times.get)
    assert made().homes["keys_values"] == best
    # The PIMs are the first home that has room.
    assert best == "npu"
    assert times["npu"] < 0.99 * times["pim"]


def test_a_trace_is_served_with_kept_plans_and_without(trace_of):
    trace = trace_of(*[(index * 10**9, 100 + 7 * index, 12) for index in range(12)])
    server = PlacedServer(model=MODEL, platform=PLATFORM, scheduler="HEFT", max_sequences=4)
    (kept, few), (anew, many) = (
        serve_placed(trace, server),
        serve_placed(trace, replace(server, grain=0)),
    )
    assert few.planned < many.planned
    arrivals = np.array([request.arrival for request in trace.requests])
    ends = [np.array(run.recorder.last_at) - arrivals for run in (kept, anew)]
    assert np.abs(ends[0] / ends[1] - 1).mean() < 0.02
    faster = serve_placed(trace, replace(server, scheduler="all-NPU"))[0]
    assert faster.recorder.last_at != kept.recorder.last_at
    with pytest.raises(InputError, match="scheduler"):
        serve_placed(trace, replace(server, scheduler="none"))


def test_a_small_batch_does_not_load_weights_again_and_again():
    """The scheduler plans other places for it, but no step is to pay for loads of the next ones."""
    costs = PlacedCosts(
        load_model("qwen-1.8b"),
        load_platform("hp32"),
        Heft,
        max_sequences=16,
        max_tokens=1024,
    )
    times = [costs.step(StepShape((), n, 600 * n, 600)).stages[0] for n in (1, 2, 4, 8, 16)]
    assert times == sorted(times)
    for _ in range(2):
        assert costs.step(StepShape((), 1, 600, 600)).stages[0] == times[0]
