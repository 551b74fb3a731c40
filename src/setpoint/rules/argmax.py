"""The class with the largest weighted sum of the scores."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from setpoint.array_types import Floats
from setpoint.errors import InputError, InputTypeError, quoted
from setpoint.rules import questions as q
from setpoint.rules.base import RULE, Array, Ints, Rule
from setpoint.rules.codec import CHECKED, NUMBER, ClassNames, StoredAs, list_of, wrong

_MOST_LISTED = 100
"""Classes whose weights are written out."""

_CHUNK = 32_768
"""Numbers of one block of totals: it stays in the processor's cache."""


class LargestTotal(Rule):
    """Takes the largest of some totals, a block of rows after the other."""

    @abstractmethod
    def totals(self, scores: Floats) -> Floats:
        """What the argmax is taken of (N, n)."""

    def _decide(self, scores: Floats, segments: Ints | None, u: Floats | None) -> Ints:
        out = np.empty(len(scores), np.int64)
        for block in self._blocks(len(scores)):
            out[block] = self.totals(scores[block]).argmax(axis=1)
        return out

    def _ranked(self, scores: Floats, segments: Ints | None, code: int, instead: bool) -> Array:
        out: Array = np.empty(len(scores), np.int64 if instead else np.float64)
        for block in self._blocks(len(scores)):
            totals = self.totals(scores[block])
            own = totals[:, code].copy()
            totals[:, code] = -np.inf
            with np.errstate(over="ignore"):
                out[block] = totals.argmax(axis=1) if instead else own - totals.max(axis=1)
        return out

    @property
    def _width(self) -> int:
        """Numbers of a row that stay in the cache."""
        return self.n_classes

    def _blocks(self, n_rows: int) -> Iterator[slice]:
        """Rows whose totals stay in the cache."""
        rows = max(1, _CHUNK // self._width)
        return (slice(start, start + rows) for start in range(0, n_rows, rows))


def _written_rows(G: tuple[Any, ...]) -> list[Any]:
    return [list(row) if isinstance(row, tuple) else row for row in G]


def _rows(data: Any, where: str) -> list[Any]:
    flat = bool(list_of(data, where)) and not any(isinstance(row, list) for row in data)
    rows: list[Any] = (NUMBER if flat else NUMBER.listed).listed.read(data, where)
    return rows


def _written_offset(offset: tuple[float, ...] | None) -> list[float] | None:
    return None if offset is None else list(offset)


def _offset(data: Any, where: str) -> list[float] | None:
    return None if data is None else NUMBER.listed.read(data, where)


@dataclass(frozen=True, init=False, repr=False)
class Argmax(
    LargestTotal,
    written_as="argmax",
    stored={"G": StoredAs(_written_rows, _rows), "offset": StoredAs(_written_offset, _offset)},
):
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

    def _field(self, name: str) -> Any:
        return (self.weights or self.matrix) if name == "G" else self.offset

    @classmethod
    def _from_fields(cls, fields: dict[str, Any]) -> Argmax:
        G = fields["G"]
        make = cls.weighted if G and not isinstance(G[0], list) else cls
        return make(G, fields["offset"])

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
            # By hand, for a matrix product adds in an order that depends on the rows beside; and
            # without a kernel, for predictions do not wait until one is compiled.
            total = np.zeros((self.n_classes, len(scores)))
            term = np.empty_like(total)
            for column, g in zip(np.ascontiguousarray(scores.T), self.G, strict=True):
                np.multiply(g[:, None], column, out=term)
                total += term
            out = np.ascontiguousarray(total.T)
        if self.offset is not None:
            out += np.array(self.offset)
        return out

    def _answer(self, u: q.Number | None) -> q.Answer:
        return self._largest([q.term("score", i) for i in range(self.score_columns)])

    def _largest(self, scores: Sequence[q.Number]) -> q.Answer:
        """The answer where the scores are what is given here."""
        totals = tuple(self._total(j, scores) for j in range(self.n_classes))
        return q.Largest(totals, tuple(range(self.n_classes)))

    def _total(self, j: int, scores: Sequence[q.Number]) -> q.Number:
        """The total of a class, its terms in the order in which they are added."""
        rows = enumerate(self.matrix or ())
        G = [(j, self.weights[j])] if self.weights is not None else [(i, row[j]) for i, row in rows]
        terms = [scores[i] if g == 1.0 else q.term("*", g, scores[i]) for i, g in G if g != 0.0]
        if self.offset is not None and self.offset[j] != 0.0:
            terms.append(self.offset[j])
        if not terms:
            return 0.0
        return terms[0] if len(terms) == 1 else q.term("+", *terms)

    def _words(self, names: ClassNames, digits: int) -> str:
        if self.weights is None:
            return self._listing(names.columns(self.score_columns), names, digits)
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


def _listed(what: str, numbers: Floats, names: ClassNames, digits: int) -> str:
    shown = enumerate(numbers[:_MOST_LISTED])
    pairs = [f"{names.label(j)} {v:.{digits}g}" for j, v in shown]
    if len(numbers) > _MOST_LISTED:
        pairs.append(f"and {len(numbers) - _MOST_LISTED} more")
    return f"{what}: {', '.join(pairs)}"


# --- The words of a rule that looks at the values of a row ----------------------------------------


_ROUNDING = 1e-12
"""Differences smaller than this part of what they are taken of are rounding."""


def gains_in_words(columns: tuple[str, ...], rule: Argmax, names: ClassNames, digits: int) -> str:
    """Explain a :class:`~setpoint.rules.ValueAware` rule.

    Examples
    --------
    >>> gain = [[0.0, 0.0], [0.0, 0.0], [0.0, 0.0], [0.0, 1.0]]
    >>> rule, names = Argmax(gain, [0.0, -5.2]), ClassNames(("genuine", "fraud"))
    >>> gains_in_words(("amount",), rule, names, 4)
    "predict 'fraud' when the probability times amount exceeds 5.2"
    """
    if names.score == ClassNames(names.classes).score:
        names = replace(names, score="the probability")
    texts = [name if name.isidentifier() else f'"{name}"' for name in columns]
    n = rule.score_columns // (1 + len(columns))
    if n == rule.n_classes == 2:
        return _condition(texts, rule, names, digits)
    posteriors = names.columns(n)
    products = [f"{posterior} x {text}" for text in texts for posterior in posteriors]
    return _plain(rule, n)._listing([*posteriors, *products], names, digits)


def _plain(rule: Argmax, n: int) -> Argmax:
    """Totals that decide alike and read well."""
    G = rule.G.copy()
    offset = np.zeros(rule.n_classes) if rule.offset is None else np.array(rule.offset)
    first = G[:n]
    alike = np.ptp(first, axis=0) <= _ROUNDING * np.abs(first).max(axis=0)
    offset += np.where(alike, first[0], 0.0)
    G[:n] = np.where(alike, 0.0, first)
    sizes = np.abs(G[n:][G[n:] != 0.0])
    if len(sizes) and np.ptp(sizes) <= _ROUNDING * sizes.max():
        G, offset = G / sizes.max(), offset / sizes.max()
    return Argmax(G, offset if offset.any() else None)


def _condition(texts: Sequence[str], rule: Argmax, names: ClassNames, digits: int) -> str:
    """Where the total of class 1 is the larger one: ``constant + sum of terms > 0``."""
    constant, coefficients = _reduced(rule)
    p = names.score
    # products first, for they say the most; coefficients are of p, x_1, p x_1, x_2, p x_2, ...
    terms = list(zip(coefficients[2::2], [f"{p} times {text}" for text in texts], strict=True))
    terms += [(coefficients[0], p), *zip(coefficients[1::2], texts, strict=True)]
    pairs = [(float(c), what) for c, what in terms if c != 0.0]
    one = names.label(1)
    if not pairs:
        return f"predict {one} for {'everyone' if constant > 0.0 else 'nobody'}"
    relation = "exceeds"
    if all(c < 0.0 for c, _ in pairs):
        pairs, constant, relation = [(-c, what) for c, what in pairs], -constant, "is below"
    if len(pairs) == 1:
        c, what = pairs[0]
        return f"predict {one} when {what} {relation} {-constant / c + 0.0:.{digits}g}"
    pairs.sort(key=lambda pair: pair[0] < 0.0)
    text = ""
    for c, what in pairs:
        sign = ("plus " if c > 0.0 else "minus ") if text else ""
        factor = f"{abs(c):.{digits}g}"
        text += f" {sign}{what if factor == '1' else f'{factor} times {what}'}"
    return f"predict {one} when{text} {relation} {-constant + 0.0:.{digits}g}"


def _reduced(rule: Argmax) -> tuple[float, Floats]:
    """The constant, and the coefficients of p, x_1, p x_1, x_2, ... for p of class 1."""
    G = rule.G
    none, one = rule.offset or (0.0, 0.0)
    totals = G.reshape(-1, 2, 2)  # 1 or a column, posterior, class
    gains, sizes = totals[:, :, 1] - totals[:, :, 0], np.abs(totals).sum(axis=2)
    # p_0 = 1 - p: what class 0 gains is a constant, and p gains the difference
    apart = np.stack([gains[:, 0], gains[:, 1] - gains[:, 0]], axis=1)
    size = np.stack([sizes[:, 0], sizes[:, 0] + sizes[:, 1]], axis=1)
    apart[0, 0] += one - none
    size[0, 0] += abs(one) + abs(none)
    apart[np.abs(apart) <= _ROUNDING * size] = 0.0
    return float(apart[0, 0]), apart.reshape(-1)[1:]


# --- The class with the largest gain --------------------------------------------------------------


def _argmax(data: Any, where: str) -> Rule:
    rule = Rule._read(data, where)
    if not isinstance(rule, Argmax):
        wrong(f"{where}.type", data["type"], "'argmax'")
    return rule


@dataclass(frozen=True, init=False)
class ValueAware(
    LargestTotal,
    written_as="value_aware",
    stored={"columns": CHECKED.listed, "rule": StoredAs(RULE.write, _argmax)},
):
    """Decide by an argmax over the posteriors and their products with columns of the row.

    A row's scores are its n posteriors and behind them the C numbers that stand in
    `columns`. The inner rule sees the n (1 + C) *expanded* scores: p_1 to p_n,
    then p_1 x_1 to p_n x_1, and so on.

    Parameters
    ----------
    columns : sequence of str
        The columns of values, at least one, in the order of the scores.
    rule : Argmax
        Over the expanded scores.

    Raises
    ------
    TypeError
        If a column is not text, or the rule is not an :class:`Argmax`.
    ValueError
        If there is no column, one stands there twice, or the rule's score columns are not
        1 + C for each posterior.

    Examples
    --------
    >>> from setpoint.rules import Argmax, ClassNames, ValueAware
    >>> gain = [[0.0, 0.0], [0.0, 0.0], [0.0, 0.0], [0.0, 1.0]]  # p_0, p_1, p_0 x, p_1 x
    >>> rule = ValueAware(["amount"], Argmax(gain, [0.0, -5.2]))
    >>> rule.decide([[0.9, 0.1, 60.0], [0.4, 0.6, 8.0]])
    array([1, 0])
    >>> rule.explain(ClassNames(("genuine", "fraud")))
    "predict 'fraud' when the probability times amount exceeds 5.2"
    """

    columns: tuple[str, ...]
    rule: Argmax

    def __init__(self, columns: Sequence[str], rule: Argmax) -> None:
        if isinstance(columns, str):
            raise InputTypeError(f"`columns` must be a list of names, got the text {columns!r}")
        names: tuple[Any, ...] = tuple(columns)
        for name in names:
            if not isinstance(name, str) or not name:
                raise InputTypeError(f"`columns`: a column is named by text, got {name!r}")
        if not names or len(set(names)) < len(names):
            raise InputError(f"`columns` must be one or more different names, got {list(names)}")
        if not isinstance(rule, Argmax):
            raise InputTypeError(f"`rule` must be an Argmax, got {rule!r} ({type(rule).__name__})")
        if rule.score_columns % (1 + len(names)):
            raise InputError(
                f"`rule`: with {len(names)} columns of values there are {1 + len(names)} score "
                f"columns for each posterior, got {rule.score_columns} in all"
            )
        object.__setattr__(self, "columns", names)
        object.__setattr__(self, "rule", rule)

    @property
    def n_posteriors(self) -> int:
        """The posteriors in front of the columns of values."""
        return self.rule.score_columns // (1 + len(self.columns))

    @property
    def n_classes(self) -> int:
        """As in the inner rule."""
        return self.rule.n_classes

    @property
    def score_columns(self) -> int:
        """The posteriors and the columns of values."""
        return self.n_posteriors + len(self.columns)

    @property
    def value_columns(self) -> tuple[str, ...]:
        """The columns."""
        return self.columns

    def expand(self, scores: ArrayLike) -> Floats:
        """Return what the inner rule looks at.

        Parameters
        ----------
        scores : array, (N, n + C)
            The posteriors, and behind them the columns of values.

        Returns
        -------
        float64 array, (N, n * (1 + C))

        Raises
        ------
        ValueError
            As in `decide`.

        Examples
        --------
        >>> gain = [[0.0, 0.0], [0.0, 0.0], [0.0, 0.0], [0.0, 1.0]]
        >>> ValueAware(["amount"], Argmax(gain)).expand([[0.75, 0.25, 8.0]])
        array([[0.75, 0.25, 6.  , 2.  ]])
        """
        return self._expanded(self._checked_scores(scores))

    @property
    def _width(self) -> int:
        return self.rule.score_columns

    def _expanded(self, scores: Floats) -> Floats:
        n = self.n_posteriors
        out = np.empty((len(scores), n * (1 + len(self.columns))))
        out[:, :n] = scores[:, :n]
        for k in range(len(self.columns)):
            np.multiply(
                scores[:, :n], scores[:, n + k, None], out=out[:, n * (k + 1) : n * (k + 2)]
            )
        return out

    def totals(self, scores: Floats) -> Floats:
        """Return what the argmax is taken of (N, n), from the scores of `expand`'s rows."""
        return self.rule.totals(self._expanded(scores))

    def _answer(self, u: q.Number | None) -> q.Answer:
        n = self.n_posteriors
        scores = [q.term("score", i) for i in range(self.score_columns)]
        products = [q.term("*", p, value) for value in scores[n:] for p in scores[:n]]
        return self.rule._largest([*scores[:n], *products])

    def _words(self, names: ClassNames, digits: int) -> str:
        return gains_in_words(self.columns, self.rule, names, digits)
