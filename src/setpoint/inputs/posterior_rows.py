"""Rows elsewhere with a column of posteriors for each class, read and checked in batches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setpoint.array_types import Codes, Floats
from setpoint.counting.columns import plain
from setpoint.errors import InputError
from setpoint.evidence import Confusion, Evidence, Rows
from setpoint.evidence.codebook import Codebook
from setpoint.evidence.columns import Column
from setpoint.evidence.tally import ChangedTableError
from setpoint.goals.errors import EmptyPopulationError
from setpoint.goals.goal import Goal
from setpoint.inputs.arrays import is_missing, some
from setpoint.inputs.classes import ClassOrder, posteriors
from setpoint.inputs.counted_rows import CountedRows
from setpoint.inputs.frames import FrameRows
from setpoint.inputs.inputs import DecideOn

__all__ = ["PosteriorRows"]

_BATCH, _BATCH_NUMBERS = 2**16, 2**22
"""Rows of a batch, and posteriors at most: memory stays flat, however the engine cuts."""
_NEGATIVE, _OFF = -1e-9, 1e-3
"""What rounding leaves of a posterior, and how far a row's sum may be from one."""
_UNLIKE = 0.2
"""The first rows stand for all where shares of classes and groups differ by less in sum."""

Batch = dict[str, NDArray[Any]]


@dataclass(frozen=True, eq=False)
class PosteriorRows:
    """The rows of a table, and what a first pass of its engine said of them.

    Parameters
    ----------
    goal : Goal
    own : FrameRows
        With `posteriors`, in the sorted order of the classes.
    counted : CountedRows
        By label and group.
    labelled : Confusion
        The same rows decided alike.
    notes : list of str
        What a report should say of the posteriors.
    """

    goal: Goal
    own: FrameRows
    counted: CountedRows
    labelled: Confusion
    notes: list[str] = field(default_factory=list)

    @classmethod
    def first_pass(
        cls,
        goal: Goal,
        own: FrameRows,
        *,
        classes: Any = None,
        pos_label: Any = None,
        decide_on: DecideOn = "auto",
    ) -> PosteriorRows:
        """Group the rows by label and columns, where they are.

        Raises
        ------
        GoalError, ValueError, TypeError
            Whatever is wrong with the columns; rows that cannot be counted are numbered.
        """
        counted = CountedRows.first_pass(
            goal,
            {None: own},
            lambda source, by: source.count(by),
            classes=classes,
            pos_label=pos_label,
            decide_on=decide_on,
        )
        known = counted.classes.sorted.tolist()
        if classes is not None and list(classes) != known:
            raise InputError(
                "`classes` are in sorted order without repetitions, as the columns of the "
                f"posteriors are: {known}, got {list(classes)}"
            )
        if len(known) != len(own.posteriors):
            raise InputError(
                f"`scores` names {len(own.posteriors)} columns {list(own.posteriors)}, and there "
                f"are {len(known)} classes; one column for each of [{some(known)}] is allowed, in "
                "this order (`classes` names those that y does not hold)"
            )
        lines = len(counted.inputs.rows.true)
        return cls(goal, own, counted, counted.confusion(np.zeros(lines, np.int64)))

    @property
    def codebook(self) -> Codebook:
        """Classes, strata and columns."""
        return self.counted.codebook

    @property
    def classes(self) -> ClassOrder:
        """The classes, in sorted order and the library's."""
        return self.counted.classes

    @property
    def n_rows(self) -> int:
        """Number of rows that count."""
        return int(self.labelled.rows.sum())

    # ------------------------------------------------------------------ all rows
    def batches(self, labels: bool) -> Iterator[Evidence]:
        """All rows in batches of one size, the last aside, so that their cuts do not matter.

        Parameters
        ----------
        labels : bool
            Whether the labels are read too.

        Raises
        ------
        ValueError
            At the end, if some rows have no posteriors: it says how many.
        ChangedTableError
            If there are labels or groups that the first pass did not see.
        """
        bad, found, worst = np.zeros(3, np.int64), 0, ""
        for batch in self._read(labels):
            eta, wrong, note = self._posteriors(batch)
            for k in range(3):
                bad[k] += np.count_nonzero(wrong == k + 1)
            found, worst = found + len(eta), max(worst, note)
            rows = self._evidence(batch, eta, labels)
            if rows.n_rows:
                yield rows
        self._refuse(bad, found)
        if worst and not self.notes:
            self.notes.append(worst)

    def _read(self, labels: bool) -> Iterator[Batch]:
        own = self.own
        groups = {name for s in self.codebook.strata for name, _ in s.key}
        more = [n for n in (own.y if labels else None, own.weight) if n is not None]
        names = tuple(dict.fromkeys([*own.posteriors, *more, *sorted(groups)]))
        size = max(min(_BATCH, _BATCH_NUMBERS // len(own.posteriors)), 1)
        return _of_size(own.source.batches(names), size)

    def _posteriors(self, batch: Batch) -> tuple[Floats, NDArray[np.int64], str]:
        """Posteriors in the library's order, which rows have none and why, and a note."""
        eta = np.column_stack([_numbers(batch[name]) for name in self.own.posteriors])
        wrong = np.zeros(len(eta), np.int64)
        with np.errstate(invalid="ignore", over="ignore"):
            wrong[np.abs(eta.sum(axis=1) - 1.0) > _OFF] = 3
            wrong[(eta < _NEGATIVE).any(axis=1)] = 2
        wrong[~np.isfinite(eta).all(axis=1)] = 1
        if wrong.any():
            eta[wrong > 0] = 1.0 / eta.shape[1]
        out, note = posteriors(eta, self.classes)
        return out, wrong, note

    def _refuse(self, bad: NDArray[np.int64], found: int) -> None:
        names = ", ".join(map(repr, self.own.posteriors))
        what = (
            "a posterior that is NULL, NaN or infinite",
            "a posterior below 0",
            f"posteriors whose sum is off 1 by more than {_OFF:g}",
        )
        said = [f"{n} of {found} rows have {text}" for n, text in zip(bad, what, strict=True) if n]
        if said:
            raise InputError(
                f"{self.own.where}scores: {'; '.join(said)}, in the columns {names}; allowed are "
                "numbers in [0, 1] that sum to 1 in each row"
            )

    def _evidence(self, batch: Batch, eta: Floats, labels: bool) -> Evidence:
        own, goal = self.own, self.goal
        weight = None if own.weight is None else _numbers(batch[own.weight])
        kept = slice(None) if weight is None or weight.all() else weight != 0.0
        columns = {
            name: _column(batch[name])
            for name in dict.fromkeys(n for s in self.codebook.strata for n, _ in s.key)
        }
        true = self._codes(batch[own.y]) if labels and own.y is not None else None
        try:
            rows = Rows.from_arrays(
                self.classes.labels,
                true,
                len(eta),
                needs=goal.needs,
                weight=weight,
                columns=columns,
                decide_on=self.codebook.decide_on,
                codebook=self.codebook,
            )
        except EmptyPopulationError as error:
            raise ChangedTableError(
                f"the table changed between two passes, or is another one each time: {error}"
            ) from None
        return Evidence(rows, np.ascontiguousarray(eta[kept]))

    def _codes(self, y: NDArray[Any]) -> Codes:
        """Labels as class codes."""
        column, place = _column(y), {label: i for i, label in enumerate(self.classes.labels)}
        try:
            return np.array([place[v] for v in column.levels], np.int64)[column.codes]
        except KeyError as error:
            raise ChangedTableError(
                f"the table changed between two passes: y holds {error.args[0]!r}, which the first "
                "did not see"
            ) from None

    # ------------------------------------------------------------------ some rows
    def samples(self, n: int, size: int) -> list[Evidence]:
        """About `n` parts of `size` rows; a single one of all rows where they are few.

        The first rows are taken. Where shares of classes and groups among them are not those of
        the table, as in one that is sorted, rows from end to end are.
        """
        n = max(min(n, -(-self.n_rows // size)), 1)
        rows = self._some(n * size, 1)
        if rows is None or self._is_unlike(rows):
            rows = self._some(n * size, max(-(-self.n_rows // (n * size)), 1)) or rows
        if rows is None:
            return []
        return [rows.take(np.arange(k, rows.n_rows, n)) for k in range(n)]

    def _some(self, most: int, step: int) -> Evidence | None:
        """Every step-th row, `most` at most, without those that have no posteriors."""
        parts: list[Evidence] = []
        seen = held = 0
        for batch in self._read(False):
            n = len(batch[self.own.posteriors[0]])
            chosen = np.arange(-seen % step, n, step)
            seen += n
            if len(chosen) == 0:
                continue
            eta, wrong, _ = self._posteriors({k: v[chosen] for k, v in batch.items()})
            fine = np.flatnonzero(wrong == 0)
            rows = self._evidence(
                {name: values[chosen[fine]] for name, values in batch.items()}, eta[fine], False
            )
            if rows.n_rows:
                parts.append(rows)
                held += rows.n_rows
            if held >= most:
                break
        return Evidence.concat(parts).take(np.arange(min(held, most))) if parts else None

    def _is_unlike(self, rows: Evidence) -> bool:
        """Whether shares by group and class, by posteriors, are far from those of all labels."""
        if rows.n_rows >= self.n_rows:
            return False
        all_rows = self.labelled.marginals.weights
        some_rows = rows.with_posteriors().marginals.weights
        shares = some_rows / some_rows.sum() - all_rows / all_rows.sum()
        absent = (some_rows.sum(axis=1) == 0.0) & (all_rows.sum(axis=1) > 0.0)
        return bool(absent.any() or np.abs(shares).sum() > _UNLIKE)


def _of_size(batches: Iterator[Batch], size: int) -> Iterator[Batch]:
    """The same rows in batches of one size."""
    held: list[Batch] = []
    n = 0
    for batch in batches:
        length, start = len(next(iter(batch.values()))), 0
        while n + length - start >= size:
            stop = start + size - n
            held.append({name: values[start:stop] for name, values in batch.items()})
            yield _joined(held)
            held, n, start = [], 0, stop
        if start < length:
            held.append({name: values[start:] for name, values in batch.items()})
            n += length - start
    if held:
        yield _joined(held)


def _joined(parts: Sequence[Batch]) -> Batch:
    if len(parts) == 1:
        return parts[0]
    return {name: np.concatenate([p[name] for p in parts]) for name in parts[0]}


def _numbers(values: NDArray[Any]) -> Floats:
    """Numbers in float64, NaN where there are none."""
    if values.dtype.kind == "O":
        return np.array([np.nan if is_missing(v) else float(v) for v in values.tolist()])
    return np.asarray(values, np.float64)


def _column(values: NDArray[Any]) -> Column:
    """A column whose levels are plain values, as the first pass has them."""
    column = Column(values)
    if values.dtype.kind in "OM":
        vars(column)["_factored"] = ([plain(v) for v in column.levels], column.codes)
    return column
