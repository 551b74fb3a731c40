"""The state of a stream: a few arrays, all that is kept of the rows."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setpoint.online import layout as at
from setpoint.online.kernel import stream_dense, stream_scores, stream_sparse
from setpoint.online.options import Options
from setpoint.online.solvers import FIRST_STAGE, fofo_stages
from setpoint.typing import Floats

__all__ = ["REPORTED", "NotFiniteError", "State"]


REPORTED = 10_000
"""Rows of the window that reports refer to, where rules know none."""

_NO_WEIGHTS: Floats = np.empty(0)
_NO_LABELS: NDArray[np.int8] = np.empty(0, np.int8)


class NotFiniteError(ValueError):
    """A row cannot be scored; those before it were learnt."""


@dataclass(eq=False)
class State:
    """Arrays as :mod:`setpoint.online.layout` says; kernels write to them."""

    choices: NDArray[np.int64]
    weights: Floats
    memory: Floats
    ring: Floats

    @classmethod
    def start(cls, options: Options, n_features: int) -> State:
        """The state before the first row."""
        choices = np.zeros(at.N_CHOICES, np.int64)
        choices[at.LEARNER] = options.learner
        choices[at.SOLVER] = options.solver
        choices[at.TRACK] = options.track
        choices[at.WINDOWED] = options.window is not None
        choices[at.ASK] = options.asks
        choices[at.MARGIN] = options.margin
        weights = np.zeros((7, n_features + 1))
        weights[at.INVERSE] = 1.0
        if options.learner == at.NAG:
            choices[at.NORMALISED] = 1
            weights[at.INVERSE, :n_features] = at.UNSEEN
        memory = np.zeros(at.N_MEMORY)
        memory[at.STEP], memory[at.BETA2] = options.step, options.beta2
        memory[at.SLOPE] = 1.0
        middle = 0.5 / (1.0 + options.beta2)
        if options.solver == at.HALF:
            memory[at.THRESHOLD] = 0.0 if options.margin else 0.5
            memory[at.OPEN] = 1.0
        elif options.solver == at.FOFO and options.n is None:
            memory[at.THRESHOLD] = middle  # as printed it starts at 0
        memory[at.THETA] = memory[at.START] = memory[at.THRESHOLD]
        memory[at.RADIUS] = 1.0 / (1.0 + options.beta2)
        stages, rows = (-1, int(FIRST_STAGE)) if options.n is None else fofo_stages(options.n)
        memory[at.STAGES_LEFT], memory[at.STAGE_LENGTH] = stages, rows
        memory[at.RATE] = memory[at.RADIUS] / np.sqrt(10.0 * rows)
        memory[at.SMALLEST : at.SMALLEST + 2] = np.inf
        return cls(choices, weights, memory, np.zeros((options.window or REPORTED, 3)))

    def run(
        self,
        X: Any,
        y: NDArray[np.int8] | None,
        row_weight: Floats | None,
        out: Floats,
        decided: NDArray[np.int8],
        mode: int,
        start: int = 0,
    ) -> int:
        """Go through rows; the next row, where a threshold is asked for.

        Raises
        ------
        NotFiniteError
        """
        if not self.memory.flags.writeable:  # as joblib maps it from a file
            vars(self).update(vars(self.copy()))
        labels = _NO_LABELS if y is None else y
        weight = _NO_WEIGHTS if row_weight is None else row_weight
        rest = (self.memory, self.ring, out, decided)
        if X is None:
            end = stream_scores(labels, weight, start, mode, self.choices, *rest)
        elif isinstance(X, np.ndarray):
            end = stream_dense(X, labels, weight, start, mode, self.choices, self.weights, *rest)
        else:
            cut = (X.data, X.indices, X.indptr, labels, weight, start, mode)
            end = stream_sparse(*cut, self.choices, self.weights, *rest)
        if end < 0:
            raise NotFiniteError(
                f"X holds NaN, infinite values or values too large for a score, in row {-1 - end}"
            )
        return int(end)

    def copy(self) -> State:
        """Another state like this one."""
        return State(*(getattr(self, f.name).copy() for f in fields(self)))

    @property
    def tally(self) -> Floats:
        """Weights, squared weights, numbers of rows and the window's weights (4, 2, 2)."""
        return self.memory[at.TALLY : at.TALLY + 16].reshape(4, 2, 2)

    @property
    def bins(self) -> Floats:
        """The sketch (5, BINS)."""
        return self.memory[at.SKETCHED :].reshape(5, at.BINS)
