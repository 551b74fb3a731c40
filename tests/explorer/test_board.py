"""What the page computes, call by call; limits hold at all places at once."""

import base64
import itertools
import json
import zlib

import numpy as np
import pytest

from explorer.in_node import called, needs_node
from setpoint import Goal, explore, solve
from setpoint.counts import Evidence
from setpoint.explorer import ScoredRows
from setpoint.explorer import limits as computing
from setpoint.explorer.limits import (
    LEVELS,
    BoundGoal,
    ShownBins,
    ends_at,
    limits_at,
    sure_limits,
    sure_places,
)
from setpoint.rules import Threshold

pytestmark = [
    needs_node,
    pytest.mark.filterwarnings("ignore::setpoint.FewRowsWarning"),
]

GOAL = 'maximize recall subject to precision >= 0.6 and predicted_rate.difference("sex") <= 0.1'


def made(n, seed=0):
    rng = np.random.default_rng(seed)
    sex = rng.integers(0, 2, n)
    x = 1.6 * rng.normal(size=n) + 0.3 * sex - 1.5
    y = (rng.random(n) < 1.0 / (1.0 + np.exp(-x))).astype(int)
    scores = np.round(1.0 / (1.0 + np.exp(-x - 0.5 * rng.normal(size=n))), 9)
    return scores, y, np.array(["F", "M"])[sex], np.array(["n", "s", "w"])[rng.integers(0, 3, n)]


ODD = (
    '[["length",[0.6,0.1],null,null],null,[],[]]',
    '[["__proto__",[0.6,0.1],null,null],null,[],[]]',
    "[[-1,[0.6,0.1],null,null],null,[],[]]",
    "[[0,[0.6,1e308],null,null],null,[],[]]",
    "[[0,[0.6,null],null,null],null,[],[]]",
    "[[0,[0.6,0.1],[1],null],null,[],[]]",
    "[[0,[0.6,0.1],null,0.5],null,[],[]]",
    '[[0,[0.6,0.1],null,null],null,[],["[-1]"]]',
    "[[0,[0.6,0.1],null,null],null,[[0,[0.6,0.1],3,null]],[]]",
    '{"length": 4}',
    "%",
)


@pytest.fixture(scope="module")
def page():
    scores, y, sex, region = made(600)
    return explore(
        GOAL, scores, y, sensitive_features={"sex": sex, "region": region}, by="region", check=0.3,
        rule=Threshold(0.5), baseline=(scores > 0.4).astype(int),
        other_goal="maximize f1 subject to churn <= 0.2",
    )  # fmt: skip


def test_the_start_is_chosen_and_groups_markers_and_confusion_add_up(page):
    assert json.loads(json.dumps(page.payload, allow_nan=False)) == page.payload
    program = page.payload["programs"][0]
    n, cut = page.payload["rows"]["n"], program["start"]["cut"]
    levels = [c["level"] for c in program["constraints"]]
    chosen, state, groups, check, (rule, deployed) = called(
        page.payload, ["choose", levels], ["at", cut], ["groupsAt", cut], ["checkAt", cut],
        ["markers"],
    )  # fmt: skip
    assert (chosen["cut"], chosen["gap"], chosen["feasible"]) == (cut, 0, True)
    assert [g["column"] for g in groups] == ["sex", "region"]
    for column in groups:
        for name, total in (("people", n), ("found", state["confusion"]["tp"]),
                            ("accepted", state["confusion"]["accepted"])):  # fmt: skip
            assert sum(v[name] for v in column["values"]) == total
    assert state["per"]["total"] == 1000
    assert state["objective"]["low"] <= state["objective"]["value"] <= state["objective"]["high"]
    assert check["confusion"]["total"] == page.payload["check"]["n"] == 600 - n
    assert check["objective"]["low"] < check["objective"]["value"] < check["objective"]["high"]
    assert deployed["cut"] is None
    accepted = sum(v["accepted"] for v in deployed["groups"][0]["values"])
    assert accepted == sum(deployed["state"]["S"])
    assert rule["state"]["confusion"]["accepted"] == sum(rule["state"]["S"])


def test_the_check_counts_the_rows_held_out():
    scores, y, *_ = made(450)
    held = {"scores": scores[300:], "y": y[300:]}
    goal = "maximize recall subject to precision >= 0.6"
    page = explore(goal, scores[:300], y[:300], check=held).payload
    thresholds, *checks = called(page, ["thresholds"], *(["checkAt", j] for j in (5, 90, 250)))
    for j, found in zip((5, 90, 250), checks, strict=True):
        yes = held["scores"] >= float(thresholds[j])
        assert found["confusion"]["tp"] == (yes & (held["y"] == 1)).sum()
        assert found["confusion"]["fp"] == (yes & (held["y"] == 0)).sum()


def test_bounds_follow_the_dot_and_sure_ones_are_stricter(page):
    cuts, levels = range(20, 400, 60), [0.6, 0.1]
    followed = called(page.payload, *(["follow", j] for j in cuts))
    surer = (["allowed", levels, s] for s in (0.8, 0.9, 0.95, 0.99))
    *found, chosen, most = called(
        page.payload, *(["allowed", given] for given in (*followed, levels)), *surer,
        ["choose", [0.99, 0.1], 0.95], ["most", 0, levels, 0.95],
    )  # fmt: skip
    assert all(a[j] for a, j in zip(found, cuts, strict=False))
    for loose, strict in itertools.pairwise(found[len(cuts) :]):
        assert all(a >= b for a, b in zip(loose, strict, strict=True))
    assert not chosen["feasible"]
    assert most["value"] < 0.99


def test_a_link_restores_the_page_and_no_other(page):
    side = {"program": 0, "levels": [0.7, 0.1], "where": 30, "sure": 0.95}
    point = {**side, "levels": [0.6, 0.1], "where": 12, "looked": True}
    state = {**side, "second": {**side, "where": None}, "kept": [point], "looks": ["30"]}
    spoilt = (
        {"where": 10**6}, {"levels": [1]}, {"kept": [point] * 6},
        {"kept": [{**point, "where": None}]}, {"second": {**side, "program": 9}},
    )  # fmt: skip
    own, back, *none = called(
        page.payload, ["fragment", {"levels": [0.6, 0.1]}], ["thread", state],
        *(["thread", state | more] for more in spoilt), ["decode", "#x.[]"], ["decode", ""],
    )  # fmt: skip
    assert back == state
    assert none == [None] * 7
    mark = own.split(".")[0]
    fine = "[[0,[0.6,0.1],null,null],null,[],[]]"
    good, *none = called(page.payload, *(["decode", f"{mark}.{x}"] for x in (fine, *ODD)))
    assert good["levels"] == [0.6, 0.1]
    assert none == [None] * len(ODD)
    # Other rows have another mark, though as many, with the same scores and the same goal.
    scores, y, _, _ = made(60)
    goal = "maximize recall subject to precision >= 0.6"
    twins = [explore(goal, x, y).payload for x in (scores, scores[::-1].copy())]
    assert len({called(twin, ["fragment", {"levels": [0.6]}])[0] for twin in twins}) == 2


def test_an_infeasible_goal_has_the_nearest_cut_and_what_can_be_reached():
    scores, y, _, _ = made(300)
    goal = "maximize recall subject to precision >= 0.9 and predicted_rate >= 0.7"
    page = explore(goal, scores, y)
    start = page.payload["programs"][0]["start"]
    assert not start["feasible"]
    found, first, second = called(
        page.payload, ["choose", [0.9, 0.7]], ["most", 0, [0.9, 0.7]], ["most", 1, [0.9, 0.7]]
    )
    assert found["cut"] == start["cut"]
    near = solve(goal, scores, y, on_infeasible="nearest")
    worst = max(-c.slack for c in near.report.constraints)
    assert found["violation"] == pytest.approx(worst, abs=1e-12)
    one, other = called(page.payload, *(["at", most["cut"]] for most in (first, second)))
    assert one["constraints"][1]["value"] >= 0.7 - 1e-9
    assert other["constraints"][0]["value"] >= 0.9 - 1e-9


def test_the_gap_of_open_bins_covers_what_lies_inside(monkeypatch):
    scores, y, _, _ = made(600, seed=3)
    goal = "maximize f1 subject to precision >= 0.7"
    monkeypatch.setattr("setpoint.explorer.payload.MOST_BINS", 20)
    thin = explore(goal, scores, y)
    rows = thin.payload["rows"]
    assert rows["bins"] < 150 < rows["distinct"]
    assert rows["open"] > 10
    bounds = (0.55, 0.6, 0.7)
    answers = called(thin.payload, *(["choose", [level]] for level in bounds))
    for level, found in zip(bounds, answers, strict=True):
        best = solve(goal.replace("0.7", str(level)), scores, y).report.objective.value
        assert found["value"] <= best + 1e-12
        assert found["value"] + found["gap"] >= best - 1e-12
    # What was asked is on the page exactly.
    assert found["value"] == pytest.approx(best, abs=1e-12)


# -- limits along the curve ---------------------------------------------------------------
def unpacked(text):
    """The array that `packed` wrote."""
    return np.frombuffer(zlib.decompress(base64.b64decode(text["z"])), computing._KINDS[text["t"]])


def bound(goal, scores, y):
    rows = ScoredRows(Evidence.from_arrays((0, 1), scores, y))
    known = BoundGoal(Goal.parse(goal), rows)
    return known, ShownBins(rows.curve, np.arange(len(rows.curve.values) + 1))


def test_a_score_that_is_a_threshold_is_in_the_bin_that_accepts_it():
    scores, sex = [0.9, 0.82, 0.5, 0.4], ["F", "M", "F", "M"]
    curve = explore("f1", scores, [1, 0, 1, 0], sensitive_features={"sex": sex}, by="sex").payload[
        "curve"
    ]
    thresholds = unpacked(curve["thresholds"])
    assert thresholds[1] == scores[0]  # the shortest number between two scores is the upper one
    by_group = unpacked(curve["columns"][0]).reshape(2, 3, -1)
    assert by_group.sum(axis=0)[:2].tolist() == unpacked(curve["counts"]).reshape(2, -1).tolist()


def test_between_places_limits_are_off_by_a_small_part_of_their_width(monkeypatch):
    """Of 900 rows 32 places: the worst of what lies between, over the width of the interval."""
    monkeypatch.setattr(computing, "_PLACES", 32)
    off = []
    scores, y, _, _ = made(900, 0)
    goal = "maximize f1 subject to precision >= 0.5 and recall >= 0.2"
    page = explore(goal, scores, y)
    known, bins = bound(goal, scores, y)
    cuts = np.arange(40, 880, 23)
    states = called(page.payload, *(["at", int(j)] for j in cuts))
    for j, state in zip(cuts, states, strict=True):
        exact = ends_at(known, bins, np.array([j]), [0.05])[0, :, 0]
        for i, side in enumerate((state["objective"], *state["constraints"])):
            assert side["low"] <= side["value"] <= side["high"]
            ends = np.abs(exact[i] - [side["low"], side["high"]])
            off += [*(ends / (exact[i][1] - exact[i][0]))]
    assert np.median(off) < 0.01
    assert max(off) < 0.1


def test_limits_for_all_places_are_wider_the_surer_one_is():
    scores, y, _, _ = made(500)
    known, bins = bound("maximize recall subject to precision >= 0.5 and fp <= 0.2", scores, y)
    at = np.unique(sure_places(scores))
    found = sure_limits(known, bins, at)
    assert found["levels"] == list(LEVELS)
    alone = limits_at(known, bins, at)["constraints"]
    precision, fp = ([unpacked(level[i]) for level in found["limits"]] for i in (0, 1))
    for few, more in zip([unpacked(alone[0]["low"]), *precision], precision, strict=False):
        assert (few >= more).all()
    for few, more in zip([unpacked(alone[1]["high"]), *fp], fp, strict=False):
        assert (few <= more).all()


def test_places_do_not_depend_on_labels():
    scores, y, _, _ = made(700)
    goal = "maximize recall subject to precision >= 0.5"
    one, two = (
        explore(goal, scores, labels).payload["programs"][0]["sure"]["places"]
        for labels in (y, np.roll(y, 100))
    )
    assert one == two
    assert 40 < len(unpacked(one)) <= 70


@pytest.mark.long
@pytest.mark.parametrize("level", [0.8, 0.95])
def test_whoever_picks_what_looks_best_is_wrong_no_more_often_than_said(level, monkeypatch):
    """An adversary sees all labels and picks the place and the bound that look best.

    In 1,000 draws the true rate is worse than the bound that was claimed, at the place picked, in
    no more than 1 - level of them. Places and bounds are picked to hurt: the claim that exceeds the
    truth most.
    """
    monkeypatch.setattr(computing, "LEVELS", (level,))
    draws, n = 1_000, 600
    # Made rows whose precision above any threshold is known: P(y = 1 | s) = s.
    whole = np.sort(np.random.default_rng(7).beta(1.0, 3.0, 2_000_000))[::-1]
    mean_above = np.cumsum(whole) / np.arange(1, len(whole) + 1)
    share = np.arange(1, len(whole) + 1) / len(whole)
    recall_above = np.cumsum(whole) / whole.sum()
    goal = "maximize f1 subject to precision >= 0.4 and recall >= 0.4 and predicted_rate <= 0.5"
    rng = np.random.default_rng(1)
    wrong = 0
    for _ in range(draws):
        scores = rng.beta(1.0, 3.0, n)
        known, bins = bound(goal, scores, (rng.random(n) < scores).astype(int))
        accepted = sure_places(scores)
        found = [unpacked(x) for x in sure_limits(known, bins, accepted)["limits"][0]]
        lowest = bins.thresholds[accepted]
        at = np.clip(np.searchsorted(-whole, -lowest, side="right") - 1, 0, len(whole) - 1)
        claims = [found[0] - mean_above[at], found[1] - recall_above[at], share[at] - found[2]]
        wrong += max(float(c.max()) for c in claims) > 0.0
    assert wrong <= (1.0 - level) * draws + 2.0 * np.sqrt(draws * level * (1.0 - level))
