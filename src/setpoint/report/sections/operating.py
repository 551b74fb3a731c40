"""What other thresholds reach, beside those of the rule."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, TypeVar

from setpoint.report.numbers import number
from setpoint.report.operating import OperatingCurve, OperatingPoints
from setpoint.report.picture import Picture
from setpoint.report.printable import cleaned, shortened
from setpoint.report.section import section

__all__ = ["OperatingSection"]

T = TypeVar("T")

_MOST_POINTS = 1000
"""Thresholds in one picture, over all of its curves."""

_MOST_CURVES = 12
"""More are a tangle; the groups have a picture of their own."""


@section
@dataclass(frozen=True)
class OperatingSection:
    """The curves of a rule over thresholds.

    Parameters
    ----------
    points : OperatingPoints
    """

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

    def pictures(self, goal: str) -> Iterator[Picture]:
        """Precision over recall, and recall over the false positive rate."""
        if not 1 <= len(self.points.curves) <= _MOST_CURVES:
            return
        from setpoint.report.displays import OperatingPointDisplay

        points = _fit_to_draw(self.points)
        display = OperatingPointDisplay(points, goal)
        here = (
            f"the rule has recall {number(points.recall)}, precision {number(points.precision)} "
            f"and false positive rate {number(points.false_positive_rate)}"
        )
        yield Picture(
            "Precision and recall",
            lambda ax: display.plot(ax, kind="precision-recall"),
            f"Precision against recall for every threshold; {here}.",
            "Each point of a line is one threshold. To the right more of the class is found; "
            "higher up, more of what is reported is right. The full dot or diamond is the rule.",
        )
        yield Picture(
            "Hits and false alarms",
            lambda ax: display.plot(ax, kind="roc"),
            f"Recall against the false positive rate for every threshold; {here}.",
            "Each point of a line is one threshold. Higher up more of the class is found; to the "
            "left there are fewer false alarms. The full dot or diamond is the rule.",
            detail=True,
        )


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
        feasible=cut(curve.feasible) if curve.feasible else (),
        hull=tuple(i for i, j in enumerate(keep) if j in hull),
    )
