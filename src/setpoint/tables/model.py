"""A classifier of tables: what is asked for, what a fit finds, and what a model file holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from setpoint.errors import InputError, nearest
from setpoint.goals import Goal, require_plain
from setpoint.packages import require_packages
from setpoint.solvers import (
    FAMILIES,
    MEASURING,
    SOLVERS,
    AugmentedLagrangian,
    Confidence,
    solvers_of,
)
from setpoint.tables.fitted import FittedModel
from setpoint.tables.table import TableColumn

if TYPE_CHECKING:
    from setpoint.report import GoalReport
    from setpoint.tables.about import RowCounts
    from setpoint.tables.roles import ColumnRoles, TableRows


# --- Solvers by name: the family that each belongs to ---------------------------------------------


AUTO = "auto"
"""The estimator that is chosen among several under the goal."""
DEFAULT = AUTO
"""Where nobody names one."""
MODULES = ("linear", "mlp")
SURROGATES = ("hinge", "logistic", "prbep", "quantile", "sigmoid")

_MEASURING = tuple(name for name in MEASURING if name != "auto")
_TAKEN_BY: dict[str, tuple[str, ...]] = {
    "module": ("penalty", "surrogates"),
    "checkpoint": ("penalty",),
    "min_positives": ("penalty", "ramp"),
    "validation_fraction": ("penalty",),
    "C": ("ramp",),
    "baseline_threshold": ("ramp",),
    "evaluations": _MEASURING,
    "surrogates": ("surrogates",),
    "surrogate_groups": ("surrogates",),
    "validation": ("surrogates",),
}
"""Families, or single solvers, that a setting is for."""


@dataclass(frozen=True)
class SolverChoice:
    """How the goal is to be reached."""

    solver: str = "auto"
    estimator: str | None = AUTO
    parameters: Mapping[str, Any] = field(default_factory=dict)

    @property
    def family(self) -> str:
        """The family of the solver."""
        return SOLVERS[self.solver].family

    @property
    def trains(self) -> bool:
        """Whether the model is trained for the goal, not only its rule found."""
        return self.family != "plugin"

    @property
    def measures(self) -> bool:
        """Whether a metric without a formula will do."""
        return self.solver in _MEASURING

    @property
    def module(self) -> str | None:
        """The model that is trained for the goal."""
        return self.parameters.get("module", "linear") if self.trains else None

    @property
    def model(self) -> str:
        """The model in a word."""
        return self.estimator or self.module or ""


def training_solver(goal: Goal, own_metric: bool) -> str:
    """The solver that trains a model for a goal, where nobody named one.

    Examples
    --------
    >>> from setpoint import Goal
    >>> training_solver(Goal.parse("maximize recall subject to precision >= 0.9"), False)
    'portfolio'
    >>> training_solver(Goal.parse("minimize error_rate subject to churn <= 0.1"), False)
    'augmented-lagrangian'
    """
    if own_metric:
        return "adaptive-surrogates"
    needs = goal.needs
    apart = needs.names or needs.datasets or needs.baseline
    return AugmentedLagrangian.name if apart else "portfolio"


def choose_solver(
    solver: str = "auto",
    *,
    own_metric: bool = False,
    estimator: str | None = None,
    randomized: bool = False,
    decide_on: Sequence[str] | None = None,
    **settings: Any,
) -> SolverChoice:
    """A solver with what is set for it, where that fits together.

    Examples
    --------
    >>> linear = choose_solver("ero", module="linear")
    >>> choose_solver("auto").model, choose_solver("ero").model, linear.family
    ('auto', 'linear', 'penalty')
    >>> choose_solver("auto", own_metric=True).solver
    'adaptive-surrogates'
    """
    if solver not in SOLVERS:
        raise InputError(f"`solver`: there is no {solver!r} ({nearest(solver, SOLVERS)})")
    if own_metric and solver == "auto":
        solver = "adaptive-surrogates" if estimator is None else "post-shift"
    family = SOLVERS[solver].family
    given = {name: value for name, value in settings.items() if value not in (None, ())}
    choice = SolverChoice(solver, estimator or ("logistic" if own_metric else DEFAULT))
    if own_metric and estimator == AUTO:
        raise InputError(
            "`estimator=auto` compares models by goals that are counted, and the metric has no "
            "formula: name a model"
        )
    if own_metric and not choice.measures:
        raise InputError(
            f"`solver={solver}` needs a goal with a formula; for a metric without one there are "
            f"{', '.join(_solvers(_MEASURING))}"
        )
    for name in filter(given.__contains__, _TAKEN_BY):
        _check_taken(name, choice)
    if randomized and (family in ("penalty", "surrogates") or choice.measures):
        rule = "finds rules" if family == "plugin" else "trains one model with one threshold"
        raise InputError(
            f"`randomized`: `solver={solver}` {rule}, which decide{'s' * (family != 'plugin')} "
            "nothing by chance; leave it out"
        )
    if "surrogates" in given:
        given["surrogates"] = _surrogates(given["surrogates"])
    if choice.trains:
        if estimator is not None:
            model = "it is a linear one" if family == "ramp" else "`module` says which model"
            raise InputError(
                "`estimator` is for solvers that find a rule for the scores of a model, and "
                f"`solver={solver}` trains the model itself: leave out `estimator` ({model}), or "
                "`solver`"
            )
        if decide_on:
            raise InputError(
                f"`decide_on`: the rule of `solver={solver}` looks at the score alone; leave it out"
            )
        if given.get("module") == "mlp":
            require_packages("`module=mlp`", "torch", "torch", "safetensors")
        if "checkpoint" in given:
            require_packages("`checkpoint`", "torch", "safetensors")
    elif "evaluations" in given and not own_metric:
        raise InputError(
            "`evaluations`: a goal with a formula is counted at every cut-off in one pass, so "
            "there is nothing to save; leave it out"
        )
    return SolverChoice(solver, None if choice.trains else choice.estimator, _parameters(given))


def check_goal(goal: Goal, choice: SolverChoice) -> None:
    """Know before a table is read that a goal is not for this solver."""
    needs = goal.needs
    if choice.trains:
        require_plain(goal, "a model is trained on decided rows that count once each; setpoint fit "
                            "takes such goals, after training")  # fmt: skip
    if "response" in choice.parameters and not goal.defers:
        raise InputError(
            "`defer_label` is what is written for a row that is deferred, and by the goal no rule "
            "defers any; leave it out"
        )
    if choice.family == "penalty" and (needs.names or needs.datasets or needs.baseline):
        from setpoint.penalty import Tradeoff

        Tradeoff(goal, 1.0, 1.0)  # it refuses what refers to more than the rows as a whole
    if choice.solver == "post-shift":
        from setpoint.plugin import Options

        Options(solver="post-shift").settled(goal)
    if choice.family == "surrogates" and needs.datasets:
        raise InputError(
            f"`solver={choice.solver}` takes {SOLVERS[choice.solver].takes}, and the goal refers "
            f"to the data set {needs.datasets[0]!r}; `solver={AugmentedLagrangian.name}` takes "
            f"{AugmentedLagrangian.takes}"
        )


def _check_taken(name: str, choice: SolverChoice) -> None:
    """Refuse a setting that is for other solvers."""
    takes = _TAKEN_BY[name]
    if choice.family in takes or choice.solver in takes:
        return
    what = "measure a metric" if takes == _MEASURING else "train the model for the goal"
    raise InputError(
        f"`{name}` is for solvers that {what} ({', '.join(_solvers(takes))}), and "
        f"`solver={choice.solver}` {SOLVERS[choice.solver].does}; leave one of them out"
    )


def _parameters(given: dict[str, Any]) -> dict[str, Any]:
    """What the classifier of the family takes of the settings."""
    from setpoint.solvers import ModelResponse, SearchLimits

    seconds, evaluations = given.pop("max_seconds", None), given.pop("evaluations", None)
    apart = ("baseline_threshold", "validation", "surrogate_groups")
    out = {name: value for name, value in given.items() if name not in apart}
    if "defer_label" in out:
        out["response"] = ModelResponse(defer_label=out.pop("defer_label"))
    if (seconds, evaluations) != (None, None):
        out["limits"] = SearchLimits(seconds=seconds, evaluations=evaluations)
    return out


def _solvers(takes: Sequence[str]) -> list[str]:
    return [name for one in takes for name in (solvers_of(one) if one in FAMILIES else (one,))]


def _surrogates(values: Sequence[str]) -> list[str]:
    """Names of losses, each once."""
    for name in values:
        if name not in SURROGATES:
            raise InputError(f"`surrogates`: there is no {name!r} ({nearest(name, SURROGATES)})")
    return list(dict.fromkeys(values))


# --- What is to hold on new rows, as it was asked for ---------------------------------------------


def promise_of(
    goal: Goal, model: TableModel, certify_on: Any, given: dict[str, Any]
) -> Confidence | None:
    """The promise as classifiers take it; None where there is to be none."""
    confidence = model.confidence
    if isinstance(confidence, Confidence):
        return confidence
    if confidence is not None and not goal.constraints:
        what = "a metric without a formula" if goal.is_blackbox else f"'{goal}'"
        raise InputError(
            f"`confidence` promises that constraints hold on new rows, and {what} has none: "
            "add one, such as 'subject to recall >= 0.9', or leave `confidence` out"
        )
    if confidence is None and all(c.confidence is None for c in goal.constraints):
        for argument, value in {"certify_on": certify_on, **given}.items():
            if value is not None and value is not False:
                raise InputError(
                    f"`{argument}`: there is nothing to certify; say how confidently with "
                    "`confidence=0.95`, or leave it out"
                )
        return None
    if model.judge_by is not None:
        raise InputError(
            "`judge_by` is for a margin that is put into `goal` by hand; with a confidence "
            "the bounds of `goal` are certified, and the margin is found: leave it out"
        )
    size = given.get("certification_size")
    if certify_on is not None and size is not None:
        raise InputError(
            "`certification_size` is a share of the table, and `certify_on` names the rows that "
            "certify; leave one of them out"
        )
    if certify_on is not None and goal.needs.datasets:
        raise InputError(
            "`certify_on` is one table, and the goal refers to the data set "
            f"{goal.needs.datasets[0]!r}; leave it out, and a part of each table certifies"
        )
    return Confidence(
        confidence,
        certification_size="auto" if size is None else size,
        on_uncertified="nearest" if given.get("uncertified") == "nearest" else "raise",
        strict=bool(given.get("strict")),
    )


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
