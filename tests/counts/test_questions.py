"""Rows stay where they are: whoever needs them asks for sums."""

import re
from pathlib import Path

import setpoint

SOURCE = Path(setpoint.__file__).parent
READS = re.compile(
    r"\b(?:rows|train)\.(true|weight|stratum|segment|kind)\b|\b(evidence|counted|scored|found\.rows)\.scores\b"
)
# Models are trained on rows, black boxes called with them, a rule of posteriors rewritten on them.
READERS = {
    "blackbox/binding.py",
    # Rows that certify are split off, and named by what they hold.
    "guarantees/certifying.py",
    "classifiers/linear_rule.py",
    # Rows that are watched one by one.
    "classifiers/monitoring.py",
    "plugin/fit/fitting.py",
    # Rows that judge a candidate are split off likewise.
    "judging/judge.py",
    # Which of some equally good rules departs from the argmax least.
    "plugin/solvers/searching.py",
    "plugin/fit/crossfit.py",
    "plugin/selection.py",
    "ramp/classifier.py",
    "ramp/selection.py",
}
ROOMS = (
    "blackbox", "classifiers", "guarantees", "judging", "plugin", "program", "ramp", "report",
    "search",
)  # fmt: skip


def test_no_search_reads_rows():
    found = {
        path.relative_to(SOURCE).as_posix()
        for room in ROOMS
        for path in (SOURCE / room).rglob("*.py")
        if READS.search(path.read_text(encoding="utf-8"))
    }
    assert found == READERS
