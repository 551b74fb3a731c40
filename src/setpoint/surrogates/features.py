"""Feature matrices as the family uses them: scores of many models, and gradients."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from setpoint.array_types import Floats
from setpoint.errors import InputError
from setpoint.estimators.modules import (
    as_batch,
    batch_size_for,
    build,
    check_output,
    device_for,
    dtype_of,
    logits,
    module_of,
    needed,
    rows_at_once,
    seeded,
    to_bytes,
)

if TYPE_CHECKING:
    import torch


class FeatureMatrix(Protocol):
    """Rows of features; parameters are coefficients and, last, the intercept."""

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and features, N and d."""

    def scores(self, w: Floats) -> Floats:
        """Scores (m, n) of parameters (m, d + 1), or (n,) of (d + 1,)."""

    def pull(self, r: Floats) -> Floats:
        """The gradient (d + 1,) from a gradient (n,) with respect to the scores."""

    def length(self) -> float:
        """The root mean square of the rows' norms, the intercept's one included."""


@dataclass(frozen=True, eq=False)
class Matrix:
    """Dense or CSR features in memory.

    Examples
    --------
    >>> Matrix(np.array([[1.0, 2.0]])).scores(np.array([3.0, 4.0, -1.0]))
    array([10.])
    """

    X: Any

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and features."""
        return self.X.shape[0], self.X.shape[1]

    def scores(self, w: Floats) -> Floats:
        """Scores (m, N) of m models, or (N,) of one."""
        # One product with a matrix for all models.
        return np.asarray((self.X @ w[..., :-1].T).T + w[..., -1:])

    def pull(self, r: Floats) -> Floats:
        """The gradient (d + 1,) from one (N,) with respect to the scores."""
        return np.append(self.X.T @ r, r.sum())

    def length(self) -> float:
        """The root mean square of the rows' norms, with the intercept's one."""
        squares = self.X.multiply(self.X) if hasattr(self.X, "multiply") else self.X * self.X
        return float(np.sqrt(squares.sum() / max(self.shape[0], 1) + 1.0))


@dataclass(frozen=True, eq=False)
class OnDevice:
    """Dense features as a tensor, where a GPU makes the products.

    Examples
    --------
    >>> import torch
    >>> OnDevice(torch.tensor([[1.0, 2.0]])).scores(np.array([3.0, 4.0, -1.0]))
    array([10.])
    """

    X: torch.Tensor

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and features."""
        return int(self.X.shape[0]), int(self.X.shape[1])

    def scores(self, w: Floats) -> Floats:
        """Scores (m, N) of m models, or (N,) of one."""
        return _back(self._there(w[..., :-1]) @ self.X.T) + w[..., -1:]

    def pull(self, r: Floats) -> Floats:
        """The gradient (d + 1,) from one (N,) with respect to the scores."""
        return np.append(_back(self._there(r) @ self.X), r.sum())

    def length(self) -> float:
        """The root mean square of the rows' norms, with the intercept's one."""
        # The norm of each row there, their sum here: not every device has float64.
        norms = _back(self.X.norm(dim=1))
        return float(np.sqrt(norms @ norms / max(self.shape[0], 1) + 1.0))

    def _there(self, x: Floats) -> torch.Tensor:
        import torch

        own = np.array(x, order="C")  # torch takes neither read-only nor reversed arrays
        return torch.from_numpy(own).to(self.X.dtype).to(self.X.device)


def _back(x: torch.Tensor) -> Floats:
    return np.asarray(x.cpu().numpy(), np.float64)


# --- Networks for the family: a trained body gives the features -----------------------------------


_RATE = 1e-3
_LOOKED = 64
"""Rows on which the last layer is looked for."""


@dataclass(frozen=True, eq=False)
class FrozenBody:
    """A network without its last layer."""

    module: Any
    state: bytes | None
    layer: str
    head: Floats
    n_features: int

    def features(self, X: Any, device: str = "cpu") -> Floats:
        """What the last layer is given."""
        torch = needed("torch")
        out = torch.empty((X.shape[0], len(self.head) - 1), dtype=torch.float64)
        self._fill(out, X, device_for(device))
        return np.asarray(out.numpy())

    def matrix(self, X: Any, device: str = "cpu") -> FeatureMatrix:
        """The same for the search: in memory on the CPU, else where the network ran."""
        torch, device = needed("torch"), device_for(device)
        if device == "cpu":
            return Matrix(self.features(X))
        exact = torch.float64 if dtype_of(self._network()) == torch.float64 else torch.float32
        out = torch.empty((X.shape[0], len(self.head) - 1), dtype=exact, device=device)
        self._fill(out, X, device)
        return OnDevice(out)

    def _network(self) -> torch.nn.Module:
        """The network in evaluation mode, the caller's own: threads may ask at once."""
        if self.state is not None:
            return module_of(self.module, self.state, self.n_features)
        own: torch.nn.Module = copy.deepcopy(self.module)
        return own.eval()

    def _fill(self, out: torch.Tensor, X: Any, device: str) -> None:
        network = self._network().to(device)
        given = _inputs(network.get_submodule(self.layer))
        like, size = dtype_of(network), rows_at_once(X.shape[1])
        with needed("torch").no_grad():
            for start in range(0, X.shape[0], size):
                rows = slice(start, min(start + size, X.shape[0]))
                network(as_batch(X, rows, like).to(device))
                out[rows] = given[-1].reshape(rows.stop - start, out.shape[1])
                given.clear()


def fit_body(
    module: str | Callable[..., Any],
    X: Any,
    true: NDArray[np.int64],
    weight: Floats | None,
    *,
    epochs: int,
    device: str,
    seed: int,
) -> FrozenBody:
    """Train a network by the logistic loss, or take one that is trained.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> true = (X[:, 0] * X[:, 1] > 0).astype(int)
    >>> body = fit_body("mlp", X, true, None, epochs=2, device="cpu", seed=0)
    >>> body.features(X).shape, body.head.shape
    ((200, 64), (65,))
    """
    torch, device = needed("torch"), device_for(device)
    if weight is not None:
        kept = np.flatnonzero(weight)
        X, true, weight = X[kept], true[kept], weight[kept]
    d, state, network = X.shape[1], None, None
    if isinstance(module, torch.nn.Module):
        module = network = _ready(module, d)
    else:
        network = build(module, d, seed)
        _train(network, X, true, weight, epochs, device, seed)
        state = to_bytes(network.cpu().eval())
    looked = as_batch(X, slice(0, _LOOKED), dtype_of(network))
    return FrozenBody(module, state, *_last_layer(network, looked), d)


def _ready(module: torch.nn.Module, n_features: int) -> torch.nn.Module:
    """A copy on the CPU in evaluation mode."""
    from torch.nn.parameter import UninitializedParameter

    if any(isinstance(p, UninitializedParameter) for p in module.parameters()):
        raise InputError(
            "`module` has lazy layers that have not seen any rows, so it is not trained: give a "
            "trained module, or a function that makes one to be trained here"
        )
    own = copy.deepcopy(module).cpu().eval()
    check_output(own, n_features)
    return own


def _train(
    network: torch.nn.Module,
    X: Any,
    true: NDArray[np.int64],
    weight: Floats | None,
    epochs: int,
    device: str,
    seed: int,
) -> None:
    import torch
    from torch.nn.functional import binary_cross_entropy_with_logits as logistic

    n, like = X.shape[0], dtype_of(network)
    exact = torch.float64 if like == torch.float64 else torch.float32
    # Of a mean of one over all rows, not over a batch: a heavy row counts alike in each.
    shares = np.ones(n) if weight is None else weight / weight.mean()
    y = torch.from_numpy(np.asarray(true, np.float64)).to(device, exact)
    w = torch.from_numpy(shares).to(device, exact)
    network.to(device).train()
    optimizer = torch.optim.Adam([p for p in network.parameters() if p.requires_grad], lr=_RATE)
    rng = np.random.default_rng(seed)
    # Batches of all but the same size: none has a single row, which has no variance.
    n_batches = -(-n // batch_size_for(n))
    with seeded(seed, 1):
        for _ in range(epochs):
            for rows in np.array_split(rng.permutation(n), n_batches):
                at = torch.from_numpy(rows).to(device)
                z = logits(network, as_batch(X, rows, like).to(device)).to(exact)
                optimizer.zero_grad(set_to_none=True)
                logistic(z, y[at], w[at]).backward()  # type: ignore[no-untyped-call]
                optimizer.step()


def _inputs(layer: torch.nn.Module) -> list[torch.Tensor]:
    """A list that grows by what the layer is given, whenever it runs."""
    given: list[torch.Tensor] = []

    def keep(_: Any, args: Any, named: Any) -> None:
        given.append(next(iter((*args, *named.values()))))

    layer.register_forward_pre_hook(keep, with_kwargs=True)
    return given


def _last_layer(network: torch.nn.Module, x: torch.Tensor) -> tuple[str, Floats]:
    """The name and the parameters of the layer whose output is the network's."""
    import torch

    network = copy.deepcopy(network)  # its hooks go with it
    ran: list[str] = []
    for name, part in network.named_modules():
        if isinstance(part, torch.nn.Linear) and part.out_features == 1:
            part.register_forward_hook(lambda *_, name=name: ran.append(name))
    with torch.no_grad():
        out = logits(network, x).double()
    if not out.isfinite().all():
        raise InputError("module gives logits that are not finite on the rows of X")
    if not ran:
        raise _no_last_layer()
    name = ran[-1]
    layer = network.get_submodule(name)
    assert isinstance(layer, torch.nn.Linear)
    # Small whole numbers around 0: exact in every precision, and whatever bends bends them.
    given, probe = _inputs(layer), torch.arange(len(x)) - len(x) // 2

    def replaced(_layer: Any, _args: Any, z: torch.Tensor) -> torch.Tensor:
        return probe.reshape(z.shape).to(z.dtype) if z.numel() == len(probe) else z

    with torch.no_grad():
        again = logits(network, x).double()
        features = given[-1].double()
        layer.register_forward_hook(replaced)
        probed = logits(network, x).double()
    if not torch.equal(out, again):
        raise InputError(
            "module gives other logits for the same rows a second time in evaluation mode: "
            "something in it draws at random there"
        )
    if not torch.equal(probed, probe.double()):
        raise _no_last_layer()
    bias: torch.Tensor | None = layer.bias
    w = layer.weight.detach().double().reshape(-1)
    b = w.new_zeros(1) if bias is None else bias.detach().double()
    features = features.reshape(len(x), len(w))
    # A subclass of Linear may do anything: what it gives shall be the product, but for rounding.
    size = features.abs() @ w.abs() + b.abs()
    allowed = (len(w) + 1) * torch.finfo(dtype_of(network)).eps * size
    if ((features @ w + b - out).abs() > allowed).any():
        raise _no_last_layer()
    return name, torch.cat([w, b]).numpy()


def _no_last_layer() -> ValueError:
    return InputError(
        "the module's output is not that of its last Linear layer with one output, so it has no "
        "last layer to search over: what such a torch.nn.Linear gives shall be the logits"
    )
