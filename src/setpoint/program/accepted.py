"""Two classes: a program as a function of the accepted weight of each kind of row.

A decision changes the rates only through the weight that it accepts of each *kind* of row, a
kind being a cell and a true class: ``v = base + S @ gains``. Solvers over cut-offs, trained
models and streams differ in how they find S; what S is worth is written here, once.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple, TypeAlias

import numpy as np

from setpoint.goals.events import Floats
from setpoint.program.functions import Affine, RateFunction, Ratio
from setpoint.program.program import Program
from setpoint.program.rate_table import RateTable

__all__ = ["Accepted", "AcceptedRates", "Fraction", "Kind"]

Kind: TypeAlias = tuple[int, int]
"""Cell and true class; true class 2 holds rows without labels."""


class Fraction(NamedTuple):
    """A function of accepted weights as ``offset + (above @ (S, 1)) / (below @ (S, 1))``.

    Parameters
    ----------
    forms : array of shape (2, kinds + 1)
        Numerator and denominator, the constant last.
    offset : float
    """

    forms: Floats
    offset: float


class AcceptedRates:
    """Rates over the accepted weights S of some kinds of rows, all others held fixed.

    Parameters
    ----------
    table : RateTable
        Of two classes.
    kinds : sequence of (cell, true class), optional
        All, cell by cell, if left out.
    totals : array of shape (kinds,), optional
        The weight of all rows of each kind; that of the table's marginals if left out.
        Sums in another order differ by rounding, and "all but the accepted" has to end at
        nothing: who adds up S takes totals from the same sums.
    rest : array of shape (d,), optional
        The rates' shares of rows of other kinds.

    Attributes
    ----------
    base : array of shape (d,)
        The rates when nobody is accepted.
    gains : array of shape (kinds, d)
        What one unit of accepted weight of each kind adds.
    """

    def __init__(
        self,
        table: RateTable,
        kinds: Sequence[Kind] | None = None,
        totals: Floats | None = None,
        rest: Floats | None = None,
    ) -> None:
        weights = table.marginals.weights
        if kinds is None:
            kinds = [(c, t) for c in range(len(weights)) for t in range(weights.shape[1])]
        self.kinds = tuple(kinds)
        cells, trues = [c for c, _ in kinds], [t for _, t in kinds]
        self.totals: Floats = weights[cells, trues] if totals is None else totals
        # Weights (d, kinds) of a row in the rates, rejected and accepted.
        self.rejected = table.tensors[:, cells, trues, 0]
        self.taken = table.tensors[:, cells, trues, 1]
        self.base: Floats = self.rejected @ self.totals
        if rest is not None:
            self.base = self.base + rest
        self.gains: Floats = np.ascontiguousarray((self.taken - self.rejected).T)

    def rates(self, S: Floats) -> Floats:
        """The rates (..., d) at accepted weights (..., kinds)."""
        return np.asarray(self.base + S @ self.gains)

    def form(self, x: Affine, rest: Floats | None = None) -> Floats:
        """An affine function of the rates as coefficients (kinds + 1,), the constant last.

        Parameters
        ----------
        x : Affine
        rest : array of shape (d,), optional
            Added to the rates: the shares of rows of yet other kinds.
        """
        a = np.zeros(len(self.base))
        for j, coef in x.terms.items():
            a[j] = coef
        const = a @ self.base + x.const
        if rest is not None:
            const = const + float(sum(coef * rest[j] for j, coef in x.terms.items()))
        return np.append(self.gains @ a, const)

    def fraction(self, x: RateFunction, rest: Floats | None = None) -> Fraction | None:
        """A function as a ratio of two forms with 0/0 = 0; None if it is not one."""
        if isinstance(x, Affine):
            return Fraction(np.stack([self.form(x, rest), self._one]), 0.0)
        if isinstance(x, Ratio) and x.at_zero == x.offset:
            forms = np.stack([self.form(x.above, rest), self.form(x.below, rest)])
            return Fraction(forms, x.offset)
        return None

    @cached_property
    def _one(self) -> Floats:
        return np.append(np.zeros(len(self.gains)), 1.0)


class Accepted(AcceptedRates):
    """A program over the accepted weights S of some kinds of rows, all others held fixed.

    Parameters
    ----------
    program : Program
        Of two classes.
    kinds, totals, rest
        As in :class:`AcceptedRates`.

    Examples
    --------
    >>> import numpy as np
    >>> from setpoint import Goal
    >>> from setpoint.evidence.codebook import Codebook, Marginals
    >>> from setpoint.program.link import link
    >>> goal = Goal.parse("maximize recall subject to precision >= 0.75")
    >>> marginals = Marginals(np.array([[90.0, 10.0, 0.0]]), np.array([[1.0, 1.0, np.inf]]))
    >>> program = link(goal, Codebook.of(("no", "yes"))).at(marginals)
    >>> rows = Accepted(program, kinds=[(0, 0), (0, 1)])
    >>> S = np.array([[2.0, 8.0], [4.0, 8.0]])
    >>> rows.score(S), rows.violation(S).round(3)
    (array([0.8, 0.8]), array([0.   , 0.083]))
    """

    def __init__(
        self,
        program: Program,
        kinds: Sequence[Kind] | None = None,
        totals: Floats | None = None,
        rest: Floats | None = None,
    ) -> None:
        super().__init__(program.table, kinds, totals, rest)
        self.program = program

    def score(self, S: Floats) -> Floats:
        """The objective (...,) at accepted weights (..., kinds), higher is better."""
        with np.errstate(all="ignore"):
            return np.asarray(self.program.sense * self.program.value(self.rates(S)))

    def violation(self, S: Floats) -> Floats:
        """The largest violation of a constraint (...,), in the user's units."""
        with np.errstate(all="ignore"):
            return np.asarray(self.program.violation(self.rates(S)))

    def slope(self, x: RateFunction, S: Floats) -> Floats:
        """The gradient (kinds,) of a function of the rates at accepted weights (kinds,)."""
        return np.asarray(self.gains @ x.gradient(self.rates(S)))
