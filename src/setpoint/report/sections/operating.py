"""What other thresholds reach, beside those of the rule."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from setpoint.report.numbers import percent
from setpoint.report.operating import OperatingCurve, OperatingPoints
from setpoint.report.picture import Picture
from setpoint.report.printable import cleaned, shortened
from setpoint.report.section import section

if TYPE_CHECKING:
    from setpoint.goals.goal import Goal
    from setpoint.report.displays import OperatingPointDisplay
    from setpoint.report.facts import Facts

__all__ = ["OperatingSection", "pictures_of_refused"]

T = TypeVar("T")

_MOST_POINTS = 1000
"""Thresholds in one picture, over all of its curves."""

_WIDE, _TALL = (4.8, 2.9), (4.8, 3.6)
"""Inches."""

_MOST_CURVES = 12
"""More are a tangle; the groups have a picture of their own."""


@section
@dataclass(frozen=True)
class OperatingSection:
    """The curves of a rule over thresholds."""

    name: ClassVar[str] = "operating"
    title: ClassVar[str] = "Every cut-off"
    points: OperatingPoints

    def to_dict(self) -> dict[str, Any]:
        """Plain lists and scalars; infinite thresholds as text that ``float`` reads."""
        return self.points.to_dict()

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> OperatingSection:
        """The section that :meth:`to_dict` wrote."""
        return cls(OperatingPoints.from_dict(data))

    def lines(self) -> Sequence[str]:
        """The pictures say it all."""
        return ()

    def pictures(self, facts: Facts) -> Iterator[Picture]:
        """Precision over recall, the objective over cut-offs, and the ROC curve."""
        if not 1 <= len(self.points.curves) <= _MOST_CURVES:
            return
        from setpoint.report.displays import ObjectiveCurveDisplay, OperatingPointDisplay

        points = _fit_to_draw(self.points)
        today = None if facts.deployed is None else _place(facts.deployed.confusion)
        display = OperatingPointDisplay(
            points, facts.goal, deployed=None if today is None else (today.recall, today.precision)
        )
        hollow = "" if today is None else " The hollow dot is the deployed model."
        yield _precision_and_recall(display, f"The full dot is the rule.{hollow}")
        if len(points.curves) == 1 and points.curves[0].objective:
            both = None
            if today is not None and facts.deployed is not None:
                value = facts.deployed.objective
                both = None if value is None else (today.accepted, value)
            curve = ObjectiveCurveDisplay(points, facts.goal, facts.objective.value, deployed=both)
            yield Picture(
                "The objective at every cut-off",
                curve.plot,
                "The goal's objective over the share of rows accepted, from nobody to everybody.",
                "To the right the cut-off is lower and more rows are accepted. Where it is shaded "
                f"every constraint holds on these rows. The full dot is the rule.{hollow}",
                _WIDE,
            )
        yield Picture(
            "Hits and false alarms",
            lambda ax: display.plot(ax, kind="roc"),
            f"Recall against the false positive rate for every cut-off; {_here(points)}, with a "
            f"false positive rate of {percent(points.false_positive_rate)}.",
            "Each point of a line is one cut-off. Higher up more of the class is found; to the "
            f"left there are fewer false alarms. The full dot is the rule.{hollow}",
            _TALL,
            detail=True,
        )


def pictures_of_refused(points: OperatingPoints, goal: Goal, shown: Goal) -> Iterator[Picture]:
    """Precision over recall, with the bounds that are asked and those that are shown."""
    from setpoint.report.displays import OperatingPointDisplay

    if 1 <= len(points.curves) <= _MOST_CURVES:
        display = OperatingPointDisplay(_fit_to_draw(points), goal, shown=shown)
        yield _precision_and_recall(
            display,
            "The full dot is the best rule for the bound that these rows show.",
        )


def _precision_and_recall(display: OperatingPointDisplay, dots: str) -> Picture:
    return Picture(
        "Precision and recall",
        lambda ax: display.plot(ax, kind="precision-recall"),
        f"Precision against recall for every cut-off; {_here(display.points)}.",
        "Each point of a line is one cut-off. To the right more of the class is found; higher up, "
        f"more of those accepted are right. {dots}",
        _WIDE,
    )


def _here(points: OperatingPoints) -> str:
    return (
        f"the rule finds {percent(points.recall)} of the class; {percent(points.precision)} of "
        "those it accepts are right"
    )


@dataclass(frozen=True)
class _Place:
    """Where decisions stand among cut-offs."""

    recall: float
    precision: float
    accepted: float


def _place(confusion: Sequence[Sequence[float]]) -> _Place | None:
    """The place of decisions by their counts; None where a class has no rows."""
    if not confusion:
        return None
    (tn, fp), (fn, tp) = confusion[:2]
    if not tp + fn > 0.0 or not tn + fp > 0.0:
        return None
    accepted = tp + fp
    precision = tp / accepted if accepted > 0.0 else 0.0
    return _Place(tp / (tp + fn), precision, accepted / (tn + fp + fn + tp))


def _fit_to_draw(points: OperatingPoints) -> OperatingPoints:
    """Fewer thresholds where there are many curves; names that matplotlib can set."""
    most = max(_MOST_POINTS // len(points.curves), 12)
    return replace(
        points,
        curves=tuple(_thin(replace(c, name=shortened(c.name)), most) for c in points.curves),
        # Whole, for the goal may name them.
        labels=tuple(cleaned(x) if isinstance(x, str) else x for x in points.labels),  # type: ignore[arg-type]
    )


def _thin(curve: OperatingCurve, most: int) -> OperatingCurve:
    n = len(curve.thresholds)
    if n <= most:
        return curve
    keep = sorted({round(i * (n - 1) / (most - 1)) for i in range(most)})

    def cut(values: tuple[T, ...]) -> tuple[T, ...]:
        return tuple(values[j] for j in keep)

    hull = set(curve.hull)
    return replace(
        curve,
        thresholds=cut(curve.thresholds),
        recall=cut(curve.recall),
        false_positive_rate=cut(curve.false_positive_rate),
        precision=cut(curve.precision),
        accepted=cut(curve.accepted),
        objective=cut(curve.objective) if curve.objective else (),
        feasible=cut(curve.feasible) if curve.feasible else (),
        hull=tuple(i for i, j in enumerate(keep) if j in hull),
    )
