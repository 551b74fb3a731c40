"""Slopes against values, and what refreshed losses descend against the objectives they mean."""

import math
from functools import partial
from itertools import product

import numpy as np
import pytest

from oracles import penalty as oracle
from penalty.samples import goal_of, scored
from setpoint.penalty.losses import (
    CrossEntropyLoss,
    ExactPenalty,
    JointPenalty,
    LagrangianLoss,
    ProfiledLoss,
    RefreshBatch,
    SigmoidLoss,
    sigmoid,
    tie,
    untied,
)
from setpoint.penalty.problem import best_cut
from thinning import over

GOALS = {kind: oracle.ALL[kind] for kind in (*oracle.GOALS, "g-mean")}
FORMS, SCALES = ("inequality", "equality"), ("paper", "code")
BY_ROW = {
    "cross-entropy": CrossEntropyLoss,
    "balanced": partial(CrossEntropyLoss, balanced=True),
    "profiled": ProfiledLoss,
    "sigmoid": SigmoidLoss,
    "sigmoid, T = 5": partial(SigmoidLoss, temperature=5.0),
    "lagrangian": LagrangianLoss,
    "lagrangian, sigmoid": partial(LagrangianLoss, rates="sigmoid"),
    "ero": ExactPenalty,
}
JOINT = {  # which keep something for each row
    f"ero-adam, {how}": partial(
        JointPenalty, n_rows=80, reformulation=how[0], scale=how[1], regularised=how[2]
    )
    for how in product(FORMS, SCALES, (True, False))
}
LOSSES = BY_ROW | JOINT
goals, losses = over("kind", GOALS), over("name", LOSSES)


def refreshed(name, kind, seed=0, progress=0.4):
    z, positive = scored(seed)
    loss = LOSSES[name](goal_of(GOALS[kind], positive))
    loss.refresh(RefreshBatch(z, positive), progress)
    for _ in range(3):
        loss.advance(z, positive)
    return loss, z, positive


def by_differences(f, z, h=1e-6):
    steps = h * np.eye(len(z))
    return np.array([(f(z + step) - f(z - step)) / (2 * h) for step in steps])


# ---------------------------------------------------------------------- rows
@losses
@goals
def test_torch_gives_the_same(name, kind):
    torch = pytest.importorskip("torch")
    loss, z, positive = refreshed(name, kind)
    zt, pt = torch.tensor(z, requires_grad=True), torch.tensor(positive)
    value, slope = loss.value(zt, pt), loss.slope(zt, pt)
    np.testing.assert_allclose(value.detach(), loss.value(z, positive), atol=1e-12)
    np.testing.assert_allclose(slope.detach(), loss.slope(z, positive), atol=1e-12)
    (gradient,) = torch.autograd.grad(value.sum(), zt)
    np.testing.assert_allclose(gradient, loss.slope(z, positive), atol=1e-10)
    # Some rows are part of all.
    some = np.array([3, 50, 4])
    for part, whole in ((loss.value, value), (loss.slope, slope)):
        found = part(z[some], positive[some], some)
        np.testing.assert_array_equal(found, part(z, positive)[some])
        batch = torch.tensor(z[some]), torch.tensor(positive[some]), torch.tensor(some)
        np.testing.assert_allclose(part(*batch), whole.detach()[some], atol=1e-12)


@losses
@goals
def test_extreme_logits_lose_finitely(name, kind):
    loss, _, positive = refreshed(name, kind)
    for far in (1e3, 1e8):
        z = np.where(np.arange(80) % 2, far, -far)
        loss.refresh(RefreshBatch(z, positive), 0.9)
        assert np.isfinite(loss.value(z, positive)).all()
        assert np.isfinite(loss.slope(z, positive)).all()


# ---------------------------------------------------------------------- refreshes
@over("name", BY_ROW)
@goals
def test_rows_of_one_class_change_nothing(name, kind):
    loss, z, positive = refreshed(name, kind)
    before = loss.value(z, positive), dict(loss.state())
    for of_class in (positive, ~positive):
        loss.refresh(RefreshBatch(5.0 * z[of_class], positive[of_class]), 0.9)
    loss.refresh(RefreshBatch(z, positive, np.where(positive, 0.0, 1.0)), 0.9)
    np.testing.assert_array_equal(loss.value(z, positive), before[0])
    assert loss.state() == before[1]


@over("name", BY_ROW)
@goals
def test_weights_are_rows_and_some_rows_stand_for_all(name, kind):
    z, positive = scored(1)
    weight = np.random.default_rng(0).integers(1, 4, len(z))
    twice, thrice = np.repeat(np.arange(80), weight), np.repeat(np.arange(80), 3)
    for rows, seen in (
        (twice, RefreshBatch(z, positive, weight.astype(float))),
        (thrice, RefreshBatch(z, positive)),
    ):
        goal = goal_of(GOALS[kind], positive[rows])
        one, two = LOSSES[name](goal), LOSSES[name](goal)
        one.refresh(seen, 0.5)
        two.refresh(RefreshBatch(z[rows], positive[rows]), 0.5)
        np.testing.assert_allclose(one.value(z, positive), two.value(z, positive), atol=1e-9)


# ---------------------------------------------------------------------- what is descended
def soft(z, positive):
    """Accepted positives and negatives by sigmoids, and precision."""
    A, B = sigmoid(z)[positive].sum(), sigmoid(z)[~positive].sum()
    return A, B, A / (A + B)


def descends(loss, z, positive, objective, atol=1e-9):
    found = loss.slope(z, positive) / len(z)
    np.testing.assert_allclose(found, by_differences(objective, z), atol=atol)


def test_sigmoid_and_profiled_descend_minus_the_soft_f1():
    z, positive = scored()
    goal = goal_of("maximize f1", positive)
    loss, profiled = SigmoidLoss(goal, temperature=2.0), ProfiledLoss(goal)
    for one in (loss, profiled):
        one.refresh(RefreshBatch(z, positive), 0.3)

    def minus_f1(z):
        A, B, _ = soft(z, positive)
        return -2 * A / (A + B + positive.sum())

    descends(loss, z, positive, lambda z: minus_f1(2.0 * z))
    t, width = profiled.threshold, profiled.width
    assert t == best_cut(goal, z, positive).threshold
    descends(profiled, z, positive, lambda z: minus_f1((z - t) / width), atol=1e-8)


@pytest.mark.parametrize("penalty", [1.0, 3.0])
def test_sigmoid_descends_the_penalised_objective(penalty):
    z, positive = scored()
    z = z + 1.0
    loss = SigmoidLoss(goal_of(GOALS["FPOR"], positive), penalty=penalty)
    loss.refresh(RefreshBatch(z, positive), 0.0)

    def objective(z):
        A, _, precision = soft(z, positive)
        assert precision < 0.8
        return (-A / positive.sum() + penalty * (0.8 - precision)) / (1 + penalty)

    descends(loss, z, positive, objective)


@pytest.mark.parametrize("kind", ["FPOR", "FROP"])
def test_profiled_follows_the_objective_along_the_constraint(kind):
    # Where t keeps the soft constraint as it is, the objective changes as the loss says.
    z, positive = scored(2, 300)
    loss = ProfiledLoss(goal_of(GOALS[kind], positive))
    loss.refresh(RefreshBatch(z, positive), 0.0)
    t, width, h = loss.threshold, loss.width, 1e-6

    def both(z, t=t):
        A, _, precision = soft((z - t) / width, positive)
        return np.array([A / positive.sum(), precision][:: 1 if kind == "FPOR" else -1])

    by_t = (both(z, t + h) - both(z, t - h)) / (2 * h)
    mu = -by_t[0] / by_t[1]
    assert 0.0 < mu < 100.0
    descends(loss, z, positive, lambda z: -both(z) @ [1.0, mu] / (1 + mu), atol=1e-8)


def test_profiled_bands_narrow_and_hold_shares_of_the_positives():
    z, positive = scored()
    loss = ProfiledLoss(goal_of("maximize f1", positive))
    for progress, share in ((0.0, 1.0), (0.5, math.sqrt(0.1)), (1.0, 0.1)):
        loss.refresh(RefreshBatch(z, positive), progress)
        inside = (np.abs(z - loss.threshold) < loss.width).sum()
        assert inside == max(5, int(share * positive.sum()))


def test_lagrangian_multipliers_follow_true_rates():
    z, positive = scored()
    z = z + 1.0
    precision = positive[z >= 0].mean()
    assert precision < 0.8
    loss = LagrangianLoss(goal_of(GOALS["FPOR"], positive), step=0.5)
    for i in range(1, 4):
        loss.refresh(RefreshBatch(z, positive), 0.0)
        assert loss.multipliers == pytest.approx([0.5 * i * (0.8 - precision)])
    easy = np.where(positive, 3.0, -3.0)
    for _ in range(20):
        loss.refresh(RefreshBatch(easy, positive), 0.0)
    assert loss.multipliers == [0.0]


# ---------------------------------------------------------------------- s in closed form
@over("seed", range(5))
@over("kind", oracle.GOALS)
def test_exact_penalty_is_the_least_over_all_s_and_descends_it(kind, seed):
    z, positive = scored(seed, 9)
    goal = goal_of(GOALS[kind], positive)
    loss = ExactPenalty(goal)
    loss.refresh(RefreshBatch(z, positive), 0.5)
    each = loss.penalty / 9
    s = z >= np.where(positive, loss.lifted.positive, loss.lifted.negative)
    score = float(goal.score(s[positive].sum(), s[~positive].sum()))
    best = oracle.best_of_all(kind, z, positive, each, each)
    assert loss.value(z, positive).mean() - score == pytest.approx(best, abs=1e-12)
    # Danskin: the best s stays the best in a neighbourhood, and need not be differentiated.
    descends(
        loss, z, positive, lambda z: oracle.best_of_all(kind, z, positive, each, each), atol=1e-6
    )


def test_exact_penalty_keeps_the_last_s_where_none_is_feasible():
    z, positive = scored()
    loss = ExactPenalty(goal_of(GOALS["FPOR"], positive), least=200.0)
    before = loss.lifted
    loss.refresh(RefreshBatch(z, positive), 0.0)
    assert loss.lifted == before


# ---------------------------------------------------------------------- s by Adam
@over("form", FORMS)
@over("scale", SCALES)
def test_the_forms_penalise_what_the_paper_does(form, scale):
    z, positive = scored()
    goal = goal_of(GOALS["FPOR"], positive)
    loss = JointPenalty(goal, 0.0, 80, form, scale, regularised=False)
    loss.s = np.random.default_rng(0).random(80)
    h, eta = np.abs(tie(sigmoid(z), loss.s, 0.5)), untied(sigmoid(z), loss.s, 0.5, positive)
    penalised = eta if form == "inequality" else h
    by_class = np.where(positive, positive.sum(), (~positive).sum())
    each = 80.0 * penalised if scale == "paper" else penalised / by_class
    np.testing.assert_allclose(loss.value(z, positive), each, atol=1e-12)
    loss.s = (z > 0).astype(float)  # what the scores decide costs nothing
    assert (loss.value(z, positive) == 0.0).all()
    assert (loss.slope(z, positive) == 0.0).all()


@over("form", FORMS)
@over("scale", SCALES)
def test_s_descends_the_penalty_function(form, scale):
    # The first step of Adam is the sign of the gradient, here by differences.
    z, positive = scored()
    goal = goal_of(GOALS["FPOR"], positive)
    loss = JointPenalty(goal, 0.0, 80, form, scale)
    start = np.random.default_rng(0).uniform(0.2, 0.8, 80)
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

    gradient = by_differences(meant, start)
    steep = np.abs(gradient) > 1e-6
    assert steep.mean() > 0.5
    np.testing.assert_allclose(moved[steep], -0.1 * np.sign(gradient[steep]), atol=1e-4)


def test_multipliers_of_the_code_grow_while_violated():
    z, positive = scored()
    loss = JointPenalty(goal_of(GOALS["FPOR"], positive), 0.0, 80, scale="code")
    loss.refresh(RefreshBatch(z, positive), 0.0)
    assert (loss.multipliers == 1.0).all()
    violated = untied(sigmoid(z), loss.s, 0.5, positive) > 0
    for progress in (1 / 50, 1 / 50 + 0.001):  # of the same round
        loss.refresh(RefreshBatch(z, positive), progress)
        np.testing.assert_allclose(loss.multipliers, np.where(violated, 1.3, 1 / 1.3))


@over("form", FORMS)
@over("scale", SCALES)
def test_weight_two_is_the_row_twice(form, scale):
    z, positive = scored()
    weight = np.random.default_rng(0).integers(1, 4, 80)
    twice = np.repeat(np.arange(80), weight)
    goal = goal_of(GOALS["FPOR"], positive[twice])
    one, two = (JointPenalty(goal, 0.0, n, form, scale) for n in (80, len(twice)))
    for i in range(50):
        one.refresh(RefreshBatch(z, positive, weight.astype(float)), i / 50)
        two.refresh(RefreshBatch(z[twice], positive[twice]), i / 50)
        one.advance(z, positive)
        two.advance(z[twice], positive[twice])
    np.testing.assert_allclose(one.s[twice], two.s, atol=1e-9)
    assert 0 < one.s.sum() < 80
