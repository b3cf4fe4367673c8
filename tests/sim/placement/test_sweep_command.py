import json

import pytest
from click.testing import CliRunner

from fanweave.golden.errors import InputError
from fanweave.sim.command.main import cli
from fanweave.sim.placement import jobs

SMALL = ("--model", "qwen-1.8b", "--platform", "hp32", "--prefill", "64", "--decode", "2")


def run(*arguments):
    return CliRunner().invoke(cli, [str(each) for each in arguments], catch_exceptions=False)


def read(file):
    return [json.loads(line) for line in file.read_text().splitlines()]


def test_every_workload_is_a_line_and_equals_place(tmp_path):
    file = tmp_path / "results.jsonl"
    result = run("sweep", file, *SMALL, "--batch", "1,4", "--model", "qwen-7b", "--workers", 2)
    assert result.exit_code == 0
    lines = read(file)
    assert len(lines) == 4
    assert "qwen-7b on hp32, 4 x (64+2)" in result.output
    line = next(
        each
        for each in lines
        if (each["asked"]["model"], each["asked"]["batch"]) == ("qwen-1.8b", 4)
    )
    placed = json.loads(run("place", *SMALL, "--batch", 4, "--json", "-").stdout)
    for key in ("prefill_s", "decode_s", "total_s", "lower_bound_s"):
        assert line["results"]["Bifocal"][key] == placed[key]


def test_a_run_goes_on_where_it_was_stopped(tmp_path, monkeypatch):
    file = tmp_path / "results.jsonl"
    assert run("sweep", file, *SMALL, "--batch", "1,4").exit_code == 0
    first, second = file.read_text().splitlines()
    # As if the machine had stopped while the second line was written.
    file.write_text(first + "\n" + second[:40])
    asked = []
    real = jobs.run_jobs

    def note(left, **more):
        asked.extend(left)
        return real(left, **more)

    monkeypatch.setattr(jobs, "run_jobs", note)
    result = run("sweep", file, *SMALL, "--batch", "1,4")
    assert len(asked) == 1
    assert "2 workloads, 1 of them in" in result.stderr
    assert sorted(file.read_text().splitlines()) == sorted([first, second])


def test_lines_of_another_question_are_not_taken(tmp_path):
    file = tmp_path / "results.jsonl"
    run("sweep", file, *SMALL)
    run("sweep", file, *SMALL, "--set", "gamma=100")
    assert len(read(file)) == 2


def test_what_does_not_fit_is_refused_and_the_rest_goes_on(tmp_path):
    file = tmp_path / "results.jsonl"
    result = run("sweep", file, *SMALL, "--platform", "hp128", "--scheduler", "PD")
    assert result.exit_code == 0
    assert "refused: model qwen-1.8b: heads = 12 cannot be cut" in result.stderr
    assert [bool(line["results"]) for line in read(file)].count(True) == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--scheduler", "bifocl"), "did you mean 'Bifocal'"),
        (("--model", "qwen"), "model 'qwen' is not known"),
        (("--mode", "none"), "mode 'none' is not known"),
        (("--set", "gamma=2000"), "from 0 to 1000"),
        (("--elements", "fp12"), "is not known"),
        (("--batch", "0"), "batch = 0 must be"),
    ],
)
def test_bad_input_is_refused_before_anything_is_written(tmp_path, arguments, message):
    file = tmp_path / "results.jsonl"
    with pytest.raises(InputError, match=message):
        run("sweep", file, *SMALL, *arguments)
    assert not file.exists()


def test_a_file_of_something_else_stays_as_it_is(tmp_path):
    file = tmp_path / "results.jsonl"
    file.write_text("hello\n")
    with pytest.raises(InputError, match="line 1 is not of a sweep"):
        run("sweep", file, *SMALL)
    assert file.read_text() == "hello\n"


def test_sizes_that_are_no_integers_are_refused(tmp_path):
    result = run("sweep", tmp_path / "results.jsonl", *SMALL, "--batch", "1,x")
    assert result.exit_code == 2
    assert "integers with commas between" in result.output
