"""What is promised on new rows, as a value."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from setpoint.errors import InputError
from setpoint.parameters import Number, is_number
from setpoint.solvers.settings import Settings

__all__ = ["Confidence"]

LEVEL = Number("a number above 0 and below 1, or None", 0.0, False, 1.0, other=(None,))


@dataclass(frozen=True, repr=False)
class Confidence(Settings):
    """That all constraints are to hold on new rows, and how this is shown.

    A number by itself, ``confidence=0.95``, is the confidence with the defaults. A search over
    parameters reaches inside by ``confidence__level``. Rows with a `sample_weight` are refused:
    how much a row may ever weigh is not known from those seen. A bound over groups is promised
    for the groups that were there, which the certificate names.

    Parameters
    ----------
    level : float or None
        Of all draws of the data, at most a share of ``1 - level`` gives a rule that is called
        certified and breaks a constraint on new rows. A constraint with a confidence of its own
        keeps that; None: only such constraints are promised.
    certification_size : "auto" or float
        The share of the rows of ``fit`` that certify and take no part in anything else. "auto":
        0.3, or up to 0.5 where fewer rows could not pass.
    guarantee : {"certified", "approximate"}
        "approximate": no rows are kept apart. Rules are tried on cross-validated scores, and the
        model is fitted on all rows afterwards, so that nothing is certified.
    on_uncertified : {"raise", "nearest"}
        "nearest": the safest rule, with a report that says that nothing is certified.
    strict : bool
        Use only tests that are proved; costs more of the objective.
    for_next : int or None
        Promise the next rows in place of the population: so many rows that each constraint
        refers to, such as positives for recall. For a single threshold and constraints that
        only loosen as it moves one way.
    attempt : int
        How often rules were tried on the same rows, this time included. Later tries are tested
        at a stricter level. A classifier counts its own.
    ranges : dict of str to (float, float), optional
        The smallest and the largest value that a column of numbers could have, for constraints
        that count rows by it, as ``recall.weighted(amount) >= 0.6`` and ``profit(...) >= 2`` do:
        ``{"amount": (0, 5000)}``. It is a fact about the column, such as the limit of a card, and
        not the range of the rows there are. The wider it is, the more rows it takes.

    Examples
    --------
    >>> Confidence(0.9, strict=True)
    Confidence(level=0.9, strict=True)
    >>> Confidence(95)
    Traceback (most recent call last):
    ...
    setpoint.errors.InputError: `level` is a number above 0 and below 1, or None, got 95
    """

    allowed: ClassVar = {
        "level": LEVEL,
        "certification_size": Number(
            "'auto' or a share above 0 and below 1", 0.0, False, 1.0, other=("auto",)
        ),
        "guarantee": ("certified", "approximate"),
        "on_uncertified": ("raise", "nearest"),
        "strict": (False, True),
        "for_next": Number("a whole number >= 1 or None", 1.0, integer=True, other=(None,)),
        "attempt": Number("a whole number >= 1", 1.0, integer=True),
    }

    always: ClassVar = ("level",)

    level: float | None = 0.95
    certification_size: Any = "auto"
    guarantee: str = "certified"
    on_uncertified: str = "raise"
    strict: bool = False
    for_next: int | None = None
    attempt: int = 1
    ranges: Any = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.ranges is not None:
            object.__setattr__(self, "ranges", _ranges_of(self.ranges))

    @classmethod
    def of(cls, given: Any) -> Self:
        """The value itself; a number: the confidence; None: of single constraints alone.

        Raises
        ------
        ValueError
            If `given` is not a confidence.
        """
        if isinstance(given, cls):
            return given
        if not LEVEL.takes(given):
            raise InputError(
                "`confidence` is a number above 0 and below 1, Confidence(...) or None, got "
                f"{given!r}"
            )
        return cls(given)


def _ranges_of(given: Any) -> dict[str, tuple[float, float]]:
    """Ranges of columns by name, as floats."""
    if not isinstance(given, Mapping):
        raise InputError(
            "`ranges` maps columns to their smallest and largest value, such as "
            f"{{'amount': (0, 5000)}}, got {given!r}"
        )
    out = {}
    for name, pair in given.items():
        ends = list(pair) if isinstance(pair, (tuple, list)) else []
        if (
            not isinstance(name, str)
            or len(ends) != 2
            or not all(is_number(x) and math.isfinite(x) for x in ends)
            or not ends[0] < ends[1]
        ):
            raise InputError(
                f"`ranges[{name!r}]` is the smallest and the largest value of that column, two "
                f"finite numbers in this order, got {pair!r}"
            )
        out[name] = (float(ends[0]), float(ends[1]))
    return out
