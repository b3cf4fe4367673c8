"""Measurements on disk, known by the content of what was measured, so that a repeat is quick."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fanweave.golden.files import replace_file
from fanweave.sim.runner.cache import content_key

__all__ = ["MeasuredTable"]


class MeasuredTable:
    """A folder of results, one a key.

    Parameters
    ----------
    folder : Path
        Made when the first result is kept.

    Attributes
    ----------
    measured, found : int
        Results that were measured, and those that were there.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.measured = self.found = 0

    def obtain(self, parts: list[str], measure: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """The result for what `parts` say, measured if it is missing or damaged.

        Parameters
        ----------
        parts : list of str
            All that decides on the result, sources of the design included.
        measure : callable
            Gives a document of JSON.
        """
        key = content_key(parts)
        path = self.folder / f"{key}.json"
        try:
            kept = json.loads(path.read_text())
            if kept["key"] == key and isinstance(kept["result"], dict):
                self.found += 1
                result: dict[str, Any] = kept["result"]
                return result
        except (OSError, ValueError, KeyError, TypeError):
            pass  # missing or damaged
        result = measure()
        self.folder.mkdir(parents=True, exist_ok=True)
        text = json.dumps({"key": key, "result": result}, indent=2, allow_nan=False)
        replace_file(path, (text + "\n").encode())
        self.measured += 1
        return result
