import json
import os
import tempfile

import pytest

from fanweave.golden.errors import InputError
from fanweave.sim.report import check_output, write_json, write_text


def test_json_is_written_whole(tmp_path):
    file = tmp_path / "result.json"
    file.write_text("old")
    write_json(file, {"value": 1})
    assert json.loads(file.read_text()) == {"value": 1}
    assert os.listdir(tmp_path) == ["result.json"]
    assert file.stat().st_mode & 0o444


def test_a_document_that_is_no_json_leaves_the_old_file(tmp_path):
    file = tmp_path / "result.json"
    file.write_text("old")
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_json(file, {"value": float("nan")})
    assert file.read_text() == "old"
    assert os.listdir(tmp_path) == ["result.json"]


def test_a_dash_is_standard_output(capsys):
    write_text("-", "hello\n")
    assert capsys.readouterr().out == "hello\n"


def test_outputs_that_cannot_be_are_refused(tmp_path):
    with pytest.raises(InputError, match="is a folder; name a file in it"):
        check_output(tmp_path)
    with pytest.raises(InputError, match="does not exist; create it first"):
        check_output(tmp_path / "missing" / "file.json")
    check_output("-")
    check_output(None)
    check_output(tmp_path / "file.json")


def test_a_folder_in_which_no_file_can_be_made_is_refused(tmp_path, monkeypatch):
    def refuse(**_more):
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(tempfile, "TemporaryFile", refuse)
    with pytest.raises(InputError, match=r"file\.json: folder .* cannot be written: Read-only"):
        check_output(tmp_path / "file.json")
