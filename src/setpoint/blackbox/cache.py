"""Evaluations of a metric in a file of JSON lines, so that a killed run can be taken up."""

from __future__ import annotations

import json
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from setpoint.inputs.files import CheckpointError, check_settings, check_writable

__all__ = ["EvaluationCache"]

_FORMAT = 2


class EvaluationCache:
    """The values of one metric on one set of rows, by the hash of the vector.

    The first line says which metric and which rows; each other line is one evaluation. A
    last line that a killed run left unfinished is dropped.

    Parameters
    ----------
    path : path
        Made if it does not exist.
    metric : str
        The metric's name.
    n_rows : int
    identity : str
        A hash of the rows: labels, weights and columns.

    Attributes
    ----------
    known : dict of bytes to float
        The values that the file held when it was opened.

    Raises
    ------
    CheckpointError
        If the file refers to another metric or other rows (labels, weights, columns), does not
        hold evaluations, or cannot be written.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     EvaluationCache(folder + "/f1.jsonl", "f1", 10, "a3").add({b"x": 0.5})
    ...     EvaluationCache(folder + "/f1.jsonl", "f1", 10, "a3").known
    {b'x': 0.5}
    """

    def __init__(self, path: str | PathLike[str], metric: str, n_rows: int, identity: str) -> None:
        self.path = Path(path)
        check_writable(self.path)
        self.known: dict[bytes, float] = {}
        header = {"setpoint": "evaluations", "format": _FORMAT, "metric": metric}
        self._header: dict[str, Any] = {**header, "rows": n_rows, "data": identity}
        first = json.dumps(self._header).encode() + b"\n"
        held = self.path.read_bytes() if self.path.exists() else b""
        if b"\n" not in held and first.startswith(held):
            self.path.write_bytes(first)
            return
        *lines, torn = held.split(b"\n")
        self._check(self._read(lines[0] if lines else torn, 1))
        for number, line in enumerate(lines[1:], 2):
            found = self._read(line, number)
            try:
                self.known[bytes.fromhex(found["key"])] = float(found["value"])
            except (KeyError, TypeError, ValueError):
                raise self._unreadable(number) from None
        if torn:
            with self.path.open("r+b") as file:
                file.truncate(len(held) - len(torn))

    def add(self, values: Mapping[bytes, float]) -> None:
        """Write values to the end of the file, and see that they get there.

        Parameters
        ----------
        values : dict of bytes to float
        """
        lines = [json.dumps({"key": key.hex(), "value": value}) for key, value in values.items()]
        with self.path.open("a", encoding="ascii", newline="\n") as file:
            file.write("".join(line + "\n" for line in lines))

    def _read(self, line: bytes, number: int) -> dict[str, Any]:
        try:
            found = json.loads(line)
        except ValueError:
            raise self._unreadable(number) from None
        if not isinstance(found, dict):
            raise self._unreadable(number)
        return found

    def _check(self, found: dict[str, Any]) -> None:
        if found.get("setpoint") != "evaluations":
            raise self._unreadable(1)
        check_settings(self.path, "search", found, self._header)

    def _unreadable(self, number: int) -> CheckpointError:
        return CheckpointError(
            f"{self.path} is not a file of evaluations (line {number}); it was left as it is: give "
            "another `checkpoint`, or remove the file to start anew",
            path=self.path,
        )
