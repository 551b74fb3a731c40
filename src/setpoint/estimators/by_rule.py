"""Classifiers that decide by a rule: decisions, their explorer, their view in a notebook."""

from __future__ import annotations

import numbers
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples, check_is_fitted

from setpoint.counts import Column, Evidence, counted_rows, side_by_side
from setpoint.errors import (
    GoalError,
    InputError,
    InputTypeError,
    listed,
    nearest,
    warn_caller,
)
from setpoint.explorer import (
    SEVERAL,
    Explorer,
    GivenScores,
    ScoredRows,
    cautions,
    check_curve,
    check_of,
    explorer_of,
    joined,
    names_of,
    rows_of_fit,
)
from setpoint.goals import Goal, as_goal
from setpoint.inputs import (
    ClassOrder,
    aligned,
    as_columns,
    column_draws,
    column_names,
    column_of,
    in_frame,
    number_columns,
    row_draws,
)
from setpoint.report import GoalReport, percent
from setpoint.rules import Rule, segment_in_words
from setpoint.solvers import ModelResponse
from setpoint.sources import require_memory

if TYPE_CHECKING:
    from setpoint.estimators.base import GoalClassifier

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
        u = self._draws(X) if self.rule_.randomized else None
        scores = self._beside_values(X, scores, sensitive_features)
        codes = self.rule_.decide(scores, self._segments(X, sensitive_features), u)
        return self._named(codes)

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
        label, text = self._answers.defer_label, known.dtype.kind == "U"
        same = (text and isinstance(label, str)) or (
            known.dtype.kind in "iuf" and not isinstance(label, str)
        )
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
        known: dict[str, Column] = {}
        if given is not None:
            wanted = [name for name in names if not in_frame(X, name)]
            known = _columns(X, given, numbers=wanted)
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
        missing = self._answers.unknown_group == "largest"
        columns = _columns(
            X, given, wanted=names, free=names, missing=missing, who="the rule looks at"
        )
        codes = self.rule_.segment_codes(columns)
        unseen = codes < 0  # a missing group is one of them
        if not unseen.any():
            return codes
        first = int(np.flatnonzero(unseen)[0])
        row = {name: columns[name].take(np.array([first])).values.tolist()[0] for name in names}
        group = segment_in_words(tuple(row.items()))
        known = [segment_in_words(key) for key in self.rule_.segment_keys]
        message = f"{int(unseen.sum())} rows are of a group that fit did not see, as {group} "
        if self._answers.unknown_group == "raise":
            raise GoalError(
                f"{message}in row {first} (it saw {listed(known)}); "
                "`unknown_group='largest'` decides them by the rule of the "
                "largest group"
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
            if looks.issuperset(names):
                continue  # the rule itself refuses them
            if given is None and all(in_frame(X, name) for name in names):
                given = list(names)
            if given is None:
                continue
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
        if found is not None:
            return found
        seed = None if self.random_state is None else self.draw_key_
        return np.random.default_rng(seed).random(int(_num_samples(X)))

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


# --- The rows that a rule was found on, or others in their place ----------------------------------


def require_rows(
    what: str, X: Any, y: Any, beside: Mapping[str, Any], evidence: Evidence | None
) -> None:
    """Refuse to go on without rows, or with a part of them."""
    if (X is None) != (y is None):
        raise InputError(f"{what}: `X` and `y` go together")
    if X is not None:
        return
    given = ", ".join(f"`{name}`" for name, value in beside.items() if value is not None)
    if given:
        raise InputError(f"{what}: {given} belongs to rows that `X` and `y` give")
    if evidence is None:
        raise InputError(
            f"{what}: the rows that the rule was found on are not available (copies and model "
            "files do not hold them): give X and y"
        )


# --- The explorer of a fitted classifier: chosen on out-of-fold scores ----------------------------


_SHARE = 0.3
"""Of the rows given, held out where they have to serve for choosing too."""

_OF_CHECK = ("X", "y", "sample_weight", "sensitive_features", "baseline")


def explored(
    classifier: GoalClassifier,
    X: Any,
    y: Any,
    by: str | Sequence[str] | None,
    goal: Any,
    other_goal: Any,
    given: Mapping[str, Any],
    check: Any = None,
) -> Explorer:
    """See :meth:`setpoint.estimators.base.GoalClassifier.explore`."""
    wanted = _SHARE if check is None else None if check == 0 else check
    apart, share = check_of(wanted, _OF_CHECK)
    goals = [classifier._goal() if goal is None else as_goal(goal)]
    if other_goal is not None:
        goals.append(as_goal(other_goal))
    names, both = names_of(by), joined(*goals)
    evidence = getattr(classifier, "evidence_", None)
    require_rows("explore", X, y, given, evidence)
    if evidence is not None and check is not None:
        raise InputError(
            "`check`: the rows of fit are there to choose on, and X and y are those of the check; "
            "leave it out"
        )
    rule, warnings = classifier.rule_, cautions(both)
    check_curve(both, len(classifier.classes_), rule.value_columns, classifier._defers)
    if rule.score_columns is not None:
        raise InputError(SEVERAL)

    def checked(of: str, X: Any, y: Any, **sides: Any) -> GivenScores:
        rows, inputs = classifier._seen(both, X, y, **sides)
        scores = classifier._scores(X)
        out = GivenScores.of(rows[None], inputs, scores, names, "The rows given to explore.")
        weight = inputs.tables[None].weight
        codes = classifier._segments(X, sides["sensitive_features"])
        codes = None if codes is None else codes[counted_rows(weight)]
        if seen := classifier._share_seen(X, weight):
            warnings.append(
                f"{of}{percent(seen)} of the rows given were in the fit; they flatter the rule."
            )
        return out.decided(rule, codes)

    own: GivenScores | ScoredRows
    held: GivenScores | float | None = None
    if evidence is None:
        own = checked("", X, y, **given)
        held = share
        if apart is not None:
            held = checked("The check: ", **{name: apart.get(name) for name in ("X", "y", *given)})
    else:
        if X is not None:
            held = checked("The check: ", X, y, **given)
        own = rows_of_fit(both, evidence, rule)
        for name in names:
            if name not in both.needs.columns.get(None, {}):
                raise InputError(
                    f"`by`: of the rows of fit the columns that the goal names are kept, not "
                    f"{name!r} ({nearest(name, both.needs.names)}); setpoint.explore takes scores "
                    "with any columns"
                )
    return explorer_of(goals, own, held, held_name="X", rule=rule, warnings=warnings)
