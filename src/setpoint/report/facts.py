"""The facts of a report: plain values, which every face reads and none writes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Self, TypeAlias

from setpoint.errors import InputError
from setpoint.goals.populations import Label
from setpoint.guarantees.guarantee import Guarantee
from setpoint.inference.verdicts import FAILS, OPEN, SHOWN, Verdict
from setpoint.report.codec import plain, read
from setpoint.report.counts import Counts
from setpoint.report.deployed import Comparison
from setpoint.report.entry import Entry, GroupRow
from setpoint.report.section import Section, read_section, section_named, write_section

__all__ = ["FORMAT", "Certificate", "Facts", "RuleFacts", "Run", "Search", "Status"]

FORMAT = 3
"""Version of the dict; a reader refuses what it does not know."""

Status: TypeAlias = Literal["optimal", "feasible", "stationary", "nearest", "evaluated"]

STATUSES: tuple[str, ...] = (
    "optimal", "feasible", "stationary", "nearest", "evaluated",
)  # fmt: skip


@dataclass(frozen=True)
class Search:
    """Who found the rule, and how."""

    family: str = ""
    solver: str = ""
    why: str = ""
    evidence: str = "label"
    folds: int | None = None
    calls: int | None = None
    blame: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Certificate:
    """How near the best the rule is on the rows that it was found on.

    Parameters
    ----------
    gap : float or None
        No other rule of this kind on these scores has an objective better by more.
    bound : float or None
        The objective that no rule of this kind passes.
    rivals : str
        The kind of rules that `gap` refers to: "rule" for all, or "rule without draws".
    with_draws : float or None
        The objective that a rule that draws reaches, where this one must not draw and that is
        worth more than one row.
    violation : float or None
        Soft evidence: the largest violation of a constraint if the posteriors are right. `gap`
        and `bound` then refer to the objective by posteriors.
    calibration : float or None
        Soft evidence: the largest difference between posteriors and labels in a share of
        rows by true and predicted class.

    Examples
    --------
    >>> from setpoint import solve
    >>> scores, y = [0.1, 0.4, 0.35, 0.8, 0.7, 0.9], [0, 0, 1, 1, 0, 1]
    >>> certificate = solve("f1", scores, y).report.certificate
    >>> certificate.gap, certificate.bound
    (0.0, 0.8)
    """

    gap: float | None = None
    bound: float | None = None
    rivals: str = "rule"
    with_draws: float | None = None
    violation: float | None = None
    calibration: float | None = None


@dataclass(frozen=True)
class RuleFacts:
    """The rule in words, and what it looks at."""

    text: str = ""
    decides_on: tuple[str, ...] = ()
    drawn: float = 0.0
    cutoffs: tuple[tuple[tuple[tuple[str, Label], ...], float], ...] = ()

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Run:
    """What differs between two runs of the same thing, and does not count when comparing."""

    when: str = ""
    seconds: float | None = None
    versions: Mapping[str, str] = field(default_factory=dict)
    digests: Mapping[str, str] = field(
        default_factory=dict, repr=False, metadata={"optional": True}
    )


@dataclass(frozen=True)
class Facts:
    """What was reached: objective, constraints, certificate, groups, in plain values."""

    goal: str
    objective: Entry
    constraints: tuple[Entry, ...] = ()
    status: Status = "evaluated"
    search: Search = Search()
    certificate: Certificate = Certificate()
    guarantee: Guarantee | None = None
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

    @property
    def satisfied(self) -> bool | None:
        """Whether every constraint holds here; None if none fails and some have no rows."""
        found = [c.satisfied for c in self.constraints]
        if False in found:
            return False
        return None if None in found else True

    @property
    def is_certified(self) -> bool | None:
        """Whether every constraint that is promised is certified on new rows."""
        return None if self.guarantee is None else self.guarantee.state == "certified"

    @property
    def verdict(self) -> Verdict | None:
        """Whether every constraint holds on new rows; None without constraints."""
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
        return section_named(self.sections, name)

    def to_dict(self) -> dict[str, Any]:
        """Plain dicts, lists and scalars for JSON, verdicts among them."""
        out: dict[str, Any] = {"format": FORMAT, "verdict": self.verdict}
        out |= {k: plain(v) for k, v in vars(self).items() if k != "sections"}
        for entry, data in zip(self.constraints, out["constraints"], strict=True):
            data["verdict"] = entry.verdict
        out["sections"] = [write_section(s) for s in self.sections]
        return out

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """The facts that :meth:`to_dict` wrote."""
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
