"""Rules that look at values of rows: against oracles, and where a classifier finds them."""

import pickle
from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import linprog
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from oracles.values import Sample, goal_of, met
from setpoint import Goal, PlugInClassifier, StoppedWarning, frontier, solve
from setpoint.counts import Evidence
from setpoint.errors import GoalError
from setpoint.plugin import Options, search_rule
from setpoint.rules import Threshold, ValueAware
from setpoint.search import InfeasibleError
from thinning import over

pytestmark = pytest.mark.filterwarnings("ignore::setpoint.search.achievable.ConstantGoalWarning")
TOL = 1e-6


def searched(r, text, randomized):
    """What is found by posteriors and values, and who is accepted; None where nothing is."""
    goal = Goal.parse(text)
    by_group = ("g",) if "(g)" in text else ()
    rows = Evidence.from_arrays(
        *((0, 1), r.scores, r.y), needs=goal.needs, decide_on=by_group, **r.given
    )
    evidence = rows.with_values(goal.needs.measure_names)
    options = Options.of("auto", evidence="soft", randomized=randomized)
    try:
        found = search_rule(goal, evidence, options)
    except InfeasibleError:
        return None, None
    segments = evidence.rows.segment if found.rule.needs_segments else None
    return found, found.rule.distribution(evidence.scores, segments)[:, 1]


@over("seed", range(300), every=10)
def test_draws_reach_what_a_variable_a_row_does(seed):
    r = Sample(seed, 40)
    text, gains, rows = goal_of(r)
    A, b = [a for a, *_ in rows] or None, [b for _, b, _ in rows] or None
    lp = linprog(-gains, A_ub=A, b_ub=b, bounds=(0.0, 1.0))
    found, d = searched(r, text, randomized=True)
    if lp.status == 2:
        assert found is None
        return
    size = 1.0 + abs(lp.fun)
    assert met(rows, d, TOL)
    assert gains @ d >= -lp.fun - 1e-4 * size
    assert found.certificate.gap is not None
    assert gains @ d + found.certificate.gap >= -lp.fun - TOL * size
    if "tn=" not in text:  # there accepting nobody is worth something
        sense = 1.0 if text.startswith("maximize") else -1.0
        assert gains @ d == pytest.approx(sense * found.by_posteriors, abs=1e-9 * size)


@over("seed", range(300), every=10)
def test_the_gap_covers_all_subsets(seed):
    r = Sample(seed, 10)
    text, gains, rows = goal_of(r)
    every = np.array(list(product((0.0, 1.0), repeat=r.n)))
    kept = met(rows, every, 1e-9)
    found, d = searched(r, text, randomized=False)
    if found is None:
        assert not kept.any()
        return
    assert set(np.unique(d)) <= {0.0, 1.0}
    assert met(rows, d, TOL)
    assert found.certificate.gap is not None
    best = (every @ gains)[kept].max()
    assert best <= gains @ d + found.certificate.gap + TOL * (1.0 + abs(best))


GOAL = "maximize profit(tp=amount - 5, fp=-5) subject to predicted_rate <= 0.1"
N = 1200
RNG = np.random.default_rng(0)
X = pd.DataFrame(RNG.normal(size=(N, 2)), columns=["a", "b"])
X["amount"] = RNG.exponential(50.0, N)
CHANCE = 1 / (1 + np.exp(-(X["a"] + X["b"] - 1.5)))
Y = np.where(RNG.random(N) < CHANCE, "fraud", "ok")
AB, AMOUNT = X[["a", "b"]], {"amount": X["amount"]}


def classifier(goal=GOAL, model=None, **options):
    model = model or make_pipeline(StandardScaler(), LogisticRegression())
    return PlugInClassifier(model, goal, pos_label="fraud", **options)


@pytest.fixture(scope="module")
def fitted():
    return classifier().fit(X, Y)


@pytest.fixture(scope="module")
def by_score():
    return classifier(decide_on=None).fit(X, Y)


def test_a_column_of_X_is_looked_at(fitted):
    assert isinstance(fitted.rule_, ValueAware)
    assert fitted.rule_.value_columns == ("amount",)
    assert "probability times amount exceeds" in fitted.goal_report_.rule.text
    gain = fitted.estimator_.predict_proba(X)[:, 0] * X["amount"].to_numpy()
    taken = fitted.predict(X) == "fraud"
    assert gain[taken].min() > gain[~taken].max()
    paid = np.where(Y == "fraud", X["amount"] - 5, -5)
    assert fitted.evaluate(X, Y).objective.value == pytest.approx((paid * taken).mean())
    kept = fitted.decide_batch(X, at_most=30) == "fraud"
    assert kept.sum() == 30
    assert gain[kept].min() > gain[~kept].max()
    parts = np.concatenate([fitted.predict(X[:7]), fitted.predict(X[7:400])])
    assert (parts == fitted.predict(X[:400])).all()
    with pytest.raises(ValueError, match="amount"):
        fitted.predict(AB)


def test_columns_that_are_named(fitted):
    clf = classifier(decide_on="amount").fit(AB, Y, sensitive_features=AMOUNT)
    assert isinstance(clf.rule_, ValueAware)
    with pytest.raises(GoalError, match="the rule looks at the column 'amount', and neither"):
        clf.predict(AB)
    taken = clf.predict(AB, sensitive_features=AMOUNT) == "fraud"
    assert 0.05 < taken.mean() < 0.15
    clf = classifier(sensitive_features=["amount"]).fit(X, Y)
    assert clf.rule_ == fitted.rule_


def test_the_score_alone(by_score):
    """Where predict has no such column, scores are not probabilities, or values say nothing."""
    assert isinstance(by_score.rule_, Threshold)
    assert by_score.gap_ == 0.0
    never = classifier().fit(AB, Y, sensitive_features=AMOUNT)
    assert isinstance(never.rule_, Threshold)
    assert any("does not look at amount" in note for note in never.goal_report_.warnings)
    never.predict(AB)
    beyond = classifier(model=LinearSVC()).fit(X, Y)
    assert isinstance(beyond.rule_, Threshold)
    assert any("probabilities" in note for note in beyond.goal_report_.warnings)
    equal = classifier().fit(X.assign(amount=20.0), Y)
    assert isinstance(equal.rule_, Threshold)
    assert "by the score" in equal.goal_report_.search.why


def test_frontier_rises_and_adapt_keeps_the_bound(fitted):
    values = np.linspace(0.05, 0.4, 8)
    found = frontier(fitted, X=X, y=Y, values=values)
    assert (np.diff(found.values) >= -1e-9).all()
    assert frontier(fitted, values=values).values.shape == found.values.shape
    day = X.sample(500, random_state=1)
    adapted = pickle.loads(pickle.dumps(fitted)).adapt(day)
    assert (adapted.predict(day) == "fraud").mean() == pytest.approx(0.1, abs=0.002)


def solved(goal, rows, p, amount, **options):
    own = {"sensitive_features": {"amount": amount[rows]}, "pos_label": "fraud", **options}
    return solve(goal, p[rows], Y[rows], **own)


def test_weight_two_is_the_row_twice():
    p, amount = np.round(CHANCE.to_numpy(), 2), X["amount"].round(0).to_numpy()
    goal, rows, own = "maximize profit(tp=amount - 5, fp=-5)", np.arange(300), {"evidence": "soft"}
    w = 1.0 + (rows % 3 == 0)
    weighted = solved(goal, rows, p, amount, sample_weight=w, **own)
    twice = solved(goal, np.repeat(rows, w.astype(int)), p, amount, **own)
    assert weighted.rule == twice.rule
    assert weighted.report.objective.value == pytest.approx(twice.report.objective.value)


@over("size", [1e-3, 1e12])
def test_units_do_not_matter(size):
    def found(size):
        profit = f"maximize profit(tp=amount - {5 * size!r}, fp=-{5 * size!r})"
        amount = X["amount"].to_numpy() * size
        goal = f"{profit} subject to recall >= 0.2"
        return solved(goal, np.arange(N), CHANCE.to_numpy(), amount).report.objective

    one, other = found(size), found(1.0)
    for name in ("value", "low", "high"):
        assert getattr(one, name) == pytest.approx(size * getattr(other, name), rel=1e-3)


def test_ctrl_c_while_it_is_chosen_keeps_the_best_threshold(by_score, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("setpoint.plugin.solvers.searching.search_rule", interrupted)
    with pytest.warns(StoppedWarning, match="interrupted"):
        clf = classifier().fit(X, Y)
    assert clf.rule_ == by_score.rule_
    assert "as none was chosen by then" in clf.goal_report_.search.why
