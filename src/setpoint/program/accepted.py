"""Two classes: rates and programs as functions of what is accepted, and their ranges over boxes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from setpoint.array_types import Floats
from setpoint.counts import BestCutoff, Ratios, best_of, zeros_of
from setpoint.errors import InputError
from setpoint.program import functions as fn
from setpoint.program.program import Program
from setpoint.program.rates import RateTable

# --- Rates of two classes as functions of the accepted weight of each kind ------------------------


Kind: TypeAlias = tuple[int, int]
"""Stratum and true class; true class 2 holds rows without labels."""
Bound: TypeAlias = tuple[fn.RateFunction, float, float]
"""A function, the level of a bound on it, and 1 for a floor or -1 for a cap."""

_NOTHING = 1e-12
"""Share of a kind that is nothing: sums of weights in another order differ by it."""
_FEW = 4
"""Up to so many kinds, one product after the other: the same bits for one S as among many."""


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
        left = self.totals - S
        left = np.where(np.abs(left) <= _NOTHING * self.totals, 0.0, left)
        if len(self.kinds) > _FEW:
            return np.asarray(left @ self.rejected.T + S @ self.accepted.T + self.rest)
        out = np.zeros((*S.shape[:-1], len(self.rest)))
        for k in range(len(self.kinds)):
            out += left[..., k, None] * self.rejected[:, k]
            out += S[..., k, None] * self.accepted[:, k]
        out += self.rest
        return out

    def form(self, x: fn.Affine, rest: Floats | None = None) -> Floats:
        """An affine function of the rates as coefficients (kinds + 1,), the constant last."""
        a = x.gradient(self.base)
        const = a @ self.base + x.const
        if rest is not None:
            const = const + float(sum(coef * rest[j] for j, coef in x.terms.items()))
        out = np.empty(len(self.gains) + 1)
        out[:-1], out[-1] = self.gains @ a, const
        return out

    def as_ratios(
        self, score: fn.RateFunction, bounds: Sequence[Bound], rest: Floats | None = None
    ) -> Ratios | None:
        """What is wanted and bounded as numbers for kernels; None where it is not all ratios."""
        found = _ratios(score, bounds, lambda x: self.form(x, rest))
        if found is None:
            return None
        return found._replace(zeros=zeros_of(found.forms, self.totals))


def _ratios(
    score: fn.RateFunction, bounds: Sequence[Bound], form: Callable[[fn.Affine], Floats]
) -> Ratios | None:
    """An objective and bounds as ratios of forms, but for which of these are nothing."""
    forms, offsets = list[tuple[Floats, Floats]](), list[float]()
    for x in (score, *(function for function, _, _ in bounds)):
        if isinstance(x, fn.Affine):
            above = form(x)
            forms.append((above, np.eye(1, len(above), len(above) - 1)[0]))
            offsets.append(0.0)
        elif isinstance(x, fn.Ratio) and x.at_zero == x.offset:
            forms.append((form(x.above), form(x.below)))
            offsets.append(x.offset)
        else:
            return None
    return Ratios(
        np.array(forms),
        np.zeros((len(forms), 2)),
        np.array(offsets),
        np.array([level if sign > 0 else -fn.INF for _, level, sign in bounds]),
        np.array([level if sign < 0 else fn.INF for _, level, sign in bounds]),
    )


# --- Ranges of functions of the rates over many boxes of accepted counts at -----------------------


_STEPS = 6
"""Dinkelbach's method ends in so few over small boxes; it may stop anywhere."""
_MOST_PARTS, _MOST_CUTS = 2**18, 32
"""Parts of all boxes together, and cuts of one side."""
_ROUNDING = 1e-12
"""Of what the terms of a form reach: a bound is not missed by a last bit."""


def range_over_boxes(
    rows: AcceptedRates,
    x: fn.RateFunction,
    low: Floats,
    high: Floats,
    rest: Floats | None = None,
) -> tuple[Floats, Floats]:
    """Bounds (m,) on a function of the rates over boxes of accepted weights.

    Examples
    --------
    >>> from setpoint import Goal
    >>> from setpoint.counts.codebook import Codebook, Marginals
    >>> from setpoint.program import link
    >>> counts = Marginals(np.array([[6.0, 4.0, 0.0]]), np.array([[1.0, 1.0, np.inf]]))
    >>> for metric in ("recall", "precision"):
    ...     program = link(Goal.parse(f"maximize {metric}"), Codebook.of((0, 1))).at(counts)
    ...     rows = AcceptedRates(program.table, [(0, 0), (0, 1)])
    ...     low, high = np.array([[1.0], [3.0]]), np.array([[2.0], [4.0]])
    ...     print(np.round(range_over_boxes(rows, program.objective, low, high), 3).tolist())
    [[0.75], [1.0]]
    [[0.6], [0.8]]
    """
    if isinstance(x, fn.Affine):
        form = rows.form(x, rest)
        least, most = _of_form(form[:-1, None], form[-1], low, high)
    elif isinstance(x, fn.Ratio):
        above, below = rows.form(x.above, rest), rows.form(x.below, rest)
        top = _most_of_ratio(above, below, low, high) + x.offset
        bottom = x.offset - _most_of_ratio(-above, below, low, high)
        if x.at_zero != x.offset:
            reaches = _of_form(below[:-1, None], below[-1], low, high)[0] <= 0.0
            top = np.where(reaches, np.maximum(top, x.at_zero), top)
            bottom = np.where(reaches, np.minimum(bottom, x.at_zero), bottom)
        least, most = bottom, top
    else:
        assert isinstance(x, fn.Node)
        parts = [range_over_boxes(rows, c, low, high, rest) for c in x.children]
        least, most = x.interval(*parts)
    least = np.where(np.isnan(least), -fn.INF, least)
    most = np.where(np.isnan(most), fn.INF, most)
    return np.maximum(least, x.low), np.minimum(most, x.high)


def most_in_parts(
    rows: AcceptedRates,
    x: fn.RateFunction,
    low: Floats,
    high: Floats,
    rest: Floats | None = None,
) -> Floats:
    """An upper bound (m,) on a function over boxes, each cut into parts."""
    kinds, m = low.shape
    cuts = int((_MOST_PARTS / max(m, 1)) ** (1.0 / max(kinds, 1)))
    if isinstance(x, (fn.Affine, fn.Ratio)) or cuts < 2 or not m:
        return range_over_boxes(rows, x, low, high, rest)[1]
    cuts = min(cuts, _MOST_CUTS)
    steps = np.stack(np.meshgrid(*[np.arange(cuts)] * kinds, indexing="ij")).reshape(kinds, 1, -1)
    width = ((high - low) / cuts)[:, :, None]
    first = low[:, :, None] + width * steps
    last = np.where(steps == cuts - 1, high[:, :, None], low[:, :, None] + width * (steps + 1))
    most = range_over_boxes(rows, x, first.reshape(kinds, -1), last.reshape(kinds, -1), rest)[1]
    return np.asarray(most.reshape(m, -1).max(axis=1))


def _of_form(
    slopes: Floats, const: Floats | float, low: Floats, high: Floats
) -> tuple[Floats, Floats]:
    """The range of ``slopes @ S + const`` over each box, with room for rounding."""
    a, b = slopes * low, slopes * high
    room = _ROUNDING * (np.abs(b).sum(axis=0) + np.abs(const))
    least = np.minimum(a, b).sum(axis=0) + const - room
    return least, np.maximum(a, b).sum(axis=0) + const + room


def _most_of_ratio(above: Floats, below: Floats, low: Floats, high: Floats) -> Floats:
    """A bound on the largest ``A/B`` over each box, for B at least 0; 0/0 is 0."""
    a, b = above[:-1, None], below[:-1, None]
    smallest = _of_form(b, below[-1], low, high)[0]
    with np.errstate(all="ignore"):
        g = np.zeros(low.shape[1])
        for _ in range(_STEPS):
            corner = np.where(a - g * b > 0.0, high, low)
            top, bottom = (a * corner).sum(axis=0), (b * corner).sum(axis=0)
            new = (top + above[-1]) / (bottom + below[-1])
            g = np.where(np.isfinite(new), new, g)
        left = _of_form(a - g * b, above[-1] - g * below[-1], low, high)[1]
        bound = g + np.maximum(left, 0.0) / smallest
        # Without a smallest B, the sign of A is all that is known.
        positive = _of_form(a, above[-1], low, high)[1] > 0.0
        unknown = np.where(positive, fn.INF, 0.0)
    return np.where((smallest > 0.0) & np.isfinite(bound), bound, unknown)


# --- Two classes: a program as a function of the accepted weight of each --------------------------


_BLOCK = 8192
"""Cut-offs at a time: what is made of them stays in cache."""


class Accepted(AcceptedRates):
    """A program over the accepted weights S of some kinds of rows, all others held fixed.

    Examples
    --------
    >>> import numpy as np
    >>> from setpoint import Goal
    >>> from setpoint.counts.codebook import Codebook, Marginals
    >>> from setpoint.program import link
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
        share = 1.0 / np.where(norms > 0, norms, fn.INF)
        out = object.__new__(Accepted)  # copy() would take a third of all
        out.__dict__ = {k: v for k, v in vars(self).items() if k not in ("base", "gains", "ratios")}
        out.totals, out.rejected, out.accepted = totals, rejected * share, accepted * share
        return out

    @cached_property
    def _weights(self) -> tuple[Floats, Floats, Floats]:
        """Weights (d, kinds) of a row in the rates before division, and in what divides them."""
        rates, norms = self.program.rates, self.program.table.norms[:, None]
        given = np.array([[r.given_rows[t] for _, t in self.kinds] for r in rates])
        return self.rejected * norms, self.accepted * norms, given.reshape(self.rejected.shape)

    # -- values ---------------------------------------------------------------------
    def score(self, S: Floats) -> Floats:
        """The objective (...,) at accepted weights (..., kinds), higher is better."""
        with np.errstate(all="ignore"):
            return np.asarray(self.program.sense * self.program.value(self.rates(S)))

    def violation(self, S: Floats) -> Floats:
        """The largest violation of a constraint (...,), in the user's units."""
        with np.errstate(all="ignore"):
            return np.asarray(self.program.violation(self.rates(S)))

    def slope(self, x: fn.RateFunction, S: Floats) -> Floats:
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
        return known._replace(forms=forms, zeros=zeros_of(forms, self.totals, _NOTHING))

    @cached_property
    def _over_rates(self) -> Ratios | None:
        """The same over the rates themselves, whatever the totals."""
        bounds = [(c.function, c.level, c.sign) for c in self.program.constraints]
        at = np.zeros(len(self.program.rates))
        return _ratios(self.program.score, bounds, lambda x: np.append(x.gradient(at), x.const))

    # -- cut-offs -------------------------------------------------------------------
    def best(
        self, counts: Floats, *, required: Floats | None = None, **preferred: Any
    ) -> BestCutoff:
        """The best of some accepted weights, see :func:`setpoint.counts.best_of`."""
        ratios = self.ratios
        if ratios is None:
            counts, ratios, required = self._counted(counts, required)
        return best_of(np.ascontiguousarray(counts), ratios, required=required, **preferred)

    def _counted(self, counts: Floats, required: Floats | None) -> tuple[Floats, Ratios, Floats]:
        """A goal of any shape for the same kernel: what it is worth takes the place of counts."""
        forms = np.zeros((0, len(self.kinds) + 1)) if required is None else required
        n = counts.shape[1]
        rows = np.empty((2 + len(forms), n))
        for start in range(0, n, _BLOCK):
            S = counts[:, start : start + _BLOCK]
            here = slice(start, start + S.shape[1])
            rows[0, here] = np.nan_to_num(
                self.score(S.T), nan=-fn.INF, posinf=fn.INF, neginf=-fn.INF
            )
            rows[1, here] = self.violation(S.T)
            rows[2:, here] = forms[:, :-1] @ S + forms[:, -1:]
        each = np.eye(len(rows) + 1)
        ratios = Ratios(
            np.stack([each[[0, -1]], each[[1, -1]]]),
            np.zeros((2, 2)),
            np.zeros(2),
            np.array([-fn.INF]),
            np.zeros(1),
        )
        return rows, ratios, each[2:-1]
