import io
import time

from fanweave.sim.runner import progress
from fanweave.sim.runner.progress import Progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_short_body_prints_nothing():
    stream = io.StringIO()
    with Progress("building", stream=stream):
        pass
    assert stream.getvalue() == ""


def test_a_long_body_prints_its_time(monkeypatch):
    monkeypatch.setattr(progress, "_FIRST_S", 0.01)
    for stream, end in ((io.StringIO(), "\n"), (Terminal(), "\r")):
        with Progress("building it", stream=stream) as shown:
            time.sleep(0.1)
        assert stream.getvalue().startswith(f"building it ... 0 s{end}")
        assert shown.seconds >= 0.1
