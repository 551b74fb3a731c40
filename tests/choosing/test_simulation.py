"""Ways of choosing, by how good what they choose is on the population."""

import numpy as np
import pytest

from setpoint import Goal, evaluate, goal_scorer
from setpoint.inputs.classes import classes_of
from setpoint.inputs.inputs import CheckedData, GivenRows
from setpoint.plugin.judging import Judge, JudgedRows

FLOOR, FOLDS = 0.7, 5
GOAL = f"maximize recall subject to precision >= {FLOOR}"
GAPS = (1.0, 1.2, 1.4, 1.6, 1.8)
"""How far the scores of the classes lie apart, by model."""


def draw(rng, n):
    """Labels, and the scores of models that err alike on a row."""
    y = (rng.random(n) < 0.25).astype(int)
    common = rng.normal(size=n)
    return y, [gap * y + 0.8 * common + 0.6 * rng.normal(size=n) for gap in GAPS]


def worth(scores, y):
    """The largest recall at which precision is the floor."""
    order = np.argsort(-scores)
    right = np.cumsum(y[order])
    return right[right >= FLOOR * np.arange(1, len(y) + 1)].max() / y.sum()


class Decided:
    """Gives decisions that were made before."""

    classes_ = np.array([0, 1])

    def predict(self, X):
        return X[:, 0]


def with_cliff(report):
    if report.satisfied:
        return report.objective.value
    return -2.0 - max(-c.slack for c in report.constraints)


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::setpoint.FewRowsWarning")
def test_without_a_cliff_better_models_are_chosen():
    worths = np.array(
        [worth(s, y) for y, all_ in [draw(np.random.default_rng(9), 200_000)] for s in all_]
    )
    goal, n = Goal.parse(GOAL), 1000
    lost = {"old": [], "new": [], "feasible first": [], "pooled": []}
    for seed in range(60):
        y, models = draw(np.random.default_rng(seed), n)
        fold = np.arange(n) % FOLDS
        inputs = CheckedData.check(goal, classes_of(y), {None: GivenRows(n, y)}, None)
        judge = Judge(inputs, JudgedRows(np.arange(n), fold))
        judged = [judge.of_scores(str(k), scores) for k, scores in enumerate(models)]
        scores = {"feasible first": [with_cliff(one.report) for one in judged]}
        for way in ("old", "new"):
            scores[way] = []
            for one in judged:
                parts = [(y[fold == k], one.decided[None][fold == k]) for k in range(FOLDS)]
                of = _old if way == "old" else _new
                scores[way].append(np.mean([of(*part) for part in parts]))
        chosen = {way: int(np.argmax(values)) for way, values in scores.items()}
        chosen["pooled"] = judge.standing(judged).best
        for way, k in chosen.items():
            lost[way].append(worths.max() - worths[k])
    mean = {way: np.mean(values) for way, values in lost.items()}
    # Measured, in recall: 0.002, 0.006, 0.106 and 0.131.
    assert mean["pooled"] < 0.03
    assert mean["new"] < 0.03
    assert mean["old"] > 0.06
    assert mean["feasible first"] > 0.06


def _old(true, decided):
    return with_cliff(evaluate(GOAL, true, decided, classes=[0, 1]))


def _new(true, decided):
    return goal_scorer(GOAL)(Decided(), decided[:, None], true)
