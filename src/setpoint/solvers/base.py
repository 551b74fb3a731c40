"""What a solver is: a value with its own parameters, and what the catalogue says of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from setpoint.errors import InputError
from setpoint.solvers.limits import SearchLimits
from setpoint.solvers.settings import Settings

__all__ = ["Solver"]


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
    setpoint.errors.InputError: `svm` is one of ['sdca', 'liblinear'], got 'libsvm'
    """

    name: ClassVar[str]
    """As users write it."""
    family: ClassVar[str]
    """A key of :data:`setpoint.solvers.FAMILIES`."""
    does: ClassVar[str]
    """How it reaches the goal, in a sentence."""
    takes: ClassVar[str]
    """What goals it takes."""
    bounds: ClassVar[str] = ""
    """What bounds, where not all."""
    limits: ClassVar[tuple[str, ...]] = ("seconds",)
    """What may end its search: fields of :class:`setpoint.SearchLimits`."""

    def limited(self, given: SearchLimits | None) -> SearchLimits:
        """The limits that it was given; None: none.

        Raises
        ------
        ValueError
            If it does not take one of them.

        Examples
        --------
        >>> from setpoint.solvers import EroAdam
        >>> EroAdam().limited(SearchLimits(calls=50))
        Traceback (most recent call last):
        ...
        setpoint.errors.InputError: `limits`: `solver='ero-adam'` takes seconds, got calls=50
        """
        out = SearchLimits.of(given)
        for name, value in out.given.items():
            if name not in self.limits:
                raise InputError(
                    f"`limits`: `solver={self.name!r}` takes {', '.join(self.limits)}, got "
                    f"{name}={value!r}"
                )
        return out
