"""Sections that a search adds: frontiers, operating points, prices, traces, deferral."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

from setpoint import search
from setpoint.goals import Metric, Reduce, expression_of, in_words
from setpoint.parameters import WhenRead, all_read
from setpoint.report import displays
from setpoint.report.facts import Picture, Section
from setpoint.report.numbers import PER, amount, cleaned, number, percent, shortened
from setpoint.report.operating import DeferralPoints, OperatingPoints

if TYPE_CHECKING:
    from setpoint.goals import Goal
    from setpoint.report.facts import Facts
    from setpoint.search import Frontier


# --- How many of those decided are wrong, were more or fewer rows decided -------------------------


_WIDE = (4.8, 2.9)
"""Inches."""

_MOST_CURVES = 12
"""More are a tangle; the groups have a picture of their own."""


@dataclass(frozen=True)
class DeferralSection(Section):
    """The curves of a rule that defers."""

    name: ClassVar[str] = "deferral"
    title: ClassVar[str] = "Decided and deferred"
    points_of = DeferralPoints
    points: DeferralPoints

    def lines(self) -> Sequence[str]:
        """One sentence."""
        share, error = self.points.decided, self.points.error
        if error is None:
            return ("The rule decides no row that has a label.",)
        return (
            f"The rule decides {percent(share)} of the rows and defers the others; "
            f"{percent(error)} of those decided are wrong.",
        )

    def pictures(self, facts: Facts) -> Iterator[Picture]:
        """The error among the decided over the share decided."""
        curves = self.points.curves
        if not 1 <= len(curves) <= _MOST_CURVES:
            return
        points = replace(self.points, curves=_named(curves))
        yield Picture(
            "Errors by share decided",
            lambda ax: displays.plot_deferral(points, facts.goal, ax=ax),
            "The share of the decided that is wrong over the share of rows decided. "
            + self.lines()[0],
            "To the right more rows are decided, and fewer are left to a person. Higher up more of "
            "those decided are wrong. The full dot is the rule.",
            _WIDE,
        )


# --- The best objective as a bound moves, where somebody asked for it -----------------------------


@dataclass(frozen=True)
class Frontiers(Section):
    """Frontiers, one for each bound that was moved."""

    name: ClassVar[str] = "frontiers"
    title: ClassVar[str] = "What the bounds cost"
    items: tuple[Frontier, ...]

    # frontiers hold arrays
    __hash__ = None  # type: ignore[assignment]

    def to_dict(self) -> dict[str, Any]:
        """Plain lists and scalars."""
        return {"items": [f.to_dict() for f in self.items]}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Frontiers:
        """The frontiers that :meth:`to_dict` wrote."""
        return cls(**{**data, "items": tuple(search.Frontier.from_dict(f) for f in data["items"])})

    def pictures(self, facts: Facts) -> Iterator[Picture]:
        """The best objective over each bound."""
        return pictures_of(self.items)


def pictures_of(frontiers: Sequence[Frontier]) -> Iterator[Picture]:
    """A picture for each frontier."""
    return (_picture_of(frontier.thinned()) for frontier in frontiers)


def _picture_of(frontier: Frontier) -> Picture:
    proof = ""
    if math.isinf(frontier.gap):
        proof = " It is not proved that no rule does better."
    elif frontier.gap > 5e-5:
        proof = " The band is what the best may be better by."
    strict = "right" if frontier.relation == ">=" else "left"
    side, objective = _words(frontier.side), _words(frontier.objective)
    return Picture(
        _title(frontier),
        lambda ax: displays.plot_frontier(frontier, ax=ax),
        f"The best {objective} as the bound on {side} moves; the goal asks for "
        f"{frontier.relation} {number(frontier.asked)}.",
        f"The line shows the best {objective} under each bound on {side}; further to the "
        f"{strict} the bound is stricter. The mark is the bound that the goal asks for.{proof}",
        _WIDE,
    )


def _title(frontier: Frontier) -> str:
    """What is paid for, in words."""
    side = expression_of(frontier.side)
    words = in_words(side)
    if isinstance(side, Reduce) and side.kind == "difference" and frontier.relation == "<=":
        return f"What a smaller {words} costs"
    if isinstance(side, Metric):
        return f"What a {'higher' if frontier.relation == '>=' else 'lower'} {words} costs"
    return f"What the bound on {words} costs"


def _words(text: str) -> str:
    return in_words(expression_of(text))


# --- What other thresholds reach, beside those of the rule ----------------------------------------


_TALL = (4.8, 3.6)
"""Inches."""


@dataclass(frozen=True)
class OperatingSection(Section):
    """The curves of a rule over thresholds."""

    name: ClassVar[str] = "operating"
    title: ClassVar[str] = "Every cut-off"
    points_of = OperatingPoints
    points: Any = WhenRead()  # noqa: RUF009
    """:class:`OperatingPoints`, or a function that works them out."""
    __getstate__ = all_read

    def pictures(self, facts: Facts) -> Iterator[Picture]:
        """Precision over recall, the objective over cut-offs, and the ROC curve."""
        if not 1 <= len(self.points.curves) <= _MOST_CURVES:
            return
        points = _fit_to_draw(self.points)
        today = None if facts.deployed is None else _place(facts.deployed.confusion)
        dot = None if today is None else today[:2]

        def plot(**own: Any) -> object:
            return displays.plot_operating(points, facts.goal, deployed=dot, **own)

        hollow = "" if today is None else " The hollow dot is the deployed model."
        yield _precision_and_recall(plot, points, f"The full dot is the rule.{hollow}")
        if len(points.curves) == 1 and points.curves[0].objective:
            both = None
            if today is not None and facts.deployed is not None:
                before = facts.deployed.objective
                both = None if before is None else (today[2], before)
            value = facts.objective.value
            yield Picture(
                "The objective at every cut-off",
                lambda ax: displays.plot_objective(points, facts.goal, value, deployed=both, ax=ax),
                "The goal's objective over the share of rows accepted, from nobody to everybody.",
                "To the right the cut-off is lower and more rows are accepted. Where it is shaded "
                f"every constraint holds on these rows. The full dot is the rule.{hollow}",
                _WIDE,
            )
        yield Picture(
            "Hits and false alarms",
            lambda ax: plot(kind="roc", ax=ax),
            f"Recall against the false positive rate for every cut-off; {_here(points)}, with a "
            f"false positive rate of {percent(points.false_positive_rate)}.",
            "Each point of a line is one cut-off. Higher up more of the class is found; to the "
            f"left there are fewer false alarms. The full dot is the rule.{hollow}",
            _TALL,
            detail=True,
        )


def pictures_of_refused(points: OperatingPoints, goal: Goal, shown: Goal) -> Iterator[Picture]:
    """Precision over recall, with the bounds that are asked and those that are shown."""
    if 1 <= len(points.curves) <= _MOST_CURVES:
        points = _fit_to_draw(points)
        yield _precision_and_recall(
            lambda **own: displays.plot_operating(points, goal, shown=shown, **own),
            points,
            "The full dot is the best rule for the bound that these rows show.",
        )


def _precision_and_recall(
    plot: Callable[..., object], points: OperatingPoints, dots: str
) -> Picture:
    return Picture(
        "Precision and recall",
        lambda ax: plot(kind="precision-recall", ax=ax),
        f"Precision against recall for every cut-off; {_here(points)}.",
        "Each point of a line is one cut-off. To the right more of the class is found; higher up, "
        f"more of those accepted are right. {dots}",
        _WIDE,
    )


def _here(points: OperatingPoints) -> str:
    return (
        f"the rule finds {percent(points.recall)} of the class; {percent(points.precision)} of "
        "those it accepts are right"
    )


def _place(confusion: Sequence[Sequence[float]]) -> tuple[float, float, float] | None:
    """Recall, precision and share accepted by counts; None where a class has no rows."""
    if not confusion:
        return None
    (tn, fp), (fn, tp) = confusion[:2]
    if not tp + fn > 0.0 or not tn + fp > 0.0:
        return None
    accepted = tp + fp
    return tp / (tp + fn), tp / accepted if accepted > 0.0 else 0.0, accepted / (tn + fn + accepted)


def _named(curves: Sequence[Any]) -> tuple[Any, ...]:
    """Curves with names that leave room for the picture."""
    return tuple(replace(curve, name=shortened(curve.name)) for curve in curves)


def _fit_to_draw(points: OperatingPoints) -> OperatingPoints:
    """Names that matplotlib can set."""
    return replace(
        points,
        curves=_named(points.curves),
        # Whole, for the goal may name them.
        labels=tuple(cleaned(x) if isinstance(x, str) else x for x in points.labels),  # type: ignore[arg-type]
    )


# --- What decisions cost, against accepting nobody, everybody -------------------------------------


@dataclass(frozen=True)
class Prices(Section):
    """The objective a row, in the units of the goal's prices.

    Examples
    --------
    >>> Prices("cost", 3.532, (("accepting nobody", 7.0),)).lines()
    ('Cost for 10,000 rows: 35,320; accepting nobody 70,000.',)
    """

    name: ClassVar[str] = "prices"
    title: ClassVar[str] = "In money"
    what: str
    rule: float
    constants: tuple[tuple[str, float], ...]
    deployed: float | None = None

    def lines(self) -> Sequence[str]:
        """One sentence."""
        others = list(self.constants)
        if self.deployed is not None:
            others.append(("the deployed model", self.deployed))
        text = f"{self.what} for {PER:,} rows: {amount(PER * self.rule)}"
        text = "; ".join([text, *(f"{who} {amount(PER * x)}" for who, x in others)])
        return (f"{text[0].upper()}{text[1:]}.",)


# --- The way of a search: the best rule so far, call by call --------------------------------------


Step: TypeAlias = tuple[int, float, float, float]
"""Call, objective, bound, violation."""


@dataclass(frozen=True)
class SearchTrace(Section):
    """For each call of a search the best rule so far, and what no rule passes."""

    name: ClassVar[str] = "trace"
    title: ClassVar[str] = "How the search went"
    steps: tuple[Step, ...]
    of_passes: bool = True

    def pictures(self, facts: Facts) -> Iterator[Picture]:
        """Objective, bound and violation over the calls."""
        if len(self.steps) < 3:
            return
        last = self.steps[-1]
        bound = (
            "Where the line and the limit that no rule passes meet, nothing better is left to find."
            if math.isfinite(last[2])
            else "No limit is known that no rule passes."
        )
        steps = "passes over the data" if self.of_passes else "steps"
        yield Picture(
            self.title,
            lambda ax: displays.plot_convergence(self.steps, facts.goal, ax=ax),
            f"The best objective after each of {last[0]:,} {steps}; at the end {number(last[1])}.",
            f"To the right the search has looked longer. {bound}",
            panels=True,
            detail=True,
        )
