"""What reads pages: a checker, and a browser where one is installed."""

import shutil
import subprocess
from html.parser import HTMLParser

import pytest

_NAMES = ("chromium", "chromium-browser", "google-chrome")


class Page(HTMLParser):
    """Counts elements and collects words and links; elements nest, and nothing is fetched."""

    def __init__(self, text):
        super().__init__()
        self.counts, self.words, self.links = {}, [], []
        self._open = []
        self.feed(text)
        assert not self._open

    def handle_starttag(self, tag, attrs):
        self.counts[tag] = self.counts.get(tag, 0) + 1
        assert "src" not in dict(attrs)
        if "href" in dict(attrs):
            self.links.append(dict(attrs)["href"])
        if tag != "meta":
            self._open.append(tag)

    def handle_endtag(self, tag):
        assert self._open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)


@pytest.fixture
def read_page():
    """Reads the text of a page as a `Page`."""
    return Page


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
