"""Limits along the curve: what lies between places, and what holds at all of them at once."""

import base64
import zlib

import numpy as np
import pytest

from explorer.drawn import case
from explorer.in_node import called, needs_node
from explorer.test_board import made
from setpoint import GoalError, explore
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
from setpoint.goals import Goal


def unpacked(text):
    """The array that `packed` wrote."""
    return np.frombuffer(zlib.decompress(base64.b64decode(text["z"])), computing._KINDS[text["t"]])


def bound(goal, scores, y):
    rows = ScoredRows(Evidence.from_arrays((0, 1), scores, y))
    known = BoundGoal(Goal.parse(goal), rows)
    return known, ShownBins(rows.curve, np.arange(len(rows.curve.values) + 1))


@needs_node
def test_between_places_limits_are_off_by_a_small_part_of_their_width(monkeypatch):
    """Of 900 rows 32 places: the worst of what lies between, over the width of the interval."""
    monkeypatch.setattr(computing, "_PLACES", 32)
    off = []
    for seed, goal in enumerate(
        ("maximize recall subject to precision >= 0.5", "maximize f1 subject to accuracy >= 0.5")
    ):
        scores, y, _, _ = made(900, seed)
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


def test_limits_hold_the_values_on_random_goals():
    seen, number = 0, 0
    while seen < 6:
        number += 1
        goal, given, _ = case(number)
        try:
            program = explore(goal, **given).payload["programs"][0]
        except GoalError:
            continue
        seen += 1
        for side in (program["limits"]["objective"], *program["limits"]["constraints"]):
            low, high = unpacked(side["low"]), unpacked(side["high"])
            assert len(low) == len(high) == len(unpacked(program["places"]))
            assert (low <= high).all()


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
