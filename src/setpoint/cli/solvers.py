"""Solvers by name: the family that each belongs to, and what else is said with it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from setpoint.cli.errors import CommandError, require_packages

if TYPE_CHECKING:
    from setpoint.goals.goal import Goal

__all__ = ["FAMILIES", "MODULES", "SOLVERS", "Way", "check_goal", "way_of"]

# Names and no imports: help and completion have to be quick. A test compares with the families.
FAMILIES: dict[str, tuple[str, ...]] = {
    "plugin": (
        "auto",
        "exact",
        "column-generation",
        "frank-wolfe",
        "gda",
        "ellipsoid",
        "bisection",
        "argmax",
        "balanced",
    ),
    "penalty": (
        "portfolio",
        "ero",
        "ero-adam",
        "profiled",
        "sigmoid",
        "lagrangian",
        "cross-entropy",
    ),
    "ramp": ("augmented-lagrangian", "cutting-plane"),
}
"""The solvers of each family; no name is in two."""

SOLVERS = tuple(solver for solvers in FAMILIES.values() for solver in solvers)
MODULES = ("linear", "mlp")

_DOES = {
    "plugin": "finds a rule for the scores of --estimator",
    "penalty": "trains a model for goals over the rows as a whole",
    "ramp": "trains a linear model",
}


@dataclass(frozen=True)
class Way:
    """How the goal is to be reached.

    Parameters
    ----------
    solver : str
    family : str
        A key of `FAMILIES`.
    estimator : str or None
        The model that keeps its scores; None where a model is trained for the goal.
    module : str or None
        The model that is trained for the goal.
    checkpoint : str or None
    max_seconds : float or None
    min_positives : int or None
    validation_fraction : float or None
    inverse_regularization : float or None
        None for any of these: what the family chooses by itself.
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

    @property
    def trains(self) -> bool:
        """Whether the model is trained for the goal, not only its rule found."""
        return self.module is not None

    @property
    def model(self) -> str:
        """The model in a word."""
        return self.estimator or self.module or ""


def way_of(
    solver: str,
    *,
    estimator: str | None = None,
    module: str | None = None,
    checkpoint: str | None = None,
    max_seconds: float | None = None,
    min_positives: int | None = None,
    validation_fraction: float | None = None,
    inverse_regularization: float | None = None,
    baseline_threshold: float | None = None,
    draws: bool = False,
    decide_on: tuple[str, ...] = (),
) -> Way:
    """The way that options name, where they fit together.

    Parameters
    ----------
    solver : str
        One of `SOLVERS`.
    estimator, module, checkpoint : str, optional
        None: not given.
    max_seconds : float, optional
    min_positives : int, optional
    validation_fraction, inverse_regularization, baseline_threshold : float, optional
    draws : bool
    decide_on : tuple of str

    Raises
    ------
    CommandError
        If an option belongs to another family, or a package is missing.

    Examples
    --------
    >>> way_of("auto").model, way_of("ero").model, way_of("ero", module="linear").family
    ('logistic', 'linear', 'penalty')
    """
    family = next(name for name, solvers in FAMILIES.items() if solver in solvers)
    for option, value, takes in (
        ("--module", module, ("penalty",)),
        ("--checkpoint", checkpoint, ("penalty",)),
        ("--min-positives", min_positives, ("penalty", "ramp")),
        ("--validation-fraction", validation_fraction, ("penalty",)),
        ("--inverse-regularization", inverse_regularization, ("ramp",)),
        ("--baseline-threshold", baseline_threshold, ("ramp",)),
    ):
        if value is not None and family not in takes:
            solvers = ", ".join(name for one in takes for name in FAMILIES[one])
            raise CommandError(
                f"{option} is for solvers that train the model for the goal ({solvers}), and "
                f"--solver {solver} {_DOES[family]}; leave one of them out"
            )
    if family == "plugin":
        return Way(solver, family, estimator or "logistic", max_seconds=max_seconds)
    if estimator is not None:
        model = "--module says which model" if family == "penalty" else "it is a linear one"
        raise CommandError(
            f"--estimator is for solvers that find a rule for the scores of a model, and --solver "
            f"{solver} trains the model itself: leave out --estimator ({model}), or --solver"
        )
    if draws and family == "penalty":
        raise CommandError(
            f"--draws: --solver {solver} trains one model with one threshold, which decides "
            "nothing by chance; leave it out"
        )
    if decide_on and decide_on != ("none",):
        raise CommandError(
            f"--decide-on: the rule of --solver {solver} looks at the score alone; leave it out"
        )
    module = module or "linear"
    if module == "mlp":
        require_packages("--module mlp", "torch", "torch", "safetensors")
    if checkpoint is not None:
        require_packages("--checkpoint", "torch", "safetensors")
    return Way(
        solver, family, None, module, checkpoint, max_seconds, min_positives, validation_fraction,
        inverse_regularization,
    )  # fmt: skip


def check_goal(goal: Goal, way: Way) -> None:
    """Know before a table is read that a goal is not for this family.

    Raises
    ------
    GoalError
        If a model of the penalty family is to be trained for groups, data sets or the
        deployed model.
    """
    needs = goal.needs
    if way.family == "penalty" and (needs.names or needs.datasets or needs.baseline):
        from setpoint.penalty.tradeoff import Tradeoff

        Tradeoff(goal, 1.0, 1.0)  # it refuses what speaks of more than the rows as a whole
