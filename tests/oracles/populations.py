"""Populations whose shares are known, so that what a rule does on them is counted.

A population is cells of group, deployed decision, class and score with their shares: a draw is one
multinomial. Rules are counted here, not by the library.
"""

import warnings

import numpy as np

from setpoint import InfeasibleError, NotCertifiable, solve


def solved(goal, scores, y, confidence, **columns):
    """What is found for some rows, without warnings; None where it is refused."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = solve(goal, scores, y, confidence=confidence, **columns)
        except (NotCertifiable, InfeasibleError):
            return None
    guarantee = found.report.guarantee
    assert (guarantee is None) == (confidence is None)
    assert guarantee is None or guarantee.state == "certified"
    return found.rule


class Cells:
    """A population of two groups with a model in service, its scores rounded to ties."""

    def __init__(self, prior=0.3, shift=1.5, seed=0, n=200_000):
        rng = np.random.default_rng(seed)
        y = (rng.random(n) < prior).astype(int)
        g = (rng.random(n) < 0.35).astype(int)
        scores = rng.normal(shift * y + 0.3 * g, 1.0)
        deployed = (scores + rng.normal(0.0, 0.6, n) > 1.1).astype(int)
        rows = np.column_stack([np.round(scores, 2), y, g, deployed])
        cells, counts = np.unique(rows, axis=0, return_counts=True)
        self.shares = counts / n
        self.scores = cells[:, 0]
        self.y, self.g, self.deployed = cells[:, 1:].astype(int).T

    def draw(self, n, rng):
        at = np.repeat(np.arange(len(self.shares)), rng.multinomial(n, self.shares))
        rng.shuffle(at)
        return at

    def positives(self, n, rng):
        own = np.flatnonzero(self.y == 1)
        return rng.choice(own, n, p=self.shares[own] / self.shares[own].sum())

    def solve(self, goal, at, confidence):
        """The rule for rows of these cells; None where it is refused."""
        deployed = "baseline" in goal or "churn" in goal
        return solved(
            goal, self.scores[at], self.y[at], confidence, sensitive_features={"g": self.g[at]},
            baseline=self.deployed[at] if deployed else None,
        )  # fmt: skip

    def decided(self, rule, at=slice(None)):
        segments = rule.segment_codes({"g": self.g[at]}) if rule.needs_segments else None
        return np.asarray(rule.decide(self.scores[at], segments))

    def share(self, event, given=True):
        """A share of the population among those given."""
        given = np.broadcast_to(given, len(self.y))
        return self.shares[event & given].sum() / self.shares[given].sum()


def recall(p, a, given=True):
    return p.share(a == 1, (p.y == 1) & given)


def precision(p, a):
    return p.share(p.y == 1, a == 1)


def fbeta(p, a, beta):
    tp, b = p.shares[(a == 1) & (p.y == 1)].sum(), beta * beta
    return (1 + b) * tp / (p.shares[a == 1].sum() + b * p.shares[p.y == 1].sum())


def gap(p, a):
    """Of the shares of two groups that are accepted."""
    return abs(p.share(a == 1, p.g == 0) - p.share(a == 1, p.g == 1))


def churn(p, a):
    return p.share(a != p.deployed)
