"""The class with the largest weighted sum of the scores."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from setpoint.array_types import Floats
from setpoint.errors import InputError, InputTypeError, quoted
from setpoint.rules.base import Ints, Rule
from setpoint.rules.codec import list_of, numbers_of
from setpoint.rules.export.questions import (
    Answer,
    Constant,
    Largest,
    Number,
    Product,
    Score,
    Sum,
)
from setpoint.rules.words import ClassNames

__all__ = ["Argmax"]

_MOST_LISTED = 100
"""Classes whose weights are written out."""

_CHUNK = 65536
"""Numbers of one block of totals: it stays in the processor's cache."""

_BLOCK = 32_768
"""Numbers that stay in the cache while all columns are added."""


@dataclass(frozen=True, init=False, repr=False)
class Argmax(Rule, written_as="argmax"):
    """Decide ``argmax_j (scores @ G)_j + offset_j``; ties go to the lowest j.

    Sums run over the score columns in their order, in float64, and the offset comes
    last: a row's decision is the same to the last bit in any batch, which a matrix
    product does not promise.

    A square G without entries off its diagonal is kept as its diagonal, so a thousand
    class weights are a thousand numbers.

    Parameters
    ----------
    G : array, (s, n)
        Weight of score column i for class j. Class weights are a diagonal; a loss
        matrix enters with its sign turned. Finite.
    offset : array, (n,), optional
        Added to the totals. Finite.

    Attributes
    ----------
    weights : tuple of n floats or None
        The diagonal, where G is one.
    matrix : tuple of s tuples of n floats or None
        G, where it is none.
    offset : tuple of n floats or None

    Raises
    ------
    TypeError
        If an entry is not a number.
    ValueError
        If a shape is wrong, there are fewer than two classes, or an entry is not finite.

    Examples
    --------
    >>> from setpoint.rules import Argmax
    >>> rule = Argmax([[1.0, 0.0], [0.0, 2.0]])
    >>> rule.decide([[0.7, 0.3], [0.6, 0.4], [0.5, 0.25]])
    array([0, 1, 0])
    >>> rule == Argmax.weighted([1.0, 2.0])
    True
    """

    weights: tuple[float, ...] | None
    matrix: tuple[tuple[float, ...], ...] | None
    offset: tuple[float, ...] | None

    def __init__(self, G: ArrayLike, offset: ArrayLike | None = None) -> None:
        matrix = _finite(G, "G", 2)
        if matrix.shape[0] < 1 or matrix.shape[1] < 2:
            raise InputError(
                f"`G` must have a row for each score and at least two columns, got {matrix.shape}"
            )
        self._keep(np.diagonal(matrix) if _is_diagonal(matrix) else matrix, offset)

    @classmethod
    def weighted(cls, weights: ArrayLike, offset: ArrayLike | None = None) -> Argmax:
        """Return the rule ``argmax_j weights_j * scores_j + offset_j``.

        Parameters
        ----------
        weights : array, (n,)
        offset : array, (n,), optional

        Raises
        ------
        TypeError, ValueError
            As the constructor does.

        Examples
        --------
        >>> Argmax.weighted([1, 2])
        Argmax.weighted((1.0, 2.0))
        """
        diagonal = _finite(weights, "weights", 1)
        if len(diagonal) < 2:
            raise InputError(f"`weights` must be two or more, got {len(diagonal)}")
        rule = cls.__new__(cls)
        rule._keep(diagonal, offset)
        return rule

    def _keep(self, G: Floats, offset: ArrayLike | None) -> None:
        """Store a diagonal (n,) or a matrix (s, n), and the offset."""
        constants = None
        if offset is not None:
            array = _finite(offset, "offset", 1)
            if len(array) != G.shape[-1]:
                raise InputError(
                    f"`offset` must have one entry a class ({G.shape[-1]}), got {len(array)}"
                )
            constants = tuple(array.tolist())
        weights = tuple(G.tolist()) if G.ndim == 1 else None
        matrix = None if G.ndim == 1 else tuple(tuple(row) for row in G.tolist())
        object.__setattr__(self, "weights", weights)
        object.__setattr__(self, "matrix", matrix)
        object.__setattr__(self, "offset", constants)

    def _fields(self) -> dict[str, Any]:
        offset = None if self.offset is None else list(self.offset)
        G = list(self.weights) if self.weights else [list(row) for row in self.matrix or ()]
        return {"G": G, "offset": offset}

    @classmethod
    def _from_fields(cls, fields: dict[str, Any], where: str) -> Argmax:
        rows = list_of(fields["G"], f"{where}.G")
        offset = fields["offset"]
        constants = None if offset is None else numbers_of(offset, f"{where}.offset")
        if rows and not any(isinstance(row, list) for row in rows):
            return cls.weighted(numbers_of(rows, f"{where}.G"), constants)
        return cls([numbers_of(row, f"{where}.G[{i}]") for i, row in enumerate(rows)], constants)

    def __repr__(self) -> str:
        offset = "" if self.offset is None else f", {self.offset}"
        if self.weights is not None:
            return f"Argmax.weighted({self.weights}{offset})"
        return f"Argmax({self.matrix}{offset})"

    @property
    def G(self) -> Floats:
        """The weights of score columns for classes (s, n), in full.

        Examples
        --------
        >>> Argmax.weighted([1, 2]).G
        array([[1., 0.],
               [0., 2.]])
        """
        return np.diag(self.weights) if self.weights is not None else np.array(self.matrix)

    @property
    def n_classes(self) -> int:
        """The columns of G."""
        return self.score_columns if self.matrix is None else len(self.matrix[0])

    @property
    def score_columns(self) -> int:
        """The rows of G."""
        return len(self.weights or self.matrix or ())

    def totals(self, scores: Floats) -> Floats:
        """Return what the argmax is taken of.

        Parameters
        ----------
        scores : float64 array, (N, s)

        Returns
        -------
        float64 array, (N, n)

        Examples
        --------
        >>> Argmax([[1.0, 0.0], [0.5, 2.0]], [0.0, 1.0]).totals(np.array([[0.5, 0.5]]))
        array([[0.75, 2.  ]])
        """
        out: Floats
        if self.weights is not None:
            out = scores * np.array(self.weights)
        else:
            out = weighted_sums(scores, self.G)
        if self.offset is not None:
            out += np.array(self.offset)
        return out

    def _decide(self, scores: Floats, segments: Ints | None, u: Floats | None) -> Ints:
        out = np.empty(len(scores), np.int64)
        for block in self._blocks(len(scores)):
            out[block] = self.totals(scores[block]).argmax(axis=1)
        return out

    def _margins(self, scores: Floats, segments: Ints | None, code: int) -> Floats:
        out = np.empty(len(scores))
        for block in self._blocks(len(scores)):
            totals = self.totals(scores[block])
            own = totals[:, code].copy()
            totals[:, code] = -np.inf
            with np.errstate(over="ignore"):
                out[block] = own - totals.max(axis=1)
        return out

    def _decide_without(self, scores: Floats, segments: Ints | None, code: int) -> Ints:
        out = np.empty(len(scores), np.int64)
        for block in self._blocks(len(scores)):
            totals = self.totals(scores[block])
            totals[:, code] = -np.inf
            out[block] = totals.argmax(axis=1)
        return out

    def _blocks(self, n_rows: int) -> Iterator[slice]:
        """Rows whose totals stay in the cache."""
        rows = max(1, _CHUNK // self.n_classes)
        return (slice(start, start + rows) for start in range(0, n_rows, rows))

    def _distribution(self, scores: Floats, segments: Ints | None) -> Floats:
        out = np.zeros((len(scores), self.n_classes))
        out[np.arange(len(scores)), self._decide(scores, None, None)] = 1.0
        return out

    def _answer(self, u: Number) -> Answer:
        return self._largest([Score(i) for i in range(self.score_columns)])

    def _largest(self, scores: Sequence[Number]) -> Answer:
        """The answer where the scores are what is given here."""
        totals = tuple(self._total(j, scores) for j in range(self.n_classes))
        return Largest(totals, tuple(range(self.n_classes)))

    def _total(self, j: int, scores: Sequence[Number]) -> Number:
        """The total of a class, its terms in the order in which they are added."""
        G = [(j, self.weights[j])] if self.weights is not None else _column(self.matrix, j)
        terms: list[Number] = [
            scores[i] if g == 1.0 else Product(Constant(g), scores[i]) for i, g in G if g != 0.0
        ]
        if self.offset is not None and self.offset[j] != 0.0:
            terms.append(Constant(self.offset[j]))
        if not terms:
            return Constant(0.0)
        return terms[0] if len(terms) == 1 else Sum(tuple(terms))

    def _words(self, names: ClassNames, digits: int) -> str:
        if self.weights is None:
            return self._words_in_full(names, digits)
        weights = np.array(self.weights)
        if not weights.any():
            best = 0 if self.offset is None else int(np.argmax(self.offset))
            return f"predict {names.label(best)} for everyone"
        lists, steps = [], []
        if weights[0] <= 0.0 or (weights != weights[0]).any() or self.offset is not None:
            steps.append("times its weight")
            lists.append(_listed("weights", weights, names, digits))
        if self.offset is not None:
            steps.append("plus its offset")
            lists.append(_listed("offsets", np.array(self.offset), names, digits))
        words = " ".join([names.score, *steps])
        text = f"predict the class for which {words} is largest"
        return f"{text} ({'; '.join(lists)})" if lists else text

    def _words_in_full(self, names: ClassNames, digits: int) -> str:
        own = self.score_columns == self.n_classes - int(names.defers)
        columns = [
            names.score_of(i) if own else f"{names.score} in column {i + 1}"
            for i in range(self.score_columns)
        ]
        return self._listing(columns, names, digits)

    def _listing(self, columns: Sequence[str], names: ClassNames, digits: int) -> str:
        """The total of each class, where the scores are called as given here."""
        G = self.G
        first = "predict the class with the largest total"
        first += (
            ", or defer where that of deferring is largest, where" if names.defers else ", where"
        )
        lines = [first]
        for j in range(self.n_classes):
            terms = [
                f"{G[i, j]:.{digits}g} x {column}"
                for i, column in enumerate(columns)
                if G[i, j] != 0.0
            ]
            if self.offset is not None and self.offset[j] != 0.0:
                terms.append(f"{self.offset[j]:.{digits}g}")
            total = " + ".join(terms).replace("+ -", "- ") or "0"
            deferring = names.defers and j == self.n_classes - 1
            lines.append(
                f"  the total of {'deferring' if deferring else names.label(j)} is {total}"
            )
        return "\n".join(lines)


def _finite(values: ArrayLike, what: str, ndim: int) -> Floats:
    try:
        array = np.asarray(values)
    except ValueError:
        raise InputError(f"{quoted(what)}: its rows differ in length") from None
    if array.size and array.dtype.kind not in "iuf":
        raise InputTypeError(f"{quoted(what)} must hold numbers, got dtype {array.dtype}")
    if array.ndim != ndim:
        raise InputError(f"{quoted(what)} must have {ndim} dimension(s), got shape {array.shape}")
    numbers = array.astype(np.float64) + 0.0
    if not np.isfinite(numbers).all():
        raise InputError(f"{quoted(what)} must be finite")
    return numbers


def _is_diagonal(G: Floats) -> bool:
    if G.shape[0] != G.shape[1]:
        return False
    return int(np.count_nonzero(G)) == int(np.count_nonzero(np.diagonal(G)))


def _column(matrix: tuple[tuple[float, ...], ...] | None, j: int) -> list[tuple[int, float]]:
    return [(i, row[j]) for i, row in enumerate(matrix or ())]


def _listed(what: str, numbers: Floats, names: ClassNames, digits: int) -> str:
    shown = enumerate(numbers[:_MOST_LISTED])
    pairs = [f"{names.label(j)} {v:.{digits}g}" for j, v in shown]
    if len(numbers) > _MOST_LISTED:
        pairs.append(f"and {len(numbers) - _MOST_LISTED} more")
    return f"{what}: {', '.join(pairs)}"


def weighted_sums(scores: Floats, G: Floats) -> Floats:
    """``scores @ G``, every sum in the order of the score columns.

    Examples
    --------
    >>> weighted_sums(np.array([[0.5, 0.5]]), np.array([[1.0, 0.0], [0.5, 2.0]]))
    array([[0.75, 1.  ]])
    """
    n_rows, n = len(scores), G.shape[1]
    out = np.empty((n_rows, n))
    step = max(_BLOCK // max(n, 1), 1)
    # By hand, for a matrix product adds in an order that depends on the rows beside; and
    # without a kernel, for predictions do not wait until one is compiled.
    for start in range(0, n_rows, step):
        block = np.ascontiguousarray(scores[start : start + step].T)
        total = np.zeros((n, block.shape[1]))
        term = np.empty_like(total)
        for column, g in zip(block, G, strict=True):
            np.multiply(g[:, None], column, out=term)
            total += term
        out[start : start + step] = total.T
    return out
