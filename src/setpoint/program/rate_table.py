"""The rates of a program as linear functions of the counts, mostly without their n x n tensor.

On one stratum a feature is an outer product of a mask over true and one over predicted
classes, kept or cleared on the diagonal. So most predicted classes look alike to it,
and ranges, floors and sums cost O(n) a feature instead of O(n^2).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from setpoint.array_types import Floats
from setpoint.evidence.codebook import Codebook, Marginals
from setpoint.program.functions import Affine
from setpoint.program.rates import Rate

__all__ = ["RateTable", "StratumForms"]

_TINY = 1e-12
_SMALL = 1_000_000
"""Up to so many weights, rates are one product with a dense matrix."""
_FEW = 16
"""Up to so many classes all of them are looked at."""


class StratumForms:
    """Several features on one stratum, before division by their norms."""

    def __init__(self, features: Sequence[Rate], n: int, baseline: int | None) -> None:
        self.n = n
        self.true = np.zeros((len(features), n + 1))
        self.predicted = np.zeros((len(features), n))
        self.outer = np.ones(len(features))
        self.diagonal = np.zeros(len(features))
        self.dense: list[tuple[int, Floats]] = []
        for i, f in enumerate(features):
            if f.event.costs is not None:
                self.dense.append((i, f.matrix(baseline, n)))
                continue
            true, predicted, kept = f.factors(n, baseline)
            self.true[i] = true * f.given_rows(n)
            self.predicted[i] = predicted
            self.outer[i] = kept != "on"
            self.diagonal[i] = {"any": 0.0, "on": 1.0, "off": -1.0}[kept]

    def sums(self, counts: Floats) -> Floats:
        """Each feature's sum over the counts (n + 1, n) of the stratum."""
        n = self.n
        out = self.outer * ((self.true @ counts) * self.predicted).sum(axis=1)
        out += self.diagonal * ((self.true[:, :n] * self.predicted) @ np.diagonal(counts))
        for i, weights in self.dense:
            out[i] = (weights * counts).sum()
        return np.asarray(out)

    def matrix(self, coefs: Floats) -> Floats:
        """The weighted sum of the features, as weights (n + 1, n) of the counts."""
        out = (self.true * (coefs * self.outer)[:, None]).T @ self.predicted
        i = np.arange(self.n)
        out[i, i] += self._on_diagonal(coefs * self.diagonal)
        for f, weights in self.dense:
            out += coefs[f] * weights
        return np.asarray(out)

    def _on_diagonal(self, coefs: Floats) -> Floats:
        return coefs @ (self.true[:, : self.n] * self.predicted)

    def entries(self, coefs: Floats) -> Floats:
        """Of several sums (k, features), all values (k, n + 1, m) a true class can meet."""
        if self.dense:
            return np.stack([self.matrix(c) for c in coefs])
        columns = self._kinds()
        i = np.arange(self.n)
        out = np.empty((len(coefs), self.n + 1, len(columns) + 1))
        for k, c in enumerate(coefs):
            weighted = (self.true * (c * self.outer)[:, None]).T
            out[k, :, :-1] = weighted @ self.predicted[:, columns]
            extra = self._on_diagonal(c * self.diagonal)
            out[k, columns, np.arange(len(columns))] += extra[columns]
            out[k, i, -1] = self._on_diagonal(c * (self.outer + self.diagonal))
            out[k, self.n, -1] = out[k, self.n, 0]
        return out

    def _kinds(self) -> NDArray[np.intp]:
        """Predicted classes, two of each kind that the features tell apart."""
        if self.n <= _FEW:
            return np.arange(self.n)
        _, kind = np.unique(self.predicted, axis=1, return_inverse=True)
        order = np.argsort(kind.ravel(), kind="stable")
        start = np.flatnonzero(np.diff(kind.ravel()[order], prepend=-1))
        # Of two one is left off the diagonal for every true class.
        two = np.unique(np.concatenate([start, np.minimum(start + 1, self.n - 1)]))
        return np.asarray(order[two])


class RateTable:
    """The d rates of a program as linear functions of the counts; no objective, no bounds."""

    def __init__(
        self,
        codebook: Codebook,
        marginals: Marginals,
        rates: Sequence[Rate],
        norms: Sequence[float],
    ) -> None:
        self.codebook = codebook
        self.marginals = marginals
        self.rates = tuple(rates)
        self.norms: Floats = np.array(norms, dtype=np.float64)
        # Solvers ask for the same floors again and again.
        self._known: dict[tuple[object, ...], tuple[float, float]] = {}
        self._steps: dict[frozenset[tuple[int, float]], float | None] = {}

    def __len__(self) -> int:
        return len(self.rates)

    def of(self, counts: Floats) -> Floats:
        """The rates (d,) at counts (strata, n + 1, n)."""
        if len(self.rates) * counts.size > _SMALL:
            return self.sums(counts)
        return np.asarray(self._masks @ np.ravel(counts) / self.norms)

    @cached_property
    def tensors(self) -> Floats:
        """Weights (d, strata, n + 1, n) of the counts: ``v_j = (tensors[j] * C).sum()``."""
        n = self.codebook.n_classes
        shape = (len(self.rates), len(self.codebook.strata), n + 1, n)
        return self._masks.reshape(shape) / self.norms[:, None, None, None]

    @cached_property
    def _masks(self) -> Floats:
        """The rates (d, strata * (n + 1) * n) before division by their norms."""
        n, strata = self.codebook.n_classes, self.codebook.strata
        out = np.zeros((len(self.rates), len(strata), n + 1, n))
        for j, f in enumerate(self.rates):
            for c in f.strata:
                out[j, c] = f.matrix(strata[c].baseline, n)
        return out.reshape(len(self.rates), len(strata) * (n + 1) * n)

    def sums(self, counts: Floats) -> Floats:
        """All rates (d,) at counts (strata, n + 1, n)."""
        out = np.zeros(len(self.rates))
        for c, stratum in enumerate(self.codebook.strata):
            held = [j for j, f in enumerate(self.rates) if c in f.strata]
            if held:
                features = [self.rates[j] for j in held]
                masks = StratumForms(features, self.codebook.n_classes, stratum.baseline)
                out[held] += masks.sums(counts[c])
        return np.asarray(out / self.norms)

    def tensor(self, coefs: Floats) -> Floats:
        """Weights (strata, n + 1, n) of the counts in ``sum_j coefs[j] * v_j``."""
        n = self.codebook.n_classes
        out = np.zeros((len(self.codebook.strata), n + 1, n))
        for c, stratum in enumerate(self.codebook.strata):
            held = [j for j, f in enumerate(self.rates) if coefs[j] and c in f.strata]
            if held:
                features = [self.rates[j] for j in held]
                scaled = np.array([coefs[j] / self.norms[j] for j in held])
                out[c] = StratumForms(features, n, stratum.baseline).matrix(scaled)
        return out

    def range(self, x: Affine) -> tuple[float, float]:
        """The smallest and largest value of x over all decisions."""
        return self.range_at_least(x, Affine({}, 0.0))

    def range_at_least(self, x: Affine, y: Affine) -> tuple[float, float]:
        """The range of x over the decisions at which y is as small as it gets."""
        key = (frozenset(x.terms.items()), frozenset(y.terms.items()))
        if key not in self._known:
            self._known[key] = self._range(x, y)
        low, high = self._known[key]
        return x.const + low, x.const + high

    def _range(self, x: Affine, y: Affine) -> tuple[float, float]:
        low = high = 0.0
        for strata, (xs, ys) in self._alike(x, y):
            rows = self.marginals.weights[strata].sum(axis=0)
            least = ys <= ys.min(axis=1, keepdims=True) + _TINY * _size(ys)
            low += float(np.where(least, xs, np.inf).min(axis=1) @ rows)
            high += float(np.where(least, xs, -np.inf).max(axis=1) @ rows)
        return low, high

    def step(self, x: Affine, least: float = 0.0) -> float | None:
        """The least that one row can lift x above its minimum; None if no row can."""
        key = frozenset(x.terms.items())
        if key not in self._steps:
            self._steps[key] = self._step(x)
        one = self._steps[key]
        if one is None or not least:
            return one
        low, high = self.range(x)
        return max(one, min(self._gain(x) * least, 0.5 * (high - low)))

    def _gain(self, x: Affine) -> float:
        """The least that rows of weight 1 can lift x."""
        gains = [e - e.min(axis=1, keepdims=True) for _, (e,) in self._alike(x)]
        sizes = np.concatenate([np.ravel(g) for g in gains])
        return float(sizes[sizes > _TINY * sizes.max()].min())

    def _step(self, x: Affine) -> float | None:
        steps: list[float] = []
        for strata, (entries,) in self._alike(x):
            smallest = self.marginals.smallest[strata].min(axis=0)
            gains = entries - entries.min(axis=1, keepdims=True)
            real = (gains > _TINY * _size(entries)) & np.isfinite(smallest)[:, None]
            weights = np.where(np.isfinite(smallest), smallest, 0.0)
            steps += (gains * weights[:, None])[real].tolist()
        return min(steps, default=None)

    def _alike(self, *xs: Affine) -> Iterator[tuple[list[int], Floats]]:
        """Strata that the functions treat alike, and the entries (k, n + 1, m) on them."""
        used = sorted({j for x in xs for j in x.terms if j >= 0})
        features = [self.rates[j] for j in used]
        coefs = np.array([[x.terms.get(j, 0.0) / self.norms[j] for j in used] for x in xs])
        deployed = any(f.sees_baseline for f in features)
        sets = {f.strata: frozenset(f.strata) for f in features}
        alike: dict[tuple[object, ...], list[int]] = {}
        for c, stratum in enumerate(self.codebook.strata):
            held = tuple(c in s for s in sets.values())
            if any(held):
                alike.setdefault((held, stratum.baseline if deployed else None), []).append(c)
        for strata in alike.values():
            here = [i for i, f in enumerate(features) if strata[0] in sets[f.strata]]
            baseline = self.codebook.strata[strata[0]].baseline
            masks = StratumForms([features[i] for i in here], self.codebook.n_classes, baseline)
            yield strata, masks.entries(coefs[:, here])


def _size(x: Floats) -> float:
    return float(np.abs(x).max(initial=0.0))
