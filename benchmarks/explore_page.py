"""The explorer's page of 1,000,000 rows: its size, the time to make it, and the time of a choice.

``python benchmarks/explore_page.py``. Four groups, three constraints, with a share of the rows held
out and without; made scores without ties. CPU seconds of the process, on one thread. Choices are
timed in node, each as the best of three: a drag of a bound is one choice.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from setpoint import explore

ROWS = 1_000_000
GOAL = (
    "maximize recall subject to precision >= 0.6 and predicted_rate.difference(group) <= 0.2 "
    "and predicted_rate <= 0.3"
)
BYTES, SECONDS, CHOICE = 2_000_000, 10.0, 3.0


def rows(n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Scores, labels and groups."""
    rng = np.random.default_rng(0)
    group = rng.integers(0, 4, n)
    x = 1.6 * (rng.normal(size=n) + 0.2 * group) - 3.0
    y = (rng.random(n) < 1.0 / (1.0 + np.exp(-x))).astype(int)
    return 1.0 / (1.0 + np.exp(-x - 0.3 * rng.normal(size=n))), y, np.array(list("abcd"))[group]


def figure(what: str, target: str, found: str, fine: bool) -> bool:
    print(f"{what:<58} {target:>12} {found:>12}  {'yes' if fine else 'NO'}")
    return fine


def main() -> int:
    scores, y, group = rows(ROWS)
    explore(GOAL, scores[:2000], y[:2000], sensitive_features={"group": group[:2000]})
    print(f"{'figure':<58} {'target':>12} {'found':>12}  met")
    good = True
    for check in (None, 0.3):
        start = time.process_time()
        page = explore(GOAL, scores, y, sensitive_features={"group": group}, check=check)
        text = page.html
        seconds = time.process_time() - start
        held = "no rows held out" if check is None else f"{check:.0%} held out"
        bins, size = page.payload["rows"]["bins"], len(text.encode())
        what = f"{ROWS:,} rows, {bins:,} bins, {held}"
        good &= figure(f"{what}: bytes", f"< {BYTES:,}", f"{size:,}", size < BYTES)
        quick = seconds < SECONDS
        good &= figure(f"{what}: CPU seconds", f"< {SECONDS:g}", f"{seconds:.1f}", quick)
        good &= choices(page.payload, held)
    return 0 if good else 1


def choices(payload: dict, held: str) -> bool:
    """Milliseconds of a choice in node."""
    node = shutil.which("node")
    if node is None:
        print("node is not installed: no choice is timed")
        return True
    script = Path(__file__).with_name("explore_choose.mjs")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "payload.json"
        path.write_text(json.dumps(payload))
        done = subprocess.run([node, str(script), str(path)], capture_output=True, check=True)
    ms = json.loads(done.stdout)
    print(f"     loading {ms['loading']:.0f} ms, the slowest choice {ms['worst']:.0f} ms")
    good = True
    for name, words in (("median", "median"), ("slow", "99 of 100 are quicker")):
        what = f"a choice, {words}, {held}: ms"
        good &= figure(what, f"< {CHOICE:g}", f"{ms[name]:.2f}", ms[name] < CHOICE)
    return good


if __name__ == "__main__":
    sys.exit(main())
