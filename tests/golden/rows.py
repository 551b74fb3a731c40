"""Rows of a case: scores that go with labels, and what else belongs to them."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from setpoint import Dataset, SearchLimits
from setpoint.solvers import SOLVERS

__all__ = ["Case", "Part", "columns", "deployed", "posteriors", "rows", "weights"]


@dataclass
class Part:
    """Rows with all that may belong to them; `y` and `baseline` hold labels."""

    scores: Any
    y: Any
    sample_weight: Any = None
    sensitive_features: dict[str, list] | None = None
    baseline: list | None = None

    def beside(self):
        """What belongs to the rows beside scores and labels."""
        return {k: getattr(self, k) for k in ("sample_weight", "sensitive_features", "baseline")}

    def of(self, first):
        """A data set of scores, or of decisions."""
        return Dataset(first, self.y, **self.beside())


@dataclass
class Case:
    """One call of `solve`."""

    number: int
    sub: int
    kind: str
    goal: str
    rows: Part
    labels: list
    datasets: dict[str, Part] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)

    def arguments(self):
        """What `solve` takes beside the goal, the scores and y."""
        out = {**self.rows.beside(), **self._asked()}
        if self.datasets:
            out["datasets"] = {name: p.of(p.scores) for name, p in self.datasets.items()}
        return {k: v for k, v in out.items() if v is not None or k == "decide_on"}

    def _asked(self):
        """The options as `solve` takes them: drawn limits that the solver has are one value."""
        out = dict(self.options)
        drawn = {"calls": out.pop("max_oracle_calls", None), "tol": out.pop("tol", None)}
        solver = out.get("solver", "auto")
        takes = getattr(SOLVERS.get(solver, solver), "limits", ())
        limits = SearchLimits(**{name: value for name, value in drawn.items() if name in takes})
        return out | ({"limits": limits} if limits.given else {})

    def digest(self):
        """A short mark of everything in the case: has the generator changed?"""
        parts = [
            {k: v.tolist() if isinstance(v, np.ndarray) else v for k, v in vars(p).items()}
            for p in (self.rows, *self.datasets.values())
        ]
        text = repr((self.goal, parts, list(self.datasets), self.options))
        return hashlib.sha256(text.encode()).hexdigest()[:16]


def binary_scores(draw, n):
    """One score a row with many or few ties, and codes of labels that go with them."""
    level = draw.rng.integers(0, 101, n)
    noise = draw.whole(10, 70)
    codes = (level + draw.rng.integers(-noise, noise + 1, n) > draw.whole(30, 75)).astype(int)
    coarse = level // draw.pick((1, 1, 5, 10, 25))
    shape = draw.pick(("share", "share", "logit", "whole"))
    if shape == "share":
        return coarse / 101, codes
    return ((coarse - 50) / 7 if shape == "logit" else coarse.astype(float)), codes


def posteriors(draw, n, k, prior_shift=True):
    """Posteriors in whole shares of a row's total, and codes drawn from them."""
    if draw.chance(40):  # tenths have ties and do not sum to one exactly, sixteenths do
        total = draw.pick((10, 16))
        cuts = np.sort(draw.rng.integers(0, total + 1, (n, k - 1)), axis=1)
        shares = np.diff(cuts, axis=1, prepend=0, append=total)
    else:
        shares = draw.rng.integers(0, 6, (n, k)) ** 2 + 1
        if prior_shift:
            shares[:, 0] += draw.whole(0, 12)
    ends = shares.cumsum(axis=1)
    codes = (draw.rng.integers(0, ends[:, -1])[:, None] >= ends).sum(axis=1)
    return shares / ends[:, -1:], codes


def rows(draw, n, labels, *, posterior, labelled=True):
    """Rows without side information; each class has at least two."""
    k = len(labels)
    scores, codes = posteriors(draw, n, k) if posterior else binary_scores(draw, n)
    if n >= 2 * k:
        codes[: 2 * k] = np.arange(2 * k) % k
    part = Part(scores, [labels[c] for c in codes] if labelled else None)
    return part, codes


def weights(draw, n):
    kind = draw.pick(("whole", "zeros", "quarters"))
    if kind == "whole":
        return draw.rng.integers(1, 4, n)
    return draw.rng.integers(0, 4, n) if kind == "zeros" else draw.rng.integers(1, 9, n) / 4


def columns(draw, n, number):
    """One or two columns: text, and numbers or truth values."""
    out = {"g": [draw.pick("abcd"[: 2 + n % 3]) for _ in range(n)]}
    if number > 1:
        values = draw.pick(([0, 1], [False, True], [1, 2, 3]))
        out["h"] = [draw.pick(values) for _ in range(n)]
    return out


def deployed(draw, codes, labels):
    """Decisions of a deployed model: right in three of four rows."""
    wrong = draw.rng.integers(0, 4, len(codes)) == 0
    other = draw.rng.integers(0, len(labels), len(codes))
    return [labels[c] for c in np.where(wrong, other, codes)]
