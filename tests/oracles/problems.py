"""Random small problems, each as the text of a goal and as functions of the oracle."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from oracles.binary import Limit, Many, Mcc, Oracle, Ratio, Rows
from setpoint import Goal
from setpoint.counts import Evidence
from setpoint.errors import EmptyPopulationError, GoalError
from setpoint.program import link

GROUPS = np.array(["a", "b", "c", "d"])


@dataclass
class Case:
    """A problem for the library and for the oracle."""

    text: str
    goal: Goal
    evidence: Evidence
    oracle: Oracle
    mixable: bool

    @property
    def program(self):
        return link(self.goal, self.evidence.codebook).at(self.evidence.marginals)

    def accepted(self, rule):
        """Probability with which a rule accepts each row."""
        segment = self.evidence.rows.segment if self.evidence.codebook.decide_on else None
        return rule.distribution(self.oracle.rows.scores, segment)[:, 1]


def rows_of(rng, n, n_groups, weights):
    """Arrays of one data set: score, true, weight, group, deployed."""
    true = rng.integers(0, 2, n)
    digits = rng.integers(0, 3)
    scores = np.round(rng.normal(size=n) + 0.8 * true, digits)
    group = rng.integers(0, n_groups, n)
    deployed = np.where(rng.random(n) < 0.7, true, 1 - true)
    weight = {
        "unit": lambda: np.ones(n),
        "tiny": lambda: np.where(rng.random(n) < 0.5, 1e-6, 1.0),
        "huge": lambda: np.where(rng.random(n) < 0.3, 1e6, 1.0),
        "integer": lambda: rng.integers(1, 5, n).astype(float),
        "real": lambda: rng.lognormal(size=n),
    }[weights]()
    return scores, true, weight, group, deployed


def evidence_of(goal, parts, decide_on, unit):
    """Evidence and the oracle's rows; `parts` maps a data set to its arrays."""
    pieces = [
        Evidence.from_arrays(
            *((0, 1), scores, None if true[0] < 0 else true),
            needs=goal.needs,
            dataset=None if name == "X" else name,
            weight=None if unit else weight,
            columns={"g": GROUPS[group]},
            baseline=deployed,
            decide_on=decide_on,
        )
        for name, (scores, true, weight, group, deployed) in parts.items()
    ]
    evidence = Evidence.concat(pieces)
    joined = [np.concatenate(x) for x in zip(*parts.values(), strict=True)]
    part = np.concatenate([np.full(len(a[0]), name, object) for name, a in parts.items()])
    scores, true, weight, group, deployed = joined
    return evidence, Rows(
        scores, true, weight, GROUPS[group], deployed, part, evidence.rows.segment
    )


def objectives(r: Rows, groups):
    """By shape: the sense, the text and the oracle's function."""
    X, by = r.on(), [r.on(group=g) for g in groups]
    recalls, first = (r.recall(X, 0), r.recall(X, 1)), f"on(g='{groups[0]}')"

    def over(kind, rate):
        return Many(kind, tuple(rate(w) for w in by))

    return {
        "affine": [
            (1.0, "accuracy", r.accuracy(X)),
            (1.0, "recall", r.recall(X)),
            (-1.0, "error_rate", -1.0 * r.accuracy(X) + 1.0),
            (-1.0, "cost({(0, 1): 1, (1, 0): 5})", r.cost(X, 1.0, 5.0)),
            (-1.0, "predicted_rate", r.rate(X)),
            (1.0, "balanced_accuracy", 0.5 * (recalls[0] + recalls[1])),
            (1.0, f"recall.{first} + specificity", r.recall(by[0]) + recalls[0]),
            (-1.0, "churn", r.churn(X)),
        ],
        "fractional": [
            (1.0, "f1", r.fbeta(X)),
            (1.0, "fbeta(2)", r.fbeta(X, 2.0)),
            (1.0, "precision", r.precision(X)),
            (-1.0, "precision", r.precision(X)),
            (1.0, "negative_predictive_value", r.npv(X)),
            (1.0, f"f1.{first}", r.fbeta(by[0])),
        ],
        "concave": [
            (1.0, "g_mean", Many("geo", recalls)),
            (1.0, "h_mean", Many("harm", recalls)),
            (1.0, "q_mean", Many("q", (r.miss(X, 0), r.miss(X, 1)))),
            (1.0, "min_recall", Many("min", recalls)),
            (1.0, "accuracy.min(g)", over("min", r.accuracy)),
            (-1.0, "recall.difference(g)", over("spread", r.recall)),
            (-1.0, "abs(predicted_rate - prior)", Many("abs", (r.rate(X) - r.prior(X),))),
        ],
        "quasiconcave": [
            (1.0, "f1.min(g)", over("min", r.fbeta)),
            (1.0, "predicted_rate.ratio(g)", over("extremes", r.rate)),
        ],
        "sum of ratios": [
            (1.0, "macro_f1", Many("mean", (r.f1_of(X, 0), r.f1_of(X, 1)))),
            (1.0, "f1.mean(g)", over("mean", r.fbeta)),
            (1.0, "recall + precision", Many("sum", (r.recall(X), r.precision(X)))),
        ],
        "general": [(1.0, "mcc", Mcc(r, X))],
    }


def mixable(f):
    """Whether a search over mixtures takes a function: no ratio of which another is taken."""
    curved = isinstance(f, Many) and f.kind == "spread" and isinstance(f.parts[0], Ratio)
    return not curved and not isinstance(f, Mcc)


def limits(r: Rows, rng, groups, parts):
    """One constraint at random: text and limit."""
    X, by = r.on(), {g: r.on(group=g) for g in groups}
    g0 = groups[int(rng.integers(len(groups)))]
    recalls = (r.recall(X, 0), r.recall(X, 1))
    away = r.rate(X) - r.prior(X)

    def over(kind, rate):
        return Many(kind, tuple(rate(w) for w in by.values()))

    def bound(name, sign, f, low, high):
        level = float(np.round(rng.uniform(low, high), 2))
        return f"{name} {'>=' if sign > 0 else '<='} {level}", Limit(f, level, sign)

    def floor(name, f, low, high):
        return lambda: bound(name, 1.0, f, low, high)

    def cap(name, f, low, high):
        return lambda: bound(name, -1.0, f, low, high)

    def gap():
        """The other form of a bound on a difference."""
        a, b = (f"predicted_rate.on(g='{g}')" for g in (groups[0], groups[-1]))
        f = Many("abs", (r.rate(by[groups[0]]) - r.rate(by[groups[-1]]),))
        return bound(f"abs({a} - {b})", -1.0, f, 0.0, 0.3)

    today = float(r.recall(X).value(1.0 * (r.deployed == 1)))
    menu = [
        floor("precision", r.precision(X), 0.3, 1.0),
        floor("precision", r.precision(X), 0.5, 0.9),
        floor("negative_predictive_value", r.npv(X), 0.3, 0.9),
        floor("recall", r.recall(X), 0.1, 0.9),
        cap("recall", r.recall(X), 0.3, 0.9),
        cap("false_positive_rate", -1.0 * r.recall(X, 0) + 1.0, 0.0, 0.6),
        cap("predicted_rate", r.rate(X), 0.2, 0.8),
        floor("predicted_rate", r.rate(X), 0.1, 0.7),
        cap("predicted_rate.difference(g)", over("spread", r.rate), 0.0, 0.4),
        cap("recall.difference(g)", over("spread", r.recall), 0.0, 0.4),
        floor("predicted_rate.ratio(g)", over("extremes", r.rate), 0.2, 0.9),
        cap("churn", r.churn(X), 0.05, 0.5),
        floor(f"recall.on(g='{g0}')", r.recall(by[g0]), 0.2, 0.9),
        floor(f"precision.on(g='{g0}')", r.precision(by[g0]), 0.3, 0.9),
        cap("abs(predicted_rate - prior)", Many("abs", (away,)), 0.0, 0.3),
        floor("g_mean", Many("geo", recalls), 0.2, 0.7),
        floor("h_mean", Many("harm", recalls), 0.2, 0.7),
        floor("f1", r.fbeta(X), 0.2, 0.8),
        cap("f1", r.fbeta(X), 0.3, 0.8),
        cap("precision", r.precision(X), 0.3, 0.9),
        floor("win_loss_ratio", Ratio(r.changed(X, 1), r.changed(X, 0), infinite=True), 0.3, 2.0),
        floor("f1.min(g)", over("min", r.fbeta), 0.1, 0.6),
        floor("recall - recall.baseline()", r.recall(X) - today, -0.2, 0.1),
        floor("mcc", Mcc(r, X), 0.05, 0.5),
        cap("precision.difference(g)", over("spread", r.precision), 0.05, 0.5),
    ]
    if len(groups) > 1:
        apart = over("maxabs", lambda w: r.rate(w) - r.rate(X))
        menu += [gap, cap("predicted_rate.deviation(g)", apart, 0.02, 0.3)]
    if "u" in parts:
        menu += [cap("predicted_rate.on('u')", r.rate(r.on("u")), 0.1, 0.7)] * 3
    if "checked" in parts:
        checked = floor("recall.on('checked')", r.recall(r.on("checked")), 0.2, 1.0)
        menu += [checked] * 3
    return menu[int(rng.integers(len(menu)))]()


ORDERS = ("by class", "by group", "by time", "twice", "rare heavy weights")
"""How rows may lie in a table; the drift of "by time" turns the labels over."""

TWISTS = ("tied", "tiny", "huge", "one row a group", "one class", "equality", "no gap")


def random_case(seed, twist=""):
    """One problem; draws again where a rate has no rows or a bound no meaning.

    `twist` makes it an odd one: "equality" puts every bound where some thresholds meet it
    exactly, "no gap" asks for equal rates.
    """
    rng = np.random.default_rng([seed, *map(ord, twist)])
    while True:
        case = _draw(rng, twist)
        if case is not None:
            return case


def _draw(rng, twist):
    n_groups = int(rng.integers(1, 5)) if twist != "no gap" else 2
    visible = bool(rng.integers(0, 2))
    n = int(rng.integers(6, 15)) if twist != "one row a group" else n_groups
    weights = ("unit", "integer", "real")[int(rng.integers(3))]
    if twist in ("tiny", "huge"):
        weights = twist
    if twist == "rare heavy weights":
        weights = "real"
    parts = {"X": rows_of(rng, n, n_groups, weights)}
    if twist == "one row a group":
        parts["X"][3][:] = np.arange(n)
    if twist == "one class":
        parts["X"][1][parts["X"][3] == 0] = rng.integers(0, 2)
    if rng.random() < 0.3:
        s, _, w, g, d = rows_of(rng, 5, n_groups, weights)
        parts["u"] = (s, np.full(5, -1), w, g, d)
    if rng.random() < 0.3:
        parts["checked"] = rows_of(rng, 4, n_groups, weights)
    if twist == "tied":
        for arrays in parts.values():
            arrays[0][:] = 0.25
    if twist in ORDERS:
        parts = {name: _laid_out(rng, arrays, twist) for name, arrays in parts.items()}
    names = GROUPS[:n_groups].tolist()
    if not _complete(parts, n_groups, twist):
        return None
    decide_on = ("g",) if visible else ()
    # The oracle's functions need no segments; the goal decides what splits the rows.
    _, rows = evidence_of(Goal.parse("maximize accuracy"), parts, (), weights == "unit")
    shapes = objectives(rows, names)
    shape = list(shapes)[int(rng.integers(len(shapes)))]
    sense, text, f = shapes[shape][int(rng.integers(len(shapes[shape])))]
    bounds = [limits(rows, rng, names, parts) for _ in range(int(rng.integers(0, 4)))]
    if twist == "no gap":
        gap = Limit(Many("spread", tuple(rows.rate(rows.on(group=g)) for g in names)), 0.0, -1.0)
        bounds = [("predicted_rate.difference(g) <= 0", gap), *bounds[:1]]
    if twist == "equality":
        bounds = _met_exactly(rng, rows, visible, bounds)
    text = f"{'maximize' if sense > 0 else 'minimize'} {text}"
    if bounds:
        text += " subject to " + " and ".join(b[0] for b in bounds)
    goal = Goal.parse(text)
    try:
        evidence, rows = evidence_of(goal, parts, decide_on, weights == "unit")
        link(goal, evidence.codebook).at(evidence.marginals)
    except EmptyPopulationError:
        return None
    except GoalError as error:
        if "outside the range" in str(error):
            return None
        raise
    oracle = Oracle(rows, sense, f, tuple(b[1] for b in bounds))
    if np.prod([len(c) for c in oracle.cutoffs]) > 20_000:
        return None
    functions = [f, *(limit.function for _, limit in bounds)]
    return Case(text, goal, evidence, oracle, all(mixable(x) for x in functions))


def _laid_out(rng, arrays, order):
    """The rows of a table in an order, some of them twice, or of very different weight."""
    scores, true, weight, group, deployed = arrays
    n = len(scores)
    rows = np.arange(n)
    if order == "by class":
        rows = np.argsort(true, kind="stable")
    elif order == "by group":
        rows = np.lexsort((true, group))
    elif order == "by time":
        turned = (rows >= n // 2) & (true >= 0)
        true = np.where(turned, 1 - true, true)
        scores = scores + np.round(rows / n, 1)
    elif order == "twice":
        rows = np.sort(np.concatenate([rows, rng.choice(n, n // 2)]))
    else:
        weight = np.where(rng.random(n) < 0.15, 1000.0, 1.0)
    return tuple(x[rows] for x in (scores, true, weight, group, deployed))


def _met_exactly(rng, rows, visible, bounds):
    """The bounds moved to where one choice of thresholds takes them."""
    segment = np.unique(rows.group, return_inverse=True)[1] if visible else np.zeros(len(rows.true))
    cuts = {s: rng.choice([-np.inf, *rows.scores[segment == s]]) for s in np.unique(segment)}
    p = np.array([float(x >= cuts[s]) for x, s in zip(rows.scores, segment, strict=True)])
    out = []
    for text, limit in bounds:
        level = float(limit.function.value(p))
        if np.isfinite(level):
            moved = text[: text.rindex(" ") + 1] + repr(level)
            out.append((moved, Limit(limit.function, level, limit.sign)))
    return out


def _complete(parts, n_groups, twist):
    """Whether X has both classes, and in every group unless the twist forbids it."""
    _, true, _, group, _ = parts["X"]
    if twist in ("one row a group", "one class"):
        whole = len(set(true)) == 2 and len(set(group)) == n_groups
    else:
        whole = all(len(set(true[group == g])) == 2 for g in range(n_groups))
    return whole and ("checked" not in parts or 1 in parts["checked"][1])
