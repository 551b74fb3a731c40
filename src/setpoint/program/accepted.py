"""Two classes: a program as a function of the accepted weight of each kind of row.

A decision changes the rates only through the weight that it accepts of each *kind* of row, a
kind being a cell and a true class: ``v = base + S @ gains``. Solvers over cut-offs, trained
models and streams differ in how they find S; what S is worth is written here, once.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from functools import cached_property
from typing import NamedTuple, TypeAlias

import numpy as np

from setpoint.evidence.ratios import Ratios, zeros_of
from setpoint.evidence.sweep import BestCutoff, best_of
from setpoint.goals.events import Floats
from setpoint.program.functions import INF, Affine, RateFunction, Ratio
from setpoint.program.program import Program

__all__ = ["Accepted", "Fraction", "Kind"]

Kind: TypeAlias = tuple[int, int]
"""Cell and true class; true class 2 holds rows without labels."""

_ROUNDING = 1e-12
"""Share of a kind that is nothing: sums of weights in another order differ by it."""
_FEW = 4
"""Up to so many kinds, one product after the other: the same bits for one S as among many."""
_BLOCK = 8192
"""Cut-offs at a time: what is made of them stays in cache."""


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


class Accepted:
    """A program over the accepted weights S of some kinds of rows, all others held fixed.

    Parameters
    ----------
    program : Program
        Of two classes.
    kinds : sequence of (cell, true class), optional
        All, cell by cell, if left out.
    totals : array of shape (kinds,), optional
        The weight of all rows of each kind; that of the program's marginals if left out.
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
    >>> rows.best(S.T).cutoff
    0
    """

    def __init__(
        self,
        program: Program,
        kinds: Sequence[Kind] | None = None,
        totals: Floats | None = None,
        rest: Floats | None = None,
    ) -> None:
        weights = program.marginals.weights
        if kinds is None:
            kinds = [(c, t) for c in range(len(weights)) for t in range(weights.shape[1])]
        self.program = program
        self.kinds = tuple(kinds)
        cells, trues = [c for c, _ in kinds], [t for _, t in kinds]
        self.totals: Floats = weights[cells, trues] if totals is None else totals
        # Weights (d, kinds) of a row in the rates, rejected and accepted.
        self.rejected: Floats = program.tensors[:, cells, trues, 0]
        self.taken: Floats = program.tensors[:, cells, trues, 1]
        self.rest: Floats = np.zeros(len(self.rejected)) if rest is None else rest

    @cached_property
    def base(self) -> Floats:
        """The rates (d,) when nobody is accepted."""
        return np.asarray(self.rejected @ self.totals + self.rest)

    @cached_property
    def gains(self) -> Floats:
        """What one unit of accepted weight of each kind adds (kinds, d)."""
        return np.ascontiguousarray((self.taken - self.rejected).T)

    def with_totals(self, totals: Floats) -> Accepted:
        """The same goal on rows with other totals (kinds,), in a few microseconds.

        A rate whose rows have no weight is 0.

        Raises
        ------
        ValueError
            If the program is not one for any totals.
        """
        if self.program.fixed:
            raise ValueError("the program was made for its totals; see LinkedGoal.at_any_totals")
        rejected, taken, given = self._weights
        norms = (given @ totals)[:, None]
        share = np.divide(1.0, norms, out=np.zeros_like(norms), where=norms > 0)
        out = copy(self)
        for name in ("base", "gains", "ratios"):
            out.__dict__.pop(name, None)
        out.totals, out.rejected, out.taken = totals, rejected * share, taken * share
        return out

    @cached_property
    def _weights(self) -> tuple[Floats, Floats, Floats]:
        """Weights (d, kinds) of a row in the rates before division, and in what divides them."""
        rates, norms = self.program.rates, self.program.forms.norms[:, None]
        n = self.program.codebook.n_classes
        given = np.array([[r.given_rows(n)[t] for _, t in self.kinds] for r in rates])
        return self.rejected * norms, self.taken * norms, given.reshape(self.rejected.shape)

    # -- values ---------------------------------------------------------------------
    def rates(self, S: Floats) -> Floats:
        """The rates (..., d) at accepted weights (..., kinds).

        What is left of a kind is an exact 0 where all of it is accepted: that tells 0/0
        from x/0.
        """
        left = self.totals - S
        left = np.where(np.abs(left) <= _ROUNDING * self.totals, 0.0, left)
        if len(self.kinds) > _FEW:
            return np.asarray(left @ self.rejected.T + S @ self.taken.T + self.rest)
        out = np.zeros((*S.shape[:-1], len(self.rest)))
        for k in range(len(self.kinds)):
            out += left[..., k, None] * self.rejected[:, k]
            out += S[..., k, None] * self.taken[:, k]
        out += self.rest
        return out

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

    # -- as numbers -----------------------------------------------------------------
    def form(self, x: Affine) -> Floats:
        """An affine function of the rates as coefficients (kinds + 1,), the constant last."""
        a = np.zeros(len(self.base))
        for j, coef in x.terms.items():
            a[j] = coef
        return np.append(self.gains @ a, a @ self.base + x.const)

    def fraction(self, x: RateFunction) -> Fraction | None:
        """A function as a ratio of two forms with 0/0 = 0; None if it is not one."""
        parts = _fraction(x)
        if parts is None:
            return None
        above, below, offset = parts
        return Fraction(np.stack([self.form(above), self.form(below)]), offset)

    @cached_property
    def ratios(self) -> Ratios | None:
        """The goal as numbers for kernels; None where something in it is not a ratio."""
        known = self._over_rates
        if known is None:
            return None
        constants = (known.forms[..., :-1] @ self.base + known.forms[..., -1])[..., None]
        forms = np.concatenate([known.forms[..., :-1] @ self.gains.T, constants], axis=-1)
        return known._replace(forms=forms, zeros=zeros_of(forms, self.totals, _ROUNDING))

    @cached_property
    def _over_rates(self) -> Ratios | None:
        """The same over the rates themselves, whatever the totals."""
        p = self.program
        parts = [_fraction(x) for x in (p.objective, *(c.function for c in p.constraints))]
        known = [x for x in parts if x is not None]
        if len(known) < len(parts):
            return None
        forms = np.zeros((len(known), 2, len(p.rates) + 1))
        for form, (above, below, _) in zip(forms, known, strict=True):
            for row, x in zip(form, (above, below), strict=True):
                row[list(x.terms)] = list(x.terms.values())
                row[-1] = x.const
        offsets = np.array([offset for *_, offset in known])
        forms[0, 0] *= p.sense
        offsets[0] *= p.sense
        return Ratios(
            forms,
            np.zeros((len(known), 2)),
            offsets,
            np.array([c.level if c.sign > 0 else -INF for c in p.constraints]),
            np.array([c.level if c.sign < 0 else INF for c in p.constraints]),
        )

    # -- cut-offs -------------------------------------------------------------------
    def best(
        self,
        counts: Floats,
        *,
        required: Floats | None = None,
        tiebreak: Floats | None = None,
        near: int = -1,
        least_violation: bool = False,
    ) -> BestCutoff:
        """The best of some accepted weights.

        Arguments are those of :func:`setpoint.evidence.sweep.best_of`.

        Parameters
        ----------
        counts : array of shape (kinds, n)
        required : array of shape (h, kinds + 1), optional
            Forms that must not be below 0.
        tiebreak : array of shape (kinds + 1,), optional
        near : int
        least_violation : bool
        """
        ratios = self.ratios
        if ratios is None:
            counts, ratios, required, tiebreak = self._counted(counts, required, tiebreak)
        return best_of(
            np.ascontiguousarray(counts),
            ratios,
            required=required,
            tiebreak=tiebreak,
            near=near,
            least_violation=least_violation,
        )

    def _counted(
        self, counts: Floats, required: Floats | None, tiebreak: Floats | None
    ) -> tuple[Floats, Ratios, Floats, Floats]:
        """A goal of any shape for the same kernel: what it is worth takes the place of counts."""
        forms = np.zeros((0, len(self.kinds) + 1)) if required is None else required
        if tiebreak is not None:
            forms = np.vstack([tiebreak, forms])
        n = counts.shape[1]
        rows = np.empty((2 + len(forms), n))
        for start in range(0, n, _BLOCK):
            S = counts[:, start : start + _BLOCK]
            here = slice(start, start + S.shape[1])
            rows[0, here] = np.nan_to_num(self.score(S.T), nan=-INF, posinf=INF, neginf=-INF)
            rows[1, here] = self.violation(S.T)
            rows[2:, here] = forms[:, :-1] @ S + forms[:, -1:]
        each = np.eye(len(rows) + 1)
        ratios = Ratios(
            np.stack([each[[0, -1]], each[[1, -1]]]),
            np.zeros((2, 2)),
            np.zeros(2),
            np.array([-INF]),
            np.zeros(1),
        )
        if tiebreak is None:
            return rows, ratios, each[2:-1], np.zeros(len(rows) + 1)
        return rows, ratios, each[3:-1], each[2]


def _fraction(x: RateFunction) -> tuple[Affine, Affine, float] | None:
    """Numerator, denominator and what is added, of a ratio with 0/0 = 0."""
    if isinstance(x, Affine):
        return x, Affine({}, 1.0), 0.0
    if isinstance(x, Ratio) and x.at_zero == x.offset:
        return x.above, x.below, x.offset
    return None
