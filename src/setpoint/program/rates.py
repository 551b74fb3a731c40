"""Rates as linear functions of the counts, of accepted weights, and in diagonal form."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from setpoint.array_types import Floats
from setpoint.evidence import Codebook, Marginals
from setpoint.goals import Diagonal, Event
from setpoint.program import functions as fn

if TYPE_CHECKING:
    from scipy import sparse


# --- Rates: the few linear functions of the counts that a goal depends on -------------------------


@dataclass(frozen=True)
class Rate:
    """One rate of one population: ``v = <event, C> / <given, M>`` over some strata."""

    event: Event
    given: Event
    label: int | None
    deployed: bool
    strata: tuple[int, ...]
    share_of: tuple[int, ...] | None = None
    defers: bool = False

    @cached_property
    def is_fixed(self) -> bool:
        """Whether every decision gives the same value."""
        return self.deployed or self.event.ignores_prediction

    @cached_property
    def sees_baseline(self) -> bool:
        """Whether it tells rows apart by the deployed model's prediction."""
        return self.deployed or self.event.needs_baseline

    def given_rows(self, n: int) -> Floats:
        """Which true classes (n + 1,) its rows have; the last stands for unlabelled."""
        rows = self.given.factors(n, self.label, None, False)[0]
        if self.event.needs_truth and rows[n]:
            rows = rows.copy()
            rows[n] = 0.0
        return rows

    def norm(self, marginals: Marginals) -> float:
        """The weight of its rows."""
        weights = marginals.weights
        strata = self.strata if self.share_of is None else self.share_of
        held = weights[list(strata)].sum(axis=0) if strata else 0.0 * weights[0]
        return float(held @ self.given_rows(weights.shape[1] - 1))

    def factors(self, n: int, baseline: int | None) -> tuple[Floats, Floats, Diagonal]:
        """The event's masks on a stratum with this deployed class, see :meth:`Event.factors`."""
        return self.event.factors(n, self.label, baseline, self.deployed, self.defers)

    def matrix(self, baseline: int | None, n: int) -> Floats:
        """Weights (n + 1, n) of the counts of a stratum with this deployed class; no `norm`."""
        out = self.event.matrix(n, self.label, baseline, self.deployed, self.defers)
        return np.asarray(out * self.given_rows(n)[:, None])

    def bounds(self, codebook: Codebook, marginals: Marginals, norm: float) -> tuple[float, float]:
        """The smallest and largest value over all decisions."""
        low = high = 0.0
        by_baseline: dict[int | None, list[int]] = {}
        for c in self.strata:
            known = codebook.strata[c].baseline if self.sees_baseline else None
            by_baseline.setdefault(known, []).append(c)
        for baseline, strata in by_baseline.items():
            rows = marginals.weights[strata].sum(axis=0)
            least, most = self._extremes(codebook.n_classes, baseline)
            low += float(least @ rows)
            high += float(most @ rows)
        return low / norm, high / norm

    def _extremes(self, n: int, baseline: int | None) -> tuple[Floats, Floats]:
        """Smallest and largest weight (n + 1,) by true class, over predicted classes."""
        if self.event.costs is not None:
            weights = self.matrix(baseline, n)
            return weights.min(axis=1), weights.max(axis=1)
        true, predicted, diagonal = self.factors(n, baseline)
        true = true * self.given_rows(n)
        if diagonal == "any":
            return true * predicted.min(), true * predicted.max()
        if diagonal == "on":
            return np.zeros(n + 1), np.append(true[:n] * predicted, 0.0)
        # Off the diagonal some other class must be left to predict.
        others = np.append(predicted.sum() - predicted, predicted.sum())
        return np.zeros(n + 1), true * (others > 0)


# --- The rates of a program as linear functions of the counts -------------------------------------


_TINY = 1e-12
_SMALL = 1_000_000
"""Up to so many weights, rates are one product with a dense matrix."""
_FEW = 16
"""Up to so many classes all of them are looked at."""


class StratumForms:
    """Several features on one stratum, before division by their norms."""

    def __init__(self, features: Sequence[Rate], n: int, baseline: int | None) -> None:
        self.n = n
        self.true = np.zeros((len(features), n + 1))
        self.predicted = np.zeros((len(features), n))
        self.outer = np.ones(len(features))
        self.diagonal = np.zeros(len(features))
        self.dense: list[tuple[int, Floats]] = []
        for i, f in enumerate(features):
            if f.event.costs is not None:
                self.dense.append((i, f.matrix(baseline, n)))
                continue
            true, predicted, kept = f.factors(n, baseline)
            self.true[i] = true * f.given_rows(n)
            self.predicted[i] = predicted
            self.outer[i] = kept != "on"
            self.diagonal[i] = {"any": 0.0, "on": 1.0, "off": -1.0}[kept]

    def sums(self, counts: Floats) -> Floats:
        """Each feature's sum over the counts (n + 1, n) of the stratum."""
        n = self.n
        out = self.outer * ((self.true @ counts) * self.predicted).sum(axis=1)
        out += self.diagonal * ((self.true[:, :n] * self.predicted) @ np.diagonal(counts))
        for i, weights in self.dense:
            out[i] = (weights * counts).sum()
        return np.asarray(out)

    def matrix(self, coefs: Floats) -> Floats:
        """The weighted sum of the features, as weights (n + 1, n) of the counts."""
        out = (self.true * (coefs * self.outer)[:, None]).T @ self.predicted
        i = np.arange(self.n)
        out[i, i] += self._on_diagonal(coefs * self.diagonal)
        for f, weights in self.dense:
            out += coefs[f] * weights
        return np.asarray(out)

    def _on_diagonal(self, coefs: Floats) -> Floats:
        return coefs @ (self.true[:, : self.n] * self.predicted)

    def entries(self, coefs: Floats) -> Floats:
        """Of several sums (k, features), all values (k, n + 1, m) a true class can meet."""
        if self.dense:
            return np.stack([self.matrix(c) for c in coefs])
        columns = self._kinds()
        i = np.arange(self.n)
        out = np.empty((len(coefs), self.n + 1, len(columns) + 1))
        for k, c in enumerate(coefs):
            weighted = (self.true * (c * self.outer)[:, None]).T
            out[k, :, :-1] = weighted @ self.predicted[:, columns]
            extra = self._on_diagonal(c * self.diagonal)
            out[k, columns, np.arange(len(columns))] += extra[columns]
            out[k, i, -1] = self._on_diagonal(c * (self.outer + self.diagonal))
            out[k, self.n, -1] = out[k, self.n, 0]
        return out

    def _kinds(self) -> NDArray[np.intp]:
        """Predicted classes, two of each kind that the features tell apart."""
        if self.n <= _FEW:
            return np.arange(self.n)
        _, kind = np.unique(self.predicted, axis=1, return_inverse=True)
        order = np.argsort(kind.ravel(), kind="stable")
        start = np.flatnonzero(np.diff(kind.ravel()[order], prepend=-1))
        # Of two one is left off the diagonal for every true class.
        two = np.unique(np.concatenate([start, np.minimum(start + 1, self.n - 1)]))
        return np.asarray(order[two])


class RateTable:
    """The d rates of a program as linear functions of the counts; no objective, no bounds."""

    def __init__(
        self,
        codebook: Codebook,
        marginals: Marginals,
        rates: Sequence[Rate],
        norms: Sequence[float],
    ) -> None:
        self.codebook = codebook
        self.marginals = marginals
        self.rates = tuple(rates)
        self.norms: Floats = np.array(norms, dtype=np.float64)
        # Solvers ask for the same floors again and again.
        self._known: dict[tuple[object, ...], tuple[float, float]] = {}
        self._steps: dict[frozenset[tuple[int, float]], float | None] = {}

    def __len__(self) -> int:
        return len(self.rates)

    def of(self, counts: Floats) -> Floats:
        """The rates (d,) at counts (strata, n + 1, n)."""
        if len(self.rates) * counts.size > _SMALL:
            return self.sums(counts)
        return np.asarray(self._masks @ np.ravel(counts) / self.norms)

    @cached_property
    def tensors(self) -> Floats:
        """Weights (d, strata, n + 1, n) of the counts: ``v_j = (tensors[j] * C).sum()``."""
        n = self.codebook.n_classes
        shape = (len(self.rates), len(self.codebook.strata), n + 1, n)
        return self._masks.reshape(shape) / self.norms[:, None, None, None]

    @cached_property
    def _masks(self) -> Floats:
        """The rates (d, strata * (n + 1) * n) before division by their norms."""
        n, strata = self.codebook.n_classes, self.codebook.strata
        out = np.zeros((len(self.rates), len(strata), n + 1, n))
        for j, f in enumerate(self.rates):
            for c in f.strata:
                out[j, c] = f.matrix(strata[c].baseline, n)
        return out.reshape(len(self.rates), len(strata) * (n + 1) * n)

    def sums(self, counts: Floats) -> Floats:
        """All rates (d,) at counts (strata, n + 1, n)."""
        out = np.zeros(len(self.rates))
        for c, stratum in enumerate(self.codebook.strata):
            held = [j for j, f in enumerate(self.rates) if c in f.strata]
            if held:
                features = [self.rates[j] for j in held]
                masks = StratumForms(features, self.codebook.n_classes, stratum.baseline)
                out[held] += masks.sums(counts[c])
        return np.asarray(out / self.norms)

    def tensor(self, coefs: Floats) -> Floats:
        """Weights (strata, n + 1, n) of the counts in ``sum_j coefs[j] * v_j``."""
        n = self.codebook.n_classes
        out = np.zeros((len(self.codebook.strata), n + 1, n))
        for c, stratum in enumerate(self.codebook.strata):
            held = [j for j, f in enumerate(self.rates) if coefs[j] and c in f.strata]
            if held:
                features = [self.rates[j] for j in held]
                scaled = np.array([coefs[j] / self.norms[j] for j in held])
                out[c] = StratumForms(features, n, stratum.baseline).matrix(scaled)
        return out

    def range(self, x: fn.Affine) -> tuple[float, float]:
        """The smallest and largest value of x over all decisions."""
        return self.range_at_least(x, fn.Affine({}, 0.0))

    def range_at_least(self, x: fn.Affine, y: fn.Affine) -> tuple[float, float]:
        """The range of x over the decisions at which y is as small as it gets."""
        key = (frozenset(x.terms.items()), frozenset(y.terms.items()))
        if key not in self._known:
            self._known[key] = self._range(x, y)
        low, high = self._known[key]
        return x.const + low, x.const + high

    def _range(self, x: fn.Affine, y: fn.Affine) -> tuple[float, float]:
        low = high = 0.0
        for strata, (xs, ys) in self._are_same(x, y):
            rows = self.marginals.weights[strata].sum(axis=0)
            least = ys <= ys.min(axis=1, keepdims=True) + _TINY * _size(ys)
            low += float(np.where(least, xs, np.inf).min(axis=1) @ rows)
            high += float(np.where(least, xs, -np.inf).max(axis=1) @ rows)
        return low, high

    def step(self, x: fn.Affine, least: float = 0.0) -> float | None:
        """The least that one row can lift x above its minimum; None if no row can."""
        key = frozenset(x.terms.items())
        if key not in self._steps:
            self._steps[key] = self._step(x)
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

    def _step(self, x: fn.Affine) -> float | None:
        steps: list[float] = []
        for strata, (entries,) in self._are_same(x):
            smallest = self.marginals.smallest[strata].min(axis=0)
            gains = entries - entries.min(axis=1, keepdims=True)
            real = (gains > _TINY * _size(entries)) & np.isfinite(smallest)[:, None]
            weights = np.where(np.isfinite(smallest), smallest, 0.0)
            steps += (gains * weights[:, None])[real].tolist()
        return min(steps, default=None)

    def _are_same(self, *xs: fn.Affine) -> Iterator[tuple[list[int], Floats]]:
        """Strata that the functions treat alike, and the entries (k, n + 1, m) on them."""
        used = sorted({j for x in xs for j in x.terms if j >= 0})
        features = [self.rates[j] for j in used]
        coefs = np.array([[x.terms.get(j, 0.0) / self.norms[j] for j in used] for x in xs])
        deployed = any(f.sees_baseline for f in features)
        sets = {f.strata: frozenset(f.strata) for f in features}
        alike: dict[tuple[object, ...], list[int]] = {}
        for c, stratum in enumerate(self.codebook.strata):
            held = tuple(c in s for s in sets.values())
            if any(held):
                alike.setdefault((held, stratum.baseline if deployed else None), []).append(c)
        for strata in alike.values():
            here = [i for i, f in enumerate(features) if strata[0] in sets[f.strata]]
            baseline = self.codebook.strata[strata[0]].baseline
            masks = StratumForms([features[i] for i in here], self.codebook.n_classes, baseline)
            yield strata, masks.entries(coefs[:, here])


def _size(x: Floats) -> float:
    return float(np.abs(x).max(initial=0.0))


# --- Rates of two classes as functions of the accepted weight of each kind ------------------------


Kind: TypeAlias = tuple[int, int]
"""Stratum and true class; true class 2 holds rows without labels."""

_ONE = fn.Affine({}, 1.0)


class AcceptedFraction(NamedTuple):
    """A function of accepted weights as ``offset + (above @ (S, 1)) / (below @ (S, 1))``."""

    forms: Floats
    offset: float


class AcceptedRates:
    """Rates over the accepted weights S of some kinds of rows, all others held fixed."""

    def __init__(
        self,
        table: RateTable,
        kinds: Sequence[Kind] | None = None,
        totals: Floats | None = None,
        rest: Floats | None = None,
        between: tuple[int, int] = (0, 1),
    ) -> None:
        weights = table.marginals.weights
        if kinds is None:
            kinds = [(c, t) for c in range(len(weights)) for t in range(weights.shape[1])]
        self.kinds = tuple(kinds)
        strata, trues = [c for c, _ in kinds], [t for _, t in kinds]
        self.totals: Floats = weights[strata, trues] if totals is None else totals
        # Weights (d, kinds) of a row in the rates, rejected and accepted.
        self.rejected: Floats = table.tensors[:, strata, trues, between[0]]
        self.accepted: Floats = table.tensors[:, strata, trues, between[1]]
        self.rest: Floats = np.zeros(len(self.rejected)) if rest is None else rest

    @cached_property
    def base(self) -> Floats:
        """The rates (d,) when nobody is accepted."""
        return np.asarray(self.rejected @ self.totals + self.rest)

    @cached_property
    def gains(self) -> Floats:
        """What one unit of accepted weight of each kind adds (kinds, d)."""
        return np.ascontiguousarray((self.accepted - self.rejected).T)

    def rates(self, S: Floats) -> Floats:
        """The rates (..., d) at accepted weights (..., kinds)."""
        return np.asarray(self.base + S @ self.gains)

    def form(self, x: fn.Affine, rest: Floats | None = None) -> Floats:
        """An affine function of the rates as coefficients (kinds + 1,), the constant last."""
        a = np.zeros(len(self.base))
        for j, coef in x.terms.items():
            a[j] = coef
        const = a @ self.base + x.const
        if rest is not None:
            const = const + float(sum(coef * rest[j] for j, coef in x.terms.items()))
        out = np.empty(len(self.gains) + 1)
        out[:-1], out[-1] = self.gains @ a, const
        return out

    def fraction(self, x: fn.RateFunction, rest: Floats | None = None) -> AcceptedFraction | None:
        """A function as a ratio of two forms with 0/0 = 0; None if it is not one."""
        parts = fraction_of(x)
        if parts is None:
            return None
        above, below, offset = parts
        forms = np.zeros((2, len(self.gains) + 1))
        forms[0] = self.form(above, rest)
        forms[1, -1] = 1.0
        if below is not _ONE:
            forms[1] = self.form(below, rest)
        return AcceptedFraction(forms, offset)


def fraction_of(x: fn.RateFunction) -> tuple[fn.Affine, fn.Affine, float] | None:
    """Numerator, denominator and what is added, of a ratio with 0/0 = 0; None for the rest."""
    if isinstance(x, fn.Affine):
        return x, _ONE, 0.0
    if isinstance(x, fn.Ratio) and x.at_zero == x.offset:
        return x.above, x.below, x.offset
    return None


# --- Ranges of functions of the rates over many boxes of accepted counts at -----------------------


_STEPS = 6
"""Dinkelbach's method ends in so few over small boxes; it may stop anywhere."""
_MOST_PARTS, _MOST_CUTS = 2**18, 32
"""Parts of all boxes together, and cuts of one side."""
_ROUNDING = 1e-12
"""Of what the terms of a form reach: a bound is not missed by a last bit."""


def range_over_boxes(
    rows: AcceptedRates,
    x: fn.RateFunction,
    low: Floats,
    high: Floats,
    rest: Floats | None = None,
) -> tuple[Floats, Floats]:
    """Bounds (m,) on a function of the rates over boxes of accepted weights.

    Examples
    --------
    >>> from setpoint import Goal
    >>> from setpoint.evidence.codebook import Codebook, Marginals
    >>> from setpoint.program.linking import link
    >>> counts = Marginals(np.array([[6.0, 4.0, 0.0]]), np.array([[1.0, 1.0, np.inf]]))
    >>> for metric in ("recall", "precision"):
    ...     program = link(Goal.parse(f"maximize {metric}"), Codebook.of((0, 1))).at(counts)
    ...     rows = AcceptedRates(program.table, [(0, 0), (0, 1)])
    ...     low, high = np.array([[1.0], [3.0]]), np.array([[2.0], [4.0]])
    ...     print(np.round(range_over_boxes(rows, program.objective, low, high), 3).tolist())
    [[0.75], [1.0]]
    [[0.6], [0.8]]
    """
    if isinstance(x, fn.Affine):
        least, most = _of_form(rows.form(x, rest), low, high)
    elif isinstance(x, fn.Ratio):
        above, below = rows.form(x.above, rest), rows.form(x.below, rest)
        top = _most_of_ratio(above, below, low, high) + x.offset
        bottom = x.offset - _most_of_ratio(-above, below, low, high)
        if x.at_zero != x.offset:
            reaches = _of_form(below, low, high)[0] <= 0.0
            top = np.where(reaches, np.maximum(top, x.at_zero), top)
            bottom = np.where(reaches, np.minimum(bottom, x.at_zero), bottom)
        least, most = bottom, top
    else:
        assert isinstance(x, fn.Node)
        parts = [range_over_boxes(rows, c, low, high, rest) for c in x.children]
        with np.errstate(all="ignore"):
            least, most = x.interval(*parts)
    least = np.where(np.isnan(least), -fn.INF, least)
    most = np.where(np.isnan(most), fn.INF, most)
    return np.maximum(least, x.low), np.minimum(most, x.high)


def most_in_parts(
    rows: AcceptedRates,
    x: fn.RateFunction,
    low: Floats,
    high: Floats,
    rest: Floats | None = None,
) -> Floats:
    """An upper bound (m,) on a function over boxes, each cut into parts."""
    kinds, m = low.shape
    cuts = int((_MOST_PARTS / max(m, 1)) ** (1.0 / max(kinds, 1)))
    if isinstance(x, (fn.Affine, fn.Ratio)) or cuts < 2 or not m:
        return range_over_boxes(rows, x, low, high, rest)[1]
    cuts = min(cuts, _MOST_CUTS)
    steps = np.stack(np.meshgrid(*[np.arange(cuts)] * kinds, indexing="ij")).reshape(kinds, 1, -1)
    width = ((high - low) / cuts)[:, :, None]
    first = low[:, :, None] + width * steps
    last = np.where(steps == cuts - 1, high[:, :, None], low[:, :, None] + width * (steps + 1))
    most = range_over_boxes(rows, x, first.reshape(kinds, -1), last.reshape(kinds, -1), rest)[1]
    return np.asarray(most.reshape(m, -1).max(axis=1))


def _of_form(form: Floats, low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """The range of an affine form over each box: at one corner for each end."""
    slopes = form[:-1, None]
    a, b = slopes * low, slopes * high
    room = _ROUNDING * (np.abs(b).sum(axis=0) + abs(form[-1]))
    least = np.minimum(a, b).sum(axis=0) + form[-1] - room
    return least, np.maximum(a, b).sum(axis=0) + form[-1] + room


def _most_of_ratio(above: Floats, below: Floats, low: Floats, high: Floats) -> Floats:
    """A bound on the largest ``A/B`` over each box, for B at least 0; 0/0 is 0."""
    a, b = above[:-1, None], below[:-1, None]
    smallest = _of_form(below, low, high)[0]
    with np.errstate(all="ignore"):
        g = np.zeros(low.shape[1])
        for _ in range(_STEPS):
            corner = np.where(a - g * b > 0.0, high, low)
            top, bottom = (a * corner).sum(axis=0), (b * corner).sum(axis=0)
            new = (top + above[-1]) / (bottom + below[-1])
            g = np.where(np.isfinite(new), new, g)
        left = _most_of(a - g * b, above[-1] - g * below[-1], low, high)
        bound = g + np.maximum(left, 0.0) / smallest
        # Without a smallest B, the sign of A is all that is known.
        positive = _most_of(a, above[-1], low, high) > 0.0
        unknown = np.where(positive, fn.INF, 0.0)
    return np.where((smallest > 0.0) & np.isfinite(bound), bound, unknown)


def _most_of(slopes: Floats, const: Floats | float, low: Floats, high: Floats) -> Floats:
    """The largest ``slopes @ S + const`` over each box, with room for rounding."""
    a, b = slopes * low, slopes * high
    room = _ROUNDING * (np.abs(b).sum(axis=0) + np.abs(const))
    return np.asarray(np.maximum(a, b).sum(axis=0) + const + room)


# --- Features as sums over the diagonals and columns of the counts --------------------------------


Sparse: TypeAlias = "sparse.csr_array[Any]"


@dataclass(frozen=True, eq=False)
class DiagonalForm:
    """The features of a program over diagonals and columns of the counts.

    Examples
    --------
    >>> import numpy as np
    >>> from setpoint import Goal
    >>> from setpoint.evidence.codebook import Codebook, Marginals
    >>> from setpoint.program.linking import link
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
    >>> from setpoint.evidence.codebook import Codebook, Marginals
    >>> from setpoint.program.linking import link
    >>> codebook, marginals = Codebook.of(("a", "b", "c")), Marginals.of_counts(np.eye(4, 3)[None])
    >>> accuracy = link(Goal.parse("maximize accuracy"), codebook).at(marginals)
    >>> diagonal_form(accuracy.table).diagonal.toarray()
    array([[0.33333333, 0.33333333, 0.33333333]])
    >>> mistakes = link(Goal.parse("maximize confusion_rate('a', 'b')"), codebook).at(marginals)
    >>> diagonal_form(mistakes.table) is None
    True
    """
    codebook, norms = table.codebook, table.norms
    n, n_strata = codebook.n_classes, len(codebook.strata)
    d = len(table)
    const = np.zeros(d)
    rows: tuple[_SparseRows, _SparseRows] = _SparseRows(n), _SparseRows(n)
    for f, feature in enumerate(table.rates):
        for baseline, strata in _are_same(feature, codebook):
            parts = _parts(feature, n, table.marginals, baseline, strata)
            if parts is None:
                return None
            rows[0].add(f, strata, parts.diagonal / norms[f])
            rows[1].add(f, strata, parts.columns / norms[f])
            const[f] += parts.const / norms[f]
    shape = (d, n_strata * n)
    return DiagonalForm(rows[0].csr(shape), rows[1].csr(shape), const, n_strata, n)


@dataclass(frozen=True)
class _Parts:
    """One feature on strata that it treats alike, before division by its norm."""

    diagonal: Floats
    columns: Floats
    const: float


class _SparseRows:
    """Non-zeros of a sparse array, one feature on some strata at a time."""

    def __init__(self, n: int) -> None:
        self.n = n
        self.entries: list[tuple[Any, Any, Any]] = []

    def add(self, feature: int, strata: list[int], values: Floats) -> None:
        held = np.flatnonzero(values)
        if held.size:
            at = (np.array(strata)[:, None] * self.n + held).ravel()
            where = np.full(at.size, feature)
            self.entries.append((np.tile(values[held], len(strata)), where, at))

    def csr(self, shape: tuple[int, int]) -> Sparse:
        from scipy import sparse

        if not self.entries:
            return sparse.csr_array(shape)
        values, rows, at = (np.concatenate(x) for x in zip(*self.entries, strict=True))
        return sparse.csr_array((values, (rows, at)), shape=shape)


def _are_same(feature: Rate, codebook: Codebook) -> list[tuple[int | None, list[int]]]:
    """The feature's strata by deployed class, as far as it looks at that."""
    groups: dict[int | None, list[int]] = {}
    for c in feature.strata:
        groups.setdefault(
            codebook.strata[c].baseline if feature.sees_baseline else None, []
        ).append(c)
    return list(groups.items())


def _parts(
    feature: Rate, n: int, marginals: Marginals, baseline: int | None, strata: list[int]
) -> _Parts | None:
    if feature.event.costs is not None:
        return None
    true, predicted, kept = feature.factors(n, baseline)
    true = true * feature.given_rows(n)
    on = true[:n] * predicted
    if kept == "on":
        return _Parts(on, np.zeros(n), 0.0)
    held = marginals.weights[strata].sum(axis=0)
    everything = _outer(true, predicted, held)
    if everything is None or kept == "any":
        return everything
    return _Parts(everything.diagonal - on, everything.columns, everything.const)


def _outer(true: Floats, predicted: Floats, marginals: Floats) -> _Parts | None:
    """The whole outer product, with ``true = u + b e_k`` and ``predicted = p + q e_k``."""
    n = len(predicted)
    k = _odd_one_out(true[:n], predicted)
    if k is None:
        return None
    other = 1 if k == 0 else 0
    u, p = true[other], predicted[other]
    b, q = true[k] - u, predicted[k] - p
    diagonal, columns = np.zeros(n), np.zeros(n)
    diagonal[k], columns[k] = b * q, u * q
    return _Parts(diagonal, columns, float(p * (true @ marginals)))


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
