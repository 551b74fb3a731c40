"""The base class of estimators that decide by a rule."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import wraps
from typing import Any, ClassVar, Concatenate, ParamSpec, Self, TypeVar, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples, check_is_fitted

from setpoint.blackbox.blackbox import BlackBox
from setpoint.blackbox.measuring import measured_value
from setpoint.caller import warn_caller
from setpoint.deciding.decide import Decision, against_deployed
from setpoint.deciding.opening import FitData, given_rows
from setpoint.estimators.bound_path import bound_path
from setpoint.estimators.row_hash import column_draws, row_draws
from setpoint.evidence import Evidence
from setpoint.exact.frontier import frontier_exact
from setpoint.goals.errors import GoalError, listed, nearest
from setpoint.goals.goal import Goal, as_goal
from setpoint.inputs.arrays import column_names, column_of
from setpoint.inputs.classes import ClassOrder
from setpoint.inputs.columns import as_columns
from setpoint.inputs.dataset import Dataset, as_datasets
from setpoint.inputs.deployed import Deployed
from setpoint.inputs.index import aligned
from setpoint.inputs.inputs import CheckedData, DecideOn, GivenRows
from setpoint.parameters import Allowed, check
from setpoint.program.link import link
from setpoint.report import (
    BoundPath,
    Entry,
    GoalReport,
    operating_points,
    report_on,
)
from setpoint.report.measured import measured_entry
from setpoint.rules import Rule
from setpoint.rules.segments import segment_in_words
from setpoint.search.frontier import Frontier, Vary, vary_of
from setpoint.search.limits import TracePoint
from setpoint.search.outcome import Randomized
from setpoint.solvers import SearchLimits, Settings, Solver, solver_of

__all__ = ["GoalClassifier", "UnknownGroupWarning", "atomic_fit"]

Array = NDArray[Any]


P = ParamSpec("P")
E = TypeVar("E", bound=BaseEstimator)


def atomic_fit(fit: Callable[Concatenate[E, P], E]) -> Callable[Concatenate[E, P], E]:
    """Restore the previous fit if this one fails."""

    @wraps(fit)
    def fitted(self: E, *args: P.args, **kwargs: P.kwargs) -> E:
        before = dict(vars(self))
        try:
            return fit(self, *args, **kwargs)
        except BaseException:
            vars(self).clear()
            vars(self).update(before)
            raise

    return cast(Callable[Concatenate[E, P], E], fitted)


class UnknownGroupWarning(UserWarning):
    """Rows of a group that was not there in ``fit`` were decided by another group's rule."""


class GoalClassifier(ClassifierMixin, BaseEstimator):
    """Prediction, distribution and evaluation for whatever has a fitted rule.

    A family gives scores in ``_scores``; in ``fit`` it opens with
    :func:`setpoint.deciding.open_fit` and ends with ``_close``.
    """

    rule_: Rule
    goal_report_: GoalReport
    classes_: Array
    positive_: Any
    draw_key_: int
    draw_columns_: list[str] | None
    largest_segment_: int
    evidence_: Evidence | None
    trace_: tuple[TracePoint, ...]
    baseline_column_: str | None

    goal: Any
    solver: Any
    limits: Any
    random_state: Any
    # What a family has no parameter for: the rule looks at the score alone, and draws nothing.
    sensitive_features: Any = None
    baseline: Any = None
    draw: str = "row"
    unknown_group: str = "raise"
    _family: ClassVar[str] = ""
    _parameters: ClassVar[Mapping[str, Allowed]] = {}

    # ------------------------------------------------------------------ parameters
    def set_params(self, **params: Any) -> Self:
        """Set parameters, also those of a value, such as ``solver__name``, ``limits__seconds``.

        Parameters
        ----------
        **params
            By name.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If there is no such parameter, or the value does not take it.
        """
        inner: dict[str, dict[str, Any]] = {}
        for key in [key for key in params if "__" in key]:
            name, _, rest = key.partition("__")
            inner.setdefault(name, {})[rest] = params.pop(key)
        super().set_params(**params)
        for name, changes in inner.items():
            value = self._value(name)
            if isinstance(value, Settings):
                setattr(self, name, value.with_params(**changes))
            elif value is not None and not hasattr(value, "set_params"):
                raise ValueError(f"{name}={value!r} takes no parameters, got {list(changes)}")
            else:
                super().set_params(**{f"{name}__{rest}": to for rest, to in changes.items()})
        return self

    def _value(self, name: str) -> Any:
        """A parameter; the value that is meant where a name or None stands for one."""
        if name == "solver" and self._family:
            return solver_of(self.solver, self._family)
        value, kind = getattr(self, name, None), self._parameters.get(name)
        if not isinstance(kind, type):
            return value
        check(self, {name: kind})
        return kind() if value is None else value

    # ------------------------------------------------------------------ for families
    def _scores(self, X: Any) -> NDArray[np.float64]:
        """Scores (N,) of the positive class, or (N, s) as the rule takes them."""
        raise NotImplementedError

    @property
    def _classes(self) -> ClassOrder:
        labels = list(self.classes_.tolist())
        if len(labels) == 2 and labels[0] == self.positive_:
            labels.reverse()
        return ClassOrder(self.classes_, tuple(labels))

    def _goal(self) -> Goal:
        return Goal.parse(self.goal_report_.goal)

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
            raise ValueError(
                f"random_state is None, an int or a generator, got {self.random_state!r}"
            )

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
            ``unknown_group="raise"``.
        """
        check_is_fitted(self)
        u = self._draws(X) if self.rule_.randomized else None
        codes = self.rule_.decide(self._scores(X), self._segments(X, sensitive_features), u)
        return np.asarray(self.classes_[np.array(self._classes.order)[codes]])

    def decision_distribution(self, X: Any, *, sensitive_features: Any = None) -> Array:
        """The probability with which the rule decides each class.

        0 and 1 but for rows whose decision depends on a draw. Not a posterior: that is
        ``predict_proba``.

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
        out = self.rule_.distribution(self._scores(X), self._segments(X, sensitive_features))
        return np.asarray(out[:, np.argsort(self._classes.order)])

    def evaluate(
        self,
        X: Any,
        y: Any,
        *,
        sample_weight: Any = None,
        sensitive_features: Any = None,
        baseline: Any = None,
        datasets: Mapping[str, Any] | None = None,
    ) -> GoalReport:
        """How far the rule reaches the goal on new rows.

        Parameters
        ----------
        X, y, sample_weight, sensitive_features, baseline, datasets
            As in ``fit``. A rule that draws is measured in expectation. Where the deployed
            model's decisions on X are available, the report compares with them, whether the
            goal refers to them or not.

        Returns
        -------
        GoalReport
            With status "evaluated".
        """
        check_is_fitted(self)
        goal = self._goal()
        rows, seen = self._seen(goal, X, y, sample_weight, sensitive_features, baseline, datasets)
        inputs = replace(seen, decide_on=())
        given: dict[str | None, tuple[Any, Any]] = {None: (X, sensitive_features)}
        for name, d in as_datasets(datasets).items():
            given[name] = rows[name].X, d.sensitive_features
        scores = {name: self._scores(given[name][0]) for name in inputs.tables}
        segments = {name: self._segments(*given[name]) for name in inputs.tables}
        decided = {name: self.rule_.distribution(scores[name], segments[name]) for name in scores}
        shown = None
        if len(self.classes_) == 2 and self.rule_.score_columns is None:
            scored = seen.evidence(scores)
            shown = operating_points(link(goal, scored.codebook), scored, self.rule_)
        report = report_on(
            link(goal, inputs.rows.codebook),
            inputs.confusion(decided),
            objective=self._measured(goal, rows[None], scores[None], segments[None]),
        )
        fitted = self.goal_report_
        return replace(
            report,
            operating=shown,
            deployed=against_deployed(inputs.tables[None], decided[None]),
            randomized=inputs.undecided(decided) if self.rule_.randomized else 0.0,
            family=fitted.family,
            solver=fitted.solver,
            rule=fitted.rule,
            positive=fitted.positive,
            decides_on=fitted.decides_on,
        )

    def _measured(
        self,
        goal: Goal,
        rows: GivenRows,
        scores: NDArray[np.float64],
        segments: NDArray[np.int64] | None,
    ) -> Entry | None:
        """What a black box says of the rule; None for a goal with a formula."""
        metric = getattr(self, "goal", None)
        if not isinstance(metric, BlackBox) or metric.goal != goal:
            return None
        found = measured_value(metric, self._classes, rows, self.rule_, scores, segments)
        return measured_entry(metric, *found)

    def _frontier(
        self,
        goal: Any = None,
        *,
        vary: Vary = None,
        values: Any = None,
        randomized: Randomized | None = None,
        X: Any = None,
        y: Any = None,
        **rows: Any,
    ) -> Frontier:
        """See :func:`setpoint.frontier`."""
        check_is_fitted(self)
        wanted, _ = vary_of(self._goal() if goal is None else as_goal(goal), vary)
        if (X is None) != (y is None):
            raise ValueError("frontier: X and y go together")
        if X is None and any(value is not None for value in rows.values()):
            given = ", ".join(name for name, value in rows.items() if value is not None)
            raise ValueError(f"frontier: {given} belongs to rows that X and y give")
        evidence = getattr(self, "evidence_", None)
        if X is not None:
            evidence = self._evidence(X, y, **rows, goal=wanted)
        if evidence is None:
            raise ValueError(
                "frontier: the rows that the rule was found on are not available (copies and model "
                "files do not hold them): give X and y"
            )
        drawn: Randomized = False
        if randomized is not None:
            drawn = randomized
        elif hasattr(self, "randomized"):
            drawn = self.randomized
        return self._frontier_on(wanted, evidence, vary, values, drawn)

    def _frontier_on(
        self, goal: Goal, evidence: Evidence, vary: Vary, values: Any, randomized: Randomized
    ) -> Frontier:
        return frontier_exact(goal, evidence, vary, values, randomized=randomized)

    def _bound_path(self, X: Any, y: Any, values: Any, **more: Any) -> BoundPath:
        """See :func:`setpoint.bound_path`."""
        return bound_path(self, X, y, values, **more)

    def __getstate__(self) -> dict[str, Any]:
        """Without the rows of ``fit``: they are not part of the model."""
        state: dict[str, Any] = dict(super().__getstate__())
        state.pop("evidence_", None)
        return state

    # ------------------------------------------------------------------ shared steps
    def _evidence(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        sensitive_features: Any = None,
        baseline: Any = None,
        datasets: Mapping[str, Any] | None = None,
        goal: Goal | None = None,
    ) -> Evidence:
        """Rows with the scores that the rule decides by, and the segments that it looks at."""
        check_is_fitted(self)
        goal = goal or self._goal()
        rows, seen = self._seen(goal, X, y, sample_weight, sensitive_features, baseline, datasets)
        return seen.evidence({name: self._scores(rows[name].X) for name in seen.tables})

    def _seen(
        self,
        goal: Goal,
        X: Any,
        y: Any,
        sample_weight: Any,
        sensitive_features: Any,
        baseline: Any,
        datasets: Mapping[str, Any] | None,
    ) -> tuple[dict[str | None, GivenRows], CheckedData]:
        """Rows for the fitted rule, as given and checked, with the columns that it looks at."""
        sets = self._datasets(datasets, X, getattr(self, "baseline_column_", None))
        rows = given_rows(self, goal, X, y, sample_weight, sensitive_features, baseline, sets)
        decides_on = list(self.goal_report_.decides_on)
        return rows, CheckedData.check(goal, self._classes, rows, decides_on)

    # ------------------------------------------------------------------ fitting
    def _chosen(self) -> tuple[Solver, SearchLimits]:
        """The solver and its limits, once the parameters are checked."""
        check(self, self._parameters)
        solver = solver_of(self.solver, self._family)
        return solver, solver.limited(self.limits)

    def _check_fit(self, goal: Goal, X: Any, solver: Solver) -> None:
        """Refuse parameters, and goals of another kind, before any work."""
        self._check_named()
        self._check_draw(X)

    def _features(self, X: Any, column: str | None, reset: bool = False) -> Any:
        """X as the model takes it; `column` is the deployed model's and not a feature."""
        return X

    def _classes_for(self, goal: Goal, y: Any, weight: NDArray[np.float64] | None) -> ClassOrder:
        """The classes of the labels, in order."""
        raise NotImplementedError

    def _datasets(self, datasets: Any, X: Any, column: str | None) -> dict[str, Dataset]:
        """Further data sets beside X as the family takes them."""
        return as_datasets(datasets)

    def _decides_on(self, goal: Goal, given: Any) -> DecideOn:
        """The columns that the rule may look at beside the score."""
        return None

    def _close(self, data: FitData, decision: Decision) -> None:
        """Keep the rule, its report and what predictions need."""
        rule, rows = decision.rule, decision.found.rows
        names = column_names(data.X)
        if rule.randomized:
            self._check_drawable(data.X, data.key, names)
        self.rule_, self.goal_report_, self.trace_ = rule, decision.report, decision.trace
        self.classes_ = data.classes.sorted
        self.positive_ = data.classes.labels[1] if len(data.classes.labels) == 2 else None
        self.baseline_column_ = data.column
        self.evidence_ = rows
        self.draw_key_, self.draw_columns_ = data.key, names
        sizes = rows.rows.segment_weights
        self.largest_segment_ = int(np.argmax(sizes[sizes > 0.0]))  # the rule has no others

    def _segments(self, X: Any, sensitive_features: Any) -> NDArray[np.int64] | None:
        """The segment of each row, where the rule looks at more than the score."""
        if not self.rule_.needs_segments:
            return None
        names = self.goal_report_.decides_on
        given = self.sensitive_features if sensitive_features is None else sensitive_features
        if given is None:
            raise GoalError(
                f"the rule looks at {list(names)}: pass sensitive_features=, or name columns of X "
                "in the constructor"
            )
        n_rows = int(_num_samples(X))
        columns = as_columns(
            aligned(given, X, "sensitive_features"),
            n_rows=n_rows,
            X=X,
            wanted=names,
            free=names,
            missing=self.unknown_group == "largest",
            who="the rule looks at",
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
        if self.unknown_group == "raise":
            raise GoalError(
                f"{message}in row {first} (it saw {listed(known)}); unknown_group='largest' "
                "decides them by the rule of the largest group"
            )
        warn_caller(
            f"{message}in row {first}; they are decided by the rule for "
            f"{known[self.largest_segment_]}",
            UnknownGroupWarning,
        )
        return np.where(unseen, self.largest_segment_, codes)

    def _draws(self, X: Any) -> NDArray[np.float64]:
        """One uniform number a row; see `draw`."""
        if self.draw == "random":
            seed = None if self.random_state is None else self.draw_key_
            return np.random.default_rng(seed).random(int(_num_samples(X)))
        if self.draw == "row":
            return row_draws(X, key=self.draw_key_, feature_names=self.draw_columns_)
        return column_draws(column_of(X, self.draw, "draw"), key=self.draw_key_)

    def _check_drawable(self, X: Any, key: int, names: list[str] | None) -> None:
        """Find rows that cannot be drawn for in ``fit``, not after deployment."""
        if self.draw != "row":
            return
        some = _safe_indexing(X, np.arange(min(100, int(_num_samples(X)))))
        try:
            row_draws(some, key=key, feature_names=names)
        except TypeError as error:
            raise TypeError(
                f"draw='row' cannot hash these rows, and the rule draws: {error}. Use "
                "draw='random', draw= a column that identifies the row, or randomized=False"
            ) from None

    def _check_draw(self, X: Any) -> None:
        """Refuse a `draw` that ``predict`` could not use."""
        known = ["row", "random", *(column_names(X) or ())]
        if self.draw not in known:
            raise ValueError(
                f"draw is 'row', 'random' or a column of X, got {self.draw!r} "
                f"({nearest(self.draw, known)})"
            )

    def _check_named(self) -> None:
        """What the constructor says of columns and of the deployed model has to last."""
        names = self.sensitive_features
        words = [] if names is None else [names] if isinstance(names, str) else names
        if not isinstance(words, (list, tuple)) or not all(isinstance(w, str) for w in words):
            raise ValueError(
                "sensitive_features in the constructor names columns of X, one or a list, got a "
                f"{type(names).__name__}; pass columns of values to fit"
            )
        deployed = Deployed.of(self.baseline)
        if deployed is not None and not deployed.lasts:
            raise ValueError(
                "baseline in the constructor is a column of X or a classifier, got a "
                f"{type(deployed.source).__name__}; pass predictions to fit"
            )
