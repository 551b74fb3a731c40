"""Affine functions of the rates."""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np

from setpoint.program.backend import Array, backend
from setpoint.program.functions.base import AFFINE, INF, RateFunction
from setpoint.typing import Floats

__all__ = ["Affine"]


class Affine(RateFunction):
    """``const + sum_j coef_j v_j``; `terms` maps feature to coefficient, `boxes` to its range."""

    shape = AFFINE

    def __init__(
        self,
        terms: dict[int, float],
        const: float,
        boxes: dict[int, tuple[float, float]] | None = None,
    ) -> None:
        self.terms = {j: a for j, a in terms.items() if a != 0.0}
        self.const = float(const)
        self.boxes = boxes or {}
        ends = [
            sorted(a * x for x in self.boxes.get(j, (-INF, INF))) for j, a in self.terms.items()
        ]
        self.low = self.const + sum(e[0] for e in ends)
        self.high = self.const + sum(e[1] for e in ends)

    @cached_property
    def _index(self) -> list[int]:
        return list(self.terms)

    def value(self, v: Array) -> Array:
        xp = backend(v)
        out = xp.full(v, self.const)
        for j, a in self.terms.items():
            out = out + a * v[..., j]
        return out

    def gradient(self, v: Floats) -> Floats:
        out = np.zeros(len(v))
        out[self._index] = list(self.terms.values())
        return out

    def smallest_floored_argument(self, v: Floats) -> float:
        return INF

    @property
    def features(self) -> frozenset[int]:
        return frozenset(self.terms)

    @property
    def shape_name(self) -> str:
        return "affine"

    def scaled(self, k: float) -> Affine:
        """The multiple by k."""
        return Affine({j: k * a for j, a in self.terms.items()}, k * self.const, self.boxes)

    def plus(self, other: Affine | float) -> Affine:
        """The sum of two affine functions."""
        if not isinstance(other, Affine):
            other = Affine({}, other)
        terms = dict(self.terms)
        for j, a in other.terms.items():
            terms[j] = terms.get(j, 0.0) + a
        return Affine(terms, self.const + other.const, {**self.boxes, **other.boxes})

    def same_as(self, other: Affine) -> bool:
        """Whether both are the same function, to rounding."""
        if self.terms.keys() != other.terms.keys():
            return False
        pairs = [(a, other.terms[j]) for j, a in self.terms.items()]
        return all(math.isclose(a, b, rel_tol=1e-12) for a, b in pairs) and math.isclose(
            self.const, other.const, rel_tol=1e-12, abs_tol=1e-15
        )
