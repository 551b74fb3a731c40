"""Who is best among candidates, and who cannot be distinguished from the best."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from setpoint.comparing.better import Part, less_sure
from setpoint.inference.verdicts import SHOWN
from setpoint.plugin.judging.pairs import is_worse
from setpoint.report import Entry

if TYPE_CHECKING:
    from setpoint.plugin.judging.judge import Judge, Judged

__all__ = [
    "ALIKE",
    "BEST",
    "BOLDER",
    "FAILING",
    "FARTHER",
    "SURER",
    "TIED",
    "WORSE",
    "Standing",
    "standing_of",
]

BEST, TIED, WORSE = "best", "cannot be distinguished", "shown to be worse"

FAILING = "shown to fail the goal"
"""And the best is not."""

ALIKE = "cannot be distinguished by how far it misses the bounds"
FARTHER = "shown to miss the bounds by more"
"""Where even the best is shown to fail the goal: by the bound that is missed by most."""

SURER = "worse, but surer of a bound"
"""Its objective is shown to be worse, but a constraint is less sure to hold for the best."""

BOLDER = "better, but misses the bounds by more"
"""Its objective is shown to be better than that of the best."""

_TIES = (BEST, TIED, ALIKE)


@dataclass(frozen=True)
class Standing:
    """How candidates stand."""

    order: tuple[int, ...]
    ranks: tuple[int, ...]
    differences: tuple[Entry | None, ...]
    verdicts: tuple[str, ...]
    doubts: tuple[str, ...]
    level: float

    @property
    def best(self) -> int:
        """The place of the best."""
        return self.order[0]

    @property
    def ties(self) -> tuple[int, ...]:
        """The best and those that cannot be distinguished from it, the best first."""
        return tuple(k for k in self.order if self.verdicts[k] in _TIES)

    @property
    def open(self) -> tuple[int, ...]:
        """Those that more rows may show to be the best, the best first."""
        return tuple(k for k in self.order if self.verdicts[k] in (*_TIES, SURER, BOLDER))


def standing_of(judge: Judge, candidates: Sequence[Judged]) -> Standing:
    """How candidates stand."""
    keys = [one.rank for one in candidates]
    order = sorted(range(len(keys)), key=keys.__getitem__)
    ranks = [1 + sum(other < key for other in keys) for key in keys]
    best = candidates[order[0]]
    level = 1.0 - (1.0 - judge.level) / max(len(keys) - 1, 1)
    differences = [judge.difference(one, best, level) for one in candidates]
    verdicts, doubts = [], []
    for one, gain in zip(candidates, differences, strict=True):
        found = (BEST, "") if one is best else _against(judge, one, best, gain, level)
        verdicts.append(found[0])
        doubts.append(found[1])
    return Standing(
        tuple(order), tuple(ranks), tuple(differences), tuple(verdicts), tuple(doubts), level
    )


def _against(
    judge: Judge, one: Judged, best: Judged, gain: Entry | None, level: float
) -> tuple[str, str]:
    """What the rows show of a candidate against the best, and what it is surer of."""
    if best.fails:
        side = judge.side_difference(_worst(one), one, best, level)
        return (FARTHER if is_worse(side) else ALIKE), ""
    if one.fails:
        return FAILING, ""
    if is_worse(gain):
        doubt = _doubt(judge, one, best, level)
        return (SURER, doubt) if doubt else (WORSE, "")
    better = gain is not None and gain.verdict == SHOWN and not _has_zero(gain)
    return (BOLDER if better else TIED), ""


def _doubt(judge: Judge, one: Judged, best: Judged, level: float) -> str:
    """The constraint that is less sure to hold for the best; "" if none."""
    goal = judge.goal
    sides = [goal.objective, *(c.lhs for c in goal.constraints)]
    gains = [None, *(judge.side_difference(k, one, best, level) for k in range(len(sides) - 1))]
    entries = best.report.entries, one.report.entries
    parts = [Part(*four) for four in zip(*entries, gains, sides, strict=True)]
    return less_sure(parts, ahead=False)


def _has_zero(gain: Entry) -> bool:
    """Whether the limits enclose 0."""
    return gain.low is None or gain.high is None or gain.low <= 0.0 <= gain.high


def _worst(one: Judged) -> int:
    """The place of the constraint that is missed by most."""
    slack = [math.inf if c.slack is None else float(c.slack) for c in one.report.constraints]
    return slack.index(min(slack))
