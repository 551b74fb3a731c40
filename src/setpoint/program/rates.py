"""Rates as linear functions of the counts, of accepted weights, and in diagonal form."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from setpoint.array_types import Floats
from setpoint.counts import Codebook, Marginals
from setpoint.goals import Event
from setpoint.program import functions as fn

if TYPE_CHECKING:
    from scipy import sparse


# --- Rates: the few linear functions of the counts that a goal depends on -------------------------


Factors: TypeAlias = tuple[Floats, Floats, float, float]
"""Masks over true (n + 1,) and predicted (n,) classes; what their outer product and that on the
diagonal count."""


@lru_cache(maxsize=1024)
def _masks_of(
    event: Event, n: int, label: int | None, baseline: int | None, deployed: bool, defers: bool
) -> Factors:
    """What an event counts."""
    true, pred = np.ones(n + 1), np.ones(n)
    outer, diagonal = 1.0, 0.0
    index_t, index_p = np.arange(n + 1), np.arange(n)
    if (
        defers
        and not deployed
        and not event.ignores_prediction
        and not {"deferred", "found"} & set(event.words.replace("!", "").split())
    ):
        pred[n - 1] = 0.0  # what is not decided is neither right nor wrong
    for spelled in event.words.split():
        word, wanted = spelled.lstrip("!"), not spelled.startswith("!")
        if word == "actual":
            true *= (index_t == label) == wanted
        elif word == "labelled":
            continue  # as of every event that needs the truth
        elif word == "deferred":
            # The deployed model decides every row.
            pred *= ((index_p == n - 1) & (defers and not deployed)) == wanted
        elif word in ("predicted", "found") and deployed:
            pred *= float((baseline == label) == wanted)
        elif word in ("predicted", "found"):
            pred *= (index_p == label) == wanted
        elif word == "was_correct" or (word == "correct" and deployed):
            true *= (index_t == baseline) == wanted
        elif word == "changed" and deployed:
            pred *= float(not wanted)
        elif word == "changed":
            pred *= (index_p != baseline) == wanted
        else:
            outer, diagonal = (0.0, 1.0) if wanted else (1.0, -1.0)
    if event.needs_truth:
        true[n] = 0.0
    true.flags.writeable = pred.flags.writeable = False
    return true, pred, outer, diagonal


class Rate:
    """One rate of one population: ``v = <event, C> / <given, M>`` over some strata."""

    def __init__(
        self,
        codebook: Codebook,
        event: Event,
        given: Event,
        label: int | None,
        deployed: bool,
        strata: tuple[int, ...],
        share_of: tuple[int, ...] | None = None,
    ) -> None:
        self.codebook = codebook
        self.n = codebook.n_classes
        self.event, self.given, self.label, self.deployed = event, given, label, deployed
        self.strata, self.share_of = strata, share_of
        self.is_fixed = deployed or event.ignores_prediction
        """Whether every decision gives the same value."""
        self.needs_truth = given.needs_truth or event.needs_truth
        """Whether it cannot be counted on unlabelled rows."""
        self.sees_baseline = deployed or event.needs_baseline
        """Whether it tells rows apart by the deployed model's prediction."""
        self.given_rows: Floats = _masks_of(given, self.n, label, None, False, False)[0].copy()
        self.given_rows[-1] *= not self.needs_truth
        """Which true classes (n + 1,) its rows have; the last stands for unlabelled."""
        self.by_baseline: dict[int | None, list[int]] = {}
        """Its strata by deployed class, as far as it looks at that."""
        for c in strata:
            known = codebook.strata[c].baseline if self.sees_baseline else None
            self.by_baseline.setdefault(known, []).append(c)

    def factors(self, baseline: int | None) -> Factors:
        """What its event counts of the rows that it is a share of."""
        true, predicted, outer, diagonal = _masks_of(
            self.event, self.n, self.label, baseline, self.deployed, self.codebook.defers
        )
        return true * self.given_rows, predicted, outer, diagonal

    def matrix(self, baseline: int | None) -> Floats:
        """Weights (n + 1, n) of the counts of a stratum with this deployed class; no `norm`."""
        if self.event.costs is None:
            true, predicted, outer, diagonal = self.factors(baseline)
            out = outer * np.multiply.outer(true, predicted)
            if diagonal:
                i = np.arange(self.n)
                out[i, i] += diagonal * (true[:-1] * predicted)
            return np.asarray(out)
        out = np.zeros((self.n + 1, self.n))
        for t, p, c in self.event.costs:
            if not self.deployed:
                out[t, p] = c
            elif p == baseline:
                out[t, :] = c
        return np.asarray(out * self.given_rows[:, None])

    def sums(self, marginals: Marginals) -> tuple[float, float, float]:
        """The weight of its rows, and the least and the most of it that a decision counts."""
        low, high, held = 0.0, 0.0, np.zeros(self.n + 1)
        for strata, least, most in self._extremes:
            rows = marginals.weights[strata].sum(axis=0)
            held += rows
            low += float(least @ rows)
            high += float(most @ rows)
        if self.share_of is not None:
            held = marginals.weights[list(self.share_of)].sum(axis=0)
        return float(held @ self.given_rows), low, high

    @cached_property
    def _extremes(self) -> list[tuple[list[int], Floats, Floats]]:
        """Smallest and largest weight (n + 1,) by true class, for strata that it treats alike."""
        out = []
        for baseline, strata in self.by_baseline.items():
            if self.n <= _FEW or self.event.costs is not None:
                entries = self.matrix(baseline)
            else:
                (entries,) = StratumForms([self], baseline).entries(np.ones((1, 1)))
            out.append((strata, entries.min(axis=1), entries.max(axis=1)))
        return out


# --- The rates of a program as linear functions of the counts -------------------------------------


_TINY = 1e-12
_NOTHING = fn.Affine({}, 0.0)
_SMALL = 1_000_000
"""Up to so many weights, rates are one product with a dense matrix."""
_FEW = 16
"""Up to so many classes all of them are looked at."""


class StratumForms:
    """Several features on one stratum, before division by their norms."""

    def __init__(self, features: Sequence[Rate], baseline: int | None) -> None:
        self.n = n = features[0].n
        self.true = np.zeros((len(features), n + 1))
        self.predicted = np.zeros((len(features), n))
        self.outer = np.zeros(len(features))
        self.diagonal = np.zeros(len(features))
        self.dense: list[tuple[int, Floats]] = []
        for i, f in enumerate(features):
            if f.event.costs is not None:
                self.dense.append((i, f.matrix(baseline)))
            else:
                found = f.factors(baseline)
                self.true[i], self.predicted[i], self.outer[i], self.diagonal[i] = found
        self.both = self.true[:, :n] * self.predicted

    def sums(self, counts: Floats) -> Floats:
        """Each feature's sum over the counts (n + 1, n) of the stratum."""
        out = self.outer * ((self.true @ counts) * self.predicted).sum(axis=1)
        out += self.diagonal * (self.both @ np.diagonal(counts))
        for i, weights in self.dense:
            out[i] = (weights * counts).sum()
        return np.asarray(out)

    def matrix(self, coefs: Floats) -> Floats:
        """The weighted sum of the features, as weights (n + 1, n) of the counts."""
        out = (self.true * (coefs * self.outer)[:, None]).T @ self.predicted
        if self.diagonal.any():
            i = np.arange(self.n)
            out[i, i] += (coefs * self.diagonal) @ self.both
        for f, weights in self.dense:
            out += coefs[f] * weights
        return np.asarray(out)

    def entries(self, coefs: Floats) -> Floats:
        """Of several sums (k, features), all values (k, n + 1, m) a true class can meet."""
        if self.dense or self.n <= _FEW:
            return np.stack([self.matrix(c) for c in coefs])
        # Predicted classes, two of each kind that the features tell apart.
        _, kind = np.unique(self.predicted, axis=1, return_inverse=True)
        order = np.argsort(kind.ravel(), kind="stable")
        start = np.flatnonzero(np.diff(kind.ravel()[order], prepend=-1))
        # Of two one is left off the diagonal for every true class.
        two = np.unique(np.concatenate([start, np.minimum(start + 1, self.n - 1)]))
        columns, i = order[two], np.arange(self.n)
        out = np.empty((len(coefs), self.n + 1, len(columns) + 1))
        for k, c in enumerate(coefs):
            weighted = (self.true * (c * self.outer)[:, None]).T
            out[k, :, :-1] = weighted @ self.predicted[:, columns]
            extra = (c * self.diagonal) @ self.both
            out[k, columns, np.arange(len(columns))] += extra[columns]
            out[k, i, -1] = (c * (self.outer + self.diagonal)) @ self.both
            out[k, self.n, -1] = out[k, self.n, 0]
        return out


class RateTable:
    """The d rates of a program as linear functions of the counts; no objective, no bounds."""

    def __init__(self, codebook: Codebook, marginals: Marginals) -> None:
        self.codebook = codebook
        self.n = codebook.n_classes
        self.marginals = marginals
        self.rates: list[Rate] = []
        self._norms: list[float] = []
        # Solvers ask for the same floors again and again.
        self._known: dict[tuple[object, ...], tuple[float, float]] = {}
        self._steps: dict[frozenset[tuple[int, float]], float | None] = {}

    def add(self, rate: Rate, norm: float) -> None:
        """One more rate, and what divides it."""
        self.rates.append(rate)
        self._norms.append(norm)

    @cached_property
    def norms(self) -> Floats:
        """What divides each rate (d,), once all are here."""
        return np.array(self._norms, dtype=np.float64)

    def __len__(self) -> int:
        return len(self.rates)

    def of(self, counts: Floats) -> Floats:
        """The rates (d,) at counts (strata, n + 1, n)."""
        if len(self.rates) * counts.size <= _SMALL:
            return np.asarray(self._masks @ np.ravel(counts) / self.norms)
        out = np.zeros(len(self.rates))
        for c, held, forms in self._of_strata:
            out[held] += forms.sums(counts[c])
        return np.asarray(out / self.norms)

    @cached_property
    def tensors(self) -> Floats:
        """Weights (d, strata, n + 1, n) of the counts: ``v_j = (tensors[j] * C).sum()``."""
        shape = (len(self.rates), len(self.codebook.strata), self.n + 1, self.n)
        return self._masks.reshape(shape) / self.norms[:, None, None, None]

    @cached_property
    def _masks(self) -> Floats:
        """The rates (d, strata * (n + 1) * n) before division by their norms."""
        d, strata = len(self.rates), len(self.codebook.strata)
        return self.masks(range(d)).reshape(d, strata * (self.n + 1) * self.n)

    def masks(self, index: Sequence[int]) -> Floats:
        """Some rates (len(index), strata, n + 1, n) before division by their norms."""
        n, strata = self.n, self.codebook.strata
        out = np.zeros((len(index), len(strata), n + 1, n))
        for i, j in enumerate(index):
            for baseline, here in self.rates[j].by_baseline.items():
                out[i, here] = self.rates[j].matrix(baseline)
        return out

    def tensor(self, coefs: Floats) -> Floats:
        """Weights (strata, n + 1, n) of the counts in ``sum_j coefs[j] * v_j``."""
        out = np.zeros((len(self.codebook.strata), self.n + 1, self.n))
        for c, held, forms in self._of_strata:
            out[c] = forms.matrix((coefs / self.norms)[held])
        return out

    @cached_property
    def _of_strata(self) -> list[tuple[int, list[int], StratumForms]]:
        """Each stratum that a rate looks at, which rates do, and these on it."""
        out = []
        for c, stratum in enumerate(self.codebook.strata):
            held = [j for j, f in enumerate(self.rates) if c in f.strata]
            if held:
                features = [self.rates[j] for j in held]
                out.append((c, held, StratumForms(features, stratum.baseline)))
        return out

    def range(self, x: fn.Affine, y: fn.Affine = _NOTHING) -> tuple[float, float]:
        """The range of x over the decisions at which y is as small as it gets: by default, all."""
        key = (frozenset(x.terms.items()), frozenset(y.terms.items()))
        if key not in self._known:
            low = high = 0.0
            for strata, (xs, ys) in self._are_same(x, y):
                rows = self.marginals.weights[strata].sum(axis=0)
                size = float(np.abs(ys).max(initial=0.0))
                least = ys <= ys.min(axis=1, keepdims=True) + _TINY * size
                low += float(np.where(least, xs, np.inf).min(axis=1) @ rows)
                high += float(np.where(least, xs, -np.inf).max(axis=1) @ rows)
            self._known[key] = low, high
        low, high = self._known[key]
        return x.const + low, x.const + high

    def step(self, x: fn.Affine, least: float = 0.0) -> float | None:
        """The least that one row can lift x above its minimum; None if no row can."""
        key = frozenset(x.terms.items())
        if key not in self._steps:
            steps: list[float] = []
            for strata, (entries,) in self._are_same(x):
                smallest = self.marginals.smallest[strata].min(axis=0)
                gains = entries - entries.min(axis=1, keepdims=True)
                size = float(np.abs(entries).max(initial=0.0))
                real = (gains > _TINY * size) & np.isfinite(smallest)[:, None]
                weights = np.where(np.isfinite(smallest), smallest, 0.0)
                steps += (gains * weights[:, None])[real].tolist()
            self._steps[key] = min(steps, default=None)
        one = self._steps[key]
        if one is None or not least:
            return one
        low, high = self.range(x)
        return max(one, min(self._gain(x) * least, 0.5 * (high - low)))

    def _gain(self, x: fn.Affine) -> float:
        """The least that rows of weight 1 can lift x."""
        gains = [e - e.min(axis=1, keepdims=True) for _, (e,) in self._are_same(x)]
        sizes = np.concatenate([np.ravel(g) for g in gains])
        return float(sizes[sizes > _TINY * sizes.max()].min())

    def _are_same(self, *xs: fn.Affine) -> Iterator[tuple[list[int], Floats]]:
        """Strata that the functions treat alike, and the entries (k, n + 1, m) on them."""
        used = sorted({j for x in xs for j in x.terms if j >= 0})
        features = [self.rates[j] for j in used]
        coefs = np.array([[x.terms.get(j, 0.0) / self._norms[j] for j in used] for x in xs])
        deployed = any(f.sees_baseline for f in features)
        sets = {f.strata: frozenset(f.strata) for f in features}
        by_kind: dict[tuple[object, ...], list[int]] = {}
        for c, stratum in enumerate(self.codebook.strata):
            held = tuple(c in s for s in sets.values())
            if any(held):
                by_kind.setdefault((held, stratum.baseline if deployed else None), []).append(c)
        for strata in by_kind.values():
            here = [i for i, f in enumerate(features) if strata[0] in sets[f.strata]]
            baseline = self.codebook.strata[strata[0]].baseline
            masks = StratumForms([features[i] for i in here], baseline)
            yield strata, masks.entries(coefs[:, here])


# --- Features as sums over the diagonals and columns of the counts --------------------------------


Sparse: TypeAlias = "sparse.csr_array[Any]"
_Entries: TypeAlias = tuple[Any, Any, Any]
"""Values, their rows and their columns."""


@dataclass(frozen=True, eq=False)
class DiagonalForm:
    """The features of a program over diagonals and columns of the counts.

    Examples
    --------
    >>> import numpy as np
    >>> from setpoint import Goal
    >>> from setpoint.counts.codebook import Codebook, Marginals
    >>> from setpoint.program import link
    >>> counts = np.array([[[5.0, 1.0], [2.0, 4.0], [0.0, 0.0]]])
    >>> linked = link(Goal.parse("maximize f1"), Codebook.of(("no", "yes")))
    >>> program = linked.at(Marginals.of_counts(counts))
    >>> form = diagonal_form(program.table)
    >>> diag, col = np.array([[5.0, 4.0]]), np.array([[7.0, 5.0]])
    >>> v = form.const + form.features(diag, col)
    >>> bool(np.allclose(v, program.rates_of(counts)))
    True
    """

    diagonal: Sparse
    columns: Sparse
    const: Floats
    n_strata: int
    n_classes: int

    def features(self, diag: Floats, col: Floats) -> Floats:
        """The features (..., d) without their constant, which several blocks share."""
        lead, size = diag.shape[:-2], self.n_strata * self.n_classes
        out = self.diagonal @ diag.reshape(-1, size).T + self.columns @ col.reshape(-1, size).T
        return np.asarray(out.T).reshape(*lead, len(self.const))

    def weights(self, slopes: Floats) -> tuple[Floats, Floats]:
        """What a sum of features gives for each class: a factor and a charge."""
        shape = (self.n_strata, self.n_classes)
        W = np.asarray(slopes @ self.diagonal).reshape(shape)
        B = np.asarray(slopes @ self.columns).reshape(shape)
        return W, 0.0 - B


def diagonal_form(table: RateTable) -> DiagonalForm | None:
    """Features over diagonals and columns; None if one is not of that form.

    Examples
    --------
    >>> import numpy as np
    >>> from setpoint import Goal
    >>> from setpoint.counts.codebook import Codebook, Marginals
    >>> from setpoint.program import link
    >>> codebook, marginals = Codebook.of(("a", "b", "c")), Marginals.of_counts(np.eye(4, 3)[None])
    >>> accuracy = link(Goal.parse("maximize accuracy"), codebook).at(marginals)
    >>> diagonal_form(accuracy.table).diagonal.toarray()
    array([[0.33333333, 0.33333333, 0.33333333]])
    >>> mistakes = link(Goal.parse("maximize confusion_rate('a', 'b')"), codebook).at(marginals)
    >>> diagonal_form(mistakes.table) is None
    True
    """
    codebook, n = table.codebook, table.n
    shape = len(table), len(codebook.strata) * n
    const = np.zeros(len(table))
    diagonals, by_column = list[_Entries](), list[_Entries]()
    for f, (rate, norm) in enumerate(zip(table.rates, table.norms, strict=True)):
        if rate.event.costs is not None:
            return None
        for baseline, strata in rate.by_baseline.items():
            true, predicted, outer, sign = rate.factors(baseline)
            diagonal, columns = sign * (true[:n] * predicted), np.zeros(n)
            if outer:
                # The outer product, with true = u + b e_k and predicted = p + q e_k.
                k = _odd_one_out(true[:n], predicted)
                if k is None:
                    return None
                u, p = (mask[1 if k == 0 else 0] for mask in (true, predicted))
                diagonal[k] += (true[k] - u) * (predicted[k] - p)
                columns[k] = u * (predicted[k] - p)
                held = table.marginals.weights[strata].sum(axis=0)
                const[f] += float(p * (true @ held)) / norm
            for entries, values in ((diagonals, diagonal), (by_column, columns)):
                held = np.flatnonzero(values)
                at = (np.array(strata)[:, None] * n + held).ravel()
                entries.append((np.tile(values[held] / norm, len(strata)), np.full(at.size, f), at))
    diag, cols = _sparse(diagonals, shape), _sparse(by_column, shape)
    return DiagonalForm(diag, cols, const, len(codebook.strata), n)


def _sparse(entries: list[_Entries], shape: tuple[int, int]) -> Sparse:
    from scipy import sparse

    if not entries:
        return sparse.csr_array(shape)
    values, rows, at = (np.concatenate(x) for x in zip(*entries, strict=True))
    return sparse.csr_array((values, (rows, at)), shape=shape)


def _odd_one_out(true: Floats, predicted: Floats) -> int | None:
    """The class that alone may differ from the others in both masks; None if there is none."""
    if len(predicted) == 2:
        return 0
    # Of three values at least two are the others'.
    odd = [np.flatnonzero(mask != np.median(mask[:3])) for mask in (true, predicted)]
    singled = np.unique(np.concatenate(odd))
    if singled.size > 1:
        return None
    return int(singled[0]) if singled.size else 0
