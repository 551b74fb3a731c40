"""Models on the same rows: exact differences, what changes, and who is better by the goal."""

from functools import cache

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.tree import DecisionTreeClassifier

from setpoint import Deployed, PlugInClassifier, compare, evaluate, frontier
from thinning import over

BETTER, WORSE, CLOSE = "shown to be better", "shown to be worse", "too close to call"
GOAL = "maximize recall subject to precision >= 0.5 and predicted_rate <= 0.5"


def rows(n, seed):
    """Two columns of three know something of the label, which is "yes" or "no"."""
    r = np.random.default_rng(seed)
    X = r.normal(size=(n, 3))
    z = X[:, 0] + 0.9 * X[:, 1] + 0.8 * r.normal(size=n)
    return X, np.where(z > 0.9, "yes", "no")


OLD, (X, Y) = rows(800, 0), rows(1200, 1)


@cache
def models():
    """One of this library, one of scikit-learn that scores, one that does not."""
    return {
        "today": DecisionTreeClassifier(max_depth=1).fit(*OLD),
        "new": PlugInClassifier(LogisticRegression(), "f1").fit(*OLD),
        "ridge": RidgeClassifier().fit(*OLD),
    }


def only(*names):
    return {name: models()[name] for name in names}


@cache
def decisions():
    return {name: model.predict(X) for name, model in models().items()}


@cache
def found():
    return compare(GOAL, models(), X, Y)


def measured(y, decision):
    """Recall, precision and the share accepted, by hand."""
    yes, accepted = y == "yes", decision == "yes"
    both = (yes & accepted).sum()
    return [both / yes.sum(), both / accepted.sum(), accepted.mean()]


def numbers(part):
    gain = part.difference
    return [gain.value, gain.low, gain.high]


def test_values_and_differences_are_those_that_are_counted_by_hand():
    today = measured(Y, decisions()["today"])
    for name, decided in decisions().items():
        own, report = measured(Y, decided), found().reports[name]
        assert [e.value for e in report.entries] == pytest.approx(own)
        assert evaluate(GOAL, Y, decided).entries == report.entries
        for part, value, gain in zip(
            found().differences.get(name, ()), own, np.subtract(own, today), strict=name != "today"
        ):
            assert part.candidate.value == pytest.approx(value)
            assert part.difference.value == pytest.approx(gain)
            assert part.difference.low < gain < part.difference.high


def test_both_orders_mirror_each_other_and_equal_models_change_nothing():
    a, b = models()["today"], models()["ridge"]
    one, other = compare(GOAL, {"a": a, "b": b}, X, Y), compare(GOAL, {"b": b, "a": a}, X, Y)
    for p, q in zip(one.differences["b"], other.differences["a"], strict=True):
        value, low, high = numbers(q)
        assert numbers(p) == pytest.approx([-value, -high, -low], abs=1e-9)
        assert {p.verdict, q.verdict} in ({BETTER, WORSE}, {CLOSE})
    swapped = {"win": "loss", "loss": "win"}
    there, back = one.changed["change_b"], other.changed["change_a"]
    assert [swapped.get(x, x) for x in there] == back.tolist()
    assert (one.changed["row"] == other.changed["row"]).all()
    same = compare(GOAL, {"a": b, "b": b}, X, Y)
    assert (same.verdict, same.why) == (CLOSE, "Both models decide every row alike.")
    assert all(numbers(p)[0] == 0.0 for p in same.differences["b"])
    assert len(same.changed["row"]) == 0
    assert same.frontiers["a"] == same.frontiers["b"]


def test_weight_2_is_the_row_twice():
    weight = np.random.default_rng(0).integers(0, 3, len(Y))
    weighted = compare(GOAL, models(), X, Y, sample_weight=weight)
    repeated = compare(GOAL, models(), np.repeat(X, weight, 0), np.repeat(Y, weight))
    for name in ("new", "ridge"):
        for a, b in zip(weighted.differences[name], repeated.differences[name], strict=True):
            assert a.difference.value == pytest.approx(b.difference.value)
        lines = weighted.frontiers[name].values, repeated.frontiers[name].values
        np.testing.assert_allclose(*lines, atol=1e-12)
        both = weighted.pairs[name].changes, repeated.pairs[name].changes
        assert both[0].changed == pytest.approx(both[1].changed)
    assert weighted.changed["weight"].sum() == len(repeated.changed["row"])
    assert (weighted.changed["weight"] > 0).all()


def test_weight_2_is_the_row_twice_in_each_group_and_asks_for_as_many_rows():
    r = np.random.default_rng(0)
    y, sex = (r.random(400) < 0.3).astype(int), r.choice(["f", "m"], 400)
    today, new = (np.where(r.random(400) < share, y, 0) for share in (0.5, 0.53))
    goal = 'maximize recall subject to predicted_rate.difference("sex") <= 0.2'

    def pair(times, **more):
        rows = (np.repeat(x, times) for x in (today, new, y, sex))
        a, b, true, groups = rows
        found = compare(
            goal, {"a": a, "b": b}, None, true, sensitive_features={"sex": groups}, **more
        )
        return found.pairs["b"]

    weight = 1 + (y == 1)
    shares = [
        [g.changes.changed for g in one.groups]
        for one in (pair(weight), pair(1, sample_weight=weight))
    ]
    assert shares[0] == pytest.approx(shares[1])
    assert pair(1).rows_needed > 800
    assert pair(2).rows_needed == pytest.approx(pair(1).rows_needed, rel=0.05)


def test_the_test_is_of_the_goals_own_objective():
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


def test_the_rows_that_change():
    today, new, ridge = (decisions()[name] for name in ("today", "new", "ridge"))
    expected = np.flatnonzero((new != today) | (ridge != today))
    changed = pd.DataFrame(found().changed)
    assert changed["row"].tolist() == expected.tolist()
    assert changed["true"].tolist() == Y[expected].tolist()
    assert changed["decision_new"].tolist() == new[expected].tolist()
    own = models()["new"].predict_proba(X)[expected, 1]
    np.testing.assert_allclose(changed["score_new"], own)
    np.testing.assert_allclose(
        changed["score_ridge"], models()["ridge"].decision_function(X)[expected]
    )
    same = changed["decision_new"] == changed["decision_today"]
    right = changed["decision_new"] == changed["true"]
    kinds = np.where(same, "none", np.where(right, "win", "loss"))
    assert changed["change_new"].tolist() == kinds.tolist()
    assert (kinds == "win").sum() == pytest.approx(found().pairs["new"].changes.wins * len(Y))
    # Rows are named by their index, where they have one; a column may be the model.
    frame = pd.DataFrame(X, columns=[*"xwv"], index=[f"r{i}" for i in range(len(Y))])
    column = compare(GOAL, {"today": "said", "new": new}, frame.assign(said=today), Y)
    assert column.reports["today"].objective == found().reports["today"].objective
    assert column.changed["index"].tolist() == [f"r{i}" for i in column.changed["row"]]


class CountingCalls(LogisticRegression):
    """Counts how often it is asked for probabilities."""

    calls = 0

    def predict_proba(self, X):
        type(self).calls += 1
        return super().predict_proba(X)


@over("goal", [GOAL, "maximize f1"])
def test_each_classifier_scores_once(goal):
    given = {str(c): PlugInClassifier(CountingCalls(C=c), "f1").fit(*OLD) for c in (0.01, 0.1, 1.0)}
    CountingCalls.calls = 0
    compare(goal, given, X, Y)
    assert CountingCalls.calls == len(given)


@over(
    ("today", "candidate", "verdict"),
    [
        # Positives and others accepted: shown to meet the goal, open, or shown to fail it.
        ((200, 60), (300, 100), BETTER),
        ((300, 100), (200, 60), WORSE),
        ((200, 60), (204, 60), CLOSE),
        ((200, 40), (300, 125), BETTER),  # less precise, but the bound is all that is asked for
        ((200, 132), (300, 198), BETTER),
        ((200, 110), (300, 210), CLOSE),  # bought by the constraint
        ((300, 210), (200, 110), CLOSE),
        ((200, 60), (300, 198), CLOSE),
        ((200, 132), (300, 100), BETTER),
        ((300, 400), (200, 60), BETTER),
        ((200, 60), (300, 400), WORSE),
        ((200, 300), (300, 400), CLOSE),
        ((200, 132), (300, 400), CLOSE),
        ((300, 400), (320, 210), BETTER),
    ],
)
def test_which_is_better(today, candidate, verdict):
    """By the objective, subject to the constraints."""
    at, given = np.arange(1000), {}
    for name, start, (right, wrong) in (("today", 0, today), ("new", 50, candidate)):
        given[name] = (at >= start) & (at < start + right) | (at >= 400) & (at < 400 + wrong)
    goal = "maximize recall subject to precision >= 0.6"
    assert compare(goal, given, None, at < 400, frontier=False).verdict == verdict


def test_a_frontier_is_that_of_the_models_own_scores():
    assert list(found().frontiers) == ["today", "new", "ridge"]
    assert found().frontiers["new"] == frontier(models()["new"], GOAL, vary=0, X=X, y=Y)
    for name, (x, value) in found().points.items():
        assert found().frontiers[name].at(x) >= value - 1e-12
        assert [x, value] == pytest.approx(measured(Y, decisions()[name])[1::-1])
    # A goal without constraints has one by the share accepted.
    free = compare("maximize f1", models(), X, Y)
    scores, yes = models()["ridge"].decision_function(X), Y == "yes"
    f1 = 2 * np.cumsum(yes[np.argsort(-scores)]) / (np.arange(1, len(Y) + 1) + yes.sum())
    for k in (100, 300, 900):
        assert free.frontiers["ridge"].at(k / len(Y)) == pytest.approx(f1[:k].max())
    assert free.points["ridge"][0] == pytest.approx(np.mean(scores >= 0))
    churn = compare("maximize recall", models(), X, Y, frontier="churn <= 0.2")
    assert churn.points["new"][0] == pytest.approx(churn.pairs["new"].changes.changed)
    assert compare(GOAL, models(), X, Y, frontier=False).frontiers == {}


def test_models_without_a_frontier_have_a_point_and_say_why():
    scores = models()["new"].predict_proba(X)[:, 1]
    given = {"by hand": decisions()["today"], "cut": Deployed(scores, threshold=0.4)}
    known = compare(GOAL, given, None, Y)
    assert list(known.frontiers) == ["cut"]
    assert list(known.points) == ["by hand", "cut"]
    assert known.notes == ("There is no frontier of by hand: only its decisions are known.",)
    wanted = measured(Y, np.where(scores >= 0.4, "yes", "no"))[0]
    assert known.reports["cut"].objective.value == pytest.approx(wanted)
    goal = "maximize recall subject to predicted_rate <= 0.5 and precision >= 0.9999"
    unmet = compare(goal, only("today", "new"), X, Y)
    assert "today" not in unmet.frontiers
    assert unmet.notes[0].startswith("There is no frontier of today: ")


def test_more_classes():
    three, three_new = (np.where(A[:, 2] > 0, b, "maybe") for A, b in (OLD, (X, Y)))
    given = {
        "today": DecisionTreeClassifier(max_depth=2).fit(OLD[0], three),
        "new": PlugInClassifier(LogisticRegression(), "macro_f1").fit(OLD[0], three),
    }
    found = compare("macro_f1", given, X, three_new)
    assert found.frontiers == {}
    assert found.notes == ("There are no frontiers: they are those of two classes.",)
    today, new = (evaluate("macro_f1", three_new, m.predict(X)).objective for m in given.values())
    assert found.differences["new"][0].difference.value == pytest.approx(new.value - today.value)
    assert set(found.changed["change_new"]) == {"win", "loss", "other"}
    assert "score_new" not in found.changed


def test_the_deployed_model_is_the_first_one_unless_another_is_given():
    goal, ridge = "maximize recall subject to churn <= 0.5", decisions()["ridge"]
    own = compare(goal, decisions(), None, Y)
    assert own.reports["today"].constraints[0].value == 0.0
    assert own.differences["new"][1].difference is None
    other = compare(goal, decisions(), None, Y, baseline=ridge)
    assert other.reports["ridge"].constraints[0].value == 0.0
    # Differences are against the first in any case.
    assert other.differences["new"][0].difference == own.differences["new"][0].difference
    unknown = compare("minimize churn", decisions(), None, Y, baseline=ridge).pairs["new"]
    assert unknown.why == "The difference in churn was not measured on these rows."


def test_limits_of_several_hold_at_once():
    alone = compare(GOAL, only("today", "new"), X, Y)
    wide, narrow = (numbers(c.differences["new"][0]) for c in (found(), alone))
    assert wide[0] == narrow[0]
    assert wide[1] < narrow[1] < narrow[2] < wide[2]
    assert found().pairs["new"].level == pytest.approx(0.975)
    several = compare("recall", {"a": Y, "b": Y, "c": np.full(len(Y), "no")}, None, Y)
    assert (several.verdict, several.too_close) == (CLOSE, ("b",))
    assert "'c' is shown to be worse: The recall of 'c' is shown to be worse." in several.why
    assert "Neither better nor worse, as far as shown: b." in str(several)


def test_rows_of_the_fit_are_said_to_flatter_and_draws_are_counted_in_expectation():
    same = compare("f1", only("today", "new"), *OLD)
    assert same.verdict == CLOSE
    assert "rows of the fit of 'new', which flatter it" in same.why
    goal = "maximize recall subject to precision >= 0.7"
    drawing = PlugInClassifier(LogisticRegression(), goal, randomized=True).fit(*OLD)
    found = compare(goal, {"today": drawing, "new": np.full(len(Y), "yes")}, X, Y)
    wanted = drawing.evaluate(X, Y).objective.value
    assert found.reports["today"].entries[0].value == pytest.approx(wanted)
    assert bool(found.reports["today"].rule.drawn) == any("draws" in n for n in found.notes)


def test_rows_of_one_unit_tell_as_much_as_it_does():
    """Ten copies of each row are one unit, and pairs of three kinds tell more than a share."""
    ten, goal = np.repeat(np.arange(len(Y)), 10), "maximize accuracy subject to recall >= 0.5"
    made = {name: x for name, x in decisions().items() if name != "ridge"}
    rows, units = (
        compare(goal, {name: x[index] for name, x in made.items()}, None, Y[index], **more)
        for index, more in ((slice(None), {}), (ten, {"units": ten, "frontier": False}))
    )
    pairs = zip(rows.differences["new"], units.differences["new"], strict=True)
    for one, other in ((a.difference, b.difference) for a, b in pairs):
        assert other.value == pytest.approx(one.value)
        assert other.high - other.low == pytest.approx(one.high - one.low, rel=0.05)
    report = units.reports["new"]
    assert report.constraints[0].low == pytest.approx(
        evaluate(goal, Y[ten], made["new"][ten], units=ten, pos_label="yes").constraints[0].low
    )


def test_units_are_the_column_that_a_model_was_fitted_by():
    frame, goal = pd.DataFrame(X, columns=list("abc")), "maximize f1"
    frame["customer"] = np.arange(len(Y)) // 4
    new = PlugInClassifier(LogisticRegression(), goal, cv=0.5, units="customer").fit(frame, Y)
    given = {"today": models()["today"].predict(X), "new": new}
    found = compare(goal, given, frame, Y, frontier=False)
    named = compare(goal, given, frame, Y, frontier=False, units=frame["customer"].to_numpy())
    assert found.differences["new"][0].difference == named.differences["new"][0].difference
    plain = compare(goal, decisions(), frame, Y, frontier=False).differences["new"][0].difference
    assert plain.low != found.differences["new"][0].difference.low
    for units, message in (([1, 2], "`units` has 2 rows"), ("shop", "`units`.* 'shop'")):
        with pytest.raises(ValueError, match=message):
            compare(goal, given, frame, Y, units=units)
    one = compare(goal, decisions(), None, Y, frontier=False, units=np.ones(len(Y)))
    assert one.verdict == CLOSE  # one unit shows nothing


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
