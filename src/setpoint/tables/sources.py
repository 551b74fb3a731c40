"""The bytes of a file or of stdin, unpacked, and what they are if they are not table."""

from __future__ import annotations

import gzip
import os
import re
import sys
import zlib
from pathlib import Path
from typing import BinaryIO

from setpoint.tables.errors import TableError

__all__ = ["is_parquet", "read_source", "refuse_empty", "refuse_other_files"]

_GZIP = b"\x1f\x8b"
_PARQUET = b"PAR1"
_SAVE = "save it as CSV or Parquet"
_UNPACK = "unpack it, or pack it with gzip"

_KNOWN: tuple[tuple[bytes, str, str], ...] = (
    (b"\xd0\xcf\x11\xe0", "an Excel file", "save it as CSV"),
    (b"%PDF", "a PDF", _SAVE),
    (b"\x89PNG", "an image", _SAVE),
    (b"\xff\xd8\xff", "an image", _SAVE),
    (b"GIF8", "an image", _SAVE),
    (b"ARROW1", "a Feather file", _SAVE),
    (b"ORC", "an ORC file", _SAVE),
    (b"SQLite format 3", "a database", _SAVE),
    (b"\x89HDF", "an HDF5 file", _SAVE),
    (b"\x93NUMPY", "a NumPy array", _SAVE),
    (b"BZh", "a bzip2 archive", _UNPACK),
    (b"\xfd7zXZ", "an xz archive", _UNPACK),
    (b"\x28\xb5\x2f\xfd", "a zstd archive", _UNPACK),
    (b"7z\xbc\xaf", "a 7z archive", _UNPACK),
)
_MARKUP = re.compile(rb"\s*<(!doctype|\?xml|html|head|body|table)\b", re.IGNORECASE)
_JSON = re.compile(rb'\s*(\{\s*["}]|\[\s*[\[{])')


def read_source(source: str | os.PathLike[str], stdin: BinaryIO | None = None) -> tuple[str, bytes]:
    """The name of a source for messages, and its bytes, unpacked if they were gzipped.

    Parameters
    ----------
    source : path
        "-" is stdin.
    stdin : binary stream, optional
        What "-" reads; None: the process's own.

    Returns
    -------
    name : str
        The file's name without its folders, or "stdin".
    data : bytes

    Raises
    ------
    TableError
        If there is no such file, it is a folder, may not be read, or is damaged or empty.

    Examples
    --------
    >>> import io
    >>> read_source("-", io.BytesIO(b"a,b"))
    ('stdin', b'a,b')
    """
    if str(source) == "-":
        name = "stdin"
        data = (sys.stdin.buffer if stdin is None else stdin).read()
    else:
        path = Path(source)
        name = path.name or str(path)
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            raise TableError(f"{source}: there is no such file") from None
        except IsADirectoryError:
            raise TableError(f"{source} is a folder; name a file in it") from None
        except PermissionError:
            raise TableError(f"{source} may not be read: permission denied") from None
        except OSError as error:
            raise TableError(f"{source} cannot be read: {error.strerror or error}") from None
    if data[:2] == _GZIP:
        data = _unpacked(data, name)
    refuse_empty(data, name)
    return name, data


def refuse_empty(data: bytes, name: str) -> None:
    """Refuse a file in which there is nothing."""
    if re.search(rb"\S", data) is None:
        raise TableError(f"{name} is empty; a table has a line of column names, and rows below it")


def is_parquet(data: bytes) -> bool:
    """Whether the bytes begin as a Parquet file does."""
    return data[:4] == _PARQUET


def refuse_other_files(data: bytes, name: str) -> None:
    """Refuse files that are known to be something else than text.

    Raises
    ------
    TableError
        It says what the file looks like and what to do.
    """
    what, remedy = _guess(data)
    if what:
        raise TableError(f"{name} is not a table: it looks like {what}; {remedy}")


def _guess(data: bytes) -> tuple[str, str]:
    if data[:4] == b"PK\x03\x04":
        if b"xl/workbook" in data:
            return "an Excel file", "save it as CSV"
        if b"application/vnd.oasis.opendocument" in data[:100]:
            return "an OpenDocument file", "save it as CSV"
        return "a zip archive", _UNPACK
    for magic, what, remedy in _KNOWN:
        # A text may begin with letters such as "ORC", but holds no zero byte.
        if data.startswith(magic) and (not magic.isalnum() or b"\0" in data[:4096]):
            return what, remedy
    start = data[:1000].removeprefix(b"\xef\xbb\xbf")
    if _JSON.match(start):
        return "JSON", _SAVE
    if _MARKUP.match(start):
        return "a web page or XML", _SAVE
    return "", ""


def _unpacked(data: bytes, name: str) -> bytes:
    try:
        return gzip.decompress(data)
    except EOFError:
        raise TableError(
            f"{name} is cut short: its gzip stream has no end; copy it again"
        ) from None
    except (OSError, zlib.error) as error:
        raise TableError(f"{name} is damaged and cannot be unpacked: {error}") from None
