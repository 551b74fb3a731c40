"""Rivals that belong in benchmarks only, each in one pass over a stream, and their check.

``python benchmarks/fofo_peers.py`` runs them where the posterior, and so the best F, is known.

LR, OFO and FOFO share a logistic regression by plain SGD with step c/sqrt(t) and differ in
the threshold: 0.5; half of F so far (Busa-Fekete and others, 2015); FOFO as printed
(Liu and others, 2018). STAMP (Narasimhan, Kar and Jain, 2015) maximises a surrogate F in
turns: SGD on rewards weighted for a fixed level of F, then that level from fresh rows. Of
logistic rewards the surrogate's level lies far below F, so there is also a kinder version
that takes the level from decisions counted ("STAMP 0/1").
OMCSL (Yan and others, 2017) learns ten cost-sensitive classifiers, one for each supposed F, and
lets one of them decide, drawn with probabilities exponential in its F so far.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from cma_data import run_with_one_thread, verdict
from fofo_data import Rows, f1, with_intercept
from numba import njit

FINE = tuple(2.0**k for k in range(-4, 5))
WIDE = tuple(2.0**k for k in range(-8, 5))
SUPPOSED = (np.arange(10) + 0.5) / 10.0
"""The values of F that OMCSL's classifiers suppose."""
FIRST_EPOCH = 100
"""Rows of STAMP's first epoch; each is twice as long as the one before."""


class Run(NamedTuple):
    """Decisions of the stream's rows, and the last model: 1 where X w >= cut."""

    decided: np.ndarray
    w: np.ndarray
    cut: float

    def predict(self, rows: Rows) -> np.ndarray:
        return rows.scaled @ self.w >= self.cut


class Rival(NamedTuple):
    run: Callable[[Rows, float], Run]
    steps: tuple[float, ...]


# ---------------------------------------------------------------------- kernels
@njit(cache=True, nogil=True)
def _score(indptr, indices, values, w, i):
    s = 0.0
    for k in range(indptr[i], indptr[i + 1]):
        s += values[k] * w[indices[k]]
    return s


@njit(cache=True, nogil=True)
def _add(indptr, indices, values, w, i, by):
    for k in range(indptr[i], indptr[i + 1]):
        w[indices[k]] += by * values[k]


@njit(cache=True, nogil=True)
def _sigmoid(s):
    return 1.0 / (1.0 + math.exp(-min(max(s, -500.0), 500.0)))


@njit(cache=True, nogil=True)
def sgd(indptr, indices, values, y, w, step):
    """Posterior of each row before it was learnt; `w` is changed."""
    eta = np.empty(len(y))
    for i in range(len(y)):
        eta[i] = _sigmoid(_score(indptr, indices, values, w, i))
        _add(indptr, indices, values, w, i, step / math.sqrt(i + 1.0) * (y[i] - eta[i]))
    return eta


@njit(cache=True, nogil=True)
def half_of_f(eta, y):
    """OFO: decisions and the last threshold."""
    decided = np.empty(len(y), np.uint8)
    hits, positive = 0.0, 0.0
    theta = 0.0
    for i in range(len(y)):
        decided[i] = eta[i] >= theta
        hits += y[i] * decided[i]
        positive += y[i] + decided[i]
        theta = hits / positive if positive else 0.0
    return decided, theta


@njit(cache=True, nogil=True)
def printed(eta, y):
    """FOFO for a known number of rows; those that no stage has go by the last threshold."""
    n = len(y)
    decided = np.empty(n, np.uint8)
    stages = int(0.5 * math.log2(2.0 * n / math.log2(n))) - 1
    length = n // stages
    radius, positives = 0.5, 0.0
    mean = 0.0
    for stage in range(stages):
        start = now = mean
        step = radius / math.sqrt(10.0 * length)
        for j in range(length):
            i = stage * length + j
            decided[i] = eta[i] >= mean
            positives += y[i]
            gradient = positives / (i + 1.0) * now - max(eta[i] - now, 0.0)
            now = min(max(now - step * gradient, start - radius, 0.0), start + radius, 0.5)
            mean += (now - mean) / (j + 2.0)
        radius /= 2.0
    for i in range(stages * length, n):
        decided[i] = eta[i] >= mean
    return decided, mean


@njit(cache=True, nogil=True)
def alternate(indptr, indices, values, y, w, step, first, counted):
    """STAMP with the reward 1 - log2(1 + exp(-margin)): decisions, the level; `w` is changed.

    At level v the gradient weighs positives by 1 - v/2 and negatives by v/2. Every epoch is
    for the model first and then, as long, for the level.
    """
    decided = np.empty(len(y), np.uint8)
    level, length, left, learning = 0.0, first, first, True
    n_seen, positives_seen, learnt = 0.0, 0.0, 0.0
    rewards, counts = np.zeros(2), np.zeros(2)
    for i in range(len(y)):
        s = _score(indptr, indices, values, w, i)
        decided[i] = s >= 0.0
        sign = 2.0 * y[i] - 1.0
        n_seen += 1.0
        positives_seen += y[i]
        if learning:
            learnt += 1.0
            weight = 1.0 - 0.5 * level if y[i] else 0.5 * level
            by = step / math.sqrt(learnt) * weight * sign * _sigmoid(-sign * s)
            _add(indptr, indices, values, w, i, by)
        else:
            margin = min(max(sign * s, -500.0), 500.0)
            reward = 1.0 - math.log1p(math.exp(-margin)) / math.log(2.0)
            right = 1.0 if decided[i] == y[i] else 0.0
            rewards[y[i]] += right if counted else reward
            counts[y[i]] += 1.0
        left -= 1
        if left:
            continue
        if not learning:
            if counts.min() > 0.0:
                odds = n_seen / positives_seen - 1.0
                recall, specificity = rewards[1] / counts[1], rewards[0] / counts[0]
                # A surrogate of unbounded rewards can leave [0, 1], where F lies.
                below = 1.0 + recall + odds * (1.0 - specificity)
                level = min(max(2.0 * recall / below, 0.0), 1.0) if below > 0.0 else 0.0
            rewards[:] = 0.0
            counts[:] = 0.0
            length *= 2
        learning = not learning
        left = length
    return decided, level


@njit(cache=True, nogil=True)
def select(indptr, indices, values, y, W, step, supposed, draws):
    """OMCSL: decisions and the classifier of the best F; `W`, a row each, is changed."""
    m = len(supposed)
    decided = np.empty(len(y), np.uint8)
    f, votes = np.zeros(m), np.empty(m, np.uint8)
    hits, positive, chance = np.zeros(m), np.zeros(m), np.empty(m)
    for i in range(len(y)):
        # Exponential weights of the gain t F_j(t), at the rate of Hedge.
        rate = math.sqrt(8.0 * math.log(m) * (i + 1.0))
        best = f.max()
        total = 0.0
        for j in range(m):
            total += math.exp(rate * (f[j] - best))
            chance[j] = total
        drawn = min(np.searchsorted(chance, draws[i] * total, side="right"), m - 1)
        by = step / math.sqrt(i + 1.0)
        for j in range(m):
            s = _score(indptr, indices, values, W[j], i)
            votes[j] = s >= 0.0
            cost = 1.0 - 0.5 * supposed[j] if y[i] else 0.5 * supposed[j]
            _add(indptr, indices, values, W[j], i, by * cost * (y[i] - _sigmoid(s)))
            hits[j] += y[i] * votes[j]
            positive[j] += y[i] + votes[j]
            f[j] = 2.0 * hits[j] / positive[j] if positive[j] else 0.0
        decided[i] = votes[drawn]
    return decided, np.argmax(f)


# ---------------------------------------------------------------------- rivals
def _parts(rows: Rows) -> tuple[np.ndarray, ...]:
    X = rows.scaled
    return X.indptr, X.indices, X.data, rows.y


def _logit(theta: float) -> float:
    return float(np.log(theta) - np.log1p(-theta)) if theta > 0.0 else -np.inf


def _learner_and(rule: Callable[..., tuple[np.ndarray, float]]) -> Callable[[Rows, float], Run]:
    def run(rows: Rows, step: float) -> Run:
        w = np.zeros(rows.scaled.shape[1])
        decided, theta = rule(sgd(*_parts(rows), w, step), rows.y)
        return Run(decided, w, _logit(theta))

    return run


def _stamp(counted: bool) -> Callable[[Rows, float], Run]:
    def run(rows: Rows, step: float) -> Run:
        w = np.zeros(rows.scaled.shape[1])
        decided, _ = alternate(*_parts(rows), w, step, FIRST_EPOCH, counted)
        return Run(decided, w, 0.0)

    return run


def _omcsl(rows: Rows, step: float) -> Run:
    W = np.zeros((len(SUPPOSED), rows.scaled.shape[1]))
    draws = np.random.default_rng(0).random(len(rows.y))
    decided, best = select(*_parts(rows), W, step, SUPPOSED, draws)
    return Run(decided, W[best], 0.0)


RIVALS = {
    "FOFO": Rival(_learner_and(printed), FINE),
    "OFO": Rival(_learner_and(half_of_f), FINE),
    "LR": Rival(_learner_and(lambda eta, y: (np.uint8(eta >= 0.5), 0.5)), FINE),
    "STAMP": Rival(_stamp(counted=False), WIDE),
    "STAMP 0/1": Rival(_stamp(counted=True), WIDE),
    "OMCSL": Rival(_omcsl, WIDE),
}


def tuned(rival: Rival, validation: Rows) -> float:
    """The step of the best F over the validation rows, themselves a stream."""

    def reached(step: float) -> float:
        return f1(validation.y, rival.run(validation, step).decided)

    return max(rival.steps, key=reached)


# ---------------------------------------------------------------------- check
def known(n: int, seed: int) -> tuple[Rows, np.ndarray]:
    """Rows of a logistic model, about 8 % of them positive, and their posteriors."""
    rng = np.random.default_rng(seed)
    X = with_intercept(rng.normal(size=(n, 5)))
    eta = 1.0 / (1.0 + np.exp(-(X @ np.array([1.5, -1.0, 0.5, 0.0, 1.0, -4.0]))))
    return Rows(X, X, np.uint8(rng.random(n) < eta)), eta


def best_f(eta: np.ndarray) -> tuple[float, float]:
    """The best expected F over thresholds of the posterior, and that threshold."""
    falling = np.sort(eta)[::-1]
    f = 2.0 * np.cumsum(falling) / (eta.sum() + np.arange(1, len(eta) + 1))
    return float(f.max()), float(falling[np.argmax(f)])


def surrogate_level(eta: np.ndarray) -> float:
    """The level at which STAMP's surrogate of the model that is best at it is that level."""
    pi = eta.mean()

    def surrogate(level: float) -> float:
        margin = np.log(eta / (1.0 - eta) * (2.0 - level) / level)
        recall = np.mean(eta * (1.0 - np.log2(1.0 + np.exp(-margin)))) / pi
        specificity = np.mean((1.0 - eta) * (1.0 - np.log2(1.0 + np.exp(margin)))) / (1.0 - pi)
        return float(2.0 * recall / (1.0 + recall + (1.0 / pi - 1.0) * (1.0 - specificity)))

    low, high = 1e-6, 1.0
    while high - low > 1e-6:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if surrogate(middle) > middle else (low, middle)
    return low


def main() -> int:
    (validation, _), (online, eta), (test, eta_test) = (known(100_000, seed) for seed in range(3))
    best, theta = best_f(eta_test)
    print(f"posterior known: best F {best:.4f}, at {theta:.4f} (half of F {best / 2:.4f})")
    good = True
    for name, rule in (("FOFO", printed), ("OFO", half_of_f)):
        good &= _check(name, "threshold from the posterior", rule(eta, online.y)[1], theta, 0.015)
    w = np.zeros(online.scaled.shape[1])
    _, level = alternate(*_parts(online), w, 1.0, FIRST_EPOCH, False)
    good &= _check("STAMP", "level of the surrogate", level, surrogate_level(eta), 0.015)
    for name, rival in RIVALS.items():
        step = tuned(rival, validation)
        decided = rival.run(online, step).predict(test)
        # In expectation over labels, so that no rival can be lucky.
        f = float(2.0 * eta_test[decided].sum() / (eta_test.sum() + decided.sum()))
        # LR does not aim at F, nor does the surrogate.
        slack = np.inf if name in ("LR", "STAMP") else 0.02
        good &= _check(name, f"test F at step {step:g}", f, best, slack)
    return int(not good)


def _check(name: str, what: str, measured: float, exact: float, slack: float) -> bool:
    fine = None if np.isinf(slack) else bool(abs(measured - exact) <= slack)
    asked = "" if fine is None else f", within {slack}"
    print(f"{verdict(fine)} {name:<10} {what:<30} {measured:.4f}   exact {exact:.4f}{asked}")
    return fine is not False


if __name__ == "__main__":
    run_with_one_thread(main)
