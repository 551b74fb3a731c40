"""OnlineF: the same stream for river, rows as dicts and features by name.

River is the extra ``river``; nothing else of this library imports it.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from math import fsum, isfinite, nan
from reprlib import repr as short
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setpoint.errors import InputError, InputTypeError, nearest
from setpoint.goals import as_goal
from setpoint.inputs import check_weight, two_classes
from setpoint.online import learners as at
from setpoint.online.classifier import OnlineFClassifier
from setpoint.online.engine import SparseRow, begin, first_weights
from setpoint.online.notes import stream_report
from setpoint.online.solvers import run
from setpoint.report import GoalReport

try:
    from river import base
    from river.base.typing import ClfTarget
except ImportError as error:
    raise ImportError(
        "setpoint.online.river is made for river, which could not be imported "
        f"({error}); install it with: pip install 'setpoint[river]'"
    ) from error


Columns = NDArray[np.int32]

_FEW = 32
"""Features that there is room for at first."""

_CODES = np.array([[0], [1]], np.int8)


class OnlineF(base.Classifier):
    """Learn a posterior and the threshold that a goal asks for, for river.

    What :class:`setpoint.OnlineFClassifier` does with rows of a matrix, with dicts: names may
    appear and be absent at any time, and an absent feature is zero. Memory grows with the
    number of names, not with rows; ``river.preprocessing.FeatureHasher`` bounds it.

    Parameters
    ----------
    goal : Goal, str or metric, default="f1"
    classes : sequence of two labels, default=None
        None: False and True, which 0 and 1 are equal to. Others have to be declared, because
        a row may be decided before its class ever came.
    pos_label : label, default=None
        The positive class; None: the class that the goal names, the larger of two numbers,
        True, or the second of such words as no and yes. Other text needs it.
    **settings
        `solver`, `learner` by its name, `step`, `window`, `constant_step` and `n`, as
        :class:`setpoint.OnlineFClassifier` takes them.

    Raises
    ------
    ValueError, TypeError, GoalError
        If an argument is wrong.

    See Also
    --------
    setpoint.OnlineFClassifier : For arrays, batches and labels that come late.

    Notes
    -----
    ``learn_one`` decides the row before it looks at the label, and that decision counts in
    ``goal_report_``. It is what ``predict_one`` says right before, so both agree in
    ``river.evaluate.progressive_val_score``, unless a step of a pipeline changes the row in
    between: river's ``StandardScaler`` learns a row before it scales it to be learnt. With
    ``delay=`` the report refers to the decisions of the time when labels come, and river's
    metric of earlier ones; `OnlineFClassifier` keeps those.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics
    >>> from setpoint.online.river import OnlineF
    >>> model = OnlineF("f1")
    >>> score = evaluate.progressive_val_score(datasets.Phishing(), model, metrics.F1())
    >>> score, model.n_rows_seen_
    (F1: 8..., 1250)
    >>> abs(score.get() - model.goal_report_.objective.value) < 1e-12
    True
    """

    def __init__(
        self,
        goal: Any = "f1",
        *,
        classes: Sequence[Any] | None = None,
        pos_label: Any = None,
        **settings: Any,
    ) -> None:
        self.goal = goal
        self.classes = classes
        self.pos_label = pos_label
        self.settings = settings
        given = OnlineFClassifier(goal, **settings)
        if not isinstance(given.learner, str):
            raise InputTypeError(
                "`learner` is 'nag', 'sgd' or 'adagrad' here; OnlineFClassifier takes one of your "
                f"own, got {type(given.learner).__name__}"
            )
        both = (False, True) if classes is None else classes
        found = two_classes(None, both, pos_label, goal=as_goal(goal))
        self._engine = begin(given, _FEW, found)
        self._labels: Any = found.labels
        self._codes: dict[Any, int] = {label: code for code, label in enumerate(found.labels)}
        self._rows = _RowsOfDicts()

    # ------------------------------------------------------------------ the stream
    def learn_one(self, x: dict[Hashable, Any], y: ClfTarget, w: float = 1.0) -> None:
        """Decide a row, then learn it.

        Parameters
        ----------
        x : dict
            Finite numbers by name.
        y : label
        w : float
            Weighs the row in counts and in the learner's gradient; a row of weight zero
            leaves no trace.

        Raises
        ------
        ValueError, TypeError
            If a value is not a finite number, `y` is not a class, or `w` is not a weight; then
            nothing
            was learnt.
        """
        code, weight = self._code(y), None
        if w != 1.0 and w != 0.0:
            weight = check_weight([w], 1, "w")
        row = self._rows.read(x, new=w != 0.0)
        if w != 0.0:
            self._make_room()
            self._engine.stream(row, _CODES[code], weight)

    def predict_proba_one(self, x: dict[Hashable, Any], **kwargs: Any) -> dict[ClfTarget, float]:
        """The posterior of both labels, which the threshold does not touch.

        Parameters
        ----------
        x : dict
            Finite numbers by name; names that were never learnt do not matter.
        **kwargs
            What river passes on; not looked at.

        Returns
        -------
        dict
            From label to posterior.
        """
        negative, positive = self._labels
        p = self._score(x)[0]
        return {negative: 1.0 - p, positive: p}

    def predict_one(self, x: dict[Hashable, Any], **kwargs: Any) -> ClfTarget:
        """The label decided for a row; nothing is learnt.

        Parameters
        ----------
        x : dict
            As in :meth:`predict_proba_one`.
        **kwargs
            What river passes on; not looked at.

        Returns
        -------
        label
        """
        label: ClfTarget = self._labels[self._score(x)[1]]
        return label

    # ------------------------------------------------------------------ what is known
    @property
    def goal_report_(self) -> GoalReport:
        """What was reached on all rows so far."""
        if not self.n_rows_seen_:
            raise AttributeError("goal_report_ is there once rows were learnt")
        return stream_report(self._engine)

    @property
    def threshold_(self) -> float:
        """The posterior from which on rows are decided positive."""
        return self._engine.threshold

    @property
    def n_rows_seen_(self) -> int:
        """Rows learnt; those of weight zero do not count."""
        return self._engine.n_rows

    # ------------------------------------------------------------------ shared steps
    def _score(self, x: dict[Hashable, Any]) -> tuple[float, int]:
        """The posterior of a row, and the code of its decision."""
        row = self._rows.read(x, new=False)
        out, decided = np.empty((1, 2)), np.empty(1, np.int8)
        run(self._engine.state, row, None, None, out, decided, at.SCORE | at.DECIDE)
        return out.item(1), decided.item(0)

    def _code(self, y: ClfTarget) -> int:
        try:
            return self._codes[y]
        except (KeyError, TypeError):
            more = "; other labels are declared, classes=(one, other)" * (self.classes is None)
            near = nearest(y, self._codes)
            raise InputError(f"`y` is {y!r}, which is not a class ({near}){more}") from None

    def _make_room(self) -> None:
        """Double the weights where they are too few; the intercept stays last."""
        state = self._engine.state
        old = room = state.weights.shape[1] - 1
        while room < len(self._rows):
            room *= 2
        if room > old:
            wider = first_weights(state.record, room)
            wider[:, :old], wider[:, -1] = state.weights[:, :old], state.weights[:, -1]
            state.weights = wider


class _RowsOfDicts:
    """From dicts to rows: each name has a column, in the order in which names came."""

    def __init__(self, columns: dict[Hashable, int] | None = None) -> None:
        self._columns = {} if columns is None else columns
        # Rows are predicted, then learnt, and most have the names of the row before.
        empty = SparseRow.of(np.empty(0), np.empty(0, np.int32), 0)
        self._last: tuple[Any, tuple[Hashable, ...], SparseRow] = {}, (), empty

    def __len__(self) -> int:
        return len(self._columns)

    def __reduce__(self) -> tuple[Any, ...]:
        return _RowsOfDicts, (self._columns,)

    def read(self, x: dict[Hashable, Any], *, new: bool) -> SparseRow:
        """The row of a dict. Names that never came get columns if `new`, or are left out."""
        last, names, row = self._last
        try:
            if x == last:
                return row
            # Unlike NumPy's conversions a sum takes no text for a number.
            total = sum(x.values(), 0.0)
            finite = isfinite(total)
        except (OverflowError, TypeError, ValueError):
            total, finite = nan, False
        if finite:
            data = np.fromiter(x.values(), np.float64, len(x))
        else:
            data = np.array([_number(name, value) for name, value in x.items()])
        found = tuple(x)
        if found == names:
            row = SparseRow(data, row.indices, row.indptr, row.shape)
        else:
            try:
                columns = self._known(found)
            except KeyError:
                if not new:
                    known = {name: x[name] for name in found if name in self._columns}
                    return self.read(known, new=False)
                for name in found:
                    self._columns.setdefault(name, len(self._columns))
                columns = self._known(found)
            row = SparseRow.of(data, columns, len(self))
        # Other numbers than Python's may change while they are kept.
        self._last = dict(x) if type(total) is float else None, found, row
        return row

    def _known(self, names: tuple[Hashable, ...]) -> Columns:
        return np.fromiter(map(self._columns.__getitem__, names), np.int32, len(names))


def _number(name: Hashable, value: Any) -> float:
    try:
        number = fsum((value,))
    except (OverflowError, TypeError, ValueError):
        number = nan
    if not isfinite(number):
        raise InputError(f"feature {name!r} is {short(value)}; features are finite numbers")
    return number
