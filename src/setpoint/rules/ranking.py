"""Which rows are best by a rule, and what is decided for those that there is no room for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from setpoint.array_types import Codes, Floats
from setpoint.errors import InputError

__all__ = ["Ranks"]


class Ranks:
    """The order of rows by a rule.

    Examples
    --------
    >>> from setpoint.rules import Threshold
    >>> Threshold(0.5).margins([0.25, 0.75, 0.625]).argsort()[::-1]
    array([1, 2, 0])
    """

    if TYPE_CHECKING:

        @property
        def n_classes(self) -> int:
            """As every rule has."""

        @property
        def randomized(self) -> bool:
            """As every rule has."""

        def _checked_scores(self, scores: ArrayLike) -> Floats: ...
        def _checked_segments(self, segments: ArrayLike | None, n_rows: int) -> Codes | None: ...

    def margins(
        self, scores: ArrayLike, segments: ArrayLike | None = None, code: int = 1
    ) -> Floats:
        """Return by how much a class leads in each row: the order in which its rows are best.

        In the units of the scores. Of a threshold the score less the threshold, of each segment
        its own; of an argmax the total of the class less the largest other total. No row for
        which the class is decided has a margin below 0.

        Parameters
        ----------
        scores, segments
            As in `decide`.
        code : int
            The class.

        Returns
        -------
        float64 array, (N,)
            Infinite where the rule decides without looking at the score.

        Raises
        ------
        ValueError
            As in `decide`; if the rule draws, or there is no such class.

        Examples
        --------
        >>> from setpoint.rules import Argmax, Threshold
        >>> Threshold(0.5).margins([0.25, 0.5, 0.75])
        array([-0.25,  0.  ,  0.25])
        >>> Argmax.weighted([1, 2, 4]).margins([[0.5, 0.25, 0.25]], code=2)
        array([0.5])
        """
        s = self._checked_scores(scores)
        codes = self._checked_segments(segments, len(s))
        self._check_ranks(code)
        return self._margins(s, codes, code)

    def decide_without(
        self, scores: ArrayLike, segments: ArrayLike | None = None, code: int = 1
    ) -> Codes:
        """Decide for the best class but one: what rows get that this class has no room for.

        Parameters
        ----------
        scores, segments, code
            As in `margins`.

        Returns
        -------
        int64 array, (N,)

        Raises
        ------
        ValueError
            As in `margins`.

        Examples
        --------
        >>> from setpoint.rules import Argmax, Threshold
        >>> Threshold(0.5).decide_without([0.25, 0.75])
        array([0, 0])
        >>> Argmax.weighted([1, 2, 4]).decide_without([[0.5, 0.3, 0.2]], code=2)
        array([1])
        """
        s = self._checked_scores(scores)
        codes = self._checked_segments(segments, len(s))
        self._check_ranks(code)
        return self._decide_without(s, codes, code)

    def _margins(self, scores: Floats, segments: Codes | None, code: int) -> Floats:
        """`margins` on checked arrays."""
        raise InputError(f"a rule of type {type(self).__name__} does not say which rows are best")

    def _decide_without(self, scores: Floats, segments: Codes | None, code: int) -> Codes:
        """`decide_without` on checked arrays."""
        if self.n_classes > 2:
            raise InputError(
                f"a rule of type {type(self).__name__} does not say which class comes next"
            )
        return np.full(len(scores), 1 - code, dtype=np.int64)

    def _check_ranks(self, code: int) -> None:
        if self.randomized:
            raise InputError("this rule draws, so that no order of the rows says which are best")
        if not 0 <= code < self.n_classes:
            raise InputError(f"`code` is 0 to {self.n_classes - 1}, got {code!r}")
