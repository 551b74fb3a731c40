"""The way of one ``solve``, and of a certified fit: files, functions and changes of room.

Counted with ``sys.setprofile`` on a warm call (the goal's text is read by then), without
comprehensions and lambdas; each figure is printed beside that of the house before its redesign
and the target. ``--list`` names the functions in the order in which the first binary ``solve``
enters them.
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

BINARY = {"files": (59, 45), "functions": (463, 300), "changes of room": (394, 200)}
GROUPS = {"functions": (546, 330), "changes of room": (1071, 350)}
CERTIFIED = {"files": (72, 60), "objects of ours": (904, 300)}
"""What was counted before the redesign, and the target."""

_UNNAMED = {"<listcomp>", "<genexpr>", "<dictcomp>", "<setcomp>", "<lambda>"}


class Walk:
    """What a call touches of the package: every named function, in order."""

    def __init__(self) -> None:
        import setpoint

        self.root = str(Path(setpoint.__file__).parent)
        self.calls: Counter[tuple[str, str]] = Counter()
        self.objects = self.changes = 0
        self._rooms: list[str] = []

    def __call__(self, frame: FrameType, event: str, arg: Any) -> None:
        name, code = frame.f_code.co_filename, frame.f_code
        if event == "call" and code.co_name == "__init__":
            self.objects += _is_new(frame)
        if not name.startswith(self.root) or code.co_name in _UNNAMED:
            return
        file = name[len(self.root) + 1 :]
        if event == "call":
            room = file.partition("/")[0]
            self.calls[file, code.co_qualname] += 1
            self.changes += bool(self._rooms) and self._rooms[-1] != room
            self._rooms.append(room)
        elif event == "return" and self._rooms:
            self._rooms.pop()

    @property
    def figures(self) -> dict[str, int]:
        return {
            "files": len({file for file, _ in self.calls}),
            "functions": len(self.calls),
            "changes of room": self.changes,
            "objects of ours": self.objects,
        }


def _is_new(frame: FrameType) -> bool:
    """Whether an ``__init__`` is that of a new object of ours, and not one called by another."""
    made = frame.f_locals.get("self")
    before = frame.f_back
    again = before is not None and before.f_code.co_name == "__init__"
    again = again and before.f_locals.get("self") is made
    return type(made).__module__.startswith("setpoint") and not again


def walked(call: Callable[[], object]) -> Walk:
    for _ in range(8):  # kernels are compiled once they are called often
        call()
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


def show(title: str, walk: Walk, targets: dict[str, tuple[int, int]], listed: bool) -> bool:
    print(title)
    good = True
    for what, count in walk.figures.items():
        before, target = targets.get(what, (None, None))
        met = target is None or count <= target
        good &= met
        goal = "" if target is None else f"before {before:4d}   target at most {target}"
        print(f"{'ok  ' if met else 'MISS'}   {what:<18} {count:6d}   {goal}")
    if listed:
        for (file, function), n in walk.calls.items():
            print(f"   {n:5d}  {file:<32} {function}")
    return good


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--list", action="store_true", help="name the functions, in order")
    listed = parser.parse_args().list
    from sklearn.linear_model import LogisticRegression

    from setpoint import PlugInClassifier, solve

    scores, y, group = data()
    binary = walked(lambda: solve(GOAL, scores, y))
    good = show(f"solve({GOAL!r}), {len(y)} rows", binary, BINARY, listed)
    columns = {"g": group}
    grouped = walked(lambda: solve(GROUPED, scores, y, sensitive_features=columns))
    good &= show(f"solve({GROUPED!r}), {len(y)} rows", grouped, GROUPS, False)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 4))
    truth = (X[:, 0] + rng.normal(size=len(X)) > 0.5).astype(int)
    certified = PlugInClassifier(LogisticRegression(), GOAL, confidence=0.9)
    fit = walked(lambda: certified.fit(X, truth))
    good &= show(
        f"PlugInClassifier.fit({GOAL!r}, confidence=0.9), 2,000 rows", fit, CERTIFIED, False
    )
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
