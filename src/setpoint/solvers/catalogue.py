"""All solvers by name: what help, documentation and error messages are written from."""

from __future__ import annotations

from typing import Any

from setpoint.errors import InputError
from setpoint.solvers import named
from setpoint.solvers.settings import Solver

FAMILIES = {
    "plugin": "PlugInClassifier",
    "penalty": "ExactPenaltyClassifier",
    "ramp": "RampClassifier",
    "surrogates": "AdaptiveSurrogateClassifier",
}
"""The classifier of each family."""

_ALL: tuple[type[Solver], ...] = (
    named.Auto,
    named.Exact,
    named.ColumnGeneration,
    named.FrankWolfe,
    named.Gda,
    named.Ellipsoid,
    named.Bisection,
    named.Argmax,
    named.Balanced,
    named.PostShift,
    named.Portfolio,
    named.Ero,
    named.EroAdam,
    named.Profiled,
    named.Sigmoid,
    named.Lagrangian,
    named.CrossEntropy,
    named.AugmentedLagrangian,
    named.CuttingPlane,
    named.AdaptiveSurrogates,
    named.SurrogateWeights,
)
SOLVERS = {solver.name: solver for solver in _ALL}
"""The class of each solver; no name is in two families."""
MEASURING = tuple(sorted(name for name in SOLVERS if "evaluations" in SOLVERS[name].limits))
"""Those that take a metric without a formula: its evaluations can be limited."""
WITHOUT_FORMULA = "; ".join(
    f"{classifier} takes such metrics by "
    + " and ".join(repr(n) for n in MEASURING if SOLVERS[n].family == family)
    for family, classifier in FAMILIES.items()
    if any(SOLVERS[n].family == family for n in MEASURING)
)
"""Who takes a metric without a formula, for messages."""


def solvers_of(family: str) -> tuple[str, ...]:
    """The names of a family's solvers.

    Examples
    --------
    >>> solvers_of("ramp")
    ('augmented-lagrangian', 'cutting-plane')
    """
    return tuple(name for name, solver in SOLVERS.items() if solver.family == family)


def takes(name: str, bounds: bool = False, asked: bool = False) -> str:
    """What goals a solver takes, or what bounds, for messages; `asked` if it was asked for.

    Examples
    --------
    >>> takes("bisection"), takes("bisection", bounds=True)
    ("'bisection' takes ratios of linear functions", \
"'bisection' takes bounds that are convex or linear rows")
    >>> takes("bisection", asked=True)
    "`solver='bisection'` takes ratios of linear functions"
    """
    solver = SOLVERS[name]
    who = f"`solver={name!r}`" if asked else repr(name)
    return f"{who} takes {solver.bounds if bounds else solver.takes}"


def solver_of(given: Any, family: str) -> Solver:
    """The solver that the argument ``solver`` means.

    Parameters
    ----------
    given : str or Solver
        A name stands for the solver with its defaults.
    family : str
        Whose solvers may be meant.

    Raises
    ------
    ValueError
        If it is not a solver of the family; the message names them, and whose it is.

    Examples
    --------
    >>> solver_of("ero-adam", "penalty")
    EroAdam()
    >>> solver_of("ero-adam", "ramp")
    Traceback (most recent call last):
    ...
    setpoint.errors.InputError: `solver` is one of ['augmented-lagrangian', 'cutting-plane'], \
got 'ero-adam', which ExactPenaltyClassifier takes
    """
    if isinstance(given, Solver):
        found: type[Solver] | None = type(given)
    else:
        found = SOLVERS.get(given) if isinstance(given, str) else None
    if found is None or found.family != family:
        whose = "" if found is None else f", which {FAMILIES[found.family]} takes"
        raise InputError(f"`solver` is one of {list(solvers_of(family))}, got {given!r}{whose}")
    return given if isinstance(given, Solver) else found()
