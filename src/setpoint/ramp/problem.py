"""The ramp problem: objective and bounds over the rates of a linear model."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setpoint.array_types import Codes, Floats
from setpoint.compiled import kernel
from setpoint.counts import Evidence
from setpoint.errors import ShapeError
from setpoint.parameters import SATISFIED
from setpoint.program import (
    Accepted,
    Affine,
    NotLinearError,
    Program,
    RateFunction,
    Ratio,
    without_auxiliaries,
)

# --- The ramp and its smoothing, one pass over the rows -------------------------------------------


_FAR = 36.0
"""Beyond so many widths a kink leaves no trace in double precision."""


def ramp(z: Floats) -> Floats:
    """The probability of the positive class.

    Examples
    --------
    >>> ramp(np.array([-2.0, -0.25, 0.0, 0.5]))
    array([0.  , 0.25, 0.5 , 1.  ])
    """
    return np.clip(z + 0.5, 0.0, 1.0)


@kernel()
def _kink(x: float) -> tuple[float, float]:
    """Softplus and its derivative."""
    if x > _FAR:
        return x, 1.0
    if x < -_FAR:
        return 0.0, 0.0
    e = math.exp(-abs(x))
    if x >= 0.0:
        return x + math.log1p(e), 1.0 / (1.0 + e)
    return math.log1p(e), e / (1.0 + e)


@kernel()
def accepted(z: Floats, kind: Codes, weight: Any, t: float, n_kinds: int, slope: Floats) -> Floats:
    """The weight accepted of each kind of row (n_kinds,) by the smoothed ramp."""
    out = np.zeros(n_kinds)
    for i in range(len(z)):
        high, d_high = _kink((z[i] + 0.5) / t)
        low, d_low = _kink((z[i] - 0.5) / t)
        slope[i] = d_high - d_low
        p = t * (high - low)
        out[kind[i]] += p if weight is None else weight[i] * p
    return out


def weigh(slope: Floats, kind: Codes, weight: Floats | None, price: Floats) -> None:
    """Multiply, in place, the slope of each row by its weight and the price of its kind."""
    slope *= price[kind] if weight is None else weight * price[kind]


# --- A goal over the rates of a linear model: what is to be minimised -----------------------------


_SPARE = 1.1
"""Of the floors that are meant: what the rows ask for that a model is trained under."""
_SMALLEST_SCALE = 0.05
"""Of a row that only rises or only falls: no bound is magnified more."""


@dataclass(frozen=True, eq=False)
class Row:
    """One linear row ``coefs @ S + const <= 0`` of a constraint, or of the objective."""

    text: str
    coefs: Floats
    const: float

    def scaled(self, totals: Floats) -> Row:
        """The same row with coefficients such that its right side is of the order of 1."""
        up = float(np.maximum(self.coefs, 0.0) @ totals)
        down = float(np.maximum(-self.coefs, 0.0) @ totals)
        if up > 0 and down > 0:
            scale = max(down - self.const, min(up, down))
        else:
            scale = max(abs(self.const), _SMALLEST_SCALE * max(up, down))
        if not scale > 0:
            return self
        return replace(self, coefs=self.coefs / scale, const=self.const / scale)


def rows_of(program: Program, least: float = 0.0) -> list[Row]:
    """The constraints of a binary program as rows over the accepted weight of each kind."""
    over = Accepted(program)
    found: list[tuple[str, Affine]] = []
    for c in program.constraints:
        try:
            builder = program.row_builder(least)
            rows = without_auxiliaries(builder.bound(c.function, c.level, c.sign))
        except NotLinearError:
            raise ShapeError(
                f"{c}: `RampClassifier` takes bounds that linear rows of rates describe, and this "
                f"one is {c.function.shape_name}; `PlugInClassifier` takes more of them"
            ) from None
        found += [(str(c), row) for row in rows]
    found += [(str(program.goal.objective), row) for row in _floors(program, least)]
    out = []
    for text, row in found:
        form = over.form(row)
        made = Row(text, form[:-1], float(form[-1]))
        if made.const + np.maximum(made.coefs, 0.0) @ over.totals > 0.0:
            out.append(made)  # others hold whatever is decided
    return out


def _floors(program: Program, least: float) -> list[Affine]:
    """Rows that keep the denominators of the objective off 0."""
    builder, rows = program.row_builder(least), list[Affine]()
    waiting: list[tuple[RateFunction, float]] = [(program.objective, program.sense)]
    while waiting:
        x, sign = waiting.pop()
        if isinstance(x, Ratio):
            try:
                rows += builder.floor(x, sign)
            except NotLinearError:
                raise ShapeError(
                    f"{program.goal.objective}: `RampClassifier` cannot tell what a quotient is "
                    "worth where nothing is counted in its denominator; `PlugInClassifier` can"
                ) from None
        waiting += [(child, sign) for child in x.children]
    return rows


@dataclass(frozen=True, eq=False)
class Problem:
    """The rows of all data sets, and a goal over them."""

    X: Any
    kind: Codes
    weight: Floats | None
    program: Program
    lam: float
    least: float = 0.0
    tick: Callable[[], None] | None = None

    def __post_init__(self) -> None:
        if self.program.objective.is_constant:
            raise ShapeError(f"{self.program.goal.objective}: no decision changes it")
        if self.program.objective.has_kinks:
            raise ShapeError(
                f"{self.program.goal.objective}: `RampClassifier` takes objectives with a "
                "gradient everywhere: rates, their sums and ratios; write a smallest or largest "
                "of several as constraints"
            )

    @cached_property
    def rows(self) -> list[Row]:
        """The constraints, scaled; floors ask for more than is counted in the end."""
        return [row.scaled(self.totals) for row in rows_of(self.program, _SPARE * self.least)]

    @cached_property
    def floors(self) -> list[Row]:
        """The rows that keep denominators off 0, as they are meant."""
        if not self.least:
            return []
        few, many = rows_of(self.program), rows_of(self.program, self.least)
        return [b for a, b in zip(few, many, strict=True) if a.const != b.const]

    @cached_property
    def goal(self) -> Accepted:
        """The goal over accepted weights (kinds,)."""
        return Accepted(self.program)

    @property
    def totals(self) -> Floats:
        """The weight (kinds,) of all rows."""
        return self.goal.totals

    @cached_property
    def coefs(self) -> Floats:
        """The rows as a matrix (m, kinds)."""
        return np.array([r.coefs for r in self.rows]).reshape(len(self.rows), len(self.totals))

    @cached_property
    def const(self) -> Floats:
        """The rows' constants (m,)."""
        return np.array([r.const for r in self.rows])

    def loss(self, S: Floats) -> tuple[float, Floats]:
        """The objective turned down, and its gradient (kinds,)."""
        program, v = self.program, self.goal.rates(S)
        slope = -program.sense * (self.goal.gains @ program.gradient(v))
        return -program.sense * float(program.value(v)), slope

    def excess(self, S: Floats) -> Floats:
        """The rows (m,): nothing above 0 is allowed."""
        return np.asarray(self.coefs @ S + self.const)

    def keeps_floors(self, S: Floats) -> NDArray[np.bool_]:
        """Whether accepted weights (kinds, ...) keep the denominators off 0."""
        met = [row.coefs @ S + row.const <= SATISFIED for row in self.floors]
        return np.asarray(np.all([np.ones(S.shape[1:], bool), *met], axis=0))

    def smoothed(self, w: Floats, t: float) -> tuple[Floats, Floats]:
        """Accepted weights (kinds,) by the smoothed ramp, and its slope at each row (N,)."""
        if self.tick is not None:
            self.tick()
        z = _scores(self.X, w)
        S = accepted(z, self.kind, self.weight, t, len(self.totals), z)
        return S, z

    def pulled(self, slope: Floats, price: Floats) -> Floats:
        """The gradient (d + 1,) by w of ``price @ S``; `slope` is used up."""
        weigh(slope, self.kind, self.weight, price)
        return np.append(self.X.T @ slope, slope.sum())

    def accepted(self, w: Floats, drawn: bool = True) -> Floats:
        """Accepted weights (kinds,) by the ramp, or by the sign of the scores."""
        z = _scores(self.X, w)
        p = ramp(z) if drawn else (z >= 0.0).astype(np.float64)
        if self.weight is not None:
            p *= self.weight
        return np.asarray(np.bincount(self.kind, p, len(self.totals)), np.float64)

    def sampled(self, n_rows: int, rng: np.random.Generator) -> Problem:
        """About so many of the rows, of each kind a share, weighted up to the same totals."""
        counts = np.bincount(self.kind, minlength=len(self.totals))
        share = min(1.0, n_rows / len(self.kind))
        wanted = np.minimum(counts, np.ceil(share * counts) + np.sqrt(n_rows)).astype(np.int64)
        order = rng.permutation(len(self.kind))
        order = order[np.argsort(self.kind[order], kind="stable")]
        ends = np.cumsum(counts)
        picked = [order[e - c : e - c + k] for e, c, k in zip(ends, counts, wanted, strict=True)]
        index = np.sort(np.concatenate(picked))
        kind = self.kind[index]
        weight = np.ones(len(index)) if self.weight is None else self.weight[index]
        sums = np.bincount(kind, weight, len(self.totals))
        scale = np.divide(self.totals, sums, out=np.ones_like(sums), where=sums > 0)
        return replace(self, X=self.X[index], kind=kind, weight=weight * scale[kind])


def _scores(X: Any, w: Floats) -> Floats:
    # Whoever only asks for the rows of a goal needs nothing of scikit-learn.
    from setpoint.classifiers import linear_scores

    return linear_scores(X, w)


# --- Cut-offs on trained scores at which the counted rates meet their bounds ----------------------


def feasible_cutoffs(
    program: Program, evidence: Evidence, floors: Sequence[Row]
) -> tuple[float, float] | None:
    """The thresholds nearest to 0 and with the best objective, of those that meet all bounds."""
    curve = evidence.curve(0)
    kinds = [stratum * (evidence.n_classes + 1) + true for stratum, true in curve.kinds]
    required = np.array([-np.append(row.coefs[kinds], row.const) for row in floors])
    around = int(np.searchsorted(-curve.values, 0.0, side="right"))
    found = Accepted(program, curve.kinds, curve.counts[:, -1]).best(
        curve.counts,
        required=required.reshape(len(floors), len(kinds) + 1),
        near=around + (curve.threshold(around) > 0.0),  # thresholds fall from one to the next
    )
    if found.cutoff < 0:
        return None
    nearest = [curve.threshold(j) for j in (found.below, found.above) if j >= 0]
    return min(nearest, key=lambda t: (abs(t), t)), curve.threshold(found.cutoff)
