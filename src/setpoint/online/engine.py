"""The engine of streams: rows, late labels, the start, learner and threshold."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from inspect import signature
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone
from sklearn.utils import _safe_indexing, check_random_state
from sklearn.utils.validation import _num_samples, validate_data

from setpoint.array_types import Floats
from setpoint.errors import InputError, InputTypeError, warn_caller
from setpoint.goals import Goal, Label, as_goal
from setpoint.inputs import (
    ClassOrder,
    check_labels,
    check_length,
    check_weight,
    one_column,
    require_numbers,
    some,
    two_classes,
)
from setpoint.online import learners as at
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

# --- Rows and labels as kernels take them ---------------------------------------------------------


_MANY = 200_000
_LARGE = 1e200
_FLOATS = (np.dtype(np.float64), np.dtype(np.float32))
_NEGATIVE: NDArray[np.int8] = np.zeros(1, np.int8)
_POSITIVE: NDArray[np.int8] = np.ones(1, np.int8)


def as_rows(estimator: Any, X: Any, *, reset: bool) -> Any:
    """Rows as a C-ordered matrix or CSR, float32 or float64, finite."""
    if not reset and _is_plain(estimator, X):
        return X  # kernels find what is not finite
    require_numbers(X)
    with np.errstate(invalid="ignore"):  # its check adds up, and infinite minus infinite is none
        rows: Any = validate_data(
            estimator,
            X,
            reset=reset,
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            order="C",
        )
    if sparse.issparse(rows):
        return _canonical(rows, rows is X)
    return rows


def _canonical(rows: Any, shared: bool) -> Any:
    """Each column once a row."""
    if rows.has_canonical_format:
        return rows
    out = rows.copy() if shared else rows
    out.sum_duplicates()
    return out


def _is_plain(estimator: Any, X: Any) -> bool:
    """Whether kernels take `X` as it is: a row at a time, checks would cost more than learning."""
    if type(X) is np.ndarray:
        plain = X.ndim == 2 and X.flags.c_contiguous
    elif type(X) in (sparse.csr_matrix, sparse.csr_array):
        plain = X.ndim == 2 and X.has_canonical_format
    else:
        return False
    if not plain or X.dtype not in _FLOATS or X.shape[0] == 0:
        return False
    return X.shape[1] == estimator.n_features_in_ and not hasattr(estimator, "feature_names_in_")


def cannot_overflow(X: Any) -> bool:
    """Whether a small batch is known to hold no value that ends in an error on the way."""
    if X.shape[0] == 1:
        return True  # found before it is learnt
    values = X.ravel() if isinstance(X, np.ndarray) else X.data
    return bool(values.size <= _MANY and float(np.vdot(values, values)) < _LARGE)


def as_codes(y: Any, labels: tuple[Label, Label], n_rows: int) -> NDArray[np.int8]:
    """Labels as 0 and 1 for (negative, positive)."""
    if type(y) is np.ndarray and y.ndim == 1 and y.dtype.kind in "biu":
        if len(y) == n_rows == 1 and y[0] in labels:
            return _POSITIVE if y[0] == labels[1] else _NEGATIVE
        codes: NDArray[np.int8] = (y == labels[1]).view(np.int8)
        if len(y) == n_rows and (codes.all() or bool((codes | (y == labels[0])).all())):
            return codes
    found = check_labels(y, "y", classes=list(labels))[1]
    check_length(found, n_rows, "y")
    return found.astype(np.int8)


def n_rows_of(X: Any) -> int:
    """Number of rows."""
    return int(X.shape[0]) if hasattr(X, "shape") else int(_num_samples(X))


# --- Rows whose labels come late: kept as they were predicted, up to a number ---------------------


class ExpiredWarning(UserWarning):
    """Labels came for rows that had been pushed out of the buffer: nothing was learnt."""


@dataclass(frozen=True, eq=False)
class SparseRow:
    """One row of a sparse matrix, in the parts that kernels take."""

    data: NDArray[Any]
    indices: NDArray[Any]
    width: int

    @property
    def matrix(self) -> Any:
        """The row as others know it."""
        return sparse.csr_matrix((self.data, self.indices, self.indptr), shape=(1, self.width))

    @property
    def indptr(self) -> NDArray[Any]:
        """Where the row begins and ends."""
        return np.array([0, len(self.data)], self.indices.dtype)


@dataclass(frozen=True, eq=False)
class WaitingRow:
    """A row as it was predicted."""

    X: Any
    decided: int


class Waiting:
    """A bounded buffer of predicted rows by id, oldest first."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.n_expired = 0
        self._rows: dict[Hashable, WaitingRow] = {}
        # The last ids that left, so that messages can tell why one is not waiting.
        self._gone: dict[Hashable, str] = {}

    def __len__(self) -> int:
        return len(self._rows)

    def check_new(self, ids: Sequence[Hashable]) -> None:
        """Refuse ids that are waiting already or come twice."""
        again = [i for i in ids if i in self._rows]
        if again:
            raise InputError(f"`ids`: {some(again)} were predicted already and wait for labels")
        _check_once(ids)

    def add(self, ids: Sequence[Hashable], rows: Sequence[WaitingRow]) -> None:
        """Keep rows; what is too much expires."""
        for i, row in zip(ids, rows, strict=True):
            self._rows[i] = row
            self._gone.pop(i, None)
        while len(self._rows) > self.size:
            oldest = next(iter(self._rows))
            del self._rows[oldest]
            self._leave(oldest, "expired")
            self.n_expired += 1

    def check_there(self, ids: Sequence[Hashable]) -> list[int]:
        """The places in `ids` of rows that are waiting; a warning where some expired."""
        _check_once(ids)
        learnt = [i for i in ids if self._gone.get(i) == "learnt"]
        if learnt:
            raise InputError(f"`ids`: {some(learnt)} were learnt already; nothing was learnt now")
        unknown = [i for i in ids if i not in self._rows and i not in self._gone]
        if unknown:
            raise InputError(
                f"`ids`: {some(unknown)} were never predicted, or left the buffer of {self.size} "
                "rows long ago; nothing was learnt now"
            )
        expired = [i for i in ids if i in self._gone]
        if expired:
            warn_caller(
                f"labels came for {some(expired)}, which had left the buffer of {self.size} rows; "
                "these were not learnt. `buffer_size` keeps more",
                ExpiredWarning,
            )
        return [k for k, i in enumerate(ids) if i in self._rows]

    def row(self, i: Hashable) -> WaitingRow:
        """A row that waits."""
        return self._rows[i]

    def leave(self, i: Hashable) -> None:
        """Its label was learnt."""
        del self._rows[i]
        self._leave(i, "learnt")

    def _leave(self, i: Hashable, why: str) -> None:
        self._gone[i] = why
        while len(self._gone) > 2 * self.size:
            del self._gone[next(iter(self._gone))]

    def __getstate__(self) -> dict[str, Any]:
        """Rows of one kind as one matrix: by itself each would take a file in a model file."""
        state = vars(self).copy()
        rows = list(state.pop("_rows").items())
        state["ids"] = [i for i, _ in rows]
        state["decided"] = np.array([r.decided for _, r in rows], np.int8)
        state["rows"] = _stacked([r.X for _, r in rows])
        gone = state.pop("_gone")
        state["gone"], state["why"] = list(gone), list(gone.values())
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        rest = dict(state)
        rows = _unstacked(rest.pop("rows"))
        self._rows = {
            i: WaitingRow(x, decided)
            for i, x, decided in zip(
                rest.pop("ids"), rows, rest.pop("decided").tolist(), strict=True
            )
        }
        self._gone = dict(zip(rest.pop("gone"), rest.pop("why"), strict=True))
        vars(self).update(rest)


def _check_once(ids: Sequence[Hashable]) -> None:
    twice = [i for i, n in Counter(ids).items() if n > 1]
    if twice:
        raise InputError(f"`ids` holds {some(twice)} more than once")


def _stacked(rows: list[Any]) -> Any:
    """Rows of one kind and type as few arrays; else as they are."""
    if not rows or len({_kind(x) for x in rows}) > 1 or _kind(rows[0]) is None:
        return rows
    if isinstance(rows[0], np.ndarray):
        return np.concatenate(rows)
    return {
        "data": np.concatenate([x.data for x in rows]),
        "indices": np.concatenate([x.indices for x in rows]),
        "sizes": np.array([len(x.data) for x in rows]),
        "width": rows[0].width,
    }


def _kind(x: Any) -> Any:
    if isinstance(x, SparseRow):
        return x.data.dtype, x.indices.dtype
    return x.dtype if isinstance(x, np.ndarray) else None


def _unstacked(rows: Any) -> list[Any]:
    if isinstance(rows, dict):
        ends = np.cumsum(rows["sizes"])[:-1]
        parts = zip(np.split(rows["data"], ends), np.split(rows["indices"], ends), strict=True)
        return [SparseRow(data, indices, rows["width"]) for data, indices in parts]
    return rows if isinstance(rows, list) else [rows[i : i + 1] for i in range(len(rows))]


def rows_of(X: Any) -> list[Any]:
    """Each row of a matrix or frame by itself, not to be changed from outside."""
    if isinstance(X, np.ndarray):
        return [X[i : i + 1].copy() for i in range(len(X))]
    if isinstance(X, (sparse.csr_array, sparse.csr_matrix)):
        cuts = zip(X.indptr[:-1].tolist(), X.indptr[1:].tolist(), strict=True)
        width = X.shape[1]
        return [SparseRow(X.data[a:b].copy(), X.indices[a:b].copy(), width) for a, b in cuts]
    rows = [_safe_indexing(X, slice(i, i + 1)) for i in range(n_rows_of(X))]
    return [x.copy() if hasattr(x, "copy") else x for x in rows]  # polars cannot be changed


# --- Rows through a learner and a threshold, whoever wrote the learner ----------------------------


Codes = NDArray[np.int8]

_LEAST = 1e-16
"""Posteriors nearer to 0 or 1 have no other log-odds than this."""

_MOST = 1e15
"""Scores farther out than this are as far out."""

_ALL = at.SCORE | at.DECIDE | at.LEARN


class EngineScores(NamedTuple):
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

    def score(self, X: Any) -> EngineScores:
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
                one = EngineScores(scored.out[row], scored.decided[row])
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
            scored = EngineScores(np.zeros((1, 2)), np.array([row.decided], np.int8))
            if self.model is None:
                self._run(row.X, y[i : i + 1], w, scored, at.SCORE | at.LEARN)
            else:
                X = row.X.matrix if isinstance(row.X, SparseRow) else row.X
                scored.out[:, 0] = self._log_odds(X)
                self._teach(X, y[i], w)
                self._run(None, y[i : i + 1], w, scored, at.SCORE | at.LEARN)
            self.waiting.leave(name)

    def _run(
        self, X: Any, y: Codes, weight: Floats | None, scored: EngineScores, mode: int
    ) -> None:
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


def _empty(X: Any) -> EngineScores:
    n = n_rows_of(X)
    return EngineScores(np.empty((n, 2)), np.empty(n, np.int8))


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
