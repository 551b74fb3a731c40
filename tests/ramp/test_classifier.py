"""What fit promises: reports that are counts, bounds that hold, data sets, weights, ends."""

import itertools
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from oracles.ramp import RATES, Rowset, churn, error, losses, slack, wins
from ramp.samples import COVERAGE, FAIR, dataset, ramp, sample
from setpoint import (
    ConstantGoalWarning,
    Dataset,
    FewRowsWarning,
    Goal,
    GoalError,
    InfeasibleError,
    SearchLimits,
    StoppedWarning,
    frontier,
)
from setpoint.classifiers import open_fit
from setpoint.errors import InputError
from setpoint.ramp import problem
from setpoint.ramp.solvers import augmented_lagrangian as lagrangian
from thinning import over

pytestmark = pytest.mark.filterwarnings("ignore::setpoint.FewRowsWarning")

S, HARD, NEW = sample(), sample(600, seed=1), sample(500, seed=2)
N = len(S.y)
CHURN = "minimize error_rate subject to churn <= 0.08 and recall >= recall.baseline() - 0.01"
AUDIT = "minimize error_rate subject to recall.on('hard') >= 0.95 and specificity.on('hard') >= 0.6"
ON_HARD = "minimize error_rate subject to recall.on('hard') >= 0.95"


GOALS = [
    COVERAGE,
    FAIR,
    "minimize error_rate subject to predicted_rate.ratio(g) >= 0.9",
    "minimize error_rate subject to recall.on(g='b') >= 0.95 * recall.on(g='a')",
    CHURN,
    "minimize error_rate subject to churn.on('fresh') <= 0.08",
    AUDIT,
    "maximize recall subject to precision >= 0.85",
    "maximize f1 subject to predicted_rate.on('fresh') <= 0.35",
    "maximize specificity subject to f1 >= 0.7",
    "maximize accuracy subject to win_loss_ratio >= 2",
    "maximize accuracy subject to win_change_ratio >= 0.7",
    "minimize error_rate + 0.2 * churn + false_negative_rate.on('hard')",
    "maximize g_mean subject to predicted_rate.on('fresh', g='a') <= 0.5",
]
OBJECTIVES = RATES | {
    "accuracy": lambda D: 1 - error(D[None]),
    "g_mean": lambda D: np.sqrt(D[None].sp(true=1) * D[None].sn(true=0)),
    "error_rate + 0.2 * churn + false_negative_rate.on('hard')": lambda D: (
        error(D[None]) + 0.2 * churn(D[None]) + D["hard"].sn(true=1)
    ),
}


def counted(goal, D):
    """Objective and slacks by hand."""
    objective, _, bounds = goal.partition(" ")[2].partition(" subject to ")
    return OBJECTIVES[objective](D), [slack(text, D) for text in bounds.split(" and ") if text]


SETS = {"hard": dataset(HARD), "fresh": dataset(NEW, labels=False)}


def fitted(goal, **options):
    sets = {name: SETS[name] for name in Goal.parse(goal).needs.datasets}
    given = {"sensitive_features": {"g": S.g}, "baseline": S.old, "datasets": sets}
    return ramp(goal, **options).fit(S.X, S.y, **given)


def decided(clf, rows=S, labelled=True):
    """Rows with the share of each that is accepted."""
    p = clf.decision_distribution(rows.X)[:, 1]
    return Rowset(rows.X, rows.y if labelled else None, np.ones(len(rows.y)), rows.g, rows.old, p)


# ---------------------------------------------------------------------- reports
@over("goal,randomized", itertools.product(GOALS, [False, True]), every=5)
def test_reports_are_counts(goal, randomized):
    clf = fitted(goal, randomized=randomized)
    report, names = clf.goal_report_, Goal.parse(goal).needs.datasets
    D = {None: decided(clf), "hard": decided(clf, HARD), "fresh": decided(clf, NEW, False)}
    objective, by_hand = counted(goal, D)
    assert report.objective.value == pytest.approx(objective, abs=1e-12)
    assert [c.slack for c in report.constraints] == pytest.approx(by_hand, abs=1e-12)
    assert min(by_hand, default=0.0) >= -1e-9
    assert report.satisfied
    assert report.search.family == "ramp"
    assert report.counts.n_rows == N + sum(len(D[name].p) for name in names)
    assert set(clf.multipliers_) == {str(c) for c in Goal.parse(goal).constraints}
    assert [t.call for t in clf.trace_] == sorted({t.call for t in clf.trace_})
    p, z = D[None].p, clf.decision_function(S.X)
    found = clf.predict(S.X)
    if randomized:
        np.testing.assert_allclose(p, np.clip(z + 0.5, 0.0, 1.0), atol=1e-15)
        every = np.concatenate([p, *(D[name].p for name in names)])
        assert report.rule.drawn == pytest.approx(np.mean((every > 0) & (every < 1)), abs=1e-12)
        assert report.rule.drawn > 0.02
        assert np.array_equal(found, clf.predict(S.X))
        assert not found[p == 0].any()
        assert found[p == 1].all()
        assert abs(found.mean() - p.mean()) < 0.03
    else:
        assert np.array_equal(found, p)
        assert np.array_equal(found == 1, z >= 0)
        assert report.rule.drawn == 0.0
    assert clf.threshold_ == 0.0 or report.status == "feasible"


def test_new_rows_are_counted_and_compared_with_the_deployed_model():
    for randomized in (False, True):
        clf = fitted(AUDIT, randomized=randomized)
        fresh, hard = sample(700, seed=5), sample(300, seed=6)
        report = clf.evaluate(fresh.X, fresh.y, datasets={"hard": (hard.X, hard.y)})
        D = {None: decided(clf, fresh), "hard": decided(clf, hard)}
        objective, slacks = counted(AUDIT, D)
        assert report.objective.value == pytest.approx(objective, abs=1e-12)
        assert [c.slack for c in report.constraints] == pytest.approx(slacks, abs=1e-12)
        assert report.satisfied == (min(slacks) >= -1e-9)
    clf = fitted(CHURN)
    found = clf.evaluate(fresh.X, fresh.y, baseline=fresh.old).deployed
    D = decided(clf, fresh)
    by_hand = churn(D), wins(D), losses(D)
    assert (found.changed, found.wins, found.losses) == pytest.approx(by_hand, abs=1e-12)


def test_bounds_cost_something_and_no_more_than_needed():
    free = ramp("minimize error_rate").fit(S.X, S.y)
    logistic = LogisticRegression().fit(S.X, S.y)
    assert np.mean(free.predict(S.X) != S.y) <= np.mean(logistic.predict(S.X) != S.y) + 0.005
    assert free.multipliers_ == {}
    bound = ramp(COVERAGE).fit(S.X, S.y)
    assert 0.29 <= bound.goal_report_.constraints[0].value <= 0.3
    (price,) = bound.multipliers_.values()
    assert price > 0.01
    # A cut-off on the free model's scores is what has to be beaten.
    z = free.decision_function(S.X)
    shifted = np.mean((z >= np.sort(z)[-int(0.3 * N)]) != S.y)
    assert bound.goal_report_.objective.value <= shifted + 0.005
    assert frontier(bound).at(0.3) <= bound.goal_report_.objective.value + 1e-12
    small = ramp(COVERAGE, C=0.01).fit(S.X, S.y)
    assert np.linalg.norm(small.coef_) < np.linalg.norm(bound.coef_)


# ---------------------------------------------------------------------- data sets
def test_columns_are_matched_by_name_and_may_be_groups_and_decisions():
    goal = ON_HARD.replace("0.95", "0.8")
    goal += " and predicted_rate.difference(g) <= 0.05 and churn <= 0.2"
    goal += " and recall.on('hard', g='b') >= 0.6"
    main = pd.DataFrame({**dict(S.frame), "g": S.g, "old": S.old})
    hard = {**dict(HARD.frame), "g": HARD.g}  # whose decisions the goal does not ask for
    turned = {"hard": (pd.DataFrame({name: hard[name] for name in "gdbca"}), HARD.y)}
    features = make_column_transformer((StandardScaler(), list("abcd")))
    options = {"sensitive_features": "g", "baseline": "old", "preprocessor": features}
    clf = ramp(goal, **options).fit(main, S.y, datasets=turned)
    twin = fitted(goal)
    np.testing.assert_allclose(clf.coef_, twin.coef_, rtol=1e-4)
    assert clf.goal_report_.satisfied
    again = clf.evaluate(main, S.y, datasets=turned)
    found = [c.value for c in again.constraints]
    assert found == pytest.approx([c.value for c in clf.goal_report_.constraints], abs=1e-12)
    with pytest.raises(InputError, match=r"`datasets\['hard'\]` has no column 'd'"):
        clf.evaluate(main, S.y, datasets={"hard": (turned["hard"][0][list("gbca")], HARD.y)})


def test_few_rows_behind_a_bound_are_warned_of():
    """Rows of weight zero are none."""
    many, small = sample(3000, seed=4), sample(60, seed=3)
    goal = "minimize error_rate subject to recall.on('hard') >= 0.6"
    hard = Dataset(many.X[:400], many.y[:400], sample_weight=1.0 * (np.arange(400) > 100))
    with pytest.warns() as shown:
        ramp(goal).fit(many.X, many.y, datasets={"hard": hard, "more": many.X})
    words = [str(w.message) for w in shown]
    assert any("the goal does not refer to 'more'; it is left out" in w for w in words)
    assert any("the data set 'hard' has 299 rows: with fewer than 300" in w for w in words)
    with pytest.warns(FewRowsWarning, match=r'recall.on\("hard"\) >= 0.6: measured on few rows'):
        clf = ramp(goal).fit(many.X, many.y, datasets={"hard": (small.X, small.y)})
    assert clf.goal_report_.constraints[0].few_rows


# ---------------------------------------------------------------------- weights and labels
# ---------------------------------------------------------------------- features
def test_sparse_rows_are_dense_ones():
    form = sparse.csr_array
    X, more = (np.where(np.abs(A) > 0.7, A, 0.0) for A in (S.X, HARD.X))

    def found(X, more, **options):
        return ramp(ON_HARD, **options).fit(X, S.y, datasets={"hard": (more, HARD.y)})

    dense, mixed = (found(A, more, preprocessor=None) for A in (X, form(X)))
    np.testing.assert_allclose(mixed.coef_, dense.coef_, rtol=1e-4)
    far, scaled = np.vstack([X, 100.0 * X[:5]]), found(X, more)  # beyond 10 deviations
    both = scaled.decision_function(far), scaled.decision_function(form(far))
    np.testing.assert_allclose(*both, atol=1e-12)


# ---------------------------------------------------------------------- ends
NOISE = np.random.default_rng(0).normal(size=(800, 3))


@over("randomized", [False, True])
def test_infeasible_goals_name_what_pulls(randomized):
    y = (np.random.default_rng(1).random(800) < 0.3).astype(int)
    goal = "maximize accuracy subject to recall >= 0.99 and precision >= 0.9"
    with pytest.raises(InfeasibleError, match="does not say that no model can") as hopeless:
        ramp(goal, randomized=randomized).fit(NOISE, y)
    assert set(hopeless.value.blame) == {"recall >= 0.99", "precision >= 0.9"}
    assert hopeless.value.violation > 0.01
    near = ramp(goal, randomized=randomized, on_infeasible="nearest").fit(NOISE, y)
    report = near.goal_report_
    assert report.status == "nearest"
    assert not report.satisfied
    assert set(report.search.blame) == set(hopeless.value.blame)
    violation = max(-c.slack for c in report.constraints)
    assert violation == pytest.approx(hopeless.value.violation, abs=1e-9)


@over("randomized", [False, True])
def test_nearest_never_raises(randomized):
    """Not where a goal is met on fewer rows than min_positives asks for, either."""
    rng = np.random.default_rng(3)
    noise = rng.normal(size=(400, 2))
    y = (rng.random(400) < 0.2).astype(int)
    goal = "maximize recall subject to precision >= 0.7"
    words = r"`min_positives` allows that|[Nn]o linear model was found"
    with pytest.raises(InfeasibleError, match=words):
        ramp(goal, randomized=randomized).fit(noise, y)
    near = ramp(goal, randomized=randomized, on_infeasible="nearest").fit(noise, y)
    assert near.goal_report_.status == "nearest"
    accepted = near.decision_distribution(noise)[:, 1]
    by_hand = accepted[y == 1].sum() / accepted.sum()
    assert near.goal_report_.constraints[0].value == pytest.approx(by_hand, abs=1e-12)


def test_the_cut_off_moves_by_the_least_that_is_needed(monkeypatch):
    real = lagrangian.AugmentedLagrangian.solved

    def off(self):
        best = real(self).best
        w = best.w.copy()
        w[-1] += 0.4
        self.kept = lagrangian.Iterate(w, best.loss, best.excess)
        return self

    monkeypatch.setattr(lagrangian.AugmentedLagrangian, "solved", off)
    clf = ramp(COVERAGE).fit(S.X, S.y)
    assert clf.threshold_ > 0
    assert (clf.goal_report_.satisfied, clf.goal_report_.status) == (True, "feasible")
    assert "the cut-off moved" in clf.goal_report_.search.why
    z = clf.decision_function(S.X)
    accepted = int(clf.predict(S.X).sum())
    assert accepted == (z >= 0).sum() == int(0.3 * N)  # one row more would be too many
    above = clf.preprocessor_.transform(S.X) @ clf.coef_[0] + clf.intercept_[0]
    np.testing.assert_allclose(z + clf.threshold_, above)


@over(
    "goal,options,least",
    [
        ("maximize specificity subject to precision >= 0.8", {"min_positives": 400}, 400),
        ("maximize recall subject to precision >= 0.8", {"min_positives": 0}, 1),
        # Precision of nobody counts 0, and a moment before it was the best.
        ("maximize precision", {}, 14),  # 2 % of the positives
        ("maximize precision", {"randomized": True}, 14),
    ],
)
def test_precision_has_a_denominator(goal, options, least):
    clf = ramp(goal, **options).fit(S.X, S.y)
    assert clf.goal_report_.objective.value > (0.8 if goal == "maximize precision" else 0.0)
    assert decided(clf).p.sum() >= least - 1e-6


def test_all_negative_is_never_silent():
    rare = (np.random.default_rng(0).random(800) < 0.1).astype(int)
    with pytest.warns(ConstantGoalWarning, match="predicts 0 for everyone"):
        clf = ramp("minimize error_rate").fit(NOISE, rare)
    assert not clf.predict(NOISE).any()


@over("passes", [0, 45])
def test_time_is_up(monkeypatch, passes):
    ticks = itertools.count(0.0, 1.0)
    clock = SimpleNamespace(perf_counter=lambda: next(ticks))
    monkeypatch.setattr("setpoint.search.limits.time", clock)
    limit = passes + 0.5
    with pytest.warns(StoppedWarning, match=f"^stopped after {limit} seconds: the best found so"):
        clf = ramp(COVERAGE, limits=SearchLimits(seconds=limit)).fit(S.X, S.y)
    assert any(f"stopped after {limit} seconds" in w for w in clf.goal_report_.warnings)
    assert clf.goal_report_.satisfied
    assert (len(clf.trace_) > 1) == (passes > 0)  # the start is recorded where nothing else is
    strict = ramp("minimize error_rate subject to predicted_rate <= 0.05", randomized=True)
    words = r"^Stopped after 0.5 seconds: no linear model .*predicted_rate <= 0.05"
    with pytest.warns(StoppedWarning), pytest.raises(InfeasibleError, match=words):
        strict.set_params(limits=SearchLimits(seconds=0.5)).fit(S.X, S.y)


def test_interrupted(monkeypatch):
    calls, plain = itertools.count(200), problem._scores
    goal = "minimize error_rate subject to predicted_rate.difference(g) <= 0.01 and recall >= 0.8"

    def interrupted(X, w):
        if next(calls) == 200:
            raise KeyboardInterrupt
        return plain(X, w)

    monkeypatch.setattr(lagrangian, "_COMPLEMENTARY", -1.0)  # it goes on for all rounds
    monkeypatch.setattr(problem, "_scores", interrupted)
    with pytest.raises(KeyboardInterrupt):  # before there is anything
        ramp(goal).fit(S.X, S.y, sensitive_features={"g": S.g})
    calls = itertools.count()
    with pytest.warns(StoppedWarning, match="^interrupted: the best found so far is kept$"):
        clf = ramp(goal).fit(S.X, S.y, sensitive_features={"g": S.g})
    assert clf.goal_report_.satisfied


def test_a_failed_fit_keeps_the_old_model():
    clf = fitted(FAIR)
    before, report = clf.predict(S.X), clf.goal_report_
    clf.set_params(goal="maximize recall subject to precision >= 1")
    with pytest.raises(InfeasibleError):
        clf.fit(np.random.default_rng(5).normal(size=(N, 4)), S.y)
    assert np.array_equal(clf.predict(S.X), before)
    assert clf.goal_report_ == report
    assert clf.evaluate(S.X, S.y, sensitive_features={"g": S.g}).satisfied


def test_a_search_is_no_worse_than_its_start():
    """Small models draw their scores together: 0 may be a poor cut-off then."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 5))
    y = (X @ [1, 1, 0.5, 0, 0] + rng.logistic(size=2000) > 0).astype(int)
    goal = "minimize error_rate subject to predicted_rate <= 0.05"
    with pytest.warns(StoppedWarning):
        start = ramp(goal, limits=SearchLimits(seconds=1e-9)).fit(X, y).goal_report_
    found = ramp(goal).fit(X, y).goal_report_
    assert found.objective.value <= start.objective.value
    assert found.constraints[0].value > 0.04


# ---------------------------------------------------------------------- a promise on new rows
T = sample(2_400)
CAP = "minimize error_rate subject to predicted_rate.difference(g) <= 0.2"
RECALL = "maximize precision subject to recall >= 0.6"


def test_a_model_of_cutting_planes_is_certified():
    columns = {"sensitive_features": {"g": T.g}}
    clf = ramp(CAP, solver="cutting-plane", confidence=0.9).fit(T.X, T.y, **columns)
    report = clf.goal_report_
    assert report.guarantee.state == "certified"
    assert report.guarantee.rows == report.counts.n_rows == 720
    new = sample(20_000, seed=1)
    assert clf.evaluate(new.X, new.y, sensitive_features={"g": new.g}).satisfied
    assert clf.multipliers_


@over("draw", ["row", "random"])
def test_a_rule_that_draws_is_certified_as_it_draws(draw):
    clf = ramp(RECALL, randomized=True, draw=draw, confidence=0.9).fit(T.X, T.y)
    found = clf.goal_report_.guarantee
    assert found.state == "certified"
    # By the row it is a function of the row: whole numbers are counted, and the test is exact.
    assert found.is_exact == (draw == "row")
    if draw == "row":
        rows = open_fit(clone(clf), T.X, T.y).certifying.given[None]
        decided = clf.predict(rows.X)
        assert found.constraints[0].value == np.mean(decided[np.asarray(rows.y) == 1])


def test_further_data_sets_certify_too():
    goal = "minimize error_rate subject to predicted_rate.on('more') <= 0.6"
    more = sample(600, seed=5)
    clf = ramp(goal, confidence=0.9).fit(T.X, T.y, datasets={"more": more.X})
    assert clf.goal_report_.guarantee.state == "certified"
    assert clf.evidence_.n_rows == 1_680 + 420
    certify_on = {"more": sample(300, seed=7).X}
    with pytest.raises((GoalError, ValueError), match="missing"):
        ramp(goal, confidence=0.9).fit(T.X, T.y, datasets={"more": more.X}, certify_on=certify_on)
