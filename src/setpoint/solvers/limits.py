"""When a search ends, as a value."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar

from setpoint.parameters import SECONDS, Number
from setpoint.solvers.settings import Settings

__all__ = ["SearchLimits"]

_COUNT = Number("a whole number >= 1 or None", 1.0, integer=True, other=(None,))


@dataclass(frozen=True, repr=False)
class SearchLimits(Settings):
    """When a search ends, at the latest: ``limits=SearchLimits(seconds=60)``.

    Whichever limit comes first ends it, and so does Ctrl-C: the best found so far is kept, with
    a warning. A search over parameters reaches inside by ``limits__seconds``. None is what the
    classifier does by itself; a limit that its solver does not take is an error.

    Parameters
    ----------
    tol : float, optional
        How far from the best a search may end; each family says in what.
    calls : int, optional
        Oracle calls, of all searches together; with thresholds of several segments, boxes.
    seconds : float, optional
        On one clock from the beginning of all searches.
    evaluations : int, optional
        Of a metric without a formula, at different decisions.

    Examples
    --------
    >>> from setpoint import SearchLimits
    >>> SearchLimits(seconds=60, calls=500)
    SearchLimits(calls=500, seconds=60)
    >>> SearchLimits(seconds=0)
    Traceback (most recent call last):
    ...
    setpoint.errors.InputError: `seconds` is a number above 0 or None, got 0
    """

    allowed: ClassVar = {
        "tol": Number("a number >= 0 or None", 0.0, other=(None,)),
        "calls": _COUNT,
        "seconds": SECONDS,
        "evaluations": _COUNT,
    }

    tol: float | None = None
    calls: int | None = None
    seconds: float | None = None
    evaluations: int | None = None

    @property
    def given(self) -> dict[str, Any]:
        """Those that are set."""
        found = {f.name: getattr(self, f.name) for f in fields(self)}
        return {name: value for name, value in found.items() if value is not None}

    def filled(self, defaults: SearchLimits) -> SearchLimits:
        """With other limits where these are not set.

        Examples
        --------
        >>> SearchLimits(seconds=5).filled(SearchLimits(tol=0.1, seconds=60))
        SearchLimits(tol=0.1, seconds=5)
        """
        return replace(defaults, **self.given)
