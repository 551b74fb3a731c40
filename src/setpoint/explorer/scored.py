"""Rows with scores, and the columns by which a page shows groups of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setpoint.array_types import Codes, Floats
from setpoint.evidence import Evidence
from setpoint.evidence.curve import Curve
from setpoint.goals.populations import value_in_words
from setpoint.program.accepted_rates import Kind

__all__ = ["GroupColumn", "ScoredRows", "columns_of_strata"]


@dataclass(frozen=True, eq=False)
class GroupColumn:
    """A column whose groups a page shows side by side."""

    name: str
    values: tuple[str, ...]
    codes: Codes
    named: bool

    def take(self, index: NDArray[Any]) -> GroupColumn:
        """Some of the rows."""
        return replace(self, codes=self.codes[index])


@dataclass(frozen=True, eq=False)
class ScoredRows:
    """The rows that a page is about."""

    evidence: Evidence
    groups: tuple[GroupColumn, ...] = ()
    where: str = ""
    deployed: Codes | None = None

    def take(self, index: NDArray[Any]) -> ScoredRows:
        """Some of the rows, by index or mask."""
        deployed = None if self.deployed is None else self.deployed[index]
        groups = tuple(g.take(index) for g in self.groups)
        return replace(self, evidence=self.evidence.take(index), groups=groups, deployed=deployed)

    @cached_property
    def pooled(self) -> Evidence:
        """The same rows for one threshold for all."""
        rows = self.evidence.rows
        book = replace(rows.codebook, decide_on=())
        return Evidence(replace(rows, codebook=book), self.evidence.scores)

    @cached_property
    def curve(self) -> Curve:
        """All cut-offs of one threshold for all."""
        return self.pooled.curve(0)

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """Stratum and true class of the rows that there are, copies by measures too."""
        return self.curve.kinds

    @cached_property
    def weight(self) -> Floats:
        """The weight of each row (N,)."""
        rows = self.evidence.rows
        return np.ones(rows.n_rows) if rows.weight is None else rows.weight

    def accepted(self, share: Floats) -> Floats:
        """The weight of each kind (K,) that a decision accepts."""
        rows = self.evidence.rows
        tables = (self.weight, *rows.by_measure)
        n, plain = rows.codebook.n_classes + 1, rows.codebook.n_plain
        sums = [np.bincount(rows.kind, w * share, plain * n).reshape(plain, n) for w in tables]
        whole = np.concatenate(sums)
        return np.array([whole[c, t] for c, t in self.kinds])


def columns_of_strata(evidence: Evidence, names: Sequence[str]) -> tuple[GroupColumn, ...]:
    """The columns that strata tell apart, where the values of rows themselves are not kept."""
    book, stratum = evidence.codebook, evidence.rows.stratum
    out = []
    for name in names:
        keys = [dict(s.key).get(name) for s in book.strata[: book.n_plain]]
        values = list(dict.fromkeys(keys))
        place = np.array([values.index(k) for k in keys])
        words = tuple("other" if v is None else str(value_in_words(v)) for v in values)
        out.append(GroupColumn(name, words, place[stratum], True))
    return tuple(out)
