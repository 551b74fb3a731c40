"""Solvers that train a model for goals over the rows as a whole."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from setpoint.parameters import Number
from setpoint.solvers.base import Solver

__all__ = [
    "CrossEntropy",
    "Ero",
    "EroAdam",
    "Lagrangian",
    "Portfolio",
    "Profiled",
    "Sigmoid",
]

_WHOLE = "goals that only gain by accepting positives and refusing negatives, over all rows"
_YES_NO = (False, True)


@dataclass(frozen=True, repr=False)
class CrossEntropy(Solver):
    """Cross-entropy alone: the model that knows no goal, at its best threshold.

    Parameters
    ----------
    balanced : bool
        Whether both classes weigh the same.
    """

    name = "cross-entropy"
    family = "penalty"
    does = "trains by cross-entropy and takes the best threshold"
    takes = _WHOLE
    allowed: ClassVar = {"balanced": _YES_NO}

    balanced: bool = False


@dataclass(frozen=True, repr=False)
class Ero(Solver):
    """The exact reformulation with its decisions s in closed form.

    Peng, Travadi, He, Cui and Sun, "Exact reformulation and optimization for direct metric
    optimization in binary imbalanced classification".

    Parameters
    ----------
    balanced : bool
        Whether both classes weigh the same in the cross-entropy that is the start.
    """

    name = "ero"
    family = "penalty"
    does = "minimises the exact penalty, its decisions in closed form"
    takes = _WHOLE
    allowed: ClassVar = {"balanced": _YES_NO}

    balanced: bool = False


@dataclass(frozen=True, repr=False)
class EroAdam(Solver):
    """The exact reformulation as printed: Algorithm 3.1, model and decisions by Adam.

    Parameters
    ----------
    reformulation : {"inequality", "equality"}
        (3.18) or (3.9).
    penalty_scale : {"paper", "code"}
        The penalty of (3.30), or that of the authors' code.
    logit_regularization : bool
        With or without (3.26).
    balanced : bool
        As of `Ero`.
    """

    name = "ero-adam"
    family = "penalty"
    does = "minimises the exact penalty by Adam, Algorithm 3.1 as printed"
    takes = _WHOLE
    allowed: ClassVar = {
        "reformulation": ("inequality", "equality"),
        "penalty_scale": ("paper", "code"),
        "logit_regularization": _YES_NO,
        "balanced": _YES_NO,
    }

    reformulation: str = "inequality"
    penalty_scale: str = "paper"
    logit_regularization: bool = True
    balanced: bool = False


@dataclass(frozen=True, repr=False)
class Profiled(Solver):
    """The best threshold at each step, and a narrowing band round it.

    Parameters
    ----------
    balanced : bool
        As of `Ero`.
    """

    name = "profiled"
    family = "penalty"
    does = "follows the best threshold with a narrowing band round it"
    takes = _WHOLE
    allowed: ClassVar = {"balanced": _YES_NO}

    balanced: bool = False


@dataclass(frozen=True, repr=False)
class Sigmoid(Solver):
    """Soft counts with an exact penalty; with F1 this is SigmoidF1.

    Parameters
    ----------
    temperature : float or None
        Of the sigmoid; None: 1 and 5.
    balanced : bool
        As of `Ero`.
    """

    name = "sigmoid"
    family = "penalty"
    does = "counts softly by sigmoids"
    takes = _WHOLE
    allowed: ClassVar = {
        "temperature": Number("a number above 0 or None", 0.0, False, other=(None,)),
        "balanced": _YES_NO,
    }

    temperature: float | None = None
    balanced: bool = False


@dataclass(frozen=True, repr=False)
class Lagrangian(Solver):
    """Surrogate rates for the model, true rates for the multipliers.

    Parameters
    ----------
    rates : {"hinge", "sigmoid"}
        For the model.
    balanced : bool
        As of `Ero`.
    """

    name = "lagrangian"
    family = "penalty"
    does = "plays surrogate rates against multipliers of the true ones"
    takes = _WHOLE
    allowed: ClassVar = {"rates": ("hinge", "sigmoid"), "balanced": _YES_NO}

    rates: str = "hinge"
    balanced: bool = False


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
    """

    name = "portfolio"
    family = "penalty"
    does = "runs all of the following and keeps the best"
    takes = _WHOLE
    allowed: ClassVar = {"polish": _YES_NO}

    members: tuple[Solver, ...] = _ALL
    polish: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        trained = (Ero, EroAdam, Profiled, Sigmoid, Lagrangian)
        if not self.members or not all(isinstance(one, trained) for one in self.members):
            raise ValueError(
                "members are solvers that train for the goal, such as Ero() and Profiled(), got "
                f"{self.members!r}"
            )
        if any(one.get_params()["balanced"] for one in self.members):
            raise ValueError("members: a portfolio begins with both cross-entropies, got balanced")
