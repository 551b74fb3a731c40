"""Solvers by name: the family that each belongs to, and what else is said with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

from setpoint.cli.errors import CommandError, require_packages
from setpoint.goals.errors import nearest
from setpoint.solvers import FAMILIES, MEASURING, AugmentedLagrangian, SearchLimits, solvers_of
from setpoint.solvers import SOLVERS as CATALOGUE

if TYPE_CHECKING:
    from setpoint.goals.goal import Goal

__all__ = [
    "FAMILIES",
    "MODULES",
    "SOLVERS",
    "SURROGATES",
    "SolverChoice",
    "check_goal",
    "resolve_solver",
]

SOLVERS = tuple(CATALOGUE)
MODULES = ("linear", "mlp")
SURROGATES = ("hinge", "logistic", "prbep", "quantile", "sigmoid")

_MEASURING = tuple(name for name in MEASURING if name != "auto")
_TAKEN_BY: dict[str, tuple[str, ...]] = {
    "module": ("penalty", "surrogates"),
    "checkpoint": ("penalty", "surrogates"),
    "min_positives": ("penalty", "ramp"),
    "validation_fraction": ("penalty",),
    "inverse_regularization": ("ramp",),
    "baseline_threshold": ("ramp",),
    "budget": _MEASURING,
    "surrogates": ("surrogates",),
    "surrogate_group": ("surrogates",),
    "jobs": _MEASURING,
    "validation": ("surrogates",),
}
"""Families, or single solvers, that an option is for."""


@dataclass(frozen=True)
class SolverChoice:
    """How the goal is to be reached.

    Parameters
    ----------
    family : str
        A key of `FAMILIES`.
    estimator : str or None
        The model that keeps its scores; None where a model is trained for the goal.
    module : str or None
        The model that is trained for the goal.
    budget, jobs : int or None
        None for any of these: what the family chooses by itself.
    surrogates : tuple of str
        Empty: likewise.
    """

    solver: str = "auto"
    family: str = "plugin"
    estimator: str | None = "logistic"
    module: str | None = None
    checkpoint: str | None = None
    max_seconds: float | None = None
    min_positives: int | None = None
    validation_fraction: float | None = None
    inverse_regularization: float | None = None
    budget: int | None = None
    jobs: int | None = None
    surrogates: tuple[str, ...] = ()

    @property
    def trains(self) -> bool:
        """Whether the model is trained for the goal, not only its rule found."""
        return self.module is not None

    @property
    def measures(self) -> bool:
        """Whether a metric without a formula will do."""
        return self.solver in _MEASURING

    @property
    def limits(self) -> SearchLimits:
        """What may end the search."""
        return SearchLimits(seconds=self.max_seconds, evaluations=self.budget)

    @property
    def model(self) -> str:
        """The model in a word."""
        return self.estimator or self.module or ""


def resolve_solver(
    solver: str,
    *,
    own_metric: bool = False,
    estimator: str | None = None,
    draws: bool = False,
    decide_on: tuple[str, ...] = (),
    **options: Any,
) -> SolverChoice:
    """The way that options name, where they fit together.

    Parameters
    ----------
    solver : str
        One of `SOLVERS`.
    own_metric : bool
        Whether the goal is a metric without a formula.
    estimator : str, optional
        None: not given.
    **options
        What else was said: fields of SolverChoice, and whatever some solvers do not take. None or
        empty: not given.

    Raises
    ------
    CommandError
        If an option belongs to other solvers, or a package is missing.

    Examples
    --------
    >>> linear = resolve_solver("ero", module="linear")
    >>> resolve_solver("auto").model, resolve_solver("ero").model, linear.family
    ('logistic', 'linear', 'penalty')
    >>> resolve_solver("auto", own_metric=True).solver
    'adaptive-surrogates'
    >>> resolve_solver("auto", own_metric=True, estimator="random-forest").solver
    'post-shift'
    """
    if own_metric and solver == "auto":
        solver = "adaptive-surrogates" if estimator is None else "post-shift"
    family = CATALOGUE[solver].family
    given = {name: value for name, value in options.items() if value not in (None, ())}
    way = SolverChoice(solver, family, estimator or "logistic")
    if own_metric and not way.measures:
        raise CommandError(
            f"--solver {solver} needs a goal with a formula; for --metric there are "
            f"{', '.join(_solvers(_MEASURING))}"
        )
    for name in filter(given.__contains__, _TAKEN_BY):
        _check_taken(name, way)
    if draws and (family in ("penalty", "surrogates") or way.measures):
        rule = "finds rules" if family == "plugin" else "trains one model with one threshold"
        raise CommandError(
            f"--draws: --solver {solver} {rule}, which decide{'s' * (family != 'plugin')} nothing "
            "by chance; leave it out"
        )
    given["surrogates"] = _surrogates(options.get("surrogates") or ())
    if family != "plugin":
        if estimator is not None:
            model = "it is a linear one" if family == "ramp" else "--module says which model"
            raise CommandError(
                "--estimator is for solvers that find a rule for the scores of a model, and "
                f"--solver {solver} trains the model itself: leave out --estimator ({model}), or "
                "--solver"
            )
        if decide_on and decide_on != ("none",):
            raise CommandError(
                f"--decide-on: the rule of --solver {solver} looks at the score alone; leave it out"
            )
        given.setdefault("module", "linear")
        way = replace(way, estimator=None)
        if given["module"] == "mlp":
            require_packages("--module mlp", "torch", "torch", "safetensors")
        if family == "penalty" and "checkpoint" in given:
            require_packages("--checkpoint", "torch", "safetensors")
    elif "budget" in given and not own_metric:
        raise CommandError(
            "--budget: a goal with a formula is counted at every cut-off in one pass, so there is "
            "nothing to save; leave it out"
        )
    return replace(way, **{f.name: given[f.name] for f in fields(SolverChoice) if f.name in given})


def check_goal(goal: Goal, way: SolverChoice) -> None:
    """Know before a table is read that a goal is not for this solver.

    Raises
    ------
    GoalError
        If a model of the penalty family is to be trained for groups, data sets or the
        deployed model, or post-shift is to meet constraints.
    CommandError
        If a search that measures is to look at further data sets.
    """
    needs = goal.needs
    if way.family == "penalty" and (needs.names or needs.datasets or needs.baseline):
        from setpoint.penalty.problem import Tradeoff

        Tradeoff(goal, 1.0, 1.0)  # it refuses what refers to more than the rows as a whole
    if way.solver == "post-shift":
        from setpoint.plugin.parameters import Options

        Options(solver="post-shift").settled(goal)
    if way.family == "surrogates" and needs.datasets:
        raise CommandError(
            f"--solver {way.solver} takes {CATALOGUE[way.solver].takes}, and the goal refers to "
            f"the data set {needs.datasets[0]!r}; --solver {AugmentedLagrangian.name} takes "
            f"{AugmentedLagrangian.takes}"
        )


def _check_taken(name: str, way: SolverChoice) -> None:
    """Refuse an option that is for other solvers."""
    takes = _TAKEN_BY[name]
    if way.family in takes or way.solver in takes:
        return
    option = f"--{name.replace('_', '-')}"
    what = "measure a metric" if takes == _MEASURING else "train the model for the goal"
    raise CommandError(
        f"{option} is for solvers that {what} ({', '.join(_solvers(takes))}), and --solver "
        f"{way.solver} {CATALOGUE[way.solver].does}; leave one of them out"
    )


def _solvers(takes: Sequence[str]) -> list[str]:
    return [name for one in takes for name in (solvers_of(one) if one in FAMILIES else (one,))]


def _surrogates(values: Sequence[str]) -> tuple[str, ...]:
    """Names with commas, or the option repeated."""
    names = [name.strip() for value in values for name in value.split(",")]
    for name in names:
        if name not in SURROGATES:
            raise CommandError(f"--surrogates: there is no {name!r} ({nearest(name, SURROGATES)})")
    return tuple(dict.fromkeys(names))
