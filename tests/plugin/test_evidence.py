"""Labels or posteriors as evidence: which is chosen, ties and rare classes, and what is best."""

import warnings
from itertools import product

import numpy as np
import pytest
from scipy.optimize import linprog

from setpoint import Goal, SearchLimits, evaluate, solve
from setpoint.counts import Evidence, folds_of, in_order, merged
from setpoint.plugin import MissedBoundsWarning, search_rule
from setpoint.search import InfeasibleError, StoppedError, StoppedWarning
from thinning import over

TIED = np.eye(3)[np.arange(30) % 3] * 0.7 + 0.1


@over("evidence", ["label", "soft", "auto"])
def test_tied_rows_and_a_class_without_any(evidence):
    goal = "macro_f1"
    found = solve(goal, TIED, np.arange(30) % 3, evidence=evidence).report
    assert found.objective.value == 1.0
    y = np.array([0, 1, 0, 0, 1, 0])
    report = solve(goal, TIED[:6], y, classes=[0, 1, 2], evidence=evidence).report
    if report.search.evidence == "label":
        # The best of all rules that decide the three distinct rows.
        best = max(
            evaluate(goal, y, np.array(rule)[np.arange(6) % 3], classes=[0, 1, 2]).objective.value
            for rule in product(range(3), repeat=3)
        )
        assert report.objective.value == pytest.approx(best, abs=1e-12)


@over("weighted", [False, True])
def test_folds_share_out_rows_of_each_kind(weighted):
    rng = np.random.default_rng(0)
    true = rng.choice(3, 200, p=[0.8, 0.15, 0.05])
    P = np.eye(3)[rng.integers(3, size=200)] * 0.7 + 0.1
    P[::4] = rng.dirichlet(np.ones(3), 50)
    weight = rng.integers(1, 3, 200).astype(float) if weighted else None
    rows = merged(in_order(Evidence.from_arrays((0, 1, 2), P, true, weight=weight)))
    held = np.array([rest.marginals.weights[0, :3] for _, rest in folds_of(rows)])
    for k, (most, _) in enumerate(folds_of(rows)):
        both = most.marginals.weights[0, :3] + held[k]
        np.testing.assert_allclose(both, rows.marginals.weights[0, :3], atol=1e-9)
    # A few rows more or less; one part of a row weighs less than four of these.
    assert np.ptp(held, axis=0).max() <= 8 * np.median(rows.rows.weight)


def modest(seed, sharpness=2.5):
    """Posteriors that are too modest: argmax reaches recalls of which they know nothing."""
    rng = np.random.default_rng(seed)
    y, Z = rng.choice(3, 600), rng.normal(size=(600, 3))
    Z[np.arange(600), y] += sharpness
    P = np.exp(Z)
    return P / P.sum(axis=1, keepdims=True), y


FLOOR = "maximize accuracy subject to recall.min() >= 0.9"


def test_what_labels_meet_is_not_refused_for_posteriors():
    P, y = modest(2)
    report = solve(FLOOR, P, y).report
    assert report.satisfied
    assert report.search.evidence == "label"
    with pytest.raises(InfeasibleError) as caught:
        solve(FLOOR, P, y, evidence="soft")
    message = str(caught.value)
    assert "by the posteriors, which differ from the labels by up to" in message
    assert "`calibrate='sigmoid'`" in message
    assert "`evidence='label'`" in message
    assert caught.value.reachable
    # What neither meets is refused for them too.
    P = np.random.default_rng(0).dirichlet(np.ones(3), 40)
    with pytest.raises(InfeasibleError, match=r"is 0\.581, at .* So it is by the posteriors"):
        solve("maximize recall.min() subject to accuracy >= 0.995", P, np.arange(40) % 3)


def test_missed_bounds_are_said(monkeypatch):
    P, y = modest(2)

    def searched(goal, evidence, options):
        if options.evidence == "label":
            raise InfeasibleError("none")
        return search_rule(Goal.parse("maximize accuracy"), evidence, options)

    monkeypatch.setattr("setpoint.plugin.solvers.searching.search_rule", searched)
    monkeypatch.setattr("setpoint.judging.choose_evidence", lambda *_: ("soft", "because"))
    with pytest.warns(MissedBoundsWarning, match="by labels the rule misses"):
        report = solve(FLOOR.replace("0.9", "0.99"), P, y).report
    assert any("`evidence='label'`" in w for w in report.warnings)


def test_a_limit_is_said_where_only_labels_lead_to_a_rule():
    P, y = modest(2)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        report = solve(FLOOR, P, y, limits=SearchLimits(calls=1)).report
    texts = [str(w.message) for w in caught if w.category is StoppedWarning]
    assert texts == ["stopped after 1 oracle calls: the best found so far is kept"]
    assert report.search.evidence == "label"
    assert "no rule by posteriors" in str(report)


def test_what_ended_early_returns_the_best_rule_known():
    P, y = modest(3)
    own = {"limits": SearchLimits(seconds=1e-9)}
    for evidence in ("soft", "label"):
        with pytest.warns(StoppedWarning, match="stopped after"):
            report = solve("accuracy", P, y, evidence=evidence, **own).report
        assert report.objective.value >= np.mean(P.argmax(axis=1) == y) - 1e-12
        assert any("stopped after" in w for w in report.warnings)
    with pytest.raises(StoppedError, match=r"allow more \(`limits`\).*`on_infeasible='nearest'`"):
        solve("maximize accuracy subject to recall.min() >= 0.999", P, y, **own)


EVEN = "maximize balanced_accuracy subject to recall.difference() <= 0.1"


@pytest.mark.filterwarnings("ignore")
@over("seed", [85, *range(4)])
def test_the_rows_given_are_decided_as_they_were_counted(seed):
    rng = np.random.default_rng(seed)
    P = np.round(rng.dirichlet(np.ones(3), 18), 1)
    P[:, 0] += 1 - P.sum(axis=1)
    P = np.clip(P, 0, 1)
    P /= P.sum(axis=1, keepdims=True)
    y = np.arange(18) % 3
    goal = f"{EVEN} and precision(label=1) >= 0.4" if seed == 85 else EVEN
    found = solve(goal, P, y, evidence="soft", randomized="auto")
    decided = found.rule.distribution(P)
    recalls = (decided * P).sum(axis=0) / P.sum(axis=0)
    assert recalls.mean() == pytest.approx(found.report.objective.posteriors, abs=1e-12)
    assert np.ptp(recalls) <= 0.1 + 1e-9
    counted = [decided[y == k, k].mean() for k in range(3)]
    assert np.mean(counted) == pytest.approx(found.report.objective.value, abs=1e-12)


@pytest.mark.filterwarnings("ignore")
@over("seed", [11, 21, 25])
@over("parts", [3, 10])
def test_tied_posteriors_in_single_precision(seed, parts):
    rng = np.random.default_rng(seed)
    y = np.arange(12) % 4
    P = (rng.multinomial(parts, np.ones(4) / 4, 12) / parts).astype(np.float32)
    goal = "maximize accuracy subject to precision(label=1) >= 0.5"
    options = {"evidence": "label", "randomized": False, "on_infeasible": "nearest"}
    found = solve(goal, P, y, **options)
    decided = found.rule.distribution(P)
    assert decided[np.arange(12), y].mean() == pytest.approx(found.report.objective.value)
    assert not any("renormalised" in note for note in found.report.warnings)


def largest_smallest_recall(P, weight):
    """Decide each row each class with some probability: every rule and draw is among these."""
    n_rows, n = P.shape
    held = weight @ P
    cost = np.zeros(n_rows * n + 1)
    cost[-1] = -1.0
    recall = np.zeros((n, n_rows * n + 1))
    recall[:, -1] = 1.0
    for k in range(n):
        recall[k, k : n_rows * n : n] = -weight * P[:, k] / held[k]
    decided = np.zeros((n_rows, n_rows * n + 1))
    for i in range(n_rows):
        decided[i, i * n : (i + 1) * n] = 1.0
    found = linprog(cost, recall, np.zeros(n), decided, np.ones(n_rows))
    return -found.fun


MANY = {"setpoint.plugin.problem._LARGE": 0, "setpoint.search.linear_program._LARGE": 0}
SHARED = {"setpoint.plugin.problem._MOST_COLUMNS": 200}


@over("n", [4, 12])
@over("as_if", [{}, MANY, SHARED])
def test_it_is_the_largest_of_all_decisions(monkeypatch, n, as_if):
    """Also as it is done for hundreds of classes, and where classes share blocks."""
    rng = np.random.default_rng(n)
    P = rng.dirichlet(np.full(n, 0.5), 40)
    y, weight = np.arange(40) % n, rng.integers(1, 4, 40)
    near = 1e-4 if as_if is SHARED else 1e-6
    options = {"evidence": "soft", "randomized": "auto", "limits": SearchLimits(tol=near)}
    with monkeypatch.context() as patch:
        for place, value in as_if.items():
            patch.setattr(place, value)
        found = solve("min_recall", P, y, sample_weight=weight, **options)
    reached, gap = found.report.objective.posteriors, found.report.certificate.gap
    best = largest_smallest_recall(P, weight)
    assert gap <= near
    assert best - near <= reached <= best + 1e-8
    assert reached + gap >= best - 1e-8
    decided = weight[:, None] * found.rule.distribution(P)
    assert ((decided * P).sum(0) / (weight @ P)).min() == pytest.approx(reached, abs=1e-9)
