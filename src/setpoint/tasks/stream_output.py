"""The decisions of a stream, in a CSV file that grows with it."""

from __future__ import annotations

import csv
import io
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from setpoint.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Decisions"]

_HEAD = b"line,prediction\n"


class Decisions:
    """A file of lines and decisions.

    Parameters
    ----------
    size : int
        Bytes that it had when the state was saved; what was written later is of rows that
        come again. 0: the file is written anew, as it is where there is none.

    Raises
    ------
    InputError
        If the file that is there is not the one that was written before.
    """

    def __init__(self, path: str, size: int = 0) -> None:
        target = Path(path)
        self._file: BinaryIO
        if size and target.exists():
            self._file = target.open("r+b")
            if not _is_ours(self._file, size):
                self._file.close()
                raise InputError(
                    f"`output`: {path} is not the file that was written before, or was changed; "
                    "name one that is not there yet"
                )
            self._file.seek(size)
            self._file.truncate()
        else:
            self._file = target.open("wb")
            self._file.write(_HEAD)

    def write(self, lines: NDArray[np.int64], decided: NDArray[Any]) -> None:
        """Add rows, for whoever follows the file to see at once."""
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows(
            zip(lines.tolist(), decided.tolist(), strict=True)
        )
        self._file.write(text.getvalue().encode("utf-8"))
        self._file.flush()

    def kept(self) -> int:
        """Have it on the disk; its size."""
        self._file.flush()
        os.fsync(self._file.fileno())
        return self._file.tell()

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def _is_ours(file: BinaryIO, size: int) -> bool:
    """Whether a file begins as ours do, and a line ended at this size."""
    if file.read(len(_HEAD)) != _HEAD:
        return False
    file.seek(size - 1)
    return file.read(1) == b"\n"
