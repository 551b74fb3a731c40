"""The class with the largest weighted sum of the scores."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from setpoint.rules.base import Floats, Ints, Rule
from setpoint.rules.words import Names, in_digits

__all__ = ["Argmax"]

_CHUNK = 65536
"""Numbers of one block of totals: it stays in the processor's cache."""


@dataclass(frozen=True, init=False)
class Argmax(Rule):
    """Decide ``argmax_j (scores @ G)_j + offset_j``; ties go to the lowest j.

    Sums run over the score columns in their order, in float64, and the offset comes
    last: a row's decision is the same to the last bit in any batch, which a matrix
    product does not promise.

    Parameters
    ----------
    G : array, (s, n)
        Weight of score column i for class j. Class weights are a diagonal; a loss
        matrix enters with its sign turned. Finite. Kept as nested tuples.
    offset : array, (n,), optional
        Added to the totals. Finite.

    Raises
    ------
    TypeError
        If an entry is no number.
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

    G: tuple[tuple[float, ...], ...]
    offset: tuple[float, ...] | None = None

    def __init__(self, G: ArrayLike, offset: ArrayLike | None = None) -> None:
        matrix = _finite(G, "G", 2)
        if matrix.shape[0] < 1 or matrix.shape[1] < 2:
            raise ValueError(
                f"G must have a row for each score and at least two columns, got {matrix.shape}"
            )
        object.__setattr__(self, "G", tuple(tuple(row) for row in matrix.tolist()))
        constants = None
        if offset is not None:
            array = _finite(offset, "offset", 1)
            if len(array) != matrix.shape[1]:
                raise ValueError(
                    f"offset must have one entry a class ({matrix.shape[1]}), got {len(array)}"
                )
            constants = tuple(array.tolist())
        object.__setattr__(self, "offset", constants)

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
        >>> Argmax.weighted([1, 2]).G
        ((1.0, 0.0), (0.0, 2.0))
        """
        return cls(np.diag(_finite(weights, "weights", 1)), offset)

    @property
    def n_classes(self) -> int:
        """The columns of G."""
        return len(self.G[0])

    @property
    def score_columns(self) -> int:
        """The rows of G."""
        return len(self.G)

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
        G = np.array(self.G)
        out: Floats
        if _is_diagonal(G):
            out = scores * np.diagonal(G)
        else:
            out = np.zeros((len(scores), self.n_classes))
            rows = max(1, _CHUNK // self.n_classes)
            for start in range(0, len(scores), rows):
                block = out[start : start + rows]
                for k in range(len(G)):
                    block += scores[start : start + rows, k, np.newaxis] * G[k]
        if self.offset is not None:
            out += np.array(self.offset)
        return out

    def _decide(self, scores: Floats, slots: Ints | None, u: Floats | None) -> Ints:
        return np.asarray(self.totals(scores).argmax(axis=1), dtype=np.int64)

    def _distribution(self, scores: Floats, slots: Ints | None) -> Floats:
        out = np.zeros((len(scores), self.n_classes))
        out[np.arange(len(scores)), self._decide(scores, None, None)] = 1.0
        return out

    def _words(self, names: Names, digits: int) -> str:
        G = np.array(self.G)
        if not _is_diagonal(G):
            return self._words_in_full(names, digits)
        weights = np.diagonal(G)
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

    def _words_in_full(self, names: Names, digits: int) -> str:
        own = self.score_columns == self.n_classes
        lines = ["predict the class with the largest total, where"]
        for j in range(self.n_classes):
            terms = [
                f"{in_digits(self.G[i][j], digits)} x "
                + (names.score_of(i) if own else f"{names.score} in column {i + 1}")
                for i in range(self.score_columns)
                if self.G[i][j] != 0.0
            ]
            if self.offset is not None and self.offset[j] != 0.0:
                terms.append(in_digits(self.offset[j], digits))
            total = " + ".join(terms).replace("+ -", "- ") or "0"
            lines.append(f"  the total of {names.label(j)} is {total}")
        return "\n".join(lines)


def _finite(values: ArrayLike, what: str, ndim: int) -> Floats:
    try:
        array = np.asarray(values)
    except ValueError:
        raise ValueError(f"{what}: its rows differ in length") from None
    if array.size and array.dtype.kind not in "iuf":
        raise TypeError(f"{what} must hold numbers, got dtype {array.dtype}")
    if array.ndim != ndim:
        raise ValueError(f"{what} must have {ndim} dimension(s), got shape {array.shape}")
    numbers = array.astype(np.float64) + 0.0
    if not np.isfinite(numbers).all():
        raise ValueError(f"{what} must be finite")
    return numbers


def _is_diagonal(G: Floats) -> bool:
    if G.shape[0] != G.shape[1]:
        return False
    return int(np.count_nonzero(G)) == int(np.count_nonzero(np.diagonal(G)))


def _listed(what: str, numbers: Floats, names: Names, digits: int) -> str:
    pairs = (f"{names.label(j)} {in_digits(v, digits)}" for j, v in enumerate(numbers))
    return f"{what}: {', '.join(pairs)}"
