"""The page computes what the library computes: on 500 random goals, to 1e-12."""

import warnings

import numpy as np
import pytest

from explorer.drawn import case, moved
from explorer.in_node import in_node, needs_node
from setpoint import GoalError, explore, solve
from setpoint.explorer import payload as assembling
from setpoint.goals import Const
from setpoint.inputs import CheckedData, GivenRows, classes_of, one_score
from setpoint.program import link

pytestmark = needs_node
GOALS = 500


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


def close(found, expected):
    found, expected = np.array(found, float), np.array(expected, float)
    same = (found == expected) | (np.isnan(found) & np.isnan(expected))
    room = 1e-12 * np.maximum(1.0, np.abs(expected))
    with np.errstate(invalid="ignore"):
        return bool((same | (np.abs(found - expected) <= room)).all())


@pytest.fixture(scope="module")
def compared():
    """Cases with what the page computes of them."""
    patch = pytest.MonkeyPatch()
    patch.setattr(assembling, "limits_at", lambda *_: None)
    patch.setattr(assembling, "sure_limits", lambda *_: None)
    cases, number = [], 0
    while len(cases) < GOALS:
        number += 1
        goal, given, draw = case(number)
        try:
            page = explore(goal, **given)
        except GoalError:  # a bound that no data could reach, or a group without rows
            continue
        program = page.payload["programs"][0]
        m = page.payload["curve"]["m"]
        cuts = [0, m, *(draw.whole(0, m) for _ in range(6))]
        asked = [{"cuts": cuts, "levels": [c["level"] for c in program["constraints"]]}]
        levels = []
        for c, written in zip(program["constraints"], goal.constraints, strict=True):
            low, high = (float(x) for x in c["reach"])
            level = float(f"{low + (high - low) * draw.whole(0, 100) / 100:.3g}")
            levels.append(level if isinstance(written.rhs, Const) else c["level"])
        asked.append({"cuts": [], "levels": levels})
        cases.append((goal, given, page.payload, asked))
    patch.undo()
    return cases, in_node("agree.mjs", [{"payload": c[2], "asked": c[3]} for c in cases])


def test_values_at_cuts(compared):
    for (goal, given, _, _), found in zip(*compared, strict=True):
        thresholds = [float(t.replace("Infinity", "inf")) for t in found[0]["thresholds"]]
        expected = exactly(goal, given, thresholds)
        for way in ("along", "at"):
            values = [[float(x.replace("Infinity", "inf")) for x in row] for row in found[0][way]]
            assert close(values, expected), (str(goal), way, values, expected)


def test_the_best_cut_under_moved_bounds(compared):
    known = 0
    for i, ((goal, given, _, asked), found) in enumerate(zip(*compared, strict=True)):
        # as asked in every fifth, else moved
        one, chosen = asked[i % 5 > 0], found[i % 5 > 0]
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                best = solve(
                    moved(goal, one["levels"]),
                    given["scores"],
                    decide_on=None,
                    on_infeasible="nearest",
                    **{k: v for k, v in given.items() if k != "scores"},
                )
        except GoalError:
            continue
        known += 1
        feasible = best.report.status != "nearest"
        assert chosen["chosen"]["feasible"] == feasible, str(goal)
        value = float(chosen["chosen"]["value"].replace("Infinity", "inf"))
        if feasible:
            assert close(value, best.report.objective.value), str(goal)
        else:
            worst = max(-min(c.slack, 0.0) for c in best.report.constraints)
            assert float(chosen["violation"]) <= worst + 1e-12, str(goal)
    assert known > 0.8 * GOALS
