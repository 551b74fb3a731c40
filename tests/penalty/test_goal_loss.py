"""GoalLoss: gradients, what it remembers, where it goes on, and what it refuses."""

import copy
import io
import subprocess
import sys

import numpy as np
import pytest

from setpoint import Goal, InfeasibleError
from setpoint.errors import GoalError, ShapeError
from setpoint.penalty import Tradeoff, losses
from setpoint.penalty.problem import best_cut

torch = pytest.importorskip("torch", reason="GoalLoss is a module of torch")

from setpoint.penalty import GoalLoss  # noqa: E402

FPOR = "maximize recall subject to precision >= 0.8"
SOLVERS = {
    "profiled": losses.ProfiledLoss,
    "lagrangian": losses.LagrangianLoss,
    "sigmoid": losses.SigmoidLoss,
    "ero": losses.ExactPenalty,
    "cross-entropy": losses.CrossEntropyLoss,
}
solvers = pytest.mark.parametrize("solver", SOLVERS)


def data(n=400, seed=0, d=4):
    g = torch.Generator().manual_seed(seed)
    x = torch.randn(n, d, generator=g)
    y = x[:, 0] - 0.5 * x[:, 1] ** 2 + 0.5 * torch.randn(n, generator=g) > 0.6
    return x, y


def logits(n=400, seed=0):
    x, y = data(n, seed)
    return (2 * x[:, 0] - 1.0 + 0.5 * x[:, 2]).requires_grad_(), y


def two_kinds(n, seed=0):
    """Positives of two kinds, of which a linear model can find one."""
    r = np.random.default_rng(seed)
    kind = r.choice(3, n, p=[0.85, 0.075, 0.075])
    centre = np.array([[0, 0], [3, -1.5], [0, 2]])[kind]
    x = np.hstack([centre + r.normal(size=(n, 2)), r.normal(size=(n, 2))])
    return torch.tensor(x, dtype=torch.float32), torch.tensor(kind > 0)


def train(model, loss, x, y, batches, rate=0.02):
    optimizer = torch.optim.Adam(model.parameters(), lr=rate)
    for rows in batches:
        loss(model(x[rows]), y[rows]).backward()
        optimizer.step()
        optimizer.zero_grad()


# -- the loss -------------------------------------------------------------------------------


@solvers
@pytest.mark.parametrize("weighted", [False, True])
def test_all_rows_at_once_give_the_gradient_of_the_loss(solver, weighted):
    z, y = logits()
    w = torch.randint(1, 4, z.shape, generator=torch.Generator().manual_seed(1)).float()
    w = w if weighted else None
    options = {"refresh_every": 1, "warmup": 0, "steps": 10, "min_positives": 3}
    ours = GoalLoss(FPOR, solver, **options)
    positive = y.numpy()
    weight = None if w is None else w.numpy().astype(float)
    seen = losses.RefreshBatch(z.detach().numpy().astype(float), positive, weight)
    N, P = seen.mass(np.ones(len(positive)))
    theirs = SOLVERS[solver](Tradeoff(Goal.parse(FPOR), N, P), 3.0)
    if solver == "sigmoid":
        theirs.temperature = 5.0
    zero = 0.0
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
    plain = torch.nn.functional.binary_cross_entropy_with_logits
    loss = GoalLoss(FPOR, warmup=100)
    for rows in (slice(0, 50), slice(50, 99)):
        torch.testing.assert_close(loss(z[rows], y[rows]), plain(z[rows], y[rows].float()))
    assert loss.refresh() is False
    assert loss(z[99:150], y[99:150]) != plain(z[99:150], y[99:150].float())
    one_class = GoalLoss(FPOR, warmup=0)
    for _ in range(3):
        negatives = z[~y]
        torch.testing.assert_close(one_class(negatives, y[~y]), plain(negatives, y[~y].float()))
    assert one_class.refreshes == 0


@solvers
def test_batches_without_positives_or_rows(solver):
    z, y = logits()
    loss = GoalLoss(FPOR, solver, warmup=0, refresh_every=1)
    loss(z, y)
    (gradient,) = torch.autograd.grad(loss(z[~y], y[~y]), z)
    assert gradient.isfinite().all()
    empty = loss(z[:0], y[:0])
    assert empty.item() == 0.0
    (gradient,) = torch.autograd.grad(empty, z)
    assert (gradient == 0).all()
    weightless = loss(z[:5], y[:5], torch.zeros(5))
    assert weightless.item() == 0.0


def test_labels_and_logits_come_in_several_forms():
    z, y = logits()
    values = [
        GoalLoss("f1", warmup=0)(a, b)
        for a in (z, z[:, None])
        for b in (y, y[:, None], y.float(), y.double(), y.long(), y.to(torch.uint8), y.numpy())
    ]
    assert len({v.item() for v in values}) == 1


@pytest.mark.parametrize("kind", [torch.float16, torch.bfloat16])
def test_half_precision_is_computed_in_single(kind):
    z, y = logits()
    value = GoalLoss(FPOR, warmup=0)(z.to(kind), y)
    assert value.dtype == torch.float32
    torch.testing.assert_close(value, GoalLoss(FPOR, warmup=0)(z, y), rtol=0.05, atol=0.01)
    value.backward()
    assert z.grad.isfinite().all()
    cast = GoalLoss(FPOR, warmup=0).to(kind)  # with the model it is part of
    assert cast(z.to(kind), y).isfinite()


def test_double_precision_stays():
    z, y = logits()
    assert GoalLoss(FPOR, warmup=0)(z.double(), y).dtype == torch.float64


# -- the memory -----------------------------------------------------------------------------


def cuts(loss, z, y, w, sizes):
    at = 0
    for n in sizes:
        loss(z[at : at + n], y[at : at + n], None if w is None else w[at : at + n])
        at += n
    return {k: v for k, v in loss.state_dict().items() if isinstance(v, torch.Tensor)}


@pytest.mark.parametrize("memory", [37, 150, 1000])
def test_what_is_remembered_does_not_depend_on_batches(memory):
    z, y = logits()
    w = torch.randint(0, 3, z.shape, generator=torch.Generator().manual_seed(1)).float()
    for weight in (None, w):
        one = cuts(GoalLoss(FPOR, memory=memory), z, y, weight, [400])
        many = cuts(GoalLoss(FPOR, memory=memory), z, y, weight, [1, 7, 130, 12, 100, 0, 150])
        assert one.keys() == many.keys()
        for k in one:
            assert torch.equal(one[k], many[k])


def test_the_latest_rows_are_looked_at():
    z, y = logits()
    loss = GoalLoss(FPOR, memory=150)
    cuts(loss, z, y, None, [90] * 4 + [40])
    seen = loss._latest()
    assert sorted(seen.scores) == sorted(z[-150:].tolist())
    assert seen.positive.sum() == int(y[-150:].sum())
    assert seen.weight is None
    few = GoalLoss(FPOR)
    z, y = logits(20_000)
    cuts(few, z, y, None, [500] * 40)
    positive = few._latest().positive
    assert min(positive.sum(), (~positive).sum()) == 300
    few(z, y)  # a batch is looked at whole
    assert len(few._latest().positive) == 20_000


def test_nothing_is_remembered_in_eval_mode():
    z, y = logits()
    loss = GoalLoss(FPOR, warmup=0, refresh_every=1)
    loss(z, y)
    before = copy.deepcopy(loss.state_dict())
    loss.eval()
    loss(z[:30], y[:30])
    assert same(before, loss.state_dict())


def test_weight_two_is_the_row_twice_and_zero_is_left_out():
    z, y = logits(300)
    w = torch.randint(0, 3, z.shape, generator=torch.Generator().manual_seed(1))
    twice = torch.arange(300).repeat_interleave(w)
    for solver in SOLVERS:
        one, two = (GoalLoss(FPOR, solver, warmup=0, min_positives=2) for _ in range(2))
        torch.testing.assert_close(one(z, y, w), two(z[twice], y[twice]), rtol=1e-4, atol=1e-6)


def test_counts_of_the_population_replace_those_remembered():
    z, y = logits()
    half = torch.cat([y.nonzero()[:, 0], (~y).nonzero()[:, 0][: int(y.sum())]])
    loss = GoalLoss(FPOR, positives=100, negatives=900, warmup=0)
    loss(z[half], y[half])
    assert loss._loss.goal.totals.tolist() == [900.0, 100.0]
    assert loss._loss.threshold > 0
    plain = GoalLoss(FPOR, warmup=0)
    plain(z[half], y[half])
    assert plain._loss.threshold < loss._loss.threshold


def test_refreshes_come_every_so_many_steps():
    z, y = logits()
    for every, expected in ((1, 30), (7, 5), ("auto", 3)):
        loss = GoalLoss(FPOR, refresh_every=every, warmup=0)
        for _ in range(30):
            loss(z, y)
        assert loss.refreshes == expected
        assert loss.refresh()
        assert loss.refreshes == expected + 1


def test_progress():
    z, y = logits()
    known, unknown = GoalLoss("f1", warmup=800, steps=12), GoalLoss("f1", warmup=0)
    for _ in range(12):
        known(z, y)
        unknown(z, y)
    assert known.progress == 1.0
    assert unknown.progress == pytest.approx(11 / 111)
    known(z, y)
    assert known.progress == 1.0
    late = GoalLoss("f1", warmup=200 * len(y))
    for _ in range(400):
        late(z, y)
    assert late.progress == 0.5  # as many steps as the warm-up took


# -- thresholds -----------------------------------------------------------------------------


def test_the_threshold_is_the_exact_one():
    z, y = logits()
    scores, true = z.detach().double().numpy(), y.numpy()
    goal = Tradeoff(Goal.parse(FPOR), (~true).sum(), true.sum())
    expected = best_cut(goal, scores, true, None, 20.0)
    loss = GoalLoss(FPOR)
    assert loss.cut(z, y) == expected
    assert loss.threshold(scores, true) == expected.threshold
    assert loss.threshold(scores[:, None], true.astype(float)) == expected.threshold
    w = np.random.default_rng(0).integers(1, 3, len(true))
    twice = np.repeat(np.arange(len(true)), w)
    assert loss.cut(scores, true, w) == loss.cut(scores[twice], true[twice])


def test_a_handful_is_not_enough():
    scores, y = np.arange(200.0), np.arange(200) >= 150
    y[140:199] = np.arange(59) % 2 > 0
    lone = GoalLoss(FPOR, min_positives=1).cut(scores, y)
    assert (lone.A, lone.B) == (1.0, 0.0)
    several = GoalLoss(FPOR).cut(scores, y)
    assert several.A + several.B >= 20
    assert several.violation > 0.0  # and says so
    few = GoalLoss(FPOR).cut(np.arange(50.0), np.arange(50) >= 47)
    assert (few.A, few.violation) == (3.0, 0.0)


def test_where_no_threshold_meets_the_goal_it_is_said():
    y = np.arange(200) % 2
    scores = np.random.default_rng(0).normal(size=200)
    loss = GoalLoss(FPOR)
    cut = loss.cut(scores, y)
    assert cut.violation > 0.1
    with pytest.raises(InfeasibleError, match=r"violation is 0\.\d+.* cut\(\) returns") as caught:
        loss.threshold(scores, y)
    assert caught.value.violation == cut.violation


@pytest.mark.parametrize("solver", ["profiled", "sigmoid", "ero"])  # "lagrangian" swings
@pytest.mark.parametrize("options", [{}, {"steps": 320, "warmup": 27_000}])
def test_the_last_iterate_of_a_linear_model_beats_cross_entropy(solver, options):
    x, y = two_kinds(4000)
    torch.manual_seed(0)
    model, loss = torch.nn.Linear(4, 1), GoalLoss(FPOR, solver, **options)
    batches = [rows for _ in range(20) for rows in torch.randperm(4000).split(256)]
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    for rows in batches:
        loss(model(x[rows]), y[rows]).backward()
        optimizer.step()
        optimizer.zero_grad()
    cut = loss.cut(model(x).detach(), y)
    assert cut.violation == 0.0
    assert cut.score > 0.4  # cross-entropy: 0.25


def test_a_constrained_goal_is_learnt_as_well_as_by_cross_entropy():
    x, y = data(1500)
    x[:, 3] = torch.where(y, 0.1, 1.0) * x[:, 3]  # quiet for positives: no linear model sees it
    for solver in SOLVERS:
        torch.manual_seed(0)
        model = torch.nn.Sequential(torch.nn.Linear(4, 12), torch.nn.ReLU(), torch.nn.Linear(12, 1))
        batches = torch.arange(1500).split(100) * 20
        loss = GoalLoss(FPOR, solver, warmup=10_000, steps=len(batches))
        before = loss.cut(model(x), y)
        train(model, loss, x, y, batches)
        cut = loss.cut(model(x), y)
        assert before.violation > 0.1
        assert cut.violation == 0.0
        assert cut.score > 0.6


# -- going on -------------------------------------------------------------------------------


def same(a, b):
    if isinstance(a, torch.Tensor):
        return torch.equal(a, b)
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
    return a == b


@solvers
@pytest.mark.parametrize("stop", [1, 13])
def test_saved_and_loaded_it_goes_on_with_the_same_bits(solver, stop):
    x, y = data()
    batches = list(torch.arange(400).split(50)) * 3

    def made():
        torch.manual_seed(0)
        loss = GoalLoss(FPOR, solver, memory=300, warmup=200, refresh_every=4)
        return torch.nn.Linear(4, 1), loss

    model, loss = made()
    sgd = torch.optim.SGD(model.parameters(), lr=0.1)

    def go(model, loss, sgd, batches):
        for rows in batches:
            loss(model(x[rows]), y[rows]).backward()
            sgd.step()
            sgd.zero_grad()

    go(model, loss, sgd, batches[:stop])
    file = io.BytesIO()
    torch.save([model.state_dict(), loss.state_dict()], file)
    go(model, loss, sgd, batches[stop:])
    file.seek(0)
    other, again = made()
    states = torch.load(file, weights_only=True)
    other.load_state_dict(states[0])
    again.load_state_dict(states[1])
    go(other, again, torch.optim.SGD(other.parameters(), lr=0.1), batches[stop:])
    assert same(model.state_dict(), other.state_dict())
    assert same(loss.state_dict(), again.state_dict())
    assert same(copy.deepcopy(loss).state_dict(), loss.state_dict())


def test_a_state_of_another_goal_or_solver_is_refused_and_changes_nothing():
    z, y = logits()
    loss = GoalLoss("maximize f1", warmup=0)
    loss(z, y)
    model = torch.nn.ModuleDict({"loss": GoalLoss("f1", warmup=0)})
    before = copy.deepcopy(model.state_dict())
    for goal, solver in ((FPOR, "profiled"), ("f1", "sigmoid"), ("f1", "cross-entropy")):
        other = GoalLoss(goal, solver, warmup=0)
        other(z, y)
        message = (
            "has goal 'maximize f1' and solver 'profiled', .* "
            f"goal '{'maximize f1' if goal == 'f1' else goal}' and solver '{solver}'"
        )
        with pytest.raises(ValueError, match=message):
            model.load_state_dict(torch.nn.ModuleDict({"loss": other}).state_dict())
        with pytest.raises(ValueError, match=message):
            loss.set_extra_state(other.get_extra_state())
    assert same(before, model.state_dict())
    model["loss"].load_state_dict(loss.state_dict())
    assert model["loss"].rows_seen == len(y)


def test_it_is_part_of_a_model():
    model = torch.nn.ModuleDict({"net": torch.nn.Linear(4, 1), "loss": GoalLoss("f1")})
    assert len(list(model.parameters())) == 2
    assert "solver='profiled'" in repr(model)
    if torch.cuda.is_available():
        x, y = (v.cuda() for v in data())
        model = model.cuda()
        model["loss"](model["net"](x), y).backward()
        assert model["net"].weight.grad.is_cuda


# -- what is refused ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"solver": "portfolio"}, "`solver` is one of .*'profiled'.* got 'portfolio'"),
        ({"solver": "ero-adam"}, "`solver` is one of .* got 'ero-adam'"),
        ({"memory": 1}, "`memory` is 'auto' or a whole number of at least 2, got 1"),
        ({"memory": 2.5}, "`memory` is .*, got 2.5"),
        ({"refresh_every": 0}, "`refresh_every` is 'auto' or a whole number of at least 1, got 0"),
        ({"warmup": -1}, "`warmup` is a whole number of at least 0, got -1"),
        ({"steps": True}, "`steps` is None or a whole number of at least 1, got True"),
        ({"min_positives": "some"}, "`min_positives` is 'auto' or a finite number .*got 'some'"),
        ({"positives": 3}, "positives and negatives are given together"),
        ({"positives": 3, "negatives": 0}, "`negatives` is a finite number above 0, got 0"),
    ],
)
def test_arguments_are_checked(options, message):
    with pytest.raises(ValueError, match=message):
        GoalLoss(FPOR, **options)


def test_goals_are_checked():
    with pytest.raises(ShapeError, match="PlugInClassifier"):
        GoalLoss("maximize recall subject to predicted_rate <= 0.1")
    with pytest.raises(GoalError, match="'sex'"):
        GoalLoss("maximize f1.min(sex)")
    with pytest.raises(GoalError, match="recal"):
        GoalLoss("maximize recal")
    with pytest.raises(GoalError, match="'spam'"):
        GoalLoss("maximize recall(label='spam')")


def test_batches_are_checked_and_leave_nothing_behind():
    z, y = logits(6)
    y = y.float()
    bad = z.detach().clone()
    bad[3] = float("nan")
    loss = GoalLoss(FPOR, warmup=0)
    for match, arguments in [
        ("`logits` are finite numbers, got nan in row 3 and 1 such", (bad, y)),
        ("`logits` are finite numbers, got inf", (torch.full((6,), float("inf")), y)),
        (r"`logits` have shape \(n,\) or \(n, 1\).*got \(6, 2\)", (torch.zeros(6, 2), y)),
        (r"`logits` have shape .*got \(\)", (z[0], y)),
        (r"`y` has shape \(6,\) or \(6, 1\).*got \(5,\)", (z, y[:5])),
        ("`y` holds 0 and 1, got 2.0 in row 1", (z, torch.tensor([0, 2.0, 1, 0, 0, 0]))),
        ("`y` holds 0 and 1, got nan in row 0", (z, y * float("nan"))),
        ("`weight` has shape", (z, y, torch.ones(2))),
        ("`weight` holds finite numbers that are at least 0, got -1.0 in row 0", (z, y, -y - 1)),
    ]:
        with pytest.raises(ValueError, match=match):
            loss(*arguments)
    with pytest.raises(TypeError, match="`logits` are floating-point numbers"):
        loss(y.long(), y)
    for ask in (loss.threshold, loss.cut):
        with pytest.raises(
            ValueError, match="`scores` are finite numbers, got nan in row 3"
        ) as said:
            ask(bad, y)
        assert "remembered" not in str(said.value)
        with pytest.raises(ValueError, match="as there are 6 scores, got"):
            ask(z, y[:5])
    text = ["no", "yes"] * 3
    for names in (text, np.array(text), np.array(text, object)):
        for ask in (loss, loss.cut):
            with pytest.raises(TypeError, match=r"`y` is .* of 0 and 1, .*got .*, such as 'no'"):
                ask(z, names)
    with pytest.raises(TypeError, match=r"`y` is .* got a list of parts of different shapes"):
        loss(z, [[0], [0, 1]])
    with pytest.raises(TypeError, match=r"`weight` is .* got list .* such as 'a'"):
        loss(z, y, ["a"] * 6)
    with pytest.raises(ValueError, match="`y` has no row of class 1"):
        loss.threshold(z, torch.zeros(6))
    assert (loss.rows_seen, loss.steps_seen, loss.refreshes) == (0, 0, 0)


def test_torch_is_imported_for_it_alone():
    code = (
        "import sys, setpoint.penalty; print('torch' in sys.modules); "
        "sys.modules['torch'] = None\n"
        "try: setpoint.penalty.GoalLoss\nexcept ImportError as e: print(e)"
    )
    run = [sys.executable, "-c", code]
    done = subprocess.run(run, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("False\n")
    assert "pip install 'setpoint[torch]'" in done.stdout
