"""Schemas, counts and random goals that the tests of the language share."""

import random

import numpy as np

from setpoint.counts import Codebook, Marginals, Stratum
from setpoint.errors import GoalError
from setpoint.goals import TABLE, VOCABULARY, Constraint, Goal, LinearForm, Other
from setpoint.metrics import log, maximum, minimum, sqrt
from setpoint.program import Affine, Linker, NotLinearError, link

BINARY = ("no", "yes")
FIVE = ("a", "b", "c", "d", "e")
PARAMETERS = {
    "fbeta": "(2, label={1})", "micro_f1": "({0})", "confusion_rate": "({0}, {1})",
    "cost": "({{({0}, {1}): -2, ({1}, {0}): 3}})", "value": "({{({0}, {0}): -2, ({1}, {0}): 3}})",
    "profit": "(tp=3, fp=-2, label={1})",
}  # fmt: skip


def metric(name, classes):
    """The text of a metric of the table, with parameters and a label where it has any."""
    plain = "(label={1})" if TABLE[name].of_class else ""
    return name + PARAMETERS.get(name, plain).format(*classes)


class Schema:
    """A codebook and the marginals of some rows, for tests that need both."""

    def __init__(self, classes, strata, marginals, smallest, columns):
        self.codebook = Codebook(classes, strata, columns)
        self.weights = Marginals(marginals, smallest)
        self.classes, self.strata, self.n_classes = classes, strata, len(classes)
        self.marginals = marginals

    @classmethod
    def of_counts(cls, classes, strata, counts):
        known, weights = Codebook.of(classes, strata), Marginals.of_counts(counts)
        return cls(classes, strata, weights.weights, weights.smallest, known.columns)


def program_of(goal, schema):
    """The goal linked to the codebook, at the marginals."""
    return link(goal, schema.codebook).at(schema.weights)


def influence(expression, schema, counts):
    """Value at counts, and its derivative by each count, marginals moving."""
    linker = Linker(schema.codebook, schema.weights, fixed=False)
    f = linker.function(expression)
    table, v = linker.table, linker.table.of(counts)
    slope = f.gradient(v) if len(v) else np.zeros(0)
    rows = np.zeros_like(schema.marginals)  # the population's weight moves too
    for rate, norm, value, s in zip(table.rates, table.norms, v, slope, strict=True):
        rows[list(rate.strata)] += s / norm * value * rate.given_rows
    return float(f.value(v)), table.tensor(slope) - rows[:, :, None]


def linear_rows(program):
    """Each constraint with its linear rows; NotLinearError where one has none."""
    builder = program.row_builder()
    return [(c, builder.bound(c.function, c.level, c.sign)) for c in program.constraints]


def is_linear(program):
    try:
        linear_rows(program)
    except NotLinearError:
        return False
    return True


def tensor_of(program, x):
    """Weights of the counts in an affine function, without its constant."""
    assert isinstance(x, Affine)
    coefs = np.zeros(len(program.rates))
    for j, a in x.terms.items():
        coefs[j] = a
    return program.table.tensor(coefs)


def counts_of(n_strata, n, rng, *, low=1, high=30, unlabelled=()):
    """Random counts (strata, n + 1, n); the strata in `unlabelled` hold no labels."""
    counts = np.zeros((n_strata, n + 1, n))
    counts[:, :n] = rng.integers(low, high, (n_strata, n, n))
    for c in unlabelled:
        counts[c, n] = counts[c, :n].sum(axis=0)
        counts[c, :n] = 0
    return counts


def plain(classes=BINARY, seed=0, **options):
    """One stratum: schema and counts."""
    counts = counts_of(1, len(classes), np.random.default_rng(seed), **options)
    return Schema.of_counts(classes, (Stratum(),), counts), counts


def grouped(classes=BINARY, seed=0, baseline=False, datasets=False, **options):
    """Strata by sex (three values) and country (IN and the rest), on request more."""
    keys = [
        (("country", country), ("sex", sex))
        for country in ("IN", Other(("IN",)))
        for sex in ("F", "M", "X")
    ]
    deployed = range(len(classes)) if baseline else (None,)
    strata = [Stratum(None, key, b) for key in keys for b in deployed]
    if datasets:
        strata += [Stratum("audit", (("country", "IN"),), b) for b in deployed]
        strata += [Stratum("audit", (("country", Other(("IN",))),), b) for b in deployed]
        strata += [Stratum("unlabelled", (), b) for b in deployed]
    unlabelled = [i for i, c in enumerate(strata) if c.dataset == "unlabelled"]
    rng = np.random.default_rng(seed)
    counts = counts_of(len(strata), len(classes), rng, unlabelled=unlabelled, **options)
    return Schema.of_counts(classes, tuple(strata), counts), counts


def decisions(schema, rng, *, sparse=0.5):
    """Counts of a random decision: the schema's rows, spread over predicted classes."""
    n = schema.n_classes
    out = np.zeros((len(schema.strata), n + 1, n))
    kept = np.flatnonzero(rng.random(n) > sparse)
    kept = kept if kept.size else np.array([rng.integers(n)])
    for c, t in zip(*np.nonzero(schema.marginals), strict=True):
        spread = rng.multinomial(int(schema.marginals[c, t]), rng.dirichlet(np.ones(kept.size)))
        out[c, t, kept] = spread
    return out


def constant(schema, k):
    """Counts of the decision that always says class `k`."""
    out = np.zeros((len(schema.strata), schema.n_classes + 1, schema.n_classes))
    out[:, :, k] = schema.marginals
    return out


# --- random goals ---------------------------------------------------------------------------

NAMES = [
    "sex", "country", "native-country", "class", "lambda", "None", "True", "self", "label",
    "population", "where", "__debug__", "a b", 'qu"ote', "it's", "back\\slash", "new\nline",
    "tab\t", "größe", "ﬁ", "数", "😀", "\n😀", "\ud800", "e\u0301", "\u202e", "and", "subject to",
    "s.t.", ">= 0.5", "≥", "#", "x" * 40,
]  # fmt: skip
LABELS = [
    0, 1, -1, 7, -12345, 2**70, 0.5, -0.25, 1e300, 1e-300, 3.0, 1e22, True, False, "yes", "no", "",
    "-1", "1", "None", *NAMES,
]  # fmt: skip

KINDS = [
    "mean", "sum", "min", "max", "difference", "ratio", "geometric_mean", "harmonic_mean",
    "quadratic_mean", "deviation",
]  # fmt: skip


class Random:
    """Random expressions and goals, reproducible from a seed."""

    def __init__(self, seed):
        self.r = random.Random(seed)

    def number(self):
        r = self.r
        near = [r.random(), -r.random(), r.randint(-3, 3)]
        return r.choice([*near, r.randint(1, 10**9), 10 ** r.uniform(-9, 9)])

    def label(self):
        return self.r.choice(LABELS)

    def form(self):
        """What a row is worth: a number, or a linear form in columns of any name."""
        columns = self.r.sample(NAMES, self.r.randint(0, 3))
        return LinearForm.build({c: float(self.number()) for c in columns}, float(self.number()))

    def metric(self):
        r = self.r
        name = r.choice(list(TABLE))
        entry = TABLE[name]
        found = VOCABULARY[name]
        labels = {repr(x): x for x in r.sample(LABELS, 2)}.values()
        if name == "fbeta":
            found = found(r.choice([0.5, 1, 2, 2.0, 1e-3]))
        elif name == "micro_f1":
            found = found(self.label())
        elif name in ("cost", "value"):
            draw = self.number if r.random() < 0.5 else self.form
            answers = [self.label(), self.label(), "defer"]
            found = found({(self.label(), p): draw() for p in answers})
        elif name == "profit":
            kinds = r.sample(["tp", "fp", "fn", "tn", "defer"], r.randint(1, 5))
            found = found(**{k: self.form() for k in kinds})
        elif name == "confusion_rate":
            found = found(self.label(), self.label())
        elif name == "prior_divergence" and r.random() < 0.5 and len(set(labels)) == 2:
            found = found(dict(zip(labels, (0.25, 0.75), strict=True)))
        if entry.of_class and r.random() < 0.4:
            found = found(label=self.label())
        if r.random() < 0.3:
            data = [r.choice(NAMES)] if r.random() < 0.5 else []
            where = {n: self.label() for n in r.sample(NAMES, r.randint(0 if data else 1, 2))}
            found = found.on(*data, *([where] if where else []))
        if r.random() < 0.2 and not entry.in_units:
            found = found.weighted(r.choice(NAMES))
        if r.random() < 0.2 and not found.defers:
            found = found.decided
        return found

    def expression(self, depth=4):
        r = self.r
        if depth == 0 or r.random() < 0.2:
            return self.metric()
        kind = r.randrange(9)
        x = self.expression(depth - 1)
        if kind < 5:
            y = self.number() if r.random() < 0.35 else self.expression(depth - 1)
            if r.random() < 0.5:
                x, y = y, x
            operations = [
                lambda: x + y, lambda: x - y, lambda: x * y, lambda: x / y, lambda: -x + -y,
            ]  # fmt: skip
            return operations[kind]()
        if kind == 5:
            return r.choice([abs, log, sqrt])(x)
        if kind == 6:
            others = [self.expression(depth - 1), self.number()][: r.randint(1, 2)]
            return r.choice([maximum, minimum])(x, *others)
        if kind == 7:
            return x.baseline()
        reducer = r.choice(KINDS)
        columns = r.sample(NAMES, r.randint(1 if reducer == "deviation" else 0, 2))
        return getattr(x, reducer)(*columns)

    def goal(self):
        """A random goal; what the language refuses is drawn again."""
        while True:
            try:
                constraints = tuple(self.constraint() for _ in range(self.r.randint(0, 2)))
                return Goal(self.r.choice(["maximize", "minimize"]), self.expression(), constraints)
            except (GoalError, TypeError):
                continue

    def constraint(self):
        r, x = self.r, self.expression(2)
        if r.random() < 0.5:
            return x >= self.number()
        bound = (0.5 * self.expression(1)) if r.random() < 0.3 else 0 * accuracy + 0.25
        sure = r.choice([None, None, 0.95, 1e-9, r.random() or 0.5])
        return Constraint(x, r.choice([">=", "<="]), bound, sure)


accuracy = VOCABULARY["accuracy"]
