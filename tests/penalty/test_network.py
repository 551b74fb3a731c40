"""Networks by minibatches: what they learn, how their rows come, and where numbers end."""

import itertools
import pickle
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array

from penalty.samples import imbalanced, network, penalty, ring
from setpoint import StoppedError, StoppedWarning, load_model, save_model
from setpoint.errors import InputTypeError
from setpoint.penalty.losses import RefreshBatch
from setpoint.search import Limits
from setpoint.solvers import CrossEntropy, Minibatches, Portfolio
from thinning import over

torch = pytest.importorskip("torch", reason="networks need torch")
pytest.importorskip("safetensors", reason="networks are stored with safetensors")
nn = torch.nn

X, Y = ring()
PORTFOLIO = Portfolio(polish=False)
ENDED = "the scores were no longer finite; it was stopped there"
pytestmark = [
    pytest.mark.filterwarnings(f"ignore::setpoint.{name}")
    for name in ("ConstantGoalWarning", "FewRowsWarning")
]


def methods(clf):
    return {c["method"]: c for c in clf.candidates_}


def normalised(d):
    hidden = nn.Sequential(nn.Linear(d, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout())
    return nn.Sequential(*hidden, nn.Linear(16, 1))


def ticks_of(monkeypatch, clf, X, y):
    """How many batches a training descends on; the fit has a tick of its own."""
    seen = []
    with monkeypatch.context() as patch:
        patch.setattr(Limits, "tick", lambda self: seen.append(1))
        clf.fit(X, y)
    return len(seen) - 1


# ---------------------------------------------------------------------- learning
def test_a_portfolio_is_feasible_and_not_below_cross_entropy():
    clf = network(solver=PORTFOLIO, validation_fraction=1 / 3).fit(*ring(600))
    report, found = clf.goal_report_, methods(clf)
    assert len(found) == 8
    assert not any(ENDED in w for w in report.warnings)
    assert report.satisfied
    assert report.counts.n_rows == 200
    best = clf.candidates_[0]
    assert best["objective"] >= max(0.6, found["cross-entropy"]["objective"])
    # What is stored is what was judged.
    assert report.objective.value == pytest.approx(best["objective"], abs=1e-12)
    assert not clf.module_.training


def test_a_large_linear_model_is_trained_by_minibatches(monkeypatch):
    X, Y = imbalanced()
    full = penalty("f1").fit(X, Y)
    monkeypatch.setattr("setpoint.penalty.classifier._MOST_AT_ONCE", 10)
    clf = penalty("f1", training=Minibatches(learning_rate=0.02, max_epochs=5)).fit(X, Y)
    assert clf.coef_.shape == (1, 4)
    assert clf.goal_report_.objective.value >= full.goal_report_.objective.value - 0.02
    features = clf.preprocessor_.transform(X)
    above = features @ clf.coef_[0] + clf.intercept_[0]
    np.testing.assert_allclose(clf.decision_function(X) + clf.threshold_, above, atol=1e-12)


def test_patience_and_interrupts_end_a_training(monkeypatch):
    clf = network(solver="cross-entropy", schedule={"max_epochs": 500, "patience": 2})
    assert ticks_of(monkeypatch, clf, X, Y) < 1000
    ticks = itertools.count()

    def interrupted(self):
        if next(ticks) == 25:
            raise KeyboardInterrupt

    monkeypatch.setattr(Limits, "tick", interrupted)
    with pytest.warns(StoppedWarning, match="interrupted"):
        clf = network("f1").fit(X, Y)
    assert list(methods(clf)) == ["cross-entropy"]


# ---------------------------------------------------------------------- rows
def test_sparse_rows_are_dense_rows():
    rows = np.where(np.abs(X) < 0.7, 0.0, X)
    dense, sparse = (
        network(schedule={"max_epochs": 3}).fit(form(rows), Y) for form in (np.asarray, csr_array)
    )
    found, wanted = sparse.decision_function(csr_array(rows)), dense.decision_function(rows)
    np.testing.assert_allclose(found, wanted, atol=1e-6)


@over("solver", ["cross-entropy", "sigmoid", "lagrangian"])
def test_a_weight_of_two_is_a_row_twice(solver):
    X, y = ring(120)
    weight = np.where(np.arange(120) % 3 == 0, 2.0, 1.0)
    twice = np.repeat(np.arange(120), weight.astype(int))
    # One batch an epoch, so that what is drawn does not matter.
    schedule = {"batch_size": 200, "max_epochs": 4}
    one, two = (network("f1", schedule=schedule, solver=solver) for _ in range(2))
    one.fit(X, y, sample_weight=weight)
    two.fit(X[twice], y[twice])
    a, b = (clf.module_.state_dict() for clf in (one, two))
    for name, tensor in a.items():
        np.testing.assert_allclose(tensor, b[name], atol=2e-4)


def test_of_many_rows_those_of_a_rare_class_are_all_looked_at(monkeypatch):
    looked, real = [], RefreshBatch.__new__

    def seen(kind, scores, positive, weight=None):
        looked.append((len(positive), positive.sum()))
        return real(kind, scores, positive, weight)

    monkeypatch.setattr(RefreshBatch, "__new__", seen)
    monkeypatch.setattr("setpoint.penalty.classifier._MOST_SEEN", 60)
    X, y = imbalanced(200, share=0.08)
    network("f1", schedule={"max_epochs": 2, "batch_size": 16}).fit(X, y)
    few = [found for found in looked if found[0] < 200]
    assert few
    assert all(n <= 60 + y.sum() and k == y.sum() for n, k in few)


def test_a_last_batch_of_one_row(monkeypatch):
    schedule = {"max_epochs": 1}
    counts = [
        ticks_of(monkeypatch, network("f1", module, schedule, solver="cross-entropy"), *ring(129))
        for module in (normalised, "mlp")
    ]
    assert counts == [2, 3]


# ---------------------------------------------------------------------- modules
def without_argument():
    return nn.Sequential(nn.LazyLinear(1), nn.Flatten(0))


def double(d):
    return nn.Linear(d, 1).double()


@over("module", ["mlp", without_argument, double, normalised])
def test_modules_are_copied_by_their_numbers_and_leave_generators_alone(module, tmp_path):
    torch.manual_seed(7)
    expected = torch.rand(3)
    torch.manual_seed(7)
    schedule = {"max_epochs": 2, "batch_size": 64}
    clf, same, other = (
        network("f1", module, schedule, solver=CrossEntropy(), random_state=seed).fit(*ring(129))
        for seed in (1, 1, 2)
    )
    assert torch.equal(torch.rand(3), expected)
    assert clf.parameters_ == same.parameters_ != other.parameters_
    assert isinstance(clf.module_, nn.Module)
    state = clf.module_.state_dict()
    assert all((t.dtype == torch.float64) == (module is double) for t in state.values()
               if t.is_floating_point())  # fmt: skip
    with pytest.raises(AttributeError, match="coef_ is there for linear models only"):
        _ = clf.coef_
    copies = [pickle.loads(pickle.dumps(clf))]
    if module == "mlp":  # of others the function is not trusted
        save_model(clf, tmp_path / "a.skops")
        copies.append(load_model(tmp_path / "a.skops"))
    for copy in copies:
        assert np.array_equal(copy.decision_function(X), clf.decision_function(X))


def test_a_module_that_is_made_already_and_torch_that_is_not_there(monkeypatch):
    with pytest.raises(InputTypeError, match="made already"):
        network(module=nn.Linear(4, 1)).fit(X, Y)
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ImportError, match=re.escape("pip install 'setpoint[torch]'")):
        network().fit(X, Y)


# ---------------------------------------------------------------------- where numbers end
def test_nothing_finite_at_all():
    rows = X.copy()
    rows[0, 0] = 1e300  # infinite in single precision
    with pytest.raises(StoppedError, match=f"cross-entropy: {ENDED}; profiled threshold: {ENDED}"):
        network().fit(rows, Y)


# ---------------------------------------------------------------------- machines
@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device")
@pytest.mark.parametrize("matrix", [np.asarray, csr_array])
def test_on_a_gpu(matrix):
    clf = network(module=normalised, schedule={"device": "auto", "max_epochs": 12})
    report = clf.set_params(solver=PORTFOLIO).fit(matrix(X), Y).goal_report_
    assert not any(ENDED in w for w in report.warnings)
    assert report.satisfied
    assert report.objective.value > 0.5


@pytest.mark.long
def test_a_million_rows_in_two_gigabytes():
    code = """
import resource
import numpy as np
from penalty.samples import network
from setpoint.solvers import Portfolio
rng = np.random.default_rng(0)
X = rng.normal(size=(1_000_000, 50))
y = X[:, 0] + rng.normal(size=len(X)) > 2.0
schedule = {"max_epochs": 1, "batch_size": 4096, "learning_rate": 1e-3}
clf = network(schedule=schedule, solver=Portfolio(polish=False)).fit(X, y)
assert len(clf.candidates_) == 8
most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
assert most < 2.0, most
"""
    subprocess.run([sys.executable, "-c", code], cwd=Path(__file__).parents[1], check=True)
