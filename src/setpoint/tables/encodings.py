"""Bytes of any encoding as UTF-8 with plain line ends."""

from __future__ import annotations

import codecs

from setpoint.tables.errors import TableError

__all__ = ["as_utf8", "codec_of", "no_encoding", "no_text"]

# UTF-32 first: its mark begins with that of UTF-16.
_MARKS = (
    (codecs.BOM_UTF8, "utf-8", "UTF-8 with a byte order mark"),
    (codecs.BOM_UTF32_LE, "utf-32", "UTF-32"),
    (codecs.BOM_UTF32_BE, "utf-32", "UTF-32"),
    (codecs.BOM_UTF16_LE, "utf-16", "UTF-16"),
    (codecs.BOM_UTF16_BE, "utf-16", "UTF-16"),
)


def as_utf8(data: bytes, name: str, encoding: str | None = None) -> tuple[bytes, str]:
    r"""Text as UTF-8 without a byte order mark, every line end as a line feed.

    Parameters
    ----------
    name : str
        What messages call the file.
    encoding : str, optional
        None: UTF-8, or what a byte order mark says.

    Returns
    -------
    data : bytes
    note : str
        The encoding, where it is not plain UTF-8; else "".

    Raises
    ------
    TableError
        If the bytes are not text in this encoding, or there is none of that name.

    Examples
    --------
    >>> as_utf8(b"caf\xe9\r\n", "a.csv", "cp1252")
    (b'caf\xc3\xa9\n', 'cp1252')
    """
    codec, note = codec_of(data, name, encoding)
    try:
        text = data.decode(codec)
        if note:
            data = text.removeprefix("\ufeff").encode()
    except LookupError:
        raise TableError(no_encoding(codec, name)) from None
    except UnicodeDecodeError as error:
        raise TableError(no_text(error, name, codec, encoding)) from None
    except UnicodeError as error:  # a codec that is not for whole texts
        raise TableError(f"{name} is not {codec} text: {error}") from None
    del text
    _refuse_zeros(data, name)
    if b"\r" in data:
        data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    return data, note


def codec_of(data: bytes, name: str, encoding: str | None) -> tuple[str, str]:
    """The codec of a text by its first bytes, and a note where it is not plain UTF-8."""
    if encoding is not None:
        return encoding, encoding
    for mark, codec, words in _MARKS:
        if data.startswith(mark):
            return codec, words
    _refuse_zeros(data, name)
    return "utf-8", ""


def no_encoding(codec: str, name: str) -> str:
    """What to say of an encoding that there is not."""
    return f"{name}: there is no encoding {codec!r}; common ones are utf-8, cp1252, latin-1, utf-16"


def no_text(
    error: UnicodeDecodeError, name: str, codec: str, encoding: str | None, before: int = 0
) -> str:
    """What to say of bytes that are not text of a codec, after so many lines of text."""
    line = before + error.object.count(b"\n", 0, error.start) + 1
    found = error.object[error.start : error.start + 1].hex()
    remedy = "--encoding cp1252 is common for tables from Excel"
    if encoding is not None:
        remedy = "name the encoding that it was saved in, or leave --encoding out for UTF-8"
    return f"{name}, line {line}: the byte 0x{found} is not {codec.upper()} text; {remedy}"


def _refuse_zeros(data: bytes, name: str) -> None:
    """Zero bytes are in no text, but in UTF-16 every other byte may be one."""
    first = data.find(b"\0")
    if first < 0:
        return
    start = data[:200]
    for zeros, codec in ((start[1::2], "utf-16-le"), (start[::2], "utf-16-be")):
        if zeros.count(0) > 0.8 * len(zeros):
            raise TableError(
                f"{name} looks like UTF-16 without a byte order mark; pass --encoding {codec}"
            )
    line = data.count(b"\n", 0, first) + 1
    raise TableError(
        f"{name} is not a table: line {line} holds a zero byte, as in no text; save it as CSV or "
        "Parquet"
    )
