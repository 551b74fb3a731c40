"""One cut-off, or the weights of an argmax, behind a model as one graph: the extra ``onnx``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import _num_samples, check_is_fitted

from setpoint.errors import InputError, InputTypeError
from setpoint.inputs import column_names, frame_of, series_values
from setpoint.packages import needed_by
from setpoint.plugin.classifier import PlugInClassifier
from setpoint.rules import Argmax, Threshold

_OPTIONS = {"zipmap": [True, False, "columns"], "nocl": [True, False]}
_FLOAT32_ALONE = ("sklearn.tree", "sklearn.ensemble")
_INT64, _STRING, _DOUBLE = 7, 8, 11  # as onnx.TensorProto numbers them


class ExportError(InputError):
    """A fitted classifier cannot be written as an ONNX graph; the message names the part."""


def register() -> None:
    """Let skl2onnx convert :class:`setpoint.PlugInClassifier`; twice is the same as once."""
    add = _package("skl2onnx").update_registered_converter
    add(PlugInClassifier, "SetpointPlugIn", _output_types, _convert, options=_OPTIONS)


def to_onnx(model: Any, X: Any, *, target_opset: int | None = None) -> Any:
    """Write a fitted classifier, its rule included, as one ONNX graph.

    The last step of a pipeline may be the classifier. X (N, p) are some rows, for the names and
    types of columns: a frame gives one input a column. Numbers that are not float32 enter as
    float64. The outputs are ``label``, and ``probabilities`` (N, n), the model's.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from setpoint import PlugInClassifier
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]] * 10, [0, 0, 1, 1] * 10
    >>> model = PlugInClassifier(LogisticRegression(), "maximize f1", pos_label=1).fit(X, y)
    >>> different_rows(to_onnx(model, X), model, X)
    array([], dtype=int64)
    """
    skl2onnx, types = _package("skl2onnx"), _package("skl2onnx.common.data_types")
    onnx = _package("onnx")
    register()
    last = model
    while isinstance(last, Pipeline):
        last = last.steps[-1][1]
    if not isinstance(last, PlugInClassifier):
        wanted = "a fitted PlugInClassifier, or a pipeline that ends with one"
        raise InputTypeError(f"model: {wanted}, got {type(last).__name__}")
    check_is_fitted(last)
    made_of = " > ".join(type(step).__name__ for step in _steps(last.estimator_))
    inputs = []
    for name, values in _columns(X).items():
        single = values.dtype in (np.float32, np.float16)
        kind = types.FloatTensorType if single else types.DoubleTensorType
        kind = types.StringTensorType if values.dtype.kind in "OUST" else kind
        inputs.append((name, kind([None, values.shape[1]])))
    more = {"options": {id(last): {"zipmap": False}}, "target_opset": target_opset}
    try:
        graph = skl2onnx.to_onnx(model, initial_types=inputs, **more)
        onnx.checker.check_model(graph, full_check=True)
    except ExportError:
        raise
    except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError) as error:
        raise ExportError(
            f"`estimator`: the graph that skl2onnx makes of {made_of} mixes float32 and float64; "
            "give X in float32, as X.astype('float32') does, and all of it is float32"
        ) from error
    except (AttributeError, NotImplementedError, RuntimeError, TypeError, ValueError) as error:
        # Some messages of skl2onnx hold whole forests.
        reason = str(error.__cause__ or error).strip().partition("\n")[0][:300]
        raise ExportError(f"`estimator`: skl2onnx could not convert {made_of}: {reason}") from error
    return graph


def different_rows(graph: Any, model: Any, X: Any) -> NDArray[np.int64]:
    """Run a graph by onnxruntime: the rows of X that it decides otherwise than ``predict``."""
    run = _package("onnxruntime").InferenceSession
    session = run(graph.SerializeToString(), providers=["CPUExecutionProvider"])
    kinds = {"tensor(string)": object, "tensor(float)": np.float32, "tensor(int64)": np.int64}
    given = {}
    for wanted, values in zip(session.get_inputs(), _columns(X).values(), strict=True):
        text = values.astype(str) if wanted.type == "tensor(string)" else values
        given[wanted.name] = text.astype(kinds.get(wanted.type, float))
    label = session.run(["label"], given)[0]
    predicted = np.asarray(model.predict(X))
    if label.dtype.kind not in "iu":
        label, predicted = label.astype(str), predicted.astype(str)
    return np.flatnonzero(label != predicted).astype(np.int64)


def _package(name: str) -> Any:
    return needed_by("ONNX graphs", "onnx", name)


def _output_types(operator: Any) -> None:
    """Labels of their own type, and one column a class; called by skl2onnx."""
    types = _package("skl2onnx.common.data_types")
    model, rows = operator.raw_operator, operator.inputs[0].get_first_dimension()
    rule, kept = model.rule_, isinstance(model.rule_, Argmax) and bool(model.rule_.weights)
    kept = kept or (isinstance(rule, Threshold) and not rule.randomized)
    if model.scorer_ is not None or not kept:
        raise ExportError(
            "rule_: a graph holds one cut-off or the weights of an argmax over the scores of one "
            "model; this rule leaves by to_sql, to_python or to_json"
        )
    kind = types.StringTensorType if _labels(model).dtype.kind == "U" else types.Int64TensorType
    operator.outputs[0].set_type(kind([rows]))
    # A decision function has one column, or one a class.
    raw = _method(model) == "decision_function" and model._answers.predict_proba == "model"
    operator.outputs[1].type.shape = [rows, None if raw else len(model.classes_)]


def _convert(scope: Any, operator: Any, container: Any) -> None:
    """Add the nodes of the model and of its rule; called by skl2onnx."""
    types = _package("skl2onnx.common.data_types")
    model: PlugInClassifier = operator.raw_operator
    rule: Any = model.rule_
    order, add = model._classes.order, _Nodes(scope, container)
    method, inputs = _method(model), list(operator.inputs)
    single = all(isinstance(i.type, types.FloatTensorType) for i in inputs)
    out = _inner_scores(add, model.estimator_, inputs, method, single)
    wide = add("Cast", [out], to=_DOUBLE)
    if isinstance(rule, Argmax):
        total = add("Mul", [add("Gather", [wide, order], axis=1), [rule.weights]])
        if rule.offset is not None:
            total = add("Add", [total, [rule.offset]])
        codes = add("ArgMax", [total], axis=1, keepdims=0)
    else:  # a decision function speaks for the last class
        score = add("Gather", [wide, order[1] if method == "predict_proba" else -1], axis=1)
        if method == "decision_function" and model._classes.positive_first:
            score = add("Neg", [score])
        bound = rule.threshold
        if single or type(_steps(model.estimator_)[-1]).__module__.startswith(_FLOAT32_ALONE):
            with np.errstate(over="ignore"):  # rounded as the scores are, to keep ties
                bound = float(np.float32(bound))
        codes = add("Cast", [add("GreaterOrEqual", [score, bound])], to=_INT64)
    add("Gather", [_labels(model)[order], codes], operator.outputs[0].full_name, axis=0)
    if model._answers.predict_proba == "rule":
        out = add("Gather", [np.eye(len(order))[:, np.argsort(order)], codes], axis=0)
    out_type = _DOUBLE if isinstance(operator.outputs[1].type, types.DoubleTensorType) else 1
    add("Cast", [out], operator.outputs[1].full_name, to=out_type)


@dataclass(frozen=True, eq=False)
class _Nodes:
    """Adds nodes under names of their own; inputs other than names are constants."""

    scope: Any
    container: Any

    def __call__(self, kind: str, inputs: Sequence[Any], out: str = "", **attributes: Any) -> str:
        names = [i if isinstance(i, str) else self._constant(np.asarray(i)) for i in inputs]
        result = out or self.scope.get_unique_variable_name(f"setpoint_{kind.lower()}")
        name = self.scope.get_unique_operator_name(kind)
        self.container.add_node(kind, names, result, name=name, **attributes)
        return str(result)

    def _constant(self, values: NDArray[Any]) -> str:
        kind, content = {"f": _DOUBLE, "i": _INT64}.get(values.dtype.kind), values.ravel().tolist()
        if kind is None:
            kind, content = _STRING, [str(value).encode() for value in content]
        name = str(self.scope.get_unique_variable_name("setpoint_constant"))
        self.container.add_initializer(name, kind, list(values.shape), content)
        return name


def _inner_scores(add: _Nodes, model: Any, inputs: list[Any], method: str, single: bool) -> str:
    """Add the model inside by skl2onnx's own converter; the name of its response, (N, n)."""
    types = _package("skl2onnx.common.data_types")
    known = _package("skl2onnx._supported_operators").sklearn_operator_name_map
    kind = types.FloatTensorType if single else types.DoubleTensorType
    last = (steps := _steps(model))[-1]
    options = {"zipmap": False, "raw_scores": method == "decision_function"}
    allowed = [name for name in options if add.container.has_options(last, name)]
    problem = ""
    if type(last) not in known:
        problem = f"skl2onnx has no converter for {type(last).__name__}; it may be registered there"
    elif isinstance(last, CalibratedClassifierCV) and last.method == "isotonic":
        problem = "skl2onnx has other isotonic values; `calibrate='sigmoid'` is the same in both"
    elif options["raw_scores"] and "raw_scores" not in allowed:
        problem = f"skl2onnx has no decision_function of {type(last).__name__}"
    if problem:
        raise ExportError(f"`estimator`: {problem}")
    for owner in (add.scope, add.container):
        owner.add_options(id(last), {name: options[name] for name in allowed})

    def operator(alias: str, of: Any, given: list[Any], *kinds: Any) -> list[Any]:
        found = add.scope.declare_local_operator(alias, of)
        for variable in given:
            found.inputs.append(variable)
        for each in kinds:
            found.outputs.append(add.scope.declare_local_variable("setpoint_scores", each))
        return list(found.outputs)

    if len(inputs) > 1 and not hasattr(steps[0], "transformers_"):
        inputs = operator("SklearnConcat", None, inputs, kind([None, None]))
    named = [(str(k), step) for k, step in enumerate(steps)]
    whole = Pipeline(named) if len(steps) > 1 else last
    out = operator(known[type(whole)], whole, inputs, types.Int64TensorType(), kind())
    return str(out[1].full_name)


def _steps(model: Any) -> list[Any]:
    """The steps of pipelines within pipelines, so that options reach the last one."""
    if isinstance(model, FrozenEstimator):
        return _steps(model.estimator)
    if getattr(model, "best_estimator_", None) is not None:
        return _steps(model.best_estimator_)
    if not isinstance(model, Pipeline):
        return [model]
    steps = [step for _, step in model.steps if step not in (None, "passthrough")]
    return [inner for step in steps for inner in _steps(step)]


def _method(model: PlugInClassifier) -> str:
    """The method of the model inside that gives the scores."""
    return model._response.name(_steps(model.estimator_)[-1])


def _labels(model: PlugInClassifier) -> NDArray[Any]:
    """The classes as ONNX has labels: int64 or text."""
    labels = np.asarray(model.classes_.tolist())
    if labels.dtype.kind in "buf" and (labels == labels.astype(np.int64)).all():
        labels = labels.astype(np.int64)
    if labels.dtype.kind not in "iU":
        found = labels.tolist()
        raise ExportError(f"classes_: labels of a graph are whole numbers or text, found {found}")
    return labels


def _columns(X: Any) -> dict[str, NDArray[Any]]:
    """The columns of a frame (N, 1), by name; else all as one matrix X."""
    frame, out = frame_of(X), {}
    if frame is None:
        return {"X": np.asarray(X).reshape(_num_samples(X), -1)}
    for name in column_names(X) or ():
        array = series_values(frame.get_column(name))
        if array.dtype.kind == "O" and not any(isinstance(v, str) for v in array.tolist()):
            array = array.astype(np.float64)
        out[name] = array[:, None]
    return out
