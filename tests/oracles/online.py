"""Learners and thresholds as slow plain Python: the averaged weights are formed, lists are kept."""

from __future__ import annotations

import copy
import math
from itertools import count
from operator import mul

import numpy as np
from scipy.optimize import minimize

STEPS = {"nag": 2.0, "sgd": 1.0, "adagrad": 0.5}
TRACKING = {"nag": 0.05, "sgd": 0.05, "adagrad": 0.02}


def sigmoid(z):
    return 1.0 / (1.0 + math.exp(-z)) if z >= 0 else math.exp(z) / (1.0 + math.exp(z))


class Learner:
    """A logistic regression; the last entry is the intercept's, a feature that is always one.

    NAG centres features that were never zero in 128 rows, and starts anew with them; centres
    move to means after 256, 512 and 1024 rows, and go with the first zero. The intercepts of
    all iterates move along, so that scores stay.
    """

    def __init__(self, d, kind="nag", step=None, constant=False):
        self.kind, self.constant = kind, constant
        self.step = step if step is not None else (TRACKING if constant else STEPS)[kind]
        self.iterates = [[0.0] * (d + 1)]
        self.squares = [0.0] * (d + 1)
        self.largest = [0.0 if kind == "nag" else 1.0] * d + [1.0]
        self.centre = [0.0] * (d + 1)
        self.rows, self.norms = [], 0.0

    def adapted(self, x):
        """The same learner, once it saw the features of a row."""
        out = copy.copy(self)
        out.iterates = [list(w) for w in self.iterates]
        out.squares, out.largest, out.centre = (
            list(v) for v in (self.squares, self.largest, self.centre)
        )
        if self.kind != "nag":
            return out
        for j, v in enumerate(x):
            size = abs(v - out.centre[j])
            if size > out.largest[j]:
                out.scale(j, out.largest[j] / size)
                out.largest[j] = size
            if v == 0.0:
                out.move(j, 0.0)
        return out

    def scale(self, j, by):
        for w in self.iterates:
            w[j] *= by

    def move(self, j, centre):
        for w in self.iterates:
            w[-1] += w[j] * (centre - self.centre[j])
        self.centre[j] = centre

    def settle(self, t):
        """See to the centres after row t."""
        for j in range(len(self.rows[0])):
            values = [float(x[j]) for x in self.rows]
            if t == 128 and all(values):
                self.move(j, math.fsum(values) / t)
                self.scale(j, 0.0)
                self.largest[j] = self.squares[j] = 0.0
            if t in (256, 512, 1024) and self.centre[j] != 0.0:
                self.move(j, math.fsum(values) / t)

    def values(self, x):
        return [float(v) - c for v, c in zip([*x, 1.0], self.centre, strict=True)]

    def score(self, x):
        """The log-odds by the averaged weights."""
        seen = self.adapted(x)
        return dot(seen.iterates[-1] if self.constant else average(seen.iterates), seen.values(x))

    def learn(self, x, y, weight=1.0):
        t = len(self.iterates)
        vars(self).update(vars(self.adapted(x)))
        w = list(self.iterates[-1])
        slope = weight * (sigmoid(dot(w, self.values(x))) - y)
        shares = [v / s for v, s in zip(self.values(x), self.largest, strict=True) if v != 0.0]
        self.norms += math.fsum(u * u for u in shares)
        many = math.sqrt(4 * t / self.norms) if self.kind == "nag" else 1.0
        for j, v in enumerate(self.values(x)):
            g, s = slope * v, self.largest[j]
            if g == 0.0:
                continue
            self.squares[j] += g * g
            if self.kind == "sgd":
                w[j] -= self.step * g / (1.0 if self.constant else math.sqrt(t))
            else:
                seen = self.squares[j] / t if self.constant else self.squares[j]
                # NAG begins with one mistake at the largest value: first steps are no leaps.
                first = 1.0 if self.kind == "nag" and not self.constant else 0.0
                w[j] -= self.step * many * g / (s * math.sqrt(first * s * s + seen))
        self.iterates.append(w)
        self.rows.append(x)
        if self.kind == "nag":
            self.settle(t)


def dot(w, x):
    return math.fsum(a * b for a, b in zip(w, x, strict=True))


def average(iterates):
    """Of the iterates after each row, that after row k weighed by k."""
    if len(iterates) == 1:
        return iterates[0]
    columns = zip(*iterates[1:], strict=True)
    total = len(iterates) * (len(iterates) - 1) / 2
    return [math.fsum(map(mul, count(1), c)) / total for c in columns]


# ---------------------------------------------------------------------- thresholds
def fofo(p, y, n, beta=1.0):
    """Decisions, and the threshold after each row: the paper's two algorithms for n rows.

    But before the first positive came, no row is decided positive.
    """
    b = beta**2
    m = math.floor(0.5 * math.log2(2 * n / math.log2(n))) - 1
    rows = n // m
    radius, threshold, t, positives = 1.0 / (1.0 + b), 0.0, 0, 0
    decided, thresholds = [], []
    for _ in range(m):
        gamma = radius / math.sqrt(10 * rows)
        first = theta = mean = threshold
        for tau in range(1, rows + 1):
            t += 1
            decided.append(int(positives > 0 and p[t - 1] >= mean))
            positives += y[t - 1]
            gradient = b * positives / t * theta - max(p[t - 1] - theta, 0.0)
            theta -= gamma * gradient
            theta = min(max(theta, first - radius, 0.0), first + radius, 1.0 / (1.0 + b))
            mean = (tau * mean + theta) / (tau + 1)
            thresholds.append(mean)
        threshold, radius = mean, radius / 2
    for i in range(t, len(y)):  # rows that the stages leave over
        decided.append(int(p[i] >= threshold))
        thresholds.append(threshold)
    return decided, thresholds


def ofo(p, y, beta=1.0, posteriors=False, weight=None):
    """Decisions, and the threshold after each row: F so far over 1 + beta^2.

    Before the first positive came, no row is decided positive.
    """
    b, above, below = beta**2, 0.0, 0.0
    threshold, decided, thresholds = 0.5 / (1.0 + b), [], []
    for i in range(len(y)):
        w, hit = (1.0 if weight is None else weight[i]), (p[i] if posteriors else y[i])
        decided.append(int(any(y[:i]) and p[i] >= threshold))
        above += w * hit * decided[-1]
        below += w * (b * hit + decided[-1])
        threshold = above / below if below else threshold
        thresholds.append(threshold)
    return decided, thresholds


# ---------------------------------------------------------------------- the sketch
def edges():
    """Bins are even in z / (8 + |z|)."""
    v = np.arange(-256, 257) / 256
    with np.errstate(divide="ignore"):
        return 8.0 * v / (1.0 - np.abs(v))


def centres():
    v = (np.arange(512) - 255.5) / 256
    return np.clip(8.0 * v / (1.0 - np.abs(v)), -16.0, 16.0)


def expected(k, y, weight):
    """Negatives and positives expected in each bin: calibration and shares of labels, mixed."""
    counts = np.array([np.bincount(k[y == c], weight[y == c], minlength=512) for c in (0, 1)])
    scale = len(y) / counts.sum()
    counts = counts * scale
    z = centres()

    def loss(ab):
        odds = ab[0] * z + ab[1]
        surprise = counts[1] * np.logaddexp(0, -odds) + counts[0] * np.logaddexp(0, odds)
        gradient = counts.sum(axis=0) / (1.0 + np.exp(-odds)) - counts[1]
        ridge = 25.0 * ((ab[0] - 1.0) ** 2 + ab[1] ** 2)
        slopes = gradient @ z + 50.0 * (ab[0] - 1.0), gradient.sum() + 50.0 * ab[1]
        return surprise.sum() + ridge, np.array(slopes)

    a, b = minimize(loss, [1.0, 0.0], jac=True, tol=1e-12, options={"gtol": 1e-9}).x
    trust = 300.0 / (300.0 + y.sum())
    rows = counts.sum(axis=0)
    share = np.divide(counts[1], rows, out=np.zeros(512), where=rows > 0)
    p = trust / (1.0 + np.exp(-(a * z + b))) + (1.0 - trust) * share
    return np.array([rows * (1.0 - p), rows * p])


def sketched(z, y, window=None, beta=1.0):
    """The rows that the last cut-off was found on, and the cut-off."""
    solved, solved_positives, due = 0, 0, 0
    for t in range(1, len(y) + 1):
        counted = y[max(0, t - window) : t] if window else y[:t]
        if not 0 < counted.sum() < len(counted):
            continue
        now = t, int(y[:t].sum())
        grown = now[0] - solved >= 0.02 * len(counted)
        if grown or now[1] - solved_positives >= 0.02 * counted.sum():
            (solved, solved_positives), due = now, t
    first = max(0, due - window) if window else 0
    hope = 10.0 / (10.0 + y[:due].sum())
    z, y = z[first:due], y[first:due]
    k = np.searchsorted(edges(), z, side="right") - 1
    age = np.ones(len(y)) if window else np.arange(1.0, len(y) + 1)
    negative, positive = expected(k, y, age**2)
    hits, accepted = positive[::-1].cumsum()[::-1], (negative + positive)[::-1].cumsum()[::-1]
    f = (1.0 + beta**2) * hits / (beta**2 * positive.sum() + accepted + 1e-300)
    gained = (1.0 + beta**2) * hits - (f.max() + hope * (1.0 - f.max())) * accepted
    if gained.max() <= 0.0:
        return due, np.inf
    best = max(i for i in range(512) if gained[i] == gained.max())
    filled = np.flatnonzero((negative + positive)[:best] > 0)
    low = filled[-1] + 1 if len(filled) else 0
    return due, -np.inf if low == 0 else edges()[(low + best + 1) // 2]
