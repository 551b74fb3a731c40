"""What a search over candidates found, for people: sentences and a table, and for programs."""

from __future__ import annotations

import html
from dataclasses import dataclass
from textwrap import fill

from setpoint.goals.goal import Goal
from setpoint.plugin.judging.standing import (
    ALIKE,
    BEST,
    BOLDER,
    FAILING,
    FARTHER,
    SURER,
    TIED,
    WORSE,
)
from setpoint.report import Entry, GoalReport
from setpoint.report.numbers import plural
from setpoint.report.units import shown, unit_of

__all__ = ["JudgedCandidate", "SearchResult"]

_WIDTH = 79


@dataclass(frozen=True)
class JudgedCandidate:
    """One candidate and what the rows say of it.

    Parameters
    ----------
    name : str
    rank : int
        1 is the best; equal ones share a rank.
    report : GoalReport or None
        On all rows that judged it, each decided by a model and a rule that did not see it; None
        where a fit failed.
    difference : Entry or None
        Its objective minus that of the best, by the pairs of rows; None where it was not measured.
    verdict : str
        What the rows show of it against the best; "" where its fit failed.
    rows : int
        Rows that judged it: fewer where it was dropped on the way.
    score : float
        By which candidates are ranked: the objective, higher is better, less what misses cost.
    why : str
        Why a fit failed.
    doubt : str
        The constraint that it is surer of than the best, where its objective is shown to be worse.

    Examples
    --------
    >>> failed = JudgedCandidate("forest", 3, None, None, "", 0, float("nan"), "MemoryError")
    >>> failed.rank, failed.why
    (3, 'MemoryError')
    """

    name: str
    rank: int
    report: GoalReport | None
    difference: Entry | None
    verdict: str
    rows: int
    score: float
    why: str = ""
    doubt: str = ""

    @property
    def tied(self) -> bool:
        """Whether it cannot be distinguished from the best."""
        return self.verdict in (BEST, TIED, ALIKE)


@dataclass(frozen=True)
class SearchResult:
    """The candidates of a search, in the order in which they were given.

    Printed it is a text, in a notebook a table.

    Parameters
    ----------
    goal : str
    candidates : tuple of JudgedCandidate
    best : int
        The place of the best.
    level : float
        Confidence of each limit of a difference by itself: all of them hold together.
    n_folds : int

    Examples
    --------
    >>> from setpoint import evaluate
    >>> goal, true = "maximize recall subject to precision >= 0.5", [0, 1, 1, 0, 1, 0]
    >>> reports = [evaluate(goal, true, said) for said in ([0, 1, 1, 0, 0, 0], [0, 1, 0, 0, 1, 1])]
    >>> one, two = (
    ...     JudgedCandidate(name, rank, report, None, said, 6, report.objective.value)
    ...     for name, rank, report, said in zip(
    ...         ("forest", "logistic"), (1, 2), reports, ("best", "cannot be distinguished")
    ...     )
    ... )
    >>> for sentence in SearchResult(goal, (one, two), best=0, level=0.95, n_folds=2).sentences():
    ...     print(sentence)
    forest is best of 2 candidates: recall 66.7 %; precision >= 0.5: 100 %, too close to call.
    forest and logistic cannot be distinguished on these rows.
    Its numbers are those of the best of 2 on the same rows, which flatters it a little: evaluate \
it on rows that took no part.
    """

    goal: str
    candidates: tuple[JudgedCandidate, ...]
    best: int
    level: float
    n_folds: int

    @property
    def ties(self) -> tuple[str, ...]:
        """The names of those that cannot be distinguished from the best, the best first."""
        tied = sorted((one for one in self.candidates if one.tied), key=lambda one: one.rank)
        first = self.candidates[self.best]
        return (first.name, *(one.name for one in tied if one is not first))

    def sentences(self) -> list[str]:
        """What to know before the table."""
        best = self.candidates[self.best]
        assert best.report is not None
        n = len(self.candidates)
        place = "is the only candidate" if n == 1 else f"is best of {n:,} candidates"
        out = [f"{best.name} {place}: {'; '.join(self._reached(best.report))}."]
        out += self._others()
        out += self._doubts(best)
        if n > 1:
            out.append(
                f"Its numbers are those of the best of {n:,} on the same rows, "
                "which flatters it a little: evaluate it on rows that took no part."
            )
        return out

    def _reached(self, report: GoalReport) -> list[str]:
        goal = Goal.parse(self.goal)
        sides = [goal.objective, *(c.lhs for c in goal.constraints)]
        names = [str(goal.objective), *(str(c) for c in goal.constraints)]
        out: list[str] = []
        for name, side, entry in zip(names, sides, report.entries, strict=True):
            verdict = "" if entry.verdict is None else f", {_OF_ROWS.get(entry.verdict)}"
            colon = ":" if out else ""  # after a bound
            out.append(f"{name}{colon} {shown(entry.value, unit_of(side))}{verdict}")
        return out

    def _others(self) -> list[str]:
        """What the rows show of the other candidates."""
        best, by = self.candidates[self.best], str(Goal.parse(self.goal).objective)
        others = [one for one in self._ranked() if one is not best and not one.why]
        failed = [one.name for one in self.candidates if one.why]
        out, tied = [], self.ties
        if best.report is not None and best.report.verdict == "shown to fail" and others:
            out.append(f"All are ranked by how far they miss the bounds, and not by {by}.")
            if len(tied) > 1:
                out.append(f"{_and(tied)} cannot be distinguished by that.")
        elif len(tied) > 1:
            out.append(f"{_and(tied)} cannot be distinguished on these rows.")
        for one in others:
            if one.verdict == SURER:
                out.append(
                    f"By {by} {one.name} is shown to be worse, but {one.doubt} is less sure to "
                    f"hold for {best.name}: too close to call."
                )
            if one.verdict == BOLDER:
                out.append(
                    f"By {by} {one.name} is shown to be better, but it misses the bounds by more."
                )
        rest = [one.verdict for one in others if one.verdict in (WORSE, FAILING, FARTHER)]
        if rest and len(rest) == len(others):
            who = "candidate that was fitted" if failed else "candidate"
            said = [word for word in (WORSE, FAILING, FARTHER) if word in rest]
            out.append(f"Every other {who} is {' or '.join(said)}.")
        if failed:
            fits = "fit" if len(failed) == 1 else "fits"
            out.append(f"The {fits} of {_and(failed)} failed.")
        return out

    def _doubts(self, best: JudgedCandidate) -> list[str]:
        """Where a bound is not met on the rows that judge, and whether another meets it."""
        assert best.report is not None
        if best.report.satisfied is not False:
            return []
        missed = _and([c.text for c in best.report.constraints if c.satisfied is False])
        met = [
            one
            for one in self.candidates
            if one.report is not None and one.report.satisfied and one.tied
        ]
        if best.report.verdict == "shown to fail":
            return [f"Even the best is shown to fail the goal: {missed} does not hold."]
        text = f"It misses {missed} on these rows by no more than chance explains"
        if not met:
            return [f"{text}."]
        first = min(met, key=lambda one: one.rank)
        return [f"{text}; {first.name} meets it on them and cannot be distinguished."]

    def __str__(self) -> str:
        lines = [fill(f"Goal: {self.goal}", _WIDTH), ""]
        lines += [fill(text, _WIDTH) for text in self.sentences()] + [""]
        rows = [self._head(), *(self._row(one) for one in self._ranked())]
        widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
        for row in rows:
            cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
            lines.append("  ".join(cells).rstrip())
        return "\n".join([*lines, "", fill(self._note(), _WIDTH)])

    def _repr_html_(self) -> str:
        head, *rows = [self._head(), *(self._row(one) for one in self._ranked())]
        top = "".join(f"<th>{html.escape(cell)}</th>" for cell in head)
        body = "".join(
            "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>"
            for row in rows
        )
        words = "".join(f"<p>{html.escape(text)}</p>" for text in self.sentences())
        note = f"<p>{html.escape(self._note())}</p>"
        goal = f"<p><b>Goal:</b> {html.escape(self.goal)}</p>"
        return (
            f"{goal}{words}<table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>{note}"
        )

    def _ranked(self) -> list[JudgedCandidate]:
        return sorted(self.candidates, key=lambda one: one.rank)

    def _head(self) -> list[str]:
        goal = Goal.parse(self.goal)
        sides = [str(goal.objective), *(str(c) for c in goal.constraints)]
        return ["candidate", *sides, "against the best", ""]

    def _row(self, one: JudgedCandidate) -> list[str]:
        goal = Goal.parse(self.goal)
        units = [unit_of(goal.objective), *(unit_of(c.lhs) for c in goal.constraints)]
        if one.report is None:
            return [one.name, *("-" for _ in units), f"failed: {one.why}", ""]
        cells = [
            shown(entry.value, unit) + ("" if entry.verdict is None else f", {entry.verdict}")
            for entry, unit in zip(one.report.entries, units, strict=True)
        ]
        against, gain = "", one.difference
        if one is self.candidates[self.best]:
            against = "best"
        elif gain is not None and gain.low is not None and gain.high is not None:
            against = f"{shown(gain.low, units[0])} to {shown(gain.high, units[0])}"
        said = "" if against == "best" else one.verdict
        if one.doubt:
            said = f"worse, but surer of {one.doubt}"
        last = f"dropped on {one.rows:,} rows" if one.rows < self._n_rows else said
        return [one.name, *cells, against, last]

    @property
    def _n_rows(self) -> int:
        return max(one.rows for one in self.candidates)

    def _note(self) -> str:
        return (
            f"Judged on {plural(self._n_rows, 'row')}, all {self.n_folds} folds together: neither "
            "the model nor the rule that decides a row has seen it. Differences are by the pairs "
            "of decisions, with the luck of which rules were found; the lower limits hold together "
            "with 95 % confidence, and so do the upper ones."
        )


_OF_ROWS = {
    "shown": "shown to hold on new rows",
    "too close to call": "too close to call",
    "shown to fail": "shown to fail on new rows",
}


def _and(names: tuple[str, ...] | list[str]) -> str:
    """Names in a row.

    Examples
    --------
    >>> _and(["a", "b", "c"]), _and(["a"])
    ('a, b and c', 'a')
    """
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
