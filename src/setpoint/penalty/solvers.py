"""Solvers by stages: what each is, and Algorithm 3.1 as printed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from setpoint import solvers
from setpoint.array_types import Floats
from setpoint.errors import InputError
from setpoint.penalty.losses import (
    CrossEntropyLoss,
    ExactPenalty,
    LagrangianLoss,
    Loss,
    ProfiledLoss,
    RefreshBatch,
    SigmoidLoss,
    pick,
    sigmoid,
    softplus,
    tie,
    untied,
)
from setpoint.penalty.problem import Tradeoff
from setpoint.solvers import Portfolio, Solver

# --- Algorithm 3.1 as printed: model and lifted decisions s descend together ----------------------


_GROWTH = 1.3
"""rho: what penalty and regularisation grow by in each of K rounds."""
_ROUNDS = 50
_FIRST_PENALTY, _FIRST_TAIL = 100.0, 0.5
_STEP = 0.1
"""Of s; each row's own Adam, projected onto [0, 1]."""


class JointPenalty(Loss):
    """The exact penalty function (3.30), with s by Adam beside the model ("ero-adam")."""

    name = "ero-adam"
    scheduled = True

    def __init__(
        self,
        goal: Tradeoff,
        n_rows: int,
        reformulation: str = "inequality",
        scale: str = "paper",
        regularised: bool = True,
    ) -> None:
        super().__init__(goal)
        self.reformulation, self.scale, self.regularised = reformulation, scale, regularised
        self.s = np.full(n_rows, 0.5)
        self.first, self.second = np.zeros(n_rows), np.zeros(n_rows)
        self.steps = np.zeros(n_rows)
        self.multipliers = np.ones(n_rows)
        self.round, self.by_s = 0, (0.0, 0.0)

    # ------------------------------------------------------------------ the outer loop
    def _refresh(self, seen: RefreshBatch, scale: tuple[float, float], progress: float) -> None:
        now = min(int(progress * _ROUNDS), _ROUNDS - 1)
        if now > self.round and self.scale == "code" and len(seen.scores) == len(self.s):
            violated = self._violated(sigmoid(seen.scores), self.s, seen.positive) > 0
            self.multipliers *= np.where(violated, _GROWTH, 1.0 / _GROWTH)
        self.round = now
        A, B = self._lifted_counts(seen)
        penalty = _FIRST_PENALTY * _GROWTH**now
        by_s = -self.goal.slopes(A, B) / penalty
        for i, (slack, row) in enumerate(self.goal.rows(A, B)):
            if slack < 0:
                by_s = by_s - (self.goal.slopes(A, B, i) if self.scale == "code" else row)
        self.by_s = (float(by_s[0]), float(by_s[1]))

    def _lifted_counts(self, seen: RefreshBatch) -> tuple[float, float]:
        if len(seen.scores) != len(self.s):
            raise InputError("ero-adam keeps s for each row and refreshes from all of them")
        B, A = seen.mass(self.s)
        return A, B

    # ------------------------------------------------------------------ rows
    def _of_rows(self, values: Floats, rows: Any, like: Any) -> Any:
        """What is kept for some rows, as an array of the kind of `like`."""
        if isinstance(like, np.ndarray):
            return values if rows is None else values[rows]
        import torch

        found = values if rows is None else values[rows.cpu().numpy()]
        return torch.as_tensor(found, dtype=like.dtype, device=like.device)

    def _violated(self, a: Any, s: Any, positive: Any) -> Any:
        if self.reformulation == "equality":
            return abs(tie(a, s, 0.5))
        return untied(a, s, 0.5, positive)

    def _prices(self, positive: Any, rows: Any, like: Any) -> tuple[Any, Any]:
        """What a unit of violation, and of cross-entropy to s, costs each row, times N."""
        n = self.total
        by_class = pick(positive, 1.0 / self.goal.totals[1], 1.0 / self.goal.totals[0])
        tail = _FIRST_TAIL / _FIRST_PENALTY
        if self.scale == "paper":
            return n, tail * by_class
        return by_class * self._of_rows(self.multipliers, rows, like), tail

    def value(self, z: Any, positive: Any, rows: Any = None) -> Any:
        s, a = self._of_rows(self.s, rows, z), sigmoid(z)
        price, tail = self._prices(positive, rows, z)
        out = price * self._violated(a, s, positive)
        if self.regularised:
            out = out + tail * (s * softplus(-z) + (1.0 - s) * softplus(z))
        return out

    def slope(self, z: Any, positive: Any, rows: Any = None) -> Any:
        s, a = self._of_rows(self.s, rows, z), sigmoid(z)
        price, tail = self._prices(positive, rows, z)
        inside = (s + a > 0.5) & (s + a < 1.5)
        side = self._side(a, s, positive)
        out = -price * side * inside * a * (1.0 - a)
        return out + tail * (a - s) if self.regularised else out

    def _side(self, a: Any, s: Any, positive: Any) -> Any:
        """The sign of H where it is penalised, else 0."""
        h = tie(a, s, 0.5)
        above, below = 1.0 * (h > 0), -1.0 * (h < 0)
        if self.reformulation == "equality":
            return above + below
        return pick(positive, above, below)

    def advance(self, z: Any, positive: Any, rows: Any = None) -> None:
        """One Adam step of these rows' s, projected onto [0, 1]."""
        if not isinstance(z, np.ndarray):
            z, positive = z.detach().double().cpu().numpy(), positive.cpu().numpy()
            rows = None if rows is None else rows.cpu().numpy()
        at = slice(None) if rows is None else rows
        s, a = self.s[at], sigmoid(z)
        price, tail = self._prices(positive, at, z)
        outside = (s + a <= 0.5) | (s + a >= 1.5)
        g = self.total * np.where(positive, *self.by_s)
        g = g + price * self._side(a, s, positive) * outside
        if self.regularised:
            g = g + tail * (softplus(-z) - softplus(z))
        self.steps[at] += 1
        self.first[at] = 0.9 * self.first[at] + 0.1 * g
        self.second[at] = 0.999 * self.second[at] + 0.001 * g * g
        t = self.steps[:1] if rows is None else self.steps[at]  # then all are the same
        move = (self.first[at] / (1 - 0.9**t)) / (np.sqrt(self.second[at] / (1 - 0.999**t)) + 1e-12)
        self.s[at] = np.clip(s - _STEP * move, 0.0, 1.0)

    def state(self) -> dict[str, Any]:
        names = ("s", "first", "second", "steps", "multipliers", "round", "by_s")
        return {name: getattr(self, name) for name in names}


# --- What each solver does, in stages -------------------------------------------------------------


@dataclass(frozen=True)
class Stage:
    """One descent."""

    name: str
    loss: Callable[[Tradeoff, float, int], Loss]
    start: str = "cross-entropy"
    narrows: bool = False
    rate: float = 3e-2


def _cross_entropy(balanced: bool) -> Stage:
    name = "balanced cross-entropy" if balanced else "cross-entropy"
    return Stage(name, lambda goal, least, n: CrossEntropyLoss(goal, least, balanced), "zero")


def _sigmoid(t: float) -> Stage:
    name = f"sigmoid, T = {t:g}"
    return Stage(name, lambda goal, least, n: SigmoidLoss(goal, least, t), "centred")


def stages_of(solver: Solver, narrow: float = 0.1) -> tuple[Stage, ...]:
    """What a solver does, cross-entropy first: it is the start and stays a candidate."""
    if isinstance(solver, Portfolio):
        rest = [stage for member in solver.members for stage in _own(member, narrow)]
        return (_cross_entropy(False), _cross_entropy(True), *rest)
    balanced = isinstance(solver, solvers.FromCrossEntropy) and solver.balanced
    return (_cross_entropy(balanced), *_own(solver, narrow))


def _own(solver: Solver, narrow: float) -> Iterator[Stage]:
    """The descents after cross-entropy; none of cross-entropy alone."""
    match solver:
        case solvers.Profiled():
            yield Stage(
                "profiled threshold",
                lambda goal, least, n: ProfiledLoss(goal, least, narrow=narrow),
            )
        case solvers.Lagrangian(rates=rates):
            yield Stage(
                f"Lagrangian, {rates} rates",
                lambda goal, least, n: LagrangianLoss(goal, least, rates),
            )
        case solvers.Sigmoid(temperature=given):
            for t in (1.0, 5.0) if given is None else (float(given),):
                yield _sigmoid(t)
        case solvers.Ero():
            yield Stage(
                "exact penalty, s in closed form",
                lambda goal, least, n: ExactPenalty(goal, least),
                narrows=True,
            )
        case solvers.EroAdam() as s:
            yield Stage(
                "exact penalty, s by Adam",
                lambda goal, least, n: JointPenalty(
                    goal, n, s.reformulation, s.penalty_scale, s.logit_regularization
                ),
                rate=0.1,
            )
