"""The payload of a page: everything that it computes from, as plain data."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from importlib.metadata import version
from typing import Any

import numpy as np

from setpoint.array_types import Codes
from setpoint.evidence.curve import Curve
from setpoint.explorer.arrays import packed, plain
from setpoint.explorer.bins import Bins, chosen_cuts
from setpoint.explorer.bound_goal import BoundGoal
from setpoint.explorer.limits import limits_at, places_of, sure_limits, sure_places
from setpoint.explorer.markers import Marker
from setpoint.explorer.scored import ScoredRows
from setpoint.explorer.take import take_templates
from setpoint.goals.errors import GoalError
from setpoint.goals.goal import Goal
from setpoint.rules import Threshold
from setpoint.rules.words import ClassNames

__all__ = ["payload_of"]

MOST_BINS = 2**16
MOST_CHARACTERS = 1_400_000
"""Of the curve: with it the page stays below 2 MB."""
_OF_TWO = 0.65
"""Of them for the rows to choose on, where others are held out."""
PER = 1000
_FEWEST_BINS = 2**8
_MOST_COUNTS = 2**22
"""Numbers of eight bytes."""


def payload_of(
    goals: Sequence[Goal],
    rows: ScoredRows,
    *,
    markers: Sequence[Marker] = (),
    check: ScoredRows | None = None,
    warnings: Sequence[str] = (),
) -> dict[str, Any]:
    """Everything that the page of one goal, or of two, computes from."""
    evidence, curve = rows.evidence, rows.curve
    classes = evidence.classes
    bound = [BoundGoal(goal, rows) for goal in goals]
    accepted = sure_places(evidence.scores, rows.weight)
    sure_at = _cuts_accepting(rows, accepted)
    own = {g.start for g in bound} | {m for m in map(_cut_of(curve), markers) if m is not None}
    room = MOST_CHARACTERS if check is None else MOST_CHARACTERS * _OF_TWO
    bins, written = _thinned(rows, {*own, *sure_at.tolist()}, MOST_BINS, room)
    programs = []
    for goal in bound:
        part = goal.payload(bins, classes[1])
        places = places_of(bins, rows, bins.place(goal.start))
        part["places"] = places
        part["limits"] = limits_at(goal, bins, places)
        part["sure"] = None
        if goal.program.constraints:
            at = np.unique([bins.place(c) for c in sure_at.tolist()])
            part["sure"] = sure_limits(goal, bins, at)
        programs.append(part)
    whole = rows.weight.sum()
    n = evidence.n_rows
    labelled = int((evidence.rows.true < evidence.n_classes).sum())
    out = {
        "format": 1,
        "version": version("setpoint"),
        "digest": _digest(bins, check),
        "classes": [str(c) for c in classes],
        "positive": str(classes[1]),
        "positiveWords": ClassNames(tuple(classes)).label(1),
        "per": PER,
        "rows": {
            "n": n,
            "labelled": labelled,
            "weight": float(whole),
            "where": rows.where,
            "distinct": len(curve.values),
            "bins": bins.m,
            "open": int(bins.is_open.sum()),
            "warning": " ".join(warnings) or None,
        },
        "kinds": [list(k) for k in bins.kinds],
        "strata": [
            {
                "key": {c: str(v) for c, v in s.key},
                "plain": s.measure is None and s.dataset is None,
            }
            for s in evidence.strata
        ],
        "curve": written,
        "groups": [
            {"column": g.name, "values": list(g.values), "named": g.named} for g in rows.groups
        ],
        "programs": [_packed_places(p) for p in programs],
        "markers": [_marker(m, rows, bins, curve) for m in markers],
        "prices": _prices(programs[0]),
        "check": None if check is None else _checked(check, goals, bins, programs),
        "take": take_templates(classes, goals, weighted=bool((rows.weight != 1.0).any())),
    }
    return dict(plain(out))


def _thinned(
    rows: ScoredRows, always: set[int], most: int, room: float
) -> tuple[Bins, dict[str, Any]]:
    """As many bins as the page can hold."""
    most = min(most, _most_bins(rows))
    while True:
        cuts = chosen_cuts(len(rows.curve.values), most, sorted(always))
        bins = Bins(rows.curve, cuts, rows.kinds)
        written = bins.payload(bins.columns(rows))
        arrays = [written["thresholds"], written["counts"], *written["columns"]]
        if sum(len(a["z"]) for a in arrays) <= room or bins.m <= _FEWEST_BINS:
            return bins, written
        most = min(most, bins.m) // 2


def _most_bins(rows: ScoredRows) -> int:
    """So many bins that what the page counts in them fits into the memory of a phone."""
    counted = len(rows.kinds) + sum(3 * len(g.values) for g in rows.groups)
    return max(_MOST_COUNTS // counted, _FEWEST_BINS)


def _cuts_accepting(rows: ScoredRows, accepted: Codes) -> Codes:
    """The cut-offs that accept at least so many rows, by the scores alone."""
    ranked = np.sort(rows.evidence.scores)[::-1]
    lowest = ranked[np.minimum(accepted, len(ranked)) - 1]
    return np.asarray(np.searchsorted(-rows.curve.values, -lowest, side="right"))


def _cut_of(curve: Curve) -> Any:
    """The cut-off of a marker that is one threshold for all."""

    def cut(marker: Marker) -> int | None:
        rule = marker.rule
        if not isinstance(rule, Threshold) or rule.width:
            return None
        return int(np.searchsorted(-curve.values, -rule.threshold, side="right"))

    return cut


def _digest(bins: Bins, check: ScoredRows | None) -> str:
    """What tells a page of these rows from one of others: a link of the other is not read."""
    out = sha256(bins.thresholds.tobytes() + bins.counts.tobytes())
    if check is not None:
        out.update(check.curve.values.tobytes() + check.curve.counts.tobytes())
    return out.hexdigest()[:16]


def _packed_places(part: dict[str, Any]) -> dict[str, Any]:
    return part | {"places": packed(part["places"])}


def _marker(marker: Marker, rows: ScoredRows, bins: Bins, curve: Curve) -> dict[str, Any]:
    cut = _cut_of(curve)(marker)
    columns = []
    true = rows.evidence.rows.true.astype(np.int64)
    for g in rows.groups:
        size = 3 * len(g.values)
        columns.append(np.bincount(g.codes * 3 + true, rows.weight * marker.share, size))
    return {
        "name": marker.name,
        "S": rows.accepted(marker.share),
        "cut": None if cut is None else bins.place(cut),
        "words": marker.words,
        "columns": columns,
    }


def _prices(program: dict[str, Any]) -> dict[str, Any] | None:
    side = program["objective"]
    return {"unit": "amount", "text": side["words"]} if side["unit"] == "amount" else None


def _checked(
    check: ScoredRows,
    goals: Sequence[Goal],
    bins: Bins,
    programs: Sequence[dict[str, Any]],
) -> dict[str, Any]:
    """The rows held out at the same cut-offs."""
    held = Bins(check.curve, np.array([0, len(check.curve.values)]), check.kinds)
    held.thresholds, held.cuts = bins.thresholds, bins.cuts
    per_bin = held.counted(check)
    held.counts = np.concatenate([np.zeros((len(held.kinds), 1)), per_bin.cumsum(axis=1)], axis=1)
    parts: list[dict[str, Any]] = []
    for goal, known in zip(goals, programs, strict=True):
        try:
            own = BoundGoal(goal, check)
        except GoalError as error:
            parts.append({"why": str(error)})
            continue
        formulas = own.formulas()
        formulas["limits"] = limits_at(own, held, known["places"])
        parts.append(formulas | {"why": None})
    evidence = check.evidence
    return {
        "where": check.where,
        "n": evidence.n_rows,
        "labelled": int((evidence.rows.true < evidence.n_classes).sum()),
        "weight": float(check.weight.sum()),
        "kinds": [list(k) for k in held.kinds],
        "curve": held.tally(per_bin, held.columns(check)),
        "programs": parts,
    }
