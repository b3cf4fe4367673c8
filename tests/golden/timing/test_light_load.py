"""One request at a time: every metric follows from the times of single steps, exactly."""

from dataclasses import replace

import pytest

from fanweave.golden.dops.calibration.profile import load_profile
from fanweave.golden.dops.platforms import PICOSECONDS
from fanweave.golden.timing.deployment import Deployment
from fanweave.golden.timing.launch import LaunchModel
from fanweave.golden.timing.measured_costs import MeasuredCosts
from fanweave.golden.timing.measured_server import MEASURED_SERVER
from fanweave.golden.timing.metrics import measure
from fanweave.golden.timing.requests import Request, RequestTrace
from fanweave.golden.timing.serving import ServerOptions, serve
from fanweave.golden.timing.step import Chunk, StepShape

PROFILE = load_profile("rtxpro6000")
LENGTHS = [(1, 1), (100, 2), (2048, 1), (3000, 5), (777, 40)]
SERVERS = {
    "plain": ServerOptions(),
    "synchronous": ServerOptions(asynchronous=False),
    "measured": MEASURED_SERVER,
    "without graphs": ServerOptions(
        deployment=Deployment(launch=LaunchModel(graph_sizes=(), eager_ps=10**9))
    ),
    "four devices": ServerOptions(deployment=Deployment(tensor=2, pipeline=2)),
}


def closed_form(options, tokens, output):
    """Time to first token and between tokens of a request that is alone."""
    costs = MeasuredCosts(PROFILE, options.deployment)
    device = host_free = 0
    ends, shapes = [], []
    for at in range(0, tokens, options.token_budget):
        chunk = min(options.token_budget, tokens - at)
        shapes.append(StepShape((Chunk(chunk, at),), 0, 0, 0))
    shapes += [StepShape((), 1, tokens + i, tokens + i) for i in range(output - 1)]
    ahead = 2 if options.asynchronous and costs.stages == 1 else 1
    for number, shape in enumerate(shapes):
        time = costs.step(shape)
        # The host prepares a step when the one `ahead` before it has ended.
        scheduled = ends[number - ahead] if number >= ahead else host_free
        device = max(device, scheduled + time.host)
        device += sum(time.stages) + time.transfer * (costs.stages - 1)
        ends.append(device)
    first = len(shapes) - output
    intake = options.intake.behind(0)
    return intake + ends[first], intake + ends[-1]


@pytest.mark.parametrize("server", SERVERS)
def test_alone_a_request_waits_for_nothing(server):
    options = SERVERS[server]
    requests = tuple(
        Request(
            name=str(i), arrival=i * 60 * PICOSECONDS, input_tokens=tokens, output_tokens=output
        )
        for i, (tokens, output) in enumerate(LENGTHS)
    )
    run = serve(RequestTrace(name="light", requests=requests), PROFILE, options)
    record = run.recorder
    for index, request in enumerate(requests):
        first, last = closed_form(options, request.input_tokens, request.output_tokens)
        assert record.queued_at[index] == request.arrival
        assert record.scheduled_at[index] == request.arrival + options.intake.behind(0)
        assert record.first_at[index] - request.arrival == first
        assert record.last_at[index] - request.arrival == last
    metrics = measure(run)
    assert metrics.latencies["intake_wait"].percentiles[99] == 0
    assert metrics.preemptions == 0


def test_the_time_to_first_token_of_a_short_prompt_is_one_step():
    options = ServerOptions()
    requests = (Request(name="0", arrival=7, input_tokens=512, output_tokens=3),)
    record = serve(RequestTrace(name="one", requests=requests), PROFILE, options).recorder
    costs = MeasuredCosts(PROFILE)
    prefill = costs.step(StepShape((Chunk(512, 0),), 0, 0, 0)).stages[0]
    decodes = [costs.step(StepShape((), 1, c, c)).stages[0] for c in (512, 513)]
    assert record.first_at == [7 + prefill]
    assert record.last_at == [7 + prefill + sum(decodes)]
    assert list(record.gap_lengths) == decodes


def test_four_bits_hold_four_times_the_tokens():
    blocks = []
    for bits in (16, 4):
        deployment = replace(Deployment(), kv_bits=bits)
        requests = (Request(name="0", arrival=0, input_tokens=16, output_tokens=1),)
        trace = RequestTrace(name="one", requests=requests)
        run = serve(trace, PROFILE, ServerOptions(deployment=deployment))
        blocks.append(run.replicas[0].memory.blocks)
    assert blocks[1] // 4 == blocks[0]
