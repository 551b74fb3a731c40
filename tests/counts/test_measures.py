"""Rows that count by columns: counts, their products, parts that add up, data sets without it."""

from __future__ import annotations

import numpy as np
import pytest

from setpoint import Goal
from setpoint.counts import DEFERRED, Evidence, Measure, Rows
from setpoint.errors import InputError

GOAL = Goal.parse(
    "maximize profit(tp=x - z, fp=-1) subject to recall.weighted(x).difference(g) <= 1"
)


def sample(n=50, seed=0, **columns):
    rng = np.random.default_rng(seed)
    known = {
        "x": rng.exponential(2.0, n).round(2),
        "z": rng.normal(size=n).round(2),
        "g": np.array(["a", "b"])[rng.integers(0, 2, n)],
    } | columns
    return rng.integers(0, 2, n), rng.integers(0, 2, n), known, rng.integers(1, 4, n) * 1.0


def rows_of(true, known, weight=None, **more):
    return Rows.from_arrays(
        (0, 1), true, len(true), needs=GOAL.needs, columns=known, weight=weight, **more
    )


def by_hand(true, decided, known, weight):
    """Counts of the strata a and b, then by x, by z above 0 and below; and all products."""
    m = [np.ones(len(true)), known["x"], np.maximum(known["z"], 0), np.maximum(-known["z"], 0)]
    counts = np.zeros((4, 2, 3, 2))
    products = np.zeros((4, 4, 2, 3, 2))
    for i in range(len(true)):
        at = "ab".index(known["g"][i]), true[i], decided[i]
        for k in range(4):
            counts[(k, *at)] += weight[i] * m[k][i]
            for j in range(4):
                products[(j, k, *at)] += weight[i] ** 2 * m[j][i] * m[k][i]
    return counts.reshape(8, 3, 2), products


class TestCounts:
    @pytest.mark.parametrize("weighted", [False, True])
    def test_a_table_for_each_measure(self, weighted):
        true, decided, known, weight = sample()
        weight = weight if weighted else np.ones(len(true))
        rows = rows_of(true, known, weight if weighted else None)
        assert rows.codebook.measures == (Measure("x"), Measure("z"), Measure("z", -1))
        counts, products = by_hand(true, decided, known, weight)
        found = rows.confusion(decided)
        assert np.allclose(found.counts, counts)
        assert np.allclose(found.products, products)
        assert np.allclose(rows.marginals.weights, counts.sum(axis=2))
        sure = np.eye(2)[decided]
        assert np.allclose(rows.confusion(sure).products, products)

    def test_prefix_sums_end_at_the_marginals(self):
        true, _, known, weight = sample()
        evidence = Evidence(
            rows_of(true, known, weight), np.random.default_rng(1).normal(size=50).round(1)
        )
        curve = evidence.curve(0)
        ends = {kind: c[-1] for kind, c in zip(curve.kinds, curve.counts, strict=True)}
        assert len(ends) == 16
        for (stratum, true_class), total in ends.items():
            assert total == pytest.approx(evidence.marginals.weights[stratum, true_class])
        assert (np.diff(curve.counts, axis=1) >= 0).all()

    def test_soft_counts_credit_posteriors(self):
        true, decided, known, weight = sample()
        p = np.random.default_rng(2).random(50)
        scores = np.column_stack([1 - p, p])
        evidence = Evidence(rows_of(true, known, weight), scores).with_posteriors()
        found = evidence.block_counts(decided)[0]
        x = weight * known["x"] * p
        for g in (0, 1):
            own = (known["g"] == "ab"[g]) & (decided == 1)
            assert found[2 + g, 1, 1] == pytest.approx(x[own].sum())


class TestParts:
    def test_two_parts_add_up(self):
        true, decided, known, weight = sample()
        first, rest = np.arange(20), np.arange(20, 50)
        whole = rows_of(true, known, weight)
        book = whole.codebook
        parts = [
            rows_of(true[i], {k: v[i] for k, v in known.items()}, weight[i], codebook=book)
            for i in (first, rest)
        ]
        one, two = (p.confusion(decided[i]) for p, i in zip(parts, (first, rest), strict=True))
        both, at_once = one + two, whole.confusion(decided)
        assert both.codebook.strata == at_once.codebook.strata
        assert np.allclose(both.counts, at_once.counts)
        assert np.allclose(both.products, at_once.products)
        joined = Rows.concat(parts)
        assert np.allclose(joined.confusion(decided).counts, at_once.counts)

    def test_one_part_never_goes_below_0(self):
        true, decided, known, _ = sample()
        other = sample(seed=1, z=np.abs(known["z"]))
        one = rows_of(true, known).confusion(decided)
        two = rows_of(other[0], other[2]).confusion(other[1])
        assert len(two.codebook.measures) == 2
        both = two + one
        assert both.codebook.measures == one.codebook.measures
        assert np.allclose(both.products[0, 3], one.products[0, 3])
        assert np.allclose(both.counts.sum(), one.counts.sum() + two.counts.sum())

    def test_rows_below_0_of_a_codebook_that_knows_none(self):
        true, _, known, _ = sample()
        book = rows_of(true, known | {"z": np.abs(known["z"])}).codebook
        with pytest.raises(InputError, match="'z' goes below 0"):
            rows_of(true, known, codebook=book)

    def test_a_data_set_without_the_column_counts_nothing_by_it(self):
        goal = Goal.parse("maximize profit(tp=x) subject to predicted_rate.on('more') <= 0.5")
        true, decided, known, _ = sample()
        one = Rows.from_arrays((0, 1), true, 50, needs=goal.needs, columns={"x": known["x"]})
        two = Rows.from_arrays((0, 1), None, 50, needs=goal.needs, dataset="more")
        both = Rows.concat([one, two])
        found = both.confusion(np.concatenate([decided, decided]))
        assert [str(s) for s in found.codebook.strata] == ["all rows", "more", "by x", "more, by x"]
        assert found.counts[3].sum() == 0.0
        assert found.counts[2].sum() == pytest.approx(known["x"].sum())


class TestDeferral:
    def test_a_class_more_that_no_row_has(self):
        goal = Goal.parse("minimize deferral_rate subject to accuracy.decided >= 0.5")
        rows = Rows.from_arrays((0, 1, DEFERRED), np.array([0, 1, 1]), 3, needs=goal.needs)
        book = rows.codebook
        assert (book.defers, book.labels, book.positive) == (True, (0, 1), 1)
        found = rows.confusion(np.array([0, 2, 1]))
        assert found.counts[0].tolist() == [[1, 0, 0], [0, 1, 1], [0, 0, 0], [0, 0, 0]]
        assert found.codebook.defers
        assert (found + found).codebook.defers
