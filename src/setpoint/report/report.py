"""GoalReport: the facts of what was reached, and its faces: text, notebook, page, table."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from setpoint.report.entry import Entry
from setpoint.report.facts import Facts
from setpoint.report.section import TextSection

if TYPE_CHECKING:
    import pandas as pd

    from setpoint.report.page.header import Header

__all__ = ["GoalReport"]


@dataclass(frozen=True, eq=False, repr=False)
class GoalReport(Facts):
    """What was reached, for the person who set the goal: facts that can show themselves.

    Printed it is a text, in a notebook a table, by :meth:`to_html` a page. Its fields are those
    of :class:`Facts`.

    Examples
    --------
    >>> report = GoalReport("maximize recall", Entry("recall", 0.8))
    >>> GoalReport.from_dict(report.to_dict()) == report
    True
    """

    def __getstate__(self) -> dict[str, str]:
        """One text: in a model file each number by itself would take a hundred bytes."""
        return {"json": self.to_json()}

    def __setstate__(self, state: dict[str, str]) -> None:
        vars(self).update(vars(GoalReport.from_json(state["json"])))

    def to_json(self) -> str:
        """One line of JSON; floats survive to the last bit."""
        return json.dumps(self.to_dict(), allow_nan=False, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> GoalReport:
        """The report that :meth:`to_json` wrote.

        Raises
        ------
        ValueError
            If the text is not JSON, or as in :meth:`from_dict`.
        """
        return cls.from_dict(json.loads(text))

    def to_frame(self) -> pd.DataFrame:
        """Objective and constraints as a pandas DataFrame, one row each.

        Raises
        ------
        ImportError
            If pandas is not installed.
        """
        try:
            import pandas as pd
        except ImportError:
            raise ImportError(
                "to_frame gives a pandas DataFrame; install pandas with: pip install pandas"
            ) from None
        names = [f.name for f in fields(Entry)]
        frame = pd.DataFrame([[getattr(e, n) for n in names] for e in self.entries], columns=names)
        parts = ["objective"] + ["constraint"] * len(self.constraints)
        frame.insert(0, "part", parts)
        return frame

    def metrics(self) -> dict[str, float]:
        """The numbers of the report by name, for a tracker of experiments such as MLflow.

        ``objective/value``, ``/low`` and ``/high``; of each constraint, under its text with "at
        least" for ``>=`` and "at most" for ``<=``, also the bound, the slack and whether it is
        satisfied (0 or 1); what holds for the goal as a whole; ``counts/...`` of two classes.
        What is not there, and what is infinite, is left out.

        Examples
        --------
        >>> found = GoalReport("maximize recall", Entry("recall", 0.8, low=0.7)).metrics()
        >>> found["objective/value"], found["objective/low"]
        (0.8, 0.7)
        """
        found: dict[str, float | None] = {
            "satisfied": self.satisfied,
            "certified": self.is_certified,
            "gap": self.certificate.gap,
            "bound on the objective": self.certificate.bound,
            "drawn": self.rule.drawn,
            "search seconds": self.run.seconds,
            "rows": self.counts.n_rows,
        }
        for part in ("value", "low", "high"):
            found[f"objective/{part}"] = getattr(self.objective, part)
        for entry in self.constraints:
            name = entry.text.replace(">=", "at least").replace("<=", "at most")
            for part in ("value", "bound", "slack", "low", "high", "satisfied"):
                found[f"{name}/{part}"] = getattr(entry, part)
        for columns, cut in self.rule.cutoffs:
            where = ", ".join(f"{name} {value}" for name, value in columns)
            found[f"cut-off/{where or 'all rows'}"] = cut
        for row in self.groups:
            found[f"groups/{row.metric} in {row.name}"] = row.value
        if len(self.counts.classes) == 2 and self.counts.confusion:
            (tn, fp), (fn, tp) = self.counts.confusion[:2]
            found |= {"counts/tn": tn, "counts/fp": fp, "counts/fn": fn, "counts/tp": tp}
        known = {name: float(x) for name, x in found.items() if x is not None}
        return {name: x for name, x in known.items() if math.isfinite(x)}

    def to_html(
        self,
        path: str | os.PathLike[str],
        *,
        held_out: GoalReport | None = None,
        about: Sequence[TextSection] = (),
        header: Header | None = None,
    ) -> None:
        """Write one self-contained HTML page for the person who set the goal.

        No scripts and nothing from outside: it can be mailed, printed and kept. The old file
        stays until the new one is whole.

        Parameters
        ----------
        path : path
        held_out : GoalReport, optional
            The same rule on rows that took no part in choosing it; these lead the page.
        about : sequence of TextSection
            What else a reader should know, such as where the data came from.
        header : setpoint.report.page.Header, optional
            Names of files, a command to copy, cautions; all for the top of the page.

        Raises
        ------
        ImportError
            If jinja2 or matplotlib is not installed.
        ValueError
            If `held_out` refers to another goal.
        OSError
            If the file cannot be written.
        """
        from setpoint.report.page import write_page

        write_page(path, self, held_out, about, header)

    def __str__(self) -> str:
        from setpoint.report.text import report_text

        return report_text(self)

    def _repr_html_(self) -> str:
        from setpoint.report.notebook import report_html

        return report_html(self)
