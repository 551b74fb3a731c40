"""A goal as a function of two numbers: accepted positives and accepted negatives."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from setpoint.evidence.codebook import Codebook, Marginals
from setpoint.goals.errors import ShapeError
from setpoint.goals.goal import Goal
from setpoint.goals.populations import Label
from setpoint.goals.requirements import require_rows_alone
from setpoint.program.functions import Affine, RateFunction, Ratio
from setpoint.program.link import link
from setpoint.tolerances import SATISFIED

__all__ = ["Forms", "Slopes", "Tradeoff"]

Floats = NDArray[np.float64]

_GRID = 33
"""Points along each axis where monotonicity is looked at."""
_ROUNDING = 1e-12
"""Share of a class that is nothing: sums of weights in another order differ by it."""


@dataclass(frozen=True)
class Slopes:
    """Derivatives by the accepted weight of a class, in goal units a unit of weight.

    Parameters
    ----------
    positive, negative : float
    """

    positive: float
    negative: float


class Forms(NamedTuple):
    """A goal whose objective and constraints are affine or ratios, as numbers for kernels.

    Row by row ``offset + (a0 + a1 A + a2 B) / (b0 + b1 A + b2 B)``, 0/0 = 0, as
    (a0, a1, a2, b0, b1, b2, offset).

    Parameters
    ----------
    objective : array of shape (7,)
        To be maximised.
    constraints : array of shape (m, 7)
        Each to be at least its level.
    levels : array of shape (m,)
    """

    objective: Floats
    constraints: Floats
    levels: Floats


class Tradeoff:
    """A binary goal over A, the accepted positives, and B, the accepted negatives.

    Everything in this family sees a goal through this class only: scores of candidates,
    slopes for gradients, violations. Both numbers are sums of weights.

    Parameters
    ----------
    goal : Goal
        Over the rows alone, not worse for more A nor for less B.
    negatives, positives : float
        The weight of each class, above 0.
    classes : tuple of labels
        (negative, positive), for goals that name them.

    Raises
    ------
    GoalError
        If the goal names groups, data sets or the deployed model.
    ShapeError
        If it falls with accepted positives or rises with accepted negatives, as a bound
        on the predicted rate does.

    Notes
    -----
    Theorem B.6 of Peng, Travadi, He, Cui and Sun, "Exact reformulation and optimization
    for direct metric optimization in binary imbalanced classification": for such goals the
    indicator may be bounded from one side only. Monotonicity is looked at on a grid.

    Examples
    --------
    >>> from setpoint import Goal
    >>> goal = Tradeoff(Goal.parse("maximize recall subject to precision >= 0.75"), 90.0, 10.0)
    >>> float(goal.score(8.0, 2.0)), float(goal.violation(8.0, 2.0))
    (0.8, 0.0)
    >>> goal.slopes(8.0, 2.0).positive
    0.1
    """

    def __init__(
        self,
        goal: Goal,
        negatives: float,
        positives: float,
        classes: tuple[Label, Label] = (0, 1),
    ) -> None:
        require_rows_alone(
            goal,
            "a model is trained for goals over the rows as a whole; PlugInClassifier takes such "
            "goals, after training",
        )
        self.goal = goal
        self.totals = np.array([negatives, positives])
        marginals = np.array([[negatives, positives, 0.0]])
        smallest = np.array([[1.0, 1.0, np.inf]])
        self.program = link(goal, Codebook.of(classes)).at(Marginals(marginals, smallest))
        tensors = self.program.tensors[:, 0]
        self._by_cell = tensors[:, :2].reshape(-1, 4)
        self._nobody = tensors[:, 0, 0] * negatives + tensors[:, 1, 0] * positives
        self._by_positive = tensors[:, 1, 1] - tensors[:, 1, 0]
        self._by_negative = tensors[:, 0, 1] - tensors[:, 0, 0]
        self._check_monotone()

    # ------------------------------------------------------------------ values
    def features(self, A: Floats | float, B: Floats | float) -> Floats:
        """The program's features (..., d)."""
        N, P = self.totals
        cells = np.stack(np.broadcast_arrays(_rest(N, B), B, _rest(P, A), A), axis=-1)
        out: Floats = (cells[..., None, :] * self._by_cell).sum(axis=-1)
        return out

    def score(self, A: Floats | float, B: Floats | float) -> Floats:
        """The objective (...,), higher is better."""
        v = self.features(A, B)
        with np.errstate(all="ignore"):
            return np.asarray(self.program.sense * self.program.value(v))

    def violation(self, A: Floats | float, B: Floats | float) -> Floats:
        """The largest violation of any constraint (...,), in the user's units."""
        with np.errstate(all="ignore"):
            return np.asarray(self.program.violation(self.features(A, B)))

    def slacks(self, A: float, B: float) -> list[float]:
        """How far each constraint is met, negative where it is not."""
        v = self.features(A, B)
        return [float(c.slack(v)) for c in self.program.constraints]

    # ------------------------------------------------------------------ slopes
    def slopes(self, A: float, B: float, constraint: int | None = None) -> Slopes:
        """Of the score, or of the slack of one constraint; finite everywhere."""
        v = self.features(A, B)
        if constraint is None:
            gradient = self.program.sense * self.program.gradient(v)
        else:
            c = self.program.constraints[constraint]
            gradient = c.sign * c.function.gradient(v)
        return Slopes(float(gradient @ self._by_positive), float(gradient @ self._by_negative))

    def rows(self, A: float, B: float) -> list[tuple[float, Slopes]]:
        """Slack and slopes of each constraint multiplied out, in weight.

        ``n/d >= c`` becomes ``n - c d >= 0``, as in (3.28); what is no ratio is taken by its
        tangent at A and B.
        """
        total = float(self.totals.sum())
        out = []
        for i, slack in enumerate(self.slacks(A, B)):
            if self.forms is None:
                s = self.slopes(A, B, i)
                out.append((total * slack, Slopes(total * s.positive, total * s.negative)))
                continue
            form, level = self.forms.constraints[i], self.forms.levels[i]
            row = total * (form[:3] - (level - form[6]) * form[3:6])
            out.append((float(row @ [1.0, A, B]), Slopes(float(row[1]), float(row[2]))))
        return out

    @property
    def n_constraints(self) -> int:
        """Number of constraints."""
        return len(self.program.constraints)

    # ------------------------------------------------------------------ kernels
    @cached_property
    def forms(self) -> Forms | None:
        """The goal as numbers; None where something in it is no ratio."""
        p = self.program
        try:
            rows = [self._ratio(c.function, c.sign) for c in p.constraints]
            return Forms(
                self._ratio(p.objective, p.sense),
                np.array(rows).reshape(len(rows), 7),
                np.array([c.sign * c.level for c in p.constraints]),
            )
        except ShapeError:
            return None

    def _ratio(self, x: RateFunction, sign: float) -> Floats:
        if isinstance(x, Affine):
            return np.concatenate([sign * self._affine(x), [1.0, 0.0, 0.0, 0.0]])
        if isinstance(x, Ratio) and x.at_zero == x.offset:
            above, below = sign * self._affine(x.above), self._affine(x.below)
            return np.concatenate([above, below, [sign * x.offset]])
        raise ShapeError(x.shape_name)

    def _affine(self, x: Affine) -> Floats:
        out = np.array([x.const, 0.0, 0.0])
        for j, a in x.terms.items():
            out += a * np.array([self._nobody[j], self._by_positive[j], self._by_negative[j]])
        return out

    # ------------------------------------------------------------------ monotonicity
    def _check_monotone(self) -> None:
        share = np.linspace(0.0, 1.0, _GRID)
        B, A = np.meshgrid(self.totals[0] * share, self.totals[1] * share)
        v = self.features(A, B)
        objective = self.program.sense * self.program.value(v)
        self._require(objective, str(self.goal.objective), self.goal.sense)
        for c in self.program.constraints:
            self._require(np.asarray(c.slack(v)), str(c.written), "the constraint")

    @staticmethod
    def _require(values: Floats, text: str, what: str) -> None:
        values = np.nan_to_num(values, nan=0.0, posinf=1e300, neginf=-1e300)
        by_positive, by_negative = np.diff(values, axis=0), np.diff(values, axis=1)
        if (by_positive >= -SATISFIED).all() and (by_negative <= SATISFIED).all():
            return
        how = "falls with accepted positives"
        if (by_positive >= -SATISFIED).all():
            how = "rises with accepted negatives"
        raise ShapeError(
            f"{what} {text}: it {how} somewhere, and exact penalties are for goals that only "
            "gain by accepting a positive and by refusing a negative, such as recall, precision, "
            "F-beta, accuracy, G-mean and cost; PlugInClassifier takes any goal, after training"
        )


def _rest(all_: float, some: Floats | float) -> Floats:
    """What is left of a class; an exact zero tells 0/0 from x/0."""
    rest = all_ - np.asarray(some, np.float64)
    return np.where(np.abs(rest) <= _ROUNDING * all_, 0.0, rest)
