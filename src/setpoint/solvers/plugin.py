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
    "OverPosteriors",
    "PostShift",
]

_ANY = "every shape that can be solved"
_CONCAVE = "scores that are concave (or losses that are convex)"
_BOUNDS = "bounds that are convex or linear rows"
_SEARCHED = ("tol", "calls", "seconds")


@dataclass(frozen=True, repr=False)
class OverPosteriors(Solver):
    """What the solvers share that seek rules over posteriors.

    Examples
    --------
    >>> from setpoint.solvers import FrankWolfe, OverPosteriors
    >>> isinstance(FrankWolfe(), OverPosteriors), OverPosteriors.limits
    (True, ('tol', 'calls', 'seconds'))
    """

    family = "plugin"
    limits: ClassVar[tuple[str, ...]] = _SEARCHED


@dataclass(frozen=True, repr=False)
class Auto(OverPosteriors):
    """The solver that suits the goal: exact for two classes, else column generation.

    Examples
    --------
    >>> from setpoint import solve
    >>> from setpoint.solvers import Auto
    >>> scores, y = [0.1, 0.4, 0.35, 0.8, 0.7, 0.9], [0, 0, 1, 1, 0, 1]
    >>> solve("f1", scores, y, solver=Auto()).report.search.solver
    'exact'
    """

    name = "auto"
    does = "takes 'exact' for two classes, 'column-generation' for more, 'post-shift' for metrics"
    takes = _ANY
    limits = (*_SEARCHED, "evaluations")


@dataclass(frozen=True, repr=False)
class Exact(Solver):
    """Every cut-off of one score, by sweeps and a linear program.

    Examples
    --------
    >>> from setpoint import solve
    >>> from setpoint.solvers import Exact
    >>> scores, y = [0.1, 0.4, 0.35, 0.8, 0.7, 0.9], [0, 0, 1, 1, 0, 1]
    >>> solve("f1", scores, y, solver=Exact()).rule
    Threshold(threshold=0.75, width=0.0)
    """

    name = "exact"
    family = "plugin"
    does = "looks at every cut-off of one score"
    takes = f"{_ANY}, for two classes"
    limits = _SEARCHED


@dataclass(frozen=True, repr=False)
class ColumnGeneration(OverPosteriors):
    """A linear program over rules, which grows by the best answers to its multipliers.

    Parameters
    ----------
    oracle : classifier or None
        Trained anew at each call, with weights that say what each error costs just now; it
        has to take `sample_weight`. None: the rule over the posteriors that answers best.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from setpoint import PlugInClassifier
    >>> from setpoint.solvers import ColumnGeneration
    >>> model = LogisticRegression()
    >>> clf = PlugInClassifier(model, "h_mean", solver=ColumnGeneration(oracle=model))
    >>> clf.solver
    ColumnGeneration(oracle=LogisticRegression())
    """

    name = "column-generation"
    does = "grows a linear program over rules by an oracle's answers"
    takes = f"{_ANY}, for any number of classes"

    oracle: Any = None


@dataclass(frozen=True, repr=False)
class FrankWolfe(OverPosteriors):
    """Frank-Wolfe over the achievable confusion matrices.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from setpoint import PlugInClassifier, SearchLimits
    >>> from setpoint.solvers import FrankWolfe
    >>> limits = SearchLimits(calls=50)
    >>> clf = PlugInClassifier(LogisticRegression(), "h_mean", solver=FrankWolfe(), limits=limits)
    >>> clf.solver, clf.limits
    (FrankWolfe(), SearchLimits(calls=50))
    """

    name = "frank-wolfe"
    does = "moves towards the best answer to the gradient"
    takes = f"smooth {_CONCAVE}"
    bounds = _BOUNDS


@dataclass(frozen=True, repr=False)
class Gda(OverPosteriors):
    """Gradient descent and ascent.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from setpoint import PlugInClassifier
    >>> from setpoint.solvers import Gda
    >>> clf = PlugInClassifier(LogisticRegression(), "h_mean", solver=Gda())
    >>> clf.solver
    Gda()
    """

    name = "gda"
    does = "descends in the rule and ascends in the multipliers"
    takes = _CONCAVE
    bounds = _BOUNDS


@dataclass(frozen=True, repr=False)
class Ellipsoid(OverPosteriors):
    """The ellipsoid method on the multipliers.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from setpoint import PlugInClassifier
    >>> from setpoint.solvers import Ellipsoid
    >>> clf = PlugInClassifier(LogisticRegression(), "h_mean", solver=Ellipsoid())
    >>> clf.solver
    Ellipsoid()
    """

    name = "ellipsoid"
    does = "halves an ellipsoid of multipliers"
    takes = _CONCAVE
    bounds = _BOUNDS


@dataclass(frozen=True, repr=False)
class Bisection(OverPosteriors):
    """Bisection on the value of a ratio.

    Examples
    --------
    >>> from setpoint import solve
    >>> from setpoint.solvers import Bisection
    >>> posteriors = [[0.7, 0.2, 0.1], [0.2, 0.5, 0.3], [0.1, 0.2, 0.7]]
    >>> solve("accuracy", posteriors, ["a", "b", "c"], solver=Bisection()).report.objective.value
    1.0
    """

    name = "bisection"
    does = "bisects the value of a ratio"
    takes = "ratios of linear functions"
    bounds = _BOUNDS


@dataclass(frozen=True, repr=False)
class Argmax(Solver):
    """The class with the largest posterior: it does not look at the goal.

    Examples
    --------
    >>> from setpoint import solve
    >>> from setpoint.solvers import Argmax
    >>> posteriors = [[0.7, 0.2, 0.1], [0.2, 0.5, 0.3], [0.1, 0.2, 0.7]]
    >>> solve("accuracy", posteriors, ["a", "b", "c"], solver=Argmax()).rule
    Argmax.weighted((1.0, 1.0, 1.0))
    """

    name = "argmax"
    family = "plugin"
    does = "predicts the class with the largest posterior, whatever the goal"
    takes = _ANY


@dataclass(frozen=True, repr=False)
class Balanced(Solver):
    """Posteriors divided by priors: it does not look at the goal.

    Examples
    --------
    >>> from setpoint import solve
    >>> from setpoint.solvers import Balanced
    >>> posteriors = [[0.6, 0.3, 0.1], [0.5, 0.3, 0.2], [0.2, 0.5, 0.3], [0.1, 0.2, 0.7]]
    >>> solve("accuracy", posteriors, ["a", "a", "b", "c"], solver=Balanced()).rule
    Argmax.weighted((2.0, 4.0, 4.0))
    """

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

    Examples
    --------
    >>> from setpoint import solve
    >>> from setpoint.solvers import PostShift
    >>> scores, y = [0.1, 0.4, 0.35, 0.8, 0.7, 0.9], [0, 0, 1, 1, 0, 1]
    >>> solve("f1", scores, y, solver=PostShift(smooth=None)).rule
    Threshold(threshold=0.75, width=0.0)
    """

    name = "post-shift"
    family = "plugin"
    does = "measures the metric at each cut-off"
    takes = "goals without constraints and metrics without a formula, for two classes"
    limits = ("seconds", "evaluations")
    allowed: ClassVar = {
        "smooth": Number(
            "'auto', a whole number >= 1 or None", 1.0, integer=True, other=("auto", None)
        )
    }

    smooth: Any = "auto"
