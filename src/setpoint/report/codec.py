"""Reports as plain dicts that JSON takes, and back without loss."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from setpoint.report.adaptive import AdaptiveSummary
from setpoint.report.deployed import Comparison
from setpoint.report.entry import Entry, GroupRow
from setpoint.report.operating import OperatingPoints
from setpoint.report.stream import StreamSummary
from setpoint.search.frontier import Frontier

if TYPE_CHECKING:
    from setpoint.report.report import GoalReport

__all__ = ["FORMAT", "read", "write"]

FORMAT = 1
"""Version of the dict; a reader refuses what it does not know."""

_RUN = ("seconds", "versions")
"""What differs between two runs of the same thing."""

_FLOATS = {
    "value", "bound", "slack", "low", "high", "effective_rows", "numerator", "denominator",
    "gap", "bound_on_objective", "calibration", "expected_objective", "expected_violation",
    "randomized", "with_draws", "baseline_objective", "level", "seconds",
}  # fmt: skip


def write(report: GoalReport) -> dict[str, Any]:
    """The dict of a report; infinite numbers and NaN become the text that float() reads."""
    out: dict[str, Any] = {"format": FORMAT}
    run: dict[str, Any] = {}
    for f in fields(report):
        (run if f.name in _RUN else out)[f.name] = _plain(getattr(report, f.name))
    out["run"] = run
    return out


def read(data: Any) -> dict[str, Any]:
    """The arguments of the report that `write` wrote.

    Raises
    ------
    ValueError
        If `data` is of another format.
    """
    if not isinstance(data, Mapping) or data.get("format") != FORMAT:
        found = data.get("format") if isinstance(data, Mapping) else type(data).__name__
        raise ValueError(f"a report of format {FORMAT} is read here, found {found!r}")
    flat = {k: v for k, v in data.items() if k not in ("format", "run")}
    flat.update(data.get("run", {}))
    out = {k: _number(k, v) for k, v in flat.items()}
    out["objective"] = _entry(flat["objective"])
    out["constraints"] = tuple(_entry(e) for e in flat["constraints"])
    out["groups"] = tuple(_group(g) for g in flat["groups"])
    for name in ("decides_on", "warnings"):
        out[name] = tuple(flat[name])
    out["blame"] = {k: float(v) for k, v in flat["blame"].items()}
    out["versions"] = dict(flat["versions"])
    points = flat["operating"]
    out["operating"] = None if points is None else OperatingPoints.from_dict(points)
    out["trace"] = tuple((int(call), *map(float, rest)) for call, *rest in flat["trace"])
    against = flat["deployed"]
    out["deployed"] = None if against is None else Comparison.from_dict(against)
    summary = flat["stream"]
    out["stream"] = None if summary is None else StreamSummary.from_dict(summary)
    searched = flat.get("adaptive")  # not there in reports of earlier versions
    out["adaptive"] = None if searched is None else AdaptiveSummary.from_dict(searched)
    out["frontiers"] = tuple(Frontier.from_dict(f) for f in flat["frontiers"])
    return out


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, (Entry, GroupRow)):
        return {f.name: _plain(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, (OperatingPoints, Frontier, StreamSummary, AdaptiveSummary, Comparison)):
        return value.to_dict()
    if isinstance(value, Mapping):
        return {k: _plain(v) for k, v in value.items()}
    if isinstance(value, tuple):
        return [_plain(v) for v in value]
    return value


def _number(name: str, value: Any) -> Any:
    return float(value) if name in _FLOATS and value is not None else value


def _entry(data: Mapping[str, Any]) -> Entry:
    return Entry(**{k: _number(k, v) for k, v in data.items()})


def _group(data: Mapping[str, Any]) -> GroupRow:
    named = {k: _number(k, v) for k, v in data.items() if k != "columns"}
    return GroupRow(columns=tuple((c, v) for c, v in data["columns"]), **named)
