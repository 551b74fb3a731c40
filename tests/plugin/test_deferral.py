"""Deferral over posteriors: against a linear program with a variable for each row and answer."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog
from sklearn.linear_model import LogisticRegression

from setpoint import Goal, PlugInClassifier, evaluate, solve
from setpoint.counts import DEFERRED, Evidence
from setpoint.errors import GoalError
from setpoint.plugin import Options, search_rule
from setpoint.search import InfeasibleError
from setpoint.solvers import ModelResponse
from thinning import over

pytestmark = [
    pytest.mark.filterwarnings("ignore::setpoint.search.achievable.ConstantGoalWarning"),
    pytest.mark.filterwarnings("ignore::setpoint.report.report.FewRowsWarning"),
]


class Sample:
    """Rows with posteriors of two to four classes; coefficients of decisions (N, n + 1)."""

    def __init__(self, seed):
        rng = np.random.default_rng(seed)
        self.n, self.k = 30, 2 + seed % 3
        self.p = rng.dirichlet(np.ones(self.k), self.n)
        self.y = np.array([rng.choice(self.k, p=row) for row in self.p])
        self.y[: self.k] = np.arange(self.k)
        self.g = np.array(["a", "b"])[np.arange(self.n) % 2]
        self.w = [None, rng.integers(1, 4, self.n) * 1.0, rng.lognormal(size=self.n)][seed % 3]
        self.weight = np.ones(self.n) if self.w is None else self.w
        self.level = float(np.round(rng.uniform(0.6, 0.95), 2))
        self.price = float(np.round(rng.uniform(0.05, 0.6), 2))

    def share(self, table, where=True):
        """Coefficients of the mean of a table (N, n + 1) over some rows."""
        w = self.weight * where
        return table * w[:, None] / w.sum()

    def deferred(self, where=True):
        table = np.zeros((self.n, self.k + 1))
        table[:, -1] = 1.0
        return self.share(table, where)

    def right(self):
        return self.share(np.column_stack([self.p, np.zeros(self.n)]))

    def wrong(self):
        return self.share(np.column_stack([1.0 - self.p, np.zeros(self.n)]))

    def recall(self, label):
        table = np.zeros((self.n, self.k + 1))
        table[:, label] = self.p[:, label]
        return table * self.weight[:, None] / (self.p[:, label] @ self.weight)


GOALS = {
    "decided": lambda r: (
        f"minimize deferral_rate subject to accuracy.decided >= {r.level}",
        -r.deferred(),
        [((r.level - 1.0) * r.right() + r.level * r.wrong(), 0.0)],
    ),
    "groups": lambda r: (
        f"minimize deferral_rate subject to accuracy.decided >= {r.level} "
        "and deferral_rate.difference(g) <= 0.05",
        -r.deferred(),
        [
            ((r.level - 1.0) * r.right() + r.level * r.wrong(), 0.0),
            (r.deferred(r.g == "a") - r.deferred(r.g == "b"), 0.05),
            (r.deferred(r.g == "b") - r.deferred(r.g == "a"), 0.05),
        ],
    ),
    "price": lambda r: (
        f"minimize error_rate + {r.price} * deferral_rate",
        -(r.wrong() + r.price * r.deferred()),
        [],
    ),
    "capacity": lambda r: (
        "minimize error_rate subject to deferral_rate <= 0.3 and recall(label=0) >= 0.3",
        -r.wrong(),
        [(r.deferred(), 0.3), (-r.recall(0), -0.3)],
    ),
}


@over("seed", range(300), every=10)
def test_draws_reach_what_a_variable_for_each_answer_does(seed):
    r = Sample(seed)
    text, gains, rows = list(GOALS.values())[seed % len(GOALS)](r)
    goal = Goal.parse(text)
    evidence = Evidence.from_arrays(
        (*range(r.k), DEFERRED),
        r.p,
        r.y,
        needs=goal.needs,
        weight=r.w,
        columns={"g": r.g},
        decide_on=["g"] if "(g)" in text else [],
    )
    each = np.kron(np.eye(r.n), np.ones(r.k + 1))
    lp = linprog(
        -gains.ravel(),
        A_ub=[a.ravel() for a, _ in rows] or None,
        b_ub=[b for _, b in rows] or None,
        A_eq=each,
        b_eq=np.ones(r.n),
    )
    options = Options.of("auto", evidence="soft", randomized=True)
    if "decided" in text and lp.status == 0 and -lp.fun < -1 + 1e-9:
        with pytest.raises(InfeasibleError):  # the accuracy of nobody meets no floor
            search_rule(goal, evidence, options)
        return
    found = search_rule(goal, evidence, options)
    segments = evidence.rows.segment if found.rule.needs_segments else None
    d = found.rule.distribution(evidence.scores, segments)
    assert d.shape == (r.n, r.k + 1)
    assert all((a * d).sum() <= limit + 1e-6 for a, limit in rows)
    reached = (gains * d).sum()
    assert reached >= -lp.fun - 1e-4
    assert found.certificate.gap is not None
    assert reached + found.certificate.gap >= -lp.fun - 1e-6


def test_by_labels_the_bound_holds_over_the_rows_decided():
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(3), 2000)
    y = (p.cumsum(1) > rng.random((2000, 1))).argmax(1)
    goal = "minimize deferral_rate subject to accuracy.decided >= 0.8"
    found = solve(goal, p, y, evidence="label")
    labels = found.rule.decide(p)
    kept = labels != 3
    assert found.report.objective.value == pytest.approx(1 - kept.mean())
    assert found.report.constraints[0].value == pytest.approx((labels[kept] == y[kept]).mean())
    # As many as by the largest posterior at least.
    order = np.argsort(-p.max(axis=1))
    share = np.cumsum((p.argmax(axis=1) == y)[order]) / np.arange(1, 2001)
    assert kept.mean() >= np.flatnonzero(share >= 0.8).max() / 2000 - 0.02


def fitted(y, **options):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(len(y), 2)) + np.asarray(y == np.unique(y)[1])[:, None]
    goal = "minimize deferral_rate subject to accuracy.decided >= 0.9"
    return PlugInClassifier(LogisticRegression(), goal, **options).fit(X, y), X


HALF = np.arange(300) % 2
WORDS = np.array(["no", "yes"])[HALF]


def test_a_classifier_answers_defer():
    clf, X = fitted(WORDS)
    answers = clf.predict(X)
    assert set(answers) == {"no", "yes", "defer"}
    numbers, _ = fitted(HALF, response=ModelResponse(defer_label=-1))
    assert numbers.predict(X).dtype.kind == "i"
    assert clf.classes_.tolist() == ["no", "yes"]
    shares = clf.decision_distribution(X)
    assert shares.shape == (300, 3)
    assert (shares[:, 2] == (answers == "defer")).all()
    right = answers == WORDS
    assert clf.score(X, WORDS) == pytest.approx(right.mean())
    assert clf.evaluate(X, WORDS).constraints[0].value == pytest.approx(
        right.sum() / (answers != "defer").sum()
    )


def test_a_class_cannot_have_the_label_of_deferring():
    named = np.array(["no", "defer"])[HALF]
    with pytest.raises(GoalError, match="rename the class"):
        fitted(named, pos_label="no", response=ModelResponse(defer_label="person"))
    with pytest.raises(ValueError, match="`defer_label`=1"):
        fitted(HALF, response=ModelResponse(defer_label=1))


@over(
    ("metric", "value"),
    [
        ("precision", 2 / 3),
        ("recall", 0.4),
        ("f1", 0.5),  # still the harmonic mean of the two
        ("f1.decided", 2 / 3),
        ("jaccard", 1 / 3),
        ("fbeta(2)", 5 * 2 / (5 * 2 + 1 + 4 * 3)),
    ],
)
def test_metrics_of_answers_that_defer(metric, value):
    y = np.array(["1"] * 5 + ["0"] * 5)
    decided = np.array(["1", "1", "0", "defer", "defer", "1", "0", "0", "0", "defer"])
    goal = f"maximize {metric} subject to deferral_rate <= 0.9"
    assert evaluate(goal, y, decided, pos_label="1").objective.value == pytest.approx(value)


def test_decisions_of_any_name_are_judged():
    y, answers = ["a", "b", "a", "b"], ["a", "b", "ask", "a"]
    goal = "minimize deferral_rate subject to accuracy.decided >= 0.5"
    with pytest.raises(ValueError, match="pass `defer_label`='ask'"):
        evaluate(goal, y, answers)
    report = evaluate(goal, y, answers, defer_label="ask")
    assert report.objective.value == 0.25
    assert report.constraints[0].value == pytest.approx(2 / 3)
