"""Solvers that train a model for goals over the rows as a whole."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from setpoint.errors import InputError
from setpoint.parameters import Allowed, Number
from setpoint.solvers.base import Solver

__all__ = [
    "CrossEntropy",
    "Ero",
    "EroAdam",
    "FromCrossEntropy",
    "Lagrangian",
    "Portfolio",
    "Profiled",
    "Sigmoid",
]

_WHOLE = (
    "goals over the rows as a whole that only gain by accepting a positive and by refusing a "
    "negative"
)
_YES_NO = (False, True)


@dataclass(frozen=True, repr=False)
class FromCrossEntropy(Solver):
    """What the solvers of this family share: each starts where cross-entropy ended.

    Parameters
    ----------
    balanced : bool
        Whether both classes weigh the same in that cross-entropy.

    Examples
    --------
    >>> from setpoint.solvers import FromCrossEntropy, Profiled
    >>> isinstance(Profiled(balanced=True), FromCrossEntropy)
    True
    """

    family = "penalty"
    takes = _WHOLE
    allowed: ClassVar[Mapping[str, Allowed]] = {"balanced": _YES_NO}

    balanced: bool = field(default=False, kw_only=True)


@dataclass(frozen=True, repr=False)
class CrossEntropy(FromCrossEntropy):
    """Cross-entropy alone: the model that knows no goal, at its best threshold.

    Examples
    --------
    >>> from setpoint import ExactPenaltyClassifier
    >>> from setpoint.solvers import CrossEntropy
    >>> clf = ExactPenaltyClassifier("g_mean", solver=CrossEntropy(balanced=True))
    >>> clf.solver
    CrossEntropy(balanced=True)
    """

    name = "cross-entropy"
    does = "trains by cross-entropy and takes the best threshold"


@dataclass(frozen=True, repr=False)
class Ero(FromCrossEntropy):
    """The exact reformulation with its decisions s in closed form.

    Peng, Travadi, He, Cui and Sun, "Exact reformulation and optimization for direct metric
    optimization in binary imbalanced classification".

    Examples
    --------
    >>> from setpoint import ExactPenaltyClassifier
    >>> from setpoint.solvers import Ero
    >>> clf = ExactPenaltyClassifier("maximize recall subject to precision >= 0.9", solver=Ero())
    >>> clf.solver
    Ero()
    """

    name = "ero"
    does = "minimises the exact penalty, its decisions in closed form"


@dataclass(frozen=True, repr=False)
class EroAdam(FromCrossEntropy):
    """The exact reformulation as printed: Algorithm 3.1, model and decisions by Adam.

    Parameters
    ----------
    reformulation : {"inequality", "equality"}
        (3.18) or (3.9).
    penalty_scale : {"paper", "code"}
        The penalty of (3.30), or that of the authors' code.
    logit_regularization : bool
        With or without (3.26).

    Examples
    --------
    >>> from setpoint import ExactPenaltyClassifier
    >>> from setpoint.solvers import EroAdam
    >>> clf = ExactPenaltyClassifier("g_mean", solver=EroAdam(reformulation="equality"))
    >>> clf.solver
    EroAdam(reformulation='equality')
    """

    name = "ero-adam"
    does = "minimises the exact penalty by Adam, Algorithm 3.1 as printed"
    allowed: ClassVar = {
        **FromCrossEntropy.allowed,
        "reformulation": ("inequality", "equality"),
        "penalty_scale": ("paper", "code"),
        "logit_regularization": _YES_NO,
    }

    reformulation: str = "inequality"
    penalty_scale: str = "paper"
    logit_regularization: bool = True


@dataclass(frozen=True, repr=False)
class Profiled(FromCrossEntropy):
    """The best threshold at each step, and a narrowing band round it.

    Examples
    --------
    >>> from setpoint import ExactPenaltyClassifier
    >>> from setpoint.solvers import Profiled
    >>> clf = ExactPenaltyClassifier("g_mean", solver=Profiled())
    >>> clf.solver
    Profiled()
    """

    name = "profiled"
    does = "follows the best threshold with a narrowing band round it"


@dataclass(frozen=True, repr=False)
class Sigmoid(FromCrossEntropy):
    """Soft counts with an exact penalty; with F1 this is SigmoidF1.

    Parameters
    ----------
    temperature : float or None
        Of the sigmoid; None: 1 and 5.

    Examples
    --------
    >>> from setpoint import ExactPenaltyClassifier
    >>> from setpoint.solvers import Sigmoid
    >>> clf = ExactPenaltyClassifier("g_mean", solver=Sigmoid(temperature=2.0))
    >>> clf.solver
    Sigmoid(temperature=2.0)
    """

    name = "sigmoid"
    does = "counts softly by sigmoids"
    allowed: ClassVar = {
        **FromCrossEntropy.allowed,
        "temperature": Number("a number above 0 or None", 0.0, False, other=(None,)),
    }

    temperature: float | None = None


@dataclass(frozen=True, repr=False)
class Lagrangian(FromCrossEntropy):
    """Surrogate rates for the model, true rates for the multipliers.

    Parameters
    ----------
    rates : {"hinge", "sigmoid"}
        For the model.

    Examples
    --------
    >>> from setpoint import ExactPenaltyClassifier
    >>> from setpoint.solvers import Lagrangian
    >>> clf = ExactPenaltyClassifier("g_mean", solver=Lagrangian(rates="sigmoid"))
    >>> clf.solver
    Lagrangian(rates='sigmoid')
    """

    name = "lagrangian"
    does = "plays surrogate rates against multipliers of the true ones"
    allowed: ClassVar = {**FromCrossEntropy.allowed, "rates": ("hinge", "sigmoid")}

    rates: str = "hinge"


_ALL = (Profiled(), Lagrangian(), Sigmoid(), Ero(), EroAdam())


@dataclass(frozen=True, repr=False)
class Portfolio(Solver):
    """Several solvers after both cross-entropies; the best iterate of all is kept.

    Parameters
    ----------
    members : tuple of solvers
        What is run, by default all solvers of this family.
    polish : bool
        In linear models with at most 40 features: a (1+1) evolution strategy on the goal,
        from the best candidates and random directions.

    Examples
    --------
    >>> from setpoint import ExactPenaltyClassifier
    >>> from setpoint.solvers import Ero, Portfolio, Profiled
    >>> clf = ExactPenaltyClassifier("g_mean", solver=Portfolio(members=(Ero(), Profiled())))
    >>> clf.solver
    Portfolio(members=(Ero(), Profiled()))
    """

    name = "portfolio"
    family = "penalty"
    does = "runs all the others and keeps the best"
    takes = _WHOLE
    allowed: ClassVar = {"polish": _YES_NO}

    members: tuple[FromCrossEntropy, ...] = _ALL
    polish: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        trained = (Ero, EroAdam, Profiled, Sigmoid, Lagrangian)
        if not self.members or not all(isinstance(one, trained) for one in self.members):
            raise InputError(
                "`members` are solvers that train for the goal, such as Ero() and Profiled(), got "
                f"{self.members!r}"
            )
        if any(one.balanced for one in self.members):
            raise InputError(
                "`members`: a portfolio begins with both cross-entropies, got balanced"
            )
