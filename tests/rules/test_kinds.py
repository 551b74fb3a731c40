"""What each kind of rule decides, to the last bit, at its edges and in any batch."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rules.strategies import labels, slot_lists
from setpoint.goals import Other
from setpoint.rules import (
    Argmax,
    Band,
    Mixture,
    PerSegment,
    Rule,
    Threshold,
    ValueAware,
    mixture,
    per_segment,
    segment_codes,
)
from thinning import over

INF = float("inf")
SEX = ((("sex", "F"),), (("sex", "M"),))
EDGE = np.nextafter(1.0, 0.0)
ENDS = [-INF, -1e308, 0.0, 1e308, INF]


# ---------------------------------------------------------------------- cut-offs
def test_a_tie_belongs_to_the_upper_part_and_is_never_split():
    t, high = 0.1 + 0.2, 0.8
    scores = [np.nextafter(t, 0), t, t, np.nextafter(high, 0), high]
    assert Threshold(t).decide(scores).tolist() == [0, 1, 1, 1, 1]
    assert Band(t, high).decide(scores).tolist() == [0, 2, 2, 2, 1]


@over("rule, expected", [
    (Threshold(-INF), [1] * 5), (Threshold(-INF, 1.0), [1] * 5), (Threshold(INF), [0] * 5),
    (Threshold(INF, 1.0), [0] * 5), (Band(-INF, INF), [2] * 5), (Band(-INF, -INF), [1] * 5),
    (Band(INF, INF), [0] * 5), (Band(-INF, 0.5), [2, 2, 2, 1, 1]),
    (Band(0.5, INF), [0, 0, 0, 2, 2]), (Band(0.5, 0.5), [0, 0, 0, 1, 1]),
    (Band(0.0, 0.0), [0, 0, 1, 1, 1]),
])  # fmt: skip
def test_infinite_and_equal_cut_offs(rule, expected):
    assert rule.decide(ENDS).tolist() == expected
    assert rule.distribution(ENDS).argmax(axis=1).tolist() == expected
    assert Rule.from_json(rule.to_json()) == rule


def test_soft_edge():
    scores = np.linspace(-1, 2, 301)
    soft = Threshold(0.5, 0.4).distribution(scores)[:, 1]
    np.testing.assert_array_equal(soft, np.clip((scores - 0.5) / 0.4 + 0.5, 0, 1))
    assert Threshold(1e308, 1e-300).distribution([-1e308, INF])[:, 1].tolist() == [0, 1]
    near = [0.3, 0.4999, 0.5001, 0.8]
    narrow, hard = (Threshold(0.5, width).distribution(near) for width in (1e-9, 0.0))
    np.testing.assert_array_equal(narrow, hard)


def test_cut_offs_are_plain_data():
    rule, band = Threshold(np.float32(0.5), np.int64(1)), Band(np.float32(0.5), np.int64(1))
    assert (rule, band) == (Threshold(0.5, 1.0), Band(0.5, 1.0))
    assert {type(x) for x in (rule.threshold, rule.width, band.low, band.high)} == {float}
    assert str(Threshold(-0.0).threshold) == str(Band(-0.0, 0.0).low) == "0.0"
    assert (band.n_classes, band.score_columns, band.randomized) == (3, None, False)
    assert (band.value_columns, band.children) == ((), ())


# ---------------------------------------------------------------------- the largest sum
def test_ties_go_to_the_lowest_class():
    assert Argmax(np.eye(3)).decide([[0.2, 0.4, 0.4], [1, 1, 1], [0, 0, 1]]).tolist() == [1, 0, 2]
    assert Argmax(np.zeros((2, 3))).decide([[0.5, 0.5]]).tolist() == [0]


@over("s, n, diagonal", [(4, 4, True), (4, 4, False), (3, 2, False), (3, 5, False)])
@over("with_offset", [True, False])
def test_is_the_argmax_of_the_product(s, n, diagonal, with_offset):
    rng = np.random.default_rng(1)
    scores, G = rng.random((500, s)), rng.normal(size=(s, n))
    G = np.diag(np.diag(G)) if diagonal else G
    offset = rng.normal(size=n) if with_offset else None
    totals = scores @ G + (0 if offset is None else offset)
    rule = Argmax(G, offset)
    assert (rule.score_columns, rule.n_classes) == (s, n)
    np.testing.assert_array_equal(rule.decide(scores), totals.argmax(axis=1))
    np.testing.assert_allclose(rule.totals(scores), totals, atol=1e-14)
    np.testing.assert_array_equal(rule.distribution(scores), np.eye(n)[totals.argmax(axis=1)])


def test_totals_are_the_same_to_the_last_bit_in_any_batch_and_by_either_road():
    rng = np.random.default_rng(3)
    scores, G = rng.random((70_000, 3)), rng.normal(size=(3, 3))
    for rule in (Argmax(G), Argmax(np.diag(np.diag(G)))):
        totals = rule.totals(scores)
        for i in rng.integers(len(scores), size=200):
            np.testing.assert_array_equal(totals[i], rule.totals(scores[i : i + 1])[0])
            x, y, z = scores[i]
            assert totals[i].tolist() == [x * g[0] + y * g[1] + z * g[2] for g in rule.G.T]
    for n in (2, 7, 1000):
        scores, rule = rng.random((203, 6)), Argmax(rng.normal(size=(6, n)), rng.normal(size=n))
        whole = rule.totals(scores)
        for start in (0, 1, 2, 3, 100, 202):
            np.testing.assert_array_equal(rule.totals(scores[start:]), whole[start:])
            turned = rule.totals(np.asfortranarray(scores))
            np.testing.assert_array_equal(turned[start:], whole[start:])


def test_weighted_is_the_diagonal():
    assert Argmax.weighted([1, 2.5]) == Argmax([[1, 0], [0, 2.5]])
    assert Argmax.weighted([1, 2], [0, 1]).offset == (0.0, 1.0)
    assert hash(Argmax.weighted([1, -0.0])) == hash(Argmax([[1, 0], [-0.0, 0]]))
    assert Argmax.weighted([1, 2]) != Argmax([[1, 2], [0, 2]])
    assert repr(Argmax.weighted([1, 2], [0, 1])) == "Argmax.weighted((1.0, 2.0), (0.0, 1.0))"
    assert repr(Argmax([[1, 2]])) == "Argmax(((1.0, 2.0),))"


# ---------------------------------------------------------------------- columns of values
def gains(a, b, c, d):
    """The rule that decides 1 where a + b p + c x + d p x > 0, written over p_0 and p_1."""
    return ValueAware(["x"], Argmax([[0.0, 0.0], [0.0, b], [0.0, c], [0.0, c + d]], [0.0, a]))


def test_decides_by_the_largest_expected_gain():
    rng = np.random.default_rng(0)
    p, x, offset = rng.dirichlet(np.ones(3), size=300), rng.normal(size=(300, 2)), [0.1, 0.2, 0, 0]
    rule = ValueAware(["x", "y"], Argmax(rng.normal(size=(9, 4)), offset))
    expanded = np.array([np.kron([1.0, *x[i]], p[i]) for i in range(300)])
    scores, by_row = np.hstack([p, x]), (expanded @ rule.rule.G + offset).argmax(axis=1)
    np.testing.assert_array_equal(rule.expand(scores), expanded)
    assert rule.decide(scores).tolist() == by_row.tolist()
    assert rule.distribution(scores).argmax(axis=1).tolist() == by_row.tolist()
    assert (rule.n_posteriors, rule.score_columns, rule.n_classes) == (3, 5, 4)
    assert rule.value_columns == rule.columns == ("x", "y")


def test_long_batches_decide_as_single_rows_do():
    rng = np.random.default_rng(1)
    p = rng.random(70_000)
    scores = np.column_stack([1 - p, p, np.round(rng.exponential(50, size=len(p)), 2)])
    rule = gains(-5.0, 0.1, -0.2, 1.0)
    whole = rule.decide(scores)
    assert 0 < whole.mean() < 1
    for start, step in ((0, 1000), (1, 7777), (65_530, 3)):
        rows = slice(start, None, step)
        assert rule.decide(scores[rows]).tolist() == whole[rows].tolist()
    assert rule.decide(np.asfortranarray(scores)).tolist() == whole.tolist()


# ---------------------------------------------------------------------- mixtures
def test_thresholds_are_sorted_and_one_draw_walks_through_them():
    rule = Mixture([(0.5, Threshold(0.9)), (0.25, Threshold(-math.inf)), (0.25, Threshold(0.4))])
    assert [r.threshold for _, r in rule.atoms] == [-math.inf, 0.4, 0.9]
    for u, atom in ((0.0, 0), (0.2499, 0), (0.25, 1), (0.4999, 1), (0.5, 2), (EDGE, 2)):
        scores = np.array([0.0, 0.4, 0.9])
        one = rule.atoms[atom][1].decide(scores)
        np.testing.assert_array_equal(rule.decide(scores, u=np.full(3, u)), one)


def test_dyadic_probabilities_are_met_exactly():
    p, t = [3 / 64, 17 / 64, 20 / 64, 24 / 64], [0.7, 0.1, 0.5, 0.3]
    rule = Mixture([(q, Threshold(c)) for q, c in zip(p, t, strict=True)])
    scores = np.array([0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7])
    grid = np.arange(4096) / 4096
    share = np.mean([rule.decide(scores, u=np.full(8, u)) for u in grid], axis=0)
    np.testing.assert_array_equal(share, rule.distribution(scores)[:, 1])


def test_the_draw_picks_the_atom_and_what_is_left_of_it_decides_inside():
    a, b, c = (Argmax(np.zeros((3, 3)), np.eye(3)[j]) for j in range(3))
    inner = PerSegment([Mixture([(0.5, b), (0.5, c)]), c], SEX)
    rule = Mixture([(0.5, a), (0.5, inner)])
    scores, segments = np.zeros((4, 3)), np.zeros(4, dtype=int)
    assert rule.decide(scores, segments, [0.49, 0.5, 0.74, 0.75]).tolist() == [0, 1, 1, 2]
    np.testing.assert_array_equal(rule.distribution(scores[:1], [0]), [[0.5, 0.25, 0.25]])
    bands = Mixture([(0.25, Band(0.2, 0.9)), (0.75, Band(0.4, 0.6))])
    assert bands.decide(np.full(3, 0.3), u=[0.0, 0.24, 0.25]).tolist() == [2, 2, 0]
    np.testing.assert_array_equal(bands.distribution([0.3]), [[0.75, 0.0, 0.25]])


def test_flattened_and_merged():
    a, b = Threshold(0.2), Threshold(0.4)
    inner = Mixture([(0.5, a), (0.5, b)])
    assert Mixture([(0.5, inner), (0.25, b), (0.25, a)]).atoms == ((0.5, a), (0.5, b))
    assert Mixture([(0.5, b), (0.5, a)]) == inner
    assert Mixture([(0.3, a), (0.7, a)]).atoms == ((1.0, a),)
    assert not Mixture([(1.0, a)]).randomized
    assert mixture([(0.3, a), (0.7, a), (0.0, b)]) == a
    assert mixture([(0.5, a), (0.5, b)]) == inner


@over("k", [2, 3, 10, 40])
def test_normalised_once_and_for_all(k):
    p = np.random.default_rng(5).dirichlet(np.ones(k)) * (1 + 5e-10)
    rule = Mixture([(q, Threshold(i)) for i, q in enumerate(p.tolist())])
    assert abs(math.fsum(q for q, _ in rule.atoms) - 1) < 1e-15
    assert Mixture(rule.atoms) == rule
    # every atom agrees: certain, to the last bit
    assert rule.decide([99.0], u=[EDGE]).tolist() == [1]
    assert rule.distribution([99.0]).tolist() == [[0, 1]]


# ---------------------------------------------------------------------- segments
def fits(part, value):
    return all(value != v for v in part.than) if isinstance(part, Other) else value == part


@given(slot_lists(), st.data())
def test_codes_are_what_comparing_row_by_row_gives(segments, data):
    n = data.draw(st.integers(0, 6))
    columns = {}
    for position, (column, _) in enumerate(segments[0]):
        named = [v for s in segments for v in getattr(s[position][1], "than", (s[position][1],))]
        value = st.sampled_from(named) | labels | st.none()
        columns[column] = data.draw(st.lists(value, min_size=n, max_size=n))
    wanted = []
    for i in range(n):
        hits = [
            code
            for code, segment in enumerate(segments)
            if all(fits(part, columns[column][i]) for column, part in segment)
        ]
        assert len(hits) <= 1
        wanted.append(hits[0] if hits else -1)
    arrays = {
        name: np.array([*values, None], dtype=object)[:-1] for name, values in columns.items()
    }
    for given_columns in (columns, arrays):
        found = segment_codes(segments, given_columns)
        assert found.dtype == np.int64
        assert found.tolist() == wanted


def test_other_takes_whatever_is_not_named():
    segments = ((("x", "1"),), (("x", 2),), (("x", Other((2, "1"))),))
    mixed = np.array(["1", 1, 2, 2.0, True, None, np.nan, pd.NA, np.int64(2), "2"], dtype=object)
    assert segment_codes(segments, {"x": mixed}).tolist() == [0, 2, 1, 1, 2, 2, 2, 2, 1, 2]
    flags = ((("x", True),), (("x", Other((True,))),))
    assert segment_codes(flags, {"x": np.array([True, False])}).tolist() == [0, 1]
    assert segment_codes(flags, {"x": np.array([1, 0, 2])}).tolist() == [0, 1, 1]
    assert segment_codes(flags, {"x": np.array(["True", "1"])}).tolist() == [1, 1]


def test_two_columns_in_any_order():
    segments = [(("sex", s), ("age", a)) for s in ("F", "M") for a in (1, 2)]
    rule = PerSegment([Threshold(t) for t in (0.1, 0.2, 0.3, 0.4)], segments)
    assert rule.segments[1] == (("age", 2), ("sex", "F"))
    codes = rule.segment_codes({"sex": ["M", "F", "F", "x"], "age": np.array([1, 2, 3, 1])})
    assert codes.tolist() == [2, 1, -1, -1]


def test_each_segment_has_its_rule_and_everyone_needs_none():
    mixed = Mixture([(0.5, Threshold(0.2)), (0.5, Threshold(0.8))])
    rule = PerSegment([Threshold(0.6), mixed], SEX)
    scores, segments = np.full(4, 0.5), np.array([0, 1, 1, 0])
    assert rule.decide(scores, segments, np.array([0.0, 0.4, 0.6, 0.9])).tolist() == [0, 1, 0, 0]
    assert rule.distribution(scores, segments)[:, 1].tolist() == [0, 0.5, 0.5, 0]
    assert per_segment([Threshold(0.1)], [()]) == Threshold(0.1)
    assert per_segment([Threshold(0.1)] * 2, SEX) == PerSegment([Threshold(0.1)] * 2, SEX)


def test_by_top():
    prefer = [Argmax.weighted(w) for w in ([1, 1, 1], [3, 1, 1], [1, 1, 1])]
    rule = PerSegment(prefer, by="top")
    scores = [[0.2, 0.5, 0.3], [0.1, 0.6, 0.3], [0.4, 0.4, 0.2], [0.1, 0.2, 0.7]]
    assert rule.decide(scores).tolist() == [0, 1, 0, 2]
    assert not rule.needs_segments
    both = PerSegment([rule, prefer[0]], SEX)
    assert both.decide(scores, segments=[0, 0, 1, 1]).tolist() == [0, 1, 0, 2]
    assert both.decide(scores, segments=[1, 1, 1, 1]).tolist() == [1, 1, 0, 2]


def test_only_rules_over_the_same_columns_fit_together():
    G = np.eye(4)[:, :2]
    x, y, plain = ValueAware(["x"], Argmax(G)), ValueAware(["y"], Argmax(G)), Argmax(G[:3])
    for other, found in ((y, r"\['x'\] and \['y'\]"), (plain, r"\['x'\] and \[\]")):
        with pytest.raises(ValueError, match=f"same columns of values, got {found}"):
            PerSegment([x, other], SEX)
        with pytest.raises(ValueError, match="same columns of values"):
            Mixture([(0.5, x), (0.5, other)])
    with pytest.raises(ValueError, match=r"by top .* columns of values, got \['x'\]"):
        PerSegment([x, x, x], by="top")
    nested = PerSegment([Mixture([(0.5, x), (0.5, gains(1, 2, 3, 4))]), x], SEX)
    assert nested.value_columns == ("x",)
    assert Rule.from_json(nested.to_json()) == nested
