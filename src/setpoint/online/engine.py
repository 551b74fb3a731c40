"""Rows through a learner and a threshold, whoever wrote the learner."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from inspect import signature
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import _safe_indexing, check_random_state

from setpoint.array_types import Floats
from setpoint.errors import InputError, InputTypeError, warn_caller
from setpoint.goals.goal import Goal, as_goal
from setpoint.goals.populations import Label
from setpoint.inputs.arrays import one_column
from setpoint.inputs.classes import ClassOrder, check_labels, check_weight, two_classes
from setpoint.online import learners as at
from setpoint.online.late_labels import SparseRow, Waiting, cannot_overflow, n_rows_of
from setpoint.online.learners import State
from setpoint.online.parameters import GoalOptions, StreamGoal
from setpoint.online.solvers import (
    FIRST_STAGE,
    NotFiniteError,
    cut_score,
    expected,
    fofo_stages,
    run,
    set_cut,
)

Codes = NDArray[np.int8]

_LEAST = 1e-16
"""Posteriors nearer to 0 or 1 have no other log-odds than this."""

_MOST = 1e15
"""Scores farther out than this are as far out."""

_ALL = at.SCORE | at.DECIDE | at.LEARN


class ScoredRows(NamedTuple):
    """Log-odds and posterior of each row (N, 2), and decisions (N,)."""

    out: Floats
    decided: Codes


@dataclass(eq=False)
class Engine:
    """A learner, a threshold and what they keep of the rows."""

    options: GoalOptions
    labels: tuple[Label, Label]
    classes: NDArray[Any]
    state: State
    waiting: Waiting
    model: Any = None

    @cached_property
    def problem(self) -> StreamGoal:
        """The goal as a function of counts."""
        return StreamGoal(Goal.parse(self.options.goal), self.labels)

    @cached_property
    def answers(self) -> NDArray[Any]:
        """The labels (2,) of the decisions 0 and 1."""
        return self.classes if self._positive_last else self.classes[::-1]

    def __getstate__(self) -> dict[str, Any]:
        found = ("problem", "answers", "_parameters")
        return {k: v for k, v in vars(self).items() if k not in found}

    @property
    def takes_weights(self) -> bool:
        """Whether rows may have weights."""
        return self.model is None or "sample_weight" in self._parameters

    @property
    def threshold(self) -> float:
        """The score from which on to decide positive."""
        record = self.state.record
        return float(record["threshold"]) if record["open"] else float("inf")

    @property
    def n_rows(self) -> int:
        """Rows learnt; those of weight zero do not count."""
        return int(self.state.record["age"])

    def score(self, X: Any) -> ScoredRows:
        """Score and decide rows; nothing changes."""
        scored = _empty(X)
        if self.model is None:
            run(self.state, X, None, None, *scored, at.SCORE | at.DECIDE)
        else:
            scored.out[:, 0] = self._log_odds(X)
            run(self.state, None, None, None, *scored, at.SCORE | at.DECIDE)
        return scored

    def stream(self, X: Any, y: Codes, weight: Floats | None) -> Codes:
        """Decide each row, then learn it; the decisions."""
        scored = _empty(X)
        if self.model is None:
            before = self.state if cannot_overflow(X) else self.state.copy()
            try:
                self._run(X, y, weight, scored, _ALL)
            except NotFiniteError:
                self.state = before
                raise
        else:
            for i in range(len(scored.decided)):
                row = slice(i, i + 1)
                one = ScoredRows(scored.out[row], scored.decided[row])
                x, w = _safe_indexing(X, row), None if weight is None else weight[row]
                one.out[:, 0] = self._log_odds(x)
                self._teach(x, y[i], w)  # it may refuse the row, which then does not count
                self._run(None, y[row], w, one, _ALL)
        return scored.decided

    def learn(self, ids: Sequence[Hashable], y: Codes, weight: Floats | None) -> None:
        """Learn rows that were decided before, one by one."""
        for i, name in enumerate(ids):
            row = self.waiting.row(name)
            w = None if weight is None else weight[i : i + 1]
            scored = ScoredRows(np.zeros((1, 2)), np.array([row.decided], np.int8))
            if self.model is None:
                self._run(row.X, y[i : i + 1], w, scored, at.SCORE | at.LEARN)
            else:
                X = row.X.matrix if isinstance(row.X, SparseRow) else row.X
                scored.out[:, 0] = self._log_odds(X)
                self._teach(X, y[i], w)
                self._run(None, y[i : i + 1], w, scored, at.SCORE | at.LEARN)
            self.waiting.leave(name)

    def _run(self, X: Any, y: Codes, weight: Floats | None, scored: ScoredRows, mode: int) -> None:
        """Kernels, and thresholds where they ask for one."""
        start, state = 0, self.state
        while start < len(scored.decided):
            start = run(state, X, y, weight, *scored, mode, start)
            if state.record["due"]:
                counts = expected(state.record)
                set_cut(cut_score(counts, self.problem.best(counts)), state.record)

    # ------------------------------------------------------------------ the user's learner
    def _log_odds(self, X: Any) -> Floats:
        if not self.state.tally[at.NUMBER_OF_ROWS].sum(axis=1).all():
            return np.zeros(n_rows_of(X))  # few learners score before they know both classes
        if self.options.margin:
            z: Floats = np.asarray(self.model.decision_function(X), dtype=float)
            return np.clip(self._known(z if self._positive_last else -z, 0.0), -_MOST, _MOST)
        proba = np.asarray(self.model.predict_proba(X), dtype=float)
        if proba.ndim != 2 or proba.shape[1] != 2:
            raise InputError(
                f"`learner`: {type(self.model).__name__}.predict_proba gave an array of shape "
                f"{proba.shape}; two columns are expected, one a class"
            )
        p = proba[:, -1 if self._positive_last else 0]
        p = self._known(p, 0.5)
        p = np.clip(p, _LEAST, 1.0 - _LEAST)
        out: Floats = np.log(p / (1.0 - p))
        return out

    def _known(self, scores: Floats, otherwise: float) -> Floats:
        unknown = np.isnan(scores)
        if unknown.any():
            warn_caller(
                f"`learner`: {type(self.model).__name__} scored {unknown.sum()} rows as NaN; they "
                f"count as {otherwise}",
            )
        return np.where(unknown, otherwise, scores)

    def _teach(self, X: Any, y: int, weight: Floats | None) -> None:
        if weight is not None and weight[0] == 0.0:
            return
        label = np.array([self.labels[int(y)]])
        given: dict[str, Any] = {}
        if "classes" in self._parameters:
            given["classes"] = self.classes
        if weight is not None:
            given["sample_weight"] = weight
        self.model.partial_fit(X, label, **given)

    @cached_property
    def _parameters(self) -> frozenset[str]:
        return frozenset(signature(self.model.partial_fit).parameters)

    @property
    def _positive_last(self) -> bool:
        return bool(self.classes[-1] == self.labels[1])


def _empty(X: Any) -> ScoredRows:
    n = n_rows_of(X)
    return ScoredRows(np.empty((n, 2)), np.empty(n, np.int8))


# --- The start of a stream, and what its batches are checked against ------------------------------


_REPORTED = 10_000
"""Rows of the window that reports refer to, where rules know none."""


def begin(estimator: Any, n_features: int, classes: ClassOrder) -> Engine:
    """A stream before its first row, as the constructor's arguments ask for it."""
    options = GoalOptions.check(estimator, classes)
    model = None
    if options.own:
        model = clone(estimator.learner, safe=False)
        known = model.get_params() if hasattr(model, "get_params") else {}
        if estimator.random_state is not None and "random_state" in known:
            seed = check_random_state(estimator.random_state).randint(2**31 - 1)
            model.set_params(random_state=seed)
    negative, positive = classes.labels
    weights = first_weights(options, 0 if options.own else n_features)
    state = State(_first_record(options), weights, np.zeros((options.window or _REPORTED, 3)))
    waiting = Waiting(int(estimator.buffer_size))
    return Engine(options, (negative, positive), classes.sorted, state, waiting, model)


def first_weights(options: GoalOptions, n_features: int) -> Floats:
    """The learner's weights before the first row."""
    weights = np.zeros((7, n_features + 1))
    weights[at.INVERSE] = 1.0
    if options.learner == at.NAG:
        weights[at.INVERSE, :n_features] = at.UNSEEN
    return weights


def _first_record(options: GoalOptions) -> Any:
    record = np.zeros((), at.STATE)
    for name in ("learner", "solver", "constant_step", "asks", "margin", "step", "beta2"):
        record[name] = getattr(options, name)
    record["windowed"] = options.window is not None
    record["normalised"] = options.learner == at.NAG
    record["slope"] = 1.0
    record["smallest"] = np.inf
    most = 1.0 / (1.0 + options.beta2)
    if options.solver == at.HALF:
        record["threshold"] = 0.0 if options.margin else 0.5
        record["open"] = 1
    elif options.solver == at.FOFO and options.n is None:
        record["threshold"] = 0.5 * most  # as printed it starts at 0
    record["theta"] = record["start"] = record["threshold"]
    record["radius"] = most
    stages, rows = (-1, int(FIRST_STAGE)) if options.n is None else fofo_stages(options.n)
    record["stages_left"], record["stage_length"] = stages, rows
    record["rate"] = most / math.sqrt(10.0 * rows)
    return record


def first_classes(goal: Any, y: Any, declared: Any, pos_label: Any) -> ClassOrder:
    """The classes that were declared, or those of the first labels."""
    try:
        return two_classes(y, declared, pos_label, goal=as_goal(goal))
    except ValueError as error:
        if declared is None and "one class only" in str(error):
            raise InputError(
                f"{error}. A stream may begin so: declare `classes`, both labels"
            ) from None
        raise


def check_same_classes(classes: Any, known: NDArray[Any]) -> None:
    """Refuse other classes than before."""
    found = check_labels(classes, "classes")[0].tolist()
    if found != known.tolist():
        raise InputError(f"`classes` are {found}, and were {known.tolist()} so far")


def weights_for(
    engine: Engine, sample_weight: Any, n_rows: int, *, all_zero: bool = True
) -> NDArray[np.float64] | None:
    """Weights of rows, refused where the learner takes none."""
    if sample_weight is None:
        return None
    if not engine.takes_weights:
        raise InputError(
            f"`sample_weight`: {type(engine.model).__name__}.partial_fit takes no weights"
        )
    return check_weight(sample_weight, n_rows, all_zero=all_zero)


def names_of(ids: Any) -> list[Hashable]:
    """Ids as plain values."""
    names: list[Hashable] = one_column(ids, "ids").tolist()
    odd = [name for name in names if isinstance(name, bool) or not isinstance(name, (str, int))]
    if odd:
        raise InputTypeError(f"`ids` are text or whole numbers, got {odd[0]!r}")
    return names
