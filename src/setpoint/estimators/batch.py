"""The best rows of a batch, and never more than there is room for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import _num_samples, check_is_fitted

from setpoint.errors import InputError, InputTypeError
from setpoint.estimators.capacity import Capacity
from setpoint.goals.errors import nearest
from setpoint.inputs.arrays import column_of, described, frame_of
from setpoint.inputs.index import aligned
from setpoint.inputs.row_hash import row_draws

if TYPE_CHECKING:
    from setpoint.inputs.classes import ClassOrder
    from setpoint.rules import Rule

__all__ = ["DecidesBatches"]

Array = NDArray[Any]


class DecidesBatches:
    """``decide_batch`` for whatever has scores and a fitted rule."""

    if TYPE_CHECKING:
        rule_: Rule
        positive_: Any

        @property
        def _classes(self) -> ClassOrder: ...
        def _scores(self, X: Any) -> NDArray[np.float64]: ...
        def _segments(self, X: Any, sensitive_features: Any) -> NDArray[np.int64] | None: ...
        def _draws_of(
            self, X: Any, key: int, names: list[str] | None
        ) -> NDArray[np.float64] | None: ...
        def _beside_values(
            self, X: Any, scores: NDArray[np.float64], sensitive_features: Any = None
        ) -> NDArray[np.float64]: ...
        def _named(self, codes: NDArray[np.int64]) -> Array: ...

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
