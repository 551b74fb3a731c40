"""A file or stdin as pieces of UTF-8 text, as they arrive, in constant memory."""

from __future__ import annotations

import codecs
import io
import os
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import BinaryIO

from setpoint.tables.encodings import codec_of, no_encoding, no_text
from setpoint.tables.errors import TableError
from setpoint.tables.sources import is_parquet, refuse_other_files

__all__ = ["Interrupted", "Waiting", "name_of", "pieces_of_text"]

Waiting = Callable[[], AbstractContextManager[object]]
"""What to be in while waiting for input, such as a context in which Ctrl-C may interrupt."""


class Interrupted(Exception):
    """What a :data:`Waiting` raises for the source to end here."""


_PIECE = 2**20
_HEAD = 4  # bytes that tell an encoding or a packed file


def name_of(source: str | os.PathLike[str]) -> str:
    """What messages call a source: the file's name without its folders, or "stdin"."""
    return "stdin" if str(source) == "-" else Path(source).name or str(source)


def pieces_of_text(
    source: str | os.PathLike[str],
    *,
    encoding: str | None = None,
    stdin: BinaryIO | None = None,
    waiting: Waiting = nullcontext,
    notes: list[str] | None = None,
) -> Iterator[bytes]:
    r"""The text of a source in pieces of about 1 MB, or what a live pipe holds so far.

    Parameters
    ----------
    source, encoding, stdin, waiting
        As of ``Stream``.
    notes : list of str, optional
        Takes the encoding, where it is not plain UTF-8.

    Yields
    ------
    bytes
        UTF-8 without a byte order mark, every line end as a line feed.

    Raises
    ------
    TableError
        If the source cannot be read, or is not a text.

    Examples
    --------
    >>> list(pieces_of_text("-", stdin=io.BytesIO(b"a\r\ncaf\xe9\r\n"), encoding="cp1252"))
    [b'a\ncaf\xc3\xa9\n']
    """
    name = name_of(source)
    raw = _with_head(_raw(source, stdin, waiting))
    first = next(raw, b"")
    if is_parquet(first):
        raise TableError(
            f"{name} is a Parquet file; a stream is CSV: convert it, or fit on all of its rows at "
            "once with setpoint fit"
        )
    packed = first[:2] == b"\x1f\x8b"
    if packed:
        raw = _with_head(_unpacked(first, raw, name))
        first = next(raw, b"")
    refuse_other_files(first, name)
    yield from _decoded(first, raw, name, encoding, [] if notes is None else notes)


def _raw(
    source: str | os.PathLike[str], stdin: BinaryIO | None, waiting: Waiting
) -> Iterator[bytes]:
    """Bytes as one read gives them: a slow pipe is not waited for to fill a buffer."""
    if str(source) == "-":
        if stdin is None and sys.stdin is None:
            raise TableError("stdin is closed; name a file, or send rows to it")
        yield from _reads(sys.stdin.buffer if stdin is None else stdin, waiting)
        return
    try:
        with _opened(source, waiting) as file:
            yield from _reads(file, waiting)
    except FileNotFoundError:
        raise TableError(f"{source}: there is no such file") from None
    except IsADirectoryError:
        raise TableError(f"{source} is a folder; name a file in it") from None
    except PermissionError:
        raise TableError(f"{source} may not be read: permission denied") from None


def _opened(source: str | os.PathLike[str], waiting: Waiting) -> BinaryIO:
    with waiting():  # a named pipe opens when its writer does
        return Path(source).open("rb")


def _reads(file: BinaryIO, waiting: Waiting) -> Iterator[bytes]:
    read: Callable[[int], bytes] = getattr(file, "read1", file.read)
    while True:
        with waiting():
            piece = read(_PIECE)
        if not piece:
            return
        yield piece


def _with_head(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """The same, but that the first piece is long enough to be recognised."""
    first = b""
    for piece in pieces:
        first += piece
        if len(first) >= _HEAD:
            break
    if first:
        yield first
    yield from pieces


def _unpacked(first: bytes, rest: Iterator[bytes], name: str) -> Iterator[bytes]:
    """Gzipped bytes unpacked; a file may hold several packed ones after each other."""
    unpacker, piece = zlib.decompressobj(31), first
    try:
        while True:
            while piece:
                yield unpacker.decompress(piece, _PIECE)
                piece = unpacker.unconsumed_tail
                if unpacker.eof:
                    piece = unpacker.unused_data.lstrip(b"\0")  # padding of tapes and blocks
                    if not piece:
                        break
                    unpacker = zlib.decompressobj(31)
            following = next(rest, b"")
            if not following:
                break
            if unpacker.eof:
                following = following.lstrip(b"\0")
                unpacker = zlib.decompressobj(31) if following else unpacker
            piece = following
    except zlib.error as error:
        raise TableError(f"{name} is damaged and cannot be unpacked: {error}") from None
    if not unpacker.eof:
        raise TableError(f"{name} is cut short: its gzip stream has no end; copy it again")


def _decoded(
    first: bytes, rest: Iterator[bytes], name: str, encoding: str | None, notes: list[str]
) -> Iterator[bytes]:
    codec, note = codec_of(first, name, encoding)
    if note:
        notes.append(note)
    try:
        "".encode(codec)
        decoder = codecs.getincrementaldecoder(codec)()
    except LookupError:
        raise TableError(no_encoding(codec, name)) from None
    plain = io.IncrementalNewlineDecoder(decoder, translate=True)
    n_lines, start = 0, True
    for piece, last in _and_last(first, rest):
        try:
            text = plain.decode(piece, final=last)
        except UnicodeDecodeError as error:
            raise TableError(no_text(error, name, codec, encoding, n_lines)) from None
        except UnicodeError as error:
            raise TableError(f"{name} is not {codec} text: {error}") from None
        if start and text:
            text, start = text.removeprefix("\ufeff"), False
        if "\0" in text:
            line = n_lines + text.count("\n", 0, text.index("\0")) + 1
            raise TableError(
                f"{name} is not a table: line {line} holds a zero byte, as in no text; save it "
                "as CSV"
            )
        n_lines += text.count("\n")
        if text:
            yield text.encode()


def _and_last(first: bytes, rest: Iterator[bytes]) -> Iterator[tuple[bytes, bool]]:
    """Each piece as it comes, and an empty one that is the last."""
    yield first, False
    for piece in rest:
        yield piece, False
    yield b"", True
