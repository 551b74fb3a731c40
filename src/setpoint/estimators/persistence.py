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
from importlib.resources import files
from pathlib import Path
from typing import Any

from setpoint.blackbox.blackbox import BlackBox
from setpoint.errors import InputError, InputTypeError, quoted
from setpoint.estimators.skops_io import skops_io
from setpoint.inputs.files import atomic_write

__all__ = ["TRUSTED_TYPES", "ModelFileError", "load_model", "save_model"]


def _stored_types() -> tuple[str, ...]:
    """What each room lists as its types that model files may hold, without importing any."""
    rooms = sorted(files("setpoint").iterdir(), key=lambda room: room.name)
    lists = [room / "stored_types.txt" for room in rooms if room.is_dir()]
    return tuple(name for own in lists if own.is_file() for name in own.read_text().split())


TRUSTED_TYPES: tuple[str, ...] = _stored_types()
"""What a model file may hold beside the types that skops trusts, scikit-learn's among them."""


FORMAT = 3
"""Version of model files; a reader refuses any other."""

_MEMBER = "setpoint.json"


class ModelFileError(InputError):
    """A file that is not a model, is damaged, too new, or holds types that are not trusted.

    Attributes
    ----------
    path : path or None
        The file.
    """

    def __init__(self, message: str = "", *, path: str | os.PathLike[str] | None = None) -> None:
        super().__init__(message)
        self.path = path


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
    _check_findable(model)
    data = io.BytesIO(skops_io().dumps(model))
    with zipfile.ZipFile(data, "a") as archive:
        versions = {"format": FORMAT, "setpoint": version("setpoint")}
        archive.writestr(_MEMBER, json.dumps(versions))
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
        If the file is damaged or of another format, or holds a type that is neither
        setpoint's nor scikit-learn's nor in `trusted`; the message names it.
    OSError
        If the file cannot be read.

    Examples
    --------
    >>> from setpoint.estimators import load_model
    >>> load_model(__file__)
    Traceback (most recent call last):
    ...
    setpoint.estimators.persistence.ModelFileError: ... is not a model file, or was cut short
    """
    data = Path(path).read_bytes()
    allowed = {*TRUSTED_TYPES, *trusted}
    try:
        _check_archive(data, path)
        unknown = skops_io().get_untrusted_types(data=data)
        foreign = sorted(set(unknown) - allowed)
        if foreign:
            raise ModelFileError(
                f"{path} holds types that are not trusted: {', '.join(foreign)}; nothing was "
                "loaded. `trusted` names those that you trust",
                path=path,
            )
        return skops_io().loads(data, trusted=unknown)
    except ModelFileError:
        raise
    except Exception as error:  # whatever a damaged file makes of its reader
        raise ModelFileError(
            f"{path} cannot be read as a model: {type(error).__name__}: {error}", path=path
        ) from error


def _check_archive(data: bytes, path: str | os.PathLike[str]) -> None:
    """Refuse what is not an archive, or one whose checksums do not fit."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            damaged = archive.testzip()
            versions = archive.read(_MEMBER) if _MEMBER in archive.namelist() else b"{}"
    except zipfile.BadZipFile:
        raise ModelFileError(f"{path} is not a model file, or was cut short", path=path) from None
    if damaged is not None:
        raise ModelFileError(
            f"{path} is damaged: the checksum of {damaged} does not fit", path=path
        )
    found = json.loads(versions)
    written = found.get("format", FORMAT)
    if written != FORMAT:
        mend = "install a newer one" if written > FORMAT else "fit the model again and save it"
        raise ModelFileError(
            f"{path} was written by setpoint {found.get('setpoint', '?')} in format {written}; "
            f"this is setpoint {version('setpoint')}, which reads format {FORMAT}: {mend}",
            path=path,
        )
