"""The page computes what the library computes: on random goals, to 1e-12."""

import numpy as np
import pytest

from explorer.drawn import NUMBERS, case, moved
from explorer.in_node import in_node, needs_node
from setpoint import GoalError, explore, solve
from setpoint.goals import Const
from setpoint.inputs import CheckedData, GivenRows, classes_of, one_score
from setpoint.program import link
from setpoint.report import shown, shown_bound
from thinning import over

pytestmark = [needs_node, pytest.mark.filterwarnings("ignore")]


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


@over("some", [NUMBERS[i::5] for i in range(5)], every=5)
def test_values_at_cuts_and_the_best_cut_under_moved_bounds(some, monkeypatch):
    for name in ("limits_at", "sure_limits"):
        monkeypatch.setattr(f"setpoint.explorer.payload.{name}", lambda *_: None)
    cases = []
    for number in some:
        goal, given, rng = case(number)
        try:
            page = explore(goal, **given).payload
        except GoalError:  # a bound that no data could reach, or a group without rows
            continue
        constraints, m = page["programs"][0]["constraints"], page["curve"]["m"]
        cuts = [0, m, *rng.integers(0, m + 1, 6).tolist()]
        levels = []
        for c, written in zip(constraints, goal.constraints, strict=True):
            low, high = (float(x) for x in c["reach"])
            level = float(f"{low + (high - low) * rng.integers(0, 101) / 100:.3g}")
            levels.append(level if isinstance(written.rhs, Const) else c["level"])
        own = [c["level"] for c in constraints]
        asked = [{"cuts": cuts, "levels": own}, {"cuts": [], "levels": levels}]
        cases.append((goal, given, page, asked))
    answers = in_node("agree.mjs", [{"payload": c[2], "asked": c[3]} for c in cases])
    known = 0
    for i, ((goal, given, _, asked), found) in enumerate(zip(cases, answers, strict=True)):
        expected = exactly(goal, given, numbers(found[0]["thresholds"]))
        for way in ("along", "at"):
            values = [numbers(row) for row in found[0][way]]
            assert close(values, expected), (str(goal), way, values, expected)
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
    assert known > 0.8 * len(cases) > 0.64 * len(some)


# -- the views write numbers as the report does, and draw no more of a curve than is seen --------
NUMBERS = [0.0, 1.0, 0.4992, 0.00004, 0.99996, 0.9995, 0.0005, 3e-7, 0.12345, 2.5, -0.0231, -1.5]
LARGER = [12.3456, 99.994, 100.4, 999.7, 1234.56, 22695.3, 999999.4, 1234567.8]
BOUNDS = [0.5, 0.537, 0.1, 0.999, 1e-4, 0.6 + 1e-9, 1 / 3, 2500.0]
PLACES = [0.0, 0.3333, 0.5, 0.9999, 1.0]
LOOSE = [
    ({"relation": ">=", "step": 0.001, "range": [0, 1]}, 0.72849),
    ({"relation": "<=", "step": 0.001, "range": [0, 1]}, 0.0301),
    ({"relation": ">=", "step": 0.001, "range": [0, 1]}, 0.6),
    ({"relation": "<=", "step": 5.0, "range": [0, 500]}, 101.0),
]


@pytest.fixture(scope="module")
def made():
    """What the views make of numbers, and of a curve with many ties and one high peak."""
    rng = np.random.default_rng(0)
    x = np.concatenate([[0.0], np.sort(np.round(rng.random(9999), 3)), [1.0]])
    y = [None, *(np.sin(3 * x) + 0.01 * rng.normal(size=len(x)))[1:]]
    y[5000] = 9.0
    given = {
        "numbers": NUMBERS + LARGER, "bounds": BOUNDS, "curve": [x.tolist(), y],
        "wanted": PLACES, "allowed": [int(0.2 < v < 0.4 or v == 0.7) for v in x],
        "loose": LOOSE, "axes": [[0, 1], [0.12, 1.1], [-3, 250_000]],
    }  # fmt: skip
    return in_node("figures.mjs", given) | {"x": x}


@over("unit", ["share", "amount", "number"])
def test_numbers_are_written_as_in_the_report(made, unit):
    assert made[unit] == [shown(x, unit) for x in NUMBERS + LARGER]


def test_bounds_are_written_as_in_the_report_and_survive_the_control(made):
    expected = [[shown_bound(x, unit) for unit in ("share", "amount")] for x in BOUNDS]
    assert made["bounds"] == expected
    np.testing.assert_allclose(made["control"], BOUNDS, rtol=1e-11)
    assert made["control"][:4] == BOUNDS[:4]
    # A bound that is offered can be met.
    assert made["loosened"] == [0.728, 0.031, 0.6, 105]


def test_curves_keep_their_peaks_and_shades_are_as_few_as_there_are(made):
    x, drawn = made["x"], made["thinned"]
    assert len(drawn) <= 602
    assert drawn == sorted(set(drawn))
    assert {5000} <= set(drawn) <= set(range(1, len(x)))
    inside = x[(x > 0.2) & (x < 0.4)]
    assert made["stretches"] == [[inside.min(), inside.max()], [0.7, 0.7]]
    # The pointer finds the first of the nearest cuts.
    assert made["nearest"] == [np.argmin(np.abs(x - place)) for place in PLACES]
    assert made["ticks"] == [
        [0, 0.2, 0.4, 0.6, 0.8, 1], [0.2, 0.4, 0.6, 0.8, 1], [0, 100_000, 200_000],
    ]  # fmt: skip
