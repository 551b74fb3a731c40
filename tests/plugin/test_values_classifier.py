"""Values of rows in a classifier: where the columns come from, and what they may hold."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from setpoint import (
    PlugInClassifier,
    StoppedWarning,
    frontier,
    goal_scorer,
    load_model,
    save_model,
    solve,
)
from setpoint.errors import GoalError
from setpoint.rules import Threshold, ValueAware

GOAL = "maximize profit(tp=amount - 5, fp=-5) subject to predicted_rate <= 0.1"
N = 1200


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(N, 2)), columns=["a", "b"])
    X["amount"] = rng.exponential(50.0, N)
    chance = 1 / (1 + np.exp(-(X["a"] + X["b"] - 1.5)))
    return X, np.where(rng.random(N) < chance, "fraud", "ok")


def model():
    return make_pipeline(StandardScaler(), LogisticRegression())


def classifier(goal=GOAL, **options):
    return PlugInClassifier(model(), goal, pos_label="fraud", **options)


@pytest.fixture(scope="module")
def fitted(table):
    return classifier().fit(*table)


class TestColumns:
    def test_a_column_of_X_is_looked_at(self, fitted, table):
        X, y = table
        assert isinstance(fitted.rule_, ValueAware)
        assert fitted.rule_.value_columns == ("amount",)
        assert "probability times amount exceeds" in fitted.goal_report_.rule.text
        p = fitted.estimator_.predict_proba(X)[:, 0]
        gain = p * X["amount"].to_numpy()
        taken = fitted.predict(X) == "fraud"
        assert gain[taken].min() > gain[~taken].max()
        paid = np.where(y == "fraud", X["amount"] - 5, -5)
        assert fitted.evaluate(X, y).objective.value == pytest.approx((paid * taken).mean())

    def test_one_that_predict_will_not_have_is_not(self, table):
        X, y = table
        clf = classifier().fit(X[["a", "b"]], y, sensitive_features={"amount": X["amount"]})
        assert isinstance(clf.rule_, Threshold)
        assert any("does not look at amount" in note for note in clf.goal_report_.warnings)
        clf.predict(X[["a", "b"]])

    def test_unless_it_is_named(self, table):
        X, y = table
        given = {"amount": X["amount"]}
        clf = classifier(decide_on="amount").fit(X[["a", "b"]], y, sensitive_features=given)
        assert isinstance(clf.rule_, ValueAware)
        with pytest.raises(GoalError, match="the rule looks at the column 'amount', and neither"):
            clf.predict(X[["a", "b"]])
        taken = clf.predict(X[["a", "b"]], sensitive_features=given) == "fraud"
        assert 0.05 < taken.mean() < 0.15

    def test_or_in_the_constructor(self, table):
        X, y = table
        clf = classifier(sensitive_features=["amount"]).fit(X, y)
        assert isinstance(clf.rule_, ValueAware)
        assert (clf.predict(X) == classifier().fit(X, y).predict(X)).all()

    def test_none_is_the_score_alone(self, table):
        clf = classifier(decide_on=None).fit(*table)
        assert isinstance(clf.rule_, Threshold)
        assert clf.gap_ == 0.0

    def test_scores_beyond_probabilities_stand_alone(self, table):
        X, y = table
        from sklearn.svm import LinearSVC

        clf = PlugInClassifier(LinearSVC(), GOAL, pos_label="fraud").fit(X, y)
        assert isinstance(clf.rule_, Threshold)
        assert any("probabilities" in note for note in clf.goal_report_.warnings)

    def test_a_threshold_where_values_say_nothing(self, table):
        X, y = table
        same = X.assign(amount=20.0)
        clf = classifier().fit(same, y)
        assert isinstance(clf.rule_, Threshold)
        assert "by the score" in clf.goal_report_.search.why


class TestWays:
    def test_frames_pickles_files_clones(self, fitted, table, tmp_path):
        X, y = table
        expected = fitted.predict(X)
        polars = classifier().fit(pl.from_pandas(X), y)
        assert (polars.predict(pl.from_pandas(X)) == expected).all()
        assert (pickle.loads(pickle.dumps(fitted)).predict(X) == expected).all()
        save_model(fitted, tmp_path / "model.skops")
        assert (load_model(tmp_path / "model.skops").predict(X) == expected).all()
        assert (clone(fitted).fit(X, y).predict(X) == expected).all()

    def test_batches_do_not_matter(self, fitted, table):
        X, _ = table
        parts = np.concatenate([fitted.predict(X[:7]), fitted.predict(X[7:400])])
        assert (parts == fitted.predict(X[:400])).all()

    def test_searches_over_parameters(self, table):
        X, y = table
        grid = {"estimator__logisticregression__C": [0.1, 1.0]}
        found = GridSearchCV(classifier(), grid, scoring=goal_scorer(GOAL), cv=3).fit(X, y)
        assert np.isfinite(found.cv_results_["mean_test_score"]).all()

    def test_frontier_rises(self, fitted, table):
        X, y = table
        values = np.linspace(0.05, 0.4, 8)
        found = frontier(fitted, X=X, y=y, values=values)
        assert (np.diff(found.values) >= -1e-9).all()
        own = frontier(fitted, values=values)
        assert own.values.shape == found.values.shape

    def test_adapt_keeps_the_bound_on_the_new_rows(self, table):
        X, y = table
        clf = classifier().fit(X, y)
        day = X.sample(500, random_state=1)
        assert (clf.adapt(day).predict(day) == "fraud").mean() == pytest.approx(0.1, abs=0.002)

    def test_a_batch_has_room_for_the_most_valuable(self, fitted, table):
        X, _ = table
        taken = fitted.decide_batch(X, at_most=30) == "fraud"
        gain = fitted.estimator_.predict_proba(X)[:, 0] * X["amount"].to_numpy()
        assert taken.sum() == 30
        assert gain[taken].min() > gain[~taken].max()

    def test_weights_and_order(self, table):
        X, y = (part[:300] for part in table)
        p = np.round(1 / (1 + np.exp(-X["a"].to_numpy())), 2)
        given = X["amount"].round(0).to_numpy()
        goal = "maximize profit(tp=amount - 5, fp=-5)"

        def found(rows, weight=None):
            return solve(
                goal,
                p[rows],
                y[rows],
                sample_weight=weight,
                sensitive_features={"amount": given[rows]},
                evidence="soft",
                pos_label="fraud",
            )

        w = 1.0 + (np.arange(300) % 3 == 0)
        weighted = found(np.arange(300), w)
        twice = found(np.repeat(np.arange(300), w.astype(int)))
        assert weighted.rule == twice.rule
        assert weighted.report.objective.value == pytest.approx(twice.report.objective.value)
        assert found(np.random.default_rng(0).permutation(300)).rule == found(np.arange(300)).rule


class TestBadInput:
    @pytest.mark.parametrize(
        ("change", "message"),
        [
            (lambda x: x.where(x < 100), "missing values"),
            (lambda x: x.replace(x.max(), np.inf), "infinite"),
            (lambda x: x.astype(str), "holds values such as"),
            (lambda x: x > 50, "holds values of type bool"),
        ],
    )
    def test_columns_hold_numbers(self, table, change, message):
        X, y = table
        given = {"amount": change(X["amount"])}
        with pytest.raises(ValueError, match=message):
            classifier().fit(X[["a", "b"]], y, sensitive_features=given)

    def test_weights_are_not_below_0(self, table):
        X, y = table
        goal = "maximize recall.weighted(amount) subject to precision >= 0.5"
        with pytest.raises(ValueError, match="a weight is 0 or more: row 0 has -"):
            classifier(goal).fit(X.assign(amount=-X["amount"]), y)

    def test_a_column_that_is_nowhere(self, table):
        X, y = table
        with pytest.raises(GoalError, match="column 'amount', and neither"):
            classifier().fit(X[["a", "b"]], y)

    def test_a_model_that_has_not_seen_it(self, fitted, table):
        X, _ = table
        with pytest.raises(ValueError, match="amount"):
            fitted.predict(X[["a", "b"]])

    def test_amounts_of_no_weight_at_all(self, table):
        X, y = table
        with pytest.raises(GoalError, match="counts rows by 'amount', and that is 0 for all"):
            classifier("maximize recall.weighted(amount)").fit(X.assign(amount=0.0), y)

    def test_masked_values(self, table):
        X, y = table
        given = np.ma.array(X["amount"].to_numpy(), mask=np.arange(N) < 3)
        with pytest.raises(ValueError, match="3 of its values are masked"):
            classifier().fit(X[["a", "b"]], y, sensitive_features={"amount": given})


@pytest.mark.parametrize("size", [1e-3, 1.0, 1e6, 1e12])
def test_units_do_not_matter(table, size):
    X, y = table
    p = 1 / (1 + np.exp(-(X["a"] + X["b"] - 1.5)))
    goal = f"maximize profit(tp=amount - {5 * size!r}, fp=-{5 * size!r}) subject to recall >= 0.2"
    found = solve(goal, p, y, pos_label="fraud", sensitive_features={"amount": X["amount"] * size})
    plain = solve(
        "maximize profit(tp=amount - 5, fp=-5) subject to recall >= 0.2",
        p,
        y,
        pos_label="fraud",
        sensitive_features={"amount": X["amount"]},
    )
    one, other = found.report.objective, plain.report.objective
    for name in ("value", "low", "high"):
        assert getattr(one, name) == pytest.approx(size * getattr(other, name), rel=1e-3)


def test_ctrl_c_while_it_is_chosen_keeps_the_best_threshold(table, monkeypatch):
    X, y = table

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("setpoint.plugin.solvers.searching.search_rule", interrupted)
    with pytest.warns(StoppedWarning, match="interrupted"):
        clf = classifier().fit(X, y)
    assert clf.rule_ == classifier(decide_on=None).fit(X, y).rule_
    assert "as none was chosen by then" in clf.goal_report_.search.why
