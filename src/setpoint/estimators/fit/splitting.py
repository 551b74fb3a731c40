"""Rows set apart to certify, and scores of rules that are there already."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import TYPE_CHECKING, Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing

from setpoint.array_types import Codes, Floats, Integers
from setpoint.counts import Evidence
from setpoint.errors import InputError, quoted
from setpoint.guarantees import (
    Certification,
    Promise,
    check_enough,
    monotone_constraints,
    tests_on,
)
from setpoint.inputs import CheckedData, CheckedTable, GivenRows, column_names, row_draws, taken
from setpoint.program import LinkedGoal
from setpoint.solvers import Confidence

if TYPE_CHECKING:
    from setpoint.estimators.fit.opening import FitData


# --- Rows set apart to certify: drawn once --------------------------------------------------------


_KEY = 0x5EA1ED

_MOST_REPEATED = 0.2
"""Of all rows may equal others and stay together: a larger part would not be a sample of rows."""

_MOST_AGREED = 0.02
"""Of rows that equal others: where no more have another label than the first, they are copies."""

_FEW_COPIES = 0.98
"""Of all rows: where no fewer differ, copies make no difference."""


@dataclass(frozen=True, eq=False)
class CertifyingRows:
    """Rows that certify, as checked and as given."""

    judged: CheckedData
    given: Mapping[str | None, GivenRows]
    key: bytes = b""

    @property
    def copies(self) -> str:
        """A sentence where many of the rows of X are copies of others; else ""."""
        content = content_of(self.given[None].X)
        if content is None:
            return ""
        n, distinct = len(content), len(np.unique(content))
        if distinct > _FEW_COPIES * n:
            return ""
        return (
            f"Of these {n:,} rows {distinct:,} differ: copies are taken for rows that came "
            "independently. Where they are one row written several times, nothing is promised."
        )

    def evidence(self, score: Callable[[Any], NDArray[Any]]) -> Evidence:
        """The rows with scores."""
        return self.judged.evidence(
            {name: score(self.given[name].X) for name in self.judged.tables}
        )

    def draws(self, of: Callable[[Any], Floats | None]) -> Floats | None:
        """What rows that count are decided by where a rule draws; None where draws are fresh."""
        found = {name: of(self.given[name].X) for name in self.judged.tables}
        if any(part is None for part in found.values()):
            return None
        return self.judged.evidence(found).scores  # type: ignore[arg-type]


def set_apart(data: FitData, share: float, seed: int) -> FitData:
    """The data of a fit without the rows that certify, which it holds beside them."""
    rng = np.random.default_rng((seed, _KEY))
    first: dict[str | None, Codes] = {}
    second: dict[str | None, Codes] = {}
    key = b""
    # By their content rows lie on one side, whatever data set they are in.
    known: dict[bool, Floats] = {side: np.empty(0) for side in (False, True)}
    for name, rows in data.given.items():
        if name not in data.judged.tables:
            continue
        content, kinds = content_of(rows.X), data.judged.kinds(name)
        if name is None:
            key = rows_key(content, kinds)
        blocks = same_content(content, kinds, "X" if name is None else f"datasets[{name!r}]")
        content = None if blocks is None else content
        chosen, left = _placed(content, known, len(kinds))
        if len(left):
            some = None if blocks is None else blocks[left]
            chosen[left] = split_kinds(kinds[left], some, share, rng)
        if content is not None:
            known = {side: np.union1d(own, content[chosen == side]) for side, own in known.items()}
        first[name], second[name] = np.flatnonzero(~chosen), np.flatnonzero(chosen)
    for name, index in (*first.items(), *second.items()):
        if not len(index):
            where = "X" if name is None else f"datasets[{name!r}]"
            raise InputError(
                f"{quoted(where)}: the rows are too much alike to set some of them apart: rows "
                "with equal content lie on one side; give other rows to certify with (`certify_on`)"
            )
    _check_classes(data, first[None], second[None])
    apart = CertifyingRows(
        data.judged.take(second),
        {name: data.given[name].take(index) for name, index in second.items()},
        key,
    )
    given = {n: g.take(first[n]) if n in first else g for n, g in data.given.items()}
    out = replace(data, judged=data.judged.take(first), given=given, certifying=apart)
    if not data.is_validated:
        return _without(out, first[None])
    trained = ~_placed(content_of(data.X), known, len(data.true))[0]
    return out if trained.all() else _without(out, np.flatnonzero(trained))


def _check_classes(data: FitData, first: Codes, second: Codes) -> None:
    """Refuse rows of which one side would lack a class."""
    labels = data.classes.labels
    true = np.asarray(data.judged.kinds(None)) % (len(labels) + 1)
    for code, label in enumerate(labels):
        if (true == code).any() and not (
            (true[first] == code).any() and (true[second] == code).any()
        ):
            raise InputError(
                f"`X`: class {label!r} has too few rows to set some of them apart; give rows of "
                "their own to certify with (`certify_on`)"
            )


def _placed(
    content: Floats | None, known: Mapping[bool, Floats], n_rows: int
) -> tuple[NDArray[np.bool_], Codes]:
    """Which rows certify in another data set (n_rows,), and which are in none."""
    if content is None:
        return np.zeros(n_rows, bool), np.arange(n_rows)
    certify, others = (np.isin(content, known[side]) for side in (True, False))
    return certify, np.flatnonzero(~(certify | others))


def _without(data: FitData, index: Codes) -> FitData:
    """The data of a fit with some of the rows of X alone."""
    return replace(
        data,
        X=_safe_indexing(data.X, index),
        y=_safe_indexing(data.y, index),
        true=data.true[index],
        weight=None if data.weight is None else data.weight[index],
        features=_safe_indexing(data.features, index),
        deployed=taken(data.deployed, index, len(data.true)),
        index=index,
        whole=data.X,
    )


def split_kinds(
    kinds: Integers, blocks: Codes | Floats | None, share: float, rng: np.random.Generator
) -> NDArray[np.bool_]:
    """Which rows are set apart: a share of each kind, blocks as a whole.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> split_kinds(np.array([0] * 6 + [1] * 4), None, 0.5, rng).reshape(2, 5).sum()
    np.int64(5)
    """
    first, place, sizes = np.arange(len(kinds)), None, None
    if blocks is not None:
        _, first, place, sizes = np.unique(
            blocks, return_index=True, return_inverse=True, return_counts=True
        )
    own = np.asarray(kinds)[first]
    chosen = np.zeros(len(first), bool)
    reached, due = 0, float(rng.random())
    for kind in rng.permutation(np.unique(own)):
        part = np.flatnonzero(own == kind)
        n_rows = len(part) if sizes is None else int(sizes[part].sum())
        due += share * n_rows
        n = math.floor(due) - reached
        reached += n
        if sizes is None:
            chosen[rng.choice(part, n, replace=False, shuffle=False)] = True
        else:
            mixed = rng.permutation(part)
            chosen[mixed[: np.searchsorted(np.cumsum(sizes[mixed]), n, side="right")]] = True
    return chosen if place is None else np.asarray(chosen[place.ravel()])


def same_content(content: Floats | None, kinds: Integers, where: str = "X") -> Codes | None:
    """Blocks of rows with equal content, that may not be divided; None where rows may."""
    if content is None:
        return None
    _, first, place, sizes = np.unique(
        content, return_index=True, return_inverse=True, return_counts=True
    )
    place = place.ravel()
    repeated = sizes[place] > 1
    if repeated.mean() <= _MOST_REPEATED:
        return place
    kinds = np.asarray(kinds)
    if (kinds != kinds[first][place])[repeated].mean() > _MOST_AGREED:
        return None
    raise InputError(
        f"{quoted(where)}: {100 * repeated.mean():.3g} % of the rows equal others, labels "
        "included. Copies of a row would certify the model that learnt from them: leave them out, "
        "or give rows of their own to certify with (`certify_on`)"
    )


def rows_key(content: Floats | None, kinds: Integers) -> bytes:
    """What identifies some rows, in any order."""
    found = np.sort(kinds) if content is None else np.sort(content)
    return blake2b(found.tobytes(), digest_size=16).digest()


def content_of(X: Any) -> Floats | None:
    """A number for the content of each row."""
    if X is None:
        return None
    try:
        return row_draws(X, key=_KEY, feature_names=column_names(X))
    except TypeError:
        return None


# --- Certification of rules over scores that are there already ------------------------------------


_SCORED_KEY = 0x5C0BED
SHARE = 0.7
"""Of the rows that certify, where rules are found on the others and no model is fitted."""


def split_scored(
    linked: LinkedGoal,
    evidence: Evidence,
    table: CheckedTable | None,
    confidence: Confidence,
    *,
    whole: bool = True,
    blocks: Codes | None = None,
) -> tuple[Evidence, Certification, CheckedTable | None]:
    """The rows that rules are found on, and the certification on the others."""
    tests = tests_on(Promise.of(linked, confidence), evidence)
    check_enough(tests, evidence.rows, confidence)
    if whole and monotone_constraints(evidence, tests):
        return evidence, Certification(confidence, lambda _: evidence, table=table), table
    share = confidence.certification_size
    # Of rows sorted by score the same places would be the same ranks in every draw of the data.
    seeds = [
        crc32(np.ascontiguousarray(part).tobytes())
        for part in (evidence.scores, evidence.rows.true)
    ]
    rng = np.random.default_rng([_SCORED_KEY, *seeds])
    chosen = split_kinds(
        evidence.rows.kind, blocks, SHARE if share == "auto" else float(share), rng
    )
    first, second = (evidence.take(np.flatnonzero(part)) for part in (~chosen, chosen))
    parts: list[CheckedTable | None] = [table, table]
    if table is not None:
        own = replace(table, X=None).counted
        mine = chosen[: len(own.labels)]
        parts = [own.take(np.flatnonzero(mine == side)) for side in (False, True)]

    return first, Certification(confidence, lambda _: second, table=parts[1]), parts[0]
