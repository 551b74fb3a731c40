"""How smooth the explorer is: frames while its bounds and its point are dragged.

A page with 65,536 cut-offs, four groups and three bounds, in headless Chromium; the pointer's
events come once a frame. Frames are late where other programs take the processor; the CPU time
of a frame does not depend on them. Every figure is printed beside its target. Run it alone:
``PYTHONPATH=src:tests python benchmarks/explore_frames.py``.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from browser import BROWSER, Tab

ROWS = 200_000
GOAL = (
    "maximize recall subject to precision >= 0.5 and predicted_rate <= 0.3 "
    'and recall.difference("region") <= 0.2'
)
FRAMES = 300

DRAGS = """
const frames = async (step) => {
  const next = () => new Promise(requestAnimationFrame);
  let last = await next();
  const between = [];
  for (let i = 0; i < COUNT; i += 1) {
    step((1 + Math.sin(i / 20)) / 2);
    const now = await next();
    between.push(now - last);
    last = now;
  }
  between.sort((x, y) => x - y);
  return {
    median: between[COUNT >> 1],
    worst: between[COUNT - 1],
    late: between.filter((x) => x > 25).length,
  };
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
        tab.call("Performance.enable", timeDomain="threadTicks")
        tab.open(path.as_uri(), "document.querySelector('.side')")
        tab.do(f"{DRAGS.replace('COUNT', str(FRAMES))}; null")
        found = {}

        def drag(what: str, script: str) -> None:
            before = busy(tab)
            found[what] = tab.do(f"frames({script})")
            found[what]["busy"] = 1000.0 * (busy(tab) - before) / FRAMES

        for i, what in enumerate(("precision", "share accepted", "gap")):
            slider = f"document.querySelectorAll('.bound input[type=range]')[{i}]"
            drag(f"bound {i + 1} ({what})", f"slide({slider})")
        drag("the point", "point(document.querySelector('svg.curve'))")
        tab.do("[...document.querySelectorAll('.ask button')][1].click()")
        slider = "document.querySelector('.bound input[type=range]')"
        drag("two goals, bound 1", f"slide({slider})")
        assert tab.console == [], tab.console
    finally:
        tab.close()
    return found


def busy(tab: Tab) -> float:
    """CPU seconds of the page's main thread: script, style, layout and paint."""
    metrics = tab.call("Performance.getMetrics")["metrics"]
    return float(next(x["value"] for x in metrics if x["name"] == "TaskDuration"))


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
            line(f"{what}: CPU of the main thread a frame", x["busy"], "below 8", x["busy"] < 8.0)


if __name__ == "__main__":
    main()
