"""Rows that are worth something, and goals about it as linear functions of who is accepted."""

from __future__ import annotations

import numpy as np


class Sample:
    """Rows with values; `p` is the posterior of each, or its label."""

    def __init__(self, seed, n, by_labels=False):
        rng = np.random.default_rng(seed)
        self.n, self.seed = n, seed
        self.p = rng.beta(1.0, 2.0, n)
        self.y = (rng.random(n) < self.p).astype(int)
        self.g = np.array(["a", "b"])[np.arange(n) % 2]
        self.y[:4] = 0, 0, 1, 1
        self.scores = self.p
        if by_labels:
            self.p = self.y.astype(float)
            self.scores = np.round(rng.normal(size=n) + self.y, int(rng.integers(0, 3)))
        self.x = np.round(rng.exponential(4.0, n), 1) + (seed % 2) * 0.1
        self.z = np.round(rng.normal(scale=3.0, size=n), 2)  # goes below 0
        self.w = [None, rng.integers(1, 4, n) * 1.0, rng.lognormal(size=n)][seed % 3]
        self.c = float(np.round(rng.uniform(0.2, 2.0), 1))
        self.level = float(np.round(rng.uniform(0.25, 0.6), 2))

    @property
    def given(self):
        """What `Evidence.from_arrays` takes beside scores and labels."""
        return {"weight": self.w, "columns": {"x": self.x, "z": self.z, "g": self.g}}

    def mean(self, positive, negative, where=True):
        """Coefficients (N,) of accepting a row that is worth so much by class."""
        w = np.ones(self.n) * where if self.w is None else self.w * where
        return w * (self.p * positive + (1 - self.p) * negative) / w.sum()

    def found(self, weight, where=True):
        """Coefficients of the recall of class 1, each row weighing `weight`."""
        own = self.mean(weight * np.ones(self.n), 0.0, where)
        return own / own.sum()

    def apart(self, rate, most):
        """Rows of a largest difference between the groups."""
        gap = rate(self.g == "a") - rate(self.g == "b")
        return [(gap, most, None), (-gap, most, None)]

    def precise(self, weight):
        """The row of a floor on precision, which nothing meets that accepts no weight."""
        row = self.mean((self.level - 1.0) * weight, self.level * weight)
        return [(row, 0.0, self.mean(weight, weight))]


GOALS = {
    "profit": lambda r: (f"maximize profit(tp=x - {r.c}, fp=-{r.c})", r.mean(r.x - r.c, -r.c), []),
    "below 0": lambda r: (
        "maximize profit(tp=2 * z + x, fp=-0.5 * z, fn=-x, tn=0.1)",
        r.mean(2 * r.z + 2 * r.x, -0.5 * r.z - 0.1),
        [],
    ),
    "capped": lambda r: (
        f"maximize profit(tp=x, fp=-{r.c}) subject to predicted_rate <= {r.level}",
        r.mean(r.x, -r.c),
        [(r.mean(1.0, 1.0), r.level, None)],
    ),
    "weighted recall": lambda r: (
        f"maximize recall.weighted(x) subject to precision >= {r.level}",
        r.found(r.x),
        r.precise(1.0),
    ),
    "weighted precision": lambda r: (
        f"maximize recall subject to precision.weighted(x) >= {r.level} and predicted_rate <= 0.7",
        r.found(1.0),
        [*r.precise(r.x), (r.mean(1.0, 1.0), 0.7, None)],
    ),
    "rates apart": lambda r: (
        f"maximize profit(tp=x, fp=-{r.c}) subject to predicted_rate.difference(g) <= 0.1",
        r.mean(r.x, -r.c),
        r.apart(lambda where: r.mean(1.0, 1.0, where), 0.1),
    ),
    "recalls apart": lambda r: (
        f"maximize profit(tp=x, fp=-{r.c}) subject to recall.weighted(x).difference(g) <= 0.3",
        r.mean(r.x, -r.c),
        r.apart(lambda where: r.found(r.x, where), 0.3),
    ),
    "floor": lambda r: (
        f"minimize predicted_rate subject to recall.weighted(x) >= {r.level}",
        -r.mean(1.0, 1.0),
        [(-r.found(r.x), -r.level, None)],
    ),
}


def goal_of(r):
    """A goal by the seed: its text, the gain of accepting each row, and rows a @ d <= b."""
    return list(GOALS.values())[r.seed % len(GOALS)](r)


def met(rows, d, near):
    """Which decisions (..., N) meet the rows, with weight where a row needs some."""
    kept = np.ones(d.shape[:-1], bool)
    for a, limit, below in rows:
        kept &= d @ a <= limit + near
        if below is not None:
            kept &= d @ below > 1e-12
    return kept
