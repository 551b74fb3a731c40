"""Paths of rules, from safe to bold, as they are learnt on rows that take no part in the tests."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from setpoint.array_types import Floats
from setpoint.deciding.found import Found
from setpoint.evidence import Confusion, Counted, Evidence, Rows
from setpoint.exact.band_ladder import band_ladder
from setpoint.exact.ladder import MOST_SEGMENTS, cutoff_ladder
from setpoint.goals.errors import GoalError
from setpoint.guarantees.ladder import MARGINS, Rung, rungs_of
from setpoint.guarantees.promise import RuleTests
from setpoint.rules import Band
from setpoint.search.infeasibility import InfeasibleError

__all__ = ["FindInwards", "Ways", "by_label", "margin_of", "path_of", "searches", "times_of"]

INF = float("inf")

FindInwards: TypeAlias = Callable[[Floats], Found]
"""From how far inwards each bound lies (constraints,) to what is found there."""

_SEARCHED = MARGINS[(np.abs(MARGINS) <= 20.0) & ((2.0 * MARGINS) % 1.0 == 0.0)]
"""Margins that are tried where each costs a search of its own."""


class Ways(Protocol):
    """How the rules of a path are found; see :class:`~setpoint.deciding.Certification`."""

    @property
    def models(self) -> Callable[[Found], Sequence[Found]] | None:
        """From what was found to the models that a path may go through; None: the one."""

    @property
    def inwards(self) -> FindInwards | None:
        """The search under bounds that lie further inwards."""

    @property
    def allowed(self) -> Callable[[Floats], NDArray[np.bool_]] | None:
        """From what rules do, counts (entries, m), to which may be tried."""


def path_of(learnt: RuleTests, plain: Found, ways: Ways, times: Floats) -> list[Rung]:
    """Rules from safe to bold, each with its model."""
    rungs: list[Rung] = []
    for found in (plain,) if ways.models is None else ways.models(plain):
        if isinstance(found.outcome.rule, Band) and ways.allowed is None:
            own = band_ladder(learnt, found.evidence, times, found.outcome.rule)
            rungs += [replace(rung, model=found) for rung in own]
        elif _has_few_cutoffs(found.evidence) and not plain.outcome.rule.randomized:
            own = cutoff_ladder(learnt, found.evidence, times, ways.allowed)
            rungs += [replace(rung, model=found) for rung in own]
        elif ways.inwards is not None:
            rungs += _searched(learnt, found, ways.inwards, times)
        else:
            rungs.append(_rung(learnt, found, times, ways.allowed))
    order = rungs_of(
        np.array([r.margin for r in rungs]), np.array([r.score for r in rungs])
    ).tolist()
    # Where the objective is not a number anywhere, there is still the rule that was found.
    return [rungs[i] for i in order] or [_rung(learnt, plain, times)]


def _has_few_cutoffs(rows: Counted) -> bool:
    """Whether all combinations of cut-offs can be tried."""
    few = rows.n_scores is None and len(rows.segments) <= MOST_SEGMENTS
    return few and not rows.codebook.defers


def searches(plain: Found, ways: Ways) -> bool:
    """Whether a path costs searches."""
    if ways.models is not None:
        return True
    if isinstance(plain.outcome.rule, Band) and ways.allowed is None:
        return False
    return not _has_few_cutoffs(plain.evidence) or plain.outcome.rule.randomized


def _searched(learnt: RuleTests, plain: Found, inwards: FindInwards, times: Floats) -> list[Rung]:
    """Rules found under bounds further and further inwards, and outwards."""
    first = _rung(learnt, plain, times)
    out = [first]
    for way in (_SEARCHED[_SEARCHED > 0][::-1], _SEARCHED[_SEARCHED <= 0]):
        last = first
        for margin in way:
            errors = learnt.errors(last.confusion, times)
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    found = inwards(margin * errors)
            except (InfeasibleError, GoalError):
                if margin > 0:
                    break  # stricter ones have none either
                continue
            if not np.isfinite(found.outcome.v).all() or found.outcome.status == "nearest":
                break
            last = _rung(learnt, found, times)
            out.append(last)
    return out


def _rung(
    learnt: RuleTests,
    found: Found,
    times: Floats,
    allowed: Callable[[Floats], NDArray[np.bool_]] | None = None,
) -> Rung:
    confusion = found.outcome.confusion
    margin = margin_of(learnt, confusion, times)
    if allowed is not None and not allowed(confusion.counts.reshape(-1, 1))[0]:
        margin = -INF
    return Rung(found.outcome.rule, margin, learnt.score(confusion), confusion, found)


def margin_of(tests: RuleTests, confusion: Confusion, times: Floats) -> float:
    """How safe one rule is."""
    return float(tests.margins(confusion.counts.reshape(-1, 1), confusion, times)[0])


def times_of(looked_at: Counted, tested: Counted) -> Floats:
    """Rows looked at for each row that will be tested (entries,), by data set."""
    book = looked_at.codebook
    sets = np.array([str(s.dataset) for s in book.strata])
    totals = [by_label(e).marginals.weights.sum(axis=1) for e in (looked_at, tested)]
    times = np.ones(len(sets))
    for name in np.unique(sets):
        own = sets == name
        first, second = (float(t[own].sum()) for t in totals)
        times[own] = first / second if second > 0 else 1.0
    return np.repeat(times, (book.n_classes + 1) * book.n_classes)


def by_label(rows: Counted) -> Rows | Counted:
    """The rows by their labels: evidence may know them by posteriors instead."""
    return rows.rows if isinstance(rows, Evidence) else rows
