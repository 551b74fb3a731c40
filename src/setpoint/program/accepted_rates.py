"""Rates of two classes as functions of the accepted weight of each kind of row.

A decision changes the rates only through the weight that it accepts of each *kind* of row, a
kind being a stratum and a true class: ``v = base + S @ gains``.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple, TypeAlias

import numpy as np

from setpoint.array_types import Floats
from setpoint.program.functions import Affine, RateFunction, Ratio
from setpoint.program.rate_table import RateTable

__all__ = ["AcceptedRates", "Fraction", "Kind", "fraction_of"]

Kind: TypeAlias = tuple[int, int]
"""Stratum and true class; true class 2 holds rows without labels."""

_ONE = Affine({}, 1.0)


class Fraction(NamedTuple):
    """A function of accepted weights as ``offset + (above @ (S, 1)) / (below @ (S, 1))``."""

    forms: Floats
    offset: float


class AcceptedRates:
    """Rates over the accepted weights S of some kinds of rows, all others held fixed."""

    def __init__(
        self,
        table: RateTable,
        kinds: Sequence[Kind] | None = None,
        totals: Floats | None = None,
        rest: Floats | None = None,
        between: tuple[int, int] = (0, 1),
    ) -> None:
        weights = table.marginals.weights
        if kinds is None:
            kinds = [(c, t) for c in range(len(weights)) for t in range(weights.shape[1])]
        self.kinds = tuple(kinds)
        strata, trues = [c for c, _ in kinds], [t for _, t in kinds]
        self.totals: Floats = weights[strata, trues] if totals is None else totals
        # Weights (d, kinds) of a row in the rates, rejected and accepted.
        self.rejected: Floats = table.tensors[:, strata, trues, between[0]]
        self.accepted: Floats = table.tensors[:, strata, trues, between[1]]
        self.rest: Floats = np.zeros(len(self.rejected)) if rest is None else rest

    @cached_property
    def base(self) -> Floats:
        """The rates (d,) when nobody is accepted."""
        return np.asarray(self.rejected @ self.totals + self.rest)

    @cached_property
    def gains(self) -> Floats:
        """What one unit of accepted weight of each kind adds (kinds, d)."""
        return np.ascontiguousarray((self.accepted - self.rejected).T)

    def rates(self, S: Floats) -> Floats:
        """The rates (..., d) at accepted weights (..., kinds)."""
        return np.asarray(self.base + S @ self.gains)

    def form(self, x: Affine, rest: Floats | None = None) -> Floats:
        """An affine function of the rates as coefficients (kinds + 1,), the constant last."""
        a = np.zeros(len(self.base))
        for j, coef in x.terms.items():
            a[j] = coef
        const = a @ self.base + x.const
        if rest is not None:
            const = const + float(sum(coef * rest[j] for j, coef in x.terms.items()))
        return np.append(self.gains @ a, const)

    def fraction(self, x: RateFunction, rest: Floats | None = None) -> Fraction | None:
        """A function as a ratio of two forms with 0/0 = 0; None if it is not one."""
        parts = fraction_of(x)
        if parts is None:
            return None
        above, below, offset = parts
        return Fraction(np.stack([self.form(above, rest), self.form(below, rest)]), offset)


def fraction_of(x: RateFunction) -> tuple[Affine, Affine, float] | None:
    """Numerator, denominator and what is added, of a ratio with 0/0 = 0; None for the rest."""
    if isinstance(x, Affine):
        return x, _ONE, 0.0
    if isinstance(x, Ratio) and x.at_zero == x.offset:
        return x.above, x.below, x.offset
    return None
