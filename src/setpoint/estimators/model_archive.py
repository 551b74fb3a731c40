"""The archive that a model file is, checked before anything in it is expanded.

A small file may describe gigabytes: by compression, by sizes in its directory that are not
true, by headers of arrays, or by naming one member many times. Whatever skops would read is
counted here first, and every member is read once in pieces, against the size it claims.
"""

from __future__ import annotations

import ast
import copy
import io
import json
import math
import os
import struct
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator
from typing import Any, BinaryIO, TypeAlias

import numpy as np

from setpoint.errors import InputError

__all__ = [
    "FACTS",
    "SCHEMA",
    "ModelFileError",
    "as_size",
    "check_archive",
    "open_archive",
    "read_member",
]

Path: TypeAlias = str | os.PathLike[str]

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

    def __init__(self, message: str = "", *, path: Path | None = None) -> None:
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


def open_archive(source: BinaryIO, path: Path) -> zipfile.ZipFile:
    """The archive in a file, none of whose members have been read."""
    try:
        archive = zipfile.ZipFile(source)
    except (zipfile.BadZipFile, NotImplementedError, struct.error, OverflowError):
        raise ModelFileError(f"{path} is not a model file, or was cut short") from None
    for name, times in Counter(archive.namelist()).items():
        if times > 1:
            raise ModelFileError(f"{path} is not a model file: it holds {times} members {name!r}")
    for info in archive.infolist():
        if info.flag_bits & 1:
            raise ModelFileError(
                f"{path} is not a model file: its member {info.filename!r} is encrypted"
            )
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise ModelFileError(
                f"{path} is not a model file: its member {info.filename!r} is compressed by method "
                f"{info.compress_type}; model files are stored, or compressed by deflate"
            )
    return archive


def read_member(
    archive: zipfile.ZipFile, info: zipfile.ZipInfo, path: Path, keep: int | None = None
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
    archive: zipfile.ZipFile, path: Path, n_bytes: int, max_bytes: int | None = None
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
        if sparse:
            inner = open_archive(io.BytesIO(head), f"{path}, {name}")
            times = sum(node["file"] == name for node in nodes)
            total += times * sum(info.file_size for info in inner.infolist())
            _check_size(total, allowed, n_bytes, path)
            _check_sparse(inner, f"{path}, {name}")
        if "NdArrayNode" in kinds:
            _check_array(head, members[name].file_size, f"{path}, {name}")


def _check_size(total: int, allowed: int, n_bytes: int, path: Path, what: str = "") -> None:
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


def _check_sparse(archive: zipfile.ZipFile, path: str) -> None:
    for info in archive.infolist():
        if info.filename.removesuffix(".npy") not in _SPARSE:
            raise ModelFileError(f"{path} is not a sparse matrix: it holds {info.filename!r}")
        _check_array(read_member(archive, info, path, _HEADER + 12), info.file_size, path)


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
