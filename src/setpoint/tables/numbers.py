"""Text as numbers: what counts as one, and where reading it as one would change it."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from setpoint.tables.extras import needed

__all__ = [
    "MISSING",
    "Decimal",
    "as_numbers",
    "beyond_floats",
    "has_mark",
    "holds_fractions",
    "is_ambiguous",
    "looks_like_number",
    "why_not",
]

MISSING = ("", "NA", "N/A", "#N/A", "NaN", "nan", "null", "NULL")
"""What a missing value looks like in text."""

Decimal = Literal[".", ",", "auto"]
"""The decimal mark; "auto": a column may have the comma throughout."""

_LARGEST = 2**53  # integers beyond are not distinct in float64
_PROBE = 32  # values that are tried before a whole column

_COMMA = r"^[+-]?(\d+|[1-9]\d{0,2}(\.\d{3})+)(,\d+)?([eE][+-]?\d+)?$"
_PLAIN = r"^\s*-?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*$"
_EITHER = r"^\s*[+-]?(\d+([.,]\d*)?|\.\d+)([eE][+-]?\d+)?\s*$"
_HEXADECIMAL = r"^-?0[xX]"
_LONG_INTEGER = r"^[+-]?\d{16,}$"
_GROUPED = r"^[+-]?[1-9]\d{0,2}([.,]\d{3})+$"


def as_numbers(text: Any, decimal: Decimal = ".") -> tuple[Any, str] | None:
    """A column of text as numbers, or None where one of its values is not a number.

    Examples
    --------
    >>> import pyarrow as pa
    >>> numbers, mark = as_numbers(pa.chunked_array([["1.234,5", None, "-3"]]), "auto")
    >>> numbers.to_pylist(), mark
    ([1234.5, None, -3.0], ',')
    >>> as_numbers(pa.chunked_array([["1", "n/k"]])) is None
    True
    """
    pc = needed("pyarrow.compute")
    if decimal != ",":
        found = _plain(text)
        if found is not None:
            return found, "."
    if decimal != ".":
        text = _trimmed(text)
        if _all(text, _COMMA):
            whole = pc.replace_substring(text, ".", "")
            found = _plain(pc.replace_substring(whole, ",", "."))
            return None if found is None else (found, ",")
        return None
    return None


def holds_fractions(text: Any) -> bool:
    """Whether all of a text are numbers with a decimal point, and some are not written as whole.

    Examples
    --------
    >>> import pyarrow as pa
    >>> holds_fractions(pa.chunked_array([["1", "2.5"]]))
    True
    """
    return _cast(text, "int64") is None and _cast(text, "double") is not None


def why_not(text: Any, numbers: Any) -> str:
    """Why a column that could be numbers has to stay text; "" if it need not."""
    types = needed("pyarrow.types")
    if _leading_zeros(text):
        return "leading zeros"
    if types.is_integer(numbers.type) and not numbers.null_count:
        return ""
    if beyond_floats(numbers) and _any(text, _LONG_INTEGER):
        return "integers of so many digits that a number would lose some"
    return ""


def beyond_floats(numbers: Any) -> bool:
    """Whether some are so large that float64 does not tell neighbouring integers apart."""
    ends = needed("pyarrow.compute").min_max(numbers).as_py()
    return bool(max(abs(ends["min"] or 0), abs(ends["max"] or 0)) >= _LARGEST)


def is_ambiguous(text: Any) -> int | None:
    """The first row with a mark that may set thousands apart or be a decimal mark.

    Examples
    --------
    >>> import pyarrow as pa
    >>> is_ambiguous(pa.chunked_array([["7", "1.234"]])), is_ambiguous(
    ...     pa.chunked_array([["0.234", "1.234"]])
    ... )
    (1, None)
    """
    pc = needed("pyarrow.compute")
    marked = pc.match_substring_regex(text, "[.,]")
    settled = pc.and_not(marked, pc.match_substring_regex(text, _GROUPED))
    if pc.any(settled).as_py() or not pc.any(marked).as_py():
        return None
    return int(pc.index(marked, True).as_py())


def has_mark(text: Any) -> bool:
    """Whether some value has a point or a comma."""
    return _any(text, "[.,]")


def looks_like_number(text: Any, decimal: Decimal) -> Any:
    """Which values look like numbers: a boolean array."""
    pc = needed("pyarrow.compute")
    return pc.match_substring_regex(text, _PLAIN if decimal == "." else _EITHER)


def _plain(text: Any) -> Any | None:
    """Numbers with a decimal point, or None."""
    pc = needed("pyarrow.compute")
    whole = _cast(text, "int64")
    if whole is not None:
        return None if _any(text, _HEXADECIMAL) else whole  # Arrow reads 0x1F as an integer
    numbers = _cast(text, "double")
    if numbers is not None:
        # NAN is not a missing value here.
        return None if pc.any(pc.is_nan(numbers)).as_py() else numbers
    trimmed = _trimmed(text)
    return None if trimmed is text else _plain(trimmed)


def _cast(text: Any, kind: str) -> Any | None:
    pa, pc = needed("pyarrow"), needed("pyarrow.compute")
    try:
        pc.cast(text.slice(0, _PROBE), kind)  # a cast that fails is slow: it notes every value
        return pc.cast(text, kind)
    except pa.ArrowInvalid:
        return None


def _leading_zeros(text: Any) -> bool:
    """Whether some have a 0 before another digit, after a sign or not, and some begin with 0."""
    begins = padded = False
    for chunk in text.drop_null().chunks:
        _, offsets, data = chunk.buffers()
        if data is None or not len(chunk):
            continue
        ends = np.frombuffer(offsets, np.int32)[chunk.offset : chunk.offset + len(chunk) + 1]
        starts, stops, found = ends[:-1], ends[1:], np.frombuffer(data, np.uint8)
        filled = stops > starts
        if not filled.all():
            starts, stops = starts[filled], stops[filled]
        first = found[starts]
        begins = begins or bool((first == ord("0")).any())
        at = starts + ((first == ord("+")) | (first == ord("-")))
        at = at[at + 1 < stops]
        after = found[at[found[at] == ord("0")] + 1]
        padded = padded or bool(((after >= ord("0")) & (after <= ord("9"))).any())
    return begins and padded


def _trimmed(text: Any) -> Any:
    """Without blanks around the values, where there are any."""
    pa, pc = needed("pyarrow"), needed("pyarrow.compute")
    trimmed = pc.ascii_trim_whitespace(text)
    if trimmed.equals(text):
        return text
    return pc.if_else(pc.is_in(trimmed, pa.array(MISSING)), None, trimmed)


def _any(text: Any, pattern: str) -> bool:
    pc = needed("pyarrow.compute")
    return bool(pc.any(pc.match_substring_regex(text, pattern)).as_py())


def _all(text: Any, pattern: str) -> bool:
    pc = needed("pyarrow.compute")
    return bool(pc.all(pc.match_substring_regex(text, pattern)).as_py())
