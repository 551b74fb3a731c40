"""Networks without their last layer: features, heads, copies, and what has none."""

import copy
import pickle

import numpy as np
import pytest
import skops.io
from scipy import sparse

from setpoint.surrogates.problem import Matrix, OnDevice, fit_body
from thinning import over

torch = pytest.importorskip("torch")
pytest.importorskip("safetensors")
nn = torch.nn

D = 4


def rows(n=300, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, D))
    return X, (X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=n) > 0.2).astype(np.int64)


X, TRUE = rows()


def body_of(module, X=X, true=TRUE, weight=None, epochs=3, seed=0):
    return fit_body(module, X, true, weight, epochs=epochs, device="cpu", seed=seed)


def scores(body, X=X):
    return body.features(X) @ body.head[:-1] + body.head[-1]


# ---------------------------------------------------------------------- modules
def wide(d):
    return nn.Sequential(nn.Linear(d, 8), nn.Tanh(), nn.Linear(8, 1))


def noisy(d):
    hidden = nn.Sequential(nn.Linear(d, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.5))
    return nn.Sequential(hidden, nn.Linear(16, 1), nn.Flatten(0))


def lazy():
    return nn.Sequential(nn.LazyLinear(8), nn.LazyLinear(1))


class Gated(nn.Module):
    """Its last layer is defined first, and another of one output runs before it."""

    def __init__(self, d=D):
        super().__init__()
        self.head = nn.Linear(d, 1, bias=False)
        self.gate = nn.Linear(d, 1)

    def forward(self, x):
        weighed = x * torch.sigmoid(self.gate(x))
        return self.head(input=weighed[:, None, :])[:, 0, 0]


def twice(d):
    """One layer, whose second run is the last."""
    first = nn.Linear(d, d)
    return nn.Sequential(first, nn.ReLU(), first, nn.utils.parametrizations.weight_norm(last(d)))


def last(d):
    return nn.Linear(d, 1)


GOOD = ["mlp", noisy, lazy, Gated, twice]


@pytest.fixture
def trained():
    """A module that was trained elsewhere."""
    torch.manual_seed(3)
    module = noisy(D)
    module(torch.randn(64, D))
    return module


# ---------------------------------------------------------------------- features and head
@over("module", GOOD)
def test_features_and_head_are_the_module_and_so_are_copies(module):
    body = body_of(module)
    found = body.features(X)
    assert found.dtype == body.head.dtype == np.float64
    assert found.shape == (len(X), len(body.head) - 1)
    network = body._network()
    assert not network.training
    with torch.no_grad():
        kind = next(network.parameters()).dtype
        out = network(torch.from_numpy(X).to(kind)).reshape(-1).double().numpy()
    np.testing.assert_allclose(scores(body), out, rtol=0, atol=1e-5)
    matrix = body.matrix(X)
    np.testing.assert_allclose(matrix.scores(body.head), scores(body))
    assert isinstance(matrix, Matrix)
    for other in (pickle.loads(pickle.dumps(body)), copy.deepcopy(body)):
        assert np.array_equal(other.head, body.head)
        assert np.array_equal(other.features(X), found)
    data = skops.io.dumps(body)
    held = set(skops.io.get_untrusted_types(data=data))
    own = {
        "setpoint.surrogates.problem.FrozenBody",
        f"{__name__}.{getattr(module, '__name__', '')}",
    }
    assert held <= own
    assert np.array_equal(scores(skops.io.loads(data, trusted=sorted(held))), scores(body))


def test_neither_sparse_rows_nor_batches_matter(monkeypatch):
    S = np.where(np.abs(X) > 0.7, X, 0.0)
    body, thin = body_of(noisy, S), sparse.csr_array(S)
    found, whole = body_of(noisy, thin), body.features(S)
    assert np.array_equal(found.head, body.head)
    assert np.array_equal(found.features(thin), whole)
    monkeypatch.setattr("setpoint.classifiers.modules.rows_at_once", lambda d: 7)
    np.testing.assert_allclose(body.features(S), whole, rtol=0, atol=1e-6)
    assert body.features(S[:0]).shape == (0, 16)
    np.testing.assert_allclose(body.features(S[:1]), whole[:1], rtol=0, atol=1e-6)
    for n in (129, 33):  # a last batch of one row has no variance
        body_of(noisy, *rows(n), epochs=1)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device")
def test_on_a_gpu():
    body = fit_body(noisy, X, TRUE, None, epochs=3, device="cuda", seed=0)
    there = body.matrix(X, "auto")
    assert isinstance(there, OnDevice)
    assert there.X.device.type == "cuda"
    np.testing.assert_allclose(there.scores(body.head), scores(body), atol=1e-4)


def test_the_same_seed_gives_the_same_bits():
    torch.manual_seed(7)
    expected = torch.rand(3)
    torch.manual_seed(7)
    a, b, c = (body_of(noisy, seed=s) for s in (1, 1, 2))
    assert torch.equal(torch.rand(3), expected)
    assert a.state == b.state != c.state
    assert np.array_equal(a.head, b.head)


def test_training_lowers_the_logistic_loss_and_goes_by_weights():
    w = np.ones(len(X))
    w[:100] = 0.0
    assert body_of(noisy, weight=w).state == body_of(noisy, X[100:], TRUE[100:]).state
    assert body_of(noisy, weight=2.0 * w).state == body_of(noisy, weight=w).state
    # At no positive weighs much, and at every positive: the mean score follows.
    low, high = (
        scores(body_of(wide, weight=np.where(TRUE == 1, w, 1.0), epochs=40)).mean()
        for w in (0.1, 10.0)
    )
    assert low < -1.0
    assert high > low + 3.0
    rough, fine = (scores(body_of("mlp", epochs=e)) * np.where(TRUE, -1, 1) for e in (1, 20))
    assert np.logaddexp(0.0, fine).mean() < 0.5 * np.logaddexp(0.0, rough).mean()


def test_a_trained_module_is_copied_and_not_changed(trained):
    before = copy.deepcopy(trained.state_dict())
    with torch.no_grad():
        out = copy.deepcopy(trained).eval()(torch.from_numpy(X).float())
    expected = out.reshape(-1).double().numpy()
    body = body_of(trained, epochs=50)
    assert trained.training
    assert all(torch.equal(v, before[k]) for k, v in trained.state_dict().items())
    assert not any(m._forward_hooks or m._forward_pre_hooks for m in trained.modules())
    frozen = body_of(copy.deepcopy(trained).requires_grad_(False))
    for p in trained.parameters():
        nn.init.zeros_(p)
    for found in (body, frozen, pickle.loads(pickle.dumps(body)), copy.deepcopy(body)):
        np.testing.assert_allclose(scores(found), expected, atol=1e-5)


# ---------------------------------------------------------------------- what is refused
class Made(nn.Module):
    """Some layers, and what is done with them."""

    def __init__(self, how, **layers):
        super().__init__()
        self.how, self.layers = how, nn.ModuleDict(layers)

    def forward(self, x):
        return self.how(x, **self.layers)


class Squared(nn.Linear):
    """A Linear in name."""

    def forward(self, x):
        return super().forward(x) ** 2


NO_HEAD = "output is not that of its last Linear layer with one output"
NO_MODULE = [
    (lambda: nn.Sequential(wide(D), nn.ReLU()), NO_HEAD),
    (lambda: nn.Sequential(nn.Linear(D, 3), nn.AvgPool1d(3)), NO_HEAD),
    (lambda: Made(lambda x, a, b: a(x) + b(x), a=last(D), b=last(D)), NO_HEAD),
    (lambda: Squared(D, 1), NO_HEAD),
    # As many outputs of the last layer as there are features.
    (lambda: Made(lambda x, head: head(x[:, :, None]).mean(1), head=last(1)), NO_HEAD),
    (
        lambda: Made(lambda x, head: head(nn.functional.dropout(x)), head=last(D)),
        "other logits for the same rows a second time",
    ),
    (lambda: nn.Linear(D, 2), r"a Tensor of shape \(2, 2\) of 2 rows"),
    (lambda: wide(D + 1), "cannot take rows of 4 features"),
]


def test_modules_without_a_last_layer(trained):
    for factory, message in NO_MODULE:
        for module in (factory, factory()):
            with pytest.raises(ValueError, match=message):
                body_of(module, epochs=1)
    for module, error, message in (
        ("tree", TypeError, "`module='tree'`"),
        (lambda d: 3, TypeError, "returned a int"),
        (lazy(), ValueError, "lazy layers that have not seen any rows"),
    ):
        with pytest.raises(error, match=message):
            body_of(module)
    with pytest.raises(ValueError, match="`device='nonsense'` cannot be used"):
        fit_body("mlp", X, TRUE, None, epochs=1, device="nonsense", seed=0)
    with torch.no_grad():
        next(trained.parameters())[0] = float("nan")
    with pytest.raises(ValueError, match="logits that are not finite on the rows of X"):
        body_of(trained)


# ---------------------------------------------------------------------- features on a device
@over(("kind", "atol"), [(torch.float32, 1e-5), (torch.float64, 1e-12)])
def test_a_tensor_is_the_matrix(kind, atol):
    rng = np.random.default_rng(0)
    matrix, tensor = Matrix(X), OnDevice(torch.from_numpy(X).to(kind))
    many, one = rng.normal(size=(7, D + 1)), rng.normal(size=D + 1)
    many.flags.writeable = False
    r = rng.normal(size=len(X)) / len(X)
    for w in (many, one, many[:, ::-1]):
        found = tensor.scores(w)
        assert found.dtype == np.float64
        np.testing.assert_allclose(found, matrix.scores(w), rtol=0, atol=atol)
    np.testing.assert_allclose(tensor.pull(r), matrix.pull(r), rtol=0, atol=atol)
    assert tensor.length() == pytest.approx(matrix.length(), rel=0, abs=atol)
