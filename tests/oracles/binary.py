"""An oracle for small binary problems that shares no code with the library.

Every rate is ``a @ p + c`` for the vector p of the rows' probabilities of being accepted,
with `a` written down from labels, weights and groups. Thresholds are searched by trying
all of them, mixtures by convex programs in cvxpy over all cut-offs of all segments.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product

import cvxpy as cp
import numpy as np

INF = float("inf")
SATISFIED = 1e-9
_NEAR = dict.fromkeys(("tol_gap_abs", "tol_gap_rel", "tol_feas"), 1e-11)
_REDUCED = {"reduced_tol_gap_abs": 1e-8, "reduced_tol_gap_rel": 1e-8, "reduced_tol_feas": 1e-9}
_HIGHS = {f"{kind}_feasibility_tolerance": 1e-10 for kind in ("primal", "dual")}
_HIGHS |= {"solver": cp.HIGHS}
_CLARABEL = {"solver": cp.CLARABEL, **_NEAR, **_REDUCED}
_SCS = {"solver": cp.SCS, "eps": 1e-9, "max_iters": 100_000}
_SOLVERS = (_HIGHS, _CLARABEL, {"solver": cp.CLARABEL}, _SCS)


# -- functions of the acceptance probabilities ----------------------------------------------


@dataclass(frozen=True, eq=False)
class Lin:
    """``a @ p + c``; `step` is the least that one row adds where all coefficients are >= 0."""

    a: np.ndarray
    c: float = 0.0

    def value(self, P):
        return P @ self.a + self.c

    def at(self, model):
        """Homogeneous expression in the model's variables."""
        return (self.a @ model.D) @ model.x + self.c * model.t

    def __add__(self, other):
        if isinstance(other, Lin):
            return Lin(self.a + other.a, self.c + other.c)
        return Lin(self.a, self.c + other)

    def __rmul__(self, k):
        return Lin(k * self.a, k * self.c)

    def __sub__(self, other):
        return self + (-1.0) * other if isinstance(other, Lin) else self + (-other)

    @property
    def step(self):
        gains = np.abs(self.a)
        return gains[gains > 1e-14].min(initial=INF)

    def reaches(self, model, k, sign):
        return [sign * (self.at(model) - k * model.t) >= 0]


@dataclass(frozen=True, eq=False)
class Ratio:
    """A/B with 0/0 = `zero` and x/0 = inf; `least` is the smallest B (or A + B) above 0."""

    above: Lin
    below: Lin
    zero: float = 0.0
    infinite: bool = False

    def value(self, P):
        a, b = self.above.value(P), self.below.value(P)
        a = np.where(np.abs(a) < 1e-12, 0.0, a)
        b = np.where(np.abs(b) < 1e-12, 0.0, b)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where((a == 0) & (b == 0), self.zero, a / b)

    def reaches(self, model, k, sign):
        rows = [sign * (self.above.at(model) - k * self.below.at(model)) >= 0]
        if sign * (self.zero - k) < 0:
            floor = self.above + self.below if self.infinite else self.below
            lowest = floor.c + np.minimum(floor.a, 0.0).sum()
            if lowest < 1e-12:
                rows.append(floor.at(model) / floor.step >= model.t)
        return rows


@dataclass(frozen=True, eq=False)
class Many:
    """Several functions made one: `kind` says how."""

    kind: str
    parts: tuple

    def value(self, P):
        xs = np.stack([x.value(P) for x in self.parts])
        plain = {
            "min": lambda: xs.min(0),
            "max": lambda: xs.max(0),
            "spread": lambda: xs.max(0) - xs.min(0),
            "abs": lambda: np.abs(xs[0]),
            "maxabs": lambda: np.abs(xs).max(0),
            "mean": lambda: xs.mean(0),
            "sum": lambda: xs.sum(0),
            "q": lambda: 1 - np.sqrt((xs * xs).mean(0)),
        }
        if self.kind in plain:
            return plain[self.kind]()
        if self.kind == "extremes":
            top = xs.max(0)
            return np.where(top > 1e-12, xs.min(0) / np.where(top > 1e-12, top, 1.0), 0.0)
        xs = np.where(xs < 1e-13, 0.0, xs)
        safe = np.where(xs > 0, xs, 1.0)
        mean = {"geo": np.exp(np.log(safe).mean(0)), "harm": len(xs) / (1 / safe).sum(0)}
        return np.where((xs > 0).all(0), mean[self.kind], 0.0)

    def concave(self, model):
        """The function as a concave homogeneous expression."""
        xs = [x.at(model) for x in self.parts]
        stack = cp.hstack(xs)
        if self.kind == "geo":
            return cp.geo_mean(stack)
        if self.kind == "harm":
            return cp.harmonic_mean(stack)
        if self.kind == "q":
            return model.t - cp.norm(stack, 2) / np.sqrt(len(xs))
        if self.kind == "min":
            return cp.min(stack)
        raise ValueError(self.kind)

    def convex(self, model):
        xs = [x.at(model) for x in self.parts]
        stack = cp.hstack(xs)
        if self.kind in ("max", "spread"):
            return cp.max(stack) - (cp.min(stack) if self.kind == "spread" else 0.0)
        if self.kind in ("abs", "maxabs"):
            return cp.max(cp.abs(stack))
        raise ValueError(self.kind)

    def reaches(self, model, k, sign):
        if self.kind in ("min", "max") and (self.kind == "min") == (sign > 0):
            return [row for x in self.parts for row in x.reaches(model, k, sign)]
        if self.kind == "extremes":
            assert sign > 0
            if k <= 0:
                return []
            xs = [x.at(model) for x in self.parts]
            top = cp.Variable()
            least = min(x.step for x in self.parts)
            rows = [x >= k * top for x in xs] + [x <= top for x in xs]
            return [*rows, top / least >= model.t]
        if sign > 0:
            return [self.concave(model) + model.slack >= k * model.t]
        return [self.convex(model) - model.slack <= k * model.t]


@dataclass(frozen=True)
class Limit:
    """``sign * (function - level) >= 0``."""

    function: object
    level: float
    sign: float

    def violation(self, P):
        past = self.sign * (self.level - self.function.value(P))
        return np.where(past <= 0, 0.0, np.where(np.isnan(past), INF, past))

    def rows(self, model, moved=0.0):
        return self.function.reaches(model, self.level - self.sign * moved, self.sign)


# -- rows -----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Rows:
    """A labelled data set X and, joined to it, others; `true` is -1 where unlabelled."""

    scores: np.ndarray
    true: np.ndarray
    weight: np.ndarray
    group: np.ndarray
    deployed: np.ndarray
    part: np.ndarray
    segment: np.ndarray

    def _rate(self, event, given):
        w = self.weight * given
        total = w.sum()
        # Without rows the rate means nothing, and the library refuses the goal.
        return event * w / total if total > 0 else np.full(len(w), np.nan)

    def on(self, part="X", group=None):
        chosen = self.part == part
        return chosen if group is None else chosen & (self.group == group)

    def recall(self, where, label=1):
        a = self._rate(1.0, where & (self.true == label))
        return Lin(a) if label == 1 else Lin(-a, 1.0)

    def miss(self, where, label=1):
        return (-1.0) * self.recall(where, label) + 1.0

    def rate(self, where):
        return Lin(self._rate(1.0, where))

    def accuracy(self, where):
        return Lin(
            self._rate(np.where(self.true == 1, 1.0, -1.0), where),
            float(self._rate(1.0 * (self.true == 0), where).sum()),
        )

    def cost(self, where, false_positive, false_negative):
        change = np.where(self.true == 1, -false_negative, false_positive)
        return Lin(
            self._rate(change, where),
            float(self._rate(false_negative * (self.true == 1), where).sum()),
        )

    def share(self, true, accepted, where):
        a = self._rate(1.0 * (self.true == true), where)
        return Lin(a) if accepted else Lin(-a, float(a.sum()))

    def prior(self, where):
        return float(self._rate(1.0 * (self.true == 1), where).sum())

    def precision(self, where):
        return Ratio(self.share(1, True, where), self.rate(where))

    def npv(self, where):
        right = self.share(0, False, where)
        return Ratio(right, right + self.share(1, False, where))

    def fbeta(self, where, beta=1.0):
        b = beta * beta
        below = self.rate(where) + b * self.prior(where)
        return Ratio((1 + b) * self.share(1, True, where), below)

    def f1_of(self, where, label):
        if label == 1:
            return self.fbeta(where)
        hit = self.share(0, False, where)
        rejected = (-1.0) * self.rate(where) + 1.0
        return Ratio(2.0 * hit, rejected + (1.0 - self.prior(where)))

    def churn(self, where):
        a = self._rate(np.where(self.deployed == 0, 1.0, -1.0), where)
        return Lin(a, float(self._rate(1.0 * (self.deployed == 1), where).sum()))

    def changed(self, where, to):
        """The share of rows whose decision changes, and then is right (1) or wrong (0)."""
        both = where & (self.true >= 0)
        scale = (self.weight * both).sum()
        up = self.weight * (both & (self.deployed == 0) & (self.true == to)) / scale
        down = self.weight * (both & (self.deployed == 1) & (self.true == 1 - to)) / scale
        return Lin(up - down, float(down.sum()))


@dataclass(frozen=True, eq=False)
class Mcc:
    rows: Rows
    where: np.ndarray

    def value(self, P):
        r, w = self.rows, self.where
        tp = r.share(1, True, w).value(P)
        tn = r.share(0, False, w).value(P)
        rate, prior = r.rate(w).value(P), r.prior(w)
        cov = tp * tn - (rate - tp) * (prior - tp)
        var = rate * (1 - rate) * prior * (1 - prior)
        return np.where(var > 1e-14, cov / np.sqrt(np.where(var > 1e-14, var, 1.0)), 0.0)


# -- the two searches -----------------------------------------------------------------------


class Model:
    """Variables of a program over mixtures: weights x of cut-offs, scaled by t.

    `slack` is what curved bounds may be missed by: interior point methods cannot tell an
    empty region from one without an interior.
    """

    def __init__(self, D, slot_of, homogeneous):
        self.D = D
        self.x = cp.Variable(D.shape[1], nonneg=True)
        self.t = cp.Variable(nonneg=True) if homogeneous else 1.0
        self.slack = 0.0
        n = slot_of.max() + 1
        sums = np.zeros((n, D.shape[1]))
        sums[slot_of, np.arange(D.shape[1])] = 1.0
        self.simplex = [sums @ self.x == self.t * np.ones(n)]


@dataclass
class Oracle:
    """The best of all thresholds, and of all their mixtures."""

    rows: Rows
    sense: float
    objective: object
    limits: tuple = field(default=())

    @cached_property
    def cutoffs(self):
        """For each segment, acceptance (K, N) of its rows at each distinct cut-off."""
        r = self.rows
        out = []
        for s in range(r.segment.max() + 1):
            mine = r.segment == s
            values = [INF, *np.unique(r.scores[mine])[::-1]]
            out.append(np.stack([(mine & (r.scores >= v)).astype(float) for v in values]))
        return out

    def violation(self, P):
        each = [limit.violation(P) for limit in self.limits]
        return np.max(each, axis=0) if each else np.zeros(P.shape[:-1])

    @cached_property
    def all_thresholds(self):
        sizes = [range(len(c)) for c in self.cutoffs]
        return np.stack(
            [sum(c[i] for c, i in zip(self.cutoffs, pick, strict=True)) for pick in product(*sizes)]
        )

    @cached_property
    def best_threshold(self):
        """Largest objective as a score, -inf where none is feasible; least violation."""
        P = self.all_thresholds
        values = self.sense * self.objective.value(P)
        worst = self.violation(P)
        feasible = worst <= SATISFIED
        return (values[feasible].max() if feasible.any() else -INF), worst.min()

    # -- mixtures
    def _model(self, homogeneous=False):
        D = np.concatenate(self.cutoffs).T
        slot_of = np.repeat(np.arange(len(self.cutoffs)), [len(c) for c in self.cutoffs])
        return Model(D, slot_of, homogeneous)

    def _solve(self, objective, rows):
        problem = cp.Problem(objective, rows)
        linear = problem.objective.args[0].is_pwl() and all(
            c.expr.is_pwl() for c in problem.constraints
        )
        for options in _SOLVERS[0 if linear else 1 :]:
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    problem.solve(**options)
            except (cp.SolverError, ValueError):
                continue
            if problem.status == "infeasible":
                return -INF
            if problem.status in ("optimal", "optimal_inaccurate"):
                return float(problem.value)
        raise AssertionError(f"no solver of cvxpy could tell: {problem.status}")

    def _rows(self, model, moved=0.0):
        return [*model.simplex, *(row for x in self.limits for row in x.rows(model, moved))]

    def is_feasible(self, moved=0.0, extra=()):
        """Whether some mixture meets the bounds, moved outwards."""
        model = self._model()
        model.slack = cp.Variable()
        rows = [model.slack >= -1.0, *self._rows(model, moved)]
        rows += [r for x in extra for r in x.rows(model)]
        linear = [r for r in rows if r.is_dcp() and all(a.is_affine() for a in r.args)]
        if len(linear) < len(rows) and self._solve(cp.Maximize(0 * model.slack), linear) == -INF:
            return False
        return self._solve(cp.Maximize(-model.slack), rows) > -1e-9

    def best_mixture(self):
        """The largest objective as a score; -inf where nothing is feasible."""
        f, sense = self.objective, self.sense
        if not self.is_feasible():
            return -INF
        if isinstance(f, Lin):
            model = self._model()
            return self._solve(cp.Maximize(sense * f.at(model)), self._rows(model))
        if isinstance(f, Ratio):
            model = self._model(homogeneous=True)
            rows = [*self._rows(model), f.below.at(model) == 1.0]
            best = self._solve(cp.Maximize(sense * f.above.at(model)), rows)
            if sense * f.zero > best and self.is_feasible(extra=[Limit(f.below, 0.0, -1.0)]):
                best = sense * f.zero
            return best
        if f.kind == "mean" or f.kind == "extremes" or not all(isinstance(x, Lin) for x in f.parts):
            return self._bisect()
        model = self._model()
        if sense > 0:
            return self._solve(cp.Maximize(f.concave(model)), self._rows(model))
        return self._solve(cp.Maximize(-f.convex(model)), self._rows(model))

    def _bisect(self):
        """Extremes of ratios: halve the range of what can be reached."""
        low, high = (0.0, 1.0) if self.sense > 0 else (-1.0, 0.0)
        while high - low > 1e-8:
            middle = 0.5 * (low + high)
            level = Limit(self.objective, self.sense * middle, self.sense)
            low, high = (middle, high) if self.is_feasible(extra=[level]) else (low, middle)
        return 0.5 * (low + high)

    def least_violation(self):
        """Over mixtures, by bisection; all bounds are moved outwards by the same."""
        if self.is_feasible():
            return 0.0
        low, high = 0.0, 1.0
        while not self.is_feasible(high):
            low, high = high, 2 * high
        while high - low > 1e-7:
            middle = 0.5 * (low + high)
            low, high = (low, middle) if self.is_feasible(middle) else (middle, high)
        return high
