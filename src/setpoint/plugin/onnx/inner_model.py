"""The model inside as part of a graph: by skl2onnx's own converters, but for trees."""

from __future__ import annotations

from typing import Any

from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline

from setpoint.packages import needed_by
from setpoint.plugin.onnx.errors import ExportError
from setpoint.plugin.onnx.nodes import Nodes
from setpoint.plugin.onnx.tree_nodes import is_of_trees, tree_scores

__all__ = ["inner_scores", "plain_model"]

_WHAT = "ONNX graphs"


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
        If skl2onnx has no converter for it or for its decision function, or one that decides
        otherwise.
    """
    types = needed_by(_WHAT, "onnx", "skl2onnx.common.data_types")
    steps = _flat(model)
    kind = types.DoubleTensorType if double else types.FloatTensorType
    last = steps[-1]
    if len(inputs) > 1 and not hasattr(steps[0], "transformers_"):
        inputs = [_operator(nodes, "SklearnConcat", None, inputs, kind([None, None]))]
    if is_of_trees(last):
        if len(steps) > 1:
            before = _joined(steps[:-1])
            inputs = [_operator(nodes, _alias(before), before, inputs, kind([None, None]))]
        return tree_scores(nodes, last, inputs[0].full_name, method), False
    if isinstance(last, CalibratedClassifierCV) and last.method == "isotonic":
        raise ExportError(
            "`estimator`: isotonic calibration is a line between points in scikit-learn and steps "
            "in skl2onnx, which decides otherwise; `calibrate='sigmoid'` is the same in both"
        )
    options = {"zipmap": False, "raw_scores": method == "decision_function"}
    allowed = [name for name in options if nodes.container.has_options(last, name)]
    if options["raw_scores"] and "raw_scores" not in allowed:
        raise ExportError(
            f"`estimator`: skl2onnx has no decision_function of {type(last).__name__}; "
            "`response=ModelResponse(method='predict_proba')` asks for probabilities"
        )
    for owner in (nodes.scope, nodes.container):
        owner.add_options(id(last), {name: options[name] for name in allowed})
    _alias(last)
    whole = _joined(steps)
    operator = nodes.scope.declare_local_operator(_alias(whole), whole)
    for variable in inputs:
        operator.inputs.append(variable)
    scores = nodes.scope.declare_local_variable("setpoint_scores", kind())
    operator.outputs.append(
        nodes.scope.declare_local_variable("setpoint_label", types.Int64TensorType())
    )
    operator.outputs.append(scores)
    return str(scores.full_name), not double


def _flat(model: Any) -> list[Any]:
    """The steps of pipelines within pipelines, so that options reach the last one."""
    model = plain_model(model)
    if not isinstance(model, Pipeline):
        return [model]
    steps = [step for _, step in model.steps if step not in (None, "passthrough")]
    return [inner for step in steps for inner in _flat(step)]


def _joined(steps: list[Any]) -> Any:
    """One step, or a pipeline of several, which are fitted already."""
    return steps[0] if len(steps) == 1 else Pipeline([(str(k), s) for k, s in enumerate(steps)])


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
            f"`estimator`: skl2onnx has no converter for {type(model).__name__}; what it does not "
            "know can be registered with skl2onnx.update_registered_converter"
        )
    return str(found)
