"""The page of results in a real browser, where one is installed."""

import json
import re

from fanweave.sim.overview.page import overview_page
from fanweave.sim.overview.results import load_results

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


def test_the_page_fits_wide_and_narrow_windows(root, browse):
    (root / "index.html").write_text(overview_page(load_results(root), root))
    (root / "frames.html").write_text(FRAMES)
    outcome = browse(root, "frames.html")
    assert "CONSOLE" not in outcome.stderr, outcome.stderr
    found = json.loads(re.search(r'data-found="([^"]*)"', outcome.stdout)[1].replace("&quot;", '"'))
    for width in ("1280", "390"):
        whole, window, stops = found[width]
        assert whole <= window, f"the page is {whole} wide in a window of {window}"
        assert stops > 5


def test_a_fault_in_a_page_is_seen(tmp_path, browse):
    (tmp_path / "broken.html").write_text("<script>missing();</script>")
    assert "CONSOLE" in browse(tmp_path, "broken.html").stderr
