"""A metric under a budget: counted, cached, in processes, and kept in a file.

What is paid for is an evaluation of a decision vector that was not seen before. So a search
may ask for the same decisions as often as it likes, as searches over scores do: small steps
change no decision.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import BrokenExecutor
from os import PathLike
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from setpoint.array_types import Floats
from setpoint.blackbox.cache import EvaluationCache
from setpoint.blackbox.errors import MetricError
from setpoint.goals.errors import EmptyPopulationError
from setpoint.inputs.files import CheckpointError
from setpoint.search.limits import Limits, StoppedError

__all__ = ["BudgetSpentError", "BudgetedMetric", "RowMetric"]


_DIGEST = 16
"""Bytes of a hash: among a billion vectors two agree by chance once in 10**20 runs."""


class BudgetSpentError(StoppedError):
    """More evaluations are needed than the budget has left."""

    def __init__(self, message: str = "") -> None:
        super().__init__(message, limit="evaluations")


class RowMetric(Protocol):
    """A metric bound to rows: score vectors in, values out.

    A score of at least 0 decides positive. Rows of weight zero are left out.

    Attributes
    ----------
    name : str
    sense : float
        1.0 where higher is better, -1.0 where lower is.
    takes : {"predictions", "scores"}
        Whether the value depends on the decisions alone.
    one_by_one : bool
        Whether many vectors cost as many calls of a function.
    identity : str
        A hash of all that values depend on beside the name and the scores.
    kept : int array of shape (n,)
        Of the rows given, those of positive weight that the metric looks at.
    true : int array of shape (n,)
        1 for the positive class, else 0.
    weight : array of shape (n,) or None
    """

    @property
    def name(self) -> str: ...  # noqa: D102
    @property
    def sense(self) -> float: ...  # noqa: D102
    @property
    def takes(self) -> str: ...  # noqa: D102
    @property
    def one_by_one(self) -> bool: ...  # noqa: D102
    @property
    def identity(self) -> str: ...  # noqa: D102
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
    """A metric as searches see it: gains, of which higher is better, under a budget.

    Parameters
    ----------
    metric : RowMetric
    budget : int, optional
        The most evaluations of different decisions; None: no limit.
    n_jobs : int, optional
        Processes for a metric that is called vector by vector; as in joblib.
    checkpoint : path, optional
        A file of JSON lines to which each evaluation is added as it is made. A run that is
        taken up again finds them there, and counts them as it did before.
    limits : Limits, optional
        They learn of the evaluations, and end the search when time is up.

    Attributes
    ----------
    used : int
        Evaluations paid for.
    hits : int
        Vectors whose value was known, in this run, before they were asked for.
    resumed : int
        How many of `used` came from the file.

    Raises
    ------
    CheckpointError
        If the checkpoint refers to another metric or other rows, or cannot be written; in a
        call, if the metric no longer says what it holds.
    """

    def __init__(
        self,
        metric: RowMetric,
        budget: int | None = None,
        n_jobs: int | None = None,
        checkpoint: str | PathLike[str] | None = None,
        limits: Limits | None = None,
    ) -> None:
        self.metric = metric
        self.budget = budget
        self.n_jobs = n_jobs
        self.limits = limits or Limits()
        self.used = self.hits = self.resumed = 0
        self._values: dict[bytes, float] = {}
        self._file = None
        self._checked = False
        if checkpoint is not None:
            self._file = EvaluationCache(checkpoint, metric.name, metric.n_rows, metric.identity)

    @property
    def left(self) -> int | None:
        """Evaluations left; None without a budget."""
        return None if self.budget is None else max(self.budget - self.used, 0)

    def __call__(self, scores: Floats) -> Floats:
        """Gains (m,) of score vectors (m, n): the metric's values, turned so that more is better.

        An exception, Ctrl-C too, passes through; what was finished by then is kept.

        Raises
        ------
        BudgetSpentError
            If more evaluations are needed than are left; none is made then.
        """
        keys = self._keys(scores)
        rows: dict[bytes, int] = {}
        for i, key in enumerate(keys):
            if key not in self._values:
                rows.setdefault(key, i)
        self._afford(len(rows))
        self.hits += len(keys) - len(rows)
        known = {} if self._file is None else self._file.known
        found = [key for key in rows if key in known]
        self._check_file(scores, [rows[key] for key in found], [known[key] for key in found])
        for key in found:
            self._keep(key, known[key])
            self.resumed += 1
            del rows[key]
        places = np.fromiter(rows.values(), np.int64, len(rows))
        waiting = list(rows)
        for values in self._evaluated(scores, places):
            done, waiting = waiting[: len(values)], waiting[len(values) :]
            for key, value in zip(done, values.tolist(), strict=True):
                self._keep(key, value)
            if self._file is not None:
                self._file.add(dict(zip(done, values.tolist(), strict=True)))
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

    def _check_file(self, scores: Floats, rows: list[int], values: list[float]) -> None:
        """Make one evaluation again: the file names the function and does not know its code."""
        if self._checked or not rows or not self.metric.one_by_one:
            return
        middle = len(rows) // 2
        now = float(self.metric(scores[rows[middle]][None])[0])
        if not np.isclose(now, values[middle], rtol=1e-9, atol=0.0):
            assert self._file is not None
            raise CheckpointError(
                f"{self._file.path} says {values[middle]:.6g} where {self.metric.name} now says "
                f"{now:.6g}: the function has changed, or its values are random; give another "
                "`checkpoint`, or remove the file to start anew",
                path=self._file.path,
            )
        self._checked = True

    def gain(self, scores: Floats) -> float:
        """Of one vector of scores (n,)."""
        return float(self(scores[None])[0])

    def drawn(self, draws: Sequence[NDArray[np.int64]], scores: Floats) -> Floats:
        """Values on rows drawn from those of the metric, as for a bootstrap.

        Parameters
        ----------
        draws : sequence of int arrays
            Rows, with repeats.
        scores : array of shape (m, n)
            Of all rows.

        Returns
        -------
        array of shape (draws, m)
            In the user's units; NaN where the metric cannot be evaluated on the rows drawn.

        Raises
        ------
        BudgetSpentError
            If more evaluations are needed than are left; none is made then.
        """
        out = np.full((len(draws), len(scores)), np.nan)
        self._afford(out.size)
        self.used += out.size
        known = {} if self._file is None else self._file.known
        waiting = []
        for i, rows in enumerate(draws):
            keys = [_digest(rows.tobytes() + key) for key in self._keys(scores[:, rows])]
            if all(key in known for key in keys):
                out[i] = [known[key] for key in keys]
                self.resumed += len(keys)
            else:
                waiting.append((i, keys))
        todo = [draws[i] for i, _ in waiting]
        for (i, keys), values in zip(waiting, self._on_draws(todo, scores), strict=True):
            if values is None:
                continue
            out[i] = values
            if self._file is not None:
                self._file.add(dict(zip(keys, values.tolist(), strict=True)))
        self.limits.called(self.used)
        return out

    def _on_draws(
        self, draws: Sequence[NDArray[np.int64]], scores: Floats
    ) -> Iterable[Floats | None]:
        if not self.metric.one_by_one or self.n_jobs in (None, 1) or len(draws) < 2:
            return (_values_on(self.metric, rows, scores) for rows in draws)
        from joblib import Parallel, delayed

        parallel = Parallel(n_jobs=self.n_jobs, backend="loky", return_as="generator")
        found: Iterable[Floats | None] = parallel(
            delayed(_values_on)(self.metric, rows, scores) for rows in draws
        )
        return found

    def _evaluated(self, scores: Floats, places: NDArray[np.int64]) -> Iterator[Floats]:
        """Values of some vectors, a few at a time, in order."""
        metric = self.metric
        if not len(places):
            return
        if not metric.one_by_one:
            yield metric(scores[places] if len(places) < len(scores) else scores)
        elif self.n_jobs in (None, 1) or len(places) == 1:
            for i in places:
                yield metric(scores[i : i + 1])
        else:
            from joblib import Parallel, delayed, effective_n_jobs

            # One by one where each is written down as soon as it is there.
            n_chunks = len(places) if self._file else effective_n_jobs(self.n_jobs)
            chunks = np.array_split(places, min(len(places), n_chunks))
            parallel = Parallel(n_jobs=self.n_jobs, backend="loky", return_as="generator")
            try:
                yield from parallel(delayed(metric)(scores[chunk]) for chunk in chunks)
            except BrokenExecutor as error:
                raise MetricError(
                    f"the metric {metric.name}: a process that evaluated it ended by itself",
                    metric=metric.name,
                ) from error

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


def _values_on(metric: RowMetric, rows: NDArray[np.int64], scores: Floats) -> Floats | None:
    try:
        return metric.take(rows)(scores[:, rows])
    except (EmptyPopulationError, MetricError):
        return None
