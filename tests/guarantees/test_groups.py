"""The groups that a certificate is about: a list that was there before, and what lies outside."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import beta
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from setpoint import Dataset, Goal, GoalError, GoalReport, PlugInClassifier, certify, solve
from setpoint.classifiers import split_kinds
from setpoint.counts import Codebook, Marginals, Stratum
from setpoint.guarantees import Promise
from setpoint.program import link
from setpoint.rules import Threshold
from thinning import over

GOAL = "maximize precision subject to recall.min(g) >= 0.6"
BOTH = "maximize recall subject to recall.min(g) >= 0.6 and precision >= 0.8"


def frame(groups, seed=0, bad=()):
    """Rows of the groups given, each as often as said; of `bad` ones positives score low."""
    rng = np.random.default_rng(seed)
    g = np.repeat(list(groups), list(groups.values()))
    y = (rng.random(len(g)) < 0.5).astype(int)
    s = np.clip(0.7 * y + 0.3 * rng.random(len(g)) - 0.6 * np.isin(g, bad), 0.0, 1.0)
    return pd.DataFrame({"s": s, "g": g}), y


def fitted(goal, groups, apart, decide_on=None, bad=()):
    model = make_pipeline(make_column_transformer(("passthrough", ["s"])), LogisticRegression())
    clf = PlugInClassifier(
        model, goal, sensitive_features="g", decide_on=decide_on, confidence=0.95, cv=2
    )
    X, y = frame(groups)
    return clf.fit(X, y, certify_on=Dataset(*frame(apart, 1, bad), sensitive_features="g"))


# ---------------------------------------------------------------------- what is said of others
@over("decide_on", [None, "g"])
def test_rows_of_a_group_that_the_fit_did_not_have_are_counted_and_do_not_certify(decide_on):
    clf = fitted(GOAL, {"a": 200, "b": 200}, {"a": 150, "b": 140, "c": 10}, decide_on, bad="c")
    report = clf.goal_report_
    found = report.guarantee
    assert found.state == "certified"
    assert found.groups == ((("g",), (("a",), ("b",))),)
    assert (found.rows, found.others[0]) == (290, 10)
    assert found.others[1] == pytest.approx(beta.isf(0.05, 11, 290))
    text = str(report).replace("\n", " ")
    assert "for the groups a and b of g alone; at most 5.6 % of rows belong to others" in text
    assert "(95 %; 10 seen)" in text
    assert GoalReport.from_dict(report.to_dict()).guarantee.others == found.others
    with pytest.raises(GoalError, match="g = c"):
        clf.predict(frame({"c": 1})[0])


def test_a_statement_about_all_rows_is_about_those_of_the_list_too():
    """Rows that a certified rule refuses count in no rate that is promised of it."""
    groups, bad = {"a": 200, "b": 200}, {"a": 150, "b": 140, "c": 60}
    with_others = fitted(BOTH, groups, bad, bad="c").goal_report_
    without = fitted(BOTH, groups, {"a": 150, "b": 140}).goal_report_
    assert with_others.guarantee.rows == without.guarantee.rows == 290
    assert with_others.guarantee.others[0] == 60
    assert with_others.counts.n_rows == 290


def test_a_group_of_the_fit_that_no_certifying_row_has_is_refused_by_name():
    with pytest.raises(GoalError, match=r"the rows that certify: .* g = b hold none"):
        fitted(GOAL, {"a": 200, "b": 200}, {"a": 300})


def test_a_list_that_the_rows_made_themselves_says_nothing_of_others():
    X, y = frame({"a": 200, "b": 200})
    given = {"sensitive_features": {"g": X["g"]}}
    found = [
        solve(GOAL, X["s"], y, decide_on=None, confidence=0.95, **given).report,
        certify(Threshold(0.5), GOAL, X["s"], y, **given).report,
    ]
    for report in found:
        guarantee = report.guarantee
        assert guarantee.groups == ((("g",), (("a",), ("b",))),)
        assert guarantee.others is None
        text = str(report).replace("\n", " ")
        assert "a and b of g alone; how many rows belong to others is not known" in text


# ---------------------------------------------------------------------- the limit
def marginals(kinds, groups):
    weights = np.bincount(kinds, minlength=3 * groups).reshape(groups, 3).astype(float)
    return Marginals(weights, np.where(weights > 0, 1.0, np.inf))


def covered(shares, draws, n=400, share=0.3, seed=0):
    """How often the limit covers, for rows drawn on their own and for a part of all rows."""
    strata = tuple(Stratum(None, (("g", i),)) for i in range(len(shares)))
    book, rng, hits = Codebook.of((0, 1), strata), np.random.default_rng(seed), []
    promise = Promise.of(link(Goal.parse(GOAL), book), 0.95)
    for _ in range(draws):
        kinds = 3 * rng.choice(len(shares), n, p=shares) + (rng.random(n) < 0.5)
        for side in (rng.random(n) < share, split_kinds(kinds, None, share, rng, True)):
            parts = (marginals(kinds[s], len(shares)) for s in (~side, side))
            kept, limit = promise.listed(book, *parts)
            hits.append(shares[~kept].sum() <= limit)
    return np.mean(np.reshape(hits, (-1, 2)), axis=0)


ZIPF = 1.0 / np.arange(1, 301)
POPULATIONS = [
    pytest.param(ZIPF / ZIPF.sum(), id="Zipf"),
    pytest.param(np.array([0.994, 0.006]), id="one rare group"),
    pytest.param(np.array([0.5] + [0.005] * 100), id="tiny groups"),
]


@pytest.mark.parametrize("shares", POPULATIONS)
def test_the_limit_covers_the_share_outside_the_list(shares):
    assert (covered(shares, 60) >= 0.95 - 2.33 * np.sqrt(0.05 * 0.95 / 60)).all()


@pytest.mark.long
@pytest.mark.parametrize("shares", POPULATIONS)
def test_the_limit_covers_the_share_outside_the_list_in_many_draws(shares):
    assert (covered(shares, 1_000, 1_000) >= 0.95 - 2.33 * np.sqrt(0.05 * 0.95 / 1_000)).all()
