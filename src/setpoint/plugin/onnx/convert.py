"""What skl2onnx is given for a PlugInClassifier: shapes of outputs, and the conversion."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from setpoint.packages import needed_by
from setpoint.plugin.classifier import PlugInClassifier
from setpoint.plugin.crossfit import Response
from setpoint.plugin.onnx.errors import ExportError
from setpoint.plugin.onnx.inner_model import inner_scores, plain_model
from setpoint.plugin.onnx.nodes import DOUBLE, FLOAT, Nodes
from setpoint.plugin.onnx.rule_nodes import RuleNodes
from setpoint.plugin.onnx.segment_nodes import GraphColumn, segment_nodes
from setpoint.rules import Rule

__all__ = ["WHAT", "final_step", "register"]

WHAT = "ONNX graphs"

_ALIAS = "SetpointPlugInClassifier"
_OPTIONS = {
    "zipmap": [True, False, "columns"],
    "output_class_labels": [False, True],
    "nocl": [True, False],
    "draws": None,
}


def register() -> None:
    """Let skl2onnx convert :class:`setpoint.PlugInClassifier`; twice is the same as once.

    The option ``draws`` names the input that holds a uniform number in [0, 1) for each row,
    where the rule draws; the others are those that skl2onnx has for every classifier.

    Raises
    ------
    ImportError
        If skl2onnx is missing; the message says how to install it.
    """
    skl2onnx = needed_by(WHAT, "onnx", "skl2onnx")
    skl2onnx.update_registered_converter(
        PlugInClassifier, _ALIAS, _output_types, _convert, options=_OPTIONS
    )


def _output_types(operator: Any) -> None:
    """Labels of their own type, and one column a class; called by skl2onnx."""
    types = needed_by(WHAT, "onnx", "skl2onnx.common.data_types")
    model, rows = operator.raw_operator, operator.inputs[0].get_first_dimension()
    check_is_fitted(model)
    if model.scorer_ is not None:
        raise ExportError(
            "rule_: it decides by joint posteriors or retrained learners, which have no form in "
            "ONNX; fit with a rule over the scores of one model"
        )
    text = _labels(model).dtype.kind == "U"
    kind = types.StringTensorType if text else types.Int64TensorType
    operator.outputs[0].set_type(kind([rows]))
    # A decision function has one column, or one a class.
    raw = _method(model) == "decision_function" and model._answers.predict_proba == "model"
    columns = None if raw else len(model.classes_)
    operator.outputs[1].type.shape = [rows, columns]


def _convert(scope: Any, operator: Any, container: Any) -> None:
    """Add the nodes of the model and of its rule; called by skl2onnx."""
    model: PlugInClassifier = operator.raw_operator
    types = needed_by(WHAT, "onnx", "skl2onnx.common.data_types")
    draws = container.get_options(model, {"draws": None})["draws"]
    inputs, drawn = _without_draws(operator.inputs, draws)
    rule, classes, nodes = model.rule_, model._classes, Nodes(scope, container)
    if rule.randomized and drawn is None:
        raise ExportError(
            "rule_: it draws, and a graph has no draws of its own. Name an input with a uniform "
            "number in [0, 1) for each row, to_onnx(..., draws='u') or the option "
            "{'draws': 'u'} of skl2onnx, or fit with `randomized=False`"
        )
    double = any(not isinstance(i.type, types.FloatTensorType) for i in inputs)
    method = _method(model)
    out, single = inner_scores(nodes, model.estimator_, inputs, method, double)
    wide = nodes.cast(out, DOUBLE)
    if model.posterior_:
        scores = wide
        if classes.positive_first:
            scores = nodes("Gather", [wide, nodes.constant(np.array(classes.order))], axis=1)
    elif method == "predict_proba":
        scores = nodes.column(wide, classes.order[1])
    else:  # a decision function speaks for the last class
        scores = nodes.column(wide, -1)
        scores = nodes("Neg", [scores]) if classes.positive_first else scores
    segment = None
    if rule.needs_segments:
        names = [name for name, _ in rule.segment_keys[0]]
        columns = {name: _column(nodes, model, name, inputs) for name in names}
        unseen = model.largest_segment_ if model._answers.unknown_group == "largest" else None
        segment = segment_nodes(nodes, rule.segment_keys, columns, unseen)
    u = None
    if drawn is not None:
        upright = nodes("Reshape", [drawn.full_name, nodes.constant(np.array([-1, 1]))])
        u = nodes.cast(upright, DOUBLE)
    rules = RuleNodes(nodes, scores, single, segment)
    codes = nodes("Reshape", [rules.decisions(rule, u), nodes.constant(np.array([-1]))])
    labels = nodes.constant(_labels(model)[classes.order])
    nodes("Gather", [labels, codes], operator.outputs[0].full_name, axis=0)
    if model._answers.predict_proba == "rule":
        out = _distribution(rules, rule, codes, classes.order)
    twofold = isinstance(operator.outputs[1].type, types.DoubleTensorType)
    nodes.cast(out, DOUBLE if twofold else FLOAT, operator.outputs[1].full_name)


def _method(model: PlugInClassifier) -> str:
    """The method of the model inside that gives the scores."""
    response = Response(model._answers.method, model._classes, model.posterior_)
    return response.name(plain_model(model.estimator_))


def _labels(model: PlugInClassifier) -> np.ndarray[Any, Any]:
    """The classes as ONNX has labels: int64 or text."""
    labels = np.asarray(model.classes_.tolist())
    if labels.dtype.kind == "U":
        return labels
    whole = labels.astype(np.int64) if labels.dtype.kind in "biuf" else None
    if whole is None or (whole != labels).any():
        raise ExportError(
            f"classes_: labels of a graph are whole numbers or text, found {labels.tolist()}"
        )
    return whole


def _without_draws(inputs: Any, draws: str | None) -> tuple[list[Any], Any]:
    """The inputs of the model, and the one with draws."""
    if draws is None:
        return list(inputs), None
    found = [variable for variable in inputs if variable.raw_name == draws]
    if not found:
        raise ExportError(
            f"`draws`: {draws!r} is not an input of the classifier, which has "
            f"{[variable.raw_name for variable in inputs]}. The draws reach a classifier that is "
            "the whole graph: put the other steps into its estimator, as in "
            "PlugInClassifier(make_pipeline(scaler, model), goal)"
        )
    return [variable for variable in inputs if variable is not found[0]], found[0]


def _column(nodes: Nodes, model: PlugInClassifier, name: str, inputs: list[Any]) -> GraphColumn:
    """A column that the rule looks at, among the inputs of the classifier."""
    types = needed_by(WHAT, "onnx", "skl2onnx.common.data_types")

    def found(value: str, variable: Any) -> GraphColumn:
        kind = variable.type
        text, single = types.StringTensorType, types.FloatTensorType
        return GraphColumn(value, isinstance(kind, text), isinstance(kind, single))

    names = model.draw_columns_ or []
    if len(inputs) == 1 and name in names:
        if len(names) == 1:
            return found(inputs[0].full_name, inputs[0])
        return found(nodes.column(inputs[0].full_name, names.index(name)), inputs[0])
    for variable in inputs:
        if variable.raw_name == name:
            return found(variable.full_name, variable)
    raise ExportError(
        f"the rule looks at {name!r}, which is not a column of X: fit saw "
        f"{names or 'an X without column names'}, and the graph has the inputs "
        f"{[variable.raw_name for variable in inputs]}. A graph gets its groups from X: pass the "
        "column in X and name it in `sensitive_features` of the constructor"
    )


def _distribution(rules: RuleNodes, rule: Rule, codes: str, order: list[int]) -> str:
    """The probability with which the rule decides each class, in the order of ``classes_``."""
    add = rules.nodes
    if rule.randomized and rule.n_classes > 2:
        raise ExportError(
            "`response`: 'rule' asks for the probabilities of a rule over more than two classes "
            "that draws, which have no form in ONNX; `response='model'` has one"
        )
    if rule.randomized:
        positive = rules.positive(rule)
        columns = [add("Sub", [add.constant([[1.0]]), positive]), positive]
        return add.side_by_side([columns[i] for i in np.argsort(order)])
    return add("Gather", [add.constant(np.eye(len(order))[:, np.argsort(order)]), codes], axis=0)


def final_step(model: Any) -> Any:
    """The classifier itself, or the last step of a pipeline."""
    return final_step(model.steps[-1][1]) if isinstance(model, Pipeline) else model
