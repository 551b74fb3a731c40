"""From a fitted classifier to a graph, and from a graph back to its decisions."""

from __future__ import annotations

from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import _num_samples

from setpoint.array_types import Floats
from setpoint.errors import InputError, InputTypeError
from setpoint.inputs.arrays import column_names, frame_of, series_values
from setpoint.packages import needed_by
from setpoint.plugin.classifier import PlugInClassifier
from setpoint.plugin.onnx.convert import WHAT, final_step, register
from setpoint.plugin.onnx.errors import ExportError

__all__ = ["different_rows", "draws_for", "to_onnx"]

_LONGEST = 300
"""Characters of a message of skl2onnx: some hold whole forests."""


def to_onnx(
    model: Any, X: Any, *, draws: str | None = None, target_opset: int | None = None
) -> Any:
    """Write a fitted classifier, its rule included, as one ONNX graph.

    Numbers that are not float32 enter as float64, and models that can compute in float64
    then do: their decisions are those of ``predict``. Where ONNX has float32 alone, as for
    trees, a row may be decided otherwise if its score lies within rounding of the
    threshold; :func:`different_rows` finds such rows.

    Parameters
    ----------
    model : PlugInClassifier or Pipeline
        Fitted. A pipeline has the classifier as its last step.
    X : array or frame of shape (N, p)
        Some rows, for the names and types of columns. A frame gives one input a column.
    draws : str, optional
        The name of one more input, with a uniform number in [0, 1) for each row: a rule
        that draws needs it. :func:`draws_for` gives the numbers that ``predict`` uses;
        elsewhere, hash what identifies a row.
    target_opset : int, optional
        The version of ONNX; None: the newest that skl2onnx is tested with.

    Returns
    -------
    onnx.ModelProto
        With the outputs ``label``, text or int64, and ``probabilities``, (N, n): what
        ``predict_proba`` gives, or the decision function where the rule looks at that.

    Raises
    ------
    ImportError
        If skl2onnx is missing.
    ExportError
        If the rule draws and `draws` is None, it looks at columns that are not in X, or
        the model has no form in ONNX.
    """
    skl2onnx = needed_by(WHAT, "onnx", "skl2onnx")
    register()
    last = final_step(model)
    if not isinstance(last, PlugInClassifier):
        raise InputTypeError(
            "model: a fitted PlugInClassifier, or a pipeline that ends with one, got "
            f"{type(last).__name__}"
        )
    options: dict[int, dict[str, Any]] = {id(last): {"zipmap": False}}
    inputs = _input_types(X)
    if draws is not None:
        if model is not last:
            raise ExportError(
                f"`draws`: the input {draws!r} reaches a classifier that is the whole graph: put "
                "the other steps into its estimator, as in "
                "PlugInClassifier(make_pipeline(scaler, model), goal)"
            )
        if draws in dict(inputs):
            raise InputError(f"`draws`: {draws!r} is a column of X; give another name")
        types = needed_by(WHAT, "onnx", "skl2onnx.common.data_types")
        inputs.append((draws, types.DoubleTensorType([None, 1])))
        options[id(last)]["draws"] = draws
    try:
        graph = skl2onnx.to_onnx(
            model, initial_types=inputs, options=options, target_opset=target_opset
        )
    except ExportError:
        raise
    except (AttributeError, NotImplementedError, RuntimeError, TypeError, ValueError) as error:
        reason = str(error.__cause__ or error).strip().partition("\n")[0][:_LONGEST]
        raise ExportError(
            f"`estimator`: skl2onnx could not convert {_described(last.estimator_)}: {reason}"
        ) from error
    _check_types(graph, last.estimator_)
    return graph


def different_rows(graph: Any, model: Any, X: Any) -> NDArray[np.int64]:
    """Run a graph by onnxruntime, and find the rows that it decides otherwise than ``predict``.

    Parameters
    ----------
    graph : onnx.ModelProto
        Of :func:`to_onnx` or skl2onnx.
    model : PlugInClassifier or Pipeline
        What it was made of.
    X : array or frame of shape (N, p)
        An input for draws gets those of :func:`draws_for`.

    Returns
    -------
    int64 array
        Rows of X, ascending; empty where all decisions agree.

    Raises
    ------
    ImportError
        If onnxruntime is missing.
    """
    runtime = needed_by(WHAT, "onnx", "onnxruntime")
    session = runtime.InferenceSession(
        graph.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    names = [found.name for found in session.get_inputs()]
    kinds = {found.name: found.type for found in session.get_inputs()}
    columns = _columns(X)
    given: dict[str, Any] = dict(zip(names, columns.values(), strict=False))
    if len(names) > len(columns):
        given[names[len(columns)]] = draws_for(final_step(model), X)
    label = session.run(["label"], {k: _as_type(v, kinds[k]) for k, v in given.items()})[0]
    predicted = np.asarray(model.predict(X))
    if label.dtype.kind not in "iu":
        label, predicted = label.astype(str), predicted.astype(str)
    return np.flatnonzero(label != predicted).astype(np.int64)


def draws_for(model: PlugInClassifier, X: Any) -> Floats:
    """The draws by which ``predict`` decides, for the input that ``to_onnx(draws=)`` names.

    Parameters
    ----------
    model : PlugInClassifier
        With a `draw` that is settled by the rows: "row", or a column.
    X : array or frame of shape (N, p)

    Returns
    -------
    float64 array, (N, 1)

    Raises
    ------
    ValueError
        If ``draw="random"``: then each call of ``predict`` draws anew.
    """
    if model.draw == "random":
        raise InputError(
            "`draw`: 'random' draws anew at each call of predict; 'row' and a column of X give "
            "each row its own number"
        )
    return model._draws(X)[:, None]


def _check_types(graph: Any, model: Any) -> None:
    """Refuse a graph that no runtime takes: some models of skl2onnx know float32 alone."""
    onnx = needed_by(WHAT, "onnx", "onnx")
    try:
        onnx.checker.check_model(graph, full_check=True)
    except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError) as error:
        raise ExportError(
            f"`estimator`: the graph that skl2onnx makes of {_described(model)} mixes float32 and "
            "float64; give X in float32, as X.astype('float32') does, and all of it is float32"
        ) from error


def _input_types(X: Any) -> list[tuple[str, Any]]:
    """Names and types of inputs: numbers as float64, unless they are float32."""
    types = needed_by(WHAT, "onnx", "skl2onnx.common.data_types")

    def kind_of(values: NDArray[Any]) -> Any:
        shape = [None, values.shape[1]]
        if values.dtype.kind in "OUST":
            return types.StringTensorType(shape)
        single = values.dtype in (np.float32, np.float16)
        return types.FloatTensorType(shape) if single else types.DoubleTensorType(shape)

    return [(name, kind_of(values)) for name, values in _columns(X).items()]


def _columns(X: Any) -> dict[str, NDArray[Any]]:
    """The columns of a frame (N, 1), by name; else all as one matrix X."""
    frame = frame_of(X)
    if frame is None:
        return {"X": np.asarray(X).reshape(_num_samples(X), -1)}
    return {name: _values(frame.get_column(name)) for name in column_names(X) or ()}


def _values(column: nw.Series[Any]) -> NDArray[Any]:
    array = series_values(column)
    if array.dtype.kind == "O" and not any(isinstance(v, str) for v in array.tolist()):
        array = array.astype(np.float64)
    return array[:, None]


def _as_type(values: NDArray[Any], kind: str) -> NDArray[Any]:
    """Values as an input of the graph takes them."""
    if kind == "tensor(string)":
        return values.astype(str).astype(object)
    single = kind == "tensor(float)"
    return values.astype(np.float32 if single else {"tensor(int64)": np.int64}.get(kind, float))


def _described(model: Any) -> str:
    steps = getattr(model, "steps", None)
    return " > ".join(type(s).__name__ for _, s in steps) if steps else type(model).__name__
