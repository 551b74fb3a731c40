"""The part of PlugInClassifier that deals with tables elsewhere: fit and predict."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from setpoint.counting.reading import package
from setpoint.deciding.scored import promised
from setpoint.errors import InputError, InputTypeError
from setpoint.estimators.base import GoalClassifier
from setpoint.estimators.progress import LiveLine
from setpoint.goals.errors import GoalError
from setpoint.goals.goal import Goal, as_goal
from setpoint.inputs.arrays import some
from setpoint.inputs.classes import ClassOrder
from setpoint.inputs.deployed import Deployed
from setpoint.inputs.digest import RowDigest
from setpoint.inputs.frames import FrameRows
from setpoint.plugin.auto.choice import ModelChoice
from setpoint.plugin.crossfit import Response
from setpoint.plugin.fitting_elsewhere import FittedElsewhere, TableTask, labels_of
from setpoint.plugin.group_posteriors import JointModel
from setpoint.plugin.inner import InnerModel
from setpoint.plugin.learner_ensemble import Retrained
from setpoint.plugin.parameters import Options
from setpoint.plugin.tables_to_fit import FitTable, is_dask
from setpoint.solvers import HoldOut, SearchLimits, Solver

__all__ = ["FitsTables"]


class FitsTables(InnerModel, GoalClassifier):
    """Fitting on tables whose rows lie elsewhere, and deciding them there."""

    estimator_: Any
    posterior_: bool
    scorer_: JointModel | Retrained | None
    choice_: ModelChoice | None
    gap_: float | None
    n_oracle_calls_: int | None

    estimator: Any
    cv: Any
    evidence: Any
    decide_on: Any
    randomized: Any
    on_infeasible: Any
    limits: SearchLimits | None
    verbose: int

    def predict(self, X: Any, *, sensitive_features: Any = None) -> Any:
        """Decide each row.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (N, p)
            Of a dask DataFrame each partition is decided when the result is computed.
        sensitive_features : column, dict or frame, optional
            The columns that the rule looks at, where they are not columns of X. Of a dask
            DataFrame names of its columns alone.

        Returns
        -------
        array of shape (N,)
            Labels; for a dask DataFrame a dask Series of them.

        Raises
        ------
        GoalError
            If a column that the rule looks at is missing, or a group is unseen and
            ``unknown_group="raise"``, see :class:`setpoint.solvers.ModelResponse`.
        """
        if not is_dask(X):
            return super().predict(X, sensitive_features=sensitive_features)
        check_is_fitted(self)
        names = sensitive_features
        if not (names is None or isinstance(names, str) or _are_names(names)):
            raise InputTypeError(
                "`sensitive_features`: of a dask DataFrame names of its columns, found "
                f"{type(names).__name__}"
            )
        series = package("pandas").Series
        meta = series(self.classes_[:0], index=X._meta.index, name="prediction")
        return X.map_partitions(_decided, self, names, meta=meta)

    def _fit_table(
        self,
        X: Any,
        y: Any,
        *,
        sample_weight: Any,
        sensitive_features: Any,
        baseline: Any,
        **others: Any,
    ) -> None:
        """Fit on a table elsewhere; see ``fit``."""
        goal = as_goal(self.goal)
        if self._auto is not None:
            raise InputError(
                f"`estimator={self.estimator!r}` tries models on rows in memory, and the table "
                "lies elsewhere: name a model, such as the one that 'auto' chooses on a part of it"
            )
        solver, _ = self._chosen()
        options = self._options_elsewhere(goal, solver)
        self._check_elsewhere(goal, **others)
        side = self.sensitive_features if sensitive_features is None else sensitive_features
        table = FitTable.of(
            X,
            y,
            sample_weight=sample_weight,
            sensitive_features=side,
            baseline=baseline,
            kept=self._kept_baseline(baseline),
        )
        features = list(table.features)
        self._check_fit(goal, package("pandas").DataFrame(columns=features), solver)
        self._check_columns(goal, table)
        labels, n_rows = labels_of(table)
        classes = self._classes_for(goal, labels, None)
        if len(classes.labels) > 2:
            raise GoalError(
                f"Only binary classification is supported on a table elsewhere: y holds "
                f"{len(classes.labels)} classes ({some(list(classes.labels))}); fit the model "
                "yourself, write its posteriors to the table, and give setpoint.solve the names of "
                "their columns, or fit on a part of the rows in memory"
            )
        response = Response(self._answers.method, classes)
        model = self._model()
        response.name(model)
        key = self._key()
        with LiveLine(bool(self.verbose)) as line:
            found = TableTask(
                table,
                goal,
                options,
                response,
                model,
                X,
                self._fits_nothing,
                self.cv.rows_for_fit if isinstance(self.cv, HoldOut) else None,
                n_rows,
                key,
                self.decide_on,
                lambda weight: dict(self._routed(weight, {}).estimator.fit),
                lambda done: line.show(lambda: str(done)),
            ).run()
        self._keep_elsewhere(found, classes, key, features)
        self.baseline_column_ = table.baseline if baseline is None else None
        named = sorted(set(goal.needs.columns.get(None, {})) & set(features))
        self.side_columns_ = list(table.side) or named or None

    def _keep_elsewhere(
        self, found: FittedElsewhere, classes: ClassOrder, key: int, features: list[str]
    ) -> None:
        """Keep the model, the rule and what predictions need."""
        decision = found.decision
        if decision.rule.randomized and len(found.rows):
            self._check_drawable(found.rows, key, features)
        self.estimator_, self.posterior_, self.scorer_ = found.model, False, None
        self.choice_ = None
        self.classes_, self.positive_ = classes.sorted, classes.labels[1]
        self.evidence_ = None  # the rows are elsewhere
        self.draw_key_, self.draw_columns_ = key, features
        # Of the rows that the model was fitted on; those that were only counted are not known.
        self.digest_ = RowDigest.of(found.rows, features) if len(found.rows) else None
        self.largest_segment_ = int(np.argmax(_present(decision.tally.segment_weights)))
        self.rule_, self.goal_report_, self.trace_ = decision.rule, decision.report, decision.trace
        self.gap_ = decision.report.certificate.gap
        self.n_oracle_calls_ = decision.report.search.calls

    # ------------------------------------------------------------------ checks
    def _refuse_rows_for_fit(self) -> None:
        """Rows in memory are split by cv."""
        number = self.cv.rows_for_fit if isinstance(self.cv, HoldOut) else None
        if number is not None:
            raise InputError(
                "`rows_for_fit`: it splits tables elsewhere, and X is in memory, found "
                f"{number!r}; HoldOut(0.2) finds the rule on a share of the rows in memory"
            )

    def _options(self, solver: Solver) -> Options:
        return Options.of(
            solver,
            self.limits,
            evidence=self.evidence,
            randomized=self.randomized,
            on_infeasible=self.on_infeasible,
        )

    def _options_elsewhere(self, goal: Goal, solver: Solver) -> Options:
        """How to solve; what counts alone cannot do is refused."""
        if goal.is_blackbox:
            raise GoalError(
                f"{goal.objective} has no formula, and counts are all that is known of a table "
                "elsewhere; fit on a part of its rows in memory"
            )
        options = self._options(solver)
        known = options.solver in ("auto", "exact") and options.oracle is None
        if not known or options.evidence == "soft":
            raise InputError(
                "`solver`, `evidence`: on a table elsewhere the rule is found exactly, by labels "
                "(`solver='auto'` or 'exact', `evidence='auto'` or 'label'), found "
                f"{self.solver!r} and {self.evidence!r}"
            )
        if promised(goal, self.confidence) is not None:
            raise GoalError(
                "`confidence`: a fit on a table elsewhere does not certify; fit without it, and "
                "give setpoint.certify the classifier and rows in memory that are not of the table"
            )
        return options

    def _check_elsewhere(
        self, goal: Goal, datasets: Any, certify_on: Any, params: Mapping[str, Any]
    ) -> None:
        """Refuse arguments that are for rows in memory."""
        if datasets or goal.needs.datasets:
            raise GoalError(
                "`datasets`: further data sets do not go with a table elsewhere, found "
                f"{sorted({*(datasets or {}), *goal.needs.datasets})}; fit on rows in memory, or "
                "write scores to the tables and call setpoint.solve"
            )
        if certify_on is not None:
            raise InputError("`certify_on`: rows of a table elsewhere do not certify; leave it out")
        if params:
            raise InputError(
                f"fit got {sorted(params)}: with a table elsewhere `sample_weight` alone goes to "
                "the model"
            )
        cv = self.cv.cv if isinstance(self.cv, HoldOut) else self.cv
        if cv is not None and not self._is_given_fitted:
            raise InputError(
                "`cv`: on a table elsewhere the model is fitted on some rows and the rule found on "
                f"all others: None, HoldOut(rows_for_fit=...) or 'prefit', found {self.cv!r}"
            )

    def _kept_baseline(self, baseline: Any) -> str | None:
        """The column of X that the constructor names as the deployed model's."""
        if self.baseline is None:
            return None
        if baseline is not None:
            raise InputError(
                "`baseline` is given twice, to the constructor and to fit; evaluate would go by "
                "the constructor's: leave one out"
            )
        deployed = Deployed.of(self.baseline)
        assert deployed is not None
        if deployed.column is None or deployed.threshold is not None:
            raise InputTypeError(
                "`baseline`: of a table elsewhere the name of a column with predictions, found "
                f"{self.baseline!r}"
            )
        return deployed.column

    def _check_columns(self, goal: Goal, table: FitTable) -> None:
        """Refuse a goal that refers to what the table lacks, before a model is fitted."""
        named = self.decide_on
        some_named = None if isinstance(named, str) else named
        columns = (named,) if isinstance(named, str) and named != "auto" else some_named
        rows = FrameRows(
            table.source, table.y, None, table.weight, table.side, baseline=table.baseline
        )
        rows.keys(goal, None, tuple(columns or ()))
        if goal.needs.baseline and table.baseline is None:
            raise GoalError(
                f"'{goal}' compares with the deployed model: `baseline` names the column of the "
                "table with its predictions"
            )


def _are_names(names: Any) -> bool:
    return isinstance(names, (list, tuple)) and all(isinstance(n, str) for n in names)


def _present(weights: Any) -> Any:
    """The weights of segments that there are: the rule has no others."""
    return weights[weights > 0.0]


def _decided(frame: Any, classifier: FitsTables, names: Any) -> Any:
    """Decisions of the rows of a pandas frame."""
    labels = classifier.classes_[:0]
    if len(frame):  # models refuse no rows
        labels = classifier.predict(frame, sensitive_features=names)
    return package("pandas").Series(labels, index=frame.index, name="prediction")
