"""The archive that a model file is, checked before anything in it is expanded.

A small file may describe gigabytes: by compression, by sizes in its directory that are not
true, by headers of arrays, or by naming one member many times. Whatever skops would read is
counted here first, and every member is read once in pieces, against the size it claims.
"""

from __future__ import annotations

import ast
import copy
import inspect
import io
import json
import math
import os
import struct
import sys
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from importlib import import_module
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from threading import RLock
from typing import Any, BinaryIO, TypeAlias

import numpy as np

from setpoint.blackbox import BlackBox
from setpoint.errors import InputError, InputTypeError, quoted
from setpoint.inputs import atomic_write
from setpoint.parameters import Number

FilePath: TypeAlias = str | os.PathLike[str]

SCHEMA = "schema.json"
FACTS = "setpoint.json"

_FLOOR = 64 << 20
"""What any file may hold, in bytes: a file of a few kB repeats itself more than a large one."""

_RATIO = 100
"""What a file may hold, for each byte of its own. Schemas of forests shrink to a fiftieth."""

_SCHEMA_SHARE = 4
"""The schema may take one part in so many: as objects JSON takes up to 24 times its size."""

_PIECE = 1 << 16
_HEADER = 10_000
"""The longest header of an array in bytes, as in ``numpy.load``."""

_SPARSE = {"data", "indices", "indptr", "row", "col", "offsets", "shape", "format", "_is_array"}
"""The arrays of a sparse matrix, as SciPy writes it."""


class ModelFileError(InputError):
    """A file that is not a model, is damaged, too large, too new, or holds untrusted types.

    Attributes
    ----------
    path : path or None
        The file.
    """

    def __init__(self, message: str = "", *, path: FilePath | None = None) -> None:
        super().__init__(message)
        self.path = path


def as_size(n_bytes: int) -> str:
    """A number of bytes in words.

    Examples
    --------
    >>> as_size(89_305), as_size(1 << 30), as_size(12)
    ('87 KiB', '1.0 GiB', '12 bytes')
    """
    value, units = float(n_bytes), ["bytes", "KiB", "MiB", "GiB", "TiB"]
    while value >= 1024 and len(units) > 1:
        value, units = value / 1024, units[1:]
    return f"{value:.{1 if value < 10 and units[0] != 'bytes' else 0}f} {units[0]}"


def open_archive(source: BinaryIO, path: FilePath) -> zipfile.ZipFile:
    """The archive in a file, none of whose members have been read."""
    try:
        archive = zipfile.ZipFile(source)
    except (zipfile.BadZipFile, NotImplementedError, struct.error, OverflowError):
        raise ModelFileError(f"{path} is not a model file, or was cut short") from None
    why = [f"it holds {n} members {x!r}" for x, n in Counter(archive.namelist()).items() if n > 1]
    for info in archive.infolist():
        member, method = f"its member {info.filename!r} is", info.compress_type
        if info.flag_bits & 1:
            why.append(f"{member} encrypted")
        if method not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            what = "model files are stored, or compressed by deflate"
            why.append(f"{member} compressed by method {method}; {what}")
    if why:
        raise ModelFileError(f"{path} is not a model file: {why[0]}")
    return archive


def read_member(
    archive: zipfile.ZipFile, info: zipfile.ZipInfo, path: FilePath, keep: int | None = None
) -> bytes:
    """Read one member to its end, in pieces, and keep its first bytes."""
    longer = copy.copy(info)
    longer.file_size += 1  # one byte more than it may have is asked for
    kept, n_bytes = bytearray(), 0
    try:
        with archive.open(longer) as stream:
            while n_bytes <= info.file_size and (piece := stream.read(_PIECE)):
                n_bytes += len(piece)
                kept += piece if keep is None else piece[: max(keep - len(kept), 0)]
    except (zipfile.BadZipFile, zlib.error, EOFError) as error:
        raise ModelFileError(f"{path} is damaged: {info.filename} is not whole ({error})") from None
    if n_bytes != info.file_size:
        found = "more" if n_bytes > info.file_size else f"{n_bytes:,}"
        raise ModelFileError(
            f"{path} is damaged: its directory gives {info.filename!r} {info.file_size:,} bytes, "
            f"it has {found}"
        )
    return bytes(kept)


def check_archive(
    archive: zipfile.ZipFile, path: FilePath, n_bytes: int, max_bytes: int | None = None
) -> None:
    """Refuse members that nobody named, sizes beyond the bound, and arrays that are not whole."""
    allowed = max(_FLOOR, _RATIO * n_bytes) if max_bytes is None else max_bytes
    members = {info.filename: info for info in archive.infolist()}
    if SCHEMA not in members:
        raise ModelFileError(f"{path} is not a model file: it holds no {SCHEMA}")
    _check_size(sum(info.file_size for info in members.values()), allowed, n_bytes, path)
    schema = members[SCHEMA]
    _check_size(schema.file_size * _SCHEMA_SHARE, allowed, n_bytes, path, f" to read its {SCHEMA}")
    nodes = list(_nodes_of_files(json.loads(read_member(archive, schema, path))))
    named = dict.fromkeys(node["file"] for node in nodes)
    for name in members:
        if name not in named and name not in (SCHEMA, FACTS):
            raise ModelFileError(
                f"{path} is not a model file: nothing names its member {name!r} of "
                f"{as_size(members[name].file_size)}"
            )
    for name in named:
        if name not in members:
            raise ModelFileError(f"{path} is damaged: its {SCHEMA} names {name!r}, it has none")
    total = schema.file_size + sum(_copies(n) * members[n["file"]].file_size for n in nodes)
    _check_size(total, allowed, n_bytes, path)
    loaders: dict[str, set[Any]] = {name: set() for name in named}
    for node in nodes:
        loaders[node["file"]].add(node.get("__loader__"))
    for name, kinds in loaders.items():
        sparse = "SparseMatrixNode" in kinds
        head = read_member(archive, members[name], path, None if sparse else _HEADER + 12)
        where = f"{path}, {name}"
        if sparse:
            inner = open_archive(io.BytesIO(head), where)
            times = sum(node["file"] == name for node in nodes)
            total += times * sum(info.file_size for info in inner.infolist())
            _check_size(total, allowed, n_bytes, path)
            for info in inner.infolist():
                if info.filename.removesuffix(".npy") not in _SPARSE:
                    raise ModelFileError(
                        f"{where} is not a sparse matrix: it holds {info.filename!r}"
                    )
                start = read_member(inner, info, where, _HEADER + 12)
                _check_array(start, info.file_size, where)
        if "NdArrayNode" in kinds:
            _check_array(head, members[name].file_size, where)


def _check_size(total: int, allowed: int, n_bytes: int, path: FilePath, what: str = "") -> None:
    if total > allowed:
        raise ModelFileError(
            f"{path} has {as_size(n_bytes)} and would take {as_size(total)}{what}; "
            f"{as_size(allowed)} are allowed, and nothing was expanded. If you know who made the "
            "file, load it in Python with `max_bytes` set to what it may take"
        )


def _nodes_of_files(schema: Any) -> Iterator[dict[str, Any]]:
    """Each node of a schema that reads a member; one that is the same object again does not."""
    waiting, seen = [schema], set()
    while waiting:
        node = waiting.pop()
        if isinstance(node, list):
            waiting += node
        elif isinstance(node, dict):
            waiting += node.values()
            name, own = node.get("file"), node.get("__id__")
            if not isinstance(name, str) or (own, name) in seen:
                continue
            if isinstance(own, int) and own:  # as skops has it: read once
                seen.add((own, name))
            yield node


def _copies(node: dict[str, Any]) -> int:
    """How many times its member a node takes, in bytes, at most."""
    if node.get("__loader__") == "BytearrayNode":
        return 9  # skops goes by way of a list
    if node.get("__loader__") == "NdArrayNode" and node.get("__class__") != "ndarray":
        return 17  # one byte may become a complex number
    return 1


def _check_array(head: bytes, n_bytes: int, path: str) -> None:
    """Refuse an array whose header promises other bytes than follow it."""
    start = {1: 10, 2: 12, 3: 12}.get(head[6] if len(head) > 12 else 0)
    if not head.startswith(b"\x93NUMPY") or start is None:
        raise ModelFileError(f"{path} is not an array")
    length = int.from_bytes(head[8:start], "little")
    if length > _HEADER:
        raise ModelFileError(f"{path} is not an array: its header takes {as_size(length)}")
    header = ast.literal_eval(head[start : start + length].decode("utf-8"))
    dtype = np.lib.format.descr_to_dtype(header["descr"])
    promised = math.prod(header["shape"]) * dtype.itemsize
    left = n_bytes - start - length
    if promised != left:
        raise ModelFileError(
            f"{path} is not whole: its header promises an array of {as_size(promised)}, "
            f"{as_size(left)} follow"
        )


# --- What a model file says of itself: its format, the versions that wrote it ---------------------


FORMAT = 4
"""Version of model files; a reader refuses any other."""

_LONGEST = 1 << 20
"""Bytes of the facts. As objects JSON takes up to 24 times as many."""


def versions() -> dict[str, str]:
    """The packages that write and read model files, as they are here."""
    import sklearn

    return {"setpoint": version("setpoint"), "scikit_learn": sklearn.__version__}


def facts_in(archive: zipfile.ZipFile, path: str | os.PathLike[str]) -> dict[str, Any]:
    """What an open archive says of itself; nothing for a file that skops itself wrote."""
    if FACTS not in archive.namelist():
        return {}
    info = archive.getinfo(FACTS)
    if info.file_size > _LONGEST:
        raise ModelFileError(
            f"{path} is not a model file: its {FACTS} takes {as_size(info.file_size)}, "
            f"{as_size(_LONGEST)} are allowed"
        )
    text = read_member(archive, info, path)
    try:
        found = json.loads(text)
        written = found["format"]
        if not isinstance(written, int) or isinstance(written, bool):
            raise KeyError("format")
    except (ValueError, TypeError, KeyError, RecursionError):
        raise ModelFileError(
            f"{path} is damaged: its {FACTS} is not what setpoint writes"
        ) from None
    if written != FORMAT:
        mend = "install a newer one" if written > FORMAT else "fit the model again and save it"
        by = str(found.get("setpoint", "?")).encode("unicode_escape").decode()
        raise ModelFileError(
            f"{path} was written by setpoint {by} in format {written}; this is setpoint "
            f"{version('setpoint')}, which reads format {FORMAT}: {mend}"
        )
    return dict(found)


# --- skops without what it loads on the way: torch, pytest ----------------------------------------


_LOCK = RLock()

_ADAPTERS = "sklearn.externals.array_api_compat"
"""Where scikit-learn keeps one adapter for each package of arrays."""

_NOT_LISTED = {"tests", "externals", "setup", "conftest", "experimental", "estimator_checks"}
"""Parts of module names whose classes scikit-learn leaves out of its estimators."""


def skops_io() -> Any:
    """``skops.io``, loaded without the packages that nobody uses yet."""
    if "skops.io" in sys.modules:
        return import_module("skops.io")
    with _LOCK:
        names = [f"{_ADAPTERS}.{name}" for name in ("cupy", "dask", "torch")]
        unused = [n for n in names if n not in sys.modules and n.split(".")[-1] not in sys.modules]
        utils: Any = import_module("sklearn.utils")
        listed = utils.all_estimators
        sys.modules.update(dict.fromkeys(unused))  # type: ignore[arg-type]  # None: no such module
        utils.all_estimators = list  # of none
        try:
            found = import_module("skops.io")
        finally:
            utils.all_estimators = listed
            for name in unused:
                sys.modules.pop(name, None)
        # One name in the list of skops equals those of all estimators.
        types: Any = import_module("skops.io._trusted_types")
        types.SKLEARN_ESTIMATOR_TYPE_NAMES.append(_AnyEstimator("an estimator of scikit-learn"))
        return found


class _AnyEstimator(str):
    """Equals the full name of any estimator of scikit-learn, so that a list contains them."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, str) and is_estimator(other)

    __hash__ = str.__hash__


def is_estimator(name: str) -> bool:
    """Whether a full name is that of a class which ``sklearn.utils.all_estimators`` lists.

    Examples
    --------
    >>> is_estimator("sklearn.linear_model._logistic.LogisticRegression")
    True
    >>> is_estimator("sklearn.linear_model._logistic.os"), is_estimator("os.system")
    (False, False)
    """
    path, _, own = name.rpartition(".")
    parts = path.split(".")
    if parts[0] != "sklearn" or not _NOT_LISTED.isdisjoint(parts) or own.startswith("_"):
        return False
    private = next((i for i, part in enumerate(parts) if part.startswith("_")), len(parts))
    try:
        made: object = getattr(import_module(path), own, None)
        shown: object = getattr(import_module(".".join(parts[:private])), own, None)
    except ImportError:
        return False
    from sklearn.base import BaseEstimator

    if not isinstance(made, type) or made is not shown:
        return False  # what no public module shows is not for users
    return (
        issubclass(made, BaseEstimator)
        and made is not BaseEstimator
        and not inspect.isabstract(made)
        and f"{made.__module__}.{made.__name__}" == name
    )


# --- Model files: written and read with skops, never with pickle ----------------------------------


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
    data, written = io.BytesIO(skops_io().dumps(model)), datetime.now(UTC)
    facts = {"format": FORMAT, **versions(), "numpy": np.__version__}
    facts["written"] = written.isoformat(timespec="seconds")
    with zipfile.ZipFile(data, "a") as archive:
        archive.writestr(FACTS, json.dumps(facts))
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
    >>> from setpoint.classifiers import load_model
    >>> load_model(__file__)
    Traceback (most recent call last):
    ...
    setpoint.classifiers.persistence.ModelFileError: ... is not a model file, or was cut short
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
        other = [
            f"{name.replace('_', '-')} {facts[name]} (here {found})"
            for name, found in versions().items()
            if isinstance(facts.get(name), str) and facts[name] != found
        ]
        by = f"; it was written by {' and '.join(other)}" if other else ""
        what = f"{type(error).__name__}: {error}"
        raise ModelFileError(f"{path} cannot be read as a model: {what}{by}", path=path) from error
