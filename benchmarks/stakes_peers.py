"""Peers of goals with values of rows, and of deferral. No command of its own.

NumPy: the row's own Bayes decision, p * loss > (1 - p) * profit_lost; one threshold swept on
training rows; both under a cap on refusals. empulse: its threshold (one for all, or one a row
where it is given costs to predict) and its cost-sensitive logistic regression. Deferral: a
threshold on the largest posterior, one for all or one a group, and of two classes all pairs of
cut-offs on a grid.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from cma_data import quiet
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler
from stakes_data import Credit, Stakes

Refusals = dict[str, np.ndarray]


# ---------------------------------------------------------------------- values
def gain(p: np.ndarray, stakes: Stakes) -> np.ndarray:
    """What a refusal is expected to save."""
    return p * stakes.loss - (1 - p) * stakes.profit_lost


def swept(
    score: np.ndarray, y: np.ndarray, stakes: Stakes, cap: float = 1.0
) -> tuple[float, float]:
    """The cut-off that saves most on these rows, among those that refuse at most a share.

    Rows at or above it are refused. And what it saves, a row.
    """
    order = np.argsort(-score, kind="stable")
    s = score[order]
    saved = np.where(y == 1, stakes.loss, -stakes.profit_lost)[order]
    ends = np.append(s[1:] != s[:-1], True) & (np.arange(1, len(s) + 1) <= cap * len(s))
    total = np.where(ends, np.cumsum(saved), -np.inf)
    best = int(total.argmax())
    if not total[best] > 0:
        return np.inf, 0.0
    below = s[best + 1] if best + 1 < len(s) else s[best] - 1.0
    return float((s[best] + below) / 2), float(total[best] / len(s))


def at_cap(score: np.ndarray, cap: float) -> np.ndarray:
    """Exactly the highest scores of a batch, as far as they are positive."""
    out = np.zeros(len(score))
    out[np.argsort(-score, kind="stable")[: int(cap * len(score))]] = 1.0
    return out * (score > 0)


def numpy_rules(part: Credit, p: np.ndarray, p_test: np.ndarray) -> Refusals:
    """What lines of NumPy decide on the test rows."""
    one, _ = swept(p, part.y, part.stakes)
    seen, _ = swept(p_test, part.y_test, part.stakes_test)
    scaled, _ = swept(gain(p, part.stakes), part.y, part.stakes)
    saved = gain(p_test, part.stakes_test)
    return {
        "threshold 0.5": (p_test >= 0.5) * 1.0,
        "one threshold, swept": (p_test >= one) * 1.0,
        "one threshold, with hindsight": (p_test >= seen) * 1.0,
        "a row's own Bayes": (saved > 0) * 1.0,
        "expected gain, its threshold swept": (saved >= scaled) * 1.0,
    }


def capped_rules(part: Credit, p: np.ndarray, p_test: np.ndarray, cap: float) -> Refusals:
    """The same where at most a share is refused: in expectation, or exactly of the batch."""
    one, _ = swept(p, part.y, part.stakes, cap)
    mine, saved = gain(p, part.stakes), gain(p_test, part.stakes_test)
    cut = max(float(np.quantile(mine, 1 - cap)), 0.0)
    likely = max(one, 0.0)
    return {
        "one threshold, swept": (p_test >= likely) * 1.0,
        "largest p of the batch": at_cap(p_test, cap),
        "expected gain, cut-off of training rows": (saved > cut) * 1.0,
        "expected gain, largest of the batch": at_cap(saved, cap),
    }


def empulse_rules(part: Credit) -> Refusals:
    """empulse's rules on the test rows; costs are scaled to a mean loss of 1."""
    from empulse.models import CSLogitClassifier, CSThresholdClassifier

    unit = float(part.stakes.loss.mean())
    here = {"fn_cost": part.stakes.loss / unit, "fp_cost": part.stakes.profit_lost / unit}
    there = {
        "fn_cost": part.stakes_test.loss / unit,
        "fp_cost": part.stakes_test.profit_lost / unit,
    }
    out: Refusals = {}
    scale = StandardScaler().fit(part.X)
    X, X_test = scale.transform(part.X), scale.transform(part.X_test)
    # It cannot route costs past a pipeline; the features are scaled here.
    models = {
        "logistic": LogisticRegression(max_iter=1000),
        "boosting": HistGradientBoostingClassifier(random_state=0),
    }
    with quiet():
        for name, plain in models.items():
            clf = CSThresholdClassifier(plain, calibrator="isotonic", random_state=0)
            clf.fit(X, part.y, **here)
            out[f"empulse threshold, {name}"] = np.float64(clf.predict(X_test))
            out[f"empulse threshold a row, {name}"] = np.float64(clf.predict(X_test, **there))
        for C in (1.0, 100.0):
            logit = CSLogitClassifier(C=C).fit(X, part.y, **here)
            out[f"empulse CSLogit, C = {C:g}"] = np.float64(logit.predict(X_test))
    return out


# ---------------------------------------------------------------------- deferral
def right(P: np.ndarray, y: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Whether the largest posterior is that of the label."""
    return classes[P.argmax(axis=1)] == y


def sure(score: np.ndarray, good: np.ndarray, error: float) -> float:
    """The lowest cut-off of a score above which at most a share of rows is wrong."""
    order = np.argsort(-score, kind="stable")
    s = score[order]
    wrong = np.cumsum(~good[order]) / np.arange(1, len(s) + 1)
    ends = np.append(s[1:] != s[:-1], True) & (wrong <= error)
    if not ends.any():
        return np.inf
    last = int(np.flatnonzero(ends)[-1])
    return float((s[last] + s[last + 1]) / 2) if last + 1 < len(s) else -np.inf


def by_group(
    score: np.ndarray, good: np.ndarray, group: np.ndarray, error: float, gap: float, grid: int
) -> dict[str, float]:
    """One cut-off for each of two groups; their deferral rates differ by no more than a gap.

    Shares deferred are whole multiples of 1 / `grid`, and all pairs are looked at.
    """
    names = np.unique(group)
    sides = []
    for name in names:
        here = group == name
        order = np.argsort(-score[here], kind="stable")
        kept = np.int64(np.round(here.sum() * (1 - np.arange(grid) / grid)))
        wrong = np.append(0, np.cumsum(~good[here][order]))[kept]
        s = score[here][order]
        sides.append((kept, wrong, s[np.minimum(kept, len(s)) - 1]))
    (kept_a, wrong_a, cut_a), (kept_b, wrong_b, cut_b) = sides
    kept = kept_a[:, None] + kept_b[None, :]
    wrong = wrong_a[:, None] + wrong_b[None, :]
    apart = np.abs(kept_a[:, None] / kept_a[0] - kept_b[None, :] / kept_b[0])
    allowed = (wrong <= error * kept) & (apart <= gap + 1e-12)
    i, j = np.unravel_index(np.where(allowed, kept, -1).argmax(), kept.shape)
    return {str(names[0]): float(cut_a[i]), str(names[1]): float(cut_b[j])}


def best_band(score: np.ndarray, y: np.ndarray, error: float, grid: int) -> tuple[float, float]:
    """Two cut-offs of two classes (0 below the first, 1 from the second on), on a grid."""
    order = np.argsort(score, kind="stable")
    s, n = score[order], len(score)
    at = np.unique(np.int64(np.linspace(0, n, grid + 1)))
    ones = np.append(0, np.cumsum(y[order]))
    wrong = ones[at][:, None] + (n - at - (ones[-1] - ones[at]))[None, :]
    decided = at[:, None] + (n - at)[None, :]
    allowed = (wrong <= error * decided) & (at[:, None] <= at[None, :])
    i, j = np.unravel_index(np.where(allowed, decided, -1).argmax(), decided.shape)
    cut: Callable[[int], float] = lambda k: float(s[k]) if k < n else np.inf  # noqa: E731
    return cut(int(at[i])), cut(int(at[j]))
