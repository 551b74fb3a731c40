"""The page of a goal's operating points, as a value."""

from __future__ import annotations

import os
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from setpoint.errors import InputTypeError
from setpoint.explorer.page import page_of
from setpoint.explorer.take import Command, command_template
from setpoint.inputs.files import atomic_write

__all__ = ["Explorer"]


@dataclass(frozen=True, eq=False, repr=False)
class Explorer:
    """A page on which the bounds of a goal are dragged.

    :func:`setpoint.explore` and ``clf.explore`` make it.

    Parameters
    ----------
    payload : dict
        What the page computes from, as plain data: the tally of counts along the curve, the
        formulas of the goal, and limits.

    Examples
    --------
    >>> from setpoint import explore
    >>> page = explore("maximize recall s.t. precision >= 0.6", [0.9, 0.6, 0.4, 0.2], [1, 0, 1, 0])
    >>> page
    Explorer('maximize recall subject to precision >= 0.6', 4 rows)
    >>> page.payload["rows"]["distinct"]
    4
    """

    payload: dict[str, Any]

    def __repr__(self) -> str:
        rows = self.payload["rows"]["n"]
        return f"Explorer({self.payload['programs'][0]['goal']!r}, {rows:,} rows)"

    @property
    def html(self) -> str:
        """The page as text: one file, which asks for nothing from outside.

        Raises
        ------
        ImportError
            If jinja2 is not installed.
        """
        return page_of(self.payload)

    def for_shell(self, command: Command) -> Explorer:
        """The same page, on which "take this" shows another command.

        Parameters
        ----------
        command : sequence of str and Place
            Pieces of text, and between them what the page puts there.

        Examples
        --------
        >>> from setpoint import explore
        >>> page = explore("maximize recall s.t. precision >= 0.6", [0.9, 0.6, 0.4], [1, 0, 1])
        >>> from setpoint.explorer.take import Place
        >>> own = page.for_shell(["setpoint take m.skops new.csv --line=", Place.THRESHOLD])
        >>> own.payload["take"]["shell"]
        ['setpoint take m.skops new.csv --line=', ['threshold']]
        """
        take = self.payload["take"] | {"shell": command_template(command)}
        return Explorer(self.payload | {"take": take})

    def summary(self) -> dict[str, Any]:
        """What the page holds, as plain values: rows, thresholds, whether bounds are met."""
        rows, check = self.payload["rows"], self.payload.get("check")
        out = {
            "goal": self.payload["programs"][0]["goal"],
            "rows": rows["n"],
            "check_rows": None if check is None else check["n"],
        }
        start = self.payload["programs"][0]["start"]
        return out | {
            "distinct": rows["distinct"],
            "bins": rows["bins"],
            "feasible": start["feasible"],
        }

    def __str__(self) -> str:
        """What the page holds, in sentences."""
        rows, check = self.payload["rows"], self.payload.get("check")
        lines = [f"{rows['n']:,} rows. {rows['where']}"]
        lines.append(f"{rows['distinct']:,} distinct scores, each with its threshold.")
        if rows["open"]:
            lines[-1] = (
                f"{rows['distinct']:,} distinct scores, of which neighbours share one of "
                f"{rows['bins']:,} bins; the page says what a threshold inside one could gain."
            )
        if not self.payload["programs"][0]["start"]["feasible"]:
            lines.append("No threshold meets the bounds: the page begins at the nearest.")
        if rows["warning"]:
            lines.append(rows["warning"])
        if check is None:
            lines.append("No rows are held out for a check.")
        else:
            lines.append(f"A chosen point is checked on {check['n']:,} rows held out.")
        return "\n".join(lines)

    def to_html(self, path: str | os.PathLike[str]) -> None:
        """Write the page; an old file stays until the new one is whole.

        Parameters
        ----------
        path : path

        Raises
        ------
        ImportError
            As :attr:`html`.
        OSError
            If the file cannot be written.
        """
        if not isinstance(path, (str, os.PathLike)):
            raise InputTypeError(f"`path` names a file, found {type(path).__name__}")
        atomic_write(Path(path), self.html.encode("utf-8"))

    def _repr_html_(self) -> str:
        """For notebooks: the page in a frame of its own."""
        return (
            '<iframe sandbox="allow-scripts" title="setpoint explorer" '
            'style="width:100%;height:900px;border:0" '
            f'srcdoc="{escape(self.html, quote=True)}"></iframe>'
        )
