"""What a search found as columns of numbers: a dict of arrays, which pandas takes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setpoint.choosing.candidates import Candidate
from setpoint.choosing.search_result import SearchResult
from setpoint.goals.goal import Goal
from setpoint.report import Entry

__all__ = ["table_of"]


def table_of(
    result: SearchResult, candidates: Sequence[Candidate], seconds: Sequence[float]
) -> dict[str, Any]:
    """One entry a candidate in each array, in the order in which they were given.

    Parameters
    ----------
    result : SearchResult
    candidates : sequence of Candidate
    seconds : sequence of float
        The time that all fits of each took.
    """
    judged = result.candidates
    reports = [one.report for one in judged]
    out: dict[str, Any] = {
        "candidate": np.array([one.name for one in judged], object),
        "params": [{**_named(c), **c.params} for c in candidates],
    }
    for key in dict.fromkeys(key for c in candidates for key in c.params):
        out[f"param_{key}"] = _masked([c.params.get(key, np.ma.masked) for c in candidates])
    out |= _columns("objective", [None if r is None else r.objective for r in reports])
    for place, written in enumerate(Goal.parse(result.goal).constraints):
        entries = [None if r is None else r.constraints[place] for r in reports]
        out |= _columns(str(written), entries)
        out[f"{written}: verdict"] = _texts([None if e is None else e.verdict for e in entries])
    out["feasible"] = np.array([r is not None and r.satisfied is True for r in reports])
    out["verdict"] = _texts([None if r is None else r.verdict for r in reports])
    out["score"] = np.array([one.score for one in judged])
    out["rank"] = np.array([one.rank for one in judged])
    out |= _columns("difference", [one.difference for one in judged])
    out["against_the_best"] = np.array([one.verdict for one in judged], object)
    out["cannot_be_distinguished"] = np.array([one.tied for one in judged])
    out["rows"] = np.array([one.rows for one in judged])
    out["fit_seconds"] = np.array(seconds)
    return out


def _named(candidate: Candidate) -> dict[str, Any]:
    return {"estimator": candidate.name} if candidate.name else {}


def _columns(name: str, entries: Sequence[Entry | None]) -> dict[str, NDArray[np.float64]]:
    """Value and limits; NaN where there are none."""
    parts = {name: "value", f"{name}: low": "low", f"{name}: high": "high"}
    return {
        key: np.array([_number(None if e is None else getattr(e, part)) for e in entries])
        for key, part in parts.items()
    }


def _number(x: float | None) -> float:
    return np.nan if x is None else float(x)


def _texts(values: Sequence[str | None]) -> NDArray[Any]:
    return np.array(["" if value is None else value for value in values], object)


def _masked(values: Sequence[Any]) -> np.ma.MaskedArray[Any, Any]:
    """Parameters, masked where a candidate has none of that name."""
    out = np.ma.MaskedArray(np.empty(len(values), object), mask=True)
    for k, value in enumerate(values):
        if value is not np.ma.masked:
            out[k] = value
    return out
