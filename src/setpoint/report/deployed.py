"""How decisions compare with the deployed model's: what changes, and what proving it costs."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from setpoint.errors import InputError
from setpoint.goals.goal import Goal
from setpoint.goals.words import in_words
from setpoint.inference.sign_test import CONFIDENCE, POWER, ROUNDING, fresh_labels
from setpoint.inference.verdicts import FAILS, OPEN, SHOWN
from setpoint.report.counts import Counts
from setpoint.report.entry import Entry
from setpoint.report.numbers import plural
from setpoint.report.people import in_people
from setpoint.report.units import Unit, shown, unit_of

__all__ = ["TITLE", "Comparison", "compared"]

TITLE = "Against the deployed model"


@dataclass(frozen=True)
class Comparison:
    """What changes where these decisions replace the deployed model's.

    All shares are of the rows' weight; a rule that draws is counted in expectation.

    Parameters
    ----------
    rows : int
        Rows that were counted; those of weight zero are not.
    changed : float
        Share of the rows whose decision differs: the churn.
    wins, losses : float or None
        Shares of the rows that were wrong and are right, and that were right and are
        wrong. None without labels. With more than two classes a change can be neither.
    objective : float or None
        The goal's objective of the deployed model on the same rows.
    difference : Entry or None
        The objective of these decisions minus the deployed model's, with the interval of the
        pairs; its bound is 0, on the side of the better. None without labels, and where the
        objective refers to other data sets.
    constraints : tuple of Entry
        The goal's constraints, as the deployed model meets them.
    confusion : tuple of n + 1 tuples of n floats
        Weight of the rows by true class and the class that the deployed model decides; empty for
        more than 50 classes.

    Attributes
    ----------
    fresh_labels, fresh_rows : int or None
        What :func:`fresh_labels` says at 95 % confidence and a power of 80 %, if wins and
        losses are as counted: labels of rows on which the models differ, and how many rows it
        takes on average to find so many. None without labels, or where it does not win more
        than it loses.

    Examples
    --------
    >>> found = Comparison(1000, changed=0.02, wins=0.015, losses=0.005)
    >>> found.fresh_labels, found.fresh_rows
    (23, 1150)
    """

    rows: int
    changed: float
    wins: float | None = None
    losses: float | None = None
    objective: float | None = None
    difference: Entry | None = None
    constraints: tuple[Entry, ...] = ()
    confusion: tuple[tuple[float, ...], ...] = ()
    fresh_labels: int | None = field(init=False)
    fresh_rows: int | None = field(init=False)

    def __post_init__(self) -> None:
        needed = None
        if self.wins is not None and self.losses is not None:
            needed = fresh_labels(self.wins, self.losses, changed=self.changed)
        object.__setattr__(self, "fresh_labels", None if needed is None else needed.labels)
        object.__setattr__(self, "fresh_rows", None if needed is None else needed.rows)

    def lines(self, goal: Goal | None = None, counts: Counts | None = None) -> list[str]:
        """The same in sentences, the goal's own objective first.

        Parameters
        ----------
        goal : Goal, optional
            What was judged: its metrics are written in their units.
        counts : Counts, optional
            Of the new decisions, on the same rows: names the classes.

        Examples
        --------
        >>> Comparison(1000, changed=0.02, wins=0.015, losses=0.005).lines()[0]
        '2 % of the decisions on 1,000 rows change (churn): 1.5 % from wrong to right (wins), \
0.5 % from right to wrong (losses).'
        """
        if self.changed == 0.0:
            return [f"No decision on {plural(self.rows, 'row')} changes."]
        unit: Unit = "share" if goal is None else unit_of(goal.objective)
        what = "The objective" if goal is None else in_words(goal.objective)
        what = what[0].upper() + what[1:]
        out = [] if self.difference is None else [self._gain(what, self.difference, unit, counts)]
        sides = {} if goal is None else {str(c): unit_of(c.lhs) for c in goal.constraints}
        met = [
            f"{e.text}: {shown(e.value, sides.get(e.text, 'number'))}"
            for e in self.constraints
            if e.value is not None
        ]
        if met:
            out.append(f"The deployed model on the same rows: {'; '.join(met)}.")
        if counts is not None and self.confusion:
            people = in_people(counts, self.confusion)
            out.append(f"By the deployed model, {people[0].lower()}{people[1:]}")
        return [*out, *self._changes()]

    def _gain(self, what: str, entry: Entry, unit: Unit, counts: Counts | None) -> str:
        """The objective against the deployed model's, and whether that is shown."""
        assert self.objective is not None
        assert entry.value is not None
        new, old = shown(self.objective + entry.value, unit), shown(self.objective, unit)
        text = f"{what} is {new}; the deployed model has {old}"
        if entry.low is None or entry.high is None:
            return f"{text}."
        verdict = entry.verdict or OPEN
        # Equal is not better.
        word = _GAIN[OPEN if entry.low <= 0.0 <= entry.high else verdict]
        low, high = shown(entry.low, unit), shown(entry.high, unit)
        where = "on new rows" if counts is None else counts.on_new
        return f"{text}: {where} the difference is {low} to {high}, {word}."

    def _changes(self) -> list[str]:
        """How many decisions change, and what proving them more often right takes."""
        where = plural(self.rows, "row")
        out = f"{_percent(self.changed)} of the decisions on {where} change (churn)"
        if self.wins is None or self.losses is None:
            return [f"{out}.", "Without labels it is unknown which of the changes are right."]
        out += f": {_percent(self.wins)} from wrong to right (wins), "
        out += f"{_percent(self.losses)} from right to wrong (losses)"
        neither = self.changed - self.wins - self.losses
        if neither > 1e-9:
            out += f", {_percent(neither)} from one wrong class to another"
        return [f"{out}.", self._proof(neither > 1e-9)]

    def _proof(self, some_neither: bool) -> str:
        assert self.wins is not None
        assert self.losses is not None
        if self.fresh_labels is None:
            return (
                "It is not more often right (it does not win more than it loses), so no number of "
                "labels would show that."
            )
        text = (
            f"To show with {_percent(CONFIDENCE)} confidence that it is more often right, label "
            "fresh rows on which the two models differ until "
        )
        if some_neither:
            decisive = fresh_labels(self.wins, self.losses)
            assert decisive is not None
            text += (
                f"{decisive.labels:,} of them are wins or losses; that takes about "
                f"{self.fresh_labels:,} labels and {self.fresh_rows:,} rows on average. "
            )
        else:
            text += (
                f"there are {self.fresh_labels:,} of them; that takes about "
                f"{self.fresh_rows:,} rows on average. "
            )
        return text + (
            "If the shares above hold for them too, the one-sided sign test then succeeds in "
            f"{_percent(POWER)} of cases."
        )


_GAIN = {
    SHOWN: "shown to be better",
    FAILS: "shown to be worse",
    OPEN: "too close to call",
}


def compared(
    true: ArrayLike | None,
    deployed: ArrayLike,
    decided: ArrayLike,
    weight: ArrayLike | None = None,
    *,
    defer: int | None = None,
) -> Comparison:
    """Count how decisions compare with the deployed model's.

    Examples
    --------
    >>> found = compared([1, 1, 0, 0], deployed=[0, 1, 0, 0], decided=[1, 1, 1, 0])
    >>> found.changed, found.wins, found.losses
    (0.5, 0.25, 0.25)
    """
    old, new = np.asarray(deployed), np.asarray(decided)
    w = np.ones(len(old)) if weight is None else np.asarray(weight, np.float64)
    labels = None if true is None else np.asarray(true)
    if not len(old) == len(new) == len(w) or (labels is not None and len(labels) != len(old)):
        raise InputError("true, deployed, decided and weight have one entry a row")
    total = float(w.sum())
    if not total > 0.0:
        raise InputError("there are no rows to compare on: their weights sum to zero")
    row = np.arange(len(old))
    # The probability of a change, and of being right.
    moved = (new != old).astype(np.float64) if new.ndim == 1 else 1.0 - new[row, old]
    if defer is not None:
        moved = moved - ((new == defer) if new.ndim == 1 else new[:, defer])
    moved = moved * w
    rows, changed = int(np.count_nonzero(w)), _share(moved.sum(), total)
    if labels is None:
        return Comparison(rows, changed)
    was_right = old == labels
    right = (new == labels).astype(np.float64) if new.ndim == 1 else new[row, labels]
    wins = _share((right * w)[~was_right].sum(), total)
    losses = _share(moved[was_right].sum(), total)
    return Comparison(rows, max(changed, min(wins + losses, 1.0)), wins, losses)


def _share(part: float, total: float) -> float:
    share = min(float(part) / total, 1.0)
    return share if share > ROUNDING else 0.0


def _percent(share: float) -> str:
    return f"{100.0 * share:.3g} %"
