"""Networks by minibatches: what they learn, what is refused, and where numbers end."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array

from penalty.networks import Enough, after, outcome, plan_of, ring
from setpoint.classifiers import modules
from setpoint.penalty import classifier
from setpoint.penalty.classifier import train_network
from setpoint.penalty.problem import best_cut
from setpoint.penalty.selection import TrainingRows

torch = pytest.importorskip("torch", reason="networks need torch")
pytest.importorskip("safetensors", reason="networks are stored with safetensors")
nn = torch.nn


TESTS = Path(__file__).parents[1]


def trained(module="mlp", **options):
    X, y = ring()
    plan = plan_of(X, y, **options)
    train_network(plan, module)
    return plan


# ---------------------------------------------------------------------- learning
@pytest.mark.parametrize("goal", ["maximize f1", "maximize recall subject to precision >= 0.7"])
def test_a_portfolio_is_feasible_and_not_below_cross_entropy(goal):
    X, y = ring(900)
    choose = TrainingRows(X[:300], y[:300])
    plan = plan_of(X[300:], y[300:], choose=choose, goal=goal, solver="portfolio")
    train_network(plan, "mlp")
    best = plan.pool.best
    assert len(best) == len(plan.stages) == 8
    assert not plan.notes
    assert all(c.cut.rank >= best["cross-entropy"].cut.rank for n, c in best.items() if "by" in n)
    champion = plan.pool.champion
    assert champion.cut.violation == 0.0
    assert champion.cut.score > 0.6
    # What is stored is what was judged.
    made = modules.build("mlp", 4, 99)
    modules.load_bytes(made, champion.parameters)
    z = modules.scores(made, choose.X)
    assert best_cut(plan.pool.goal, z, choose.positive, None, 5.0) == champion.cut


@pytest.mark.parametrize("solver", ["cross-entropy", "profiled", "sigmoid", "ero", "ero-adam"])
def test_training_descends(solver):
    short, long = (trained(solver=solver, max_epochs=n, patience=n) for n in (1, 12))
    name = short.stages[-1].name
    assert long.pool.best[name].cut.score > short.pool.best[name].cut.score


def test_linear_module_is_near_what_all_rows_at_once_give():
    from setpoint.penalty.solvers import train_linear

    X, y = ring(800)
    whole = plan_of(X, y, goal="maximize f1", solver="cross-entropy")
    train_linear(whole, polished=False)
    batches = plan_of(
        X, y, goal="maximize f1", solver="cross-entropy", max_epochs=20, weight_decay=0.0
    )
    train_network(batches, "linear")
    assert abs(batches.pool.champion.cut.score - whole.pool.champion.cut.score) < 0.03


def test_patience_ends_a_stage():
    plan = trained(solver="cross-entropy", max_epochs=500, patience=2)
    assert plan.pool.limits.calls < 100


def test_tick_ends_the_training_and_the_best_stays():
    X, y = ring()
    plan = plan_of(X, y, tick=after(25))
    with pytest.raises(Enough):
        train_network(plan, "mlp")
    assert plan.pool.champion.method == "cross-entropy"


# ---------------------------------------------------------------------- rows
def test_batches_without_positives():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    y = np.zeros(400, bool)
    y[:6] = True
    X[:6] += 2.0
    plan = plan_of(X, y, goal="maximize f1", solver="portfolio", batch_size=16, max_epochs=3)
    train_network(plan, "linear")
    assert not plan.notes
    assert len(plan.pool.best) == 8


def test_sparse_rows_are_dense_rows():
    X, y = ring(300)
    X[np.abs(X) < 0.7] = 0.0
    dense, sparse = plan_of(X, y, max_epochs=3), plan_of(csr_array(X), y, max_epochs=3)
    for plan in (dense, sparse):
        train_network(plan, "mlp")
    for name, c in dense.pool.best.items():
        made = [modules.build("mlp", 4, 0), modules.build("mlp", 4, 0)]
        modules.load_bytes(made[0], c.parameters)
        modules.load_bytes(made[1], sparse.pool.best[name].parameters)
        z = modules.scores(made[0], X), modules.scores(made[1], csr_array(X))
        np.testing.assert_allclose(*z, atol=1e-6)


@pytest.mark.parametrize("solver", ["cross-entropy", "sigmoid", "lagrangian"])
def test_a_weight_of_two_is_a_row_twice(solver):
    X, y = ring(120)
    weight = np.where(np.arange(120) % 3 == 0, 2.0, 1.0)
    again = np.repeat(np.arange(120), weight.astype(int))
    # One batch an epoch, so that what is drawn does not matter.
    options = {"batch_size": 200, "max_epochs": 4, "solver": solver}
    one = plan_of(X, y, weight=weight, **options)
    two = plan_of(X[again], y[again], **options)
    for plan in (one, two):
        train_network(plan, "mlp")
    for name, c in one.pool.best.items():
        a, b = (modules.unpack(p) for p in (c.parameters, two.pool.best[name].parameters))
        for key, tensor in a.items():
            np.testing.assert_allclose(tensor, b[key], atol=2e-4)


def test_many_rows_are_looked_at_in_part(monkeypatch):
    monkeypatch.setattr("setpoint.penalty.classifier._MOST_SEEN", 100)
    X, y = ring(1000)
    y = y & (np.arange(1000) < 150)
    assert y.sum() < 50
    plan = plan_of(X, y, solver="portfolio", max_epochs=4, refresh_every=3)
    seen = []
    refresh = classifier._NetworkDescent.seen

    def spied(self, rows):
        out = refresh(self, rows)
        seen.append((self.stage.name, len(out.scores), int(out.positive.sum())))
        return out

    monkeypatch.setattr(classifier._NetworkDescent, "seen", spied)
    train_network(plan, "mlp")
    assert not plan.notes
    all_rows = {n for name, n, _ in seen if name == "exact penalty, s by Adam"}
    assert all_rows == {1000}
    in_part = [(n, p) for name, n, p in seen if name != "exact penalty, s by Adam"]
    assert all(p == y.sum() and 90 < n < 150 for n, p in in_part)


# ---------------------------------------------------------------------- the same bits
def test_the_same_seed_gives_the_same_bits():
    runs = [trained(dropout, solver="portfolio", max_epochs=2, seed=s) for s in (1, 1, 2)]
    assert outcome(runs[0]) == outcome(runs[1])
    assert outcome(runs[0])[0] != outcome(runs[2])[0]


def dropout(d):
    hidden = nn.Sequential(nn.Linear(d, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout())
    return nn.Sequential(*hidden, nn.Linear(16, 1))


def test_the_users_generator_is_left_alone():
    torch.manual_seed(7)
    expected = torch.rand(3)
    torch.manual_seed(7)
    trained(dropout, max_epochs=1)
    assert torch.equal(torch.rand(3), expected)


def test_batchnorm_and_dropout_learn_and_keep_their_buffers():
    plan = trained(dropout, solver="profiled", max_epochs=15)
    assert plan.pool.champion.cut.score > 0.5
    state = modules.unpack(plan.pool.champion.parameters)
    assert state["1.running_mean"].abs().max() > 0


def test_a_last_batch_of_one_row():
    X, y = ring(129)
    counts = []
    for module in (dropout, "mlp"):
        calls = []
        plan = plan_of(X, y, solver="cross-entropy", max_epochs=1, tick=lambda c=calls: c.append(1))
        train_network(plan, module)
        counts.append(len(calls))
    assert counts == [2, 3]
    with pytest.raises(ValueError, match="`batch_size=1` of 129 rows"):
        train_network(plan_of(X, y, batch_size=1), dropout)


def test_module_that_squeezes():
    class Squeezing(nn.Linear):
        def forward(self, x):
            return super().forward(x).squeeze()

    X, y = ring(129)
    plan = plan_of(X, y, solver="cross-entropy", max_epochs=1)
    train_network(plan, lambda d: Squeezing(d, 1))
    assert plan.pool.limits.calls == 2


def test_double_precision():
    plan = trained(lambda d: nn.Linear(d, 1).double(), solver="portfolio", max_epochs=1)
    assert modules.unpack(plan.pool.champion.parameters)["weight"].dtype == torch.float64


# ---------------------------------------------------------------------- where numbers end
class Breaking(nn.Linear):
    """Gives NaN from its n-th batch in training on, until it is loaded anew."""

    def __init__(self, d, n):
        super().__init__(d, 1)
        self.left = n

    def forward(self, x):
        if self.training:
            self.left -= 1
        return super().forward(x) * (float("nan") if self.training and self.left < 0 else 1.0)

    def load_state_dict(self, *args, **kwargs):
        self.left = 15
        return super().load_state_dict(*args, **kwargs)


def test_nan_ends_the_stage_and_not_the_training():
    plan = trained(lambda d: Breaking(d, 15), solver="portfolio")
    assert plan.notes == [
        f"{s.name}: the scores were no longer finite; it was stopped there" for s in plan.stages
    ]
    assert len(plan.pool.best) == 8
    for c in plan.pool.best.values():
        assert all(t.isfinite().all() for t in modules.unpack(c.parameters).values())


def test_a_rate_that_diverges():
    plan = trained("mlp", solver="sigmoid", learning_rate=1e30)
    assert plan.notes
    assert plan.pool.best


def test_nothing_finite_at_all():
    X, y = ring()
    X[0, 0] = np.inf
    plan = plan_of(X, y)
    train_network(plan, "mlp")
    assert not plan.pool.best
    assert len(plan.notes) == 2


# ---------------------------------------------------------------------- modules
@pytest.mark.parametrize(
    ("module", "error", "message"),
    [
        (lambda d: nn.Linear(d, 2), ValueError, r"a Tensor of shape \(2, 2\) of 2 rows"),
        (
            lambda d: nn.Sequential(nn.Linear(d, 1), nn.Flatten(0), nn.Unflatten(0, (1, 2))),
            ValueError,
            r"shape \(1, 2\)",
        ),
        (lambda d: nn.Linear(d + 1, 1), ValueError, "cannot take rows of 4 features"),
        (lambda d: nn.Flatten(), ValueError, r"shape \(2, 4\)"),
        (
            lambda d: nn.Sequential(nn.Flatten(0), nn.Unflatten(0, (2, 4)), nn.AvgPool1d(4)),
            ValueError,
            "no parameters",
        ),
        (lambda d: nn.Linear(d, 1).requires_grad_(False), ValueError, "no parameters to train"),
        (lambda d: "mlp", TypeError, "returned a str"),
        (lambda d: None, TypeError, "a NoneType, which is not a torch.nn.Module"),
        (lambda a, b: None, TypeError, r"`module` takes \(a, b\)"),
        (nn.Linear(4, 1), TypeError, "made already"),
        ("resnet", TypeError, "'linear', 'mlp' or a function"),
        (3, TypeError, "`module=3`"),
    ],
)
def test_refused_modules(module, error, message):
    with pytest.raises(error, match=message):
        modules.build(module, 4, 0)


def test_factories_may_take_nothing():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = nn.LazyLinear(1)

        def forward(self, x):
            return self.inner(x)[:, 0]

    made = modules.build(Net, 4, 0)
    assert modules.scores(made, np.zeros((5, 4))).shape == (5,)
    again = modules.build(Net, 4, 0)
    assert modules.to_bytes(made) == modules.to_bytes(again)
    assert modules.to_bytes(made) != modules.to_bytes(modules.build(Net, 4, 1))


def test_tied_weights_are_stored():
    def tied(d):
        first, second = nn.Linear(d, d), nn.Linear(d, d)
        second.weight = first.weight
        return nn.Sequential(first, second, nn.Linear(d, 1))

    made = modules.build(tied, 4, 0)
    other = modules.build(tied, 4, 1)
    modules.load_bytes(other, modules.to_bytes(made))
    X = ring(50)[0]
    assert np.array_equal(modules.scores(made, X), modules.scores(other, X))


def test_scores_in_any_batches_and_of_read_only_rows(monkeypatch):
    X = ring(50)[0].astype(np.float32)
    X.flags.writeable = False
    made = modules.build(dropout, 4, 0)
    whole = modules.scores(made, X)
    assert made.training
    monkeypatch.setattr(modules, "_MOST_ROWS", 7)
    np.testing.assert_allclose(modules.scores(made, X), whole, atol=1e-6)
    rows = np.array([3, 1, 49])
    np.testing.assert_allclose(modules.scores(made, X, rows=rows), whole[rows], atol=1e-6)
    np.testing.assert_allclose(modules.scores(made, X, rows=slice(9, 20)), whole[9:20], atol=1e-6)
    assert modules.scores(made, X[:0]).shape == (0,)


def test_devices():
    assert modules.device_for("cpu") == "cpu"
    assert modules.device_for("auto") in ("cpu", "cuda")
    for name, message in (("warp", "`device='warp'` cannot be used"), ("meta", "holds no numbers")):
        with pytest.raises(ValueError, match=message):
            modules.device_for(name)
    if not torch.cuda.is_available():
        with pytest.raises(ValueError, match="`device='cuda'` cannot be used"):
            train_network(replace(plan_of(*ring(50)), device="cuda"), "mlp")


@pytest.mark.parametrize("rows", [slice(3, 40), np.array([5, 1, 1, 48])])
@pytest.mark.parametrize("kind", [torch.float32, torch.float64])
def test_batches_of_rows_that_are_kept_as_a_tensor(rows, kind):
    X = np.random.default_rng(0).normal(size=(50, 3))
    whole = modules.as_batch(X, slice(None), kind)
    some = modules.as_batch(whole, rows, kind)
    assert torch.equal(some, modules.as_batch(X, rows, kind))
    some.zero_()  # as a module may that works in place
    assert torch.equal(whole, modules.as_batch(X, slice(None), kind))
    assert modules.resident(X, kind, "cpu") is X


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device")
@pytest.mark.parametrize("matrix", [np.asarray, csr_array])
def test_rows_are_kept_on_a_gpu(matrix):
    X = np.random.default_rng(0).normal(size=(50, 3))
    kept = modules.resident(matrix(X), torch.float32, "cuda")
    assert kept.device.type == "cuda"
    assert torch.equal(kept.cpu(), torch.from_numpy(X.astype(np.float32)))


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device")
def test_on_a_gpu():
    plan = trained(dropout, solver="portfolio", device="auto", max_epochs=12)
    assert not plan.notes
    assert plan.pool.champion.cut.violation == 0.0
    assert plan.pool.champion.cut.score > 0.5


# ---------------------------------------------------------------------- the room
def test_torch_is_imported_only_when_it_is_used():
    code = (
        "import sys, setpoint.penalty.classifier, setpoint.penalty.selection\n"
        "assert 'torch' not in sys.modules and 'safetensors' not in sys.modules\n"
        "sys.modules['torch'] = None\n"
        "from setpoint.classifiers.modules import build\n"
        "try:\n    build('mlp', 3, 0)\n"
        "except ImportError as error:\n    assert \"pip install 'setpoint[torch]'\" in str(error)\n"
        "else:\n    raise AssertionError\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.long
def test_a_million_rows_in_two_gigabytes():
    code = """
import resource
import numpy as np
from penalty.networks import plan_of
from setpoint.penalty.classifier import train_network
rng = np.random.default_rng(0)
X = rng.normal(size=(1_000_000, 50))
y = X[:, 0] + rng.normal(size=len(X)) > 2.0
plan = plan_of(X, y, solver="portfolio", max_epochs=1, batch_size=4096, learning_rate=1e-3)
train_network(plan, "mlp")
assert len(plan.pool.best) == 8, plan.notes
most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
assert most < 2.0, most
"""
    subprocess.run([sys.executable, "-c", code], cwd=TESTS, check=True)
