"""Who is best among candidates, and who cannot be distinguished from the best."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from setpoint.plugin.judging.pairs import is_worse
from setpoint.report import Entry

if TYPE_CHECKING:
    from setpoint.plugin.judging.judge import Judge, Judged

__all__ = ["Standing", "simplest_of", "standing_of"]


@dataclass(frozen=True)
class Standing:
    """How candidates stand.

    Parameters
    ----------
    order : tuple of int
        Places of the candidates, the best first: those that are not shown to fail the goal before
        those that are, and each of the two by their scores.
    ranks : tuple of int
        For each candidate 1 and more; equal ones share theirs.
    differences : tuple of Entry or None
        For each candidate its objective minus that of the best. All limits hold together.
    ties : tuple of int
        The best and those that are not shown to be worse, the best first.
    level : float
        Confidence of each limit of `differences` by itself.
    """

    order: tuple[int, ...]
    ranks: tuple[int, ...]
    differences: tuple[Entry | None, ...]
    ties: tuple[int, ...]
    level: float

    @property
    def best(self) -> int:
        """The place of the best."""
        return self.order[0]


def standing_of(judge: Judge, candidates: Sequence[Judged]) -> Standing:
    """How candidates stand.

    One is distinguished from the best where the rows show that its objective is worse, or that it
    fails the goal and the best does not. If even the best is shown to fail, the left side of the
    constraint that is missed by most takes the place of the objective. Each limit has so much
    confidence that all differences from the best hold together.

    Parameters
    ----------
    judge : Judge
    candidates : sequence of Judged
    """
    keys = [_key(one) for one in candidates]
    order = sorted(range(len(keys)), key=keys.__getitem__)
    ranks = [1 + sum(other < key for other in keys) for key in keys]
    best = candidates[order[0]]
    level = 1.0 - (1.0 - judge.level) / max(len(keys) - 1, 1)
    differences = [judge.difference(one, best, level) for one in candidates]
    ties = [
        k
        for k in order
        if k == order[0] or not _is_apart(judge, candidates[k], best, differences[k], level)
    ]
    return Standing(tuple(order), tuple(ranks), tuple(differences), tuple(ties), level)


def simplest_of(judge: Judge, candidates: Sequence[Judged], best: int) -> int:
    """The place of the first whose score is within one standard error of that of the best.

    The error is that of the difference of the objectives, by the pairs of rows. A candidate that
    is shown to fail the goal is not near a best that is not.

    Parameters
    ----------
    judge : Judge
    candidates : sequence of Judged
        The simplest first.
    best : int
    """
    top = candidates[best]
    for k, one in enumerate(candidates[:best]):
        if one.fails and not top.fails:
            continue
        error = judge.standard_error(one, top) or 0.0
        if top.score - one.score <= error:
            return k
    return best


def _key(one: Judged) -> tuple[bool, float]:
    """Less is better: not shown to fail, then the score."""
    return one.fails, math.inf if math.isnan(one.score) else -one.score


def _is_apart(
    judge: Judge, one: Judged, best: Judged, difference: Entry | None, level: float
) -> bool:
    """Whether a candidate is shown to be worse than the best."""
    if not best.fails:
        return one.fails or is_worse(difference)
    return is_worse(judge.side_difference(_worst(one), one, best, level))


def _worst(one: Judged) -> int:
    """The place of the constraint that is missed by most."""
    slack = [math.inf if c.slack is None else float(c.slack) for c in one.report.constraints]
    return slack.index(min(slack))
