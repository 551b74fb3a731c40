"""How smooth the explorer is: frames while its bounds and its point are dragged.

A page with 65,536 cut-offs, four groups and three bounds, in headless Chromium; the pointer's
events come once a frame. Every figure is printed beside its target. Run it alone:
``PYTHONPATH=src:tests python benchmarks/explore_frames.py``.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from browser import BROWSER, Tab  # noqa: E402

ROWS = 200_000
GOAL = (
    "maximize recall subject to precision >= 0.5 and predicted_rate <= 0.3 "
    'and recall.difference("region") <= 0.2'
)
FRAMES = 300

DRAGS = """
const frames = async (step) => {
  const next = () => new Promise(requestAnimationFrame);
  const long = [];
  new PerformanceObserver((list) => long.push(...list.getEntries().map((x) => x.duration)))
    .observe({type: "longtask"});
  let last = await next();
  const between = [], work = [];
  for (let i = 0; i < COUNT; i += 1) {
    const start = performance.now();
    step((1 + Math.sin(i / 20)) / 2);
    // The page draws in the frame after the event; what it takes is measured there.
    const now = await next();
    between.push(now - last);
    last = now;
    work.push(performance.now() - Math.max(start, now));
  }
  const sorted = (a) => a.slice(5).sort((x, y) => x - y);
  const [b, w] = [sorted(between), sorted(work)];
  const middle = (a) => a[a.length >> 1], worst = (a) => a[a.length - 1];
  const late = b.filter((x) => x > 25).length;
  return {median: middle(b), worst: worst(b), late, work: middle(w), most: worst(w), long};
};
const slide = (slider) => (part) => {
  slider.value = Number(slider.min) + part * (slider.max - slider.min);
  slider.dispatchEvent(new Event("input", {bubbles: true}));
};
const point = (svg) => {
  const box = svg.getBoundingClientRect();
  svg.setPointerCapture = () => {};
  svg.hasPointerCapture = () => true;
  const send = (type, part) => svg.dispatchEvent(new PointerEvent(type, {
    clientX: box.left + (0.1 + 0.8 * part) * box.width, clientY: box.top + 50, button: 0,
    bubbles: true, pointerId: 1,
  }));
  send("pointerdown", 0);
  return (part) => send("pointermove", part);
};
"""


def line(what: str, measured: float, target: str, good: bool, unit: str = "ms") -> None:
    print(f"{'ok  ' if good else 'MISS'} {what:<60} {measured:8.2f} {unit:<6} target {target}")


def made(path: Path) -> None:
    """The page of a fair model."""
    from setpoint import explore

    rng = np.random.default_rng(0)
    y = (rng.random(ROWS) < 0.2).astype(int)
    region = np.array(["north", "south", "east", "west"])[rng.integers(4, size=ROWS)]
    scores = 1.0 / (1.0 + np.exp(-rng.normal(2.0 * y - 1.5, 1.0)))
    explorer = explore(
        GOAL,
        scores,
        y,
        sensitive_features={"region": region},
        decide_on=None,
        baseline=(scores > 0.6).astype(int),
        check=0.3,
    )
    explorer.to_html(path)
    rows = explorer.payload["rows"]
    size = path.stat().st_size / 1e6
    print(f"{rows['n']:,} rows, {rows['bins']:,} bins")
    line("size of the page", size, "below 2", size < 2.0, "MB")


def measured(path: Path, folder: Path) -> dict[str, dict[str, Any]]:
    """Frames of a drag of each kind."""
    tab = Tab(folder)
    try:
        tab.size(1400, 1000)
        tab.open(path.as_uri(), "document.querySelector('.side')")
        tab.do(DRAGS.replace("COUNT", str(FRAMES)))
        found = {}
        for i, what in enumerate(("precision", "share accepted", "gap")):
            slider = f"document.querySelectorAll('.bound input[type=range]')[{i}]"
            found[f"bound {i + 1} ({what})"] = tab.do(f"frames(slide({slider}))")
        found["the point"] = tab.do("frames(point(document.querySelector('svg.curve')))")
        tab.do("[...document.querySelectorAll('.ask button')][1].click()")
        slider = "document.querySelector('.bound input[type=range]')"
        found["two goals, bound 1"] = tab.do(f"frames(slide({slider}))")
        assert tab.console == [], tab.console
    finally:
        tab.close()
    return found


def main() -> None:
    if BROWSER is None:
        print("skipped: no chromium or google-chrome was found")
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        page = Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else folder / "page.html"
        if len(sys.argv) <= 1:
            made(page)
        for what, x in measured(page, folder).items():
            line(f"{what}: median frame", x["median"], "16.7 (60 a second)", x["median"] < 17.5)
            line(f"{what}: worst frame", x["worst"], "below 33.4", x["worst"] < 33.5)
            line(f"{what}: frames that were late", x["late"], "at most 3", x["late"] <= 3, "")
            line(f"{what}: the page's own work, median", x["work"], "below 8", x["work"] < 8.0)


if __name__ == "__main__":
    main()
