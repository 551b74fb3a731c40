"""Features as sums over the diagonals and columns of the counts.

On one stratum a feature is an outer product of a mask over true and one over predicted
classes, kept or cleared on the diagonal. Each mask singles out one class at most; where
both single out the same, what is left of the product is a diagonal, the columns and a
part that no decision changes. Then the best rule is an argmax of weighted scores, O(n) a
row, and no n x n matrix is ever needed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from setpoint.array_types import Floats
from setpoint.evidence.codebook import Codebook, Marginals
from setpoint.program.rates import Rate, RateTable

if TYPE_CHECKING:
    from scipy import sparse


Sparse: TypeAlias = "sparse.csr_array[Any]"


@dataclass(frozen=True, eq=False)
class DiagonalForm:
    """The features of a program over diagonals and columns of the counts.

    Examples
    --------
    >>> import numpy as np
    >>> from setpoint import Goal
    >>> from setpoint.evidence.codebook import Codebook, Marginals
    >>> from setpoint.program.linking import link
    >>> counts = np.array([[[5.0, 1.0], [2.0, 4.0], [0.0, 0.0]]])
    >>> linked = link(Goal.parse("maximize f1"), Codebook.of(("no", "yes")))
    >>> program = linked.at(Marginals.of_counts(counts))
    >>> form = diagonal_form(program.table)
    >>> diag, col = np.array([[5.0, 4.0]]), np.array([[7.0, 5.0]])
    >>> v = form.const + form.features(diag, col)
    >>> bool(np.allclose(v, program.rates_of(counts)))
    True
    """

    diagonal: Sparse
    columns: Sparse
    const: Floats
    n_strata: int
    n_classes: int

    def features(self, diag: Floats, col: Floats) -> Floats:
        """The features (..., d) without their constant, which several blocks share."""
        lead, size = diag.shape[:-2], self.n_strata * self.n_classes
        out = self.diagonal @ diag.reshape(-1, size).T + self.columns @ col.reshape(-1, size).T
        return np.asarray(out.T).reshape(*lead, len(self.const))

    def weights(self, slopes: Floats) -> tuple[Floats, Floats]:
        """What a sum of features gives for each class: a factor and a charge."""
        shape = (self.n_strata, self.n_classes)
        W = np.asarray(slopes @ self.diagonal).reshape(shape)
        B = np.asarray(slopes @ self.columns).reshape(shape)
        return W, 0.0 - B


def diagonal_form(table: RateTable) -> DiagonalForm | None:
    """Features over diagonals and columns; None if one is not of that form.

    Examples
    --------
    >>> import numpy as np
    >>> from setpoint import Goal
    >>> from setpoint.evidence.codebook import Codebook, Marginals
    >>> from setpoint.program.linking import link
    >>> codebook, marginals = Codebook.of(("a", "b", "c")), Marginals.of_counts(np.eye(4, 3)[None])
    >>> accuracy = link(Goal.parse("maximize accuracy"), codebook).at(marginals)
    >>> diagonal_form(accuracy.table).diagonal.toarray()
    array([[0.33333333, 0.33333333, 0.33333333]])
    >>> mistakes = link(Goal.parse("maximize confusion_rate('a', 'b')"), codebook).at(marginals)
    >>> diagonal_form(mistakes.table) is None
    True
    """
    codebook, norms = table.codebook, table.norms
    n, n_strata = codebook.n_classes, len(codebook.strata)
    d = len(table)
    const = np.zeros(d)
    rows: tuple[_SparseRows, _SparseRows] = _SparseRows(n), _SparseRows(n)
    for f, feature in enumerate(table.rates):
        for baseline, strata in _alike(feature, codebook):
            parts = _parts(feature, n, table.marginals, baseline, strata)
            if parts is None:
                return None
            rows[0].add(f, strata, parts.diagonal / norms[f])
            rows[1].add(f, strata, parts.columns / norms[f])
            const[f] += parts.const / norms[f]
    shape = (d, n_strata * n)
    return DiagonalForm(rows[0].csr(shape), rows[1].csr(shape), const, n_strata, n)


@dataclass(frozen=True)
class _Parts:
    """One feature on strata that it treats alike, before division by its norm."""

    diagonal: Floats
    columns: Floats
    const: float


class _SparseRows:
    """Non-zeros of a sparse array, one feature on some strata at a time."""

    def __init__(self, n: int) -> None:
        self.n = n
        self.entries: list[tuple[Any, Any, Any]] = []

    def add(self, feature: int, strata: list[int], values: Floats) -> None:
        held = np.flatnonzero(values)
        if held.size:
            at = (np.array(strata)[:, None] * self.n + held).ravel()
            where = np.full(at.size, feature)
            self.entries.append((np.tile(values[held], len(strata)), where, at))

    def csr(self, shape: tuple[int, int]) -> Sparse:
        from scipy import sparse

        if not self.entries:
            return sparse.csr_array(shape)
        values, rows, at = (np.concatenate(x) for x in zip(*self.entries, strict=True))
        return sparse.csr_array((values, (rows, at)), shape=shape)


def _alike(feature: Rate, codebook: Codebook) -> list[tuple[int | None, list[int]]]:
    """The feature's strata by deployed class, as far as it looks at that."""
    groups: dict[int | None, list[int]] = {}
    for c in feature.strata:
        groups.setdefault(
            codebook.strata[c].baseline if feature.sees_baseline else None, []
        ).append(c)
    return list(groups.items())


def _parts(
    feature: Rate, n: int, marginals: Marginals, baseline: int | None, strata: list[int]
) -> _Parts | None:
    if feature.event.costs is not None:
        return None
    true, predicted, kept = feature.factors(n, baseline)
    true = true * feature.given_rows(n)
    on = true[:n] * predicted
    if kept == "on":
        return _Parts(on, np.zeros(n), 0.0)
    held = marginals.weights[strata].sum(axis=0)
    everything = _outer(true, predicted, held)
    if everything is None or kept == "any":
        return everything
    return _Parts(everything.diagonal - on, everything.columns, everything.const)


def _outer(true: Floats, predicted: Floats, marginals: Floats) -> _Parts | None:
    """The whole outer product, with ``true = u + b e_k`` and ``predicted = p + q e_k``."""
    n = len(predicted)
    k = _odd_one_out(true[:n], predicted)
    if k is None:
        return None
    other = 1 if k == 0 else 0
    u, p = true[other], predicted[other]
    b, q = true[k] - u, predicted[k] - p
    diagonal, columns = np.zeros(n), np.zeros(n)
    diagonal[k], columns[k] = b * q, u * q
    return _Parts(diagonal, columns, float(p * (true @ marginals)))


def _odd_one_out(true: Floats, predicted: Floats) -> int | None:
    """The class that alone may differ from the others in both masks; None if there is none."""
    if len(predicted) == 2:
        return 0
    # Of three values at least two are the others'.
    odd = [np.flatnonzero(mask != np.median(mask[:3])) for mask in (true, predicted)]
    singled = np.unique(np.concatenate(odd))
    if singled.size > 1:
        return None
    return int(singled[0]) if singled.size else 0
