"""Decisions that a page compares with: today's rule, and the deployed model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from setpoint.array_types import Floats
from setpoint.explorer.scored import ScoredRows
from setpoint.goals.populations import Label
from setpoint.rules import Rule
from setpoint.rules.words import ClassNames

__all__ = ["Marker", "markers_of"]


@dataclass(frozen=True, eq=False)
class Marker:
    """Decisions to compare with."""

    name: str
    share: Floats
    words: str = ""
    rule: Rule | None = None


def markers_of(
    rows: ScoredRows,
    labels: Sequence[Label],
    rule: Rule | None = None,
    share: Floats | None = None,
) -> list[Marker]:
    """Today's rule and the deployed model, where they are known."""
    out = []
    if rule is not None and share is not None:
        out.append(Marker("today's rule", share, rule.explain(ClassNames(tuple(labels))), rule))
    if rows.deployed is not None:
        out.append(Marker("the deployed model", (rows.deployed == 1).astype(np.float64)))
    return out
