"""The page computes what the library computes: on 500 random goals, to 1e-12."""

import numpy as np
import pytest

from explorer.drawn import case, moved
from explorer.in_node import in_node, needs_node
from setpoint import GoalError, explore, solve
from setpoint.goals import Const
from setpoint.inputs import CheckedData, GivenRows, classes_of, one_score
from setpoint.program import link

pytestmark = [needs_node, pytest.mark.filterwarnings("ignore")]
GOALS = 500
"""So many, for the interval of one of them has no end: that no other test here runs."""


def exactly(goal, given, thresholds):
    """The values of all sides at thresholds, from the rows themselves."""
    known = classes_of(given["y"], None, given["pos_label"])
    scores = one_score(given["scores"], known)
    rows = GivenRows(
        len(scores),
        given["y"],
        given.get("sample_weight"),
        given.get("sensitive_features"),
        given.get("baseline"),
    )
    inputs = CheckedData.check(goal, known, {None: rows}, None)
    program = link(goal, inputs.rows.codebook).at(inputs.rows.marginals)
    out = []
    for t in thresholds:
        decided = (scores >= t).astype(np.int64)
        v = program.rates_of(inputs.confusion({None: decided}).counts)
        with np.errstate(all="ignore"):
            sides = [float(np.asarray(c.function.value(v))) for c in program.constraints]
            out.append([float(np.asarray(program.value(v))), *sides])
    return np.array(out)


def numbers(texts):
    return [float(x.replace("Infinity", "inf")) for x in texts]


def close(found, expected):
    found, expected = np.array(found, float), np.array(expected, float)
    same = (found == expected) | (np.isnan(found) & np.isnan(expected))
    room = 1e-12 * np.maximum(1.0, np.abs(expected))
    with np.errstate(invalid="ignore"):
        return bool((same | (np.abs(found - expected) <= room)).all())


def test_values_at_cuts_and_the_best_cut_under_moved_bounds(monkeypatch):
    for name in ("limits_at", "sure_limits"):
        monkeypatch.setattr(f"setpoint.explorer.payload.{name}", lambda *_: None)
    cases, number = [], 0
    while len(cases) < GOALS:
        number += 1
        goal, given, draw = case(number)
        try:
            page = explore(goal, **given).payload
        except GoalError:  # a bound that no data could reach, or a group without rows
            continue
        constraints, m = page["programs"][0]["constraints"], page["curve"]["m"]
        cuts = [0, m, *(draw.whole(0, m) for _ in range(6))]
        levels = []
        for c, written in zip(constraints, goal.constraints, strict=True):
            low, high = (float(x) for x in c["reach"])
            level = float(f"{low + (high - low) * draw.whole(0, 100) / 100:.3g}")
            levels.append(level if isinstance(written.rhs, Const) else c["level"])
        own = [c["level"] for c in constraints]
        asked = [{"cuts": cuts, "levels": own}, {"cuts": [], "levels": levels}]
        cases.append((goal, given, page, asked))
    answers = in_node("agree.mjs", [{"payload": c[2], "asked": c[3]} for c in cases])
    for (goal, given, _, _), (found, _) in zip(cases, answers, strict=True):
        expected = exactly(goal, given, numbers(found["thresholds"]))
        for way in ("along", "at"):
            values = [numbers(row) for row in found[way]]
            assert close(values, expected), (str(goal), way, values, expected)
    known = 0
    for i, ((goal, given, _, asked), found) in enumerate(zip(cases, answers, strict=True)):
        moves = i % 5 > 0  # as asked in every fifth, else moved
        options = given | {"decide_on": None, "on_infeasible": "nearest"}
        scores = options.pop("scores")
        try:
            best = solve(moved(goal, asked[moves]["levels"]), scores, **options).report
        except GoalError:
            continue
        known += 1
        chosen, feasible = found[moves]["chosen"], best.status != "nearest"
        assert chosen["feasible"] == feasible, str(goal)
        if feasible:
            assert close(numbers([chosen["value"]]), best.objective.value), str(goal)
        else:
            worst = max(-min(c.slack, 0.0) for c in best.constraints)
            assert float(found[moves]["violation"]) <= worst + 1e-12, str(goal)
    assert known > 0.8 * GOALS
