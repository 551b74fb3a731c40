"""Classifiers that decide by a rule: decisions, their explorer, their view in a notebook."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples, check_is_fitted

from setpoint.array_types import Bools, Floats
from setpoint.counts import Column, side_by_side
from setpoint.errors import GoalError, InputError, InputTypeError, listed, nearest, warn_caller
from setpoint.goals import Goal
from setpoint.inputs import (
    ClassOrder,
    aligned,
    as_columns,
    check_length,
    column_draws,
    column_names,
    column_of,
    described,
    first_bad,
    frame_of,
    in_frame,
    is_missing,
    kind_of,
    levels_of,
    number_columns,
    one_column,
    row_draws,
)
from setpoint.parameters import is_integer
from setpoint.report import GoalReport
from setpoint.rules import Rule, segment_in_words
from setpoint.solvers import ModelResponse
from setpoint.sources import require_memory

# --- Prediction by a fitted rule: scores, segments and draws in, labels out -----------------------


Array = NDArray[Any]


class UnknownGroupWarning(UserWarning):
    """Rows of a group that was not there in ``fit`` were decided by another group's rule."""


class DecidesByRule(ClassifierMixin, BaseEstimator):
    """Prediction and distribution for whatever has scores and a fitted rule."""

    rule_: Rule
    goal_report_: GoalReport
    classes_: Array
    positive_: Any
    draw_key_: int
    draw_columns_: list[str] | None
    largest_segment_: int

    random_state: Any
    # What a family has no parameter for: the rule looks at the score alone, and draws nothing.
    sensitive_features: Any = None
    draw: str = "row"
    response: Any = "model"

    def _scores(self, X: Any) -> NDArray[np.float64]:
        """Scores (N,) of the positive class, or (N, s) as the rule takes them."""
        raise NotImplementedError

    def _scores_by_posteriors(self, posteriors: NDArray[np.float64]) -> Any:
        """`_scores` by what ``predict_proba`` gave; None where they are not made of it."""
        return None

    def _unbound(self) -> tuple[str, ...]:
        """A sentence where what was promised was promised of another model or rule."""
        raise NotImplementedError

    @property
    def _answers(self) -> ModelResponse:
        """What a model inside is asked, and how rows are answered."""
        return ModelResponse.of(self.response)

    @property
    def _classes(self) -> ClassOrder:
        labels = list(self.classes_.tolist())
        if len(labels) == 2 and labels[0] == self.positive_:
            labels.reverse()
        return ClassOrder(self.classes_, tuple(labels))

    # ------------------------------------------------------------------ predictions
    def predict(self, X: Any, *, sensitive_features: Any = None) -> Array:
        """Decide each row.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (N, p)
        sensitive_features : column, dict or frame, optional
            The columns that the rule looks at, where they are not columns of X.

        Returns
        -------
        array of shape (N,)
            Labels.

        Raises
        ------
        GoalError
            If a column that the rule looks at is missing, or a group is unseen and
            ``unknown_group="raise"``, see :class:`setpoint.solvers.ModelResponse`.
        """
        check_is_fitted(self)
        require_memory(X)
        return self._decided(X, self._scores(X), sensitive_features)

    def _decided(
        self, X: Any, scores: NDArray[np.float64], sensitive_features: Any = None
    ) -> Array:
        """Decide rows whose scores are known."""
        scores, segments, u = self._seen_by_rule(X, scores, sensitive_features)
        return self._named(self.rule_.decide(scores, segments, u))

    def _seen_by_rule(
        self, X: Any, scores: NDArray[np.float64], sensitive_features: Any
    ) -> tuple[NDArray[np.float64], NDArray[np.int64] | None, NDArray[np.float64] | None]:
        """What the rule looks at of each row: scores with values behind, segments and draws."""
        u = self._draws(X) if self.rule_.randomized else None
        scores = self._beside_values(X, scores, sensitive_features)
        return scores, self._segments(X, sensitive_features), u

    def decision_distribution(self, X: Any, *, sensitive_features: Any = None) -> Array:
        """The probability with which the rule decides each class.

        0 and 1 but for rows whose decision depends on a draw. Not a posterior: that is
        ``predict_proba``. Where the rule may defer, the last column is that of deferring.

        Parameters
        ----------
        X, sensitive_features
            As in :meth:`predict`.

        Returns
        -------
        array of shape (N, n)
            Columns in the order of ``classes_``.
        """
        check_is_fitted(self)
        scores = self._beside_values(X, self._scores(X), sensitive_features)
        out = self.rule_.distribution(scores, self._segments(X, sensitive_features))
        n = len(self.classes_)
        return np.asarray(out[:, [*np.argsort(self._classes.order), *range(n, out.shape[1])]])

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of right decisions; a row that is deferred is not one.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (N, p)
        y : array-like of shape (N,)
        sample_weight : array-like of shape (N,), optional

        Returns
        -------
        float
        """
        decided = self.predict(X)
        if not self._defers:
            return float(accuracy_score(y, decided, sample_weight=sample_weight))
        right = np.asarray(decided, object) == np.asarray(y, object)
        return float(np.average(right, weights=sample_weight))

    @property
    def _defers(self) -> bool:
        """Whether the rule may leave rows undecided."""
        return bool(self.rule_.n_classes > len(self.classes_))

    def _check_deferring(self, goal: Goal) -> None:
        """Refuse a goal that does not say what a row is that the rule leaves undecided."""
        if self._defers and not goal.defers:
            raise GoalError(
                f"the rule defers rows, and '{goal}' does not say so; with the constraint "
                "deferral_rate <= 1 the goal counts them, as neither right nor wrong"
            )

    def _share_seen(self, X: Any, weight: NDArray[np.float64] | None) -> float:
        """The share of rows that took part in the fit; 0 where that is not known."""
        digest = getattr(self, "digest_", None)
        return 0.0 if digest is None else float(digest.share_of(X, weight))

    def _shares(
        self, goal: Goal, scores: NDArray[np.float64], segments: NDArray[np.int64] | None
    ) -> NDArray[np.float64]:
        """The probability of each answer that a goal knows, in the order of the library."""
        out = self.rule_.distribution(scores, segments)
        if goal.defers and not self._defers:
            out = np.column_stack([out, np.zeros(len(out))])
        return out

    def _named(self, codes: NDArray[np.int64]) -> Array:
        """The labels of what a rule decides; what is deferred has a label of its own."""
        known = self.classes_[np.array(self._classes.order)]
        if not self._defers:
            return np.asarray(known[codes])
        label = self._answers.defer_label
        same = known.dtype.kind in ("U" if isinstance(label, str) else "iuf")
        answers = np.append(known, label) if same else np.array([*known.tolist(), label], object)
        return np.asarray(answers[codes])

    def _beside_values(
        self, X: Any, scores: NDArray[np.float64], sensitive_features: Any = None
    ) -> NDArray[np.float64]:
        """The scores as the rule takes them: with columns of values behind, where it sees some."""
        names = self.rule_.value_columns
        if not names:
            return scores
        given = self.sensitive_features if sensitive_features is None else sensitive_features
        wanted = [name for name in names if not in_frame(X, name)]
        known = {} if given is None else _columns(X, given, numbers=wanted)
        found = number_columns(dict.fromkeys(names, False), known, X, who="the rule looks at")
        return side_by_side(scores, [found[name].values for name in names])

    def _segments(self, X: Any, sensitive_features: Any) -> NDArray[np.int64] | None:
        """The segment of each row, where the rule looks at more than the score."""
        self._check_promised_groups(X, sensitive_features)
        if not self.rule_.needs_segments:
            return None
        names = self.goal_report_.rule.decides_on
        given = self.sensitive_features if sensitive_features is None else sensitive_features
        if given is None:
            raise GoalError(
                f"the rule looks at {list(names)}: pass `sensitive_features`, or name columns of X "
                "in the constructor"
            )
        who, missing = "the rule looks at", self._answers.unknown_group == "largest"
        columns = _columns(X, given, wanted=names, free=names, missing=missing, who=who)
        codes = self.rule_.segment_codes(columns)
        unseen = codes < 0  # a missing group is one of them
        if not unseen.any():
            return codes
        first = int(np.flatnonzero(unseen)[0])
        row = {name: columns[name].take(np.array([first])).values.tolist()[0] for name in names}
        group = segment_in_words(tuple(row.items()))
        known = [segment_in_words(key) for key in self.rule_.segment_keys]
        message = f"{int(unseen.sum())} rows are of a group that fit did not see, as {group} "
        if not missing:
            raise GoalError(
                f"{message}in row {first} (it saw {listed(known)}); `unknown_group='largest'` "
                "decides them by the rule of the largest group"
            )
        warn_caller(
            f"{message}in row {first}; they are decided by the rule for "
            f"{known[self.largest_segment_]}",
            UnknownGroupWarning,
        )
        return np.where(unseen, self.largest_segment_, codes)

    def _check_promised_groups(self, X: Any, sensitive_features: Any) -> None:
        """Refuse groups of which a certified rule promises nothing."""
        guarantee = self.goal_report_.guarantee
        if guarantee is None or guarantee.state != "certified":
            return
        looks = set(self.goal_report_.rule.decides_on)
        for names, groups in guarantee.groups:
            given = self.sensitive_features if sensitive_features is None else sensitive_features
            if given is None and all(in_frame(X, name) for name in names):
                given = list(names)
            if given is None or looks.issuperset(names):
                continue  # not there, or the rule itself refuses them
            who = "the promise is about groups by"
            columns = _columns(X, given, wanted=names, free=names, missing=True, who=who)
            rows = list(zip(*(columns[name].values.tolist() for name in names), strict=True))
            first = next((i for i, row in enumerate(rows) if row not in groups), None)
            if first is None:
                continue
            group = segment_in_words(tuple(zip(names, rows[first], strict=True)))
            message = f"row {first} is of a group of which nothing is promised, {group}"
            if self._answers.unknown_group == "raise":
                raise GoalError(
                    f"{message}: a certified rule does not decide it; `unknown_group='largest'` "
                    "of ModelResponse decides such rows, outside the promise"
                )
            warn_caller(f"{message}; it is decided outside the promise", UnknownGroupWarning)

    # ------------------------------------------------------------------ in a notebook
    def _repr_html_inner(self) -> str:
        return str(super()._repr_html_inner()) + self._shown_report()

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        out: dict[str, str] = super()._repr_mimebundle_(**kwargs)
        if "text/html" in out:
            out["text/html"] += self._shown_report()
        return out

    def _shown_report(self) -> str:
        """The report below the diagram; of a classifier that is not fitted there is none."""
        report = getattr(self, "goal_report_", None)
        return "" if report is None else str(report._repr_html_())

    # ------------------------------------------------------------------ draws
    def _key(self) -> int:
        """The key of draws by row: fixed without a random_state."""
        self._check_random_state()
        state = self.random_state
        if state is None:
            return 0
        if isinstance(state, np.random.Generator):
            return int(state.integers(2**63))
        if isinstance(state, np.random.RandomState):
            return int(state.randint(2**31 - 1))
        return int(state) % 2**64

    def _check_random_state(self) -> None:
        """Refuse what nothing can be drawn from."""
        known = (numbers.Integral, np.random.Generator, np.random.RandomState)
        if self.random_state is not None and not isinstance(self.random_state, known):
            raise InputError(
                f"`random_state` is None, an int or a generator, got {self.random_state!r}"
            )

    def _draws(self, X: Any) -> NDArray[np.float64]:
        """One uniform number a row; see `draw`."""
        found = self._draws_of(X, self.draw_key_, self.draw_columns_)
        seed = None if self.random_state is None else self.draw_key_
        rng = np.random.default_rng(seed)
        return rng.random(int(_num_samples(X))) if found is None else found

    def _draws_of(self, X: Any, key: int, names: list[str] | None) -> NDArray[np.float64] | None:
        """Draws that the rows' content settles; None where they are drawn anew each time."""
        if self.draw == "random":
            return None
        if self.draw == "row":
            return row_draws(X, key=key, feature_names=names)
        return column_draws(column_of(X, self.draw, "draw"), key=key)

    def _check_drawable(self, X: Any, key: int, names: list[str] | None) -> None:
        """Find rows that cannot be drawn for in ``fit``, not after deployment."""
        if self.draw != "row":
            return
        some = _safe_indexing(X, np.arange(min(100, int(_num_samples(X)))))
        try:
            row_draws(some, key=key, feature_names=names)
        except TypeError as error:
            raise InputTypeError(
                f"the rule draws by a hash of each row, and these have none: {error}. A rule "
                "without draws (`randomized=False`) needs none, nor does another `draw`"
            ) from None

    def _check_draw(self, X: Any) -> None:
        """Refuse a `draw` that ``predict`` could not use."""
        known = ["row", "random", *(column_names(X) or ())]
        if self.draw not in known:
            raise InputError(
                f"`draw` is 'row', 'random' or a column of X, got {self.draw!r} "
                f"({nearest(self.draw, known)})"
            )


def _columns(X: Any, given: Any, **how: Any) -> dict[str, Column]:
    """The columns beside X, or of it, checked."""
    given = aligned(given, X, "sensitive_features")
    return as_columns(given, n_rows=int(_num_samples(X)), X=X, **how)


# --- How many rows a batch has room for, in all or in each group ----------------------------------


def check_at_most(at_most: Any, grouped: bool) -> dict[str, int]:
    """The numbers of rows by what messages call them; refuses anything else before any work.

    Examples
    --------
    >>> check_at_most({"north": 20, "south": 5}, grouped=True)
    {"at_most['north']": 20, "at_most['south']": 5}
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
    return numbers


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
        for name, most in check_at_most(at_most, by is not None).items():
            if most > n_rows:
                raise InputError(
                    f"`{name}` is {most}, and the batch has {n_rows} rows: there is room for all "
                    "of them, which needs no bound"
                )
        if by is None:
            return cls(np.array([at_most]), np.zeros(n_rows, dtype=np.int64))
        levels, groups = _groups(by, n_rows)
        each = at_most if isinstance(at_most, Mapping) else dict.fromkeys(levels, at_most)
        absent = [level for level in levels if level not in each]
        if absent:
            places = [levels.index(level) for level in absent]
            raise InputError(
                f"`at_most` has no number for {listed([repr(level) for level in absent])}, of "
                f"which the batch has {int(np.isin(groups, places).sum())} rows "
                f"({nearest(absent[0], each)})"
            )
        return cls(np.array([each[level] for level in levels]), groups)

    def exceeded(self, accepted: Bools) -> bool:
        """Whether more rows are accepted than there is room for."""
        sizes = np.bincount(self.groups[accepted], minlength=len(self.most))
        return bool((sizes > self.most).any())

    def best(self, accepted: Bools, keys: Sequence[Floats], draws: Callable[[], Floats]) -> Bools:
        """Those of the rows accepted that there is room for."""
        rows = np.flatnonzero(accepted)
        groups, sort_by = self.groups[rows], [-key[rows] for key in keys]
        sizes = np.bincount(groups, minlength=len(self.most))
        in_order = np.sort(groups)  # rows group by group, low keys first
        place = np.arange(len(rows)) - (np.cumsum(sizes) - sizes)[in_order]
        order = np.lexsort((*reversed(sort_by), groups))
        border = place == self.most[in_order]  # the first of each group that is left out
        last, first = order[np.flatnonzero(border) - 1], order[border]
        if np.all([key[last] == key[first] for key in sort_by], axis=0).any():  # a tie
            order = np.lexsort((draws()[rows], *reversed(sort_by), groups))
        kept = np.zeros(len(accepted), dtype=np.bool_)
        kept[rows[order[place < self.most[in_order]]]] = True
        return kept


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
        on each accepted row, which moves all thresholds up equally. (Where probabilities are exact
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
        named = isinstance(by, str)
        by = _column_named(by, X, sensitive_features) if named else aligned(by, X, "by")
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
    given = sensitive_features
    if isinstance(given, Mapping):
        if name in given:
            return aligned(given[name], X, "by")
    elif given is not None and not isinstance(given, (str, list, tuple)):
        frame = frame_of(given, "by")
        if frame is not None and name in frame.columns:
            return column_of(aligned(given, X, "sensitive_features"), name, "by")
    return column_of(X, name, "by")
