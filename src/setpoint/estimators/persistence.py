"""Model files: written and read with skops, never with pickle.

A skops file names the types it holds; only setpoint's own and scikit-learn's are built.
"""

from __future__ import annotations

import io
import os
import zipfile
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any

from setpoint.blackbox.blackbox import BlackBox
from setpoint.errors import InputError, InputTypeError, quoted
from setpoint.estimators.model_archive import FACTS, ModelFileError, check_archive, open_archive
from setpoint.estimators.model_facts import facts_in, facts_of
from setpoint.estimators.skops_io import skops_io
from setpoint.inputs.files import atomic_write
from setpoint.parameters import Number

__all__ = ["TRUSTED_TYPES", "load_model", "save_model"]


def _stored_types() -> tuple[str, ...]:
    """What each room lists as its types that model files may hold, without importing any."""
    rooms = sorted(files("setpoint").iterdir(), key=lambda room: room.name)
    lists = [room / "stored_types.txt" for room in rooms if room.is_dir()]
    return tuple(name for own in lists if own.is_file() for name in own.read_text().split())


TRUSTED_TYPES: tuple[str, ...] = _stored_types()
"""What a model file may hold beside the types that skops trusts, scikit-learn's among them."""


_BYTES = Number("a whole number of bytes, 1 or more, or None", 1, integer=True, other=(None,))


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

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from sklearn.linear_model import LogisticRegression
    >>> from setpoint import PlugInClassifier, load_model, save_model
    >>> clf = PlugInClassifier(LogisticRegression(), "f1").fit([[0.0], [1.0]] * 20, [0, 1] * 20)
    >>> with TemporaryDirectory() as folder:
    ...     save_model(clf, Path(folder) / "model.skops")
    ...     load_model(Path(folder) / "model.skops").predict([[0.0], [1.0]])
    array([0, 1])
    """
    _check_findable(model)
    data = io.BytesIO(skops_io().dumps(model))
    with zipfile.ZipFile(data, "a") as archive:
        archive.writestr(FACTS, facts_of())
    atomic_write(path, data.getvalue())


def _check_findable(model: Any) -> None:
    """Refuse what files could not hold: functions without a name to find, and ready modules."""
    parameters = model.get_params() if hasattr(model, "get_params") else {}
    for name, value in parameters.items():
        if hasattr(value, "state_dict") and not isinstance(value, type):
            raise InputTypeError(
                f"{quoted(name)} is a {type(value).__name__} that is made already, which no model "
                "file can hold: give a function that makes it, or store the model with pickle"
            )
        where = getattr(value, "__qualname__", "")
        if isinstance(value, BlackBox) and value.function is not None:
            where = value.path.partition(":")[2]
        if "<" in where:
            raise InputTypeError(
                f"{quoted(name)} is {where}, which no reader of a file can find by its name: "
                "define it with def or class at the top of a module"
            )


def load_model(
    path: str | os.PathLike[str],
    *,
    trusted: Sequence[str] = (),
    max_bytes: int | None = None,
) -> Any:
    """Read a model file; nothing in it is executed.

    Parameters
    ----------
    path : path
    trusted : sequence of str
        Further types that may be built, such as those of the inner model's package, by
        their full names.
    max_bytes : int, optional
        How many bytes the file may hold once it is expanded; files beyond that are refused
        before they are. None: 64 MiB, or a hundred times the size of the file, if that is
        more. The model in memory takes about three times as many while it is read.

    Returns
    -------
    estimator

    Raises
    ------
    ModelFileError
        If the file is damaged or of another format, holds more than `max_bytes` or a member
        that belongs to no model, or a type that is neither setpoint's nor scikit-learn's nor
        in `trusted`; the message names it.
    OSError
        If the file cannot be read.

    Examples
    --------
    >>> from setpoint.estimators import load_model
    >>> load_model(__file__)
    Traceback (most recent call last):
    ...
    setpoint.estimators.model_archive.ModelFileError: ... is not a model file, or was cut short
    """
    if not _BYTES.takes(max_bytes):
        raise InputError(f"`max_bytes` is {_BYTES.words}, got {max_bytes!r}")
    data = Path(path).read_bytes()
    facts: Mapping[str, Any] = {}
    allowed = {*TRUSTED_TYPES, *trusted}
    try:
        with open_archive(io.BytesIO(data), path) as archive:
            facts = facts_in(archive, path)
            check_archive(archive, path, len(data), max_bytes)
        unknown = skops_io().get_untrusted_types(data=data)
        foreign = sorted(set(unknown) - allowed)
        if foreign:
            raise ModelFileError(
                f"{path} holds types that are not trusted: {', '.join(foreign)}; nothing was "
                "loaded. `trusted` names those that you trust",
                path=path,
            )
        return skops_io().loads(data, trusted=unknown)
    except ModelFileError as error:
        error.path = path
        raise
    except Exception as error:  # whatever a damaged file makes of its reader
        raise ModelFileError(
            f"{path} cannot be read as a model: {type(error).__name__}: {error}"
            f"{_written_by(facts)}",
            path=path,
        ) from error


def _written_by(facts: Mapping[str, Any]) -> str:
    """What may explain that a file cannot be read: it was written by other versions."""
    import sklearn

    here = {"setpoint": version("setpoint"), "scikit_learn": sklearn.__version__}
    other = [
        f"{name.replace('_', '-')} {facts[name]} (here {found})"
        for name, found in here.items()
        if isinstance(facts.get(name), str) and facts[name] != found
    ]
    return f"; it was written by {' and '.join(other)}" if other else ""
