"""The ellipsoid method's inner minimum over xi, part by part.

Functions that share no feature are minimised apart: smooth ones by L-BFGS-B, kinked ones
by a linear program; a feature that no function needs goes to an end of its range.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from setpoint.array_types import Floats
from setpoint.plugin.solvers.losses import Losses
from setpoint.plugin.solvers.slack import Slack
from setpoint.program.functions import Affine, RateFunction
from setpoint.search.epigraph import nearest_trusted

__all__ = ["Inner"]


@dataclass
class _Part:
    """Functions, by number, and the features that they alone need."""

    functions: list[int]
    features: NDArray[np.intp]


class Inner:
    """``min cost @ xi + weights @ f(xi)`` over the box of the features."""

    def __init__(self, losses: Losses, functions: Sequence[RateFunction]) -> None:
        self.losses = losses
        self.functions = tuple(functions)
        self._affine = [k for k, f in enumerate(functions) if isinstance(f, Affine)]
        self._smooth: list[_Part] = []
        kinked: list[int] = []
        for numbers, features in _apart(functions):
            if any(functions[k].has_kinks for k in numbers):
                kinked += numbers
            else:
                self._smooth.append(_Part(numbers, np.array(sorted(features))))
        self._kinked = _Part(kinked, np.array(sorted(_features(functions, kinked)), dtype=np.intp))
        self._program = Slack(losses, [functions[k] for k in kinked]) if kinked else None

    def minimise(self, cost: Floats, weights: Sequence[float]) -> tuple[float, Floats]:
        """A lower bound of the least value, and xi (d,) where it is nearly reached."""
        cost = cost.copy()
        least = 0.0
        for k in self._affine:
            f = self.functions[k]
            assert isinstance(f, Affine)
            least += weights[k] * f.const
            for j, a in f.terms.items():
                cost[j] += weights[k] * a
        xi = np.where(cost > 0.0, self.losses.low, self.losses.high)
        alone = np.ones(len(cost), dtype=bool)
        for part in [*self._smooth, self._kinked]:
            alone[part.features] = False
        least += float(cost[alone] @ xi[alone])
        for part in self._smooth:
            below, found = self._descend(part, cost, weights)
            xi[part.features] = found
            least += below
        if self._program is not None:
            part = self._kinked
            own = np.zeros(len(cost))
            own[part.features] = cost[part.features]
            below, found = self._program.minimise(own, [weights[k] for k in part.functions])
            xi[part.features] = found[part.features]
            least += below
        return least, xi

    def _descend(self, part: _Part, cost: Floats, weights: Sequence[float]) -> tuple[float, Floats]:
        """The minimum over the features of smooth functions."""
        j = part.features
        low, high = self.losses.low[j], self.losses.high[j]
        middle = self.losses.middle
        own = cost[j]
        terms = [(weights[k], self.functions[k]) for k in part.functions]
        scale = max(1.0, float(np.abs(own).max(initial=0.0)))

        def worth(x: Floats) -> tuple[float, Floats]:
            at = middle.copy()
            at[j] = x
            value, slope = float(own @ x), own.copy()
            for w, f in terms:
                value += w * float(f.value(at))
                slope += w * f.gradient(at)[j]
            return value / scale, slope / scale

        from scipy.optimize import minimize  # slow to load, and few goals need it

        found = minimize(
            worth,
            np.clip(middle[j], low, high),
            jac=True,
            method="L-BFGS-B",
            bounds=list(zip(low, high, strict=True)),
            options={"ftol": 1e-10, "gtol": 1e-7, "maxfun": 100},
        )
        # What is below the tangent plane is below the function.
        at = middle.copy()
        at[j] = found.x
        for _, f in terms:
            at = nearest_trusted(f, at, middle)
        value, slope = worth(at[j])
        below = value + float(np.minimum(slope * (low - at[j]), slope * (high - at[j])).sum())
        return scale * below, found.x


def _features(functions: Sequence[RateFunction], numbers: Sequence[int]) -> set[int]:
    return set().union(*(functions[k].features for k in numbers))


def _apart(functions: Sequence[RateFunction]) -> list[tuple[list[int], set[int]]]:
    """The functions that are not affine, in groups that share no feature."""
    groups: list[tuple[list[int], set[int]]] = []
    for k, f in enumerate(functions):
        if isinstance(f, Affine):
            continue
        numbers, features = [k], set(f.features)
        for group in [g for g in groups if g[1] & features]:
            groups.remove(group)
            numbers, features = group[0] + numbers, group[1] | features
        groups.append((numbers, features))
    return groups
