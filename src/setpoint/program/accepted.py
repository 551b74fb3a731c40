"""Two classes: a program as a function of the accepted weight of each kind of row.

A decision changes the rates only through the weight that it accepts of each *kind* of row, a
kind being a stratum and a true class: ``v = base + S @ gains``. Solvers over cut-offs, trained
models and streams differ in how they find S; what S is worth is written here, once.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from setpoint.array_types import Floats
from setpoint.errors import InputError
from setpoint.evidence.ratios import Ratios, zeros_of
from setpoint.evidence.sweep import BestCutoff, best_of
from setpoint.program.accepted_rates import AcceptedRates, Kind, fraction_of
from setpoint.program.functions import INF, RateFunction
from setpoint.program.program import Program

__all__ = ["Accepted"]

_ROUNDING = 1e-12
"""Share of a kind that is nothing: sums of weights in another order differ by it."""
_FEW = 4
"""Up to so many kinds, one product after the other: the same bits for one S as among many."""
_BLOCK = 8192
"""Cut-offs at a time: what is made of them stays in cache."""


class Accepted(AcceptedRates):
    """A program over the accepted weights S of some kinds of rows, all others held fixed.

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
        super().__init__(program.table, kinds, totals, rest)
        self.program = program

    def with_totals(self, totals: Floats) -> Accepted:
        """The same goal on rows with other totals (kinds,), in a few microseconds."""
        if self.program.fixed:
            raise InputError("the program was made for its totals; see LinkedGoal.at_any_totals")
        rejected, accepted, given = self._weights
        norms = (given @ totals)[:, None]
        share = 1.0 / np.where(norms > 0, norms, INF)
        out = object.__new__(Accepted)  # copy() would take a third of all
        out.__dict__ = {k: v for k, v in vars(self).items() if k not in ("base", "gains", "ratios")}
        out.totals, out.rejected, out.accepted = totals, rejected * share, accepted * share
        return out

    @cached_property
    def _weights(self) -> tuple[Floats, Floats, Floats]:
        """Weights (d, kinds) of a row in the rates before division, and in what divides them."""
        rates, norms = self.program.rates, self.program.table.norms[:, None]
        n = self.program.codebook.n_classes
        given = np.array([[r.given_rows(n)[t] for _, t in self.kinds] for r in rates])
        return self.rejected * norms, self.accepted * norms, given.reshape(self.rejected.shape)

    # -- values ---------------------------------------------------------------------
    def rates(self, S: Floats) -> Floats:
        """The rates (..., d) at accepted weights (..., kinds)."""
        left = self.totals - S
        left = np.where(np.abs(left) <= _ROUNDING * self.totals, 0.0, left)
        if len(self.kinds) > _FEW:
            return np.asarray(left @ self.rejected.T + S @ self.accepted.T + self.rest)
        out = np.zeros((*S.shape[:-1], len(self.rest)))
        for k in range(len(self.kinds)):
            out += left[..., k, None] * self.rejected[:, k]
            out += S[..., k, None] * self.accepted[:, k]
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
        parts = [fraction_of(x) for x in (p.objective, *(c.function for c in p.constraints))]
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
        """The best of some accepted weights."""
        ratios, given = self.ratios, counts
        if ratios is None:
            counts, ratios, required = self._counted(counts, required)
        largest = None
        if tiebreak is not None:
            form = tiebreak[:-1]

            def largest(ties: NDArray[np.int64]) -> int:
                return int(np.argmax(form @ given[:, ties]))

        return best_of(
            np.ascontiguousarray(counts),
            ratios,
            required=required,
            tiebreak=largest,
            near=near,
            least_violation=least_violation,
        )

    def _counted(self, counts: Floats, required: Floats | None) -> tuple[Floats, Ratios, Floats]:
        """A goal of any shape for the same kernel: what it is worth takes the place of counts."""
        forms = np.zeros((0, len(self.kinds) + 1)) if required is None else required
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
        return rows, ratios, each[2:-1]
