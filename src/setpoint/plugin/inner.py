"""What PlugInClassifier passes on to the model inside it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import numpy as np
from sklearn import get_config
from sklearn.base import MetaEstimatorMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import StratifiedKFold
from sklearn.utils import Bunch, get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from setpoint.array_types import Floats
from setpoint.errors import InputError
from setpoint.goals.errors import GoalError
from setpoint.goals.goal import as_goal
from setpoint.program.link import waits_for_class
from setpoint.solvers import HoldOut, PostShift

__all__ = ["InnerModel"]

F = TypeVar("F", bound=Callable[..., Any])


def _if_inner_has(name: str, by_rule: bool = False) -> Callable[[F], F]:
    """A method that is there where the inner model has it; by the rule it may be there too."""

    def check(self: Any) -> bool:
        if self._answers.predict_proba == "rule":
            return by_rule
        if self._auto is not None and not hasattr(self, "estimator_"):
            return name == "predict_proba"
        getattr(getattr(self, "estimator_", self.estimator), name)
        return True

    decorate: Callable[[F], F] = available_if(check)
    return decorate


class InnerModel(MetaEstimatorMixin):
    """Responses, routing and tags of the model inside."""

    estimator: Any
    estimator_: Any
    goal: Any
    solver: Any
    cv: Any
    decision_distribution: Callable[..., Floats]

    @property
    def _split(self) -> Any:
        """How rows are split, whether or not the model of one split is kept."""
        return self.cv.cv if isinstance(self.cv, HoldOut) else self.cv

    @_if_inner_has("predict_proba", by_rule=True)
    def predict_proba(self, X: Any) -> Floats:
        """The inner model's posterior (N, n), untouched by the rule; see `response`."""
        check_is_fitted(self)
        if self._answers.predict_proba == "rule":
            return self.decision_distribution(X)
        return np.asarray(self.estimator_.predict_proba(X))

    @_if_inner_has("predict_log_proba")
    def predict_log_proba(self, X: Any) -> Floats:
        """The logarithm of the inner model's posterior (N, n)."""
        check_is_fitted(self)
        return np.asarray(self.estimator_.predict_log_proba(X))

    @_if_inner_has("decision_function")
    def decision_function(self, X: Any) -> Floats:
        """The inner model's decision function, (N,) or (N, n), untouched by the rule."""
        check_is_fitted(self)
        return np.asarray(self.estimator_.decision_function(X))

    @property
    def _auto(self) -> Any:
        """The candidates by name, or "auto", where the model is chosen under the goal."""
        named = isinstance(self.estimator, str) and self.estimator == "auto"
        return self.estimator if named or isinstance(self.estimator, Mapping) else None

    def _check_auto(self) -> None:
        """Refuse what does not go with a model that is chosen under the goal."""
        if isinstance(self.estimator, str) and self.estimator != "auto":
            raise InputError(
                "`estimator` is a classifier, 'auto' or a dict of names to classifiers, got "
                f"{self.estimator!r}"
            )
        if self._auto is None:
            return
        given = f"`estimator={self.estimator!r}`"
        if self._is_given_fitted:
            raise InputError(f"`cv='prefit'`: the model is fitted already, and {given} fits models")
        if self._answers.calibrate is not None:
            raise InputError(
                f"`calibrate={self._answers.calibrate!r}` of `response` is for a model of your "
                f"own; calibrate a candidate of {given}, such as by CalibratedClassifierCV"
            )
        if self._answers.method == "decision_function":
            raise InputError(
                f"`method='decision_function'` of `response`: models of {given} are compared by "
                "their probabilities; leave it out"
            )

    @property
    def _is_given_fitted(self) -> bool:
        given = isinstance(self.cv, str) and self.cv == "prefit"
        return given or isinstance(self.estimator, FrozenEstimator)

    def _model(self) -> Any:
        """What is fitted, fold by fold: the estimator, or a calibrated one."""
        method = self._answers.calibrate
        if method is None:
            return self.estimator
        inner = self.estimator
        if self._is_given_fitted and not isinstance(inner, FrozenEstimator):
            inner = FrozenEstimator(inner)
        folds = StratifiedKFold(5, shuffle=True, random_state=0)
        return CalibratedClassifierCV(inner, method=method, cv=folds)

    def _routed(self, sample_weight: Any, params: dict[str, Any]) -> Any:
        """Parameters for the model and the splitter."""
        fits = not self._is_given_fitted or self._answers.calibrate is not None
        if self._auto is not None:
            return self._routed_to_splitter(sample_weight, params)
        if sample_weight is not None:
            params = {"sample_weight": sample_weight, **params}
        if get_config()["enable_metadata_routing"] and fits:
            return process_routing(self, "fit", **params)
        extra = sorted(set(params) - {"sample_weight"})
        if extra:
            raise InputError(
                f"fit got {extra}; further parameters need metadata routing "
                "(sklearn.set_config(enable_metadata_routing=True))"
            )
        if not fits:
            params = {}
        elif params and not has_fit_parameter(self.estimator, "sample_weight"):
            raise InputError(
                f"`sample_weight`: {type(self.estimator).__name__}.fit takes none, and weights are "
                "never ignored; use a model that takes them, metadata routing, or `cv='prefit'`"
            )
        return Bunch(estimator=Bunch(fit=params), splitter=Bunch(split={}))

    def _routed_to_splitter(self, sample_weight: Any, params: dict[str, Any]) -> Any:
        """The same where candidates take weights alone, each by its own name for them."""
        weight = {} if sample_weight is None else {"sample_weight": sample_weight}
        if not params:
            return Bunch(estimator=Bunch(fit=weight), splitter=Bunch(split={}))
        if not get_config()["enable_metadata_routing"]:
            raise InputError(
                f"fit got {sorted(params)}; further parameters need metadata routing "
                "(sklearn.set_config(enable_metadata_routing=True))"
            )
        routed = process_routing(self, "fit", **params)
        return Bunch(estimator=Bunch(fit=weight), splitter=routed.splitter)

    def get_metadata_routing(self) -> MetadataRouter:
        """What ``fit`` passes on with metadata routing: to `estimator` and the splitter."""
        fit = MethodMapping().add(caller="fit", callee="fit")
        split = MethodMapping().add(caller="fit", callee="split")
        router = MetadataRouter(owner=self).add_self_request(self)
        if self._auto is None:
            router.add(estimator=self.estimator, method_mapping=fit)
        return router.add(
            splitter=self._split if hasattr(self._split, "split") else None, method_mapping=split
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if self._auto is None:
            tags.input_tags = get_tags(self.estimator).input_tags
        else:
            tags.input_tags.sparse = tags.input_tags.allow_nan = True
            tags.input_tags.string = tags.input_tags.categorical = True
        try:
            goal = as_goal(self.goal)
            of_one = goal.is_blackbox or waits_for_class(goal)
        except (GoalError, TypeError):
            of_one = False  # fit will say what is wrong
        post_shift = self.solver == PostShift.name or isinstance(self.solver, PostShift)
        tags.classifier_tags.multi_class = not (of_one or post_shift)
        return tags
