"""Certification of rules over scores that are there already."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias
from zlib import crc32

import numpy as np

from setpoint.array_types import Codes
from setpoint.deciding.certifying import Certification, promise_of
from setpoint.deciding.enough import check_enough
from setpoint.deciding.paths import FindInwards
from setpoint.deciding.splitting import split_kinds
from setpoint.evidence import Evidence
from setpoint.exact.nested import nests
from setpoint.goals.goal import Goal
from setpoint.inputs.inputs import Table
from setpoint.program.program import LinkedGoal
from setpoint.solvers import Confidence

__all__ = ["SHARE", "Certify", "promised", "split_scored"]

Certify: TypeAlias = Callable[[FindInwards], Certification]
"""From the search under bounds that lie further inwards to how its rules are certified."""

_KEY = 0x5C0BED
SHARE = 0.7
"""Of the rows that certify, where rules are found on the others and no model is fitted."""


def promised(goal: Goal, confidence: float | Confidence | None) -> Confidence | None:
    """What a user asks to be promised; None where that is nothing."""
    found = Confidence.of(confidence)
    own = any(c.confidence is not None for c in goal.constraints)
    return None if found.level is None and not own else found


def split_scored(
    linked: LinkedGoal,
    evidence: Evidence,
    table: Table | None,
    confidence: Confidence,
    *,
    whole: bool = True,
    blocks: Codes | None = None,
) -> tuple[Evidence, Certify, Table | None]:
    """The rows that rules are found on, and the certification on the others."""
    promise = promise_of(linked, confidence)
    check_enough(promise, evidence.rows, confidence)
    if whole and nests(evidence, promise.tests(evidence.rows.marginals)):
        return evidence, lambda _: Certification(confidence, lambda _: evidence, table=table), table
    share = confidence.certification_size
    # Of rows sorted by score the same places would be the same ranks in every draw of the data.
    seeds = [
        crc32(np.ascontiguousarray(part).tobytes())
        for part in (evidence.scores, evidence.rows.true)
    ]
    rng = np.random.default_rng([_KEY, *seeds])
    chosen = split_kinds(
        evidence.rows.kind, blocks, SHARE if share == "auto" else float(share), rng
    )
    first, second = (evidence.take(np.flatnonzero(part)) for part in (~chosen, chosen))
    parts: list[Table | None] = [table, table]
    if table is not None:
        own = replace(table, X=None).counted
        mine = chosen[: len(own.labels)]
        parts = [own.take(np.flatnonzero(mine == side)) for side in (False, True)]

    def certify(inwards: FindInwards) -> Certification:
        return Certification(confidence, lambda _: second, inwards=inwards, table=parts[1])

    return first, certify, parts[0]
