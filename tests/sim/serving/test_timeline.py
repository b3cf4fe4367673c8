"""A timeline has what the run has: its steps, its requests, its memory."""

import itertools
import json

import pytest
from click.testing import CliRunner

from fanweave.golden.dops.calibration.profile import load_profile
from fanweave.golden.timing.deployment import Deployment
from fanweave.golden.timing.request_files import read_requests
from fanweave.golden.timing.serving import ServerOptions, serve
from fanweave.sim.command.main import cli
from fanweave.sim.serving.timeline import serving_timeline


@pytest.fixture(scope="module")
def run():
    trace = read_requests("measured-server").first(40)
    options = ServerOptions(deployment=Deployment(pipeline=2))
    return serve(trace, load_profile("rtxpro6000"), options, keep_steps=True)


def of(document, phase, **wanted):
    return [
        event
        for event in document["traceEvents"]
        if event["ph"] == phase and all(event[key] == value for key, value in wanted.items())
    ]


def test_slices_are_the_work_of_every_stage(run):
    document = serving_timeline(run)
    (use,) = run.recorder.uses
    for stage in (0, 1):
        slices = of(document, "X", tid=stage)
        assert len(slices) == use.steps
        assert sum(each["dur"] for each in slices) == pytest.approx(use.busy[stage] / 1e6)
        ends = sorted((each["ts"], each["ts"] + each["dur"]) for each in slices)
        assert all(b >= a - 1e-3 for (_, a), (b, _) in itertools.pairwise(ends))
    tokens = sum(each["args"]["prefill_tokens"] for each in of(document, "X", tid=0))
    assert tokens == sum(request.input_tokens for request in run.trace.requests)
    assert {each["name"] for each in of(document, "X")} == {"prefill", "mixed", "decode"}


def test_requests_and_counters_begin_and_end_with_nothing(run):
    document = serving_timeline(run)
    begins, ends = of(document, "b"), of(document, "e")
    assert len(begins) == len(ends)
    assert len([each for each in begins if each["name"] == "decode"]) == 40
    counts = of(document, "C", name="requests")
    assert counts[-1]["args"] == {"waiting": 0, "running": 0}
    assert all(min(each["args"].values()) >= 0 for each in counts)
    blocks = [each["args"]["in use"] for each in of(document, "C", name="blocks of the cache")]
    assert max(blocks) == run.recorder.uses[0].peak_blocks


def test_steps_are_not_kept_unasked(run):
    again = serve(run.trace, load_profile("rtxpro6000"), ServerOptions())
    assert again.recorder.kept == []


def test_the_command_writes_it(tmp_path):
    trace, file = tmp_path / "trace.csv", tmp_path / "t.json"
    trace.write_text("arrival_s,input_tokens,output_tokens\n0,100,5\n0.001,200,1\n")
    result = CliRunner().invoke(
        cli, ["serve", "--requests", str(trace), "--timeline", str(file)], catch_exceptions=False
    )
    assert result.exit_code == 0
    document = json.loads(file.read_text())
    assert document["otherData"]["requests"] == 2
    names = [event["args"]["name"] for event in document["traceEvents"] if event["ph"] == "M"]
    assert names == ["requests", "replica 0, both", "stage 0"]
