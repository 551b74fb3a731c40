"""What fit promises: reports that are counts, bounds that hold, data sets, weights, stops."""

import itertools
import warnings
from itertools import product
from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression

from ramp.oracle import Rowset, churn, error, f1, losses, over, precision, wins
from ramp.samples import COVERAGE, FAIR, ramp, sample
from setpoint import (
    ConstantGoalWarning,
    Dataset,
    Deployed,
    FewRowsWarning,
    Goal,
    InfeasibleError,
    SearchLimits,
    StoppedWarning,
    evaluate,
    frontier,
    minimize,
)
from setpoint.metrics import error_rate, predicted_rate
from setpoint.ramp import classifier as fitting
from setpoint.ramp.solvers import augmented_lagrangian as lagrangian
from setpoint.ramp.solvers.augmented_lagrangian import Iterate
from setpoint.search import limits
from thinning import thinned

pytestmark = pytest.mark.filterwarnings("ignore::setpoint.FewRowsWarning")

S, HARD, NEW = sample(), sample(600, seed=1), sample(500, seed=2)
N = len(S.y)
CHURN = "minimize error_rate subject to churn <= 0.08 and recall >= recall.baseline() - 0.01"
AUDIT = "minimize error_rate subject to recall.on('hard') >= 0.95 and specificity.on('hard') >= 0.6"


def by_group(D, **more):
    return [D.sp(group=g, **more) for g in "ab"]


def gap(D, **more):
    return float(np.ptp(by_group(D, **more)))


# Goals, their objectives and the slacks of their bounds, counted by hand.
CASES = {
    COVERAGE: (lambda D: error(D[None]), lambda D: [0.3 - D[None].sp()]),
    FAIR: (lambda D: error(D[None]), lambda D: [0.05 - gap(D[None])]),
    "minimize error_rate subject to predicted_rate.ratio(g) >= 0.9": (
        lambda D: error(D[None]),
        lambda D: [min(by_group(D[None])) / max(by_group(D[None])) - 0.9],
    ),
    "minimize error_rate subject to recall.difference(g) <= 0.03": (
        lambda D: error(D[None]), lambda D: [0.03 - gap(D[None], true=1)],
    ),
    "minimize error_rate subject to recall.on(g='b') >= 0.95 * recall.on(g='a')": (
        lambda D: error(D[None]),
        lambda D: [D[None].sp(true=1, group="b") - 0.95 * D[None].sp(true=1, group="a")],
    ),
    CHURN: (
        lambda D: error(D[None]),
        lambda D: [
            0.08 - churn(D[None]),
            D[None].sp(true=1) - D[None].n(true=1, deployed=1) / D[None].n(true=1) + 0.01,
        ],
    ),
    "minimize error_rate subject to churn.on('new') <= 0.08": (
        lambda D: error(D[None]), lambda D: [0.08 - churn(D["new"])],
    ),
    AUDIT: (
        lambda D: error(D[None]),
        lambda D: [D["hard"].sp(true=1) - 0.95, D["hard"].sn(true=0) - 0.6],
    ),
    "maximize recall subject to precision >= 0.85": (
        lambda D: D[None].sp(true=1), lambda D: [precision(D[None]) - 0.85],
    ),
    "maximize f1 subject to predicted_rate.on('new') <= 0.35": (
        lambda D: f1(D[None]), lambda D: [0.35 - D["new"].sp()],
    ),
    "maximize specificity subject to f1 >= 0.7": (
        lambda D: D[None].sn(true=0), lambda D: [f1(D[None]) - 0.7],
    ),
    "maximize accuracy subject to win_loss_ratio >= 2": (
        lambda D: 1 - error(D[None]), lambda D: [over(wins(D[None]), losses(D[None])) - 2],
    ),
    "maximize accuracy subject to win_change_ratio >= 0.7": (
        lambda D: 1 - error(D[None]), lambda D: [over(wins(D[None]), churn(D[None])) - 0.7],
    ),
    "minimize error_rate + 0.2 * churn + false_negative_rate.on('hard')": (
        lambda D: error(D[None]) + 0.2 * churn(D[None]) + D["hard"].sn(true=1), lambda D: [],
    ),
    "maximize g_mean subject to predicted_rate.on('new', g='a') <= 0.5": (
        lambda D: np.sqrt(D[None].sp(true=1) * D[None].sn(true=0)),
        lambda D: [0.5 - D["new"].sp(group="a")],
    ),
}  # fmt: skip


def sets_for(goal):
    """The further data sets that a goal refers to."""
    known = {
        "hard": Dataset(HARD.X, HARD.y, sensitive_features={"g": HARD.g}, baseline=HARD.old),
        "new": Dataset(NEW.X, sensitive_features={"g": NEW.g}, baseline=NEW.old),
    }
    return {name: d for name, d in known.items() if name in Goal.parse(goal).needs.datasets}


def fitted(goal, **options):
    return ramp(goal, **options).fit(
        S.X, S.y, sensitive_features={"g": S.g}, baseline=S.old, datasets=sets_for(goal)
    )


def decided(clf, rows=S, labelled=True, p=None):
    """Rows with the share of each that is accepted."""
    p = clf.decision_distribution(rows.X)[:, 1] if p is None else p
    return Rowset(rows.X, rows.y if labelled else None, np.ones(len(rows.y)), rows.g, rows.old, p)


def all_decided(clf):
    return {None: decided(clf), "hard": decided(clf, HARD), "new": decided(clf, NEW, False)}


@pytest.mark.parametrize(("goal", "randomized"), thinned(list(product(CASES, [False, True])), 3))
def test_reports_are_counts(goal, randomized):
    clf = fitted(goal, randomized=randomized)
    report, D = clf.goal_report_, all_decided(clf)
    objective, slacks = CASES[goal]
    assert report.objective.value == pytest.approx(objective(D), abs=1e-12)
    by_hand = slacks(D)
    assert [c.slack for c in report.constraints] == pytest.approx(by_hand, abs=1e-12)
    assert min(by_hand, default=0.0) >= -1e-9
    assert report.satisfied
    assert report.search.family == "ramp"
    assert report.counts.n_rows == N + sum(
        len(HARD.y if name == "hard" else NEW.y) for name in sets_for(goal)
    )
    p = D[None].p
    assert set(clf.multipliers_) == {str(c) for c in Goal.parse(goal).constraints}
    z = clf.decision_function(S.X)
    if randomized:
        np.testing.assert_allclose(p, np.clip(z + 0.5, 0.0, 1.0), atol=1e-15)
        every = np.concatenate([p, *(D[name].p for name in sets_for(goal))])
        drawn = np.mean((every > 0) & (every < 1))
        assert report.rule.drawn == pytest.approx(drawn, abs=1e-12)
        assert report.rule.drawn > 0.02
        found = clf.predict(S.X)
        assert np.array_equal(found, clf.predict(S.X))
        assert not found[p == 0].any()
        assert found[p == 1].all()
        assert abs(found.mean() - p.mean()) < 0.03
    else:
        assert set(np.unique(p)) == {0.0, 1.0}
        assert np.array_equal(p == 1, z >= 0)
        assert np.array_equal(clf.predict(S.X), p.astype(int))
        assert report.rule.drawn == 0.0
    assert clf.threshold_ == 0.0 or report.status == "feasible"


@pytest.mark.parametrize("randomized", [False, True])
def test_new_rows_are_counted(randomized):
    clf = fitted(AUDIT, randomized=randomized)
    same = clf.evaluate(S.X, S.y, datasets=sets_for(AUDIT))
    assert same.status == "evaluated"
    assert same.objective.value == pytest.approx(clf.goal_report_.objective.value, abs=1e-12)
    fresh, hard = sample(700, seed=5), sample(300, seed=6)
    report = clf.evaluate(fresh.X, fresh.y, datasets={"hard": (hard.X, hard.y)})
    D = {None: decided(clf, fresh), "hard": decided(clf, hard)}
    assert report.objective.value == pytest.approx(error(D[None]), abs=1e-12)
    slacks = [c.slack for c in report.constraints]
    assert slacks == pytest.approx(CASES[AUDIT][1](D), abs=1e-12)
    assert report.satisfied == (min(slacks) >= -1e-9)


def test_new_rows_are_compared_with_the_deployed_model():
    clf = fitted(CHURN)
    fresh = sample(700, seed=5)
    comparison = clf.evaluate(fresh.X, fresh.y, baseline=fresh.old).deployed
    D = decided(clf, fresh)
    assert comparison.changed == pytest.approx(churn(D), abs=1e-12)
    assert comparison.wins == pytest.approx(wins(D), abs=1e-12)
    assert comparison.losses == pytest.approx(losses(D), abs=1e-12)
    assert comparison.fresh_labels is not None
    mine = clf.goal_report_.deployed
    if mine is not None:
        assert mine.changed == pytest.approx(churn(decided(clf)), abs=1e-12)


def test_bounds_cost_something_and_no_more_than_needed():
    """Idle where they are idle, near their bound where they bind."""
    free = ramp("minimize error_rate").fit(S.X, S.y)
    logistic = LogisticRegression().fit(S.X, S.y)
    assert np.mean(free.predict(S.X) != S.y) <= np.mean(logistic.predict(S.X) != S.y) + 0.005
    assert free.multipliers_ == {}
    bound = ramp(COVERAGE).fit(S.X, S.y)
    rate = bound.goal_report_.constraints[0].value
    assert 0.29 <= rate <= 0.3
    (price,) = bound.multipliers_.values()
    assert price > 0.01
    # A cut-off on the free model's scores is what has to be beaten.
    z = free.decision_function(S.X)
    at = np.sort(z)[-int(0.3 * N)]
    shifted = np.mean((z >= at) != S.y)
    assert bound.goal_report_.objective.value <= shifted + 0.005


@pytest.mark.parametrize("C", [0.01, 1.0])
def test_regularisation_by_c(C):
    norms = [
        np.linalg.norm(ramp(COVERAGE, C=c, randomized=True).fit(S.X, S.y).coef_)
        for c in (C, 10 * C)
    ]
    assert norms[0] < norms[1]


# ---------------------------------------------------------------------- data sets
def test_forms_of_a_data_set():
    goal = "minimize error_rate subject to recall.on('hard') >= 0.95"
    goal += " and predicted_rate.on('new') <= 0.6"
    forms = [
        {"hard": Dataset(HARD.X, HARD.y), "new": Dataset(NEW.X)},
        {"new": NEW.X, "hard": (HARD.X, HARD.y)},
        {"hard": (HARD.X.tolist(), HARD.y.tolist()), "new": NEW.X.tolist()},
        {"hard": Dataset(HARD.X, HARD.y, sample_weight=np.full(600, 1.0)), "new": NEW.X},
        {"hard": Dataset(np.vstack([HARD.X, NEW.X]), np.append(HARD.y, NEW.y),
                         sample_weight=np.arange(1100) < 600), "new": NEW.X},
    ]  # fmt: skip
    found = [ramp(goal).fit(S.X, S.y, datasets=d) for d in forms]
    assert found[0].goal_report_.satisfied
    for clf in found[1:]:
        assert np.mean(clf.predict(S.X) != found[0].predict(S.X)) < 0.01


def test_a_data_set_moves_the_model():
    """The same rate on other rows is another bound."""
    goal = "minimize error_rate subject to predicted_rate.on('new') <= 0.2"
    here, there = (
        ramp(goal).fit(S.X, S.y, datasets={"new": NEW.X + shift}) for shift in (0.0, 1.0)
    )
    assert here.predict(NEW.X).mean() <= 0.2
    assert there.predict(NEW.X + 1.0).mean() <= 0.2
    assert here.predict(NEW.X + 1.0).mean() > 0.4
    both = "predicted_rate.on('new') <= 0.2 and predicted_rate.on('moved') <= 0.2"
    sets = {"new": NEW.X, "moved": NEW.X + 1.0}
    clf = ramp(f"minimize error_rate subject to {both}").fit(S.X, S.y, datasets=sets)
    assert max(clf.predict(X).mean() for X in sets.values()) <= 0.2


FRAME = pd.DataFrame(S.X, columns=list("abcd"))


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
def test_columns_of_data_sets_are_matched_by_name(make):
    goal = "minimize error_rate subject to recall.on('hard') >= 0.95"
    by_position = ramp(goal).fit(S.X, S.y, datasets={"hard": (HARD.X, HARD.y)})
    hard = pd.DataFrame(HARD.X, columns=list("abcd"))
    turned = make(hard[list("dbca")].to_dict("list"))
    main = make(FRAME.to_dict("list"))
    clf = ramp(goal).fit(main, S.y, datasets={"hard": (turned, HARD.y)})
    np.testing.assert_allclose(clf.coef_, by_position.coef_, rtol=1e-9)
    assert clf.feature_names_in_.tolist() == list("abcd")
    assert np.array_equal(clf.predict(main), by_position.predict(S.X))
    again = clf.evaluate(main, S.y, datasets={"hard": (turned, HARD.y)})
    assert again.constraints[0].value == clf.goal_report_.constraints[0].value


def test_a_column_that_is_not_a_feature_may_be_missing():
    """What the goal asks of a data set without its deployed decisions."""
    goal = "minimize error_rate subject to churn <= 0.2 and recall.on('hard') >= 0.9"
    hard = pd.DataFrame(HARD.X, columns=list("abcd"))
    clf = ramp(goal, baseline="old")
    clf.fit(FRAME.assign(old=S.old), S.y, datasets={"hard": (hard, HARD.y)})
    twin = ramp(goal).fit(S.X, S.y, baseline=S.old, datasets={"hard": (HARD.X, HARD.y)})
    np.testing.assert_allclose(clf.coef_, twin.coef_, rtol=1e-6)


# ---------------------------------------------------------------------- the deployed model


class FirstAndThird(LogisticRegression):
    """A deployed model that looks at two of the columns."""

    def decision_function(self, X):
        return super().decision_function(_two(X))

    def predict(self, X):
        return super().predict(_two(X))


def _two(X):
    X = np.asarray(X)
    return X[:, [0, 2]] if X.shape[1] > 2 else X


DEPLOYED = FirstAndThird().fit(S.X[:, [0, 2]], S.old)
MILD = "minimize error_rate subject to churn <= 0.05"


def test_ways_to_say_what_the_deployed_model_decides():
    decisions = DEPLOYED.predict(S.X)
    scores = DEPLOYED.decision_function(S.X)
    clf = ramp(MILD).fit(S.X, S.y, baseline=decisions)
    assert clf.score_feature_ is None
    assert clf.coef_.shape == (1, 4)
    changed = np.mean(clf.predict(S.X) != decisions)
    assert 0.03 < changed <= 0.05
    same = [
        ramp(MILD).fit(S.X, S.y, baseline=Deployed(scores, threshold=0.0)),
        ramp(MILD, baseline_score_feature=False).fit(S.X, S.y, baseline=DEPLOYED),
        ramp(MILD, baseline_score_feature=False, baseline=FrozenEstimator(DEPLOYED)).fit(S.X, S.y),
        ramp(MILD, baseline="old").fit(FRAME.assign(old=decisions), S.y),
        ramp(MILD).fit(FRAME.assign(old=decisions), S.y, baseline="old"),
    ]
    for other in same:
        np.testing.assert_allclose(other.coef_, clf.coef_, rtol=1e-6)
        assert other.goal_report_.constraints[0].value == pytest.approx(changed, abs=1e-12)
    # A column of decisions is not a feature, and need not be there to predict.
    assert np.array_equal(same[-1].predict(FRAME), clf.predict(S.X))
    assert np.array_equal(same[-1].predict(FRAME.assign(old=0)), clf.predict(S.X))


def test_the_deployed_score_is_a_feature():
    scores = DEPLOYED.decision_function(S.X)
    model = ramp(MILD).fit(S.X, S.y, baseline=DEPLOYED)
    by_column = Deployed("score", threshold=0.0)
    column = ramp(MILD).fit(FRAME.assign(score=scores), S.y, baseline=by_column)
    assert model.coef_.shape == column.coef_.shape == (1, 5)
    np.testing.assert_allclose(column.coef_, model.coef_, rtol=1e-9)
    features = np.column_stack(
        [(S.X - S.X.mean(0)) / S.X.std(0), (scores - scores.mean()) / scores.std()]
    )
    z = features @ model.coef_[0] + model.intercept_[0] - model.threshold_
    np.testing.assert_allclose(model.decision_function(S.X), z, atol=1e-12)
    assert model.score_feature_.cut == pytest.approx(-scores.mean() / scores.std())
    off = ramp(MILD, baseline_score_feature=False)
    off.fit(FRAME.assign(score=scores), S.y, baseline=by_column)
    assert off.coef_.shape == (1, 4)
    with pytest.raises(ValueError, match="no column 'score'"):
        column.predict(FRAME)
    on = ramp(MILD, baseline_score_feature=True).fit(S.X, S.y, baseline=DEPLOYED)
    assert np.array_equal(on.coef_, model.coef_)
    # New rows are scored by the deployed model.
    fresh = sample(300, seed=9)
    judged = model.evaluate(fresh.X, fresh.y, baseline=DEPLOYED)
    by_hand = np.mean(model.predict(fresh.X) != DEPLOYED.predict(fresh.X))
    assert judged.constraints[0].value == pytest.approx(by_hand, abs=1e-12)


def test_a_model_with_probabilities_gives_their_logit():
    class Sure(LogisticRegression):
        decision_function = property(doc="not there")

        def predict(self, X):
            return self.classes_[self.predict_proba(X).argmax(axis=1)]

        def predict_proba(self, X):
            return np.column_stack([1 - (p := (X[:, 0] > 0) * 0.8 + 0.1), p])

    model = Sure().fit(S.X, S.y)
    clf = ramp(MILD).fit(S.X, S.y, baseline=model)
    z = clf.score_feature_.values(S.X)
    assert np.array_equal(np.unique(np.sign(z)), [-1, 1])
    logit = np.log(9.0) * np.sign(S.X[:, 0])
    np.testing.assert_allclose(z, (logit - logit.mean()) / logit.std(), atol=1e-9)


@pytest.mark.parametrize("labels", [("no", "yes"), ("yes", "no")])
def test_scores_of_the_deployed_model_point_to_the_positive_class(labels):
    """Whichever class comes first in the alphabet."""
    y = np.array(labels)[S.y]
    model = LogisticRegression().fit(S.X, y)
    clf = ramp(MILD, pos_label=labels[1]).fit(S.X, y, baseline=model)
    assert np.corrcoef(clf.score_feature_.values(S.X), S.y)[0, 1] > 0.5
    assert clf.goal_report_.constraints[0].value <= 0.05


def test_baselines_of_data_sets():
    goal = "minimize error_rate subject to churn.on('new') <= 0.05"
    decisions = DEPLOYED.predict(NEW.X)
    by_array = ramp(goal).fit(S.X, S.y, datasets={"new": Dataset(NEW.X, baseline=decisions)})
    assert np.mean(by_array.predict(NEW.X) != decisions) <= 0.05
    by_model = ramp(goal).fit(S.X, S.y, datasets={"new": Dataset(NEW.X, baseline=DEPLOYED)})
    everywhere = ramp(goal, baseline_score_feature=False).fit(
        S.X, S.y, datasets={"new": NEW.X}, baseline=DEPLOYED
    )
    column = ramp(goal, baseline="old").fit(
        FRAME.assign(old=0), S.y,
        datasets={"new": pd.DataFrame(NEW.X, columns=list("abcd")).assign(old=decisions)},
    )  # fmt: skip
    moved = Deployed(DEPLOYED.decision_function(NEW.X) + 2.0, threshold=2.0)
    by_score = ramp(goal).fit(S.X, S.y, datasets={"new": Dataset(NEW.X, baseline=moved)})
    for clf in (by_model, everywhere, column, by_score):
        np.testing.assert_allclose(clf.coef_, by_array.coef_, rtol=1e-6)


@pytest.mark.parametrize("start", ["auto", "logistic", "zero", "baseline"])
@pytest.mark.parametrize("score", [False, True])
def test_starts(start, score):
    """Wherever the search begins, it ends about as good."""
    clf = ramp(MILD, start=start, baseline_score_feature=score).fit(S.X, S.y, baseline=DEPLOYED)
    best = ramp(MILD, baseline_score_feature=score).fit(S.X, S.y, baseline=DEPLOYED)
    assert clf.goal_report_.satisfied
    assert clf.goal_report_.objective.value <= best.goal_report_.objective.value + 0.006
    if start in ("auto", "logistic"):
        assert np.array_equal(clf.coef_, best.coef_)


def test_a_start_from_the_deployed_model_is_that_model(monkeypatch):
    starts = []

    def seen(problem, start, **options):
        starts.append((problem, start))
        return real(problem, start, **options)

    real = fitting.AugmentedLagrangian
    monkeypatch.setattr(fitting, "AugmentedLagrangian", seen)
    ramp(MILD, start="baseline").fit(S.X, S.y, baseline=DEPLOYED)
    ramp(MILD, start="baseline").fit(S.X, S.y, baseline=S.old)
    for (problem, w), old in zip(starts, (DEPLOYED.predict(S.X), S.old), strict=True):
        z = problem.X @ w[:-1] + w[-1]
        assert np.mean((z >= 0) != old) < 0.01
        assert np.median(np.abs(z)) == pytest.approx(0.5)


# ---------------------------------------------------------------------- weights and order
@pytest.mark.parametrize("goal", [COVERAGE, "maximize recall subject to precision >= 0.8", FAIR])
def test_weight_two_is_the_row_twice(goal):
    w = np.where(np.arange(N) % 3 == 0, 2.0, 1.0)
    twice = np.repeat(np.arange(N), w.astype(int))
    a = ramp(goal).fit(S.X, S.y, sample_weight=w, sensitive_features={"g": S.g})
    b = ramp(goal).fit(S.X[twice], S.y[twice], sensitive_features={"g": S.g[twice]})
    values = [clf.goal_report_.objective.value for clf in (a, b)]
    assert values[0] == pytest.approx(values[1], abs=3e-3)
    assert np.mean(a.predict(S.X) != b.predict(S.X)) < 0.01


@pytest.mark.parametrize("options", [{"start": "baseline"}, {"baseline_score_feature": False}])
def test_zero_weight_is_absent(options):
    w = np.ones(N)
    w[:200] = 0.0
    spoilt = S.X.copy()
    spoilt[:200] *= 1e3
    model = DEPLOYED if options.get("baseline_score_feature", True) else None
    deployed = [S.old, S.old[200:]] if model is None else [model, model]
    a = ramp(MILD, **options).fit(spoilt, S.y, sample_weight=w, baseline=deployed[0])
    b = ramp(MILD, **options).fit(S.X[200:], S.y[200:], baseline=deployed[1])
    np.testing.assert_allclose(a.decision_function(S.X), b.decision_function(S.X), atol=1e-4)
    assert a.goal_report_.objective.value == pytest.approx(b.goal_report_.objective.value)
    assert a.goal_report_.counts.n_rows == N - 200


def test_weights_that_are_shares():
    for goal in (COVERAGE, "maximize recall subject to precision >= 0.8"):
        a = ramp(goal).fit(S.X, S.y)
        b = ramp(goal).fit(S.X, S.y, sample_weight=np.full(N, 1.0 / N))
        assert np.mean(a.predict(S.X) != b.predict(S.X)) < 0.01


def test_the_order_of_rows_does_not_matter():
    order = np.random.default_rng(0).permutation(N)
    a = fitted(FAIR)
    b = ramp(FAIR).fit(S.X[order], S.y[order], sensitive_features={"g": S.g[order]})
    assert a.goal_report_.objective.value == pytest.approx(b.goal_report_.objective.value, abs=2e-3)
    assert np.mean(a.predict(S.X) != b.predict(S.X)) < 0.01


def test_the_same_model_every_time():
    found = [fitted(CHURN, random_state=s).coef_ for s in (0, 0, None, 7)]
    for coef in found[1:]:
        assert np.array_equal(coef, found[0])


# ---------------------------------------------------------------------- labels
@pytest.mark.parametrize("pos", [0, 1])
def test_draws_of_either_positive_class(pos):
    y = np.array(["no", "yes"])[S.y if pos else 1 - S.y]
    clf = ramp(randomized=True, pos_label=["no", "yes"][pos]).fit(S.X, y)
    twin = ramp(randomized=True).fit(S.X, S.y)
    share = clf.decision_distribution(S.X)
    np.testing.assert_allclose(share.sum(axis=1), 1.0)
    np.testing.assert_allclose(share[:, pos], twin.decision_distribution(S.X)[:, 1], atol=1e-12)
    above = clf.decision_function(S.X)
    np.testing.assert_allclose(share[:, 1], np.clip(0.5 + above, 0.0, 1.0), atol=1e-12)
    assert np.array_equal(clf.predict(S.X) == clf.positive_, twin.predict(S.X) == 1)


def test_the_class_that_the_goal_names_is_the_positive_one():
    y = np.array(["good", "bad"])[S.y]
    goal = "maximize specificity subject to recall >= 0.8"
    named = goal.replace("specificity", "specificity(label='bad')")
    clf = ramp(named.replace("recall", "recall(label='bad')")).fit(S.X, y)
    assert clf.positive_ == "bad"
    twin = ramp(goal).fit(S.X, S.y)
    assert np.array_equal(clf.predict(S.X) == "bad", twin.predict(S.X) == 1)
    # A goal that names classes reads the same whichever is the positive one.
    goal = "minimize error_rate subject to recall(label='bad') >= 0.8"
    for pos_label in (None, "good", "bad"):
        clf = ramp(goal, pos_label=pos_label).fit(S.X, y)
        assert np.mean(clf.predict(S.X)[y == "bad"] == "bad") >= 0.8
        assert np.mean(clf.predict(S.X) == y) > 0.75


@pytest.mark.parametrize(
    "goal", [COVERAGE, Goal.parse(COVERAGE), minimize(error_rate).subject_to(predicted_rate <= 0.3)]
)
def test_ways_to_write_a_goal(goal):
    assert np.array_equal(ramp(goal).fit(S.X, S.y).coef_, ramp(COVERAGE).fit(S.X, S.y).coef_)


# ---------------------------------------------------------------------- ends
def test_infeasible_goals_name_what_pulls():
    rng = np.random.default_rng(0)
    noise = rng.normal(size=(800, 3))
    y = (rng.random(800) < 0.3).astype(int)
    goal = "maximize accuracy subject to recall >= 0.99 and precision >= 0.9"
    for randomized in (False, True):
        with pytest.raises(InfeasibleError, match="does not say that no model can") as hopeless:
            ramp(goal, randomized=randomized).fit(noise, y)
        assert set(hopeless.value.blame) == {"recall >= 0.99", "precision >= 0.9"}
        assert hopeless.value.violation > 0.01
        near = ramp(goal, randomized=randomized, on_infeasible="nearest")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FewRowsWarning)
            near.fit(noise, y)
        report = near.goal_report_
        assert report.status == "nearest"
        assert not report.satisfied
        assert np.isfinite(near.coef_).all()
        assert set(report.search.blame) == set(hopeless.value.blame)
        assert sum(report.search.blame.values()) == pytest.approx(1.0)
        violation = max(-c.slack for c in report.constraints)
        assert violation == pytest.approx(hopeless.value.violation, abs=1e-9)


@pytest.mark.parametrize("randomized", [False, True])
def test_nearest_never_raises(randomized):
    """Not where a goal is met on fewer rows than min_positives asks for, either."""
    rng = np.random.default_rng(3)
    noise = rng.normal(size=(400, 2))
    y = (rng.random(400) < 0.2).astype(int)
    goal = "maximize recall subject to precision >= 0.7"
    with pytest.raises(
        InfeasibleError, match=r"`min_positives` allows that|[Nn]o linear model was found"
    ):
        ramp(goal, randomized=randomized).fit(noise, y)
    near = ramp(goal, randomized=randomized, on_infeasible="nearest").fit(noise, y)
    assert near.goal_report_.status == "nearest"
    accepted = near.decision_distribution(noise)[:, 1]
    by_hand = accepted[y == 1].sum() / accepted.sum()
    assert near.goal_report_.constraints[0].value == pytest.approx(by_hand, abs=1e-12)


def test_the_cut_off_moves_where_counts_violate_a_bound(monkeypatch):
    """By the least that is needed."""

    class Off(fitting.AugmentedLagrangian):
        def solved(self):
            super().solved()
            w = self.best.w.copy()
            w[-1] += 0.4
            self.kept = Iterate(w, self.best.loss, self.best.excess)
            return self

    monkeypatch.setattr(fitting, "AugmentedLagrangian", Off)
    clf = ramp(COVERAGE).fit(S.X, S.y)
    assert clf.threshold_ > 0
    assert clf.goal_report_.satisfied
    assert clf.goal_report_.status == "feasible"
    assert "the cut-off moved" in clf.goal_report_.search.why
    accepted = int(clf.predict(S.X).sum())
    assert accepted == int(0.3 * N)  # one row more would be too many
    z = clf.decision_function(S.X)
    assert (z >= 0).sum() == accepted
    np.testing.assert_allclose(
        clf.decision_function(S.X) + clf.threshold_,
        clf.preprocessor_.transform(S.X) @ clf.coef_[0] + clf.intercept_[0],
    )


def test_a_floor_on_precision_is_not_met_by_accepting_nobody():
    floor = ramp("maximize specificity subject to precision >= 0.8").fit(S.X, S.y)
    assert floor.predict(S.X).sum() >= 20
    many = ramp("maximize specificity subject to precision >= 0.8", min_positives=400)
    assert many.fit(S.X, S.y).predict(S.X).sum() >= 400


@pytest.mark.parametrize("options", [{}, {"randomized": True}, {"min_positives": 200}])
def test_the_best_precision_has_a_denominator(options):
    """Precision of nobody counts 0, and a moment before it was the best."""
    clf = ramp("maximize precision", **options).fit(S.X, S.y)
    p = decided(clf).p
    assert clf.goal_report_.objective.value > 0.8
    assert p.sum() >= options.get("min_positives", 14) - 1e-6  # 2 % of the positives


def test_all_negative_is_never_silent():
    rng = np.random.default_rng(0)
    rare = (rng.random(N) < 0.1).astype(int)
    noise = np.random.default_rng(1).normal(size=S.X.shape)
    with pytest.warns(ConstantGoalWarning, match="predicts 0 for everyone"):
        clf = ramp("minimize error_rate").fit(noise, rare)
    assert not clf.predict(noise).any()


@pytest.mark.parametrize("passes", [0, 45])
def test_time_is_up(monkeypatch, passes):
    whole = ramp(COVERAGE).fit(S.X, S.y)
    clock = itertools.count(0.0, 1.0)  # no machine is too fast or too busy for it
    monkeypatch.setattr(limits, "time", SimpleNamespace(perf_counter=lambda: next(clock)))
    limit = passes + 0.5
    with pytest.warns(StoppedWarning, match=f"^stopped after {limit} seconds: the best found so"):
        clf = ramp(COVERAGE, limits=SearchLimits(seconds=limit)).fit(S.X, S.y)
    assert any(f"stopped after {limit} seconds" in w for w in clf.goal_report_.warnings)
    assert clf.goal_report_.satisfied
    assert np.mean(clf.predict(S.X)) <= 0.3
    assert (len(clf.trace_) > 1) == (passes > 0)  # the start is recorded where nothing else is
    assert len(clf.trace_) < len(whole.trace_)


@pytest.mark.parametrize("after", [0, 200])
def test_interrupted(monkeypatch, after):
    from setpoint.ramp import problem

    calls, plain = itertools.count(), problem._scores

    def interrupted(X, w):
        if next(calls) == after:
            raise KeyboardInterrupt
        return plain(X, w)

    monkeypatch.setattr(problem, "_scores", interrupted)
    goal = "minimize error_rate subject to predicted_rate.difference(g) <= 0.01 and recall >= 0.8"
    clf = ramp(goal)
    if after == 0:
        with pytest.raises(KeyboardInterrupt):
            clf.fit(S.X, S.y, sensitive_features={"g": S.g})
        assert not hasattr(clf, "rule_")
        return
    monkeypatch.setattr(lagrangian, "_COMPLEMENTARY", -1.0)  # it goes on for all rounds
    with pytest.warns(StoppedWarning, match="^interrupted: the best found so far is kept$"):
        clf.fit(S.X, S.y, sensitive_features={"g": S.g})
    assert clf.goal_report_.satisfied


def test_verbose_says_how_far_it_is(capsys):
    ramp(COVERAGE, verbose=1).fit(S.X, S.y)
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "violation" in printed.err
    ramp(COVERAGE).fit(S.X, S.y)
    assert capsys.readouterr().err == ""


def test_a_failed_fit_keeps_the_old_model():
    clf = fitted(FAIR)
    before, report = clf.predict(S.X), clf.goal_report_
    with pytest.raises(ValueError, match="`solver` is one of"):
        clf.set_params(solver="wrong").fit(S.X, S.y)
    clf.set_params(solver="augmented-lagrangian", goal="maximize recall subject to precision >= 1")
    noise = np.random.default_rng(5).normal(size=(N, 4))
    with pytest.raises(InfeasibleError):
        clf.fit(noise, S.y)
    assert np.array_equal(clf.predict(S.X), before)
    assert clf.goal_report_ == report
    assert clf.evaluate(S.X, S.y, sensitive_features={"g": S.g}).satisfied


# ---------------------------------------------------------------------- reports, frontier
def test_the_trace_and_the_report():
    clf = fitted(CHURN)
    assert len(clf.trace_) >= 4
    assert [t.call for t in clf.trace_] == sorted({t.call for t in clf.trace_})
    assert clf.goal_report_.section("trace").steps
    text = str(clf.goal_report_)
    assert "churn <= 0.08" in text
    assert "flatters" in text
    again = type(clf.goal_report_).from_json(clf.goal_report_.to_json())
    assert again == clf.goal_report_


def test_the_frontier_of_a_trained_model():
    clf = ramp(COVERAGE).fit(S.X, S.y)
    found = frontier(clf)
    assert found.at(0.3) <= clf.goal_report_.objective.value + 1e-12
    other = sample(600, seed=8)
    assert frontier(clf, X=other.X, y=other.y).at(0.3) > 0
    drawn = frontier(ramp(COVERAGE, randomized=True).fit(S.X, S.y))
    assert drawn.at(0.3) <= found.at(0.3) + 0.02


def test_evaluate_by_hand_is_the_same():
    clf = fitted(CHURN)
    judged = evaluate(CHURN, S.y, clf.predict(S.X), baseline=S.old)
    assert judged.objective.value == clf.goal_report_.objective.value
    assert [c.value for c in judged.constraints] == [c.value for c in clf.goal_report_.constraints]


# ---------------------------------------------------------------------- solvers
@pytest.mark.parametrize("goal", [COVERAGE, FAIR, CHURN])
def test_the_solver_of_the_paper_comes_close(goal):
    clf = fitted(goal, solver="cutting-plane")
    assert clf.goal_report_.search.solver == "cutting-plane"
    assert clf.goal_report_.satisfied
    best = fitted(goal).goal_report_.objective.value
    assert clf.goal_report_.objective.value <= best + 0.02


@pytest.mark.parametrize("form", [sparse.csr_matrix, sparse.csc_array, sparse.coo_matrix])
def test_sparse_rows_are_dense_ones(form):
    X, more = (np.where(np.abs(A) > 0.7, A, 0.0) for A in (S.X, HARD.X))
    goal = "minimize error_rate subject to recall.on('hard') >= 0.9"
    dense = ramp(goal, preprocessor=None).fit(X, S.y, datasets={"hard": (more, HARD.y)})
    found = ramp(goal, preprocessor=None).fit(form(X), S.y, datasets={"hard": (form(more), HARD.y)})
    np.testing.assert_allclose(found.coef_, dense.coef_, rtol=1e-4)
    mixed = ramp(goal, preprocessor=None).fit(form(X), S.y, datasets={"hard": (more, HARD.y)})
    np.testing.assert_allclose(mixed.coef_, dense.coef_, rtol=1e-4)
    scaled = ramp(goal).fit(form(X), S.y, datasets={"hard": (form(more), HARD.y)})
    np.testing.assert_allclose(
        scaled.decision_function(X), scaled.decision_function(form(X)), atol=1e-12
    )
    with_score = ramp(MILD).fit(form(X), S.y, baseline=LogisticRegression().fit(X, S.old))
    plain = ramp(MILD, preprocessor=None).fit(X, S.y, baseline=LogisticRegression().fit(X, S.old))
    assert with_score.coef_.shape == plain.coef_.shape == (1, 5)


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


@pytest.mark.parametrize("goal", ["minimize churn", "minimize error_rate subject to churn <= 0"])
def test_the_deployed_model_stays_a_candidate(goal):
    clf = ramp(goal, baseline=DEPLOYED).fit(S.X, S.y)
    assert clf.goal_report_.satisfied is not False
    assert np.array_equal(clf.predict(S.X), DEPLOYED.predict(S.X))


def test_an_error_after_a_stop_says_so_and_names_all():
    goal = "minimize error_rate subject to predicted_rate <= 0.05"
    clf = ramp(goal, randomized=True, limits=SearchLimits(seconds=1e-9))
    words = r"^Stopped after 1e-09 seconds: no linear model .*predicted_rate <= 0.05"
    with pytest.warns(StoppedWarning), pytest.raises(InfeasibleError, match=words):
        clf.fit(S.X, S.y)
