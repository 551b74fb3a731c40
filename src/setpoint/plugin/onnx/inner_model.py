"""The model inside as part of a graph, by skl2onnx's own converters."""

from __future__ import annotations

from typing import Any

from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.tree import DecisionTreeClassifier

from setpoint.inputs.packages import needed_by
from setpoint.plugin.onnx.errors import ExportError
from setpoint.plugin.onnx.nodes import Nodes

__all__ = ["inner_scores", "plain_model"]

_WHAT = "ONNX graphs"

_TREES = (
    DecisionTreeClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    RandomForestClassifier,
)
"""Models that take their features as float32 themselves: nothing is lost by a cast before."""


def plain_model(model: Any) -> Any:
    """The model that decides: what is frozen, or the best that a search found."""
    if isinstance(model, FrozenEstimator):
        return plain_model(model.estimator)
    best = getattr(model, "best_estimator_", None)
    return model if best is None else plain_model(best)


def inner_scores(
    nodes: Nodes, model: Any, inputs: list[Any], method: str, double: bool
) -> tuple[str, bool]:
    """Add a fitted model.

    Parameters
    ----------
    nodes : Nodes
    model : classifier
    inputs : list of Variable
        As skl2onnx has them. Several are joined to one matrix, unless the model chooses
        its columns itself.
    method : {"predict_proba", "decision_function"}
    double : bool
        Whether to compute in float64, where the model can.

    Returns
    -------
    str
        The name of its response, (N, n), or (N, 1) of some decision functions.
    bool
        Whether it was computed in float32.

    Raises
    ------
    ExportError
        If skl2onnx has no converter for it, or none of its decision function.
    """
    types = needed_by(_WHAT, "onnx", "skl2onnx.common.data_types")
    model = plain_model(model)
    kind = types.DoubleTensorType if double else types.FloatTensorType
    steps = [step for _, step in model.steps] if isinstance(model, Pipeline) else [model]
    first, last = steps[0], plain_model(steps[-1])
    if len(inputs) > 1 and not hasattr(first, "transformers_"):
        inputs = [_operator(nodes, "SklearnConcat", None, inputs, kind([None, None]))]
    if double and isinstance(last, _TREES):
        if len(steps) > 1:
            before = Pipeline(model.steps[:-1])
            inputs = [_operator(nodes, _alias(before), before, inputs, kind([None, None]))]
        kind, model = types.FloatTensorType, last
        inputs = [_operator(nodes, "SklearnCast", None, inputs, kind([None, None]))]
    options = {"zipmap": False, "raw_scores": method == "decision_function"}
    allowed = [name for name in options if nodes.container.has_options(last, name)]
    if options["raw_scores"] and "raw_scores" not in allowed:
        raise ExportError(
            f"estimator: skl2onnx has no decision_function of {type(last).__name__}; "
            "response=ModelResponse(method='predict_proba') asks for probabilities"
        )
    for owner in (nodes.scope, nodes.container):
        owner.add_options(id(last), {name: options[name] for name in allowed})
    alias = _alias(model)
    operator = nodes.scope.declare_local_operator(alias, model)
    for variable in inputs:
        operator.inputs.append(variable)
    scores = nodes.scope.declare_local_variable("setpoint_scores", kind())
    operator.outputs.append(
        nodes.scope.declare_local_variable("setpoint_label", types.Int64TensorType())
    )
    operator.outputs.append(scores)
    return str(scores.full_name), not double or kind is types.FloatTensorType


def _operator(nodes: Nodes, alias: str, model: Any, inputs: list[Any], kind: Any) -> Any:
    """An operator of skl2onnx with one output."""
    operator = nodes.scope.declare_local_operator(alias, model)
    for variable in inputs:
        operator.inputs.append(variable)
    out = nodes.scope.declare_local_variable("setpoint_features", kind)
    operator.outputs.append(out)
    return out


def _alias(model: Any) -> str:
    """The name under which skl2onnx knows a kind of model."""
    supported = needed_by(_WHAT, "onnx", "skl2onnx._supported_operators")
    found = supported.sklearn_operator_name_map.get(type(model))
    if found is None:
        raise ExportError(
            f"estimator: skl2onnx has no converter for {type(model).__name__}; what it does not "
            "know can be registered with skl2onnx.update_registered_converter"
        )
    return str(found)
