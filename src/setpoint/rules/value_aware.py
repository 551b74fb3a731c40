"""The class with the largest gain, of which columns of the row say how much it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from setpoint.array_types import Floats
from setpoint.errors import InputError, InputTypeError
from setpoint.rules.argmax import Argmax
from setpoint.rules.base import Ints, Rule
from setpoint.rules.codec import list_of, wrong
from setpoint.rules.export.questions import Answer, Number, Product, Score
from setpoint.rules.gains import gains_in_words
from setpoint.rules.words import ClassNames

__all__ = ["ValueAware"]

_CHUNK = 65_536
"""Numbers of one block of expanded scores: it stays in the processor's cache."""


@dataclass(frozen=True, init=False)
class ValueAware(Rule, written_as="value_aware"):
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

    def _expanded(self, scores: Floats) -> Floats:
        n = self.n_posteriors
        out = np.empty((len(scores), n * (1 + len(self.columns))))
        out[:, :n] = scores[:, :n]
        for k in range(len(self.columns)):
            np.multiply(
                scores[:, :n], scores[:, n + k, None], out=out[:, n * (k + 1) : n * (k + 2)]
            )
        return out

    def _fields(self) -> dict[str, Any]:
        return {"columns": list(self.columns), "rule": self.rule._written()}

    @classmethod
    def _from_fields(cls, fields: dict[str, Any], where: str) -> ValueAware:
        names = list_of(fields["columns"], f"{where}.columns")
        for i, name in enumerate(names):
            if not isinstance(name, str) or not name:
                wrong(f"{where}.columns[{i}]", name, "a column's name")
        rule = cls._read(fields["rule"], f"{where}.rule")
        if not isinstance(rule, Argmax):
            wrong(f"{where}.rule.type", fields["rule"]["type"], "'argmax'")
        return cls(names, rule)

    def _decide(self, scores: Floats, segments: Ints | None, u: Floats | None) -> Ints:
        out = np.empty(len(scores), np.int64)
        rows = max(1, _CHUNK // self.rule.score_columns)
        for start in range(0, len(scores), rows):
            block = slice(start, start + rows)
            out[block] = self.rule._decide(self._expanded(scores[block]), None, None)
        return out

    def _margins(self, scores: Floats, segments: Ints | None, code: int) -> Floats:
        return self.rule._margins(self._expanded(scores), None, code)

    def _decide_without(self, scores: Floats, segments: Ints | None, code: int) -> Ints:
        return self.rule._decide_without(self._expanded(scores), None, code)

    def _distribution(self, scores: Floats, segments: Ints | None) -> Floats:
        out = np.zeros((len(scores), self.n_classes))
        out[np.arange(len(scores)), self._decide(scores, None, None)] = 1.0
        return out

    def _answer(self, u: Number) -> Answer:
        n = self.n_posteriors
        posteriors: list[Number] = [Score(i) for i in range(n)]
        products = [Product(p, Score(n + k)) for k in range(len(self.columns)) for p in posteriors]
        return self.rule._largest([*posteriors, *products])

    def _words(self, names: ClassNames, digits: int) -> str:
        return gains_in_words(self.columns, self.rule, names, digits)
