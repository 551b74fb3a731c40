"""Print which share of the branches the tests run, room by room.

Usage: ``python tools/covered.py FILE``, a report by ``coverage json``. Exits with 1 if a room of
mathematics is below 95 %.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path

ROOMS = ("goals", "program", "counts", "search", "rules", "inference", "guarantees")
FLOOR = 0.95


def branches(report: Path) -> tuple[Counter[str], Counter[str]]:
    """The branches of each room that are run, and all of them."""
    run: Counter[str] = Counter()
    whole: Counter[str] = Counter()
    for file, found in json.loads(report.read_text("utf-8"))["files"].items():
        room = Path(file.partition("setpoint/")[2]).parts[0]
        run[room] += found["summary"]["covered_branches"]
        whole[room] += found["summary"]["num_branches"]
    return run, whole


def main(report: Path) -> int:
    """Print the shares; the exit code."""
    run, whole = branches(report)
    low = [room for room in ROOMS if run[room] < FLOOR * whole[room]]
    for room in [*ROOMS, *sorted(whole.keys() - set(ROOMS))]:
        if whole[room]:
            print(f"{room:16}{run[room]:6,} of {whole[room]:6,}{run[room] / whole[room]:8.1%}")
    run_all, all_of_them = (sum(each[room] for room in ROOMS) for each in (run, whole))
    print(f"{'mathematics':16}{run_all:6,} of {all_of_them:6,}{run_all / all_of_them:8.1%}")
    for room in low:
        print(f"{room}: less than {FLOOR:.0%}")
    return 1 if low else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
