"""The page of a goal without a curve: why there is none, what bounds cost, class by class."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.metadata import version
from typing import Any

import numpy as np

from setpoint.errors import SetpointError
from setpoint.evidence import Confusion
from setpoint.explorer.arrays import plain
from setpoint.explorer.page import ROOM
from setpoint.goals.goal import Goal
from setpoint.goals.words import goal_in_words
from setpoint.report.numbers import percent
from setpoint.report.page.pictures import figure_of
from setpoint.report.page.rendering import rendered
from setpoint.report.sections.frontiers import pictures_of
from setpoint.search.frontier import Frontier

__all__ = ["fallback_page", "fallback_payload", "known_frontiers", "why_no_curve"]


def why_no_curve(goal: Goal, n_classes: int, values: Sequence[str] = ()) -> str:
    """Why a goal has no curve of one threshold; "" where it has one.

    Parameters
    ----------
    goal : Goal
    n_classes : int
    values : sequence of str
        Columns of numbers that the rule looks at.

    Examples
    --------
    >>> why_no_curve(Goal.parse("maximize macro_f1"), 3)
    'There are 3 classes, so no one threshold says what a rule does: there is nothing to drag \
along.'
    >>> why_no_curve(Goal.parse("maximize recall"), 2)
    ''
    """
    if goal.is_blackbox:
        return "The metric has no formula, so a page cannot compute it."
    if goal.defers:
        return "Rules may defer, so that they have two thresholds: there is no one curve."
    if n_classes > 2:
        return (
            f"There are {n_classes} classes, so no one threshold says what a rule does: there is "
            "nothing to drag along."
        )
    if values:
        return f"The rule looks at {', '.join(values)} beside the score: there is no one curve."
    if goal.needs.datasets:
        return "The goal refers to further data sets, and the page holds the rows of one."
    return ""


def known_frontiers(
    goal: Goal, find: Callable[[int], Frontier]
) -> tuple[list[Frontier], list[str]]:
    """What each bound costs, and a sentence for each of which that is not known.

    Parameters
    ----------
    goal : Goal
    find : callable
        From the number of a constraint to its frontier.
    """
    found, notes = [], []
    for i, c in enumerate(goal.constraints):
        try:
            found.append(find(i))
        except SetpointError as error:
            notes.append(f"What {c} costs is not known: {error}.")
    return found, notes


def fallback_payload(
    goal: Goal,
    why: str,
    n_rows: int,
    where: str = "",
    *,
    frontiers: Sequence[Frontier] = (),
    confusion: Confusion | None = None,
    rule: str = "",
    notes: Sequence[str] = (),
) -> dict[str, Any]:
    """What the page without a curve shows.

    Parameters
    ----------
    goal : Goal
    why : str
    n_rows : int
    where : str
        Which rows these are.
    frontiers : sequence of Frontier
        What each bound costs.
    confusion : Confusion, optional
        Of the rule found.
    rule : str
        In words.
    notes : sequence of str
        What could not be found, and why.
    """
    return {
        "format": 1,
        "version": version("setpoint"),
        "why": why,
        "rows": {"n": n_rows, "where": where},
        "programs": [{"goal": str(goal), "words": goal_in_words(goal)}],
        "rule": rule,
        "classes": [] if confusion is None else _classes(confusion),
        "frontiers": [f.to_dict() for f in frontiers],
        "notes": list(notes),
    }


def _classes(confusion: Confusion) -> list[dict[str, Any]]:
    """For each class its rows, how many are decided so, found and right."""
    own = [i for i, s in enumerate(confusion.strata) if s.measure is None and s.dataset is None]
    counts = confusion.counts[own].sum(axis=0)
    known = counts[:-1]
    out = []
    for j, label in enumerate(confusion.classes):
        has = j < len(known)
        rows = float(known[j].sum()) if has else 0.0
        right = float(known[j, j]) if has else 0.0
        decided = float(known[:, j].sum())
        out.append(
            {
                "label": str(label),
                "rows": rows,
                "decided": float(counts[:, j].sum()),
                "right": right,
                "recall": right / rows if rows else np.nan,
                "precision": right / decided if decided else np.nan,
            }
        )
    return [dict(plain(x)) for x in out]


def fallback_page(payload: dict[str, Any]) -> str:
    """The page as text, without a script.

    Raises
    ------
    ImportError
        If jinja2, or for frontiers matplotlib, is not installed.
    """
    frontiers = tuple(Frontier.from_dict(f) for f in payload["frontiers"])
    pictures = list(pictures_of(frontiers)) if frontiers else []
    figures = [figure_of(p, i) for i, p in enumerate(pictures, 1)]
    rows = [
        {
            "label": c["label"],
            "rows": f"{c['rows']:,.6g}",
            "decided": f"{c['decided']:,.6g}",
            "recall": _share(c["recall"]),
            "precision": _share(c["precision"]),
        }
        for c in payload["classes"]
    ]
    program = payload["programs"][0]
    values = {
        "headline": program["goal"],
        "goal": program["goal"],
        "words": program["words"],
        "why": payload["why"],
        "where": payload["rows"]["where"],
        "n": f"{payload['rows']['n']:,}",
        "rule": payload["rule"],
        "classes": rows,
        "figures": figures,
        "notes": payload["notes"],
        "version": payload["version"],
    }
    return rendered("fallback.html.j2", values, room=ROOM)


def _share(x: Any) -> str:
    return "-" if isinstance(x, str) else percent(x)
