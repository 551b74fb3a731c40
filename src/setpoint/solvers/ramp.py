"""Solvers of linear models whose rates are bounded on several data sets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from setpoint.solvers.base import Solver

__all__ = ["AugmentedLagrangian", "CuttingPlane"]


@dataclass(frozen=True, repr=False)
class AugmentedLagrangian(Solver):
    """Descent on the ramp problem itself, its constraints in an augmented Lagrangian.

    Examples
    --------
    >>> from setpoint import RampClassifier
    >>> from setpoint.solvers import AugmentedLagrangian
    >>> goal = "maximize recall subject to predicted_rate <= 0.1"
    >>> clf = RampClassifier(goal, solver=AugmentedLagrangian())
    >>> clf.solver
    AugmentedLagrangian()
    """

    name = "augmented-lagrangian"
    family = "ramp"
    does = "descends on the ramp problem itself"
    takes = "rates on rows, groups and data sets, and against the deployed model"
    limits = ("tol", "seconds")


@dataclass(frozen=True, repr=False)
class CuttingPlane(Solver):
    """Majorisation-minimisation, each convex problem by cutting planes in the multipliers.

    Algorithms 1 and 2 of Goh, Cotter, Gupta and Friedlander, "Satisfying real-world goals with
    dataset constraints". As good as descent on objectives that are linear in rates, and slower.

    Parameters
    ----------
    chooser : {"max", "center"}
        The next cut is made at the highest point that the cuts so far leave, or at the centre
        of mass of what they leave.
    svm : {"sdca", "liblinear"}
        What solves the inner problem.

    Examples
    --------
    >>> from setpoint import RampClassifier
    >>> from setpoint.solvers import CuttingPlane
    >>> goal = "maximize recall subject to predicted_rate <= 0.1"
    >>> clf = RampClassifier(goal, solver=CuttingPlane(svm="liblinear"))
    >>> clf.solver
    CuttingPlane(svm='liblinear')
    """

    name = "cutting-plane"
    family = "ramp"
    does = "majorises the ramp and cuts planes in the multipliers (the paper's Algorithms 1 and 2)"
    takes = f"objectives that are sums of {AugmentedLagrangian.takes}"
    limits = AugmentedLagrangian.limits
    allowed: ClassVar = {"chooser": ("max", "center"), "svm": ("sdca", "liblinear")}

    chooser: str = "max"
    svm: str = "sdca"
