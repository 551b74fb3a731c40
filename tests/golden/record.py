"""What one case gives today, as plain data: rule, report, decisions, warnings, errors."""

from __future__ import annotations

import hashlib
import json
import warnings

import numpy as np

from golden.problems import case
from setpoint import evaluate, solve

LONGEST = 300
"""Longer lists of a report are stored by their length, ends and digest."""

EVALUATED = 3
"""One case of so many is evaluated too."""


def record(number):
    """The record of a case; an error is a result like any other."""
    given = case(number)
    out = {"case": number, "sub": given.sub, "kind": given.kind, "goal": given.goal}
    out["input"] = given.digest()
    decided, out["solve"] = _caught(lambda: _solved(given))
    if number % EVALUATED == 0:
        decided = decided or {name: _made_up(given, part) for name, part in _parts(given)}
        _, out["evaluate"] = _caught(lambda: (None, _evaluated(given, decided)))
    return json.loads(json.dumps(out, allow_nan=False))


def _caught(call):
    """What the call returns, with its warnings; or its error."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            decided, out = call()
        except Exception as error:  # noqa: BLE001 - whatever it is today is what is stored
            decided, out = None, {"error": [type(error).__name__, str(error)]}
    if caught:
        out["warned"] = [[w.category.__name__, str(w.message)] for w in caught]
    return decided, out


def _parts(given):
    return [(None, given.rows), *given.datasets.items()]


def _solved(given):
    solution = solve(given.goal, given.rows.scores, given.rows.y, **given.arguments())
    out = {"rule": solution.rule.to_dict(), "report": _kept(solution.report)}
    decided = {}
    try:
        for name, part in _parts(given):
            codes, sure, probabilities = decisions(solution.rule, part)
            decided[name] = codes
            if name is None:
                out["decisions"] = "".join(map(str, codes))
                if not sure.all():
                    out["drawn"] = np.flatnonzero(~sure).tolist()
                    out["probabilities"] = probabilities[~sure].tolist()
    except ValueError as error:  # such as a segment that only rows without weight are of
        out["undecided"] = str(error)
        return None, out
    return decided, out


def decisions(rule, part):
    """Class codes by draws that are written down here, and what each row's draw is about."""
    n = len(part.scores)
    segments = rule.segment_codes(part.sensitive_features) if rule.needs_segments else None
    u = np.arange(n) * 619 % 1009 / 1009
    probabilities = rule.distribution(part.scores, segments)
    return rule.decide(part.scores, segments, u), probabilities.max(axis=1) == 1.0, probabilities


def _made_up(given, part):
    """Decisions for where there is no rule."""
    rng = np.random.default_rng((given.number, given.sub, 1))
    return rng.integers(0, len(given.labels), len(part.scores))


def _evaluated(given, decided):
    # codes count through the sorted labels, but the positive class is always code 1
    labels = list(given.labels)
    if len(labels) == 2 and given.options.get("pos_label") == labels[0]:
        labels.reverse()
    predicted = {name: [labels[c] for c in codes] for name, codes in decided.items()}
    rows = given.rows
    options = {k: v for k, v in given.options.items() if k in ("pos_label", "classes")}
    datasets = {name: part.of(predicted[name]) for name, part in given.datasets.items()}
    beside = {**rows.beside(), "datasets": datasets or None, **options}
    report = evaluate(given.goal, rows.y, predicted[None], **beside)
    return {"report": _kept(report)}


def _kept(report):
    """The report without times and versions, long lists shortened."""
    data = json.loads(report.to_json())
    del data["run"]
    return _short(data)


def _short(value):
    if isinstance(value, dict):
        return {k: _short(v) for k, v in value.items()}
    if not isinstance(value, list):
        return value
    if len(value) <= LONGEST or not _numbers(value):
        return [_short(v) for v in value]
    return {
        "length": len(value),
        "first": value[0],
        "last": value[-1],
        "digest": hashlib.sha256(repr(value).encode()).hexdigest()[:16],
    }


def _numbers(value):
    """Whether there are only numbers in it, infinity as text among them, to any depth."""
    if isinstance(value, list):
        return all(_numbers(v) for v in value)
    return isinstance(value, (int, float)) or value in ("inf", "-inf", "nan")
