"""The way of one binary ``solve``: files, functions, changes of room, and what is done twice.

Counted with ``sys.setprofile`` on a warm second call; each figure is printed beside that of
the house before its redesign and the target. ``--list`` names the functions, file by file.
Run it alone: ``python benchmarks/one_solve.py [--list]``.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

warnings.simplefilter("ignore")

GOAL = "maximize recall subject to precision >= 0.6"
GROUPED = "maximize recall subject to precision >= 0.6 and recall.difference(g) <= 0.1"

BEFORE = {
    "files": 62,
    "functions": 467,
    "changes of room": 594,
}
TARGET = {"files": 35, "functions": 250, "changes of room": 250}
GROUPED_TARGET = {"functions": 300}


class Walk:
    """What a call touches of the package: every Python function, in order."""

    def __init__(self) -> None:
        import setpoint

        self.root = str(Path(setpoint.__file__).parent)
        self.calls: Counter[tuple[str, str]] = Counter()
        self.rooms: list[str] = []

    def __call__(self, frame: FrameType, event: str, arg: Any) -> None:
        name = frame.f_code.co_filename
        if not name.startswith(self.root):
            return
        parts = name[len(self.root) + 1 :].split("/")
        room = parts[0]
        if event == "call":
            self.calls["/".join(parts), frame.f_code.co_qualname] += 1
        if event in ("call", "return") and (not self.rooms or self.rooms[-1] != room):
            self.rooms.append(room)

    @property
    def figures(self) -> dict[str, int]:
        return {
            "files": len({file for file, _ in self.calls}),
            "functions": len(self.calls),
            "changes of room": max(len(self.rooms) - 1, 0),
            "calls": sum(self.calls.values()),
        }

    def times(self, *names: str) -> int:
        return sum(n for (_, function), n in self.calls.items() if function in names)


def walked(call: Callable[[], object]) -> Walk:
    from setpoint.goals.goal import _parsed

    call()
    call()
    _parsed.cache_clear()  # a goal is read once a process: count that time
    walk = Walk()
    sys.setprofile(walk)
    try:
        call()
    finally:
        sys.setprofile(None)
    return walk


def data(n: int = 400) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    y = (rng.random(n) < 0.3).astype(int)
    scores = np.round(rng.normal(1.5 * y, 1.0), 6)
    return scores, y, np.where(rng.random(n) < 0.4, "a", "b")


def show(title: str, walk: Walk, targets: dict[str, int], listed: bool) -> bool:
    print(title)
    good = True
    for what, count in walk.figures.items():
        before = f"before {BEFORE[what]:4d}" if what in BEFORE and targets is TARGET else ""
        target = targets.get(what)
        met = target is None or count <= target
        good &= met
        goal = "" if target is None else f"target at most {target}"
        print(f"{'ok  ' if met else 'MISS'}   {what:<20} {count:6d}   {before:<12} {goal}")
    for what, names in (
        ("parsed", ("parse_goal",)),
        ("linked", ("link",)),
        ("requirements collected", ("requirements_of",)),
        ("columns factorised", ("factorize",)),
    ):
        print(f"       {what:<22} {walk.times(*names):4d} times")
    if listed:
        last = ""
        for (file, function), n in sorted(walk.calls.items()):
            if file != last:
                print(f"   {file}")
                last = file
            print(f"      {n:5d}  {function}")
    return good


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--list", action="store_true", help="name the functions, file by file")
    listed = parser.parse_args().list
    from setpoint import solve

    scores, y, group = data()
    good = show(
        f"solve({GOAL!r}), {len(y)} rows", walked(lambda: solve(GOAL, scores, y)), TARGET, listed
    )
    columns = {"g": group}
    good &= show(
        f"solve({GROUPED!r}), {len(y)} rows",
        walked(lambda: solve(GROUPED, scores, y, sensitive_features=columns)),
        GROUPED_TARGET,
        listed,
    )
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
