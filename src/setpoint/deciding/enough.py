"""Whether rows could certify anything at all, asked before a model is fitted."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from setpoint.caller import warn_caller
from setpoint.deciding.refusal import NotCertifiable
from setpoint.evidence import Confusion, Counted, Rows
from setpoint.goals.constraints import Constraint
from setpoint.goals.errors import GoalError
from setpoint.guarantees.planning import Fewest, fewest_rows_of
from setpoint.guarantees.promise import Promise, RuleTests
from setpoint.rules import Threshold
from setpoint.solvers import Confidence

__all__ = ["check_enough", "require_tests", "share_to_certify", "tests_on"]

_LARGEST = 0.5
"""Of all rows, to certify: the others have to teach the model."""

_ROUNDING = 1.05
"""A share of few rows of a kind is not met to the row."""


def tests_on(promise: Promise, rows: Rows | Counted) -> RuleTests:
    """The tests of rules on rows that certify."""
    try:
        return promise.tests(rows.marginals, weighted=_have_weights(rows))
    except GoalError as error:
        raise type(error)(f"the rows that certify: {error}") from None


def require_tests(promise: Promise, rows: Rows | Counted) -> None:
    """Refuse what has no test on such rows, whatever is decided."""
    tests_on(promise, rows).require_tests(_of_nobody(rows))


def check_enough(promise: Promise, rows: Rows | Counted, settings: Confidence) -> None:
    """Refuse rows that could not certify a constraint if not one of them spoke against it."""
    for constraint, confidence, found in _fewest(promise, rows):
        if found.trials > found.available:
            _refuse(constraint, confidence, found, 1.0, settings)


def share_to_certify(promise: Promise, rows: Rows, settings: Confidence, usual: float) -> float:
    """The share of all rows that is set apart to certify."""
    given = settings.certification_size
    share = usual if given == "auto" else float(given)
    for constraint, confidence, found in _fewest(promise, rows):
        wanted = _ROUNDING * found.trials / found.available
        if given == "auto" and share < wanted <= _LARGEST:
            share = wanted
        if found.trials > math.floor(share * found.available + 0.5):
            most = _LARGEST if given == "auto" else share
            _refuse(constraint, confidence, found, most, settings)
    return share


def _fewest(promise: Promise, rows: Rows | Counted) -> Iterator[tuple[Constraint, float, Fewest]]:
    """What each promised constraint takes at least, where that is known."""
    tests = tests_on(promise, rows)
    nobody = _of_nobody(rows)
    tests.require_tests(nobody)
    counted = tests.counted(nobody)
    if counted.is_large:
        return
    parts = zip(
        tests.program.constraints, tests.parts, promise.confidences, promise.levels, strict=True
    )
    for c, part, confidence, level in parts:
        if part is None or confidence is None or level is None:
            continue
        found = fewest_rows_of(part, counted, level)
        if found is not None:
            yield c.written, confidence, found


def _have_weights(rows: Rows | Counted) -> bool:
    """Whether rows weigh something beside what columns of numbers say, where that is known."""
    return rows.has_weights if isinstance(rows, Rows) else rows.is_weighted


def _of_nobody(rows: Rows | Counted) -> Confusion:
    """What accepting nobody does, or deciding the first class for everybody."""
    if isinstance(rows, Rows):
        return rows.confusion(np.zeros(rows.n_rows, np.int64))
    return rows.confusion(Threshold(np.inf))


def _refuse(
    constraint: Constraint,
    confidence: float,
    found: Fewest,
    share: float,
    settings: Confidence,
) -> None:
    needed = math.ceil(found.rows / share)
    there = math.floor(share * found.available + 0.5)
    apart = "" if share == 1.0 else f" (a share of {share:g} of all rows)"
    message = (
        f"{constraint}: {100 * confidence:.12g} % confidence takes {found.trials:,} rows that "
        f"speak for it and none against it, and among those that certify{apart} there are "
        f"{there:,} that could. Fewer than {needed:,} rows in all cannot do, and most likely it "
        "takes more (rows_needed says how many); or loosen the bound, or ask for less confidence"
    )
    if settings.on_uncertified == "raise":
        raise NotCertifiable(message, str(constraint), rows_needed=needed)
    warn_caller(message)
