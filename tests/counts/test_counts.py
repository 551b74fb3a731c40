"""Counts of parts add up to the counts of all rows, in any order."""

import numpy as np
import pytest

from setpoint.counts import BinCounts
from sources.reference import count_rows


def rows(seed, n=300):
    rng = np.random.default_rng(seed)
    return {
        "group": rng.integers(0, 3, n),
        "label": rng.integers(0, 2, n),
        "bin": rng.integers(-2, 6, n),
        "score": rng.normal(size=n),
        "weight": rng.integers(0, 8, n) / 4 + 0.1,
    }


def counted(r, index=slice(None), weighted=True):
    columns = [(["a", "b", None], r["group"][index]), ([0, 1], r["label"][index])]
    weight = r["weight"][index] if weighted else None
    return count_rows(columns, r["bin"][index], r["score"][index], weight, 2.0**20)


def canonical(counts):
    names = [str(v) for v in counts.levels[0]]
    lines = [
        (names[g], counts.levels[1][y], *rest)
        for g, y, *rest in zip(
            counts.codes[0],
            counts.codes[1],
            counts.bin,
            counts.rows,
            counts.weight,
            counts.squares,
            counts.low,
            counts.high,
            counts.least,
            counts.most,
            counts.rounded,
            strict=True,
        )
    ]
    return sorted(lines)


@pytest.mark.parametrize("weighted", [False, True])
def test_any_partition_in_any_order_is_the_same(weighted):
    r = rows(1)
    whole = canonical(counted(r, weighted=weighted))
    rng = np.random.default_rng(2)
    for n_parts in (2, 7, 40):
        parts = np.array_split(rng.permutation(300), n_parts)
        pieces = [counted(r, index, weighted) for index in parts]
        assert canonical(BinCounts.merge(pieces)) == whole
        left = pieces[0]
        for piece in pieces[1:]:  # one by one, and not as a tree
            left = BinCounts.merge([piece, left])
        assert canonical(left) == whole


def test_a_line_holds_what_its_rows_do():
    r = rows(3)
    counts = counted(r)
    for k in range(counts.n_lines):
        own = (
            (r["group"] == counts.codes[0, k])
            & (r["label"] == counts.codes[1, k])
            & (r["bin"] == counts.bin[k])
        )
        assert counts.rows[k] == own.sum()
        assert (counts.low[k], counts.high[k]) == (r["score"][own].min(), r["score"][own].max())
        assert (counts.least[k], counts.most[k]) == (r["weight"][own].min(), r["weight"][own].max())
    assert counts.rounded.all()  # 0.1 is not a binary fraction
    assert counts.n_rows == 300


def test_levels_of_other_types_stay_apart():
    one = count_rows([([1], np.zeros(2, int))], np.zeros(2, int), None)
    two = count_rows([([True], np.zeros(3, int))], np.zeros(3, int), None)
    both = BinCounts.merge([one, two])
    assert both.rows.tolist() == [2, 3]
    assert [type(v) for v in both.levels[0]] == [int, bool]
