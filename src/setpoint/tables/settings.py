"""What is asked of a fit: solver and promise."""

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
    ModelResponse,
    SearchLimits,
    solvers_of,
)

if TYPE_CHECKING:
    from setpoint.tables.model import TableModel


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
    if randomized and (choice.family in ("penalty", "surrogates") or choice.measures):
        rule = "trains one model with one threshold" if choice.trains else "finds rules"
        raise InputError(
            f"`randomized`: `solver={solver}` {rule}, which decide{'s' * choice.trains} nothing by "
            "chance; leave it out"
        )
    if "surrogates" in given:
        for name in given["surrogates"]:
            if name not in SURROGATES:
                near = nearest(name, SURROGATES)
                raise InputError(f"`surrogates`: there is no {name!r} ({near})")
        given["surrogates"] = list(dict.fromkeys(given["surrogates"]))
    if choice.trains:
        if estimator is not None:
            model = "it is a linear one" if choice.family == "ramp" else "`module` says which model"
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
    seconds, evaluations = given.pop("max_seconds", None), given.pop("evaluations", None)
    apart = ("baseline_threshold", "validation", "surrogate_groups")
    taken = {name: value for name, value in given.items() if name not in apart}
    if "defer_label" in taken:
        taken["response"] = ModelResponse(defer_label=taken.pop("defer_label"))
    if (seconds, evaluations) != (None, None):
        taken["limits"] = SearchLimits(seconds=seconds, evaluations=evaluations)
    return SolverChoice(solver, None if choice.trains else choice.estimator, taken)


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


def _solvers(takes: Sequence[str]) -> list[str]:
    return [name for one in takes for name in (solvers_of(one) if one in FAMILIES else (one,))]


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
        largest_unit=given.get("largest_unit"),
    )
