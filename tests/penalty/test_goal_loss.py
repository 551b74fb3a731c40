"""GoalLoss: gradients, what it remembers, where it goes on, and what it refuses."""

import copy
import io
import re
import sys
from functools import partial
from importlib import import_module

import numpy as np
import pytest

from penalty.samples import goal_of, scored
from setpoint import InfeasibleError
from setpoint.errors import GoalError, InputError, InputTypeError, ShapeError
from setpoint.penalty import losses
from setpoint.penalty.problem import best_cut
from thinning import over

torch = pytest.importorskip("torch", reason="GoalLoss is a module of torch")

from setpoint.penalty import GoalLoss  # noqa: E402

FPOR = "maximize recall subject to precision >= 0.8"
SOLVERS = {
    "profiled": losses.ProfiledLoss,
    "lagrangian": losses.LagrangianLoss,
    "sigmoid": partial(losses.SigmoidLoss, temperature=5.0),
    "ero": losses.ExactPenalty,
    "cross-entropy": losses.CrossEntropyLoss,
}
solvers = over("solver", SOLVERS)
cross_entropy = torch.nn.functional.binary_cross_entropy_with_logits


def logits(n=400):
    z, y = scored(0, n, share=0.3)
    return torch.tensor(z + 2.0 * y - 2.0, dtype=torch.float32, requires_grad=True), torch.tensor(y)


def weights(n, least):
    return torch.randint(least, 4, (n,), generator=torch.Generator().manual_seed(1)).float()


def same(a, b):
    if isinstance(a, torch.Tensor):
        return torch.equal(a, b)
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
    return a == b


def shown(loss, z, y, sizes, weight=None):
    """The loss, after it saw batches of these sizes."""
    for rows in torch.arange(sum(sizes)).split(sizes):
        loss(z[rows], y[rows], None if weight is None else weight[rows])
    return loss


# ---------------------------------------------------------------------- the loss
@solvers
@over("weighted", [False, True])
def test_all_rows_at_once_give_the_gradient_of_the_loss(solver, weighted):
    z, y = logits()
    w = weights(400, 1) if weighted else None
    options = {"refresh_every": 1, "memory": 400, "steps": 10, "min_positives": 3}
    ours = GoalLoss(FPOR, solver, warmup=0, **options)
    weight, positive = None if w is None else w.numpy().astype(float), y.numpy()
    seen = losses.RefreshBatch(z.detach().numpy().astype(float), positive, weight)
    theirs, zero = SOLVERS[solver](goal_of(FPOR, positive, weight), 3.0), 0.0
    if solver == "sigmoid":  # starts where the best threshold is 0
        zero = best_cut(theirs.goal, *seen, 3.0).threshold
        seen = seen._replace(scores=seen.scores - zero)
    for step in range(3):
        (found,) = torch.autograd.grad(ours(z, y, w), z)
        theirs.refresh(seen, step / 9)  # 1 in the tenth step
        rows = theirs.value(z - zero, y)
        expected = rows.mean() if w is None else (rows * w).sum() / w.sum()
        (gradient,) = torch.autograd.grad(expected, z)
        assert gradient.abs().max() > 0
        torch.testing.assert_close(found, gradient, rtol=1e-4, atol=1e-9)


def test_cross_entropy_until_enough_rows_and_both_classes_were_seen():
    z, y = logits()
    loss = GoalLoss(FPOR, warmup=100)
    for rows in (slice(0, 50), slice(50, 99)):
        torch.testing.assert_close(loss(z[rows], y[rows]), cross_entropy(z[rows], y[rows].float()))
    assert loss.refresh() is False
    assert loss(z[99:150], y[99:150]) != cross_entropy(z[99:150], y[99:150].float())
    one_class, negatives = GoalLoss(FPOR, warmup=0), z[~y]
    for _ in range(3):
        found = one_class(negatives, y[~y])
        torch.testing.assert_close(found, cross_entropy(negatives, y[~y].float()))
    assert one_class.refreshes == 0


@solvers
def test_batches_without_positives_or_rows(solver):
    z, y = logits()
    loss = GoalLoss(FPOR, solver, warmup=0, refresh_every=1)
    loss(z, y)
    (gradient,) = torch.autograd.grad(loss(z[~y], y[~y]), z)
    assert gradient.isfinite().all()
    empty = loss(z[:0], y[:0])
    assert empty.item() == loss(z[:5], y[:5], torch.zeros(5)).item() == 0.0
    (gradient,) = torch.autograd.grad(empty, z)
    assert (gradient == 0).all()


def test_forms_of_labels_and_logits():
    z, y = logits()
    wanted = GoalLoss(FPOR, warmup=0)(z, y)
    assert wanted.dtype == torch.float32
    for a, b in ((z[:, None], y[:, None]), (z, y.double()), (z, y.to(torch.uint8)), (z, y.numpy())):
        assert GoalLoss(FPOR, warmup=0)(a, b) == wanted
    assert GoalLoss(FPOR, warmup=0)(z.double(), y).dtype == torch.float64
    half = torch.float16  # is computed in single precision
    value = GoalLoss(FPOR, warmup=0).to(half)(z.to(half), y)
    torch.testing.assert_close(value, wanted, rtol=0.05, atol=0.01)
    value.backward()
    assert z.grad.isfinite().all()


# ---------------------------------------------------------------------- the memory
@over("memory", [37, 150, 1000])
@over("weight", [None, weights(400, 0)])
def test_what_is_remembered_does_not_depend_on_batches(memory, weight):
    z, y = logits()
    one, many = (
        shown(GoalLoss(FPOR, memory=memory), z, y, sizes, weight).state_dict()
        for sizes in ([400], [1, 7, 130, 12, 100, 0, 150])
    )
    buffers = [name for name, value in one.items() if isinstance(value, torch.Tensor)]
    assert len(buffers) == 3
    for name in buffers:
        assert torch.equal(one[name], many[name])


def test_the_latest_rows_are_looked_at():
    z, y = logits()
    seen = shown(GoalLoss(FPOR, memory=150), z, y, [90] * 4 + [40])._latest()
    assert sorted(seen.scores) == sorted(z[-150:].tolist())
    assert seen.positive.sum() == int(y[-150:].sum())
    assert seen.weight is None


def test_nothing_is_remembered_in_eval_mode():
    z, y = logits()
    loss = shown(GoalLoss(FPOR, warmup=0, refresh_every=1), z, y, [400])
    before = copy.deepcopy(loss.state_dict())
    loss.eval()
    loss(z[:30], y[:30])
    assert same(before, loss.state_dict())


@solvers
def test_weight_two_is_the_row_twice_and_zero_is_left_out(solver):
    z, y = logits(300)
    w = weights(300, 0)
    twice = torch.arange(300).repeat_interleave(w.long())
    one, two = (GoalLoss(FPOR, solver, warmup=0, min_positives=2) for _ in range(2))
    torch.testing.assert_close(one(z, y, w), two(z[twice], y[twice]), rtol=1e-4, atol=1e-6)


def test_counts_of_the_population_replace_those_remembered():
    z, y = logits()
    half = torch.cat([y.nonzero()[:, 0], (~y).nonzero()[:, 0][: int(y.sum())]])
    loss = GoalLoss(FPOR, positives=100, negatives=900, warmup=0)
    plain = GoalLoss(FPOR, warmup=0)
    for one in (loss, plain):
        one(z[half], y[half])
    assert loss._loss.goal.totals.tolist() == [900.0, 100.0]
    assert plain._loss.threshold < loss._loss.threshold


def test_refreshes_and_progress():
    z, y = logits()
    for every, expected in ((1, 30), (7, 5), ("auto", 3)):
        loss = GoalLoss(FPOR, refresh_every=every, warmup=0)
        for _ in range(30):
            loss(z, y)
        assert loss.refreshes == expected
        assert loss.refresh()
        assert loss.refreshes == expected + 1
    # Rows of the warm-up, steps that are announced, steps that are done, and the progress then.
    for warmup, steps, done, progress in (
        (800, 12, 13, 1.0),
        (800, 12, 7, 0.5),
        (0, None, 12, 11 / 111),
    ):
        loss = shown(GoalLoss("f1", warmup=warmup, steps=steps), z, y, [400])
        for _ in range(done - 1):
            loss(z, y)
        assert loss.progress == pytest.approx(progress)


# ---------------------------------------------------------------------- thresholds
def test_the_threshold_is_the_exact_one():
    z, y = logits()
    scores, true = z.detach().double().numpy(), y.numpy()
    expected = best_cut(goal_of(FPOR, true), scores, true, None, 20.0)
    loss = GoalLoss(FPOR)
    assert loss.cut(z, y) == expected
    assert loss.threshold(scores[:, None], true.astype(float)) == expected.threshold
    w = weights(400, 1)
    twice = np.repeat(np.arange(400), w.long())
    assert loss.cut(scores, true, w) == loss.cut(scores[twice], true[twice])


def test_so_many_rows_are_accepted_at_least():
    scores, y = np.arange(200.0), np.arange(200) >= 150
    y[140:199] = np.arange(59) % 2 > 0
    assert GoalLoss(FPOR, min_positives=1).cut(scores, y).A == 1.0
    several = GoalLoss(FPOR).cut(scores, y)
    assert several.A + several.B >= 20
    assert several.violation > 0.0  # and says so


def test_where_no_threshold_meets_the_goal_it_is_said():
    y, scores = np.arange(200) % 2, np.random.default_rng(0).normal(size=200)
    cut = GoalLoss(FPOR).cut(scores, y)
    assert cut.violation > 0.1
    with pytest.raises(InfeasibleError, match=r"violation is 0\.\d+.* cut\(\) returns") as caught:
        GoalLoss(FPOR).threshold(scores, y)
    assert caught.value.violation == cut.violation


# ---------------------------------------------------------------------- going on
@solvers
@over("stop", [1, 13])
def test_saved_and_loaded_it_goes_on_with_the_same_bits(solver, stop):
    x, (_, y) = torch.randn(400, 4, generator=torch.Generator().manual_seed(0)), logits()
    batches = list(torch.arange(400).split(50)) * 3

    def made(state=None):
        torch.manual_seed(0)
        loss = GoalLoss(FPOR, solver, memory=300, warmup=200, refresh_every=4)
        both = torch.nn.ModuleDict({"net": torch.nn.Linear(4, 1), "loss": loss})
        if state is not None:
            both.load_state_dict(state)
        return both

    def trained(both, batches):
        sgd = torch.optim.SGD(both.parameters(), lr=0.1)
        for rows in batches:
            both["loss"](both["net"](x[rows]), y[rows]).backward()
            sgd.step()
            sgd.zero_grad()
        return both

    file, both = io.BytesIO(), trained(made(), batches[:stop])
    torch.save(both.state_dict(), file)
    file.seek(0)
    other = trained(made(torch.load(file, weights_only=True)), batches[stop:])
    assert same(trained(both, batches[stop:]).state_dict(), other.state_dict())
    assert same(copy.deepcopy(both).state_dict(), both.state_dict())
    assert len(list(both.parameters())) == 2
    assert f"solver='{solver}'" in repr(both)


def test_a_state_of_another_goal_or_solver_is_refused_and_changes_nothing():
    z, y = logits()
    loss = shown(GoalLoss("maximize f1", warmup=0), z, y, [400])
    model = torch.nn.ModuleDict({"loss": GoalLoss("f1", warmup=0)})
    before = copy.deepcopy(model.state_dict())
    for goal, solver in ((FPOR, "profiled"), ("maximize f1", "sigmoid")):
        other = shown(GoalLoss(goal, solver, warmup=0), z, y, [400])
        message = f"goal 'maximize f1' and solver 'profiled', .* goal '{goal}' and solver '{solver}"
        with pytest.raises(InputError, match=message):
            model.load_state_dict(torch.nn.ModuleDict({"loss": other}).state_dict())
        with pytest.raises(InputError, match=message):
            loss.set_extra_state(other.get_extra_state())
    assert same(before, model.state_dict())
    model["loss"].load_state_dict(loss.state_dict())
    assert model["loss"].rows_seen == len(y)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device")
def test_on_a_gpu():
    (z, y), loss = logits(), GoalLoss("f1", warmup=0).cuda()
    loss(z.cuda(), y.cuda()).backward()
    (wanted,) = torch.autograd.grad(GoalLoss("f1", warmup=0)(z, y), z)
    torch.testing.assert_close(z.grad, wanted)


# ---------------------------------------------------------------------- what is refused
@over(
    "options,error,message",
    [
        ({"solver": "portfolio"}, InputError, "`solver` is one of 'profiled', 'lagrangian'"),
        ({"steps": True}, InputError, "`steps` is None or a whole number of at least 1, got True"),
        ({"min_positives": "some"}, InputError, "`min_positives` is 'auto' or a finite number"),
        ({"positives": 3}, InputError, "positives and negatives are given together"),
        ({"positives": 3, "negatives": 0}, InputError, "`negatives` is a finite number above 0"),
        ({"goal": "maximize predicted_rate"}, ShapeError, "`PlugInClassifier` takes any goal"),
        ({"goal": "maximize recall(label='spam')"}, GoalError, "'spam'"),
    ],
)
def test_arguments_are_checked(options, error, message):
    with pytest.raises(error, match=message):
        GoalLoss(**{"goal": FPOR, **options})


def test_batches_are_checked_and_leave_nothing_behind():
    z, y = logits(6)
    z, y, nan = z.detach(), y.float(), float("nan")
    bad, text = torch.where(torch.arange(6) == 3, nan, z), ["no", "yes"] * 3
    loss = GoalLoss(FPOR, warmup=0)
    for error, message, given in [
        (InputError, "`logits` are finite numbers, got nan in row 3 and 1 such rows", (bad, y)),
        (InputError, "`logits` have shape (n,) or (n, 1), one", (torch.zeros(6, 2), y)),
        (InputError, "one number a row, got ()", (z[0], y)),
        (InputTypeError, "`logits` are floating-point numbers", (y.long(), y)),
        (InputError, "`y` has shape (6,) or (6, 1), as there are 6 logits, got (5,)", (z, y[:5])),
        (InputError, "`y` holds 0 and 1, got 2.0 in row 1", (z, torch.arange(6) * 2.0)),
        (InputTypeError, "`y` holds real numbers", (z, y * 1j)),
        (InputTypeError, "`y` is a tensor or array of 0 and 1, as numbers or bool, got list of "
         "<U3, such as 'no'", (z, text)),
        (InputTypeError, "got a list of parts of different shapes", (z, [[0], [0, 1]])),
        (InputError, "`weight` has shape", (z, y, torch.ones(2))),
        (InputError, "`weight` holds finite numbers that are at least 0, got -1.0 in row 0",
         (z, y, y * 0 - 1)),
        (InputTypeError, "`weight` is a tensor or array of numbers", (z, y, ["a"] * 6)),
    ]:  # fmt: skip
        for ask in (loss, loss.cut, loss.threshold):
            with pytest.raises(error) as caught:
                ask(*given)
            words = message if ask is loss else message.replace("logits", "scores")
            assert words in str(caught.value)
            assert ("remembered" in str(caught.value)) == ("finite numbers, got" in message
                and "logits" in words)  # fmt: skip
    for missing in (0, 1):
        with pytest.raises(InputError, match=f"`y` has no row of class {missing}"):
            loss.threshold(z, torch.full((6,), 1.0 - missing))
    assert (loss.rows_seen, loss.steps_seen, loss.refreshes) == (0, 0, 0)


def test_without_torch_it_is_said_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.delitem(sys.modules, "setpoint.penalty.goal_loss")
    with pytest.raises(ImportError, match=re.escape("pip install 'setpoint[torch]'")):
        import_module("setpoint.penalty.goal_loss")
