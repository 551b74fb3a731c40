"""A report as numbers by name, for trackers of experiments such as MLflow."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

from setpoint.report.entry import Entry
from setpoint.report.facts import Facts

__all__ = ["metrics_of"]

_LONGEST = 250
"""Characters of a name."""

_WORDS = {">=": "at least", "<=": "at most", "%": "per cent"}

_REFUSED = re.compile(r"[^A-Za-z0-9_\-. ]+")
"""What a name may not hold. A slash stands between its parts alone."""


def metrics_of(facts: Facts) -> dict[str, float]:
    """The numbers of a report by names that MLflow takes; see ``GoalReport.metrics``.

    Examples
    --------
    >>> bound = Entry("precision >= 0.9", 0.92, 0.9, 0.02, True, 0.87, 0.96, relation=">=")
    >>> found = metrics_of(Facts("maximize recall", Entry("recall", 0.8), (bound,)))
    >>> found["objective/value"], found["precision at least 0.9/slack"], found["satisfied"]
    (0.8, 0.02, 1.0)
    """
    out: dict[str, float] = {}
    for parts, value in _numbers(facts):
        if value is not None and math.isfinite(value):
            out[_named(parts, out)] = float(value)
    return out


def _numbers(facts: Facts) -> Iterator[tuple[tuple[str, ...], float | None]]:
    """The parts of each name, and the number."""
    for part in ("value", "low", "high"):
        yield ("objective", part), getattr(facts.objective, part)
    texts = _apart([entry.text for entry in facts.constraints])
    for text, entry in zip(texts, facts.constraints, strict=True):
        for part in ("value", "bound", "slack", "low", "high", "satisfied"):
            yield (text, part), _as_number(entry, part)
    yield ("satisfied",), _flag(facts.satisfied)
    yield ("certified",), _flag(facts.is_certified)
    yield ("gap",), facts.certificate.gap
    yield ("bound on the objective",), facts.certificate.bound
    yield ("drawn",), facts.rule.drawn
    for columns, cut in facts.rule.cutoffs:
        where = ", ".join(f"{name} {value}" for name, value in columns)
        yield (("cut-off", where) if where else ("cut-off", "all rows")), cut
    yield ("search seconds",), facts.run.seconds
    if facts.audit is not None:
        yield ("seconds",), facts.audit.seconds
    yield ("rows",), float(facts.counts.n_rows)
    yield from _counts(facts)
    for row in facts.groups:
        yield ("groups", f"{row.metric} in {row.name}"), row.value


def _counts(facts: Facts) -> Iterator[tuple[tuple[str, ...], float | None]]:
    """The confusion of two classes; of more the rows of each class, and those decided right."""
    counts = facts.counts
    if len(counts.classes) == 2 and counts.confusion:
        (tn, fp), (fn, tp) = counts.confusion[:2]
        for name, value in zip(("tn", "fp", "fn", "tp"), (tn, fp, fn, tp), strict=True):
            yield ("counts", name), value
    elif counts.classes:
        right = {i: x for i, j, x in counts.table() if i == j}
        for code, label in enumerate(counts.classes):
            yield ("counts", f"right of {label}"), right.get(code, 0.0)
            if counts.confusion:
                yield ("counts", f"rows of {label}"), counts.of_class(code)
    if counts.deferred:
        yield ("counts", "deferred"), float(sum(counts.deferred))


def _as_number(entry: Entry, part: str) -> float | None:
    found = getattr(entry, part)
    return _flag(found) if part == "satisfied" else found


def _flag(value: bool | None) -> float | None:
    return None if value is None else float(value)


def _apart(texts: list[str]) -> list[str]:
    """Texts that differ in what of them may stand in a name."""
    out: list[str] = []
    for text in texts:
        name, number = _plain(text), 1
        while (name if number == 1 else f"{name} {number}") in out:
            number += 1
        out.append(name if number == 1 else f"{name} {number}")
    return out


def _plain(text: str) -> str:
    """A part of a name: what may not stand there is left out, and no part is a folder."""
    for sign, words in _WORDS.items():
        text = text.replace(sign, f" {words} ")
    text = " ".join(_REFUSED.sub(" ", text).split())
    return text.strip(".") or "_"


def _named(parts: tuple[str, ...], taken: dict[str, float]) -> str:
    """The parts as one name that no other one has: shortened, or with a number, where need be."""
    first, *rest = (_plain(part) for part in parts)
    end = "".join(f"/{part}" for part in rest)
    number = 1
    while True:
        more = "" if number == 1 else f" {number}"
        whole = f"{first[: max(_LONGEST - len(end) - len(more), 1)]}{end}{more}"
        if len(whole) > _LONGEST:
            whole = f"{whole[: _LONGEST - len(more)]}{more}"
        if whole.casefold() not in {name.casefold() for name in taken}:
            return whole
        number += 1
