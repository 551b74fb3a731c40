"""Model files: written and read with skops, never with pickle.

A skops file names the types it holds; only setpoint's own and scikit-learn's are built.
"""

from __future__ import annotations

import io
import json
import os
import zipfile
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from setpoint.blackbox.blackbox import BlackBox
from setpoint.inputs.files import atomic_write

__all__ = ["TRUSTED_TYPES", "ModelFileError", "load_model", "save_model"]

TRUSTED_TYPES: tuple[str, ...] = (
    "functools.partial",
    "numpy.dtype",
    "setpoint.data.dates.DateParts",
    "setpoint.data.floats.AsFloats",
    "setpoint.data.streaming.schema.StreamColumn",
    "setpoint.data.streaming.schema.StreamSchema",
    "setpoint.data.streaming.state.StreamState",
    "setpoint.data.table_model.TableModel",
    "setpoint.inputs.dataset.Dataset",
    "setpoint.blackbox.blackbox.BlackBox",
    "setpoint.goals.expressions.Apply",
    "setpoint.goals.expressions.Baseline",
    "setpoint.goals.expressions.Const",
    "setpoint.goals.expressions.Constraint",
    "setpoint.goals.expressions.BlackBoxMetric",
    "setpoint.goals.expressions.Metric",
    "setpoint.goals.expressions.Product",
    "setpoint.goals.expressions.Quotient",
    "setpoint.goals.expressions.Reduce",
    "setpoint.goals.expressions.Sum",
    "setpoint.goals.goal.Goal",
    "setpoint.goals.populations.Other",
    "setpoint.evidence.codebook.Cell",
    "setpoint.goals.populations.Population",
    "setpoint.online.classifier.OnlineFClassifier",
    "setpoint.online.engine.Engine",
    "setpoint.online.options.Options",
    "setpoint.online.state.State",
    "setpoint.online.waiting.Waiting",
    "setpoint.penalty.classifier.ExactPenaltyClassifier",
    "setpoint.estimators.features.Standardized",
    "setpoint.ramp.classifier.RampClassifier",
    "setpoint.ramp.deployed.ScoreFeature",
    "setpoint.plugin.classifier.PlugInClassifier",
    "setpoint.plugin.joint.JointModel",
    "setpoint.plugin.joint.JointPosterior",
    "setpoint.plugin.retrained.Retrained",
    "setpoint.report.entry.Entry",
    "setpoint.report.entry.GroupRow",
    "setpoint.report.operating.OperatingCurve",
    "setpoint.report.operating.OperatingPoints",
    "setpoint.report.report.GoalReport",
    "setpoint.rules.argmax.Argmax",
    "setpoint.rules.mixture.Mixture",
    "setpoint.rules.per_slot.PerSlot",
    "setpoint.rules.threshold.Threshold",
    "setpoint.search.frontier.Frontier",
    "setpoint.search.limits.TracePoint",
    "setpoint.surrogates.body.Body",
    "setpoint.surrogates.classifier.AdaptiveSurrogateClassifier",
    "setpoint.surrogates.ranking.PRBEP",
    "setpoint.surrogates.ranking.PrecisionAtK",
    "setpoint.surrogates.ranking.PrecisionAtRecall",
    "sklearn.calibration._CalibratedClassifier",
    "sklearn.calibration._SigmoidCalibration",
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
    "sklearn.neural_network._stochastic_optimizers.AdamOptimizer",
    "sklearn.neural_network._stochastic_optimizers.SGDOptimizer",
    "sklearn.tree._tree.Tree",
    "sklearn.utils.validation.check_array",
)
"""What a model file may hold beside the types that skops trusts, scikit-learn's among them."""


FORMAT = 1
"""Version of model files; a reader refuses what is newer."""

_MEMBER = "setpoint.json"


class ModelFileError(ValueError):
    """A file that is no model, is damaged, too new, or holds types that are not trusted."""


def save_model(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted model; the old file stays until the new one is whole.

    Parameters
    ----------
    model : estimator
    path : path
        By custom it ends in ``.skops``.

    Raises
    ------
    OSError
        If the file cannot be written.
    TypeError
        If a parameter is a function that no reader of the file could find, a
        :class:`BlackBox` of one, or a torch module that is made already. Files hold the
        name of a black box, never its function.
    """
    import skops.io

    _check_findable(model)
    data = io.BytesIO(skops.io.dumps(model))
    with zipfile.ZipFile(data, "a") as archive:
        told = {"format": FORMAT, "setpoint": version("setpoint")}
        archive.writestr(_MEMBER, json.dumps(told))
    atomic_write(path, data.getvalue())


def _check_findable(model: Any) -> None:
    """Refuse what files could not hold: functions without a name to find, and ready modules."""
    parameters = model.get_params() if hasattr(model, "get_params") else {}
    for name, value in parameters.items():
        if hasattr(value, "state_dict") and not isinstance(value, type):
            raise TypeError(
                f"{name} is a {type(value).__name__} that is made already, which no model file can "
                "hold: give a function that makes it, or store the model with pickle"
            )
        where = getattr(value, "__qualname__", "")
        if isinstance(value, BlackBox) and value.function is not None:
            where = value.path.partition(":")[2]
        if "<" in where:
            raise TypeError(
                f"{name} is {where}, which no reader of a file can find by its name: define it "
                "with def or class at the top of a module"
            )


def load_model(path: str | os.PathLike[str], *, trusted: Sequence[str] = ()) -> Any:
    """Read a model file; nothing in it is executed.

    Parameters
    ----------
    path : path
    trusted : sequence of str
        Further types that may be built, such as those of the inner model's package, by
        their full names.

    Returns
    -------
    estimator

    Raises
    ------
    ModelFileError
        If the file is damaged or of a newer format, or holds a type that is neither
        setpoint's nor scikit-learn's nor in `trusted`; the message names it.
    OSError
        If the file cannot be read.

    Examples
    --------
    >>> from setpoint.estimators import load_model
    >>> load_model(__file__)
    Traceback (most recent call last):
    ...
    setpoint.estimators.persistence.ModelFileError: ... is no model file, or was cut short
    """
    import skops.io

    data = Path(path).read_bytes()
    allowed = {*TRUSTED_TYPES, *trusted}
    try:
        _check_archive(data, path)
        unknown = skops.io.get_untrusted_types(data=data)
        foreign = sorted(set(unknown) - allowed)
        if foreign:
            raise ModelFileError(
                f"{path} holds types that are not trusted: {', '.join(foreign)}; nothing was "
                "loaded. trusted=[...] names those that you trust"
            )
        return skops.io.loads(data, trusted=unknown)
    except ModelFileError:
        raise
    except Exception as error:  # whatever a damaged file makes of its reader
        raise ModelFileError(
            f"{path} cannot be read as a model: {type(error).__name__}: {error}"
        ) from error


def _check_archive(data: bytes, path: str | os.PathLike[str]) -> None:
    """Refuse what is no archive, or one whose checksums do not fit."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            damaged = archive.testzip()
            told = archive.read(_MEMBER) if _MEMBER in archive.namelist() else b"{}"
    except zipfile.BadZipFile:
        raise ModelFileError(f"{path} is no model file, or was cut short") from None
    if damaged is not None:
        raise ModelFileError(f"{path} is damaged: the checksum of {damaged} does not fit")
    found = json.loads(told)
    if found.get("format", FORMAT) > FORMAT:
        raise ModelFileError(
            f"{path} was written by setpoint {found.get('setpoint', '?')} in format "
            f"{found['format']}; this is setpoint {version('setpoint')}, which reads up to format "
            f"{FORMAT}: install a newer one"
        )
