"""A classifier of tables: what is asked for, what a fit finds, and what a model file holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from setpoint.tables.fitted import FittedModel
from setpoint.tables.table import TableColumn

if TYPE_CHECKING:
    from setpoint.report import GoalReport
    from setpoint.tables.about import RowCounts
    from setpoint.tables.fitting import SolverChoice
    from setpoint.tables.roles import ColumnRoles, TableRows


# --- A classifier of tables: what a model file of the shell holds ---------------------------------


_STORED = ("classifier", "target", "dataset_names", "notes", "judge_by", "profile", "held_out",
           "fitted_rows")  # fmt: skip


@dataclass(eq=False, repr=False, kw_only=True)
class TableModel(FittedModel):
    """A classifier of tables: it reads them, knows its columns, and is what a model file holds.

    Parameters
    ----------
    goal : str, Goal or BlackBox
        The goal, or a metric without a formula.
    target : str
        The column with the labels.
    pos_label : object, optional
        The positive class of two; else that of words such as no and yes.
    solver : str
        A name of `setpoint.solvers`; "auto" finds a rule for the scores of `estimator`.
    estimator : str, optional
        A learner of `setpoint.tables.LEARNERS`, a class by its path, or "auto", which chooses one
        under the goal.
    parameters : mapping, optional
        What else the classifier of the solver takes, by its name.
    sensitive, drop, decide_on : sequence of str
        Columns that the model is not shown, that nobody looks at, that the rule may look at.
    baseline : str, optional
        The column with what the deployed model says; its scores, with `baseline_threshold`.
    randomized : bool
        Whether the rule may decide by chance.
    test_size : float, optional
        The share of rows held out; .25, or 0 with `confidence`.
    test_by : str, optional
        All rows of a value of this column are on one side; of dates the last ones are held out.
    random_state : int
        The seed.
    surrogate_groups : sequence of str
        Columns, or COLUMN=VALUE, whose groups have surrogates of their own.
    confidence : float or Confidence, optional
        How confidently the constraints are to hold on new rows.
    judge_by : str or Goal, optional
        The goal that rows held out are judged by, where `goal` has a margin on top.

    Examples
    --------
    >>> from setpoint.tables import TableModel, tumours
    >>> goal = "maximize recall subject to precision >= 0.85"
    >>> model = TableModel(goal, target="diagnosis", pos_label="malignant").fit(tumours())
    >>> model.n_held_out, model.judged.verdict
    (143, 'too close to call')
    """

    goal: Any = field(kw_only=False)
    target: str
    pos_label: Any = None
    solver: str = "auto"
    estimator: str | None = None
    parameters: Mapping[str, Any] | None = None
    sensitive: Sequence[str] = ()
    drop: Sequence[str] = ()
    decide_on: Sequence[str] | None = None
    baseline: str | None = None
    baseline_threshold: float | None = None
    randomized: bool = False
    test_size: float | None = None
    test_by: str | None = None
    random_state: int = 0
    surrogate_groups: Sequence[str] = ()
    confidence: Any = None
    judge_by: Any = None

    # What was asked for, settled before a table is read.
    metric: Any = field(init=False, repr=False)
    promise: Any = field(init=False, repr=False)
    choice: SolverChoice = field(init=False, repr=False)
    share_held_out: float = field(init=False, repr=False, default=0.25)

    # What a file holds: these, `target`, and `judge_by` where it is not the goal of the report.
    classifier: Any = field(init=False, repr=False)
    columns: tuple[TableColumn, ...] = field(init=False, repr=False)
    dataset_names: tuple[str, ...] = field(init=False, repr=False, default=())
    notes: tuple[str, ...] = field(init=False, repr=False, default=())
    profile: Mapping[str, Sequence[Any]] = field(init=False, repr=False)
    held_out: GoalReport | None = field(init=False, repr=False, default=None)
    fitted_rows: int | None = field(init=False, repr=False, default=None)

    # What is known beside it of a fit.
    report: GoalReport = field(init=False, repr=False)
    classes: Mapping[str, int] = field(init=False, repr=False)
    roles: ColumnRoles = field(init=False, repr=False)
    about: Sequence[tuple[str, list[str]]] = field(init=False, repr=False)
    cautions: Sequence[str] = field(init=False, repr=False)
    datasets: Mapping[str, RowCounts] = field(init=False, repr=False)
    validation: RowCounts | None = field(init=False, repr=False)
    name: str = field(init=False, repr=False, default="")
    certify_on: str = field(init=False, repr=False)
    held: TableRows | None = field(init=False, repr=False)

    def __post_init__(self) -> None:
        for name in ("sensitive", "drop", "decide_on", "surrogate_groups"):
            value = getattr(self, name)
            if value is not None:
                setattr(self, name, (value,) if isinstance(value, str) else tuple(value))

    def __getstate__(self) -> dict[str, Any]:
        """Names and kinds apart: a file of thousands of small objects is slow to read."""
        state = {name: getattr(self, name) for name in _STORED}
        names, kinds = [c.name for c in self.columns], [c.kind for c in self.columns]
        return state | {"columns": {"names": names, "kinds": kinds}}

    def __setstate__(self, state: dict[str, Any]) -> None:
        columns = state["columns"]
        pairs = zip(columns["names"], columns["kinds"], strict=True)
        report = state["classifier"].goal_report_
        state |= {"columns": tuple(TableColumn(name, kind) for name, kind in pairs)}
        vars(self).update(state, goal=report.goal, report=report)

    def fit(self, table: Any, **tables: Any) -> TableModel:
        """Fit on a table, find the rule, and judge it on rows held out.

        Parameters
        ----------
        table : path, frame or Table
            CSV, Excel or Parquet, or a frame of pandas, Polars or PyArrow.
        **tables
            `datasets`, tables that the goal refers to by name; `validation`, the rows by which a
            metric is measured; `certify_on`, the rows that certify; `skip_unlabelled`, whether rows
            without a label are left out.

        Returns
        -------
        TableModel
            Itself, fitted.
        """
        from setpoint.tables.fitting import fit_tables, read_tables

        fit_tables(self, read_tables(self, table, **tables))
        return self

    @property
    def deployed(self) -> Any:
        """The deployed model as classifiers take it: a column, with a threshold of scores."""
        if self.baseline is None or self.baseline_threshold is None:
            return self.baseline
        from setpoint.inputs import Deployed

        return Deployed(self.baseline, self.baseline_threshold)

    @property
    def judged(self) -> GoalReport:
        """The report that decides: on the rows that certify, on those held out, or the other."""
        if self.held_out is None or self.guarantee is not None:
            return self.report
        return self.held_out

    @property
    def n_held_out(self) -> int:
        """Rows held out of the table."""
        return 0 if self.held is None else self.held.n_rows

    @property
    def candidates(self) -> list[dict[str, Any]]:
        """What a training tried, the best first; empty where it is one way."""
        return list(getattr(self.classifier, "candidates_", ()))
