"""Rates, rows and gradients counted by hand: masks and sums, no tables and no features."""

import math
import re
from dataclasses import dataclass

import numpy as np

from setpoint import Goal
from setpoint.inputs import CheckedData, ClassOrder, GivenRows, least_accepted, row_unit
from setpoint.program import link
from setpoint.ramp.problem import Problem


@dataclass
class Rowset:
    """One data set, and the share p of each of its rows that is accepted."""

    X: np.ndarray
    true: np.ndarray | None
    weight: np.ndarray
    group: np.ndarray
    deployed: np.ndarray
    p: np.ndarray | None = None

    def decided(self, w, drawn=True):
        """The same rows with what a linear model accepts."""
        z = [math.fsum(w[:-1] * x) + w[-1] for x in self.X]
        p = [min(1.0, max(0.0, a + 0.5)) if drawn else float(a >= 0) for a in z]
        rest = (self.X, self.true, self.weight, self.group, self.deployed)
        return Rowset(*rest, np.array(p))

    def where(self, **equal):
        """The rows with these values: true, group, deployed."""
        out = np.ones(len(self.weight), bool)
        for name, value in equal.items():
            out &= getattr(self, name) == value
        return out

    def n(self, **equal):
        """Their weight."""
        return math.fsum(self.weight[self.where(**equal)])

    def sp(self, **equal):
        """The share of their weight that is accepted."""
        mask = self.where(**equal)
        return math.fsum((self.weight * self.p)[mask]) / math.fsum(self.weight[mask])

    def sn(self, **equal):
        """The share of their weight that is not."""
        mask = self.where(**equal)
        return math.fsum((self.weight * (1.0 - self.p))[mask]) / math.fsum(self.weight[mask])

    def count(self, accepted, **equal):
        """The weight of the rows that are accepted, or not, as a share of all."""
        rate = self.sp(**equal) if accepted else self.sn(**equal)
        return self.n(**equal) * rate / self.n()


def drawn_sets(seed, n=80, d=3):
    """Labelled and unlabelled rows, some of them in several sets; weights, groups, decisions."""
    rng = np.random.default_rng(seed)

    def rows(X, labelled):
        size = len(X)
        true = (X[:, 0] + 0.5 * X[:, 1] + 0.7 * rng.normal(size=size) > 0.4).astype(int)
        weight = rng.choice([0.5, 1.0, 2.0, 3.25], size)
        group = np.resize(["a", "b", "c"], size)[rng.permutation(size)]
        deployed = (X[:, 1] > 0.3).astype(int)
        return Rowset(X, true if labelled else None, weight, group, deployed)

    X = rng.normal(size=(n, d))
    again = np.vstack([X[: n // 4], rng.normal(size=(n // 4, d))])
    fresh = np.vstack([X[n // 2 : n // 2 + 10], again[-10:], rng.normal(size=(n // 4, d))])
    return {None: rows(X, True), "hard": rows(again, True), "fresh": rows(fresh, False)}


def problem_of(goal, sets, C=0.1):
    """The ramp problem of a goal on data sets; features are scaled as a whole."""
    goal, main = Goal.parse(goal), sets[None]
    given = {
        name: GivenRows(len(s.X), s.true, s.weight, {"g": s.group}, s.deployed, s.X)
        for name, s in sets.items()
        if name is None or name in goal.needs.datasets
    }
    inputs = CheckedData.check(goal, ClassOrder(np.array([0, 1]), (0, 1)), given, None)
    rows, unit = inputs.rows, row_unit(main.weight)
    norm = np.sqrt(np.average((main.X**2).sum(axis=1), weights=main.weight))
    factor = np.clip(norm, 10**0.5, 20**0.5) / norm if norm else 1.0
    return Problem(
        factor * np.vstack([sets[name].X for name in inputs.tables]),
        rows.kind.astype(np.int64),
        rows.weight,
        link(goal, rows.codebook).at(rows.marginals),
        2.0 * unit / (C * main.weight.sum()),
        least_accepted("auto", main.weight[main.true == 1].sum(), unit),
    )


def over(a, b, at_zero=0.0):
    return a / b if b else at_zero


# ---------------------------------------------------------------------- rates
def precision(D):
    tp, fp = D.count(True, true=1), D.count(True, true=0)
    return over(tp, tp + fp)


def f1(D):
    tp, fp, fn = D.count(True, true=1), D.count(True, true=0), D.count(False, true=1)
    return 2 * tp / (2 * tp + fp + fn)


def wins(D):
    return D.count(True, true=1, deployed=0) + D.count(False, true=0, deployed=1)


def losses(D):
    return D.count(False, true=1, deployed=1) + D.count(True, true=0, deployed=0)


def churn(D):
    return D.count(False, deployed=1) + D.count(True, deployed=0)


def error(D):
    return D.count(True, true=0) + D.count(False, true=1)


def by_group(D, **equal):
    return [D.sp(group=g, **equal) for g in np.unique(D.group)]


RATES = {
    "predicted_rate": lambda D: D[None].sp(),
    "predicted_rate.on('fresh')": lambda D: D["fresh"].sp(),
    "predicted_rate.on(g='a')": lambda D: D[None].sp(group="a"),
    "predicted_rate.on(g='b')": lambda D: D[None].sp(group="b"),
    "predicted_rate.on('fresh', g='a')": lambda D: D["fresh"].sp(group="a"),
    "tp": lambda D: D[None].count(True, true=1),
    "fp": lambda D: D[None].count(True, true=0),
    "tn": lambda D: D[None].count(False, true=0),
    "recall": lambda D: D[None].sp(true=1),
    "recall.on('hard')": lambda D: D["hard"].sp(true=1),
    "recall.on(g='a')": lambda D: D[None].sp(true=1, group="a"),
    "recall.on(g='b')": lambda D: D[None].sp(true=1, group="b"),
    "specificity": lambda D: D[None].sn(true=0),
    "specificity.on('hard')": lambda D: D["hard"].sn(true=0),
    "false_positive_rate": lambda D: D[None].sp(true=0),
    "false_positive_rate.on('hard', g='c')": lambda D: D["hard"].sp(true=0, group="c"),
    "error_rate": lambda D: error(D[None]),
    "error_rate.on('hard')": lambda D: error(D["hard"]),
    "accuracy.on('hard')": lambda D: 1 - error(D["hard"]),
    "churn": lambda D: churn(D[None]),
    "churn.on('fresh')": lambda D: churn(D["fresh"]),
    "wins": lambda D: wins(D[None]),
    "losses": lambda D: losses(D[None]),
    "losses.on('hard')": lambda D: losses(D["hard"]),
    "recall.baseline()": lambda D: D[None].n(true=1, deployed=1) / D[None].n(true=1),
    "precision": lambda D: precision(D[None]),
    "precision.on('hard')": lambda D: precision(D["hard"]),
    "f1": lambda D: f1(D[None]),
    "wins / (wins + losses)": lambda D: over(wins(D[None]), wins(D[None]) + losses(D[None])),
    "win_change_ratio": lambda D: over(wins(D[None]), churn(D[None])),
    "win_loss_ratio": lambda D: over(
        wins(D[None]), losses(D[None]), math.inf if wins(D[None]) else 0.0
    ),
    "predicted_rate.difference(g)": lambda D: np.ptp(by_group(D[None])),
    "recall.difference(g)": lambda D: np.ptp(by_group(D[None], true=1)),
    "predicted_rate.ratio(g)": lambda D: over(min(by_group(D[None])), max(by_group(D[None]))),
    "error_rate + 2 * recall.on('hard') + 0.5 * churn.on('fresh')": lambda D: (
        error(D[None]) + 2 * D["hard"].sp(true=1) + 0.5 * churn(D["fresh"])
    ),
}  # fmt: skip


# ---------------------------------------------------------------------- rows
def few(D, least, **equal):
    """The weight that a floor asks for: of one row or `least`, but not of most rows."""
    return max(float(D.weight[D.where(**equal)].min()), min(least, 0.5 * D.n(**equal)))


def recall_row(D, k):
    return D.sn(true=1) - (1 - k)


def precision_row(D, k):
    return D.sn(true=1) + k * D.n(true=0) / ((1 - k) * D.n(true=1)) * D.sp(true=0) - 1


def f1_row(D, k):
    down, up = (2 - k) / (2 - 2 * k), k * D.n(true=0) / ((2 - 2 * k) * D.n(true=1))
    return down * D.sn(true=1) + up * D.sp(true=0) - 1


def error_row(D, k):
    up, down = D.n(true=0) * D.sp(true=0), D.n(true=1) * D.sn(true=1)
    return (up + down) / (D.n(true=0) + D.n(true=1)) - k


def churn_row(D, k):
    return (D.n(deployed=1) * D.sn(deployed=1) + D.n(deployed=0) * D.sp(deployed=0)) / D.n() - k


def win_loss_row(D, k):
    strata = [(1, 0, D.sn, 1.0), (0, 1, D.sp, 1.0), (1, 1, D.sn, k), (0, 0, D.sp, k)]
    paid = math.fsum(
        times * D.n(true=a, deployed=b) * share(true=a, deployed=b) for a, b, share, times in strata
    )
    return (paid - D.n(true=1, deployed=0) - D.n(true=0, deployed=1)) / D.n()


def ratio_row(D, a, b, k, **more):
    """The rate of a is at least k times that of b."""
    return k * D.sp(group=b, **more) + D.sn(group=a, **more) - 1


def difference_row(D, a, b, k):
    """The rate of a exceeds that of b by k at most."""
    return D.sp(group=a) + D.sn(group=b) - (1 + k)


PAIRS = [(a, b) for a in "abc" for b in "abc" if a != b]


def group_floors(D, least, k):
    """With rates from k times the largest on, each is at least k times the smallest floor."""
    floor = min(few(D, least, group=g) / D.n(group=g) for g in "abc")
    return [k * floor - rate for rate in by_group(D)]


def side(text, D):
    """A rate, times a number or less a number, or the number alone."""
    if text in RATES:
        return RATES[text](D)
    times, _, rest = text.rpartition(" * ")
    rate, _, less = rest.partition(" - ")
    value = RATES[rate](D) if rate in RATES else float(rate)
    return float(times or 1) * value - float(less or 0)


def slack(text, D):
    """How far a constraint is met, negative where it is not."""
    left, relation, right = re.split(" (>=|<=) ", text)
    gap = side(left, D) - side(right, D)
    return gap if relation == ">=" else -gap


def accepting(D, least):
    return [few(D, least) - D.n() * D.sp()]


def changing(D, least):
    return [few(D, least) - D.n() * churn(D)]


ROWS = {
    # text: rows <= 0 up to a factor each, floors <= 0 up to a factor each
    "recall >= 0.7": (lambda D: [recall_row(D[None], 0.7)], None),
    "specificity.on('hard') >= 0.8": (lambda D: [D["hard"].sp(true=0) - (1 - 0.8)], None),
    "false_positive_rate <= 0.3": (lambda D: [D[None].sp(true=0) - 0.3], None),
    "predicted_rate.on('fresh') <= 0.4": (lambda D: [D["fresh"].sp() - 0.4], None),
    "error_rate <= 0.5": (lambda D: [error_row(D[None], 0.5)], None),
    "tp >= 0.2": (lambda D: [recall_row(D[None], 0.2 * D[None].n() / D[None].n(true=1))], None),
    "churn.on('fresh') <= 0.4": (lambda D: [churn_row(D["fresh"], 0.4)], None),
    "losses <= 0.2": (lambda D: [losses(D[None]) - 0.2], None),
    "predicted_rate.on(g='a') >= 0.8 * predicted_rate.on(g='b')": (
        lambda D: [ratio_row(D[None], "a", "b", 0.8)], None,
    ),
    "recall.on(g='a') >= 0.9 * recall.on(g='b')": (
        lambda D: [ratio_row(D[None], "a", "b", 0.9, true=1)], None,
    ),
    "recall >= recall.baseline() - 0.1": (
        lambda D: [recall_row(D[None], RATES["recall.baseline()"](D) - 0.1)], None,
    ),
    "predicted_rate.difference(g) <= 0.15": (
        lambda D: [difference_row(D[None], a, b, 0.15) for a, b in PAIRS], None,
    ),
    "predicted_rate.ratio(g) >= 0.7": (
        lambda D: [ratio_row(D[None], a, b, 0.7) for a, b in PAIRS],
        lambda D, least: group_floors(D[None], least, 0.7),
    ),
    "precision >= 0.55": (
        lambda D: [precision_row(D[None], 0.55)], lambda D, least: accepting(D[None], least),
    ),
    "precision.on('hard') >= 0.4": (
        lambda D: [precision_row(D["hard"], 0.4)], lambda D, least: accepting(D["hard"], least),
    ),
    "f1 >= 0.6": (lambda D: [f1_row(D[None], 0.6)], None),
    "win_loss_ratio >= 0.8": (
        lambda D: [win_loss_row(D[None], 0.8)], lambda D, least: changing(D[None], least),
    ),
    "win_change_ratio >= 0.4": (
        lambda D: [win_loss_row(D[None], 0.4 / 0.6)], lambda D, least: changing(D[None], least),
    ),
}  # fmt: skip


# ---------------------------------------------------------------------- the smoothed ramp
def softplus(x):
    return np.logaddexp(0.0, x)


def smooth(z, t):
    """The smoothed ramp, and its slope by the logistic function."""

    def logistic(x):
        return 0.5 * (1.0 + np.tanh(0.5 * x))

    high, low = (z + 0.5) / t, (z - 0.5) / t
    return t * (softplus(high) - softplus(low)), logistic(high) - logistic(low)
