"""The exact penalty with s by Adam: s stays a decision, both forms, both scales, a toy solved."""

import numpy as np
import pytest

from setpoint import Goal
from setpoint.penalty import Tradeoff
from setpoint.penalty.losses import JointPenalty, RefreshBatch, sigmoid, stages_of, tie, untied
from setpoint.penalty.selection import Pool, TrainingPlan, TrainingRows
from setpoint.penalty.solvers import train_linear
from setpoint.solvers import EroAdam

FORMS = pytest.mark.parametrize("reformulation", ["inequality", "equality"])
SCALES = pytest.mark.parametrize("scale", ["paper", "code"])


def rows(seed=0, n=60):
    rng = np.random.default_rng(seed)
    positive = rng.random(n) < 0.4
    return 2.0 * rng.normal(size=n) + positive, positive


def goal_of(positive, text="maximize recall subject to precision >= 0.8"):
    return Tradeoff(Goal.parse(text), (~positive).sum(), positive.sum())


@FORMS
@SCALES
@pytest.mark.parametrize("regularised", [True, False])
def test_s_stays_between_zero_and_one(reformulation, scale, regularised):
    z, positive = rows()
    loss = JointPenalty(goal_of(positive), 0.0, 60, reformulation, scale, regularised)
    rng = np.random.default_rng(1)
    for i in range(200):
        loss.refresh(RefreshBatch(z, positive), i / 200)
        some = rng.choice(60, 20, replace=False)
        loss.advance(z[some], positive[some], some)
        z = z + 0.1 * rng.normal(size=60)
        assert (loss.s >= 0).all()
        assert (loss.s <= 1).all()
        assert np.isfinite(loss.s).all()
    assert loss.steps.sum() == 200 * 20
    assert loss.round == 49


def test_the_forms_penalise_what_the_paper_does():
    z, positive = rows()
    goal = goal_of(positive)
    for reformulation in ("inequality", "equality"):
        loss = JointPenalty(goal, 0.0, 60, reformulation, regularised=False)
        loss.s = np.random.default_rng(0).random(60)
        a = sigmoid(z)
        h = np.abs(tie(a, loss.s, 0.5))
        eta = untied(a, loss.s, 0.5, positive)
        penalised = eta if reformulation == "inequality" else h
        np.testing.assert_allclose(loss.value(z, positive).mean(), penalised.sum(), atol=1e-12)


@FORMS
@SCALES
def test_s_that_the_scores_decide_costs_nothing(reformulation, scale):
    z, positive = rows()
    loss = JointPenalty(goal_of(positive), 0.0, 60, reformulation, scale, regularised=False)
    loss.s = (z > 0).astype(float)
    assert (loss.value(z, positive) == 0.0).all()
    assert (loss.slope(z, positive) == 0.0).all()


@FORMS
@SCALES
def test_s_descends_the_penalty_function(reformulation, scale):
    # The first step of Adam is the sign of the gradient, here by differences.
    z, positive = rows()
    goal, h, n = goal_of(positive), 1e-6, 60
    loss = JointPenalty(goal, 0.0, n, reformulation, scale)
    start = np.random.default_rng(0).uniform(0.2, 0.8, n)
    loss.s = start.copy()
    loss.refresh(RefreshBatch(z, positive), 0.0)
    loss.advance(z, positive)
    moved = loss.s - start

    def meant(s):
        loss.s = s
        A, B = s[positive].sum(), s[~positive].sum()
        objective = -float(goal.score(A, B)) / 100.0
        for i, (slack, _) in enumerate(goal.rows(A, B)):
            objective += max(-(goal.slacks(A, B)[i] if scale == "code" else slack), 0.0)
        return objective + loss.value(z, positive).mean()

    for i in range(n):
        up, down = start.copy(), start.copy()
        up[i], down[i] = start[i] + h, start[i] - h
        gradient = (meant(up) - meant(down)) / (2 * h)
        if abs(gradient) > 1e-6:
            assert moved[i] == pytest.approx(-0.1 * np.sign(gradient), abs=1e-4)


def test_multipliers_of_the_code_grow_while_violated():
    z, positive = rows()
    loss = JointPenalty(goal_of(positive), 0.0, 60, scale="code")
    loss.refresh(RefreshBatch(z, positive), 0.0)
    assert (loss.multipliers == 1.0).all()
    violated = untied(sigmoid(z), loss.s, 0.5, positive) > 0
    loss.refresh(RefreshBatch(z, positive), 1 / 50)
    np.testing.assert_allclose(loss.multipliers, np.where(violated, 1.3, 1 / 1.3))
    before = loss.multipliers.copy()
    loss.refresh(RefreshBatch(z, positive), 1 / 50 + 0.001)  # the same round
    np.testing.assert_array_equal(loss.multipliers, before)


@FORMS
@SCALES
def test_weight_two_is_the_row_twice(reformulation, scale):
    z, positive = rows()
    weight = np.random.default_rng(0).integers(1, 4, 60)
    twice = np.repeat(np.arange(60), weight)
    goal = goal_of(positive[twice])
    one = JointPenalty(goal, 0.0, 60, reformulation, scale)
    two = JointPenalty(goal, 0.0, len(twice), reformulation, scale)
    for i in range(50):
        one.refresh(RefreshBatch(z, positive, weight.astype(float)), i / 50)
        two.refresh(RefreshBatch(z[twice], positive[twice]), i / 50)
        one.advance(z, positive)
        two.advance(z[twice], positive[twice])
    np.testing.assert_allclose(one.s[twice], two.s, atol=1e-9)
    assert 0 < one.s.sum() < 60


@FORMS
@SCALES
@pytest.mark.parametrize(
    "text", ["maximize recall subject to precision >= 0.8", "maximize f1"]
)  # fmt: skip
def test_a_separable_problem_is_solved(reformulation, scale, text):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    positive = X[:, 0] + X[:, 1] > 1.0
    X[positive] += 0.3
    goal = goal_of(positive, text)
    rows = TrainingRows(X, positive)
    pool = Pool(goal, rows, 0.0)
    solver = EroAdam(reformulation=reformulation, penalty_scale=scale)
    stage = stages_of(solver)[-1]  # without its warm start
    train_linear(TrainingPlan(goal, (stage,), rows, 0.0, pool), polished=False)
    assert pool.champion.method == stage.name
    assert pool.champion.cut[3:] == (1.0, 0.0)
