"""Programs: a goal over the features of some data. Every solver starts from one."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from setpoint.goals.atoms import INF, Affine, Bound
from setpoint.goals.backend import Array, backend
from setpoint.goals.bind import Binder
from setpoint.goals.errors import GoalError
from setpoint.goals.events import Floats
from setpoint.goals.expressions import Const, Constraint, Expression
from setpoint.goals.features import Feature
from setpoint.goals.goal import Goal
from setpoint.goals.ranges import range_of
from setpoint.goals.rows import NotLinearError, RowBuilder
from setpoint.goals.schema import Schema
from setpoint.goals.weights import Weights

__all__ = ["SATISFIED", "BoundConstraint", "Program"]

SATISFIED = 1e-9
"""A violation up to this, in the user's units, is none."""

_SMALL = 1_000_000
"""Up to so many weights, features are one product with a dense matrix."""


@dataclass(frozen=True)
class BoundConstraint:
    """One constraint over the features: ``sign * (function - level) >= 0``.

    `function` is the left side and `level` the right one where no decision changes the
    right side; otherwise `function` is left minus right and `level` 0. `side` is what
    `function` was bound from.
    """

    written: Constraint
    side: Expression
    function: Bound
    level: float

    @property
    def sign(self) -> float:
        """1 for a floor (>=), -1 for a cap (<=)."""
        return 1.0 if self.written.relation == ">=" else -1.0

    def slack(self, v: Array) -> Array:
        """How far the bound is met, negative where it is not: (...,) at features (..., d)."""
        return self.sign * (self.function.value(v) - self.level)

    def violation(self, v: Array) -> Array:
        """How far past the bound, in the user's units: (...,) at features (..., d)."""
        xp = backend(v)
        past = -self.slack(v)
        # What cannot be compared (infinite minus infinite) is not met.
        return xp.where(past <= 0, xp.like(past, 0.0), xp.where(past > 0, past, xp.like(past, INF)))

    def __str__(self) -> str:
        return str(self.written)


class Program:
    """A goal bound to a schema: features, objective and constraints over them.

    Parameters
    ----------
    goal : Goal
    schema : Schema

    Attributes
    ----------
    features : tuple of Feature
        The d linear functions of the counts that the goal depends on.
    objective : Bound
        As the user wrote it: `sense` says which way.
    constraints : tuple of BoundConstraint
    weights : Weights
        The features as functions of the counts, without dense tensors.

    Raises
    ------
    GoalError
        A name that the data do not know, or a bound outside the range.

    Examples
    --------
    >>> import numpy as np
    >>> from setpoint import Goal
    >>> from setpoint.goals.schema import Cell, Schema
    >>> counts = np.array([[[5.0, 1.0], [2.0, 4.0], [0.0, 0.0]]])
    >>> schema = Schema.of_counts(("no", "yes"), (Cell(),), counts)
    >>> program = Goal.parse("maximize f1 subject to precision >= 0.7").bind(schema)
    >>> v = program.features_of(counts)
    >>> round(float(program.value(v)), 4), program.objective.shape_name
    (0.7273, 'fractional')
    """

    def __init__(self, goal: Goal, schema: Schema) -> None:
        self.goal = goal
        self.schema = schema
        binder = Binder(schema, fold=True)
        self.objective = binder.tight(binder.bind(goal.objective))
        self.constraints = tuple(self._constraint(binder, c) for c in goal.constraints)
        self.features: tuple[Feature, ...] = tuple(binder.features)
        self.weights = Weights(schema, self.features)

    @staticmethod
    def _constraint(binder: Binder, written: Constraint) -> BoundConstraint:
        left, right = binder.bind(written.lhs), binder.bind(written.rhs)
        if isinstance(right, Affine) and right.is_constant:
            bound = BoundConstraint(written, written.lhs, left, right.const)
            what = str(written.lhs)
        else:
            side = written.lhs - written.rhs
            bound = BoundConstraint(written, side, binder.bind(side), 0.0)
            what = "the left side minus the right one"
        function = binder.tight(bound.function)
        low, high = function.low, function.high
        met = high >= bound.level - SATISFIED if bound.sign > 0 else low <= bound.level + SATISFIED
        where = " on these data"
        if met and isinstance(written.rhs, Const):
            # Data may make a bound idle; one that is idle on any data is a slip.
            low, high = range_of(written.lhs)
            met = low - SATISFIED <= bound.level <= high + SATISFIED
            where = ""
        if not met:
            raise GoalError(
                f"{written}: the bound {bound.level:.6g} is outside the range of {what}, "
                f"which is [{low:.6g}, {high:.6g}]{where}"
            )
        return replace(bound, function=function)

    def changed(
        self, objective: Bound | None = None, constraints: Sequence[BoundConstraint] | None = None
    ) -> Program:
        """Another objective or other constraints over the same features; `goal` stays."""
        out = copy(self)
        out.objective = self.objective if objective is None else objective
        out.constraints = self.constraints if constraints is None else tuple(constraints)
        return out

    def at_level(self, i: int, level: float) -> Program:
        """The program with the bound of one constraint moved."""
        moved = list(self.constraints)
        moved[i] = replace(moved[i], level=level)
        return self.changed(constraints=moved)

    @property
    def sense(self) -> float:
        """1 to maximise the objective, -1 to minimise it."""
        return 1.0 if self.goal.sense == "maximize" else -1.0

    def features_of(self, counts: Floats) -> Floats:
        """The features (d,) at counts (cells, n + 1, n)."""
        if len(self.features) * counts.size > _SMALL:
            return self.weights.sums(counts)
        return np.asarray(self._masks @ np.ravel(counts) / self._norms)

    def value(self, v: Array) -> Array:
        """The objective (...,) at features (..., d), in the user's units."""
        return self.objective.value(v)

    def gradient(self, v: Floats) -> Floats:
        """The objective's gradient (d,); finite everywhere, marginals held fixed."""
        return self.objective.gradient(v)

    def violation(self, v: Array) -> Array:
        """The largest violation of any constraint (...,), in the user's units."""
        xp = backend(v)
        worst = xp.full(v, 0.0)
        for c in self.constraints:
            now = c.violation(v)
            worst = xp.where(now > worst, now, worst)
        return worst

    @property
    def range(self) -> tuple[float, float]:
        """The range of the objective by interval arithmetic."""
        return self.objective.low, self.objective.high

    @cached_property
    def tensors(self) -> Floats:
        """Weights (d, cells, n + 1, n) of the counts: ``v_j = (tensors[j] * C).sum()``.

        Dense: with hundreds of classes ask :attr:`weights` instead.
        """
        n = self.schema.n_classes
        shape = (len(self.features), len(self.schema.cells), n + 1, n)
        return self._masks.reshape(shape) / self._norms[:, None, None, None]

    @cached_property
    def _norms(self) -> Floats:
        return np.array([f.norm for f in self.features])

    @cached_property
    def _masks(self) -> Floats:
        """The features (d, cells * (n + 1) * n) before division by their norms."""
        n = self.schema.n_classes
        out = np.zeros((len(self.features), len(self.schema.cells), n + 1, n))
        for j, f in enumerate(self.features):
            for c in f.cells:
                out[j, c] = f.matrix(self.schema.cells[c], n)
        return out.reshape(len(self.features), len(self.schema.cells) * (n + 1) * n)

    def tensor_of(self, x: Affine) -> Floats:
        """Weights (cells, n + 1, n) of the counts in an affine function, without its constant."""
        coefs = np.zeros(len(self.features))
        for j, a in x.terms.items():
            if j >= 0:
                coefs[j] = a
        return self.weights.tensor(coefs)

    def row_builder(self, least: float = 0.0) -> RowBuilder:
        """A builder of linear rows over this program's features."""
        return RowBuilder(self.weights, least)

    def rows(self) -> list[tuple[BoundConstraint, list[Affine]]]:
        """The constraints as rows ``<= 0``.

        Raises
        ------
        NotLinearError
            If a constraint is no conjunction of linear rows.
        """
        builder = self.row_builder()
        out = []
        for c in self.constraints:
            start = len(builder.rows)
            (builder.at_least if c.sign > 0 else builder.at_most)(c.function, c.level)
            out.append((c, builder.rows[start:]))
        return out

    @property
    def is_linear(self) -> bool:
        """Whether every constraint is a conjunction of linear rows."""
        try:
            self.rows()
        except NotLinearError:
            return False
        return True


def influence(expression: Expression, schema: Schema, counts: Floats) -> tuple[float, Floats]:
    """The value at counts, and its derivative by each count, marginals moving.

    Parameters
    ----------
    expression : Expression
    schema : Schema
        The schema of these very counts.
    counts : array of shape (cells, n + 1, n)

    Returns
    -------
    value : float
    influence : array of shape (cells, n + 1, n)
        ``sum(counts * influence)`` is 0: a rate does not change with the scale.
    """
    binder = Binder(schema, fold=False)
    bound = binder.bind(expression)
    features = tuple(binder.features)
    weights = Weights(schema, features)
    v = weights.sums(counts)
    slope = bound.gradient(v) if features else np.zeros(0)
    # The population's weight, in the denominator, moves too.
    rows = np.zeros_like(schema.marginals)
    for f, value, s in zip(features, v, slope, strict=True):
        rows[list(f.cells)] += s / f.norm * value * f.given_rows(schema.n_classes)
    return float(bound.value(v)), weights.tensor(slope) - rows[:, :, None]
