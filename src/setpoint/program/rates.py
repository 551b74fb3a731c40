"""Rates: the few linear functions of the counts that a goal depends on."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from setpoint.array_types import Floats
from setpoint.evidence.codebook import Codebook, Marginals
from setpoint.goals.events import Diagonal, Event

__all__ = ["Rate"]


@dataclass(frozen=True)
class Rate:
    """One rate of one population: ``v = <event, C> / <given, M>`` over some strata."""

    event: Event
    given: Event
    label: int | None
    deployed: bool
    strata: tuple[int, ...]
    share_of: tuple[int, ...] | None = None
    defers: bool = False

    @cached_property
    def is_fixed(self) -> bool:
        """Whether every decision gives the same value."""
        return self.deployed or self.event.ignores_prediction

    @cached_property
    def sees_baseline(self) -> bool:
        """Whether it tells rows apart by the deployed model's prediction."""
        return self.deployed or self.event.needs_baseline

    def given_rows(self, n: int) -> Floats:
        """Which true classes (n + 1,) its rows have; the last stands for unlabelled."""
        rows = self.given.factors(n, self.label, None, False)[0]
        if self.event.needs_truth and rows[n]:
            rows = rows.copy()
            rows[n] = 0.0
        return rows

    def norm(self, marginals: Marginals) -> float:
        """The weight of its rows."""
        weights = marginals.weights
        strata = self.strata if self.share_of is None else self.share_of
        held = weights[list(strata)].sum(axis=0) if strata else 0.0 * weights[0]
        return float(held @ self.given_rows(weights.shape[1] - 1))

    def factors(self, n: int, baseline: int | None) -> tuple[Floats, Floats, Diagonal]:
        """The event's masks on a stratum with this deployed class, see :meth:`Event.factors`."""
        return self.event.factors(n, self.label, baseline, self.deployed, self.defers)

    def matrix(self, baseline: int | None, n: int) -> Floats:
        """Weights (n + 1, n) of the counts of a stratum with this deployed class; no `norm`."""
        out = self.event.matrix(n, self.label, baseline, self.deployed, self.defers)
        return np.asarray(out * self.given_rows(n)[:, None])

    def bounds(self, codebook: Codebook, marginals: Marginals, norm: float) -> tuple[float, float]:
        """The smallest and largest value over all decisions."""
        low = high = 0.0
        by_baseline: dict[int | None, list[int]] = {}
        for c in self.strata:
            known = codebook.strata[c].baseline if self.sees_baseline else None
            by_baseline.setdefault(known, []).append(c)
        for baseline, strata in by_baseline.items():
            rows = marginals.weights[strata].sum(axis=0)
            least, most = self._extremes(codebook.n_classes, baseline)
            low += float(least @ rows)
            high += float(most @ rows)
        return low / norm, high / norm

    def _extremes(self, n: int, baseline: int | None) -> tuple[Floats, Floats]:
        """Smallest and largest weight (n + 1,) by true class, over predicted classes."""
        if self.event.costs is not None:
            weights = self.matrix(baseline, n)
            return weights.min(axis=1), weights.max(axis=1)
        true, predicted, diagonal = self.factors(n, baseline)
        true = true * self.given_rows(n)
        if diagonal == "any":
            return true * predicted.min(), true * predicted.max()
        if diagonal == "on":
            return np.zeros(n + 1), np.append(true[:n] * predicted, 0.0)
        # Off the diagonal some other class must be left to predict.
        others = np.append(predicted.sum() - predicted, predicted.sum())
        return np.zeros(n + 1), true * (others > 0)
