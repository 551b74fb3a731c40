"""A metric under a budget: counted, and what is known is not paid for again.

What is paid for is an evaluation of a decision vector that was not seen before. So a search
may ask for the same decisions as often as it likes, as searches over scores do: small steps
change no decision.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from contextlib import suppress
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from setpoint.array_types import Floats
from setpoint.blackbox.errors import MetricError
from setpoint.goals.errors import EmptyPopulationError
from setpoint.search.limits import Limits, StoppedError

__all__ = ["BudgetSpentError", "BudgetedMetric", "RowMetric"]


_DIGEST = 16
"""Bytes of a hash: among a billion vectors two agree by chance once in 10**20 runs."""


class BudgetSpentError(StoppedError):
    """More evaluations are needed than the budget has left."""

    def __init__(self, message: str = "") -> None:
        super().__init__(message, limit="evaluations")


class RowMetric(Protocol):
    """A metric bound to rows: score vectors in, values out."""

    @property
    def name(self) -> str: ...  # noqa: D102
    @property
    def sense(self) -> float: ...  # noqa: D102
    @property
    def takes(self) -> str: ...  # noqa: D102
    @property
    def one_by_one(self) -> bool: ...  # noqa: D102
    @property
    def kept(self) -> NDArray[np.int64]: ...  # noqa: D102
    @property
    def true(self) -> NDArray[np.int64]: ...  # noqa: D102
    @property
    def weight(self) -> Floats | None: ...  # noqa: D102

    @property
    def n_rows(self) -> int:
        """Number n of rows that it looks at."""
        ...

    def __call__(self, scores: Floats) -> Floats:
        """Values (m,), in the user's units, of m score vectors (m, n)."""
        ...

    def take(self, index: NDArray[np.int64]) -> RowMetric:
        """The metric on some of its n rows, in the order of `index`; repeats are allowed."""
        ...


class BudgetedMetric:
    """A metric as searches see it: gains, of which higher is better, under a budget."""

    def __init__(
        self, metric: RowMetric, budget: int | None = None, limits: Limits | None = None
    ) -> None:
        self.metric = metric
        self.budget = budget
        self.limits = limits or Limits()
        self.used = self.hits = 0
        self._values: dict[bytes, float] = {}

    @property
    def left(self) -> int | None:
        """Evaluations left; None without a budget."""
        return None if self.budget is None else max(self.budget - self.used, 0)

    def __call__(self, scores: Floats) -> Floats:
        """Gains (m,) of score vectors (m, n): the metric's values, more is better."""
        keys = self._keys(scores)
        rows: dict[bytes, int] = {}
        for i, key in enumerate(keys):
            if key not in self._values:
                rows.setdefault(key, i)
        self._afford(len(rows))
        self.hits += len(keys) - len(rows)
        if self.metric.one_by_one:
            for key, i in rows.items():
                self._keep(key, float(self.metric(scores[i : i + 1])[0]))
                self.limits.called(self.used)
        elif rows:
            some = scores[list(rows.values())] if len(rows) < len(scores) else scores
            for key, value in zip(rows, self.metric(some).tolist(), strict=True):
                self._keep(key, value)
            self.limits.called(self.used)
        return self.metric.sense * np.array([self._values[key] for key in keys], np.float64)

    def known(self, scores: Floats) -> Floats:
        """Gains (m,) of the score vectors that were evaluated before, NaN for others."""
        values = [self._values.get(key, np.nan) for key in self._keys(scores)]
        return self.metric.sense * np.array(values, np.float64)

    def record(self, gain: float) -> None:
        """A search has come to this gain, in which violations are counted already."""
        sense = self.metric.sense
        self.limits.record(sense * gain, sense * np.inf, np.nan)

    def gain(self, scores: Floats) -> float:
        """Of one vector of scores (n,)."""
        return float(self(scores[None])[0])

    def drawn(self, draws: Sequence[NDArray[np.int64]], scores: Floats) -> Floats:
        """Values on rows drawn from those of the metric, as for a bootstrap."""
        out = np.full((len(draws), len(scores)), np.nan)
        self._afford(out.size)
        self.used += out.size
        for i, rows in enumerate(draws):
            with suppress(EmptyPopulationError, MetricError):
                out[i] = self.metric.take(rows)(scores[:, rows])
        self.limits.called(self.used)
        return out

    def _afford(self, k: int) -> None:
        if self.budget is not None and self.used + k > self.budget:
            raise BudgetSpentError(
                f"the budget of {self.budget} evaluations of {self.metric.name} is spent: "
                f"{self.used} are used, and the next step needs {k}"
            )

    def _keep(self, key: bytes, value: float) -> None:
        self._values[key] = value
        self.used += 1

    def _keys(self, scores: Floats) -> list[bytes]:
        """What tells vectors apart: their decisions, or the scores bit by bit."""
        if self.metric.takes == "predictions":
            rows: NDArray[np.generic] = np.packbits(scores >= 0.0, axis=1)
        else:
            rows = np.ascontiguousarray(scores, np.float64) + 0.0  # -0.0 becomes 0.0
        return [_digest(row.tobytes()) for row in rows]


def _digest(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=_DIGEST).digest()
