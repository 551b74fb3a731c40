"""The facts of a report, its sections, and the deployed model beside it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, ClassVar, Literal, NamedTuple, Self, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike

from setpoint import guarantees
from setpoint.errors import InputError, InputTypeError
from setpoint.goals import Const, Constraint, Expression, Goal, Label, in_words
from setpoint.inference import (
    CONFIDENCE,
    FAILS,
    OPEN,
    POWER,
    ROUNDING,
    SHOWN,
    Verdict,
    fresh_labels,
)
from setpoint.report.entry import Entry, GroupRow
from setpoint.report.numbers import (
    Counts,
    Unit,
    asked,
    in_ten_thousand,
    plain,
    plural,
    read,
    shown,
    unit_of,
)
from setpoint.search import Certificate

# --- A picture of a report: what draws it, and the words that belong to it ------------------------


SIZE = (4.8, 3.4)
"""Inches, without the legend: at this width the letters are readable on a telephone."""


@dataclass(frozen=True)
class Picture:
    """One picture."""

    title: str
    plot: Callable[[Any], object]
    description: str
    caption: str
    size: tuple[float, float] = SIZE
    panels: bool = False
    detail: bool = False
    rows: str = ""


# --- Sections: what a room of the house adds to a report ------------------------------------------


_KINDS: dict[str, Any] = {}


class Section:
    """What a room adds to a report: a dataclass of plain values, sentences, and pictures."""

    name: ClassVar[str]
    title: ClassVar[str]
    points: Any
    points_of: ClassVar[type | None] = None
    """What its points are, where it is written as these alone."""

    def __init_subclass__(cls) -> None:
        _KINDS[cls.name] = cls

    def to_dict(self) -> dict[str, Any]:
        """Its values, as plain dicts, lists and scalars; infinite ones as ``float`` reads them."""
        out: dict[str, Any] = plain(self if self.points_of is None else self.points)
        return out

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """What :meth:`to_dict` wrote."""
        return read(cls, data) if cls.points_of is None else cls(read(cls.points_of, data))  # type: ignore[call-arg]

    def lines(self) -> Sequence[str]:
        """Its sentences; none where pictures say it all."""
        return ()

    def pictures(self, facts: Facts) -> Iterable[Picture]:
        """Its pictures, in the report that it is a part of."""
        return ()


@dataclass(frozen=True)
class TextSection(Section):
    """A title and sentences, such as where the data came from.

    Examples
    --------
    >>> TextSection("The data", ("569 rows from wdbc.csv",)).lines()
    ('569 rows from wdbc.csv',)
    """

    name: ClassVar[str] = "text"
    title: str  # type: ignore[misc]
    sentences: Sequence[str]
    stored: Mapping[str, Any] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if isinstance(self.sentences, str):
            raise InputTypeError("`sentences` is a sequence of sentences, got one text")
        object.__setattr__(self, "sentences", tuple(self.sentences))

    # stored is a dict
    __hash__ = None  # type: ignore[assignment]

    def to_dict(self) -> dict[str, Any]:
        """Nothing beside its sentences."""
        return {}

    def lines(self) -> Sequence[str]:
        """Its sentences."""
        return self.sentences


def write_section(one: Section) -> dict[str, Any]:
    """A section for JSON: its sentences, for who does not know its room, and its values."""
    if isinstance(one, TextSection) and one.stored is not None:
        return dict(one.stored)
    return {
        "name": one.name,
        "title": one.title,
        "lines": list(one.lines()),
        "values": one.to_dict(),
    }


def read_section(data: Mapping[str, Any]) -> Section:
    """The section that :func:`write_section` wrote; of an unknown room, its sentences."""
    kind = _KINDS.get(data["name"], TextSection)
    if kind is not TextSection:
        out: Section = kind.from_dict(data["values"])
        return out
    stored = None if data["name"] == TextSection.name else dict(data)
    return TextSection(data["title"], tuple(data["lines"]), stored)


# --- How decisions compare with the deployed model's: what changes --------------------------------


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
        met, sides = [], {} if goal is None else {str(c): c.lhs for c in goal.constraints}
        for e in self.constraints:
            if e.value is not None:
                unit: Unit = unit_of(sides[e.text]) if e.text in sides else "number"
                met.append(f"{e.text}: {shown(e.value, unit)}")
        out = [] if self.difference is None else [self._gain(goal, self.difference, counts)]
        if met:
            out.append(f"The deployed model on the same rows: {'; '.join(met)}.")
        if counts is not None and self.confusion:
            people = in_ten_thousand(counts, self.confusion)
            out.append(f"By the deployed model, {people[0].lower()}{people[1:]}")
        return [*out, *self._changes()]

    def _gain(self, goal: Goal | None, entry: Entry, counts: Counts | None) -> str:
        """The objective against the deployed model's, and whether that is shown."""
        assert self.objective is not None
        assert entry.value is not None
        unit: Unit = "share" if goal is None else unit_of(goal.objective)
        what = "The objective" if goal is None else in_words(goal.objective)
        new, old = shown(self.objective + entry.value, unit), shown(self.objective, unit)
        text = f"{what[0].upper()}{what[1:]} is {new}; the deployed model has {old}"
        if entry.low is None or entry.high is None:
            return f"{text}."
        # Equal is not better.
        word = _GAIN[OPEN if entry.low <= 0.0 <= entry.high else entry.verdict or OPEN]
        where = "on new rows" if counts is None else counts.on_new
        low, high = shown(entry.low, unit), shown(entry.high, unit)
        return f"{text}: {where} the difference is {low} to {high}, {word}."

    def _changes(self) -> list[str]:
        """How many decisions change, and what proving them more often right takes."""
        wins, losses = self.wins, self.losses
        out = f"{_percent(self.changed)} of the decisions on {plural(self.rows, 'row')} change"
        if wins is None or losses is None:
            unknown = "Without labels it is unknown which of the changes are right."
            return [f"{out} (churn).", unknown]
        out += f" (churn): {_percent(wins)} from wrong to right (wins), "
        out += f"{_percent(losses)} from right to wrong (losses)"
        neither = self.changed - wins - losses
        if neither > 1e-9:
            out += f", {_percent(neither)} from one wrong class to another"
        if self.fresh_labels is None:
            return [
                f"{out}.",
                "It is not more often right (it does not win more than it loses), so no number of "
                "labels would show that.",
            ]
        until, labels = f"there are {self.fresh_labels:,} of them", ""
        decisive = fresh_labels(wins, losses) if neither > 1e-9 else None
        if decisive is not None:
            until = f"{decisive.labels:,} of them are wins or losses"
            labels = f"{self.fresh_labels:,} labels and "
        return [
            f"{out}.",
            f"To show with {_percent(CONFIDENCE)} confidence that it is more often right, label "
            f"fresh rows on which the two models differ until {until}; that takes about {labels}"
            f"{self.fresh_rows:,} rows on average. If the shares above hold for them too, the "
            f"one-sided sign test then succeeds in {_percent(POWER)} of cases.",
        ]


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


# --- The facts of a report: plain values ----------------------------------------------------------


FORMAT = 3
"""Version of the dict; a reader refuses what it does not know."""

Status: TypeAlias = Literal["optimal", "feasible", "stationary", "nearest", "evaluated"]

STATUSES: tuple[str, ...] = get_args(Status)


@dataclass(frozen=True)
class Search:
    """Who found the rule, and how.

    Parameters
    ----------
    family, solver, why : str
        Who found the rule, and why this way.
    evidence : {"label", "soft"}
        What the rule was found on: true classes, or posteriors. Entries are counted against
        true classes either way.
    folds : int or None
        Cross-validation folds behind the scores; 1: the scores are of rows held out.
    calls : int or None
        Passes over the data.
    blame : dict of str to float
        Constraints that cannot hold together, with their shares.

    Examples
    --------
    >>> from setpoint import solve
    >>> report = solve("maximize f1", [0.2, 0.4, 0.6, 0.8], [0, 0, 1, 1]).report
    >>> report.search.solver, report.search.why
    ('exact', 'sweep over every cut-off; no draws needed')
    """

    family: str = ""
    solver: str = ""
    why: str = ""
    evidence: str = "label"
    folds: int | None = None
    calls: int | None = None
    blame: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class RuleFacts:
    """The rule in words, and what it looks at.

    Parameters
    ----------
    text : str
    decides_on : tuple of str
        Columns that the rule looks at beside the score.
    drawn : float
        Share of rows whose decision depends on a draw.
    cutoffs : tuple of (columns, cut-off)
        Where it has one threshold for each segment, a tuple of (column, value), or one for all
        rows: then that tuple is empty.

    Examples
    --------
    >>> from setpoint import solve
    >>> report = solve("maximize f1", [0.2, 0.4, 0.6, 0.8], [0, 0, 1, 1]).report
    >>> report.rule.cutoffs
    (((), 0.5),)
    """

    text: str = ""
    decides_on: tuple[str, ...] = ()
    drawn: float = 0.0
    cutoffs: tuple[tuple[tuple[tuple[str, Label], ...], float], ...] = ()

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Run:
    """What differs between two runs of the same thing, and does not count when comparing.

    Parameters
    ----------
    when : str
        The time in UTC.
    seconds : float or None
        The search took.
    versions : dict of str to str
        Of the packages that the numbers may hang on, those of the models inside too.
    digests : dict of str to str
        Of each part of the rows, by the name of its argument, such as "X", "y" and
        "sample_weight"; of the "goal" as text; of the "rule" as JSON; and of the "model", what it
        has learnt. Each begins with the name of the hash. Rows in another order have another
        digest; whether an array or a frame held them makes no difference.

    Examples
    --------
    >>> from setpoint import solve
    >>> report = solve("maximize f1", [0.2, 0.4, 0.6, 0.8], [0, 0, 1, 1]).report
    >>> sorted(report.run.versions)[:2]
    ['highspy', 'numba']
    """

    when: str = ""
    seconds: float | None = None
    versions: Mapping[str, str] = field(default_factory=dict)
    digests: Mapping[str, str] = field(
        default_factory=dict, repr=False, metadata={"optional": True}
    )


class GoalPart(NamedTuple):
    """A part of the goal: what was found of it, and how it was written."""

    entry: Entry
    x: Expression
    written: Constraint | None = None

    @property
    def unit(self) -> Unit:
        """The unit of its values."""
        return unit_of(self.x)

    @property
    def words(self) -> str:
        """What is measured."""
        return in_words(self.x)

    def said(self, value: float | None) -> str:
        """A value of it."""
        return shown(value, self.unit)

    @property
    def limits(self) -> str:
        """Between which values it is on new rows."""
        return f"{self.said(self.entry.low)} to {self.said(self.entry.high)}"

    def asked(self, bound: float | None) -> str:
        """A bound on it."""
        assert self.written is not None
        return asked(self.written, bound)

    @property
    def way(self) -> str:
        """The side of the bound on which it is to be."""
        return (
            "at least" if self.written is not None and self.written.relation == ">=" else "at most"
        )

    @property
    def fixed(self) -> bool:
        """Whether its bound is a number."""
        return self.written is not None and isinstance(self.written.rhs, Const)

    @property
    def demand(self) -> str:
        """What is asked, also where that is not a number."""
        assert self.written is not None
        if self.fixed:
            return self.asked(self.entry.bound)
        return f"{self.way} {in_words(self.written.rhs)}"

    @property
    def of_none(self) -> bool:
        """Whether a share is one of no rows, such as of those accepted: its 0 says nothing."""
        return self.entry.denominator == 0.0 and self.entry.value == 0.0


@dataclass(frozen=True)
class Facts:
    """What was reached: objective, constraints, certificate, groups, in plain values."""

    goal: str
    objective: Entry
    constraints: tuple[Entry, ...] = ()
    status: Status = "evaluated"
    search: Search = Search()
    certificate: Certificate = field(default_factory=Certificate)
    guarantee: guarantees.Guarantee | None = None
    rule: RuleFacts = RuleFacts()
    counts: Counts = Counts()  # noqa: RUF009
    groups: tuple[GroupRow, ...] = ()
    deployed: Comparison | None = None
    sections: tuple[Section, ...] = field(default=(), repr=False)
    warnings: tuple[str, ...] = ()
    level: float = 0.95
    run: Run = field(default=Run(), compare=False)

    # blame is a dict, and equal reports would need equal hashes
    __hash__ = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        if self.status not in STATUSES:
            raise InputError(f"`status` is one of {STATUSES}, got {self.status!r}")

    @property
    def entries(self) -> tuple[Entry, ...]:
        """The objective, then the constraints."""
        return (self.objective, *self.constraints)

    @cached_property
    def parsed_goal(self) -> Goal:
        """The goal that the text says."""
        return Goal.parse(self.goal)

    @cached_property
    def aim(self) -> GoalPart:
        """The objective, as it was written and found."""
        return GoalPart(self.objective, self.parsed_goal.objective)

    @cached_property
    def parts(self) -> tuple[GoalPart, ...]:
        """Each constraint, as it was written and found."""
        pairs = zip(self.constraints, self.parsed_goal.constraints, strict=True)
        return tuple(GoalPart(entry, c.lhs, c) for entry, c in pairs)

    @property
    def satisfied(self) -> bool | None:
        """Whether every constraint holds here; None if none fails and some have no rows."""
        found = [c.satisfied for c in self.constraints]
        if False in found:
            return False
        return None if None in found else True

    @property
    def is_certified(self) -> bool | None:
        """Whether every constraint that is promised is certified on new rows.

        None where no guarantee was asked for. False where it was, and the rule is not certified
        or only approximately so (``guarantee.state``).
        """
        return None if self.guarantee is None else self.guarantee.state == "certified"

    @property
    def verdict(self) -> Verdict | None:
        """Whether every constraint holds on new rows; None without constraints.

        "shown to fail" where one of them is, "shown" where all are; a constraint that could
        not be evaluated leaves the goal too close to call. A goal that fails is called shown no
        more often than one bound is; but each of several constraints that just hold may be called
        failed, so together they are more often than one alone.
        """
        found = [c.verdict for c in self.constraints]
        if not found:
            return None
        if FAILS in found:
            return FAILS
        return SHOWN if all(v == SHOWN for v in found) else OPEN

    def section(self, name: str) -> Any:
        """The section of that name, or None.

        Examples
        --------
        >>> Facts("maximize recall", Entry("recall", 0.8)).section("stream") is None
        True
        """
        for one in self.sections:
            stored = one.stored if isinstance(one, TextSection) else None
            if (one.name if stored is None else stored["name"]) == name:
                return one if stored is None else read_section(stored)
        return None

    @property
    def compared(self) -> list[GroupRow]:
        """The groups that the goal compares."""
        return [group for group in self.groups if group.compared]

    @property
    def one_curve(self) -> Any:
        """The operating points where they are of one threshold for all rows, or None."""
        found = self.section("operating")
        return None if found is None or len(found.points.curves) != 1 else found.points

    def to_dict(self) -> dict[str, Any]:
        """Plain dicts, lists and scalars for JSON, verdicts among them."""
        out: dict[str, Any] = {"format": FORMAT, "verdict": self.verdict}
        out |= {f.name: plain(getattr(self, f.name)) for f in fields(self) if f.name != "sections"}
        for entry, data in zip(self.constraints, out["constraints"], strict=True):
            data["verdict"] = entry.verdict
        out["sections"] = [write_section(s) for s in self.sections]
        return out

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """The facts that :meth:`to_dict` wrote.

        Raises
        ------
        ValueError
            If `data` is of another format, or a field is missing or unknown.
        """
        given: Any = data
        if not isinstance(given, Mapping) or given.get("format") != FORMAT:
            found = given.get("format") if isinstance(given, Mapping) else type(data).__name__
            raise InputError(f"a report of format {FORMAT} is read here, found {found!r}")
        try:
            given = {k: v for k, v in data.items() if k not in ("format", "verdict", "sections")}
            given["constraints"] = [
                {k: v for k, v in entry.items() if k != "verdict"} for entry in data["constraints"]
            ]
            sections = tuple(read_section(s) for s in data["sections"])
            return read(cls, given, sections=sections)
        except (KeyError, TypeError, AttributeError) as error:
            raise InputError(f"not a report: {error}") from None
