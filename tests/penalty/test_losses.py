"""Slopes against values, and what refreshed losses descend against the objectives they mean."""

import math

import numpy as np
import pytest

from penalty import oracle
from setpoint import Goal
from setpoint.penalty import Tradeoff
from setpoint.penalty.losses import (
    CrossEntropyLoss,
    ExactPenalty,
    JointPenalty,
    LagrangianLoss,
    ProfiledLoss,
    RefreshBatch,
    SigmoidLoss,
    sigmoid,
)
from setpoint.penalty.problem import best_cut
from thinning import over

GOALS = {**oracle.GOALS, "g-mean": "maximize g_mean subject to specificity >= 0.7"}
LOSSES = {
    "cross-entropy": CrossEntropyLoss,
    "balanced": lambda goal: CrossEntropyLoss(goal, balanced=True),
    "profiled": ProfiledLoss,
    "sigmoid": SigmoidLoss,
    "sigmoid, T = 5": lambda goal: SigmoidLoss(goal, temperature=5.0),
    "lagrangian": LagrangianLoss,
    "lagrangian, sigmoid": lambda goal: LagrangianLoss(goal, rates="sigmoid"),
    "ero": ExactPenalty,
    **{
        f"ero-adam, {r}, {s}, {g}": lambda goal, r=r, s=s, g=g: JointPenalty(goal, 0.0, 80, r, s, g)
        for r in ("inequality", "equality")
        for s in ("paper", "code")
        for g in (True, False)
    },
}
losses = over("name", LOSSES)
goals = pytest.mark.parametrize("kind", GOALS)


def rows(seed=0, n=80):
    rng = np.random.default_rng(seed)
    positive = rng.random(n) < 0.35
    return 2.0 * rng.normal(size=n) + positive - 0.3, positive


def goal_of(kind, positive, weight=None):
    w = np.ones(len(positive)) if weight is None else weight
    return Tradeoff(Goal.parse(GOALS[kind]), w[~positive].sum(), w[positive].sum())


def refreshed(name, kind, seed=0, progress=0.4):
    z, positive = rows(seed)
    loss = LOSSES[name](goal_of(kind, positive))
    loss.refresh(RefreshBatch(z, positive), progress)
    for _ in range(3):
        loss.advance(z, positive)
    return loss, z, positive


def by_differences(f, z, h=1e-6):
    out = np.empty(len(z))
    for i in range(len(z)):
        up, down = z.copy(), z.copy()
        up[i], down[i] = z[i] + h, z[i] - h
        out[i] = (f(up) - f(down)) / (2 * h)
    return out


# -- rows -----------------------------------------------------------------------------------


@losses
@goals
def test_slope_is_the_derivative_of_value(name, kind):
    for seed in range(3):
        loss, z, positive = refreshed(name, kind, seed)
        h = 1e-6
        up, down = loss.value(z + h, positive), loss.value(z - h, positive)
        slope = loss.slope(z, positive)
        scale = 1.0 + np.abs(slope).max()
        smooth = np.abs(up - 2 * loss.value(z, positive) + down) < 1e-8 * scale  # no kink
        assert smooth.mean() > 0.9
        np.testing.assert_allclose(
            slope[smooth], ((up - down) / (2 * h))[smooth], atol=1e-6 * scale
        )


@losses
@goals
def test_torch_gives_the_same(name, kind):
    torch = pytest.importorskip("torch")
    loss, z, positive = refreshed(name, kind)
    zt = torch.tensor(z, requires_grad=True)
    pt = torch.tensor(positive)
    value = loss.value(zt, pt)
    np.testing.assert_allclose(value.detach().numpy(), loss.value(z, positive), atol=1e-12)
    np.testing.assert_allclose(
        loss.slope(zt, pt).detach().numpy(), loss.slope(z, positive), atol=1e-12
    )
    (gradient,) = torch.autograd.grad(value.sum(), zt)
    np.testing.assert_allclose(gradient.numpy(), loss.slope(z, positive), atol=1e-10)


@losses
def test_some_rows_are_part_of_all(name):
    torch = pytest.importorskip("torch")
    loss, z, positive = refreshed(name, "FROP")
    some = np.array([3, 50, 4])
    value, slope = loss.value(z, positive)[some], loss.slope(z, positive)[some]
    np.testing.assert_array_equal(loss.value(z[some], positive[some], some), value)
    np.testing.assert_array_equal(loss.slope(z[some], positive[some], some), slope)
    batch = torch.tensor(z[some]), torch.tensor(positive[some]), torch.tensor(some)
    np.testing.assert_allclose(loss.value(*batch).numpy(), value, atol=1e-12)


@losses
@goals
def test_extreme_logits_lose_finitely(name, kind):
    loss, _, positive = refreshed(name, kind)
    for far in (1e3, 1e8):
        z = np.where(np.arange(80) % 2, far, -far)
        loss.refresh(RefreshBatch(z, positive), 0.9)
        assert np.isfinite(loss.value(z, positive)).all()
        assert np.isfinite(loss.slope(z, positive)).all()


# -- refreshes ------------------------------------------------------------------------------


@over("name", [name for name in LOSSES if "adam" not in name])
@goals
def test_rows_of_one_class_change_nothing(name, kind):
    loss, z, positive = refreshed(name, kind)
    before = loss.value(z, positive), dict(loss.state())
    for of_class in (positive, ~positive):
        loss.refresh(RefreshBatch(5.0 * z[of_class], positive[of_class]), 0.9)
    loss.refresh(RefreshBatch(z, positive, np.where(positive, 0.0, 1.0)), 0.9)
    np.testing.assert_array_equal(loss.value(z, positive), before[0])
    assert loss.state() == before[1]


@over("name", [name for name in LOSSES if "adam" not in name])
@goals
def test_weight_two_is_the_row_twice(name, kind):
    z, positive = rows(1)
    weight = np.random.default_rng(0).integers(1, 4, len(z)).astype(float)
    twice = np.repeat(np.arange(len(z)), weight.astype(int))
    goal = goal_of(kind, positive, weight)
    one, two = LOSSES[name](goal), LOSSES[name](goal)
    one.refresh(RefreshBatch(z, positive, weight), 0.5)
    two.refresh(RefreshBatch(z[twice], positive[twice]), 0.5)
    np.testing.assert_allclose(one.value(z, positive), two.value(z, positive), atol=1e-9)


@over("name", [name for name in LOSSES if "adam" not in name])
@goals
def test_some_rows_may_stand_for_all(name, kind):
    z, positive = rows(1)
    one = LOSSES[name](goal_of(kind, np.repeat(positive, 3)))
    two = LOSSES[name](goal_of(kind, np.repeat(positive, 3)))
    one.refresh(RefreshBatch(z, positive), 0.5)
    two.refresh(RefreshBatch(np.repeat(z, 3), np.repeat(positive, 3)), 0.5)
    np.testing.assert_allclose(one.value(z, positive), two.value(z, positive), atol=1e-9)


@pytest.mark.parametrize("name", LOSSES)
def test_state_is_what_the_next_refresh_starts_from(name):
    loss, z, positive = refreshed(name, "FPOR")
    other = LOSSES[name](loss.goal)
    other.resume(loss.state())
    for one in (loss, other):
        one.refresh(RefreshBatch(z + 0.1, positive), 0.8)
    np.testing.assert_array_equal(loss.value(z, positive), other.value(z, positive))


# -- what is descended ----------------------------------------------------------------------


def soft(z, positive, share):
    p = share(z)
    return p[positive].sum(), p[~positive].sum()


def test_sigmoid_descends_minus_the_soft_f1():
    z, positive = rows()
    loss = SigmoidLoss(goal_of("OFBS", positive), temperature=2.0)
    loss.refresh(RefreshBatch(z, positive), 0.0)

    def minus_f1(z):
        A, B = soft(z, positive, lambda z: sigmoid(2.0 * z))
        return -2 * A / (A + B + positive.sum())

    expected = by_differences(minus_f1, z)
    np.testing.assert_allclose(loss.slope(z, positive) / len(z), expected, atol=1e-9)


@pytest.mark.parametrize("penalty", [1.0, 3.0])
def test_sigmoid_descends_the_penalised_objective(penalty):
    z, positive = rows()
    z = z + 1.0
    loss = SigmoidLoss(goal_of("FPOR", positive), penalty=penalty)
    loss.refresh(RefreshBatch(z, positive), 0.0)

    def objective(z):
        A, B = soft(z, positive, sigmoid)
        assert A / (A + B) < 0.8
        return (-A / positive.sum() + penalty * (0.8 - A / (A + B))) / (1 + penalty)

    expected = by_differences(objective, z)
    np.testing.assert_allclose(loss.slope(z, positive) / len(z), expected, atol=1e-9)


def test_profiled_descends_minus_the_soft_f1_round_the_threshold():
    z, positive = rows()
    goal = goal_of("OFBS", positive)
    loss = ProfiledLoss(goal)
    loss.refresh(RefreshBatch(z, positive), 0.3)
    t, width = loss.threshold, loss.width
    assert t == best_cut(goal, z, positive).threshold

    def minus_f1(z):
        A, B = soft(z, positive, lambda z: sigmoid((z - t) / width))
        return -2 * A / (A + B + positive.sum())

    expected = by_differences(minus_f1, z)
    np.testing.assert_allclose(loss.slope(z, positive) / len(z), expected, atol=1e-8)


@pytest.mark.parametrize("kind", ["FPOR", "FROP"])
def test_profiled_follows_the_objective_along_the_constraint(kind):
    # Where t keeps the soft constraint as it is, the objective changes as the loss says.
    z, positive = rows(2, 300)
    loss = ProfiledLoss(goal_of(kind, positive))
    loss.refresh(RefreshBatch(z, positive), 0.0)
    t, width, P = loss.threshold, loss.width, positive.sum()

    def both(z, t):
        A, B = soft(z, positive, lambda z: sigmoid((z - t) / width))
        pair = A / P, A / (A + B)
        return pair if kind == "FPOR" else pair[::-1]

    h = 1e-6
    by_t = (np.array(both(z, t + h)) - both(z, t - h)) / (2 * h)
    mu = -by_t[0] / by_t[1]
    assert 0.0 < mu < 100.0
    along = by_differences(lambda z: -both(z, t)[0] - mu * both(z, t)[1], z) / (1 + mu)
    np.testing.assert_allclose(loss.slope(z, positive) / len(z), along, atol=1e-8)


def test_profiled_bands_narrow_and_hold_shares_of_the_positives():
    z, positive = rows(0, 80)
    loss = ProfiledLoss(goal_of("OFBS", positive))
    for progress, share in ((0.0, 1.0), (0.5, math.sqrt(0.1)), (1.0, 0.1)):
        loss.refresh(RefreshBatch(z, positive), progress)
        inside = (np.abs(z - loss.threshold) < loss.width).sum()
        assert inside == max(5, int(share * positive.sum()))


def test_lagrangian_multipliers_follow_true_rates():
    z, positive = rows()
    z = z + 1.0
    accepted = z >= 0
    precision = (accepted & positive).sum() / accepted.sum()
    assert precision < 0.8
    loss = LagrangianLoss(goal_of("FPOR", positive), step=0.5)
    for i in range(1, 4):
        loss.refresh(RefreshBatch(z, positive), 0.0)
        assert loss.multipliers == pytest.approx([0.5 * i * (0.8 - precision)])
    easy = np.where(positive, 3.0, -3.0)
    for _ in range(20):
        loss.refresh(RefreshBatch(easy, positive), 0.0)
    assert loss.multipliers == [0.0]


@pytest.mark.parametrize("kind", ["FPOR", "FROP", "OFBS"])
def test_exact_penalty_is_the_least_over_all_s(kind):
    for seed in range(5):
        z, positive = rows(seed, 9)
        positive[:2] = True, False
        goal = goal_of(kind, positive)
        loss = ExactPenalty(goal)
        loss.refresh(RefreshBatch(z, positive), 0.5)
        each = loss.penalty / 9
        best = oracle.best_of_all(kind, z, positive, each, each)
        s = z >= np.where(positive, loss.lifted.positive, loss.lifted.negative)
        score = float(goal.score(s[positive].sum(), s[~positive].sum()))
        assert loss.value(z, positive).mean() - score == pytest.approx(best, abs=1e-12)


@pytest.mark.parametrize("kind", ["FPOR", "FROP", "OFBS"])
def test_exact_penalty_descends_the_least_over_all_s(kind):
    # Danskin: the best s stays the best in a neighbourhood, and need not be differentiated.
    for seed in range(3):
        z, positive = rows(seed, 40)
        goal = goal_of(kind, positive)
        loss = ExactPenalty(goal)
        loss.refresh(RefreshBatch(z, positive), 0.5)
        slope = loss.slope(z, positive) / 40
        each = loss.penalty / 40

        def least(z, positive=positive, each=each):
            ladders = oracle.ladders(z, positive, each, each)
            return oracle.best_of_grid(kind, *ladders)

        np.testing.assert_allclose(by_differences(least, z), slope, atol=1e-6)


def test_exact_penalty_keeps_the_last_s_where_none_is_feasible():
    z, positive = rows()
    loss = ExactPenalty(goal_of("FPOR", positive), least=200.0)
    before = loss.lifted
    loss.refresh(RefreshBatch(z, positive), 0.0)
    assert loss.lifted == before


def test_aim_takes_other_totals():
    z, positive = rows()
    one, two = SigmoidLoss(goal_of("FPOR", positive)), SigmoidLoss(goal_of("FPOR", ~positive), 5.0)
    two.aim(one.goal, 0.0)
    for loss in (one, two):
        loss.refresh(RefreshBatch(z, positive), 0.0)
    assert one.worth == two.worth
