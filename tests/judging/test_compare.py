"""Models on the same rows: exact differences, what changes, and who is better by the goal."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.tree import DecisionTreeClassifier

from setpoint import (
    Deployed,
    Frontier,
    OnlineFClassifier,
    PlugInClassifier,
    compare,
    evaluate,
    frontier,
)
from setpoint.judging.judge import BETTER, WORSE

GOAL = "maximize recall subject to precision >= 0.5 and predicted_rate <= 0.5"


def rows(n, seed):
    """`x` and `w` know something of `y`, which is "yes" or "no"."""
    r = np.random.default_rng(seed)
    X = r.normal(size=(n, 3))
    z = X[:, 0] + 0.9 * X[:, 1] + 0.8 * r.normal(size=n)
    return X, np.where(z > 0.9, "yes", "no")


@pytest.fixture(scope="module")
def old():
    return rows(800, 0)


@pytest.fixture(scope="module")
def fresh():
    return rows(1200, 1)


@pytest.fixture(scope="module")
def models(old):
    """One of this library, one of scikit-learn that scores, one that does not, and decisions."""
    X, y = old
    return {
        "today": DecisionTreeClassifier(max_depth=1).fit(X, y),
        "new": PlugInClassifier(LogisticRegression(), "f1").fit(X, y),
        "ridge": RidgeClassifier().fit(X, y),
    }


@pytest.fixture(scope="module")
def found(models, fresh):
    return compare(GOAL, models, *fresh)


def decided(model, X):
    return model.predict(X)


def measured(y, decision, weight=None):
    """Recall, precision and the share accepted, by hand."""
    w = np.ones(len(y)) if weight is None else weight
    yes, accepted = y == "yes", decision == "yes"
    both = w[yes & accepted].sum()
    return [both / w[yes].sum(), both / w[accepted].sum(), w[accepted].sum() / w.sum()]


def numbers(part):
    gain = part.difference
    return [gain.value, gain.low, gain.high]


def test_values_and_differences_are_those_that_are_counted_by_hand(models, fresh, found):
    X, y = fresh
    today = measured(y, decided(models["today"], X))
    assert [e.value for e in found.reports["today"].entries] == pytest.approx(today)
    for name in ("new", "ridge"):
        own = measured(y, decided(models[name], X))
        parts = found.differences[name]
        assert [p.candidate.value for p in parts] == pytest.approx(own)
        assert [p.difference.value for p in parts] == pytest.approx(np.subtract(own, today))
        assert all(p.difference.low < p.difference.value < p.difference.high for p in parts)


def test_a_report_is_that_of_evaluating_the_decisions(models, fresh, found):
    X, y = fresh
    for name, model in models.items():
        judged = evaluate(GOAL, y, decided(model, X))
        assert judged.entries == found.reports[name].entries


@pytest.mark.parametrize("kind", ["classifier", "scikit-learn", "decisions"])
def test_models_and_their_decisions_compare_alike(models, fresh, kind):
    X, y = fresh
    for name in ("new", "ridge"):
        given = {"today": models["today"], name: models[name]}
        if kind == "decisions":
            given = {n: pd.Series(decided(m, X)) for n, m in given.items()}
        elif kind == "scikit-learn":
            given["today"] = decided(models["today"], X)
        one = compare(GOAL, given, X, y, frontier=False)
        other = compare(
            GOAL, {n: decided(models[n], X) for n in ("today", name)}, None, y, frontier=False
        )
        for a, b in zip(one.differences[name], other.differences[name], strict=True):
            assert numbers(a) == pytest.approx(numbers(b))
        assert (one.verdict, one.why) == (other.verdict, other.why)


def test_both_orders_mirror_each_other(models, fresh):
    X, y = fresh
    one = compare(GOAL, {"a": models["today"], "b": models["ridge"]}, X, y)
    other = compare(GOAL, {"b": models["ridge"], "a": models["today"]}, X, y)
    for p, q in zip(one.differences["b"], other.differences["a"], strict=True):
        value, low, high = numbers(q)
        assert numbers(p) == pytest.approx([-value, -high, -low], abs=1e-9)
        assert {p.verdict, q.verdict} in ({BETTER, WORSE}, {"too close to call"})
    there, back = one.changed["change_b"], other.changed["change_a"]
    swapped = {"win": "loss", "loss": "win"}
    assert [swapped.get(x, x) for x in there] == back.tolist()
    assert (one.changed["row"] == other.changed["row"]).all()


def test_equal_models_change_nothing(models, fresh):
    for name in ("new", "ridge"):
        same = compare(GOAL, {"a": models[name], "b": models[name]}, *fresh)
        assert (same.verdict, same.why) == (
            "too close to call", "Both models decide every row alike."
        )  # fmt: skip
        assert all(numbers(p)[0] == 0.0 for p in same.differences["b"])
        assert len(same.changed["row"]) == 0
        assert same.frontiers["a"] == same.frontiers["b"]


def test_weight_2_is_the_row_twice(models, fresh):
    X, y = fresh
    weight = np.random.default_rng(0).integers(0, 3, len(y))
    weighted = compare(GOAL, models, X, y, sample_weight=weight)
    repeated = compare(GOAL, models, np.repeat(X, weight, 0), np.repeat(y, weight))
    for name in ("new", "ridge"):
        pairs = zip(weighted.differences[name], repeated.differences[name], strict=True)
        for a, b in pairs:
            assert a.difference.value == pytest.approx(b.difference.value)
        np.testing.assert_allclose(
            weighted.frontiers[name].values, repeated.frontiers[name].values, atol=1e-12
        )
        both = weighted.pairs[name].changes, repeated.pairs[name].changes
        assert both[0].changed == pytest.approx(both[1].changed)
    assert weighted.changed["weight"].sum() == len(repeated.changed["row"])
    assert (weighted.changed["weight"] > 0).all()


def test_the_test_is_of_the_goals_own_objective_and_not_of_accuracy():
    """A model that finds twice as many, and is less often right, is better by recall."""
    r = np.random.default_rng(0)
    y = (r.random(4000) < 0.1).astype(int)
    today = np.where(r.random(4000) < 0.22, y, 0)
    found_more = np.where(r.random(4000) < 0.45, y, (r.random(4000) < 0.06).astype(int))
    given = {"today": today, "new": found_more}
    by_recall = compare("maximize recall subject to precision >= 0.3", given, None, y)
    assert by_recall.verdict == BETTER
    assert by_recall.pairs["new"].changes.wins < by_recall.pairs["new"].changes.losses
    assert compare("accuracy", given, None, y).verdict == WORSE


def test_money_is_tested_by_its_own_interval():
    r = np.random.default_rng(1)
    y, amount = (r.random(3000) < 0.3).astype(int), r.gamma(2.0, 50.0, 3000)
    by_count, by_value = (r.random(3000) < 0.5).astype(int), (amount > 80).astype(int)
    found = compare(
        "maximize profit(tp=amount - 5, fp=-5)",
        {"today": by_count, "new": by_value},
        None,
        y,
        sensitive_features={"amount": amount},
    )
    gain = np.where(y == 1, amount - 5, -5.0)
    assert found.differences["new"][0].difference.value == pytest.approx(
        np.mean(gain * by_value) - np.mean(gain * by_count)
    )
    assert found.verdict == BETTER


def test_the_rows_that_change(models, fresh, found):
    X, y = fresh
    today, new = (decided(models[name], X) for name in ("today", "new"))
    ridge = decided(models["ridge"], X)
    expected = np.flatnonzero((new != today) | (ridge != today))
    changed = pd.DataFrame(found.changed)
    assert changed["row"].tolist() == expected.tolist()
    assert changed["true"].tolist() == y[expected].tolist()
    assert changed["decision_new"].tolist() == new[expected].tolist()
    scores = models["new"].predict_proba(X)[expected, 1]
    np.testing.assert_allclose(changed["score_new"], scores)
    np.testing.assert_allclose(
        changed["score_ridge"], models["ridge"].decision_function(X)[expected]
    )
    own = changed[changed["decision_new"] != changed["decision_today"]]
    right = own["decision_new"] == own["true"]
    assert (own["change_new"] == np.where(right, "win", "loss")).all()
    rest = changed[changed["decision_new"] == changed["decision_today"]]
    assert (rest["change_new"] == "none").all()
    assert (own["change_new"] == "win").mean() * len(own) == pytest.approx(
        found.pairs["new"].changes.wins * len(y)
    )


def test_frames_of_pandas_and_polars_with_an_index(models, fresh):
    X, y = fresh
    names = ["x", "w", "v"]
    frame = pd.DataFrame(X, columns=names, index=[f"r{i}" for i in range(len(y))])
    fitted = {
        n: LogisticRegression(C=c).fit(frame.iloc[:600], y[:600])
        for n, c in {"today": 0.01, "new": 1.0}.items()
    }
    shuffled = pd.Series(y, index=frame.index).sample(frac=1.0, random_state=0)
    one = compare(GOAL, fitted, frame.iloc[600:], shuffled.loc[frame.index[600:]][::-1])
    other = compare(GOAL, fitted, pl.DataFrame(X[600:], schema=names), pl.Series(y[600:]))
    assert numbers(one.differences["new"][0]) == numbers(other.differences["new"][0])
    assert one.changed["index"].tolist() == [f"r{600 + i}" for i in one.changed["row"]]
    assert "index" not in other.changed
    column = compare(GOAL, {"today": "said", "new": decided(fitted["new"], frame)},
                     frame.assign(said=decided(fitted["today"], frame)), y)  # fmt: skip
    assert column.reports["today"].objective.value == pytest.approx(
        measured(y, decided(fitted["today"], frame))[0]
    )


def test_groups_are_counted_apart(models, fresh):
    X, y = fresh
    sex = np.where(X[:, 2] > 0, "f", "m")
    goal = "maximize recall subject to recall.difference(sex) <= 0.3"
    found = compare(goal, models, X, y, sensitive_features={"sex": sex})
    groups = found.pairs["new"].groups
    assert [(g.column, g.value) for g in groups] == [("sex", "f"), ("sex", "m")]
    total = sum(g.changes.changed * g.changes.rows for g in groups)
    assert total == pytest.approx(found.pairs["new"].changes.changed * len(y))


class CountingCalls(LogisticRegression):
    """Counts how often it is asked for probabilities."""

    calls = 0

    def predict_proba(self, X):
        type(self).calls += 1
        return super().predict_proba(X)


@pytest.mark.parametrize("goal", [GOAL, "maximize f1"])
def test_each_classifier_scores_once(old, fresh, goal):
    given = {str(c): PlugInClassifier(CountingCalls(C=c), "f1").fit(*old) for c in (0.01, 0.1, 1.0)}
    CountingCalls.calls = 0
    compare(goal, given, *fresh)
    assert CountingCalls.calls == len(given)


# -- frontiers ---------------------------------------------------------------------------
def test_a_frontier_is_that_of_the_models_own_scores(models, fresh, found):
    X, y = fresh
    assert list(found.frontiers) == ["today", "new", "ridge"]
    own = frontier(models["new"], GOAL, vary=0, X=X, y=y)
    assert found.frontiers["new"] == own
    for name, (x, value) in found.points.items():
        assert found.frontiers[name].at(x) >= value - 1e-12
        assert [x, value] == pytest.approx(measured(y, decided(models[name], X))[1::-1])


def test_a_goal_without_constraints_has_one_by_the_share_accepted(models, fresh):
    X, y = fresh
    found = compare("maximize f1", models, X, y)
    scores, yes = models["ridge"].decision_function(X), y == "yes"
    order = np.argsort(-scores)
    found_so_far = np.cumsum(yes[order])
    f1 = 2 * found_so_far / (np.arange(1, len(y) + 1) + yes.sum())
    for k in (100, 300, 900):
        best = found.frontiers["ridge"].at(k / len(y))
        assert best == pytest.approx(f1[:k].max())
    assert found.points["ridge"][0] == pytest.approx(np.mean(scores >= 0))


def test_another_bound_may_move_or_none(models, fresh):
    X, y = fresh
    found = compare("maximize recall", models, X, y, frontier="churn <= 0.2")
    assert found.frontiers["new"].side == "churn"
    assert found.points["today"][0] == 0.0
    assert found.points["new"][0] == pytest.approx(found.pairs["new"].changes.changed)
    assert compare(GOAL, models, X, y, frontier=False).frontiers == {}


def test_decisions_have_a_point_and_say_so_and_scores_with_a_threshold_a_line(models, fresh):
    X, y = fresh
    scores = models["new"].predict_proba(X)[:, 1]
    given = {"by hand": decided(models["today"], X), "cut": Deployed(scores, threshold=0.4)}
    yes_no = np.where(scores >= 0.4, "yes", "no")
    found = compare(GOAL, given, None, y)
    assert list(found.frontiers) == ["cut"]
    assert list(found.points) == ["by hand", "cut"]
    assert found.notes == ("There is no frontier of by hand: only its decisions are known.",)
    assert found.reports["cut"].objective.value == pytest.approx(measured(y, yes_no)[0])


def test_no_frontier_where_the_other_bounds_cannot_be_met(models, fresh):
    goal = "maximize recall subject to predicted_rate <= 0.5 and precision >= 0.9999"
    found = compare(goal, {n: models[n] for n in ("today", "new")}, *fresh)
    assert "today" not in found.frontiers
    assert found.notes[0].startswith("There is no frontier of today: ")
    assert isinstance(found.frontiers.get("new", found.notes[-1]), (Frontier, str))


def test_more_classes(old, fresh):
    X, X_new = old[0], fresh[0]
    three, three_new = (np.where(A[:, 2] > 0, b, "maybe") for A, b in (old, fresh))
    given = {
        "today": DecisionTreeClassifier(max_depth=2).fit(X, three),
        "new": PlugInClassifier(LogisticRegression(), "macro_f1").fit(X, three),
    }
    found = compare("macro_f1", given, X_new, three_new)
    assert found.frontiers == {}
    assert found.notes == ("There are no frontiers: they are those of two classes.",)
    decisions = {n: decided(m, X_new) for n, m in given.items()}
    gain = [evaluate("macro_f1", three_new, d).objective.value for d in decisions.values()]
    assert found.differences["new"][0].difference.value == pytest.approx(gain[1] - gain[0])
    assert set(found.changed["change_new"]) == {"win", "loss", "other"}
    assert "score_new" not in found.changed


# -- the deployed model of the goal, several models, notes ----------------------------------
def test_the_deployed_model_is_the_first_one_unless_another_is_given(models, fresh):
    X, y = fresh
    goal = "maximize recall subject to churn <= 0.5"
    own = compare(goal, models, X, y)
    assert own.reports["today"].constraints[0].value == 0.0
    assert own.differences["new"][1].difference is None
    ridge = decided(models["ridge"], X)
    other = compare(goal, models, X, y, baseline=ridge)
    assert other.reports["ridge"].constraints[0].value == 0.0
    assert other.reports["new"].constraints[0].value == pytest.approx(
        np.mean(decided(models["new"], X) != ridge)
    )
    for one, two in zip(own.differences["new"], other.differences["new"], strict=True):
        assert one.difference == two.difference  # of recall; against the first in any case
    unknown = compare("minimize churn", models, X, y, baseline=ridge).pairs["new"]
    assert unknown.parts[0].difference is None
    assert unknown.why == "The difference in churn was not measured on these rows."


def test_limits_of_several_hold_at_once(models, fresh):
    X, y = fresh
    several = compare(GOAL, models, X, y)
    alone = compare(GOAL, {n: models[n] for n in ("today", "new")}, X, y)
    wide, narrow = (numbers(c.differences["new"][0]) for c in (several, alone))
    assert wide[0] == narrow[0]
    assert wide[1] < narrow[1] < narrow[2] < wide[2]
    assert several.pairs["new"].level == pytest.approx(0.975)
    given = {"a": y, "b": y, "c": np.full(len(y), "no")}
    found = compare("recall", given, None, y)
    assert (found.verdict, found.too_close) == ("too close to call", ("b",))
    assert found.why == (
        "'b' is too close to call: Both models decide every row alike. 'c' is shown to be worse: "
        "The recall of 'c' is shown to be worse."
    )
    assert "Neither better nor worse, as far as shown: b." in str(found)


def test_rows_of_the_fit_are_said_to_flatter(models, old):
    found = compare("f1", {n: models[n] for n in ("today", "new")}, *old)
    assert any(note.startswith("new was judged on rows ") for note in found.notes)
    assert found.verdict == "too close to call"
    assert "rows of the fit of 'new', which flatter it" in found.why


def test_a_rule_that_draws_is_counted_in_expectation(old, fresh):
    X, y = fresh
    goal = "maximize recall subject to precision >= 0.7"
    drawing = PlugInClassifier(LogisticRegression(), goal, randomized=True).fit(*old)
    found = compare(goal, {"today": drawing, "new": np.full(len(y), "yes")}, X, y)
    assert found.reports["today"].entries[0].value == pytest.approx(
        drawing.evaluate(X, y).objective.value
    )
    drawn = found.reports["today"].rule.drawn
    assert bool(drawn) == any("draws" in note for note in found.notes)


def test_models_of_every_kind_of_rule(old, fresh):
    """One cut-off for each group, a value-aware rule, and a stream, on one table."""
    (X, y), (X_new, y_new) = old, fresh
    sides = [
        {"sex": np.where(A[:, 2] > 0, "f", "m"), "amount": np.abs(A[:, 1])} for A in (X, X_new)
    ]
    goal = "maximize recall subject to precision >= 0.5 and predicted_rate.difference(sex) <= 0.2"
    given = {
        "stream": OnlineFClassifier(random_state=0).fit(X, y),
        "groups": PlugInClassifier(LogisticRegression(), goal, decide_on=["sex"]).fit(
            X, y, sensitive_features=sides[0]
        ),
        "values": PlugInClassifier(
            LogisticRegression(), "maximize profit(tp=amount, fp=-1)", decide_on=["amount"]
        ).fit(X, y, sensitive_features=sides[0]),
    }
    found = compare(goal, given, X_new, y_new, sensitive_features=sides[1])
    assert {"stream", "groups"} <= found.frontiers.keys()
    for name in ("stream", "groups"):
        assert found.frontiers[name].at(found.points[name][0]) >= found.points[name][1] - 1e-9
    own = given["groups"].predict(X_new, sensitive_features=sides[1])
    value = found.reports["groups"].objective.value
    assert value == pytest.approx(np.mean(own[y_new == "yes"] == "yes"))
    assert found.differences["groups"][0].difference.value == pytest.approx(
        value - found.reports["stream"].objective.value
    )


@pytest.mark.long
def test_the_interval_of_a_difference_covers():
    """Of 600 draws of 400 rows each limit misses the true difference at most 5 % of the time."""
    r = np.random.default_rng(0)
    n, below, above = 400, 0, 0
    true = 0.62 - 0.5  # recall of both, as they are drawn
    for _ in range(600):
        y = (r.random(n) < 0.3).astype(int)
        u = r.random(n)  # the two models agree on most rows
        today = np.where(y == 1, u < 0.5, u < 0.1).astype(int)
        new = np.where(y == 1, (u < 0.45) | (u > 0.83), u < 0.15).astype(int)
        given = {"today": today, "new": new}
        gain = compare("recall", given, None, y, frontier=False).differences["new"][0].difference
        below += gain.high < true
        above += gain.low > true
    assert max(below, above) <= 600 * 0.05 + 2.0 * np.sqrt(600 * 0.05 * 0.95)
