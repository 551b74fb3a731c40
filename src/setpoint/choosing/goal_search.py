"""GoalSearchCV: the best of several classifiers by a goal, judged out of fold."""

from __future__ import annotations

import math
import time
from contextlib import suppress
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.linear_model import LogisticRegression
from sklearn.utils import get_tags

from setpoint.choosing.best_on_new_rows import BestOnNewRows
from setpoint.choosing.candidates import Candidate, candidates_of, decides
from setpoint.choosing.fitting_folds import check_candidates
from setpoint.choosing.named_classifiers import NamedClassifiers
from setpoint.choosing.rounds import Rounds
from setpoint.choosing.rows_to_choose_on import RowsToChooseOn
from setpoint.choosing.search_result import SearchResult
from setpoint.choosing.search_table import table_of
from setpoint.errors import InputError, InputTypeError
from setpoint.goals.errors import GoalError
from setpoint.goals.goal import Goal, as_goal
from setpoint.parameters import check, is_number
from setpoint.plugin import PlugInClassifier
from setpoint.plugin.crossfit import Response
from setpoint.plugin.parameters import Options
from setpoint.program.link import waits_for_class
from setpoint.report import GoalReport

__all__ = ["GoalSearchCV"]


class GoalSearchCV(BestOnNewRows, MetaEstimatorMixin, ClassifierMixin, NamedClassifiers):
    """Choose a model, or its parameters, by a goal: one verdict for each over all folds.

    Each candidate is fitted once a fold and scores the rows that it did not see. The rule that
    decides a fold is found on the scores of all other folds, so that no row judges a rule that it
    chose. All folds together then give one report with limits and verdicts for each candidate,
    and, by the pairs of decisions, the difference of the goal's objective between any two.

    Candidates that are shown to fail the goal come last. The others are ranked by the objective
    less what a missed bound costs, without a jump at the bound: a rule that just meets its bound
    misses it on half of all samples, and whoever ranks by whether it did so ranks by chance.

    Parameters
    ----------
    estimator : classifier, or dict of name to classifier
        Of two kinds. Any classifier with ``predict_proba`` or ``decision_function`` is judged, and
        in the end fitted, with the best rule over its scores, as :class:`PlugInClassifier` finds
        it. A classifier of this library, or a pipeline that ends in one, is judged by what it
        decides: it is fitted anew on the other rows of each fold.
    grid : dict, list of dict or None, default=None
        Parameters and the values that each is tried with, as in ``GridSearchCV``. Of several
        classifiers a dict of name to such a grid; those that it does not name are tried as they
        are.
    goal : Goal, str or metric
        By which candidates are judged, and rules are found. A classifier of this library has its
        own goal too, which may be a stricter one.
    cv : int, float, splitter, iterable or None, default=None
        None: 5 stratified folds. A float: one stratified split of that share. The rows that splits
        leave out do not overlap.
    halving : bool, default=False
        Whether many candidates are first judged on few rows: a third as many rows for each
        third of the candidates that is dropped, 1,000 or more in a round, and all rows in the last
        one. None is dropped that the rows do not show to be worse than the best of the round.
    refit : bool, default=True
        Whether the best is fitted on all rows, as ``best_estimator_``.
    error_score : "raise" or nan, default=nan
        What becomes of a candidate whose fit fails: nan puts it last, with a FitFailedWarning.
    sensitive_features : str or list of str, default=None
        Names of columns of X with side information; or pass columns to ``fit``.
    baseline : str or fitted classifier, default=None
        A column of X with the deployed model's predictions, or the model; or pass predictions to
        ``fit``.
    pos_label : label, default=None
        As of :class:`PlugInClassifier`.
    decide_on : "auto", None, str or list of str, default="auto"
        The columns that rules over scores may look at, as of :class:`PlugInClassifier`.
    on_infeasible : {"raise", "nearest"}, default="raise"
        What the fit on all rows does where no rule over the best model's scores meets the goal.
    random_state : int, generator or None, default=None
        For the split of a float `cv`, and the rows of halving.
    n_jobs : int, default=None
        Fits at a time.
    verbose : int, default=0
        As in joblib.

    Attributes
    ----------
    search_ : SearchResult
        The candidates, to be printed.
    cv_results_ : dict of arrays
        One entry a candidate: "candidate", "params", "objective" and each constraint with their
        limits, "feasible" and "verdict" of the goal, "rank", the "difference" of the objective to
        the best with its limits, what the rows show "against_the_best",
        "cannot_be_distinguished", and "rows", fewer where halving dropped it.
        ``pandas.DataFrame(search.cv_results_)`` shows it.
    best_index_ : int
    best_params_ : dict
        With "estimator", its name, where there are several.
    best_report_ : GoalReport
        Of the best, on all rows that judged it. It is the best of many on these very rows, which
        flatters it a little; ``evaluate`` on other rows does not.
    best_score_ : float
    best_estimator_ : classifier
        With `refit`: the best, fitted on all rows, with its rule.
    ties_ : list of str
        Those that cannot be distinguished from the best, which is the first.
    n_splits_ : int
    refit_time_ : float
        In seconds.
    classes_, n_features_in_, feature_names_in_
        As of `best_estimator_`.

    Raises
    ------
    GoalError
        In ``fit``: if the goal has no formula, or refers to data sets beside X.

    See Also
    --------
    setpoint.goal_scorer : The score of one fold, for tools of scikit-learn that take a scorer.

    Notes
    -----
    The more candidates, the more the best of them is flattered by the rows that chose it. Limits
    of differences hold for all candidates together, so that they widen with their number.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from setpoint import GoalSearchCV
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> models = {
    ...     "logistic": make_pipeline(StandardScaler(), LogisticRegression()),
    ...     "naive Bayes": GaussianNB(),
    ... }
    >>> grid = {"logistic": {"logisticregression__C": [0.0001, 1.0]}}
    >>> search = GoalSearchCV(models, grid, "maximize recall subject to precision >= 0.95")
    >>> search = search.fit(X, y)
    >>> search.best_params_
    {'estimator': 'logistic', 'logisticregression__C': 1.0}
    >>> search.cv_results_["rank"].tolist()
    [3, 1, 2]
    """

    _estimator_type: ClassVar = "classifier"

    def __init__(
        self,
        estimator: Any,
        grid: Any = None,
        goal: Any = None,
        *,
        cv: Any = None,
        halving: bool = False,
        refit: bool = True,
        error_score: Any = np.nan,
        sensitive_features: Any = None,
        baseline: Any = None,
        pos_label: Any = None,
        decide_on: Any = "auto",
        on_infeasible: str = "raise",
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.grid = grid
        self.goal = goal
        self.cv = cv
        self.halving = halving
        self.refit = refit
        self.error_score = error_score
        self.sensitive_features = sensitive_features
        self.baseline = baseline
        self.pos_label = pos_label
        self.decide_on = decide_on
        self.on_infeasible = on_infeasible
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(
        self,
        X: Any,
        y: Any,
        *,
        sample_weight: Any = None,
        sensitive_features: Any = None,
        baseline: Any = None,
        groups: Any = None,
    ) -> GoalSearchCV:
        """Judge all candidates, and fit the best on all rows.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (N, p)
            Passed to the candidates as it is.
        y : array-like of shape (N,)
            Two classes or more.
        sample_weight : array-like of shape (N,), optional
            Counts rows and is passed to the candidates; refused if one takes none.
        sensitive_features : column, dict or frame, optional
            Side information, where it is not in X.
        baseline : array-like of shape (N,), str or classifier, optional
            The deployed model's predictions, a column of X with them, or the model.
        groups : array-like of shape (N,), optional
            For a splitter that takes them.

        Returns
        -------
        self

        Raises
        ------
        GoalError, ValueError, TypeError
            If an argument, a candidate or the goal is wrong for these data, before any fit; the
            message says what.
        InfeasibleError
            If no rule over the scores of the best meets the constraints on all rows, unless
            ``on_infeasible="nearest"``. What the search found is kept, and so it is whatever else
            goes wrong in that fit.
        """
        goal = self._checked_goal()
        candidates = [self._completed(one) for one in candidates_of(self.estimator, self.grid)]
        template = self._with_rule(LogisticRegression(), self.cv)
        rows = RowsToChooseOn.of(
            template, goal, X, y, sample_weight, sensitive_features, baseline, groups
        )
        classes = rows.judged.classes
        response = Response("auto", classes, Options().takes_posteriors(len(classes.labels)))
        check_candidates(candidates, rows, response)
        rounds = Rounds(
            candidates, rows, goal, response, self.error_score == "raise",
            self.n_jobs, self.verbose,
        )  # fmt: skip
        found = rounds.run(bool(self.halving), template._key() % 2**32)
        table = table_of(found, candidates, rounds.seconds)
        best = found.candidates[found.best]
        for name in ("best_estimator_", "refit_time_"):  # of an earlier fit
            self.__dict__.pop(name, None)
        self.search_, self.cv_results_ = found, table
        self.best_index_ = found.best
        self.best_params_ = table["params"][found.best]
        self.best_score_ = best.score
        self.best_report_ = _flattered(best.report, len(candidates))
        self.ties_ = list(found.ties)
        self.n_splits_ = len(rows.splits)
        if self.refit:
            started = time.perf_counter()
            try:
                self.best_estimator_ = self._fitted(candidates[found.best], rows, groups)
            except Exception as error:
                error.add_note(
                    f"This is the fit of the best, {best.name}, on all rows. What the search "
                    "found is there: `search_` prints the table, and `cv_results_` has its numbers."
                )
                raise
            self.refit_time_ = time.perf_counter() - started
        return self

    # ------------------------------------------------------------------ parameters
    def _checked_goal(self) -> Goal:
        """The goal, once the parameters are checked."""
        if self.goal is None:
            raise InputTypeError(
                "`goal` is missing: candidates are judged by a goal, such as 'maximize recall "
                "subject to precision >= 0.9'"
            )
        check(
            self,
            {
                "halving": (False, True),
                "refit": (False, True),
                "on_infeasible": ("raise", "nearest"),
            },
        )
        error = self.error_score
        if error != "raise" and not (is_number(error) and math.isnan(error)):
            raise InputError(f"`error_score` is 'raise' or nan, got {error!r}")
        goal = as_goal(self.goal)
        goal.require_formula("candidates are judged by goals that are counted")
        return goal

    def _with_rule(self, estimator: Any, cv: Any) -> PlugInClassifier:
        """A model with the best rule over its scores."""
        return PlugInClassifier(
            estimator,
            self.goal,
            cv=cv,
            pos_label=self.pos_label,
            sensitive_features=self.sensitive_features,
            baseline=self.baseline,
            decide_on=self.decide_on,
            on_infeasible=self.on_infeasible,
            n_jobs=self.n_jobs,
            random_state=self.random_state,
        )

    def _completed(self, one: Candidate) -> Candidate:
        """A classifier of this library with the columns of the search, where it names none."""
        if not decides(one.estimator):
            return one
        known = one.estimator.get_params(deep=False)
        names = ("sensitive_features", "baseline", "pos_label")
        more = {
            name: getattr(self, name)
            for name in names
            if known.get(name, "") is None and getattr(self, name) is not None
        }
        return replace(one, estimator=one.estimator.set_params(**more)) if more else one

    def _fitted(self, one: Candidate, rows: RowsToChooseOn, groups: Any) -> Any:
        """The best on all rows."""
        if decides(one.estimator):
            model = clone(one.estimator)
        else:
            # The same folds again: a splitter that takes groups, or is used up, by its splits.
            known = self.cv is None or is_number(self.cv) or hasattr(self.cv, "split")
            cv = self.cv if known and groups is None else rows.splits
            model = self._with_rule(clone(one.estimator), cv)
        return model.fit(rows.X, rows.y, **rows.given())

    def _repr_html_(self) -> str:
        shown = str(super()._repr_html_())
        search: SearchResult | None = getattr(self, "search_", None)
        return shown if search is None else shown + search._repr_html_()

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        given = self.estimator
        first = next(iter(given.values()), None) if isinstance(given, dict) else given
        if hasattr(first, "__sklearn_tags__") and not isinstance(first, type):
            tags.input_tags = get_tags(first).input_tags
        with suppress(GoalError, TypeError):  # fit will say what is wrong
            tags.classifier_tags.multi_class = not waits_for_class(as_goal(self.goal))
        return tags


def _flattered(report: GoalReport | None, n_candidates: int) -> GoalReport:
    """The report of the best, which says what it is the best of."""
    assert report is not None
    if n_candidates < 2:
        return report
    text = (
        f"This is the best of {n_candidates} candidates on the rows that chose it, which flatters "
        "it a little: evaluate it on rows that took no part."
    )
    return replace(report, warnings=(*report.warnings, text))
