"""Ladders over bands: what enumeration finds, from safe to bold."""

import numpy as np
import pytest

from setpoint import Goal
from setpoint.counts import DEFERRED, Column, Evidence, Rows
from setpoint.errors import InputError
from setpoint.guarantees import Promise, RuleTests
from setpoint.guarantees.paths import candidate_path, path_rules_of
from setpoint.program import link
from setpoint.rules import Band

GOAL = Goal.parse("minimize deferral_rate subject to accuracy.decided >= 0.8")


def laddered(scores, y):
    rows = Rows.from_arrays((0, 1, DEFERRED), y, len(y), needs=GOAL.needs)
    evidence = Evidence(rows, scores)
    tests = RuleTests(Promise.of(link(GOAL, rows.codebook), 0.95), rows.marginals)
    return evidence, tests, np.ones(12)


def test_the_rungs_are_those_of_all_bands():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 60)
    scores = np.round(rng.normal(1.5 * y, 1.0), 1)
    evidence, tests, times = laddered(scores, y)
    found = candidate_path(tests, evidence, times, near=Band(0.0, 1.0))
    cuts = [-np.inf, *np.unique(scores), np.inf]
    every = [Band(a, b) for a in cuts for b in cuts if a <= b]
    confusions = [evidence.confusion(rule) for rule in every]
    counts = np.stack([c.counts.ravel() for c in confusions], axis=1)
    margins = tests.margins(counts, confusions[0], times)
    scored = tests.scores(counts)
    expected = path_rules_of(margins, scored)
    assert [one.margin for one in found] == pytest.approx(margins[expected])
    assert [one.score for one in found] == pytest.approx(scored[expected])
    for one in found:
        assert (evidence.confusion(one.rule).counts.ravel() == one.counts).all()


def test_of_many_cut_offs_those_near_the_rule_are_tried():
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 3_000)
    scores = rng.normal(2.0 * y, 1.0)
    evidence, tests, times = laddered(scores, y)
    near = Band(*np.sort(scores)[[700, 2_200]])
    margins = tests.margins(
        evidence.confusion(near).counts.reshape(-1, 1), evidence.confusion(near), times
    )
    found = candidate_path(tests, evidence, times, near=near)
    as_safe = [one.score for one in found if one.margin >= margins[0] - 0.5]
    assert max(as_safe) >= tests.score(evidence.confusion(near)) - 0.02
    assert len(found) > 5


def test_bands_of_two_segments_are_too_many():
    goal = Goal.parse("minimize deferral_rate subject to accuracy.decided.min(g) >= 0.8")
    y, g = np.array([0, 1] * 10), np.array([0] * 10 + [1] * 10)
    rows = Rows.from_arrays(
        (0, 1, DEFERRED), y, 20, needs=goal.needs, columns={"g": Column(g)}, decide_on=("g",)
    )
    evidence = Evidence(rows, y + 0.1)
    tests = RuleTests(Promise.of(link(goal, rows.codebook), 0.95), rows.marginals)
    with pytest.raises(InputError, match="bands of 2 segments"):
        candidate_path(tests, evidence, np.ones(24), near=Band(0.0, 1.0))
