"""What strangers saw on other machines and other engines (peers.md, eyes-python.md)."""

import os
import signal
from pathlib import Path
from runpy import run_path

import numpy as np
import pandas as pd
import pytest
from hypothesis import settings

from setpoint import solve

duckdb = pytest.importorskip("duckdb", reason="tables are counted by DuckDB here")


def test_four_groups_by_counts_as_in_memory():
    """peers.md, 9: with ``exact=True`` a gap was left where memory proves."""
    r = np.random.default_rng(0)
    group = np.repeat(np.arange(4), 2_000)  # a file in the order of its groups
    score = 1 / (1 + np.exp(-r.normal(size=len(group)) - 0.3 * group))
    label = (r.random(len(group)) < score ** (1 + 0.2 * group)).astype(int)
    table = pd.DataFrame({"score": score.round(6), "label": label, "region": group})
    goal = "maximize recall subject to precision >= 0.7 and recall.difference(region) <= 0.05"
    names = {"y": "label", "scores": "score", "sensitive_features": ["region"]}
    mine = solve(goal, table, **names).report
    theirs = solve(goal, duckdb.from_df(table), **names, exact=True).report
    assert theirs.status == mine.status == "optimal"
    assert theirs.certificate.gap == mine.certificate.gap <= 1e-4
    assert theirs.objective.value == mine.objective.value


@pytest.mark.skipif(os.name != "posix", reason="only there a job in the background ignores Ctrl-C")
def test_ctrl_c_reaches_tests_of_a_job_in_the_background():
    """Issue, item 10: `make test &` ignores SIGINT, and so did the tests of Ctrl-C."""
    profile = settings.get_current_profile_name()
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        run_path(str(Path(__file__).parents[1] / "conftest.py"))
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, before)
        settings.load_profile(profile)
