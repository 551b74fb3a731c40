"""Thresholds that differences or ratios couple: a sweep over their levels against all of them."""

import numpy as np
import pytest

from search.samples import drawn
from setpoint import solve
from setpoint.search.binary import levels
from setpoint.search.binary.deterministic import enumerate_cutoffs
from setpoint.search.binary.levels import solve_by_levels
from thinning import over

GOALS = (
    "maximize accuracy subject to predicted_rate.difference(g) <= 0.1",
    "maximize accuracy subject to predicted_rate.difference(g) <= 0",
    "maximize balanced_accuracy subject to recall.difference(g) <= 0.3 and precision.min(g) >= 0.3",
    "maximize f1 subject to predicted_rate.difference(g) <= 0.05",
    "maximize f1.min(g) subject to predicted_rate.difference(g) <= 0.1",
    "minimize predicted_rate subject to recall.min(g) >= 0.6 and precision.difference(g) <= 0.2",
    "maximize recall subject to predicted_rate.ratio(g) >= 0.8 and precision.min(g) >= 0.4",
    "maximize f1.mean(g) subject to accuracy.difference(g) <= 0.02",
    "maximize precision",
    "maximize jaccard subject to recall.ratio(g) >= 0.9",
    "minimize predicted_rate subject to predicted_rate.ratio(g) >= 0.5 and recall.min(g) >= 0.3",
    "maximize specificity subject to f1.difference(g) <= 0.02",
    "minimize f1 subject to predicted_rate.difference(g) <= 0.3 and predicted_rate.min(g) >= 0.2",
    "maximize precision subject to recall.difference(g) <= 0.1 and recall.max(g) <= 0.6",
    "maximize accuracy subject to recall.difference(g) <= 0.1 "
    "and false_positive_rate.difference(g) <= 0.1",
    "maximize f1 subject to specificity.difference(g) <= 0.2 and recall.difference(g) <= 0.2",
    "maximize precision subject to predicted_rate.ratio(g) >= 0.6 and recall.difference(g) <= 0.2",
    "maximize f1.min(g) subject to maximum(recall.difference(g), fnr.difference(g)) <= 0.15 "
    "and fpr.ratio(g) >= 0.3",
)


@over("block", [2, 256])
@over("text", GOALS)
@over("seeds", [range(5), range(5, 40)], every=2)
def test_the_best_of_all_combinations(monkeypatch, block, text, seeds):
    monkeypatch.setattr(levels, "_ONE", (block, 1))
    monkeypatch.setattr(levels, "_SEVERAL", (block, 1) if block > 2 else (8, 2, 1))
    for seed in seeds:
        for groups in (2, 3):
            cuts, program = drawn(text, seed, groups, 48 if groups == 2 else 36)
            found = solve_by_levels(cuts, program, (None, 0.2, 0.9)[seed % 3])
            best = enumerate_cutoffs(cuts, program)
            assert found.status == "optimal"
            assert found.is_feasible == best.is_feasible
            if best.is_feasible:
                assert found.value == pytest.approx(best.value, abs=1e-12)
                assert found.violation <= 1e-9
                assert not found.is_drawn


@over(
    "text",
    [
        "maximize accuracy subject to recall.difference(g) <= 0.1 and predicted_rate <= 0.3",
        "maximize recall subject to recall.difference(g) <= 0.1 and accuracy.difference(g) <= 0.1",
        "maximize accuracy subject to recall.deviation(g) <= 0.1",
        "maximize g_mean subject to recall.difference(g) <= 0.1",
        "maximize accuracy subject to predicted_rate.difference(g) >= 0.1",
    ],
)
def test_what_couples_segments_otherwise_is_left_to_others(text):
    assert solve_by_levels(*drawn(text, 0, 3, 36)) is None


def test_what_two_differences_leave_open_is_left_to_others_beyond_some_boxes(monkeypatch):
    monkeypatch.setattr(levels, "_MOST", 10)
    assert solve_by_levels(*drawn(GOALS[-4], 0, 3, 36)) is None


@pytest.mark.filterwarnings("ignore::setpoint.FewRowsWarning")
@over("groups", [2, 16])
def test_equalized_odds_over_many_groups_is_proved(groups):
    rng = np.random.default_rng(0)
    group = rng.integers(0, groups, 4000)
    y = (rng.random(4000) < 0.25 + 0.4 * group / groups).astype(int)
    scores = rng.normal(size=4000) + 2.0 * y + 0.3 * group / groups
    goal = "maximize accuracy subject to recall.difference(g) <= 0.05 and fpr.difference(g) <= 0.05"
    report = solve(goal, scores, y, sensitive_features={"g": group}).report
    assert (report.status, report.certificate.gap) == ("optimal", 0.0)
    assert all(c.satisfied for c in report.constraints)


@over("level", [0.0, 0.01, 0.05])
def test_two_groups_by_all_pairs_of_counts(level):
    rng = np.random.default_rng(int(1000 * level))
    n = 1600
    group = np.sort(np.arange(n) % 2)
    y = (rng.random(n) < np.where(group == 1, 0.5, 0.2)).astype(int)
    scores = rng.normal(size=n) + 1.2 * y + group
    right, share = [], []
    for g in (0, 1):
        t = y[group == g][np.argsort(-scores[group == g])]
        right.append(np.append(0, np.cumsum(2 * t - 1)) + (1 - t).sum())
        share.append(np.arange(len(t) + 1) / len(t))
    hits = right[0][:, None] + right[1]
    met = np.abs(share[0][:, None] - share[1]) <= level + 1e-9
    goal = f"maximize accuracy subject to predicted_rate.difference(g) <= {level}"
    report = solve(goal, scores, y, sensitive_features={"g": group}).report
    assert report.objective.value == pytest.approx(hits[met].max() / n, abs=1e-12)
    assert (report.status, report.certificate.gap) == ("optimal", 0.0)


def test_a_difference_of_precision_between_many_cutoffs_has_an_answer():
    """No linear program takes it, and there are too many combinations to try."""
    rng = np.random.default_rng(0)
    y, group = rng.integers(0, 2, 3000), rng.integers(0, 3, 3000)
    scores = rng.normal(size=3000) + y * (1 + group)
    goal = "maximize recall subject to precision.difference(g) <= 0.05 and precision.min(g) >= 0.8"
    report = solve(goal, scores, y, sensitive_features={"g": group}).report
    assert report.status == "optimal"
    assert all(c.satisfied for c in report.constraints)
