"""The rows of the search: features, and the two samples."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression

from setpoint.array_types import Floats
from setpoint.blackbox import RowMetric, rows_taken
from setpoint.classifiers import folds_of, modules
from setpoint.errors import InputError
from setpoint.solvers import FirstModel
from setpoint.surrogates.losses import Back, Losses, RowGroup, losses_on

if TYPE_CHECKING:
    import torch

    from setpoint.classifiers import FitData


# --- Feature matrices as the family uses them: scores of many models ------------------------------


@dataclass(frozen=True, eq=False)
class Matrix:
    """Rows of features in memory, dense or CSR; parameters end with the intercept.

    Examples
    --------
    >>> Matrix(np.array([[1.0, 2.0]])).scores(np.array([3.0, 4.0, -1.0]))
    array([10.])
    """

    X: Any

    def scores(self, w: Floats) -> Floats:
        """Scores (m, N) of m models (m, d + 1), or (N,) of one."""
        # One product with a matrix for all models.
        return np.asarray((self.X @ w[..., :-1].T).T + w[..., -1:])

    def pull(self, r: Floats) -> Floats:
        """The gradient (d + 1,) from one (N,) with respect to the scores."""
        return np.append(self.X.T @ r, r.sum())

    def length(self) -> float:
        """The root mean square of the rows' norms, with the intercept's one."""
        squares = self.X.multiply(self.X) if hasattr(self.X, "multiply") else self.X * self.X
        return float(np.sqrt(squares.sum() / max(self.X.shape[0], 1) + 1.0))


class OnDevice(Matrix):
    """Dense features as a tensor, where a GPU makes the products.

    Examples
    --------
    >>> import torch
    >>> OnDevice(torch.tensor([[1.0, 2.0]])).scores(np.array([3.0, 4.0, -1.0]))
    array([10.])
    """

    def scores(self, w: Floats) -> Floats:
        """Scores (m, N) of m models (m, d + 1), or (N,) of one."""
        return _back(self._there(w[..., :-1]) @ self.X.T) + w[..., -1:]

    def pull(self, r: Floats) -> Floats:
        """The gradient (d + 1,) from one (N,) with respect to the scores."""
        return np.append(_back(self._there(r) @ self.X), r.sum())

    def length(self) -> float:
        """The root mean square of the rows' norms, with the intercept's one."""
        # The norm of each row there, their sum here: not every device has float64.
        norms = _back(self.X.norm(dim=1))
        return float(np.sqrt(norms @ norms / max(self.X.shape[0], 1) + 1.0))

    def _there(self, x: Floats) -> torch.Tensor:
        own = np.array(x, order="C")  # torch takes neither read-only nor reversed arrays
        return modules.needed("torch").from_numpy(own).to(self.X.dtype).to(self.X.device)  # type: ignore[no-any-return]


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
        torch = modules.needed("torch")
        out = torch.empty((X.shape[0], len(self.head) - 1), dtype=torch.float64)
        self._fill(out, X, modules.device_for(device))
        return np.asarray(out.numpy())

    def matrix(self, X: Any, device: str = "cpu") -> Matrix:
        """The same for the search: in memory on the CPU, else where the network ran."""
        torch, device = modules.needed("torch"), modules.device_for(device)
        if device == "cpu":
            return Matrix(self.features(X))
        double = modules.dtype_of(self._network()) == torch.float64
        exact = torch.float64 if double else torch.float32
        out = torch.empty((X.shape[0], len(self.head) - 1), dtype=exact, device=device)
        self._fill(out, X, device)
        return OnDevice(out)

    def _network(self) -> torch.nn.Module:
        """The network in evaluation mode, the caller's own: threads may ask at once."""
        if self.state is not None:
            return modules.module_of(self.module, self.state, self.n_features)
        own: torch.nn.Module = copy.deepcopy(self.module)
        return own.eval()

    def _fill(self, out: torch.Tensor, X: Any, device: str) -> None:
        network = self._network().to(device)
        given = _inputs(network.get_submodule(self.layer))
        like, size = modules.dtype_of(network), modules.rows_at_once(X.shape[1])
        with modules.needed("torch").no_grad():
            for rows in modules.batches(X.shape[0], size):
                network(modules.as_batch(X, rows, like).to(device))
                out[rows] = given[-1].reshape(rows.stop - rows.start, out.shape[1])
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
    torch, device = modules.needed("torch"), modules.device_for(device)
    if weight is not None:
        kept = np.flatnonzero(weight)
        X, true, weight = X[kept], true[kept], weight[kept]
    d, state = X.shape[1], None
    if isinstance(module, torch.nn.Module):
        if any(isinstance(p, torch.nn.UninitializedParameter) for p in module.parameters()):
            raise InputError(
                "`module` has lazy layers that have not seen any rows, so it is not trained: give "
                "a trained module, or a function that makes one to be trained here"
            )
        module = network = copy.deepcopy(module).cpu().eval()
        modules.check_output(network, d)
    else:
        network = modules.build(module, d, seed)
        _train(network, X, true, weight, epochs, device, seed)
        state = modules.to_bytes(network.cpu().eval())
    looked = modules.as_batch(X, slice(0, _LOOKED), modules.dtype_of(network))
    return FrozenBody(module, state, *_last_layer(network, looked), d)


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

    n, like = X.shape[0], modules.dtype_of(network)
    exact = torch.float64 if like == torch.float64 else torch.float32
    # Of a mean of one over all rows, not over a batch: a heavy row counts alike in each.
    shares = np.ones(n) if weight is None else weight / weight.mean()
    y = torch.from_numpy(np.asarray(true, np.float64)).to(device, exact)
    w = torch.from_numpy(shares).to(device, exact)
    network.to(device).train()
    optimizer = torch.optim.Adam([p for p in network.parameters() if p.requires_grad], lr=_RATE)
    rng = np.random.default_rng(seed)
    # Batches of all but the same size: none has a single row, which has no variance.
    n_batches = -(-n // modules.batch_size_for(n))
    with modules.seeded(seed, 1):
        for _ in range(epochs):
            for rows in np.array_split(rng.permutation(n), n_batches):
                at = torch.from_numpy(rows).to(device)
                z = modules.logits(network, modules.as_batch(X, rows, like).to(device)).to(exact)
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
        out = modules.logits(network, x).double()
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
        again = modules.logits(network, x).double()
        features = given[-1].double()
        layer.register_forward_hook(replaced)
        probed = modules.logits(network, x).double()
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
    allowed = (len(w) + 1) * torch.finfo(modules.dtype_of(network)).eps * size
    if ((features @ w + b - out).abs() > allowed).any():
        raise _no_last_layer()
    return name, torch.cat([w, b]).numpy()


def _no_last_layer() -> ValueError:
    return InputError(
        "the module's output is not that of its last Linear layer with one output, so it has no "
        "last layer to search over: what such a torch.nn.Linear gives shall be the logits"
    )


# --- The two samples: surrogates on training rows -------------------------------------------------


_MEMORY = 10
"""Past steps that the quasi-Newton method remembers."""

_FLAT = 1e-6
"""Mean slope of the surrogates below which no method finds a way."""

_HALVINGS = 60


@dataclass(frozen=True, eq=False)
class Fold:
    """The rows of a model that begins as `first`: to train on by surrogates, and to score."""

    train: Matrix
    losses: Losses
    held: Matrix | None
    index: NDArray[np.int64]
    first: Floats = field(default_factory=lambda: np.zeros(0))
    body: FrozenBody | None = None

    def at(self, w: Floats) -> tuple[Floats, Back]:
        """Surrogates (K,) of a model, and the way back from weights (K,) to rows."""
        return self.losses.at(self.train.scores(w))

    def descended(
        self, start: Floats, of: Callable[[Floats], tuple[float, Floats]], iterations: int
    ) -> Floats:
        """The model (d + 1,) with less of what `of` gives of surrogates: a number, and slopes."""
        back = self.at(start)[1]
        each = np.ones(len(self.losses))
        # The same decisions from smaller scores, where sigmoids of larger ones have no slope.
        for _ in range(_HALVINGS):
            if np.abs(back(each)).sum() > _FLAT * len(each):
                break
            start = start / 2.0
            back = self.at(start)[1]

        def function(w: Floats) -> tuple[float, Floats]:
            u, back = self.at(w)
            value, slopes = of(u)
            return value, self.train.pull(back(slopes))

        options: Any = {"maxiter": iterations, "maxcor": _MEMORY, "ftol": 1e-12, "gtol": 1e-10}
        found = minimize(function, start, jac=True, method="L-BFGS-B", options=options)
        return np.asarray(found.x)


@dataclass(frozen=True, eq=False)
class Sample:
    """One model a fold, moved in step: all share one path through the surrogates' space."""

    folds: Sequence[Fold]
    n_rows: int
    on_metric: Losses | None = None
    own: NDArray[np.int64] | None = None

    @cached_property
    def judged(self) -> list[tuple[int, Fold, Matrix]]:
        """The folds that score rows of the metric, each with its place and those rows."""
        return [(i, f, f.held) for i, f in enumerate(self.folds) if f.held is not None]

    @cached_property
    def first(self) -> Floats:
        """The models (folds, d + 1) that a search begins with."""
        return np.stack([fold.first for fold in self.folds])

    @property
    def names(self) -> tuple[str, ...]:
        """Of the surrogates."""
        return self.folds[0].losses.names

    @property
    def n_parameters(self) -> int:
        """Of one model."""
        return int(self.folds[0].train.X.shape[1]) + 1

    @cached_property
    def length(self) -> float:
        """The root mean square of the norms of the metric's rows."""
        squares = sum(held.length() ** 2 * held.X.shape[0] for _, _, held in self.judged)
        return float(np.sqrt(squares / self.n_rows))

    def scores(self, models: Floats) -> Floats:
        """Scores of the metric's rows: (n,) at (folds, d + 1), (m, n) at (folds, m, d + 1)."""
        out = np.empty((*models.shape[1:-1], self.n_rows))
        for i, fold, held in self.judged:
            out[..., fold.index] = held.scores(models[i])
        return out

    def own_scores(self, models: Floats) -> Floats | None:
        """Scores (n,) of the metric's rows by the model that is kept, where it trains on them."""
        if self.own is None:
            return None
        return self.folds[-1].train.scores(models[-1])[self.own]

    def values(self, models: Floats) -> Floats:
        """Surrogates (m, K) at perturbed models (folds, m, d + 1): means over the folds."""
        found = [f.losses.values(f.train.scores(models[i])) for i, f, _ in self.judged]
        return np.asarray(np.mean(found, axis=0))

    def stepped(self, models: Floats, step: Floats, iterations: int) -> tuple[Floats, Floats]:
        """Models whose surrogates have gone down by `step` (K,), as far as that can be."""
        out, above = np.empty_like(models), np.zeros(len(self.names))
        for i, fold in enumerate(self.folds):
            target = fold.at(models[i])[0] - step

            def excess(u: Floats, target: Floats = target) -> tuple[float, Floats]:
                over = np.maximum(u - target, 0.0)
                return float(over @ over) / 2.0, over

            out[i] = fold.descended(models[i], excess, iterations)
            above += np.maximum(fold.at(out[i])[0] - target, 0.0)
        if not above.any():
            above = np.maximum(step, 0.0)
        total = above.sum()
        return out, above / total if total > 0 else above

    def weighed(self, start: Floats, weights: Floats, iterations: int) -> Floats:
        """Models of the least weighted sum of the surrogates."""

        def total(u: Floats) -> tuple[float, Floats]:
            return float(weights @ u), weights

        pairs = zip(self.folds, start, strict=True)
        return np.stack([fold.descended(first, total, iterations) for fold, first in pairs])


# --- From what ``fit`` is given to the two samples: which rows train a model ----------------------


Rows = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class SurrogateRows:
    """The rows that surrogates are counted on, and how models are made of them."""

    features: Any
    true: NDArray[np.int64]
    weight: Floats | None
    groups: Sequence[RowGroup]
    kinds: tuple[Any, ...]
    labels: tuple[Any, ...]
    first: FirstModel
    module: Any
    seed: int

    @property
    def rows(self) -> Rows:
        """Those of positive weight."""
        return np.flatnonzero(np.ones(len(self.true)) if self.weight is None else self.weight)

    def fold(self, rows: Rows, held: Any, index: Rows, where: str = "") -> Fold:
        """A fold of some rows."""
        X, true = self.features[rows], self.true[rows]
        weight = None if self.weight is None else self.weight[rows]
        groups = [RowGroup(group.name, group.rows[rows]) for group in self.groups]
        losses = losses_on(self.kinds, groups, true, weight, self.labels, where)
        if isinstance(self.module, str) and self.module == "linear":
            model = LogisticRegression(C=float(self.first.C), max_iter=1000).fit(X, true, weight)
            first, body = np.append(model.coef_[0], model.intercept_[0]), None
        else:
            how: Any = {"epochs": int(self.first.epochs), "device": self.first.device}
            body = fit_body(self.module, X, true, weight, seed=self.seed, **how)
            first = body.head

        def matrix(X: Any) -> Matrix:
            return Matrix(X) if body is None else body.matrix(X, self.first.device)

        judged = None if held is None else matrix(held)
        return Fold(matrix(X), losses, judged, index, first, body)


def of_validation(training: SurrogateRows, held: Any, metric: RowMetric) -> Sample:
    """Surrogates on the training rows, the metric on others."""
    everything = np.arange(metric.n_rows)
    return Sample([training.fold(training.rows, held[metric.kept], everything)], metric.n_rows)


def of_folds(
    training: SurrogateRows, metric: RowMetric, splits: list[tuple[Rows, Rows]], both: bool
) -> tuple[Sample, RowMetric, Rows]:
    """Each row's metric from a model not trained on it, and a model of all rows; which rows."""
    pooled = np.concatenate([test for _, test in splits])
    # In the order that they were given in: a function may know its rows by their place.
    order = np.argsort(pooled, kind="stable")
    index = pooled[order]
    judged = rows_taken(metric, index, len(training.true))
    places = np.split(np.argsort(order), np.cumsum([len(test) for _, test in splits])[:-1])
    made = []
    for i, ((train, test), place) in enumerate(zip(splits, places, strict=True), 1):
        where = f" in the training rows of fold {i}"
        made.append(training.fold(train, training.features[test], place, where))
    made.append(training.fold(training.rows, None, np.empty(0, np.int64)))
    on_metric = None
    if both:
        groups = [RowGroup(group.name, group.rows[index]) for group in training.groups]
        on_metric = losses_on(
            training.kinds, groups, judged.true, judged.weight, training.labels, " that are judged"
        )
    own = np.searchsorted(training.rows, index)
    return Sample(made, judged.n_rows, on_metric, own), judged, index


def splits_of(cv: Any, data: FitData, seed: int) -> list[tuple[Rows, Rows]]:
    """Rows to train on and rows to judge on, those of weight zero left out."""
    weight, out = data.weight, folds_of(cv, data.X, data.y, seed, units=data.units)
    if weight is not None:
        out = [(train[weight[train] > 0], test[weight[test] > 0]) for train, test in out]
    if not out or any(len(train) == 0 or len(test) == 0 for train, test in out):
        raise InputError("`cv`: a fold has no rows of positive weight to train or to judge on")
    return out
