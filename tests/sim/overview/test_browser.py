"""The page of results in a real browser, where one is installed."""

import json
import re
import shutil
import subprocess

import pytest

from fanweave.sim.overview.page import overview_page
from fanweave.sim.overview.results import load_results

BROWSER = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
#: A frame of each width; says how wide their pages are, and what the keyboard can reach.
FRAMES = """<!DOCTYPE html><body><script>
const found = {}, widths = [1280, 390];
for (const width of widths) {
  const frame = document.createElement("iframe");
  frame.width = width; frame.height = 800; frame.src = "index.html";
  frame.onload = () => {
    const page = frame.contentDocument, root = page.documentElement;
    const stops = page.querySelectorAll("summary, a[href], [tabindex='0']");
    for (const each of page.querySelectorAll("details")) each.open = true;
    found[width] = [root.scrollWidth, root.clientWidth, stops.length];
    if (Object.keys(found).length == widths.length)
      document.body.dataset.found = JSON.stringify(found);
  };
  document.body.append(frame);
}
</script></body>"""

needs_browser = pytest.mark.skipif(BROWSER is None, reason="no chromium or chrome is installed")


def browse(folder, file):
    return subprocess.run(
        [
            BROWSER,
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


@needs_browser
def test_the_page_fits_wide_and_narrow_windows(root):
    (root / "index.html").write_text(overview_page(load_results(root), root))
    (root / "frames.html").write_text(FRAMES)
    outcome = browse(root, "frames.html")
    assert "CONSOLE" not in outcome.stderr, outcome.stderr
    found = json.loads(re.search(r'data-found="([^"]*)"', outcome.stdout)[1].replace("&quot;", '"'))
    for width in ("1280", "390"):
        whole, window, stops = found[width]
        assert whole <= window, f"the page is {whole} wide in a window of {window}"
        assert stops > 5


@needs_browser
def test_a_fault_in_a_page_is_seen(tmp_path):
    (tmp_path / "broken.html").write_text("<script>missing();</script>")
    assert "CONSOLE" in browse(tmp_path, "broken.html").stderr
