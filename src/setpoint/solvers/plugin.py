"""Solvers that find a rule over the scores of a model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from setpoint.parameters import Number
from setpoint.solvers.base import Solver

__all__ = [
    "Argmax",
    "Auto",
    "Balanced",
    "Bisection",
    "ColumnGeneration",
    "Ellipsoid",
    "Exact",
    "FrankWolfe",
    "Gda",
    "PostShift",
]

_ANY = "any goal of the language"
_NAMED = "goals as in the paper, also with constraints"
_SEARCHED = ("tol", "calls", "seconds")


@dataclass(frozen=True, repr=False)
class Auto(Solver):
    """The solver that suits the goal: exact for two classes, else column generation."""

    name = "auto"
    family = "plugin"
    does = "takes 'exact' for two classes, 'column-generation' for more, 'post-shift' for metrics"
    takes = f"{_ANY}, and metrics without a formula"
    limits = (*_SEARCHED, "evaluations")


@dataclass(frozen=True, repr=False)
class Exact(Solver):
    """Every cut-off of one score, by sweeps and a linear program."""

    name = "exact"
    family = "plugin"
    does = "looks at every cut-off of one score"
    takes = f"{_ANY}, for two classes"
    limits = _SEARCHED


@dataclass(frozen=True, repr=False)
class ColumnGeneration(Solver):
    """A linear program over rules, which grows by the best answers to its multipliers.

    Parameters
    ----------
    oracle : classifier or None
        Trained anew at each call, with weights that say what each error costs just now; it
        has to take `sample_weight`. None: the rule over the posteriors that answers best.
    """

    name = "column-generation"
    family = "plugin"
    does = "grows a linear program over rules by an oracle's answers"
    takes = f"{_ANY}, for any number of classes"
    limits = _SEARCHED

    oracle: Any = None


@dataclass(frozen=True, repr=False)
class FrankWolfe(Solver):
    """Frank-Wolfe over the achievable confusion matrices."""

    name = "frank-wolfe"
    family = "plugin"
    does = "moves towards the best answer to the gradient"
    takes = _NAMED
    limits = _SEARCHED


@dataclass(frozen=True, repr=False)
class Gda(Solver):
    """Gradient descent and ascent."""

    name = "gda"
    family = "plugin"
    does = "descends in the rule and ascends in the multipliers"
    takes = _NAMED
    limits = _SEARCHED


@dataclass(frozen=True, repr=False)
class Ellipsoid(Solver):
    """The ellipsoid method on the multipliers."""

    name = "ellipsoid"
    family = "plugin"
    does = "halves an ellipsoid of multipliers"
    takes = _NAMED
    limits = _SEARCHED


@dataclass(frozen=True, repr=False)
class Bisection(Solver):
    """Bisection on the value of a ratio."""

    name = "bisection"
    family = "plugin"
    does = "bisects the value of a ratio"
    takes = _NAMED
    limits = _SEARCHED


@dataclass(frozen=True, repr=False)
class Argmax(Solver):
    """The class with the largest posterior: it does not look at the goal."""

    name = "argmax"
    family = "plugin"
    does = "predicts the class with the largest posterior, whatever the goal"
    takes = _ANY


@dataclass(frozen=True, repr=False)
class Balanced(Solver):
    """Posteriors divided by priors: it does not look at the goal."""

    name = "balanced"
    family = "plugin"
    does = "divides posteriors by priors, whatever the goal"
    takes = _ANY


@dataclass(frozen=True, repr=False)
class PostShift(Solver):
    """The metric is measured at each cut-off, smoothed, and the highest taken.

    Parameters
    ----------
    smooth : "auto", int or None
        Over how many cut-offs the metric is averaged. "auto": an eighth of the rows, at least
        5; a sixtieth above 3,000.
    """

    name = "post-shift"
    family = "plugin"
    does = "measures the metric at each cut-off"
    takes = "metrics without a formula, and goals without constraints, for two classes"
    limits = ("seconds", "evaluations")
    allowed: ClassVar = {
        "smooth": Number(
            "'auto', a whole number >= 1 or None", 1.0, integer=True, other=("auto", None)
        )
    }

    smooth: Any = "auto"
