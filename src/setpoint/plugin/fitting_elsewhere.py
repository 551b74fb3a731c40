"""Fitting on a table elsewhere: the model on some of its rows, the rule on all others.

The model has not seen the rows that the rule is counted on, so that the count is honest without
cross-fitting. Its scores are computed piece by piece in each pass, where the pieces are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import config_context, get_config
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from setpoint.array_types import Floats
from setpoint.counting.reading import package
from setpoint.counting.source import GroupBy, Key
from setpoint.errors import InputError, InputTypeError
from setpoint.goals.goal import Goal
from setpoint.inputs.arrays import some
from setpoint.inputs.classes import ClassOrder
from setpoint.inputs.frames import FrameRows
from setpoint.inputs.inputs import DecideOn
from setpoint.inputs.labels import check_weight
from setpoint.plugin.cluster_models import fitted_on_dask, learns_on_dask, local_of
from setpoint.plugin.crossfit import Response
from setpoint.plugin.parameters import Options
from setpoint.plugin.row_share import RowShare
from setpoint.plugin.scaled import CountedDecision, Pass, decide_counted
from setpoint.plugin.tables_to_fit import FitTable, is_dask
from setpoint.report.section import TextSection

__all__ = ["ROWS_FOR_FIT", "FittedElsewhere", "PieceScores", "TableTask", "labels_of"]

ROWS_FOR_FIT = 1_000_000
"""The model is fitted on so many rows, unless a number is given."""

_LOOKED_AT = 100_000
"""Rows of those for a model on dask, of which it is seen whether they are alike."""


def labels_of(table: FitTable) -> tuple[NDArray[Any], int]:
    """The distinct labels, and the number of rows: one pass over a column.

    Raises
    ------
    ValueError
        If rows have no label, or there are no rows.
    """
    counts = table.source.count(GroupBy((Key(table.y),)))
    n_rows = int(counts.rows.sum())
    if not n_rows:
        raise InputError("`X`: there are no rows")
    levels = counts.levels[0]
    missing = int(counts.rows[[levels[code] is None for code in counts.codes[0]]].sum())
    if missing:
        raise InputError(
            f"`y`: {missing:,} of {n_rows:,} rows have no value in the column {table.y!r}; leave "
            "them out, or give them a value of their own"
        )
    types = {type(v) for v in levels}
    if len(types) == 1 and types <= {int, float, bool}:
        return np.array(levels), n_rows
    out = np.empty(len(levels), object)
    out[:] = levels
    return out, n_rows


@dataclass(frozen=True, eq=False)
class PieceScores:
    """A fitted model's scores of the rows of a piece.

    Parameters
    ----------
    model : classifier
    response : Response
    coded : tuple of str
        Columns that pieces hold as categories, and the table as text.
    settings : mapping
        scikit-learn's, of the thread that fits: those of a worker may be others.
    """

    model: Any
    response: Response
    coded: tuple[str, ...]
    settings: Mapping[str, Any] = field(default_factory=get_config)

    def __call__(self, frame: Any) -> Floats:
        """Scores (N,) of a pandas DataFrame of the features."""
        with config_context(**self.settings):
            return self.response(self.model, _as_stored(frame, self.coded))


@dataclass(frozen=True, eq=False)
class FittedElsewhere:
    """A model, the rule, and the rows that they are from.

    Parameters
    ----------
    model : classifier
    decision : CountedDecision
    rows : pandas DataFrame
        Features of the rows that the model was fitted on; without rows, where it was fitted
        already or on a cluster.
    """

    model: Any
    decision: CountedDecision
    rows: Any


@dataclass(frozen=True, eq=False)
class TableTask:
    """A model to fit on a part of a table and a rule to find on the others, arguments checked.

    Parameters
    ----------
    table : FitTable
    goal : Goal
    options : Options
    response : Response
        What the model is asked for.
    model : classifier
        Fitted already if `is_fitted`: then all rows are counted.
    frame : object
        The table as given.
    is_fitted : bool
    rows_for_fit : int or None
    n_rows : int
    key : int
        Which rows are chosen.
    decide_on
        As PlugInClassifier takes it.
    params : callable
        From the weights of the rows for the model, or None, to what its ``fit`` is given.
    watch : callable, optional
        Called after each pass.
    """

    table: FitTable
    goal: Goal
    options: Options
    response: Response
    model: Any
    frame: Any
    is_fitted: bool
    rows_for_fit: int | None
    n_rows: int
    key: int
    decide_on: DecideOn
    params: Callable[[Any], dict[str, Any]]
    watch: Callable[[Pass], None] | None = None

    @property
    def classes(self) -> ClassOrder:
        """The classes of the labels."""
        return self.response.classes

    def run(self) -> FittedElsewhere:
        """Fit the model, unless it is, and find the rule."""
        table = self.table
        none = package("pandas").DataFrame(columns=list(table.features))
        if self.is_fitted:
            check_is_fitted(self.model)
            model = local_of(self.model) if learns_on_dask(self.model) else self.model
            said = "The model was fitted before; the rule was found on all {} rows."
            return FittedElsewhere(model, self._decision(model, None, said), none)
        share = RowShare.of(self._share(), self.key, table.columns)
        if learns_on_dask(self.model):
            model, n_fit, rows = *self._fitted_there(share), none
            where = "dask"
        else:
            model, n_fit, rows = self._fitted_here(share)
            where = "this machine"
        said = (
            f"The model was fitted on {n_fit:,} rows on {where}, the rule found on {{}} others. "
            "Which are which is settled by a hash of the row."
        )
        return FittedElsewhere(model, self._decision(model, share, said), rows)

    def _share(self) -> float:
        n = ROWS_FOR_FIT if self.rows_for_fit is None else int(self.rows_for_fit)
        if n >= self.n_rows:
            default = " (the default)" if self.rows_for_fit is None else ""
            raise InputError(
                f"`rows_for_fit`: the model is fitted on {n:,} rows{default} and the rule found on "
                f"all others, but the table has {self.n_rows:,}: give fewer than that, as in "
                f"`rows_for_fit={max(self.n_rows // 2, 1)}`"
            )
        return n / self.n_rows

    # ------------------------------------------------------------------ the model
    def _fitted_here(self, share: RowShare) -> tuple[Any, int, Any]:
        """The model fitted in memory, on how many rows, and their features."""
        table = self.table
        pandas = package("pandas")
        parts = table.source.only(share, table.columns).frames(table.columns)
        stored = [_as_stored(part, table.source.coded_texts) for part in parts if len(part)]
        if not stored:
            raise self._too_few(0, [])
        rows = pandas.concat(stored, ignore_index=True)
        for name in rows.columns:
            kinds = {str(part[name].dtype) for part in stored}
            if kinds == {"category"} and str(rows[name].dtype) != "category":
                rows[name] = rows[name].astype("category")  # each piece has categories of its own
        draws = share.draws(rows)
        share.check(draws)
        # An order that no order of pieces changes.
        rows = rows.iloc[np.argsort(draws, kind="stable")].reset_index(drop=True)
        labels = np.asarray(rows[table.y])
        self._check_fit_rows(len(rows), sorted(set(labels.tolist()), key=str))
        weight = None
        if table.weight is not None:
            weight = check_weight(np.asarray(rows[table.weight], np.float64), len(rows))
        X = rows[list(table.features)]
        model = clone(self.model).fit(X, labels, **self.params(weight))
        return model, len(rows), X

    def _fitted_there(self, share: RowShare) -> tuple[Any, int]:
        """The model fitted on dask by its own means, and on how many rows."""
        table = self.table
        if not is_dask(self.frame):
            raise InputTypeError(
                f"`X`: {type(self.model).__name__} learns on dask and takes a dask DataFrame, as "
                f"dask.dataframe.read_parquet gives one, found {type(self.frame).__name__}"
            )
        counts = table.source.only(share, table.columns).count(GroupBy((Key(table.y),)))
        n_fit = int(counts.rows.sum())
        self._check_fit_rows(n_fit, counts.levels[0])
        # All copies of a row draw alike, so that a few of the rows show how many there are.
        few = replace(share, share=share.share * min(1.0, _LOOKED_AT / n_fit))
        parts = table.source.only(few, table.columns).frames(table.columns)
        share.check(np.concatenate([share.draws(part) for part in parts]))
        rows = self.frame.map_partitions(_rows_of, share, meta=self.frame._meta)
        weight = None if table.weight is None else rows[table.weight]
        return fitted_on_dask(self.model, rows[list(table.features)], rows[table.y], weight), n_fit

    def _check_fit_rows(self, n_rows: int, labels: Any) -> None:
        """Refuse rows for the model that lack a class, or leave no others."""
        if len(labels) < len(self.classes.labels):
            raise self._too_few(n_rows, labels)
        if n_rows >= self.n_rows:
            raise InputError(
                f"`rows_for_fit`: all {self.n_rows:,} rows were chosen for the model and none is "
                "left to find the rule on; give a smaller number"
            )

    def _too_few(self, n_rows: int, labels: Any) -> ValueError:
        have = f"hold {some(list(labels))} alone" if n_rows else "are none"
        return InputError(
            f"`rows_for_fit`: the {n_rows:,} rows that were chosen for the model {have}, y holds "
            f"{some(list(self.classes.labels))}; give a larger number, below {self.n_rows:,}"
        )

    # ------------------------------------------------------------------ the rule
    def _decision(self, model: Any, share: RowShare | None, said: str) -> CountedDecision:
        """The rule on the rows that the model has not seen."""
        table = self.table
        source = table.source
        scores = PieceScores(model, self.response, source.coded_texts)
        if share is not None:
            source = source.only(share.rest, table.columns)
        rows = FrameRows(
            source.with_scores(scores, table.score, table.features),
            table.y,
            table.score,
            table.weight,
            table.side,
            table.baseline,
        )
        classes = self.classes
        found = decide_counted(
            self.goal,
            {None: rows},
            self.options,
            within=0.0 if self.options.solver == "exact" else self.options.tol,
            classes=classes.sorted,
            pos_label=classes.labels[1],
            decide_on=self.decide_on,
            watch=self.watch,
        )
        report = found.report
        how = TextSection("How the model was fitted", [said.format(f"{report.counts.n_rows:,}")])
        folds = None if share is None else 1
        report = replace(
            report,
            search=replace(report.search, folds=folds),
            sections=(*report.sections, how),
        )
        return replace(found, report=report)


def _rows_of(frame: Any, share: RowShare) -> Any:
    """The rows of a pandas frame that are of a share."""
    return frame[share(frame)] if len(frame) else frame


def _as_stored(frame: Any, coded: tuple[str, ...]) -> Any:
    """A piece with text as text where the table has no categories."""
    found = [name for name in coded if name in frame.columns]
    kinds = {name: frame[name].dtype for name in found}
    return frame.astype({n: k.categories.dtype for n, k in kinds.items() if k == "category"})
