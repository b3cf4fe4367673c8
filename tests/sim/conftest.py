"""A browser for pages, where one is installed."""

import shutil
import subprocess

import pytest

_NAMES = ("chromium", "chromium-browser", "google-chrome")


@pytest.fixture
def browse():
    """Opens a page of a folder without a window; gives its document, and what its console says."""
    browser = next(filter(None, map(shutil.which, _NAMES)), None)
    if browser is None:
        pytest.skip("no chromium or chrome is installed")

    def open_page(folder, file):
        return subprocess.run(
            [
                browser,
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                f"--user-data-dir={folder / 'profile'}",
                "--allow-file-access-from-files",
                "--virtual-time-budget=10000",
                "--enable-logging=stderr",
                "--dump-dom",
                (folder / file).as_uri(),
            ],
            capture_output=True,
            text=True,
            timeout=120,
        )

    return open_page
