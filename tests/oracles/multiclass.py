"""Random small multiclass problems, and their optimum by cvxpy over all randomised rules.

Nothing of the library is used to find the optimum. A rule is the probabilities h[r, j] with
which row r is decided j, every rate is linear in them, and rows that a rule cannot tell
apart share theirs. Rows count softly: in each stratum and true class by their posterior.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import cvxpy as cp
import numpy as np

from oracles.binary import INF, Limit, Lin, Many, Model, Oracle, Ratio
from setpoint import Goal
from setpoint.counts import Evidence
from setpoint.errors import EmptyPopulationError, GoalError
from setpoint.goals import Other
from setpoint.program import link

GROUPS = ("a", "b")


@dataclass(frozen=True, eq=False)
class Divergence:
    """``sum p log(p / q)`` of shares q that a decision changes."""

    p: np.ndarray
    q: tuple[Lin, ...]

    def value(self, P):
        q = np.stack([x.value(P) for x in self.q])
        p = self.p.reshape(-1, *[1] * (q.ndim - 1))
        with np.errstate(divide="ignore"):
            return (p * (np.log(p) - np.log(np.maximum(q, 0.0)))).sum(0)

    def convex(self, model):
        """Homogeneous: the perspective of the divergence."""
        q = cp.hstack([x.at(model) for x in self.q])
        return cp.sum(cp.rel_entr(self.p * model.t, q))

    def reaches(self, model, k, sign):
        assert sign < 0
        return [self.convex(model) - model.slack <= k * model.t]


@dataclass(frozen=True, eq=False)
class Share(Lin):
    """A share of rows; `step` is the least that deciding one row adds."""

    least: float = 0.0

    @property
    def step(self):
        return self.least


@dataclass(frozen=True, eq=False)
class Precision(Ratio):
    """The rows of bounds are of the size of the lightest row, or no solver would see them."""

    def reaches(self, model, k, sign):
        row = sign * (self.above.at(model) - k * self.below.at(model)) / self.below.step >= 0
        return [row, *super().reaches(model, k, sign)[1:]]


@dataclass(frozen=True, eq=False)
class Soft:
    """Rows by posterior: `eta` (N, groups, deployed classes, n) sums to 1 in each row."""

    eta: np.ndarray
    weight: np.ndarray

    @property
    def n(self):
        return self.eta.shape[-1]

    def mass(self, group=None):
        """Weight (N, n) of each row in each true class of a group."""
        eta = self.eta if group is None else self.eta[:, [GROUPS.index(group)]]
        return self.weight[:, None] * eta.sum(axis=(1, 2))

    def _of_class(self, k, share):
        a = np.zeros((len(share), self.n))
        a[:, k] = share
        return Lin(a.ravel())

    def accepted(self, k, group=None):
        """The share predicted k; deciding a row is the least, however small its posterior."""
        m = self.mass(group)
        least = self.weight[m.sum(1) > 0].min() / m.sum()
        return Share(self.rate(k, group).a, least=float(least))

    def recall(self, k, group=None):
        m = self.mass(group)[:, k]
        return self._of_class(k, m / m.sum() if m.sum() > 0 else np.full(len(m), np.nan))

    def rate(self, k, group=None):
        m = self.mass(group)
        return self._of_class(k, m.sum(1) / m.sum())

    def tp(self, k, group=None):
        m = self.mass(group)
        return self._of_class(k, m[:, k] / m.sum())

    def prior(self, k, group=None):
        m = self.mass(group)
        return float(m[:, k].sum() / m.sum())

    def accuracy(self, group=None):
        m = self.mass(group)
        return Lin((m / m.sum()).ravel())

    def error(self, group=None):
        return (-1.0) * self.accuracy(group) + 1.0

    def cost(self, costs, group=None):
        m = self.mass(group)
        return Lin((m @ costs / m.sum()).ravel())

    def churn(self):
        by_deployed = self.weight[:, None] * self.eta.sum(axis=(1, 3))
        changed = by_deployed.sum(1, keepdims=True) - by_deployed
        return Lin((changed / self.weight.sum()).ravel())

    def precision(self, k, group=None):
        return Precision(self.tp(k, group), self.accepted(k, group))

    def f1(self, k, group=None):
        return Ratio(2.0 * self.tp(k, group), self.rate(k, group) + self.prior(k, group))

    def micro_f1(self, default):
        others = [k for k in range(self.n) if k != default]
        hits = sum((self.tp(k) for k in others[1:]), self.tp(others[0]))
        below = sum((self.rate(k) for k in others[1:]), self.rate(others[0]))
        return Ratio(2.0 * hits, below + sum(self.prior(k) for k in others))

    def over_classes(self, f, **where):
        return tuple(f(k, **where) for k in range(self.n))

    def from_prior(self):
        return tuple(self.rate(k) - self.prior(k) for k in range(self.n))

    def counts(self, h):
        """Confusion (groups, deployed, true, predicted) of decisions h (N, n)."""
        return np.einsum("r,rgbi,rj->gbij", self.weight, self.eta, h)


@dataclass
class Best(Oracle):
    """The best of all randomised rules; `kinds` numbers rows that a rule can tell apart."""

    kinds: np.ndarray = None

    def __post_init__(self):
        n = self.rows.n
        kinds = np.unique(self.kinds, return_inverse=True)[1].ravel()
        m = int(kinds.max()) + 1
        self._slot_of = np.repeat(np.arange(m), n)
        lines = np.arange(len(kinds) * n)
        self._D = np.zeros((len(lines), m * n))
        self._D[lines, np.repeat(kinds, n) * n + lines % n] = 1.0

    def _model(self, homogeneous=False):
        return Model(self._D, self._slot_of, homogeneous)

    def reaches(self, score):
        """Whether some rule within the limits has at least this score."""
        return self.is_feasible(extra=[Limit(self.objective, self.sense * score, self.sense)])

    @property
    def is_quasi(self):
        """Whether levels of the objective can be asked for, and its optimum not."""
        kind = getattr(self.objective, "kind", "")
        return kind == "extremes" or (
            kind == "min" and not all(isinstance(x, Lin) for x in self.objective.parts)
        )

    @property
    def is_sum(self):
        """Whether the objective is a sum of ratios: no convex program."""
        return getattr(self.objective, "kind", "") == "mean"

    def rules_on_a_grid(self, rng, many):
        """Decisions (many, N * n) of weighted argmaxes within the limits."""
        mass = self.rows.mass()
        weights = 10.0 ** rng.uniform(-1, 1, (many, 1, self.rows.n))
        P = np.eye(self.rows.n)[(mass * weights).argmax(axis=2)].reshape(many, -1)
        return P[self.violation(P) <= 1e-9]

    @cached_property
    def optimum(self):
        """The largest objective as a score; -inf where the limits cannot be met.

        Where a ratio's denominator can vanish, rules that expect less than one row's weight
        in it are left out.
        """
        f, sense = self.objective, self.sense
        if isinstance(f, Divergence):
            if not self.is_feasible():
                return -INF
            model = self._model()
            return self._solve(cp.Maximize(-f.convex(model)), self._rows(model))
        if isinstance(f, Ratio) and f.below.c + np.minimum(f.below.a, 0).sum() < 1e-12:
            if not self.is_feasible(extra=[Limit(f.below, f.below.step, 1.0)]):
                return f.zero * sense if self.is_feasible() else -INF
            model = self._model(homogeneous=True)
            rows = [*self._rows(model), f.below.at(model) / f.below.step >= model.t]
            rows.append(f.below.at(model) == 1.0)
            return self._solve(cp.Maximize(sense * f.above.at(model)), rows)
        return self.best_mixture()


@dataclass
class Case:
    """A problem for the library and for the oracle.

    `known` says what the solver knows of a row's stratum: "segment" (the rule sees it), "hidden"
    (it does not), "joint" (it does not, and posteriors refer to stratum and class).
    """

    text: str
    goal: Goal
    evidence: Evidence
    soft: Evidence
    known: str
    rows: Soft
    oracle: Best

    @property
    def is_exact(self):
        """Whether a rule can tell the strata apart, or posteriors refer to them."""
        return not self.soft.credit.of_classes or len(self.soft.codebook.strata) == len(
            self.soft.segments
        )

    def features(self, program, h):
        """The program's features of decisions h (N, n), counted here."""
        counted = self.rows.counts(h)
        n = counted.shape[-1]
        out = np.zeros((len(self.soft.codebook.strata), n + 1, n))
        for c, stratum in enumerate(self.soft.codebook.strata):
            g, b = _parts(stratum)
            out[c, :n] = counted[g][:, b].sum(axis=(0, 1))
        return program.rates_of(out)

    def decisions(self, rule):
        """Probabilities (N, n) with which a rule decides each row."""
        segments = self.soft.rows.segment if rule.needs_segments else None
        return rule.distribution(self.soft.scores, segments)


POSTERIORS = ("flat", "sharp", "certain", "tied", "rare", "alike")
WEIGHTS = ("unit", "integer", "real", "wide")


def posteriors_of(rng, kind, N, n):
    """Posteriors (N, n)."""
    if kind == "flat":
        return rng.dirichlet(np.full(n, 3.0), N)
    if kind == "sharp":
        return rng.dirichlet(np.full(n, 0.4), N)
    if kind == "certain":
        eta = rng.dirichlet(np.ones(n), N)
        sure = rng.random(N) < 0.6
        eta[sure] = np.eye(n)[rng.integers(0, n, sure.sum())]
        eta[:n] = np.eye(n)
        return eta
    if kind == "tied":
        counts = rng.multinomial(4, np.full(n, 1 / n), N)
        return counts / 4.0
    if kind == "rare":
        eta = rng.dirichlet(np.ones(n), N)
        eta[:, rng.integers(n)] *= 10.0 ** rng.uniform(-6, -2)
        return eta / eta.sum(1, keepdims=True)
    assert kind == "alike"
    pool = np.concatenate([rng.dirichlet(np.ones(n), 4), np.full((1, n), 1 / n)])
    return pool[rng.integers(0, 5, N)]


def weights_of(rng, kind, N):
    if kind == "unit":
        return np.ones(N)
    if kind == "integer":
        return rng.integers(1, 5, N).astype(float)
    return rng.lognormal(size=N) if kind == "real" else 10.0 ** rng.uniform(-3, 3, N)


def objectives(r: Soft, rng):
    """By shape: sense, text, and the function."""
    n, classes = r.n, range(r.n)
    k, a = int(rng.integers(n)), GROUPS[int(rng.integers(2))]
    costs = np.round(rng.uniform(0, 3, (n, n)), 1) * (1 - np.eye(n))
    named = ", ".join(f"({i}, {j}): {costs[i, j]}" for i in classes for j in classes if i != j)
    recalls = r.over_classes(r.recall)
    misses = tuple((-1.0) * x + 1.0 for x in recalls)
    mean = Lin(sum(x.a for x in recalls) / n)
    by_group = [tuple(r.recall(j, g) for g in GROUPS) for j in classes]
    rates = tuple(r.accepted(k, g) for g in GROUPS)
    return {
        "affine": [
            (1.0, "accuracy", r.accuracy()),
            (-1.0, "error_rate", r.error()),
            (-1.0, f"cost({{{named}}})", r.cost(costs)),
            (1.0, "balanced_accuracy", mean),
            (1.0, f"recall(label={k}) + accuracy", r.recall(k) + r.accuracy()),
            (1.0, f"recall(label={k}).on(g='{a}') + accuracy", r.recall(k, a) + r.accuracy()),
            (-1.0, "churn", r.churn()),
        ],
        "concave": [
            (1.0, "h_mean", Many("harm", recalls)),
            (1.0, "g_mean", Many("geo", recalls)),
            (1.0, "q_mean", Many("q", misses)),
            (1.0, "min_recall", Many("min", recalls)),
            (1.0, "accuracy.min(g)", Many("min", tuple(r.accuracy(g) for g in GROUPS))),
            (-1.0, "abs(predicted_rate - prior).max()", Many("maxabs", r.from_prior())),
            (-1.0, "prior_divergence", divergence(r)),
            (-1.0, f"recall(label={k}).difference(g)", Many("spread", by_group[k])),
        ],
        "fractional": [
            (1.0, f"micro_f1(default={k})", r.micro_f1(k)),
            (1.0, f"f1(label={k})", r.f1(k)),
            (1.0, f"precision(label={k})", r.precision(k)),
            (1.0, f"f1(label={k}).on(g='{a}')", r.f1(k, a)),
        ],
        "quasiconcave": [
            (1.0, "f1.min()", Many("min", r.over_classes(r.f1))),
            (1.0, f"predicted_rate(label={k}).ratio(g)", Many("extremes", rates)),
            (1.0, "precision.min()", Many("min", r.over_classes(r.precision))),
        ],
        "sum of ratios": [
            (1.0, "macro_f1", Many("mean", r.over_classes(r.f1))),
            (
                1.0,
                f"f1(label={k}).mean(g)",
                Many("mean", tuple(r.f1(k, g) for g in GROUPS)),
            ),
        ],
    }


def divergence(r):
    return Divergence(np.array([r.prior(k) for k in range(r.n)]), r.over_classes(r.rate))


def limit(r: Soft, rng, hardness):
    """One bound at random: its text and the oracle's."""
    n = r.n
    k, a = int(rng.integers(n)), GROUPS[int(rng.integers(2))]
    recalls = r.over_classes(r.recall)
    spreads = [Many("spread", tuple(r.recall(j, g) for g in GROUPS)) for j in range(n)]
    rates, accepted = (tuple(f(k, g) for g in GROUPS) for f in (r.rate, r.accepted))
    away = Many("maxabs", tuple(x - r.rate(k) for x in rates))
    best = float(r.mass().max(1).sum() / r.mass().sum()) + 0.05
    label = f"(label={k})"
    # Of each: the name, whether it is a floor, the function, and its level from easy to hard.
    name, sign, f, easy, hard = [
        ("abs(predicted_rate - prior).max()", -1.0, Many("maxabs", r.from_prior()), 0.2, 0.0),
        (f"recall{label}", 1.0, r.recall(k), 0.1, 0.9),
        (f"recall{label}", -1.0, r.recall(k), 0.9, 0.2),
        ("recall.min()", 1.0, Many("min", recalls), 0.05, 0.6),
        (f"predicted_rate{label}.difference(g)", -1.0, Many("spread", rates), 0.4, 0.0),
        ("recall.difference(g).max()", -1.0, Many("max", tuple(spreads)), 0.5, 0.0),
        (f"recall{label}.difference(g)", -1.0, spreads[k], 0.4, 0.0),
        (f"precision{label}", 1.0, r.precision(k), 0.1, 0.8),
        (f"precision{label}", -1.0, r.precision(k), 0.8, 0.2),
        ("prior_divergence", -1.0, divergence(r), 0.5, 0.01),
        ("churn", -1.0, r.churn(), 0.9, 0.2),
        ("accuracy", 1.0, r.accuracy(), 0.0, best),
        ("h_mean", 1.0, Many("harm", recalls), 0.1, 0.6),
        ("g_mean", 1.0, Many("geo", recalls), 0.1, 0.6),
        (f"f1{label}", 1.0, r.f1(k), 0.1, 0.7),
        ("f1.min()", 1.0, Many("min", r.over_classes(r.f1)), 0.05, 0.5),
        (f"predicted_rate{label}", -1.0, r.rate(k), 0.6, 0.05),
        (f"predicted_rate{label}.ratio(g)", 1.0, Many("extremes", accepted), 0.2, 1.0),
        (f"predicted_rate{label}.deviation(g)", -1.0, away, 0.3, 0.0),
        (f"accuracy.on(g='{a}')", 1.0, r.accuracy(a), 0.0, 0.7),
        (f"precision{label}.on(g='{a}')", 1.0, r.precision(k, a), 0.1, 0.8),
    ][int(rng.integers(21))]
    level = float(np.round(easy + (hard - easy) * rng.random() ** (1 / hardness), 3))
    return f"{name} {'>=' if sign > 0 else '<='} {level}", Limit(f, level, sign)


def random_case(seed, known="segment", *, shape=None, twist="", most=2):
    """One problem; draws again where a rate has no rows or a bound no meaning.

    `twist`: "tight" puts each bound where some rule meets it exactly, "hard" makes bounds
    that often cannot be met.
    """
    salt = (known, shape or "", twist)
    rng = np.random.default_rng([seed, *map(ord, "|".join(salt))])
    while True:
        case = _draw(rng, known, shape, twist, most)
        if case is not None:
            return case


def _draw(rng, known, shape, twist, most):
    N, n = int(rng.integers(20, 70)), int(rng.integers(3, 6))
    eta = posteriors_of(rng, POSTERIORS[int(rng.integers(len(POSTERIORS)))], N, n)
    weighing = WEIGHTS[int(rng.integers(len(WEIGHTS)))]
    weight = weights_of(rng, weighing, N)
    group = rng.integers(0, 2, N)
    deployed = np.where(rng.random(N) < 0.6, eta.argmax(1), rng.integers(0, n, N))
    true = (eta.cumsum(1) > rng.random(N)[:, None]).argmax(1)
    # What the oracle counts: for a row of known stratum that stratum alone.
    full = np.zeros((N, 2, n, n))
    if known == "joint":
        # Only groups and deployed classes that occur: those are the strata.
        full[:, group, deployed] = 1.0
        full *= rng.gamma(0.3, size=full.shape)
        full /= full.sum(axis=(1, 2, 3), keepdims=True)
    else:
        full[np.arange(N), group, deployed] = eta
    rows = Soft(full, weight)
    shapes = objectives(rows, rng)
    shape = shape or list(shapes)[int(rng.integers(len(shapes)))]
    sense, text, f = shapes[shape][int(rng.integers(len(shapes[shape])))]
    hardness = 4.0 if twist == "hard" else 0.7
    bounds = [limit(rows, rng, hardness) for _ in range(int(rng.integers(0, most + 1)))]
    if twist and not bounds:
        return None
    if twist == "tight":
        bounds = _met_exactly(rng, rows, bounds)
        if bounds is None:
            return None
    text = f"{'maximize' if sense > 0 else 'minimize'} {text}"
    if bounds:
        text += " subject to " + " and ".join(b[0] for b in bounds)
    goal = Goal.parse(text)
    if any(np.isnan(x.value(np.zeros(N * n))).any() for x in [f, *(b[1].function for b in bounds)]):
        return None
    # A rule that may look at the deployed class as well sees the row's stratum.
    seen = ("d", "g") if "churn" in text else ("g",)
    decide_on = seen if known == "segment" else ()
    columns = {"g": np.array(GROUPS)[group], "d": deployed}
    try:
        evidence = Evidence.from_arrays(
            tuple(range(n)), eta, true, needs=goal.needs, columns=columns, baseline=deployed,
            weight=None if weighing == "unit" else weight, decide_on=decide_on,
        )  # fmt: skip
        if known == "joint":
            soft = _joint(evidence, full)
        else:
            soft = evidence.with_posteriors()
        link(goal, soft.codebook).at(soft.marginals)
    except EmptyPopulationError:
        return None
    except GoalError as error:
        if "outside the range" in str(error):
            return None
        raise
    kinds = np.unique(np.c_[soft.scores, soft.rows.segment], axis=0, return_inverse=True)[1].ravel()
    oracle = Best(rows, sense, f, tuple(b[1] for b in bounds), kinds=kinds)
    return Case(text, goal, evidence, soft, known, rows, oracle)


def _joint(evidence, full):
    """Posteriors of the evidence's strata and the classes, for the only segment."""
    n = full.shape[-1]
    scores, pairs = [], []
    for c, stratum in enumerate(evidence.codebook.strata):
        g, b = _parts(stratum)
        own = full[:, g][:, :, b].sum(axis=(1, 2))
        scores.append(own)
        pairs += [(c, i) for i in range(n)]
    return evidence.with_posteriors(np.concatenate(scores, axis=1), np.array(pairs)[None])


def _parts(stratum):
    """The groups and deployed classes of a stratum."""
    g, b = dict(stratum.key).get("g"), stratum.baseline
    groups = slice(None)
    if isinstance(g, Other):
        groups = [i for i, name in enumerate(GROUPS) if name not in g.than]
    elif g is not None:
        groups = [GROUPS.index(g)]
    return groups, slice(None) if b is None else [b]


def _met_exactly(rng, rows, bounds):
    """The bounds moved to where one rule takes them."""
    N, n = len(rows.weight), rows.n
    weights = rng.uniform(0.5, 2.0, n)
    h = np.eye(n)[(rows.mass() * weights).argmax(1)]
    if rng.random() < 0.3:
        h = np.full((N, n), 1 / n)
    out = []
    for text, bound in bounds:
        level = float(bound.function.value(h.ravel()))
        if not np.isfinite(level):
            return None
        moved = text[: text.rindex(" ") + 1] + repr(level)
        out.append((moved, Limit(bound.function, level, bound.sign)))
    return out
