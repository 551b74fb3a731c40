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

_EVIDENCE = ("auto", "label", "soft")
_ANY = "any goal of the language"
_NAMED = "goals as in the paper, also with constraints"


@dataclass(frozen=True, repr=False)
class Auto(Solver):
    """The solver that suits the goal: exact for two classes, else column generation."""

    name = "auto"
    family = "plugin"
    does = "takes 'exact' for two classes, 'column-generation' for more, 'post-shift' for metrics"
    takes = f"{_ANY}, and metrics without a formula"


@dataclass(frozen=True, repr=False)
class Exact(Solver):
    """Every cut-off of one score, by sweeps and a linear program."""

    name = "exact"
    family = "plugin"
    does = "looks at every cut-off of one score"
    takes = f"{_ANY}, for two classes"


@dataclass(frozen=True, repr=False)
class ColumnGeneration(Solver):
    """A linear program over rules, which grows by the best answers to its multipliers.

    Parameters
    ----------
    evidence : {"auto", "label", "soft"}
        Count decisions against labels, or against posteriors: then the gap is certified for
        any number of classes, if the posteriors are right. "auto": what does better in 3-fold
        cross-validation.
    oracle : classifier or None
        Takes weights, and is trained anew at each call; None: the rule over the posteriors
        that answers best.
    """

    name = "column-generation"
    family = "plugin"
    does = "grows a linear program over rules by an oracle's answers"
    takes = f"{_ANY}, for any number of classes"
    allowed: ClassVar = {"evidence": _EVIDENCE}

    evidence: str = "auto"
    oracle: Any = None


@dataclass(frozen=True, repr=False)
class _Named(Solver):
    """An algorithm of Narasimhan and others, by its name there.

    Parameters
    ----------
    evidence : {"auto", "label", "soft"}
        As of `ColumnGeneration`.
    """

    family = "plugin"
    takes = _NAMED
    allowed: ClassVar = {"evidence": _EVIDENCE}

    evidence: str = "auto"


@dataclass(frozen=True, repr=False)
class FrankWolfe(_Named):
    """Frank-Wolfe over the achievable confusion matrices."""

    name = "frank-wolfe"
    does = "moves towards the best answer to the gradient"


@dataclass(frozen=True, repr=False)
class Gda(_Named):
    """Gradient descent and ascent."""

    name = "gda"
    does = "descends in the rule and ascends in the multipliers"


@dataclass(frozen=True, repr=False)
class Ellipsoid(_Named):
    """The ellipsoid method on the multipliers."""

    name = "ellipsoid"
    does = "halves an ellipsoid of multipliers"


@dataclass(frozen=True, repr=False)
class Bisection(_Named):
    """Bisection on the value of a ratio."""

    name = "bisection"
    does = "bisects the value of a ratio"


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
    allowed: ClassVar = {
        "smooth": Number(
            "'auto', a whole number >= 1 or None", 1.0, integer=True, other=("auto", None)
        )
    }

    smooth: Any = "auto"
