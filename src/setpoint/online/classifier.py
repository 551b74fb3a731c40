"""OnlineFClassifier: posterior and threshold from a stream, in one pass."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from setpoint.classifiers import GoalClassifier, ModelFileError, atomic_fit, load_model, save_model
from setpoint.errors import InputError
from setpoint.goals import Goal, as_goal
from setpoint.inputs import (
    UnfittedError,
    aligned,
    check_labels,
    check_length,
    frame_of,
    two_classes,
)
from setpoint.online.engine import (
    Buffer,
    Engine,
    SolverName,
    StreamLength,
    Window,
    as_codes,
    as_rows,
    begin,
    n_rows_of,
    names_of,
    rows_of,
    weights_for,
)
from setpoint.online.notes import stream_report
from setpoint.parameters import Above0OrAuto
from setpoint.report import GoalReport
from setpoint.rules import Threshold

Array = NDArray[Any]


def _has_posteriors(self: OnlineFClassifier) -> bool:
    if isinstance(self.learner, str) or hasattr(self.learner, "predict_proba"):
        return True
    raise AttributeError(f"{type(self.learner).__name__} has no predict_proba")


@dataclass(eq=False, repr=False)
class OnlineFClassifier(GoalClassifier):
    """Learn a posterior and the threshold that a goal asks for, row by row.

    Each row is scored and decided before its label is used. Memory is constant, and how
    rows are cut into batches does not matter, to the last bit. Parameters that are set
    in mid-stream take effect with the next ``fit``.

    Parameters
    ----------
    goal : Goal, str or metric, default="f1"
        With the solver "sketch" any goal over true and false positives and negatives, with
        constraints too; with the others ``fbeta(beta)`` or ``jaccard``.
    solver : {"sketch", "fofo", "ofo", "ofo-rb", "half"}, default="sketch"
        Where the threshold comes from. "sketch": the best cut-off over counts by score, in
        512 bins. "fofo": stochastic descent on Q (Zhang, Liu, Zhou, Yang 2018, Algorithms 1
        and 2), in stages that double; with `n` as printed. "ofo": F so far over 1 + beta^2
        (Busa-Fekete et al. 2015); "ofo-rb": the same with posteriors for labels. "half":
        0.5, whatever the goal. But for "half" nobody is decided positive before a positive
        came, so that 100,000 leading negatives are not as many mistakes.
    learner : {"nag", "sgd", "adagrad"} or object, default="nag"
        A logistic regression with intercept and averaged weights, by normalised adaptive
        gradients, which do not depend on the scales of features (Ross, Mineiro and
        Langford 2013); or, for features that are scaled already, by stochastic gradients or
        AdaGrad. Or an object with
        ``partial_fit`` and ``predict_proba`` or ``decision_function``, taught a row at a time.
    step : "auto" or float > 0, default="auto"
        Of the learner: 2.0 for "nag", 1.0 / sqrt(t) for "sgd", 0.5 for "adagrad".
    window : int >= 1, default=None
        The sketch counts this many rows, the last ones, for priors that move. None: all
        rows, the t-th with the weight t^2.
    constant_step : bool, default=False
        Steps that do not shrink, and no average, for concepts that drift; ``step="auto"`` is
        then 0.05, with "adagrad" 0.02.
    n : int >= 44, default=None
        With "fofo": run it as printed, for a stream of `n` rows.
    classes : array-like of shape (2,), default=None
        The two labels. None: those of the first batch, which then has to hold both.
    pos_label : label, default=None
        The positive class; None: the class that the goal names, the larger of two numbers,
        True, the last of an ordered category, or the second of such words as no and yes.
        Other text needs it.
    buffer_size : int >= 1, default=10_000
        Rows that ``predict(X, ids=...)`` keeps until their labels come.
    random_state : int, generator or None, default=None
        Seeds a `learner` that has a random state; nothing else is drawn.

    Attributes
    ----------
    goal_report_ : GoalReport
        On all rows so far; its ``stream`` has the last rows (`window`, else 10,000), the
        threshold and the learner's calibration.
    threshold_ : float
        Decided positive when the posterior is at least this, or the decision value of a
        learner without posteriors.
    rule_ : Threshold
    classes_ : array of shape (2,)
    positive_ : label
    n_rows_seen_ : int
        Rows learnt.
    n_waiting_, n_expired_ : int
        Rows that wait for labels, and rows that the buffer gave up.
    learner_ : object or None
        The copy of `learner` that was taught.
    n_features_in_, feature_names_in_

    See Also
    --------
    setpoint.PlugInClassifier : For rows that can be kept: exact, and for any goal.

    Examples
    --------
    >>> import numpy as np
    >>> from setpoint import OnlineFClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(20_000, 5))
    >>> y = (X[:, 0] + X[:, 1] + rng.normal(size=20_000) > 3).astype(int)
    >>> clf = OnlineFClassifier("f1", classes=[0, 1])
    >>> for batch in np.array_split(np.arange(20_000), 100):
    ...     decided = clf.predict_learn(X[batch], y[batch])
    >>> clf.n_rows_seen_, round(clf.goal_report_.objective.value, 2), round(clf.threshold_, 2)
    (20000, 0.48, 0.25)
    """

    goal: Any = "f1"
    _: KW_ONLY
    solver: SolverName = "sketch"
    learner: Any = "nag"
    step: Above0OrAuto = "auto"
    window: Window = None
    constant_step: bool = False
    n: StreamLength = None
    classes: Any = None
    pos_label: Any = None
    buffer_size: Buffer = 10_000
    random_state: Any = None

    # ------------------------------------------------------------------ learning
    @atomic_fit
    def fit(
        self,
        X: Any,
        y: Any,
        *,
        sample_weight: Any = None,
        sensitive_features: Any = None,
        baseline: Any = None,
        datasets: Mapping[str, Any] | None = None,
    ) -> OnlineFClassifier:
        """Forget everything, then go through the rows once, in their order.

        Parameters
        ----------
        X, y, sample_weight
            As in :meth:`partial_fit`.
        sensitive_features, baseline, datasets : None
            As of other classifiers; a stream counts its own rows, and refuses them.

        Returns
        -------
        self

        Raises
        ------
        ValueError, TypeError, GoalError
            If an argument is wrong; the old stream stays.
        """
        others = {
            "sensitive_features": sensitive_features,
            "baseline": baseline,
            "datasets": datasets,
        }
        for name, value in others.items():
            if value is not None:
                raise InputError(f"{name}: a stream counts its own rows as a whole; leave it out")
        for name in ("n_features_in_", "feature_names_in_"):
            self.__dict__.pop(name, None)
        self._learn(X, y, sample_weight, None, afresh=True)
        return self

    def partial_fit(
        self, X: Any, y: Any, *, sample_weight: Any = None, classes: Any = None
    ) -> OnlineFClassifier:
        """Learn the next rows of the stream, each scored before its label is used.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (N, d)
            Finite numbers, as many features as ever.
        y : array-like of shape (N,)
            Two classes.
        sample_weight : array-like of shape (N,), >= 0, optional
            Weighs the row in counts and in the learner's gradient; a row of weight zero
            leaves no trace.
        classes : array-like of shape (2,), optional
            The two labels, as in the constructor; looked at in the first call.

        Returns
        -------
        self

        Raises
        ------
        ValueError, TypeError, GoalError
            If an argument is wrong; then nothing of the batch was learnt. A learner of your
            own that raises keeps the rows before that one; `n_rows_seen_` says how many.
        """
        self._learn(X, y, sample_weight, classes)
        return self

    def predict_learn(self, X: Any, y: Any, *, sample_weight: Any = None) -> Array:
        """The same, and the decisions that were made before labels were used.

        Parameters
        ----------
        X, y, sample_weight
            As in :meth:`partial_fit`.

        Returns
        -------
        array of shape (N,)
            Labels.
        """
        decided = self._learn(X, y, sample_weight, None)
        return self.engine_.answers[decided]

    def _learn(
        self, X: Any, y: Any, sample_weight: Any, classes: Any, afresh: bool = False
    ) -> NDArray[np.int8]:
        """Check everything, then go through the rows; their decisions."""
        y, sample_weight = aligned(y, X, "y"), aligned(sample_weight, X, "sample_weight")
        engine = None if afresh else self.__dict__.get("engine_")
        rows = self._as_rows(X, reset=engine is None)
        if engine is None:
            self._check_random_state()
            engine = self._begin(y, self.classes if classes is None else classes)
        elif classes is not None:
            found, known = check_labels(classes, "classes")[0].tolist(), self.classes_.tolist()
            if found != known:
                raise InputError(f"`classes` are {found}, and were {known} so far")
        codes = as_codes(y, engine.labels, n_rows_of(rows))
        weight = weights_for(engine, sample_weight, len(codes), all_zero=not afresh)
        self._keep(engine)
        return engine.stream(rows, codes, weight)

    # ------------------------------------------------------------------ late labels
    def predict(self, X: Any, *, ids: Any = None) -> Array:  # type: ignore[override]
        """Decide rows; nothing is learnt.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (N, d)
        ids : array-like of shape (N,), optional
            One name a row: the rows are kept until :meth:`learn` brings their labels, or
            until `buffer_size` later ones pushed them out.

        Returns
        -------
        array of shape (N,)
            Labels.

        Raises
        ------
        ValueError
            If an id waits already, or comes twice.
        NotFittedError
            Before the first batch; with `ids` and declared `classes` a stream may begin here.
        """
        if ids is None:
            check_is_fitted(self)
            return self.engine_.answers[self.engine_.score(self._as_rows(X))[1]]
        names = names_of(ids)
        check_length(names, n_rows_of(X), "ids")
        engine = self.__dict__.get("engine_")
        if engine is None and self.classes is None:
            raise UnfittedError(
                "a stream that begins with predict needs `classes` in the constructor"
            )
        rows = self._as_rows(X, reset=engine is None)
        engine = self._begin(None, self.classes) if engine is None else engine
        engine.waiting.check_new(names)
        _, decided = engine.score(rows)
        self._keep(engine)
        engine.waiting.add(names, rows_of(rows), decided)
        return np.asarray(engine.answers[decided])

    def learn(self, ids: Any, y: Any, *, sample_weight: Any = None) -> OnlineFClassifier:
        """Learn rows that were predicted under these ids, now that their labels came.

        They count as they were decided then; the threshold goes by their scores of now.

        Parameters
        ----------
        ids : array-like of shape (N,)
        y, sample_weight : array-like of shape (N,)
            As in :meth:`partial_fit`.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If an id was never predicted or learnt already; then nothing was learnt. Rows
            that expired are left out with an :class:`ExpiredWarning`.
        """
        check_is_fitted(self)
        engine, names = self.engine_, names_of(ids)
        codes = as_codes(y, engine.labels, len(names))
        weight = weights_for(engine, sample_weight, len(names))
        there = engine.waiting.check_there(names)
        those = [names[i] for i in there]
        engine.learn(those, codes[there], None if weight is None else weight[there])
        return self

    # ------------------------------------------------------------------ what is known
    @available_if(_has_posteriors)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Array:
        """The learner's posteriors, which the threshold does not touch.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (N, d)

        Returns
        -------
        array of shape (N, 2)
            Columns in the order of ``classes_``.
        """
        check_is_fitted(self)
        p = self._scores(X)
        return np.column_stack([p, 1.0 - p] if self._classes.positive_first else [1.0 - p, p])

    @property
    def goal_report_(self) -> GoalReport:  # type: ignore[override]
        """What was reached on all rows so far."""
        return stream_report(self._begun("goal_report_"))

    @property
    def rule_(self) -> Threshold:  # type: ignore[override]
        """The threshold as a rule."""
        return Threshold(self._begun("rule_").threshold)

    @property
    def threshold_(self) -> float:
        """The score from which on rows are decided positive."""
        return self._begun("threshold_").threshold

    @property
    def n_rows_seen_(self) -> int:
        """Rows learnt; those of weight zero do not count."""
        return self._begun("n_rows_seen_").n_rows

    @property
    def n_waiting_(self) -> int:
        """Rows that wait for their labels."""
        return len(self._begun("n_waiting_").waiting)

    @property
    def n_expired_(self) -> int:
        """Rows that the buffer gave up."""
        return self._begun("n_expired_").waiting.n_expired

    @property
    def learner_(self) -> Any:
        """The copy of `learner` that was taught; None for those of this library."""
        return self._begun("learner_").model

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the state; the old file stays until the new one is whole.

        Parameters
        ----------
        path : path

        Raises
        ------
        OSError
            If the file cannot be written.
        """
        save_model(self, path)

    @classmethod
    def load(
        cls, path: str | os.PathLike[str], *, trusted: Sequence[str] = ()
    ) -> OnlineFClassifier:
        """The classifier of a file; it goes on as if it had never been stopped, to the bit.

        Parameters
        ----------
        path : path
        trusted : sequence of str
            Types of a learner of your own; see :func:`setpoint.load_model`.

        Raises
        ------
        ModelFileError
            If the file is damaged or holds something else.
        """
        found = load_model(path, trusted=trusted)
        if not isinstance(found, cls):
            raise ModelFileError(
                f"{path} holds a {type(found).__name__}, no {cls.__name__}", path=path
            )
        return found

    # ------------------------------------------------------------------ shared steps
    def _scores(self, X: Any) -> NDArray[np.float64]:
        out, _ = self.engine_.score(self._as_rows(X))
        return out[:, 0 if self.engine_.state.record["margin"] else 1]

    def _goal(self) -> Goal:
        return self.engine_.problem.goal

    def _as_rows(self, X: Any, reset: bool = False) -> Any:
        if isinstance(self.learner, str):
            return as_rows(self, X, reset=reset)
        if frame_of(X) is None:
            return validate_data(
                self, X, reset=reset, accept_sparse="csr", dtype=None, ensure_all_finite=False
            )
        validate_data(self, X, reset=reset, skip_check_array=True)
        return X

    def _begin(self, y: Any, classes: Any) -> Engine:
        try:
            first = two_classes(y, classes, self.pos_label, goal=as_goal(self.goal))
        except ValueError as error:
            if classes is None and "one class only" in str(error):
                raise InputError(
                    f"{error}. A stream may begin so: declare `classes`, both labels"
                ) from None
            raise
        return begin(self, self.n_features_in_, first)

    def _keep(self, engine: Engine) -> None:
        self.engine_, self.classes_, self.positive_ = engine, engine.classes, engine.labels[1]

    def _begun(self, name: str) -> Engine:
        if not hasattr(self, "engine_"):
            raise AttributeError(f"{name} is there once rows were seen")
        return self.engine_

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "engine_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.sparse = True
        return tags
