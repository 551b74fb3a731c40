"""Rules to export, rows at all of their edges, and what `decide` makes of them."""

import math

import numpy as np
from hypothesis import strategies as st

from rules.strategies import finite, mixtures, per_slots, without_segments
from setpoint.goals import Other
from setpoint.rules import Argmax, Band, Mixture, PerSegment, Threshold, ValueAware

INF = float("inf")
SEX = ((("sex", "F"),), (("sex", "M"),))
PLACES = (
    (("age", 1), ("place", "it's")),
    (("age", 1), ("place", Other(("it's",)))),
    (("age", Other((1,))), ("place", 'a "b"; \\')),
)
STEEP = Threshold(0.1 + 0.2)
TWO = Mixture([(0.7, Threshold(0.25)), (0.3, Threshold(0.6))])
SOFT = Threshold(0.5, 0.4)
PREFER = Argmax([[1.0, 0.2, 0.0], [0.0, 2.0, -0.3], [0.1, 0.7, 1.5]], [0.1, 0.0, -0.05])
WEIGHED = Argmax.weighted([1.0, 2.5, 0.7])
TOP = PerSegment([WEIGHED, PREFER, Argmax.weighted([3, 1, 1])], by="top")

BAND = Band(0.3, 0.1 + 0.7)
GAIN = ValueAware(
    ["amount"], Argmax([[0.1, 0.0], [0.2, -0.4], [0.0, -0.3], [0.0, 1.3]], [0.0, -0.2])
)
GAINS = ValueAware(
    ["amount", "fee's"],
    Argmax(np.round(np.sin(np.arange(24) ** 2).reshape(6, 4), 1), [0.0, 0.1, -0.1, 0.0]),
)


def mix(p, first, second):
    return Mixture([(p, first), (1 - p, second)])


def split(*rules):
    return PerSegment(rules, SEX)


SOME, ANY = ValueAware(["amount"], Argmax(np.eye(4)[:, :2])), Argmax([[1.0, 0.2], [0.0, 2.0]])
# Every kind of rule, and every kind inside every other that takes it.
RULES = {
    "threshold": STEEP, "everyone": Threshold(-INF), "nobody": Threshold(INF, 2.0), "soft": SOFT,
    "soft beyond all": Threshold(1e308, 1.7e308), "soft and narrow": Threshold(1e10, 1e-9),
    "mixture": TWO,
    "mixture that agrees": Mixture([(0.1, Threshold(t)) for t in np.arange(10) / 20]),
    "mixture with everyone": mix(0.4, Threshold(-INF), Threshold(0.5)),
    "mixture with soft": mix(0.4, SOFT, Threshold(0.55)),
    "by segment": split(Threshold(0.3), Threshold(0.6)),
    "by two columns": PerSegment([Threshold(0.3), Threshold(INF), TWO], PLACES),
    "by segment, soft": split(SOFT, mix(0.5, SOFT, STEEP)),
    "mixture of segments": mix(0.3, split(STEEP, TWO), split(TWO, Threshold(0.5))),
    "mixture of soft segments": mix(0.3, split(mix(0.5, SOFT, STEEP), TWO), STEEP),
    "argmax": PREFER, "weights": WEIGHED,
    "nothing but offsets": Argmax(np.zeros((3, 3)), [0.0, 1.0, 1.0]),
    "wide": Argmax([[1.0, 2.0, 0.5], [2.0, 0.5, 1.0]]),
    "one score": Argmax([[1.0, 2.0, -1.0]], [0.5, 0.0, 0.0]), "by top": TOP,
    "by segment, by top": split(TOP, WEIGHED), "band": BAND,
    "band that defers nobody": Band(0.4, 0.4), "band that defers everyone": Band(-INF, INF),
    "band that never says yes": Band(0.4, INF), "band that never says no": Band(-INF, 0.6),
    "band that always says no": Band(INF, INF),
    "bands by segment": split(BAND, mix(0.5, BAND, Band(0.4, 0.4))),
    "mixture of bands": Mixture([(0.3, BAND), (0.2, Band(-INF, 0.5)), (0.5, Band(0.1, 0.6))]),
    "answers more than scores": Argmax([[1.0, 0.0, 0.7], [0.0, 2.0, 0.4]], [0.0, 0.0, 0.2]),
    "value": GAIN, "two values": GAINS, "value by segment": split(GAIN, SOME),
    "mixture of values": mix(0.3, GAINS, ValueAware(GAINS.columns, Argmax(np.eye(6)[:, :4]))),
    "two classes, mixture of values": mix(0.3, GAIN, SOME),
    "mixture of argmaxes": Mixture([(0.3, PREFER), (0.3, WEIGHED), (0.4, TOP)]),
    "two classes": mix(0.3, ANY, Argmax.weighted([1.0, 0.4])),
    "two classes, by top": mix(
        0.3, PerSegment([Argmax.weighted([1, 3]), Argmax.weighted([3, 1])], by="top"), ANY
    ),
    "mixture that looks at segments at times": mix(0.4, PREFER, split(WEIGHED, TOP)),
    "mixture of one that draws": Mixture([(1 - 2**-53, split(mix(0.5, PREFER, TOP), WEIGHED))]),
    "draws inside draws": mix(
        0.35, split(mix(0.2, PREFER, TOP), WEIGHED), split(mix(0.6, WEIGHED, TOP), PREFER)
    ),
}  # fmt: skip

signs = st.text("aB'\"\\;-%ö /*`[]{}", max_size=4)
values = {"text": signs, "number": st.integers(-3, 3) | st.floats(-3, 3), "bool": st.booleans()}
moderate = st.builds(Threshold, st.floats(-10, 10), st.sampled_from([0.0, 0.0, 0.5, 3.0]))
thresholds = st.builds(Threshold, finite | st.sampled_from([INF, -INF])) | moderate


@st.composite
def segments(draw):
    """Segments over one column or two, each column of one kind."""
    keys = [()]
    for column in draw(st.lists(signs, min_size=1, max_size=2, unique=True)):
        kind = values[draw(st.sampled_from(sorted(values)))]
        named = draw(st.lists(kind, min_size=1, max_size=2, unique=True))
        parts = [*named, Other(tuple(named))] if draw(st.booleans()) else named
        keys = [(*key, (column, part)) for key in keys for part in parts]
    return tuple(draw(st.permutations(keys)))


@st.composite
def rules(draw):
    """A rule of any kind whose columns a table can hold."""
    base = draw(without_segments(thresholds))
    keys = draw(segments())
    within = per_slots(base, keys)
    return draw(base | within | mixtures(within | base, 3))


def leaves(rule):
    return [leaf for child in rule.children for leaf in leaves(child)] or [rule]


def shares(rule):
    """The ends of all draws, as far as they are easily found."""
    if not isinstance(rule, Mixture):
        return {p for child in rule.children for p in shares(child)}
    own = np.cumsum([p for p, _ in rule.atoms]).tolist()
    return {*own, *(p for child in rule.children for p in shares(child))}


def near(number):
    with np.errstate(over="ignore"):
        return [np.nextafter(number, -INF), number, np.nextafter(number, INF)]


def rows_at_edges(rule, n_rows, seed=0):
    """Rows of a table: scores, the columns by name, and draws; some of each cannot be used."""
    rng = np.random.default_rng(seed)
    edges = [0.0, -0.0, None, math.nan, INF, -INF, 1e308, *rng.normal(0.4, 0.5, 40)]
    if rule.score_columns is None:
        for leaf in leaves(rule):
            if isinstance(leaf, Band):
                edges += [v for at in (leaf.low, leaf.high) for v in near(at)]
                continue
            t, half = leaf.threshold, leaf.width / 2
            edges += [v for at in (t, t - half, t + half, t - 2 * half) for v in near(at)]
        scores = [[_plain(edges[i]) for i in rng.integers(len(edges), size=n_rows)]]
    else:
        grid = np.round(rng.normal(0.4, 0.5, size=(rule.score_columns, n_rows)), 1).tolist()
        spoiled = [None, math.nan, INF, -INF]
        scores = [
            [spoiled[rng.integers(4)] if rng.random() < 0.02 else v for v in row] for row in grid
        ]
    columns = {}
    for position, (column, _) in enumerate(rule.segment_keys[0] if rule.segment_keys else ()):
        named = {
            v
            for key in rule.segment_keys
            for v in getattr(key[position][1], "than", (key[position][1],))
        }
        if all(isinstance(v, bool) for v in named):
            pool = [True, False, None]
        elif all(isinstance(v, str) for v in named):
            pool = [*sorted(named), *sorted(named), "something else", "", "None", "nan", None]
        else:
            pool = [*(float(v) for v in named), 0.0, 7.5, math.nan, None]
        columns[column] = [pool[i] for i in rng.integers(len(pool), size=n_rows)]
    ends = [v for end in sorted(shares(rule)) for v in near(end)]
    draws = [0.0, *rng.random(40), *(e for e in ends if 0 <= e < 1), None, math.nan, 1.0, -0.1]
    u = [_plain(draws[i]) for i in rng.integers(len(draws), size=n_rows)]
    return scores, columns, u


def _plain(value):
    return None if value is None else float(value)


def decided(rule, scores, columns, u):
    """What `decide` says of each row, None where it refuses the row."""
    n_rows = len(u)
    s = np.array([[math.nan if v is None else v for v in row] for row in scores]).T
    usable = ~np.isnan(s).any(axis=1)
    if rule.score_columns is None:
        s = s[:, 0]
    else:
        usable &= np.isfinite(s).all(axis=1)
    draws = np.array([math.nan if v is None else v for v in u])
    if rule.randomized:
        usable &= (draws >= 0) & (draws < 1)
    codes = None
    if rule.needs_segments:
        arrays = {name: np.array([*v, None], dtype=object)[:-1] for name, v in columns.items()}
        codes = rule.segment_codes(arrays)
        usable &= codes >= 0
    out = [None] * n_rows
    rows = np.flatnonzero(usable)
    found = rule.decide(s[rows], None if codes is None else codes[rows], draws[rows])
    for i, j in zip(rows, found, strict=True):
        out[i] = int(j)
    return out


def names_for(rule):
    """The names of the score columns, as the methods take them."""
    n = rule.score_columns
    return "score" if n is None else [f"p{i}" for i in range(n - len(rule.value_columns))]


def table_of(rule, scores, columns, u):
    """The rows as columns of a table, and what those of the rule are called in it."""
    names = names_for(rule)
    names = [names] if isinstance(names, str) else names
    called = {column: f"column {i}" for i, column in enumerate(columns)}
    table = {called[column]: v for column, v in columns.items()}
    called |= {column: f"value {i}" for i, column in enumerate(rule.value_columns)}
    names = [*names, *(called[column] for column in rule.value_columns)]
    return {**dict(zip(names, scores, strict=True)), **table, "u": u}, called
