"""What training leaves: parameters, and scores by them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setpoint.array_types import Floats
from setpoint.deciding import Decision, FitData, Found, decide
from setpoint.estimators.linear_rule import (
    TrainedClassifier,
    linear_scores,
    most_models,
    transformed,
)
from setpoint.estimators.modules import Progress, module_of, scores, unpack
from setpoint.evidence import Evidence
from setpoint.goals.goal import Goal
from setpoint.goals.table import require_rows_alone
from setpoint.parameters import SATISFIED
from setpoint.penalty.fitting import carry_out, prepare
from setpoint.penalty.problem import WHOLE, at_margins
from setpoint.penalty.selection import (
    PARAMETERS,
    TrainedCandidate,
    best_threshold,
    check_sources,
    selection_notes,
)
from setpoint.program.linking import link
from setpoint.search.limits import Limits
from setpoint.solvers import WITHOUT_FORMULA, Confidence, Minibatches, SearchLimits, Solver


def scores_of(module: Any, parameters: Any, features: Any) -> Floats:
    """Logits (N,) of features as training took them."""
    if isinstance(parameters, np.ndarray):
        return linear_scores(features, parameters)
    return scores(module_of(module, parameters, features.shape[1]), features, "cpu")


def plain(module: Any, parameters: Any) -> Any:
    """Coefficients and intercept, where a linear model was trained as a network."""
    if module != "linear" or isinstance(parameters, np.ndarray):
        return parameters
    state = {name: tensor.double().numpy() for name, tensor in unpack(parameters).items()}
    return np.concatenate([np.ravel(state["weight"]), np.ravel(state["bias"])])


# --- ExactPenaltyClassifier: a model trained for the goal itself ----------------------------------


Array = NDArray[Any]


class ExactPenaltyClassifier(TrainedClassifier):
    """Train a binary model for a goal, not for a stand-in of it.

    For goals that only gain by accepting a positive and by refusing a negative: recall,
    precision, F-beta, accuracy, G-mean, specificity, cost, with such constraints (Theorem
    B.6 of Peng, Travadi, He, Cui and Sun, "Exact reformulation and optimization for direct
    metric optimization in binary imbalanced classification"). Every iterate is judged by its
    best threshold; cross-entropy stays a candidate, so on the rows that choose the result is
    never worse.

    Parameters
    ----------
    goal : Goal, str or metric
        Over the rows as a whole: no groups, data sets or deployed model.
    module : {"linear", "mlp"} or callable, default="linear"
        "linear" is trained on all rows at once (by minibatches above 50 million numbers);
        "mlp" has three layers of 64 (extra ``torch``). Or a function that makes a torch
        module of shape (n, d) to (n,) or (n, 1), given d if it takes an argument.
    solver : str or Solver, default="portfolio"
        "portfolio" runs all of the following and keeps the best iterate. "ero": the exact
        reformulation with its decisions s in closed form. "ero-adam": Algorithm 3.1 as
        printed. "profiled": the best threshold and a narrowing band round it. "sigmoid":
        soft counts with an exact penalty (with F1 this is SigmoidF1). "lagrangian": hinge
        rates for the model, true rates for the multipliers. "cross-entropy". Each is a class
        of :mod:`setpoint.solvers` with parameters of its own, such as
        ``EroAdam(reformulation="equality")``.
    preprocessor : "standardize", None or transformer, default="standardize"
        "standardize": dense features by mean and deviation, cut off at 10 deviations;
        sparse ones by their largest value.
    min_positives : "auto" or float, default="auto"
        Weight of rows that have to be predicted positive; precision on fewer says
        nothing. "auto": 20, or 2 % of the positives if that is more, at most half of them.
    validation_fraction : "auto" or float, default="auto"
        Share of the rows held out, on which iterates and the threshold are chosen. "auto":
        0 for "linear", 0.2 for networks. With 0 the training rows choose.
    training : Minibatches, default=None
        Epochs, batches, steps and device of networks (:class:`setpoint.solvers.Minibatches`);
        None: its defaults.
    checkpoint : path, default=None
        A file to which the state of training is written, and from which a training that was
        killed goes on, with the same result. It is removed at the end.
    checkpoint_every : float, default=60.0
        Seconds between two writes.
    confidence : float or Confidence, default=None
        All constraints are to hold on new rows, with this confidence; None: those alone that
        say so themselves. A part of the rows then certifies and takes no part in anything else,
        and models of the training are tried there, from safe to bold; ``fit`` raises
        NotCertifiable where they do not show it. See :class:`setpoint.solvers.Confidence`.
    limits : SearchLimits, default=None
        `seconds`: the best candidate by then is kept, with a warning, as on Ctrl-C.
    pos_label : label, default=None
        The positive class; None: the one that the goal names by ``label=``, if it names no
        other, else the larger of two numbers, True, the last of an ordered category, or the
        second of such words as no and yes. Other text needs it where the goal refers to it.
    on_infeasible : {"raise", "nearest"}, default="raise"
    random_state : int, generator or None, default=None
        For the rows held out, networks and the evolution strategy. None: always the same.
    verbose : int, default=0
        1: a line on stderr with objective and violation.

    Attributes
    ----------
    goal_report_ : GoalReport
        On the rows that chose; with `confidence` on those that certify.
    candidates_ : list of dict
        For each method its best iterate there: ``method``, ``objective``, ``violation``,
        ``threshold``.
    rule_ : Threshold
    threshold_ : float
        On logits; ``decision_function`` is what lies above it.
    coef_, intercept_ : arrays of shape (1, d) and (1,)
        Of "linear", for features as preprocessed; the threshold is not in the intercept.
    module_ : torch module
        Of other modules, in eval mode on the CPU.
    preprocessor_ : transformer or None
    trace_ : tuple of TracePoint
        The best candidate so far, whenever it changed.
    classes_ : array of shape (2,)
    positive_ : label
    evidence_ : Evidence or None
        The rows that chose, in the process that fitted.
    n_features_in_, feature_names_in_

    See Also
    --------
    setpoint.PlugInClassifier : After training, for any goal, group and model. Try it first.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from setpoint import ExactPenaltyClassifier
    >>> X, y = make_classification(2_000, weights=[0.9], class_sep=0.8, random_state=0)
    >>> goal = "maximize recall subject to precision >= 0.8"
    >>> clf = ExactPenaltyClassifier(goal, solver="ero").fit(X, y)
    >>> clf.goal_report_.satisfied, [c["method"] for c in clf.candidates_]
    (True, ['exact penalty, s in closed form', 'cross-entropy'])
    """

    randomized = False
    _family, _parameters = "penalty", PARAMETERS

    def __init__(
        self,
        goal: Any,
        *,
        module: Any = "linear",
        solver: Any = "portfolio",
        preprocessor: Any = "standardize",
        min_positives: Any = "auto",
        validation_fraction: Any = "auto",
        training: Minibatches | None = None,
        checkpoint: Any = None,
        checkpoint_every: float = 60.0,
        confidence: float | Confidence | None = None,
        limits: SearchLimits | None = None,
        pos_label: Any = None,
        on_infeasible: Any = "raise",
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.goal = goal
        self.module = module
        self.solver = solver
        self.preprocessor = preprocessor
        self.min_positives = min_positives
        self.validation_fraction = validation_fraction
        self.training = training
        self.checkpoint = checkpoint
        self.checkpoint_every = checkpoint_every
        self.confidence = confidence
        self.limits = limits
        self.pos_label = pos_label
        self.on_infeasible = on_infeasible
        self.random_state = random_state
        self.verbose = verbose

    # ------------------------------------------------------------------ fitting
    def _check_fit(self, goal: Goal, X: Any, solver: Solver) -> None:
        check_sources(self)
        goal.require_formula(WITHOUT_FORMULA)
        require_rows_alone(goal, WHOLE)
        super()._check_fit(goal, X, solver)

    def _train(self, data: FitData) -> Decision:
        with Progress(bool(self.verbose)) as progress:
            limits = Limits(max_seconds=data.limits.seconds, report=progress)
            prepared = prepare(
                self,
                data.solver,
                data.goal,
                data.trained_on,
                data.classes,
                data.key % 2**32,
                limits,
            )
            plan, judged = prepared.plan, data.judged.take(data.kept[prepared.chosen])
            plan.pool.beside = at_margins(data, judged, plan.pool.least)
            carry_out(self, prepared)
        self.preprocessor_ = prepared.preprocessor
        self.n_transformed_ = int(plan.train.X.shape[1])
        self.candidates_ = plan.pool.table()

        def scored(candidate: TrainedCandidate[Any]) -> tuple[Any, Evidence]:
            model = plain(self.module, candidate.parameters)
            return model, judged.evidence({None: scores_of(self.module, model, plan.chooser.X)})

        def models(found: Found) -> list[Found]:
            out = []
            for candidate in plan.pool.kept[: most_models(found.evidence.n_rows)]:
                model, rows = scored(candidate)
                out.append(replace(found, evidence=rows, model=model))
            return out

        best, evidence = scored(plan.pool.champion)
        least = plan.pool.least * (1.0 - SATISFIED)
        decision = decide(
            link(data.goal, evidence.codebook),
            lambda: replace(
                best_threshold(data.goal, evidence, plan.pool, self.on_infeasible), model=best
            ),
            family="penalty",
            solver=data.solver.name,
            notes=[
                *selection_notes(plan, certified=data.certifying is not None),
                *plan.notes,
            ],
            trace=limits.trace,
            table=judged.tables[None],
            started=data.started,
            certification=self._certification(
                data, models, lambda counts: counts[1::2].sum(axis=0) >= least
            ),
        )
        self.parameters_ = decision.found.model
        return decision

    # ------------------------------------------------------------------ what is known
    @property
    def module_(self) -> Any:
        """The trained torch module, in eval mode on the CPU."""
        self._check_there("module_")
        if isinstance(self.parameters_, np.ndarray):
            raise AttributeError("module_ is not there for `module='linear'`: see coef_")
        return module_of(self.module, self.parameters_, self.n_transformed_)

    # ------------------------------------------------------------------ shared steps
    def _scores_by(self, model: Any, X: Any, column: str | None) -> Floats:
        features = transformed(self.preprocessor_, self._features(X, column))
        return scores_of(self.module, model, features)
