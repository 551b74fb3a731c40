"""Rows that are decided together: batches, and the best of them for so many places."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import _num_samples, check_is_fitted

from setpoint.array_types import Bools, Floats
from setpoint.counts import Column
from setpoint.errors import InputError, InputTypeError, listed, nearest
from setpoint.estimators.by_rule import DecidesByRule
from setpoint.inputs import (
    aligned,
    check_length,
    column_of,
    described,
    first_bad,
    frame_of,
    is_missing,
    kind_of,
    levels_of,
    one_column,
    row_draws,
)
from setpoint.parameters import is_integer

# --- How many rows a batch has room for, in all or in each group ----------------------------------


def check_at_most(at_most: Any, grouped: bool) -> None:
    """Refuse what is not a number of rows, or a dict of them, before any work.

    Examples
    --------
    >>> check_at_most({"north": 20, "south": 5}, grouped=True)
    """
    if not isinstance(at_most, Mapping):
        numbers = {"at_most": at_most}
    elif not grouped:
        raise InputError(
            "`at_most` has a number for each group, and `by` is not given: it says which column "
            "has the groups"
        )
    elif not at_most:
        raise InputError("`at_most` is empty; it has a number of rows for each group")
    else:
        numbers = {f"at_most[{group!r}]": most for group, most in at_most.items()}
    for name, most in numbers.items():
        if not (is_integer(most) and most >= 1):
            raise InputError(f"`{name}` is a whole number of rows, 1 or more, got {most!r}")


@dataclass(frozen=True, eq=False)
class Capacity:
    """How many rows there is room for.

    Examples
    --------
    >>> room = Capacity.of({"north": 1, "south": 3}, 3, ["north", "north", "south"])
    >>> score = np.array([0.7, 0.9, 0.2])
    >>> room.best(np.array([True, True, True]), [score], lambda: np.zeros(3))
    array([False,  True,  True])
    """

    most: NDArray[np.int64]
    groups: NDArray[np.int64]

    @classmethod
    def of(cls, at_most: Any, n_rows: int, by: Any = None) -> Capacity:
        """The room that was asked for, checked against the rows."""
        check_at_most(at_most, by is not None)
        each = at_most if isinstance(at_most, Mapping) else {None: at_most}
        for group, most in each.items():
            if most > n_rows:
                name = f"at_most[{group!r}]" if isinstance(at_most, Mapping) else "at_most"
                raise InputError(
                    f"`{name}` is {most}, and the batch has {n_rows} rows: there is room for all "
                    "of them, which needs no bound"
                )
        if by is None:
            return cls(np.array([at_most]), np.zeros(n_rows, dtype=np.int64))
        levels, groups = _groups(by, n_rows)
        if not isinstance(at_most, Mapping):
            return cls(np.full(len(levels), at_most), groups)
        absent = [level for level in levels if level not in at_most]
        if absent:
            places = [levels.index(level) for level in absent]
            raise InputError(
                f"`at_most` has no number for {listed([repr(level) for level in absent])}, of "
                f"which the batch has {int(np.isin(groups, places).sum())} rows "
                f"({nearest(absent[0], at_most)})"
            )
        return cls(np.array([at_most[level] for level in levels]), groups)

    def exceeded(self, accepted: Bools) -> bool:
        """Whether more rows are accepted than there is room for."""
        sizes = np.bincount(self.groups[accepted], minlength=len(self.most))
        return bool((sizes > self.most).any())

    def best(self, accepted: Bools, keys: Sequence[Floats], draws: Callable[[], Floats]) -> Bools:
        """Those of the rows accepted that there is room for."""
        rows = np.flatnonzero(accepted)
        groups = self.groups[rows]
        sort_by = [-key[rows] for key in keys]
        order, place = self._ranked(groups, sort_by)
        border = place == self.most[groups[order]]  # the first of each group that is left out
        last, first = order[np.flatnonzero(border) - 1], order[border]
        if np.all([key[last] == key[first] for key in sort_by], axis=0).any():  # a tie
            order, place = self._ranked(groups, [*sort_by, draws()[rows]])
        kept = np.zeros(len(accepted), dtype=np.bool_)
        kept[rows[order[place < self.most[groups[order]]]]] = True
        return kept

    def _ranked(
        self, groups: NDArray[np.int64], keys: Sequence[Floats]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Rows group by group, low keys first, and the place of each in its group."""
        order = np.lexsort((*reversed(keys), groups))
        sizes = np.bincount(groups, minlength=len(self.most))
        starts = np.cumsum(sizes) - sizes
        return order, np.arange(len(order)) - starts[groups[order]]


def _groups(by: Any, n_rows: int) -> tuple[list[Any], NDArray[np.int64]]:
    """The groups of the batch, and that of each row."""
    column = Column(one_column(by, "by"))
    check_length(column.values, n_rows, "by")
    levels = levels_of(column, "by")
    codes = np.asarray(column.codes, dtype=np.int64)
    missing = np.array([is_missing(level) for level in levels], dtype=np.bool_)
    if missing.any():
        raise InputError(
            f"`by` has {first_bad(missing[codes], 'missing')}; fill them in, for example with "
            "'unknown', which is a group of its own then"
        )
    odd = [level for level in levels if kind_of(type(level)) == "other"]
    if odd or column.values.dtype.kind in "mM":
        kind = type(odd[0]).__name__ if odd else str(column.values.dtype)
        raise InputTypeError(
            f"`by` holds values of type {kind}; groups are text, numbers or booleans"
        )
    return levels, codes


# --- The best rows of a batch, and never more than there is room for ------------------------------


Array = NDArray[Any]


class DecidesBatches(DecidesByRule):
    """``decide_batch`` for whatever has scores and a fitted rule."""

    def decide_batch(
        self,
        X: Any,
        at_most: int | Mapping[Any, int],
        *,
        by: Any = None,
        label: Any = None,
        sensitive_features: Any = None,
    ) -> Array:
        """Decide the rows of a batch that has room for so many of one class.

        As :meth:`predict`, but where the rule accepts more rows than there is room for, the best
        of them stay and the others get what the rule would decide next: the other class of two,
        else the class with the next largest total. Rows that the rule does not accept stay as
        they are, however much room is left.

        The order is that of the fitted rule, see :meth:`setpoint.rules.Rule.margins`. With one
        threshold the highest scores are best. With a threshold for each group those are that lie
        highest *above the threshold of their group*: room for fewer rows is then one more price
        on each accepted row, which moves all thresholds up alike. (Where probabilities are exact
        and constraints bear on rates of what is predicted, that is the best choice; where they
        bear on recall, it is one of several that are reasonable.) With an argmax those are best
        whose total is highest above the largest other one. Equal margins go by the score; what
        is still equal by a hash of the row (with ``draw="customer_id"`` of that column), so that
        neither the order of the rows nor the batch around them matters. Rows that are equal in
        all columns share the hash: the first of them stay.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (N, p)
            The whole batch, in memory.
        at_most : int, or dict from groups to int
            The most rows that may get the class, from 1 to N; with `by` in each group. A group
            may have fewer rows than it has room for, and none at all.
        by : str or array-like of shape (N,), optional
            A column of X or of `sensitive_features`, or its values: the groups that share no room.
        label : optional
            The class that there is room for; the positive one of two, if not given.
        sensitive_features : column, dict or frame, optional
            The columns that the rule looks at, where they are not columns of X.

        Returns
        -------
        array of shape (N,)
            Labels.

        Raises
        ------
        ValueError
            If `at_most` is not between 1 and N, a group is not in it, there is no such class, or
            the rule draws (``randomized=False`` finds one that does not).
        GoalError
            As in :meth:`predict`.

        Examples
        --------
        >>> from sklearn.datasets import make_classification
        >>> from sklearn.linear_model import LogisticRegression
        >>> from setpoint import PlugInClassifier
        >>> X, y = make_classification(1_000, random_state=0)
        >>> clf = PlugInClassifier(LogisticRegression(), "f1").fit(X, y)
        >>> int(clf.predict(X[:100]).sum()), int(clf.decide_batch(X[:100], at_most=20).sum())
        (44, 20)
        """
        check_is_fitted(self)
        code = self._ranked_class(label)
        capacity = self._capacity(X, at_most, by, sensitive_features)
        return self._decide_batch(X, self._scores(X), capacity, code, sensitive_features)

    def _decide_batch(
        self,
        X: Any,
        scores: NDArray[np.float64],
        capacity: Capacity,
        code: int,
        sensitive_features: Any = None,
    ) -> Array:
        """Decide a batch whose scores are known."""
        scores = self._beside_values(X, scores, sensitive_features)
        segments = self._segments(X, sensitive_features)
        decided = self.rule_.decide(scores, segments)
        accepted = decided == code
        if capacity.exceeded(accepted):
            keys = [self.rule_.margins(scores, segments, code)]
            if scores.ndim == 1:
                keys.append(scores if code == 1 else -scores)
            dropped = accepted & ~capacity.best(accepted, keys, lambda: self._row_hash(X))
            next_best = self.rule_.decide_without(scores, segments, code)
            decided = np.where(dropped, next_best, decided)
        return self._named(decided)

    def _ranked_class(self, label: Any) -> int:
        """The code of the class that there is room for; refuses what gives rows no order."""
        labels = self._classes.labels
        if label is None and len(labels) > 2:
            raise InputError(
                f"`at_most` is for one class, and the model decides among {len(labels)}: `label` "
                f"says for which ({nearest('', labels)})"
            )
        if label is not None and label not in labels:
            raise InputError(f"`label`: {label!r} is not a class ({nearest(label, labels)})")
        if self.rule_.randomized:
            raise InputError(
                "`at_most` is for rules that decide without draws, and this one draws; "
                "`randomized=False` finds one that does not"
            )
        return 1 if label is None else labels.index(label)

    def _capacity(self, X: Any, at_most: Any, by: Any, sensitive_features: Any) -> Capacity:
        """The room that a batch has, checked against its rows."""
        if hasattr(X, "compute") or hasattr(X, "collect"):
            raise InputTypeError(
                f"the best rows of a batch are found among all of them, in memory, and `X` is "
                f"{described(X)}: pass its rows as a frame or an array"
            )
        if isinstance(by, str):
            by = _column_named(by, X, sensitive_features)
        else:
            by = aligned(by, X, "by")
        return Capacity.of(at_most, int(_num_samples(X)), by)

    def _row_hash(self, X: Any) -> NDArray[np.float64]:
        """A number in [0, 1) for each row, whatever the batch."""
        key = getattr(self, "draw_key_", 0)
        names = getattr(self, "draw_columns_", None)
        if names is None and frame_of(X) is not None:
            names = list(getattr(self, "feature_names_in_", ())) or None
        try:
            found = self._draws_of(X, key, names)
            return row_draws(X, key=key, feature_names=names) if found is None else found
        except TypeError as error:
            raise InputTypeError(
                "rows at the border of `at_most` are equally good, a hash of each row would "
                f"decide, and these have none: {error}. `draw` may name a column of identifiers"
            ) from None


def _column_named(name: str, X: Any, sensitive_features: Any) -> Any:
    """A column of what stands beside X, else of X."""
    if isinstance(sensitive_features, Mapping):
        beside = sensitive_features
        if name in beside:
            return aligned(beside[name], X, "by")
    elif not isinstance(sensitive_features, (str, list, tuple)):
        frame = None if sensitive_features is None else frame_of(sensitive_features, "by")
        if frame is not None and name in frame.columns:
            given = aligned(sensitive_features, X, "sensitive_features")
            return column_of(given, name, "by")
    return column_of(X, name, "by")
