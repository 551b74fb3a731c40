"""Solvers that train a model for a metric that is only measured."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from setpoint.parameters import Number
from setpoint.solvers.base import Solver

__all__ = ["AdaptiveSurrogates", "SurrogateWeights"]

_MEASURED = "any metric that can be measured, and goals of one table"
_INF = float("inf")
_SMOOTH = Number(
    "'auto', None or a whole number >= 1", 1.0, below=_INF, integer=True, other=("auto", None)
)


@dataclass(frozen=True, repr=False)
class AdaptiveSurrogates(Solver):
    """Gradients of the metric with respect to surrogate losses, followed by projections.

    Jiang, Adigun, Narasimhan, Milani Fard and Gupta, "Optimizing black-box metrics with
    adaptive surrogates".

    Parameters
    ----------
    gradient : {"interpolation", "finite-difference", "two-step"}
        Algorithm 3, which perturbs the parameters; Algorithm 2, which perturbs the scores so
        that the surrogates change as wanted, where surrogates and metric see the same rows
        and groups do not overlap; or that around perturbed points (section 5.3), for metrics
        with kinks.
    start : {"auto", "post-shift", "logistic", "zero"}
        Where the search begins; "auto": at each of them, the least promising given up on the
        way.
    max_iter : int
        Steps in all.
    step : float
        Length of a step in the surrogates' space; twice that at the beginning, half of it at
        the end.
    inner_iter : int
        Iterations of each projection. More follow the training rows closer than the metric's
        rows bear out.
    n_perturbations : "auto" or int
        Pairs of perturbed models of a gradient; "auto": 3 K, at least 10.
    sigma : "auto" or float
        Size of perturbations, in standard deviations of the scores (of the surrogates'
        values where these are perturbed); "auto": doubled until nine in ten differences are
        not zero.
    smooth : "auto", int or None
        Over how many cut-offs the metric is averaged before the best is taken. "auto": an eighth
        of the rows, at least 5; a sixtieth above 3,000.

    Examples
    --------
    >>> from setpoint import AdaptiveSurrogateClassifier
    >>> from setpoint.solvers import AdaptiveSurrogates
    >>> clf = AdaptiveSurrogateClassifier("g_mean", solver=AdaptiveSurrogates(max_iter=10))
    >>> clf.solver
    AdaptiveSurrogates(max_iter=10)
    """

    name = "adaptive-surrogates"
    family = "surrogates"
    does = "follows the metric's gradient in the space of surrogate losses"
    takes = _MEASURED
    limits = ("seconds", "evaluations")
    allowed: ClassVar = {
        "gradient": ("interpolation", "finite-difference", "two-step"),
        "start": ("auto", "post-shift", "logistic", "zero"),
        "max_iter": Number("a whole number >= 1", 1.0, below=_INF, integer=True),
        "step": Number("a number above 0", 0.0, False, below=_INF),
        "inner_iter": Number("a whole number >= 1", 1.0, below=_INF, integer=True),
        "n_perturbations": Number(
            "'auto' or a whole number >= 2", 2.0, integer=True, other=("auto",)
        ),
        "sigma": Number("'auto' or a number above 0", 0.0, False, other=("auto",)),
        "smooth": _SMOOTH,
    }

    gradient: str = "interpolation"
    start: str = "auto"
    max_iter: int = 40
    step: float = 0.1
    inner_iter: int = 5
    n_perturbations: Any = "auto"
    sigma: Any = "auto"
    smooth: Any = "auto"

    @property
    def on_parameters(self) -> bool:
        """Whether parameters are perturbed, not the scores of single rows."""
        return self.gradient == "interpolation"


@dataclass(frozen=True, repr=False)
class SurrogateWeights(Solver):
    """Nelder and Mead over the surrogates' weights.

    One evaluation trains a model, so that it takes a fifteenth as many as there are rows to
    judge: for metrics that cost.

    Parameters
    ----------
    start : {"auto", "post-shift", "logistic", "zero"}
        Where each training begins; "auto": at the baseline, "post-shift".
    inner_iter : int
        A tenth of the iterations of each training.
    smooth : "auto", int or None
        As of :class:`AdaptiveSurrogates`.

    Examples
    --------
    >>> from setpoint import AdaptiveSurrogateClassifier
    >>> from setpoint.solvers import SurrogateWeights
    >>> clf = AdaptiveSurrogateClassifier("g_mean", solver=SurrogateWeights(start="logistic"))
    >>> clf.solver
    SurrogateWeights(start='logistic')
    """

    name = "surrogate-weights"
    family = "surrogates"
    does = "searches over the surrogates' weights"
    takes = _MEASURED
    limits = ("seconds", "evaluations")
    allowed: ClassVar = {
        "start": ("auto", "post-shift", "logistic", "zero"),
        "inner_iter": Number("a whole number >= 1", 1.0, below=_INF, integer=True),
        "smooth": _SMOOTH,
    }

    start: str = "auto"
    inner_iter: int = 5
    smooth: Any = "auto"
