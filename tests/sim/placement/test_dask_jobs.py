"""Jobs on a Dask scheduler; without the package, a stand-in that has what is used of it."""

import sys
from types import SimpleNamespace

import pytest

from fanweave.golden.dops.simulate import Workload
from fanweave.golden.errors import FaultError, InputError
from fanweave.sim.command.main import cli
from fanweave.sim.placement.dask_jobs import run_on_dask
from fanweave.sim.placement.jobs import Job, Outcome, Variant, run_job


def job(batch):
    return Job(
        model="qwen-1.8b",
        platform="hp32",
        workload=Workload(batch=batch, prefill=16, decode=2),
        variants=(Variant(label="PD", scheduler="PD"),),
    )


class KilledWorker(Exception):  # noqa: N818 - its name in Dask
    pass


class Client:
    """Runs what is submitted when its result is asked for; the last one is ready first."""

    cancelled = ()

    def __init__(self, address, timeout):
        if "nowhere" in address:
            raise OSError("timed out")
        assert timeout

    def __enter__(self):
        return self

    def __exit__(self, *what):
        return None

    def submit(self, work, one, *, pure):
        assert pure is False
        return SimpleFuture(lambda: work(one))

    def cancel(self, futures):
        Client.cancelled = futures


class SimpleFuture:
    def __init__(self, call):
        self.result = call


@pytest.fixture
def dask(monkeypatch):
    module = SimpleNamespace(
        Client=Client, KilledWorker=KilledWorker, as_completed=lambda futures: futures[::-1]
    )
    monkeypatch.setitem(sys.modules, "distributed", module)


def test_outcomes_are_those_of_this_machine_in_the_order_of_jobs(dask):
    jobs, told = [job(1), job(2)], []
    found = run_on_dask(jobs, "tcp://here:1", done=lambda index, _: told.append(index))
    assert found == [run_job(each) for each in jobs]
    assert told == [1, 0]
    assert list(Client.cancelled) == []


def test_a_job_at_which_workers_die(dask):
    def work(one):
        if one.workload.batch == 1:
            raise KilledWorker
        return Outcome(job=one)

    with pytest.raises(FaultError, match="died again and again at one job; 2 jobs are left"):
        run_on_dask([job(3), job(1), job(2)], "tcp://here:1", work=work)
    assert len(Client.cancelled) == 2


def test_no_scheduler_and_no_package(dask, monkeypatch):
    with pytest.raises(InputError, match=r"'tcp://nowhere:1': timed out; start one with 'dask"):
        run_on_dask([job(1)], "tcp://nowhere:1")
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(InputError, match=r"install fanweave\[dask\]"):
        run_on_dask([job(1)], "tcp://here:1")


def test_a_sweep_on_dask_goes_on_where_it_was(dask, tmp_path):
    from click.testing import CliRunner

    results = tmp_path / "r.jsonl"
    command = ["sweep", str(results), "--model", "qwen-1.8b", "--platform", "hp32"]
    command += ["--prefill", "16", "--decode", "2", "--scheduler", "PD", "--dask", "tcp://here:1"]
    one = CliRunner().invoke(cli, [*command, "--batch", "1"], catch_exceptions=False)
    assert one.exit_code == 0
    two = CliRunner().invoke(cli, [*command, "--batch", "1,2"], catch_exceptions=False)
    assert "2 workloads, 1 of them in" in two.stderr
    assert len(results.read_text().splitlines()) == 2
    both = CliRunner().invoke(cli, [*command, "--workers", "2"])
    assert both.exit_code == 2
    assert "give it or --dask" in both.output
