"""Random rules and rows for them."""

import numpy as np
from hypothesis import strategies as st

from setpoint.goals import Other
from setpoint.rules import Argmax, Band, Mixture, PerSegment, Threshold, ValueAware

finite = st.floats(allow_nan=False, allow_infinity=False)
moderate = st.floats(-10, 10)
labels = st.one_of(st.text(max_size=3), st.integers(-3, 3), st.booleans(), moderate)

thresholds = st.one_of(
    st.builds(Threshold, finite),
    st.builds(Threshold, moderate, st.floats(0, 5)),
    st.builds(Threshold, st.sampled_from([np.inf, -np.inf]), st.floats(0, 5)),
)


@st.composite
def bands(draw):
    cut_off = finite | moderate | st.sampled_from([np.inf, -np.inf])
    return Band(*sorted(draw(st.tuples(cut_off, cut_off))))


@st.composite
def argmaxes(draw, s, n):
    row = st.lists(moderate, min_size=n, max_size=n)
    G = draw(st.lists(row, min_size=s, max_size=s))
    return Argmax(G, draw(st.none() | row))


@st.composite
def value_awares(draw, s, n, n_columns):
    rule = draw(argmaxes(s * (1 + n_columns), n))
    # longer than any name of a column that splits into segments
    return ValueAware([f"amount {k}" for k in range(n_columns)], rule)


@st.composite
def mixtures(draw, inner, most=4):
    rules = draw(st.lists(inner, min_size=1, max_size=most))
    weights = draw(st.lists(st.floats(0.01, 1), min_size=len(rules), max_size=len(rules)))
    p = np.array(weights) / np.sum(weights)
    return Mixture(list(zip(p.tolist(), rules, strict=True)))


@st.composite
def slot_lists(draw):
    """Segments over one column or two, with every value distinguished from the others."""
    keys = [()]
    for column in draw(st.lists(st.text(max_size=4), min_size=1, max_size=2, unique=True)):
        values = draw(st.lists(labels, min_size=1, max_size=2, unique=True))
        parts = [*values, Other(tuple(values))] if draw(st.booleans()) else values
        keys = [(*key, (column, part)) for key in keys for part in parts]
    return tuple(draw(st.permutations(keys)))


@st.composite
def per_slots(draw, inner, segments=None):
    keys = draw(slot_lists()) if segments is None else segments
    return PerSegment(draw(st.lists(inner, min_size=len(keys), max_size=len(keys))), keys)


@st.composite
def tops(draw, s, n):
    inner = argmaxes(s, n)
    rules = draw(st.lists(inner | mixtures(inner), min_size=s, max_size=s))
    return PerSegment(rules, by="top")


@st.composite
def without_segments(draw, scalar=thresholds):
    """A strategy of rules of any kind that look at no segment and fit together."""
    kind = draw(st.sampled_from(["threshold", "band", "argmax", "value"]))
    s, n = draw(st.integers(1, 3)), draw(st.integers(2, 4))
    if kind == "threshold":
        return scalar | mixtures(scalar, 3)
    if kind == "band":
        return bands() | mixtures(bands(), 3)
    if kind == "argmax":
        flat = argmaxes(s, n) | tops(s, n)
        return flat | mixtures(flat, 3)
    flat = value_awares(s, n, draw(st.integers(1, 2)))
    return flat | mixtures(flat, 3)


@st.composite
def rules(draw):
    """A rule of any kind, nested as deep as rules go."""
    base = draw(without_segments())
    segments = draw(slot_lists())
    by_segment = per_slots(base, segments)
    return draw(base | by_segment | mixtures(by_segment | base))


def rows_for(rule, n_rows, seed):
    """Scores, many of them tied, and segments."""
    rng = np.random.default_rng(seed)
    shape = (n_rows,) if rule.score_columns is None else (n_rows, rule.score_columns)
    scores = np.round(rng.normal(scale=4, size=shape), 1)
    segments = rng.integers(len(rule.segment_keys), size=n_rows) if rule.needs_segments else None
    return scores, segments
