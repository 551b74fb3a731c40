"""Settings as values: frozen, checked when they are made, and open to a search over parameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Self

from setpoint.parameters import Allowed, check

__all__ = ["Settings", "Solver"]


@dataclass(frozen=True)
class Settings:
    """Parameters that belong together.

    Raises
    ------
    ValueError
        If a parameter is not allowed; it names the parameter, what was found and what is.
    """

    allowed: ClassVar[Mapping[str, Allowed]] = {}
    """What each parameter may be."""

    def __post_init__(self) -> None:
        check(self, self.allowed)

    def __repr__(self) -> str:
        given = ((f, getattr(self, f.name)) for f in fields(self))
        changed = (f"{f.name}={v!r}" for f, v in given if v is not f.default and v != f.default)
        return f"{type(self).__name__}({', '.join(changed)})"

    def __sklearn_clone__(self) -> Self:
        return self  # it cannot be changed

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters by name, as scikit-learn asks for them."""
        return {f.name: getattr(self, f.name) for f in fields(self)}

    def with_params(self, **params: Any) -> Self:
        """The same with other parameters.

        Raises
        ------
        ValueError
            If there is no such parameter; it names those that there are.
        """
        known = [f.name for f in fields(self)]
        for name in params:
            if name not in known:
                takes = f"takes {', '.join(known)}" if known else "takes no parameters"
                raise ValueError(f"{type(self).__name__} {takes}, got {name!r}")
        return replace(self, **params)


@dataclass(frozen=True, repr=False)
class Solver(Settings):
    """One way to reach a goal, with the parameters that it alone takes.

    Wherever ``solver=`` is asked for, the name stands for the solver with its defaults:
    ``solver="ero-adam"`` is ``solver=EroAdam()``. A search over parameters reaches inside by
    ``solver__reformulation``.

    Examples
    --------
    >>> from setpoint.solvers import CuttingPlane
    >>> CuttingPlane(svm="liblinear")
    CuttingPlane(svm='liblinear')
    >>> CuttingPlane(svm="libsvm")
    Traceback (most recent call last):
    ...
    ValueError: svm is one of ['sdca', 'liblinear'], got 'libsvm'
    """

    name: ClassVar[str]
    """As users write it."""
    family: ClassVar[str]
    """A key of :data:`setpoint.solvers.FAMILIES`."""
    does: ClassVar[str]
    """How it reaches the goal, in a sentence."""
    takes: ClassVar[str]
    """What goals it takes."""
