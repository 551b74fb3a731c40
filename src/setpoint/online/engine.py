"""The engine of streams: rows, late labels, the start, learner and threshold."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from inspect import signature
from typing import Annotated, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone
from sklearn.utils import _safe_indexing, check_random_state
from sklearn.utils.validation import _num_samples, validate_data

from setpoint.array_types import Floats
from setpoint.counts import Codebook
from setpoint.errors import InputError, InputTypeError, quoted, warn_caller
from setpoint.goals import EVERYWHERE, Goal, Label, Metric, as_goal, require_rows_alone
from setpoint.inputs import (
    ClassOrder,
    check_labels,
    check_length,
    check_weight,
    one_column,
    require_numbers,
    some,
)
from setpoint.online import learners as at
from setpoint.online.learners import State
from setpoint.online.solvers import (
    FIRST_STAGE,
    LEAST_ROWS,
    NotFiniteError,
    cut_score,
    expected,
    fofo_stages,
    run,
    set_cut,
)
from setpoint.parameters import Number, check
from setpoint.program import Accepted, link
from setpoint.solvers import WITHOUT_FORMULA

# --- Goals over the counts of two classes, and the best cut-off of the sketch ---------------------


def f_beta_of(goal: Goal, positive: Label) -> float | None:
    """The beta of the F-measure that a goal maximises, and nothing else; None for others.

    Examples
    --------
    >>> from setpoint import Goal
    >>> f_beta_of(Goal.parse("maximize fbeta(2)"), 1), f_beta_of(Goal.parse("maximize recall"), 1)
    (2.0, None)
    """
    measure = goal.objective
    if goal.sense != "maximize" or goal.constraints or not isinstance(measure, Metric):
        return None
    if measure.population != EVERYWHERE or measure.label not in (None, positive):
        return None
    if measure.name in ("f1", "jaccard"):
        return 1.0
    return float(dict(measure.params)["beta"]) if measure.name == "fbeta" else None  # type: ignore[arg-type]


class StreamGoal:
    """A goal as a function of true and false positives and negatives, whatever their totals.

    Examples
    --------
    >>> import numpy as np
    >>> from setpoint import Goal
    >>> goal = Goal.parse("maximize recall subject to precision >= 0.7")
    >>> problem = StreamGoal(goal, ("no", "yes"))
    >>> problem.value(np.array([[90.0, 2.0], [4.0, 4.0]]))
    0.5
    >>> problem.best(np.array([[9.0, 1.0], [1.0, 9.0]]))
    1
    """

    def __init__(self, goal: Goal, classes: tuple[Label, Label]) -> None:
        require_rows_alone(
            goal,
            "a stream is counted by true and predicted class alone; `PlugInClassifier` takes such "
            "goals, on rows that are kept",
        )
        self.goal = goal
        program = link(goal, Codebook.of(classes)).at_any_totals()
        self._accepted = Accepted(program, [(0, 0), (0, 1)])

    def value(self, counts: Floats) -> float:
        """The objective at counts (2, 2) by true and predicted class."""
        rates = self._accepted.with_totals(counts.sum(axis=1)).rates(counts[:, 1])
        return float(self._accepted.program.value(rates))

    def best(self, expected: Floats) -> int:
        """The first of the ascending bins (2, K) that is accepted by the best cut-off; K: none."""
        filled = np.flatnonzero(expected.sum(axis=0) > 0)[::-1]
        counts = np.zeros((2, len(filled) + 1))
        np.cumsum(expected[:, filled], axis=1, out=counts[:, 1:])
        found = self._accepted.with_totals(counts[:, -1]).best(counts, least_violation=True)
        return int(np.append(expected.shape[1], filled)[found.cutoff])


# --- What the constructor takes, checked before the first row -------------------------------------


SOLVERS = {
    "sketch": at.SKETCH, "fofo": at.FOFO, "ofo": at.OFO, "ofo-rb": at.OFO_RB, "half": at.HALF
}  # fmt: skip
LEARNERS = {"nag": at.NAG, "sgd": at.SGD, "adagrad": at.ADAGRAD}

SolverName: TypeAlias = Annotated[str, tuple(SOLVERS)]
Buffer: TypeAlias = Annotated[int, Number("a whole number of at least 1", 1.0, integer=True)]
Window: TypeAlias = Annotated[
    int | None, Number("a whole number of at least 1, or None", 1.0, integer=True, other=(None,))
]
StreamLength: TypeAlias = Annotated[
    int | None,
    Number(
        f"a whole number of at least {LEAST_ROWS}, or None", LEAST_ROWS, integer=True, other=(None,)
    ),
]

_STEPS = {"nag": 2.0, "sgd": 1.0, "adagrad": 0.5}
_CONSTANT_STEPS = {"nag": 0.05, "sgd": 0.05, "adagrad": 0.02}
"""With `constant_step`."""

_GIVEN = -1
"""The code of a learner of the user's: kernels never ask for it."""


def first_record(given: Any, classes: ClassOrder) -> Any:
    """The record of a stream before its first row, as a classifier's parameters ask for it."""
    check(given)
    solver, learner, constant = given.solver, given.learner, given.constant_step
    own = not isinstance(learner, str)
    if own:
        _check_own(given)
    else:
        check(given, {"learner": tuple(LEARNERS)})
    wanted = as_goal(given.goal)
    wanted.require_formula(WITHOUT_FORMULA)
    negative, positive = classes.labels
    beta = f_beta_of(wanted, positive)
    StreamGoal(wanted, (negative, positive))  # refuses goals that no stream can be counted by
    if beta is None and solver not in ("sketch", "half"):
        raise InputError(
            f"`solver={solver!r}` maximises fbeta or jaccard of the positive class, without "
            f"constraints, and the goal is '{wanted}'; `solver='sketch'` takes it"
        )
    for name, needed in (("n", "fofo"), ("window", "sketch")):
        if getattr(given, name) is not None and solver != needed:
            raise InputError(f"`{name}` is for `solver={needed!r}`, got `solver={solver!r}`")
    record = np.zeros((), at.STATE)
    record["learner"] = _GIVEN if own else LEARNERS[learner]
    record["solver"] = SOLVERS[solver]
    steps = _CONSTANT_STEPS if constant else _STEPS
    record["step"] = steps["nag" if own else learner] if given.step == "auto" else given.step
    record["beta2"] = (1.0 if beta is None else beta) ** 2
    record["constant_step"] = constant
    record["windowed"] = given.window is not None
    record["asks"] = beta is None and solver == "sketch"
    record["margin"] = own and not hasattr(learner, "predict_proba")
    record["normalised"] = record["learner"] == at.NAG
    record["slope"] = 1.0
    record["smallest"] = np.inf
    most = 1.0 / (1.0 + record["beta2"])
    if solver == "half":
        record["threshold"] = 0.0 if record["margin"] else 0.5
        record["open"] = 1
    elif solver == "fofo" and given.n is None:
        record["threshold"] = 0.5 * most  # as printed it starts at 0
    record["theta"] = record["start"] = record["threshold"]
    record["radius"] = most
    stages, rows = (-1, int(FIRST_STAGE)) if given.n is None else fofo_stages(int(given.n))
    record["stages_left"], record["stage_length"] = stages, rows
    record["rate"] = most / math.sqrt(10.0 * rows)
    return record


def _check_own(given: Any) -> None:
    """Refuse a learner of the user's that cannot be taught, and what is not for one."""
    learner, solver = given.learner, given.solver
    name = type(learner).__name__
    if isinstance(learner, type) or not hasattr(learner, "partial_fit"):
        got = "a class" if isinstance(learner, type) else f"a {name}"
        raise InputTypeError(
            f"`learner` is one of {list(LEARNERS)} or an object with partial_fit, got {got}"
        )
    if not hasattr(learner, "predict_proba"):
        if not hasattr(learner, "decision_function"):
            raise InputTypeError(
                f"`learner`: {name} has neither predict_proba nor decision_function"
            )
        if solver not in ("sketch", "half"):
            raise InputError(
                f"`solver={solver!r}` needs posteriors, and {name} has no predict_proba; "
                "`solver='sketch'` takes any score"
            )
    for name, default in (("step", "auto"), ("constant_step", False)):
        if getattr(given, name) != default:
            raise InputError(
                f"{quoted(name)} is for the learners of this library; your own has its own step"
            )


# --- Rows and labels as kernels take them ---------------------------------------------------------


Codes = NDArray[np.int8]

_MANY = 200_000
_LARGE = 1e200
_FLOATS = (np.dtype(np.float64), np.dtype(np.float32))
_NEGATIVE: Codes = np.zeros(1, np.int8)
_POSITIVE: Codes = np.ones(1, np.int8)


def as_rows(estimator: Any, X: Any, *, reset: bool) -> Any:
    """Rows as a C-ordered matrix or CSR, float32 or float64, finite."""
    if not reset and _is_plain(estimator, X):
        return X  # kernels find what is not finite
    require_numbers(X)
    how: Any = {"accept_sparse": "csr", "dtype": [np.float64, np.float32], "order": "C"}
    with np.errstate(invalid="ignore"):  # its check adds up, and infinite minus infinite is none
        rows: Any = validate_data(estimator, X, reset=reset, **how)
    if not getattr(rows, "has_canonical_format", True):
        rows = rows.copy() if rows is X else rows
        rows.sum_duplicates()  # each column once a row
    return rows


def _is_plain(estimator: Any, X: Any) -> bool:
    """Whether kernels take `X` as it is: a row at a time, checks would cost more than learning."""
    if type(X) is np.ndarray:
        plain = X.ndim == 2 and X.flags.c_contiguous
    else:
        known = type(X) in (sparse.csr_matrix, sparse.csr_array)
        plain = known and X.ndim == 2 and X.has_canonical_format
    if not plain or X.dtype not in _FLOATS or X.shape[0] == 0:
        return False
    return X.shape[1] == estimator.n_features_in_ and not hasattr(estimator, "feature_names_in_")


def cannot_overflow(X: Any) -> bool:
    """Whether a small batch is known to hold no value that ends in an error on the way."""
    values = X.ravel() if isinstance(X, np.ndarray) else X.data
    single = X.shape[0] == 1  # found before it is learnt
    return single or bool(values.size <= _MANY and float(np.vdot(values, values)) < _LARGE)


def as_codes(y: Any, labels: tuple[Label, Label], n_rows: int) -> Codes:
    """Labels as 0 and 1 for (negative, positive)."""
    if type(y) is np.ndarray and y.ndim == 1 and y.dtype.kind in "biu":
        if len(y) == n_rows == 1 and y[0] in labels:
            return _POSITIVE if y[0] == labels[1] else _NEGATIVE
        codes: Codes = (y == labels[1]).view(np.int8)
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


class SparseRow(NamedTuple):
    """One row of a sparse matrix, in the parts that kernels take."""

    data: NDArray[Any]
    indices: NDArray[Any]
    indptr: NDArray[Any]
    shape: tuple[int, int]

    @classmethod
    def of(cls, data: NDArray[Any], indices: NDArray[Any], width: int) -> SparseRow:
        """A row of its values and their columns."""
        return cls(data, indices, np.array((0, len(data)), indices.dtype), (1, width))


class Waiting:
    """A bounded buffer of rows and what was decided of them by id, oldest first."""

    def __init__(self, size: int) -> None:
        self.size, self.n_expired = size, 0
        self.rows: dict[Hashable, tuple[Any, int]] = {}
        # The last ids that left, so that messages can tell why one is not waiting.
        self._gone: dict[Hashable, str] = {}

    def __len__(self) -> int:
        return len(self.rows)

    def check_new(self, ids: Sequence[Hashable]) -> None:
        """Refuse ids that are waiting already or come twice."""
        again = [i for i in ids if i in self.rows]
        if again:
            raise InputError(f"`ids`: {some(again)} were predicted already and wait for labels")
        _check_once(ids)

    def add(self, ids: Sequence[Hashable], rows: Sequence[Any], decided: Codes) -> None:
        """Keep rows as they were decided; what is too much expires."""
        for i, row in zip(ids, zip(rows, decided.tolist(), strict=True), strict=True):
            self.rows[i] = row
            self._gone.pop(i, None)
        while len(self.rows) > self.size:
            self.leave(next(iter(self.rows)), "expired")
            self.n_expired += 1

    def check_there(self, ids: Sequence[Hashable]) -> list[int]:
        """The places in `ids` of rows that are waiting; a warning where some expired."""
        _check_once(ids)
        learnt = [i for i in ids if self._gone.get(i) == "learnt"]
        if learnt:
            raise InputError(f"`ids`: {some(learnt)} were learnt already; nothing was learnt now")
        unknown = [i for i in ids if i not in self.rows and i not in self._gone]
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
        return [k for k, i in enumerate(ids) if i in self.rows]

    def leave(self, i: Hashable, why: str = "learnt") -> None:
        """Its label was learnt, or it expired."""
        del self.rows[i]
        self._gone[i] = why
        while len(self._gone) > 2 * self.size:
            del self._gone[next(iter(self._gone))]

    def __getstate__(self) -> dict[str, Any]:
        """Rows of one kind as one matrix: by itself each would take a file in a model file."""
        state = vars(self).copy()
        rows, gone = state.pop("rows"), state.pop("_gone")
        kept, decided = [x for x, _ in rows.values()], [code for _, code in rows.values()]
        state |= {"ids": list(rows), "decided": np.array(decided, np.int8), "rows": _stacked(kept)}
        return state | {"gone": list(gone), "why": list(gone.values())}

    def __setstate__(self, state: dict[str, Any]) -> None:
        rest = dict(state)
        rows, decided = rest.pop("rows"), rest.pop("decided").tolist()
        if isinstance(rows, tuple):
            rows = sparse.csr_matrix(*rows)
        rows = rows if isinstance(rows, list) else rows_of(rows)
        self.rows = dict(zip(rest.pop("ids"), zip(rows, decided, strict=True), strict=True))
        self._gone = dict(zip(rest.pop("gone"), rest.pop("why"), strict=True))
        vars(self).update(rest)


def _check_once(ids: Sequence[Hashable]) -> None:
    twice = [i for i, n in Counter(ids).items() if n > 1]
    if twice:
        raise InputError(f"`ids` holds {some(twice)} more than once")


def _stacked(rows: list[Any]) -> Any:
    """Rows of one kind and type as one array, or as parts and shape of one matrix; else a list."""
    sparse_rows = all(isinstance(x, SparseRow) for x in rows)
    if sparse_rows and len({(x.data.dtype, x.indices.dtype) for x in rows}) == 1:
        data, indices, _, shapes = zip(*rows, strict=True)
        parts = np.concatenate(data), np.concatenate(indices), np.cumsum([0, *map(len, data)])
        return parts, (len(rows), shapes[0][1])
    dense = all(isinstance(x, np.ndarray) for x in rows) and len({x.dtype for x in rows}) == 1
    return np.concatenate(rows) if dense else rows


def rows_of(X: Any) -> list[Any]:
    """Each row of a matrix or frame by itself, not to be changed from outside."""
    if isinstance(X, np.ndarray):
        return [X[i : i + 1].copy() for i in range(len(X))]
    if isinstance(X, (sparse.csr_array, sparse.csr_matrix)):
        cuts = zip(X.indptr[:-1].tolist(), X.indptr[1:].tolist(), strict=True)
        width = X.shape[1]
        return [SparseRow.of(X.data[a:b].copy(), X.indices[a:b].copy(), width) for a, b in cuts]
    rows = [_safe_indexing(X, slice(i, i + 1)) for i in range(n_rows_of(X))]
    return [x.copy() if hasattr(x, "copy") else x for x in rows]  # polars cannot be changed


# --- Rows through a learner and a threshold, whoever wrote the learner ----------------------------


_LEAST = 1e-16
"""Posteriors nearer to 0 or 1 have no other log-odds than this."""

_MOST = 1e15
"""Scores farther out than this are as far out."""

_ALL = at.SCORE | at.DECIDE | at.LEARN


Scored = tuple[Floats, Codes]
"""Log-odds and posterior of each row (N, 2), and decisions (N,)."""


@dataclass(eq=False)
class Engine:
    """A learner, a threshold and what they keep of the rows."""

    goal: str
    labels: tuple[Label, Label]
    classes: NDArray[Any]
    state: State
    waiting: Waiting
    model: Any = None

    @cached_property
    def problem(self) -> StreamGoal:
        """The goal as a function of counts."""
        return StreamGoal(Goal.parse(self.goal), self.labels)

    @cached_property
    def answers(self) -> NDArray[Any]:
        """The labels (2,) of the decisions 0 and 1."""
        return self.classes if self._positive_last else self.classes[::-1]

    def __getstate__(self) -> dict[str, Any]:
        found = ("problem", "answers", "_parameters")
        return {k: v for k, v in vars(self).items() if k not in found}

    @property
    def threshold(self) -> float:
        """The score from which on to decide positive."""
        record = self.state.record
        return float(record["threshold"]) if record["open"] else float("inf")

    @property
    def n_rows(self) -> int:
        """Rows learnt; those of weight zero do not count."""
        return int(self.state.record["age"])

    def score(self, X: Any) -> Scored:
        """Score and decide rows; nothing changes."""
        scored = _empty(X)
        if self.model is not None:
            scored[0][:, 0], X = self._log_odds(X), None
        run(self.state, X, None, None, *scored, at.SCORE | at.DECIDE)
        return scored

    def stream(self, X: Any, y: Codes, weight: Floats | None) -> Codes:
        """Decide each row, then learn it; the decisions."""
        out, decided = _empty(X)
        if self.model is None:
            before = self.state if cannot_overflow(X) else self.state.copy()
            try:
                self._run(X, y, weight, out, decided, _ALL)
            except NotFiniteError:
                self.state = before
                raise
        else:
            for i in range(len(decided)):
                row = slice(i, i + 1)
                x, w = _safe_indexing(X, row), None if weight is None else weight[row]
                self._run(x, y[row], w, out[row], decided[row], _ALL)
        return decided

    def learn(self, ids: Sequence[Hashable], y: Codes, weight: Floats | None) -> None:
        """Learn rows that were decided before, one by one."""
        for i, name in enumerate(ids):
            X, decided = self.waiting.rows[name]
            row, known = slice(i, i + 1), np.array([decided], np.int8)
            w = None if weight is None else weight[row]
            self._run(X, y[row], w, np.zeros((1, 2)), known, at.SCORE | at.LEARN)
            self.waiting.leave(name)

    def _run(
        self, X: Any, y: Codes, weight: Floats | None, out: Floats, decided: Codes, mode: int
    ) -> None:
        """Kernels, and thresholds where they ask for one; for the user's learner a single row."""
        if self.model is not None:
            if isinstance(X, SparseRow):
                X = sparse.csr_matrix(X[:3], shape=X.shape)
            out[:, 0] = self._log_odds(X)
            self._teach(X, y[0], weight)  # it may refuse the row, which then does not count
            X = None
        start, state = 0, self.state
        while start < len(decided):
            start = run(state, X, y, weight, out, decided, mode, start)
            if state.record["due"]:
                counts = expected(state.record)
                set_cut(cut_score(counts, self.problem.best(counts)), state.record)

    # ------------------------------------------------------------------ the user's learner
    def _log_odds(self, X: Any) -> Floats:
        if not self.state.tally[at.NUMBER_OF_ROWS].sum(axis=1).all():
            return np.zeros(n_rows_of(X))  # few learners score before they know both classes
        if self.state.record["margin"]:
            z: Floats = np.asarray(self.model.decision_function(X), dtype=float)
            return np.clip(self._known(z if self._positive_last else -z, 0.0), -_MOST, _MOST)
        proba = np.asarray(self.model.predict_proba(X), dtype=float)
        if proba.ndim != 2 or proba.shape[1] != 2:
            raise InputError(
                f"`learner`: {type(self.model).__name__}.predict_proba gave an array of shape "
                f"{proba.shape}; two columns are expected, one a class"
            )
        p = self._known(proba[:, -1 if self._positive_last else 0], 0.5)
        p = np.clip(p, _LEAST, 1.0 - _LEAST)
        return np.asarray(np.log(p / (1.0 - p)))

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
        given = {"classes": self.classes} if "classes" in self._parameters else {}
        given |= {} if weight is None else {"sample_weight": weight}
        self.model.partial_fit(X, np.array([self.labels[int(y)]]), **given)

    @cached_property
    def _parameters(self) -> frozenset[str]:
        return frozenset(signature(self.model.partial_fit).parameters)

    @property
    def _positive_last(self) -> bool:
        return bool(self.classes[-1] == self.labels[1])


def _empty(X: Any) -> Scored:
    n = n_rows_of(X)
    return np.empty((n, 2)), np.empty(n, np.int8)


# --- The start of a stream, and what its batches are checked against ------------------------------


_REPORTED = 10_000
"""Rows of the window that reports refer to, where rules know none."""


def begin(estimator: Any, n_features: int, classes: ClassOrder) -> Engine:
    """A stream before its first row, as the constructor's arguments ask for it."""
    record, model = first_record(estimator, classes), None
    if not isinstance(estimator.learner, str):
        model = clone(estimator.learner, safe=False)
        known = model.get_params() if hasattr(model, "get_params") else {}
        if estimator.random_state is not None and "random_state" in known:
            seed = check_random_state(estimator.random_state).randint(2**31 - 1)
            model.set_params(random_state=seed)
    negative, positive = classes.labels
    weights = first_weights(record, n_features if model is None else 0)
    state = State(record, weights, np.zeros((int(estimator.window or _REPORTED), 3)))
    goal, waiting = str(as_goal(estimator.goal)), Waiting(int(estimator.buffer_size))
    return Engine(goal, (negative, positive), classes.sorted, state, waiting, model)


def first_weights(record: Any, n_features: int) -> Floats:
    """The learner's weights before the first row."""
    weights = np.zeros((7, n_features + 1))
    weights[at.INVERSE] = 1.0
    if record["normalised"]:
        weights[at.INVERSE, :n_features] = at.UNSEEN
    return weights


def weights_for(
    engine: Engine, sample_weight: Any, n_rows: int, *, all_zero: bool = True
) -> NDArray[np.float64] | None:
    """Weights of rows, refused where the learner takes none."""
    if sample_weight is None:
        return None
    if engine.model is not None and "sample_weight" not in engine._parameters:
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
