"""A file or stdin as pieces of bytes and of UTF-8 text, and what it is if it is not a table."""

from __future__ import annotations

import codecs
import io
import os
import re
import sys
import zlib
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from typing import BinaryIO

from setpoint.tables.kinds import TableError

_PIECE = 2**20  # bytes at once: they stay in the cache
_LINES, _LARGEST = 2**12, 2**25
"""Lines of a piece, and the bytes that are enough: columns are not cut short."""

_ZIP = b"PK\x03\x04"
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

# UTF-32 first: its mark begins with that of UTF-16.
_MARKS = (
    (codecs.BOM_UTF8, "utf-8", "UTF-8 with a byte order mark"),
    (codecs.BOM_UTF32_LE, "utf-32", "UTF-32"),
    (codecs.BOM_UTF32_BE, "utf-32", "UTF-32"),
    (codecs.BOM_UTF16_LE, "utf-16", "UTF-16"),
    (codecs.BOM_UTF16_BE, "utf-16", "UTF-16"),
)
_ORDERED = tuple(mark for mark, codec, _ in _MARKS if codec != "utf-8")


class InputFile:
    r"""A file or stdin, unpacked if it was gzipped, of which the first bytes were read.

    Examples
    --------
    >>> source = InputFile("-", stdin=io.BytesIO(b"a\r\ncaf\xe9\r\n"))
    >>> source.name, list(source.text("cp1252", notes=[]))
    ('stdin', [b'a\ncaf\xc3\xa9\n'])
    """

    def __init__(self, source: str | os.PathLike[str], *, stdin: BinaryIO | None = None) -> None:
        self.name = "stdin" if str(source) == "-" else Path(source).name or str(source)
        pieces = _gathered(_raw(source, stdin))
        first = next(pieces, b"")
        pieces = chain([first], pieces)
        if first[:2] == b"\x1f\x8b":
            pieces = _gathered(_unpacked(pieces, self.name))
        self._pieces = pieces
        self.head = next(pieces, b"")

    @property
    def is_parquet(self) -> bool:
        """Whether it begins as a Parquet file does."""
        return self.head[:4] == b"PAR1"

    @property
    def is_excel(self) -> bool:
        """Whether it begins as a workbook of Excel does."""
        return self.head[:4] == _ZIP and b"xl/" in self.head

    def read(self) -> bytes:
        """All that there is."""
        return b"".join([self.head, *self._pieces])

    def text(self, encoding: str | None, notes: list[str]) -> Iterator[bytes]:
        """The text in pieces."""
        name = self.name
        refuse_other_files(self.head, name)
        codec, note = _codec_of(self.head, name, encoding)
        if note:
            notes.append(note)
        try:
            "".encode(codec)
            decoder = codecs.getincrementaldecoder(codec)()
        except LookupError:
            raise TableError(
                f"{name}: there is no encoding {codec!r}; common ones are utf-8, cp1252, latin-1, "
                "utf-16"
            ) from None
        plain = io.IncrementalNewlineDecoder(decoder, translate=True)
        n_lines, start = 0, True
        for piece, last in _and_last(chain([self.head], self._pieces)):
            if codec == "utf-8" and _is_plain(piece) and plain.getstate() == (b"", 0):
                n_lines, start = n_lines + piece.count(b"\n"), False
                yield piece
                continue
            try:
                text = plain.decode(piece, final=last)
            except UnicodeDecodeError as error:
                raise TableError(_not_text(error, name, codec, encoding, n_lines)) from None
            except UnicodeError as error:  # a codec that is not for pieces of text
                raise TableError(f"{name} is not {codec} text: {error}") from None
            if start and text:
                text, start = text.removeprefix("\ufeff"), False
            if "\0" in text:
                _refuse_zero(name, n_lines + text.count("\n", 0, text.index("\0")) + 1)
            n_lines += text.count("\n")
            if text:
                yield text.encode()


def refuse_empty(data: bytes, name: str) -> None:
    """Refuse a file in which there is nothing."""
    if re.search(rb"\S", data) is None:
        raise TableError(f"{name} is empty; a table has a line of column names, and rows below it")


def refuse_other_files(data: bytes, name: str) -> None:
    """Refuse files that are known to be something else than text."""
    what, remedy = _guess(data)
    if what:
        raise TableError(f"{name} is not a table: it looks like {what}; {remedy}")


def _guess(data: bytes) -> tuple[str, str]:
    if data[:4] == _ZIP:
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


def _raw(source: str | os.PathLike[str], stdin: BinaryIO | None) -> Iterator[bytes]:
    if str(source) == "-":
        if stdin is None and sys.stdin is None:
            raise TableError("stdin is closed; name a file, or send rows to it")
        yield from _reads(sys.stdin.buffer if stdin is None else stdin)
        return
    try:
        with Path(source).open("rb") as file:
            yield from _reads(file)
    except FileNotFoundError:
        raise TableError(f"{source}: there is no such file") from None
    except IsADirectoryError:
        raise TableError(f"{source} is a folder; name a file in it") from None
    except PermissionError:
        raise TableError(f"{source} may not be read: permission denied") from None
    except OSError as error:
        raise TableError(f"{source} cannot be read: {error.strerror or error}") from None


def _reads(file: BinaryIO) -> Iterator[bytes]:
    read: Callable[[int], bytes] = getattr(file, "read1", file.read)
    while piece := read(_PIECE):
        yield piece


def _gathered(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """The same in larger pieces, but for the last; larger still where lines are long."""
    parts, size, wanted = [], 0, _PIECE
    for piece in pieces:
        parts.append(piece)
        size += len(piece)
        if size >= wanted:
            whole = b"".join(parts)
            yield whole
            line = len(whole) // (whole.count(b"\n") + 1)
            parts, size, wanted = [], 0, max(_PIECE, min(_LINES * line, _LARGEST))
    if size:
        yield b"".join(parts)


def _unpacked(pieces: Iterator[bytes], name: str) -> Iterator[bytes]:
    """Gzipped bytes unpacked; a file may hold several packed ones after each other."""
    unpacker = zlib.decompressobj(31)
    try:
        for packed in pieces:
            piece = packed
            while piece:
                if unpacker.eof:
                    piece = piece.lstrip(b"\0")  # padding of tapes and blocks
                    if not piece:
                        break
                    unpacker = zlib.decompressobj(31)
                yield unpacker.decompress(piece, _PIECE)
                piece = unpacker.unused_data if unpacker.eof else unpacker.unconsumed_tail
    except zlib.error as error:
        raise TableError(f"{name} is damaged and cannot be unpacked: {error}") from None
    if not unpacker.eof:
        raise TableError(f"{name} is cut short: its gzip stream has no end; copy it again")


def _codec_of(data: bytes, name: str, encoding: str | None) -> tuple[str, str]:
    """The codec of a text by its first bytes, and a note where it is not plain UTF-8."""
    if encoding is not None:
        if encoding.lower() in ("utf-16", "utf-32") and not data.startswith(_ORDERED):
            return f"{encoding}-{sys.byteorder[0]}e", encoding  # as Python has it
        return encoding, encoding
    for mark, codec, words in _MARKS:
        if data.startswith(mark):
            return codec, words
    # Zero bytes are in no text, but in UTF-16 every other byte may be one.
    first = data.find(b"\0")
    if first >= 0:
        start = data[:200]
        for zeros, codec in ((start[1::2], "utf-16-le"), (start[::2], "utf-16-be")):
            if zeros.count(0) > 0.8 * len(zeros):
                raise TableError(
                    f"{name} looks like UTF-16 without a byte order mark; pass `encoding={codec!r}`"
                )
        _refuse_zero(name, data.count(b"\n", 0, first) + 1)
    return "utf-8", ""


def _refuse_zero(name: str, line: int) -> None:
    raise TableError(
        f"{name} is not a table: line {line} holds a zero byte, as in no text; save it as CSV"
    )


def _not_text(
    error: UnicodeDecodeError, name: str, codec: str, encoding: str | None, before: int
) -> str:
    """What to say of bytes that are not text of a codec, after so many lines of text."""
    line = before + error.object.count(b"\n", 0, error.start) + 1
    found = error.object[error.start : error.start + 1].hex()
    remedy = "`encoding='cp1252'` is common for tables from Excel"
    if encoding is not None:
        remedy = "name the encoding that it was saved in, or leave `encoding` out for UTF-8"
    return f"{name}, line {line}: the byte 0x{found} is not {codec.upper()} text; {remedy}"


def _is_plain(piece: bytes) -> bool:
    """Whether there is nothing to decode, to translate or to refuse in a piece."""
    return bool(piece) and piece.isascii() and b"\r" not in piece and b"\0" not in piece


def _and_last(pieces: Iterator[bytes]) -> Iterator[tuple[bytes, bool]]:
    """Each piece as it comes, and an empty one that is the last."""
    for piece in pieces:
        yield piece, False
    yield b"", True
