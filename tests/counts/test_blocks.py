"""Decisions priced and counted block by block, label and soft, against plain loops."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from setpoint.counts import Blocks, Evidence
from setpoint.goals import Requirements
from setpoint.rules import Argmax
from thinning import over


def rows_of(n, n_rows=300, *, groups=3, decide_on=("g",), weighted=False, seed=0):
    """Rows of several groups with labels and posteriors; some are unlabelled."""
    rng = np.random.default_rng(seed)
    scores = rng.dirichlet(np.ones(n), n_rows)
    true = rng.integers(0, n + 1, n_rows)
    weight = rng.integers(1, 5, n_rows) / 4 if weighted else None
    columns = {"g": rng.integers(0, groups, n_rows)} if groups > 1 else {}
    needs = Requirements({None: {"g": None}} if groups > 1 else {})
    return Evidence.from_arrays(
        tuple(range(n)), scores, true, needs=needs, weight=weight, columns=columns,
        decide_on=decide_on if groups > 1 else (),
    )  # fmt: skip


def weights_of(rows):
    return np.ones(rows.n_rows) if rows.rows.weight is None else rows.rows.weight


def counted(rows, decided, block, n_blocks):
    """Counts (n_blocks, strata, n + 1, n), one row at a time."""
    n = rows.n_classes
    out = np.zeros((n_blocks, len(rows.codebook.strata), n + 1, n))
    for r, w in enumerate(weights_of(rows)):
        b = 0 if block is None else block[r]
        if not rows.credit.by_posteriors:
            out[b, rows.rows.stratum[r], rows.rows.true[r], decided[r]] += w
            continue
        for k, p in enumerate(rows.scores[r]):
            c, i = (
                (rows.rows.stratum[r], k)
                if rows.credit.of_classes
                else rows.credit.columns[rows.rows.segment[r], k]
            )
            out[b, c, i, decided[r]] += w * p
    return out


def joint(rows, seed=5):
    """Posteriors of hidden group and class, two columns of them for the same pair."""
    rng = np.random.default_rng(seed)
    n, m = rows.n_classes, len(rows.codebook.strata)
    own = [np.flatnonzero(rows.codebook.stratum_segment == s) for s in range(len(rows.segments))]
    width = max(len(c) for c in own) * n + 1
    scores = rng.dirichlet(np.ones(width), rows.n_rows)
    pairs = np.empty((len(own), width, 2), np.int64)
    for s, strata in enumerate(own):
        pairs[s, :, 0] = np.resize(np.repeat(strata, n), width)
        pairs[s, :, 1] = np.resize(np.arange(n), width)
    assert pairs[..., 0].max() < m
    return rows.with_posteriors(scores, pairs)


@over("soft", [False, True])
@over("weighted", [False, True])
@over("n_blocks", [None, 1, 4])
@over("groups", [1, 3])
@over("n", [2, 5])
def test_features_are_those_of_the_decisions(n, groups, n_blocks, weighted, soft):
    rows = rows_of(n, groups=groups, weighted=weighted)
    rows = rows.with_posteriors() if soft else rows
    rng = np.random.default_rng(n)
    W, B = rng.random((len(rows.segments), n)) + 0.2, 0.3 * rng.random((len(rows.segments), n))
    k = n_blocks or 1
    block = None if n_blocks is None else rng.integers(0, k, rows.n_rows)
    decided = np.argmax(W[rows.rows.segment] * rows.scores - B[rows.rows.segment], axis=1)
    counts = counted(rows, decided, block, k)
    for _ in range(2):  # the second call finds what the first one kept
        diag, col = rows.block_features(W, B, Blocks(block, k))
        hits = np.diagonal(counts[:, :, :n], axis1=2, axis2=3)
        np.testing.assert_allclose(diag, hits, atol=1e-11)
        np.testing.assert_allclose(col, counts.sum(axis=2), atol=1e-11)
        np.testing.assert_allclose(rows.block_counts(decided, Blocks(block, k)), counts, atol=1e-11)
    if not soft and block is None:
        np.testing.assert_allclose(rows.rows.confusion(decided).counts, counts[0])


@over("decide_on", [(), ("h",)])
def test_joint_columns_credit_stratum_and_class_of_the_posterior(decide_on):
    rng = np.random.default_rng(1)
    columns = {"g": rng.integers(0, 2, 400), "h": rng.integers(0, 3, 400)}
    rows = Evidence.from_arrays(
        (0, 1, 2), rng.random((400, 3)), None,
        needs=Requirements({None: {"g": None, "h": None}}), columns=columns, decide_on=decide_on,
        weight=rng.random(400) + 0.1,
    )  # fmt: skip
    soft = joint(rows)
    assert len(soft.segments) == (3 if decide_on else 1)
    decided, block = rng.integers(0, 3, 400), rng.integers(0, 2, 400)
    counts = counted(soft, decided, block, 2)
    np.testing.assert_allclose(soft.block_counts(decided, Blocks(block, 2)), counts, atol=1e-12)
    np.testing.assert_allclose(soft.marginals.weights, counts.sum(axis=(0, 3)), atol=1e-12)
    for c in range(len(soft.codebook.strata)):
        lightest = soft.rows.weight[soft.rows.segment == soft.codebook.stratum_segment[c]].min()
        assert (soft.marginals.smallest[c] == [lightest] * 3 + [np.inf]).all()
    G = rng.normal(size=(len(soft.segments), soft.scores.shape[1], 3))
    by_rule = [Argmax(G[s]).decide(soft.scores[[r]])[0] for r, s in enumerate(soft.rows.segment)]
    np.testing.assert_array_equal(soft.decide_tensor(G), by_rule)


@over("weighted", [False, True])
def test_soft_marginals_look_at_no_label(weighted):
    rows = rows_of(3, weighted=weighted)
    soft = rows.with_posteriors()
    found = soft.marginals
    w = weights_of(rows)
    for c in range(3):
        own = rows.rows.stratum == c
        np.testing.assert_allclose(found.weights[c, :3], w[own] @ rows.scores[own])
        assert (found.smallest[c] == [w[own].min()] * 3 + [np.inf]).all()
    assert (found.weights[:, 3] == 0).all()
    none = replace(rows, rows=replace(rows.rows, true=np.full(rows.n_rows, 3)))
    np.testing.assert_array_equal(none.with_posteriors().marginals.weights, found.weights)
    assert not rows.credit.by_posteriors
    assert rows.marginals.weights[:, 3].sum() > 0
    never = Evidence.from_arrays((0, 1, 2), np.array([[0.5, 0.5, 0.0]]), None).with_posteriors()
    assert never.marginals.smallest.tolist() == [[1.0, 1.0, np.inf, np.inf]]


@over("n, s, n_rows", [
    (2, 2, 20_000), (3, 3, 1), (5, 8, 3000), (9, 9, 3000), (55, 55, 2000), (300, 300, 700),
])  # fmt: skip
@over("tied", [False, True])
def test_a_tensor_decides_as_the_rule_does(n, s, n_rows, tied):
    rng = np.random.default_rng(n)
    rows = rows_of(n, n_rows)
    shape = len(rows.segments), s, n
    if tied:  # exact ties go to the lowest class
        rows, G = Evidence(rows.rows, np.ones((n_rows, s))), rng.integers(0, 2, shape).astype(float)
    else:
        rows, G = Evidence(rows.rows, rng.random((n_rows, s))), rng.normal(size=shape)
    expected = np.empty(n_rows, np.int64)
    for k, g in enumerate(G):
        expected[rows.rows.segment == k] = Argmax(g).decide(rows.scores[rows.rows.segment == k])
    np.testing.assert_array_equal(rows.decide_tensor(G), expected)


def test_what_does_not_fit_is_refused():
    rows = rows_of(3)
    soft, pairs, ones = rows.with_posteriors(), np.zeros((3, 3, 2), np.int64), np.ones((3, 3))
    posteriors, four = rows.with_posteriors, np.full((rows.n_rows, 4), 0.25)
    for build, arguments, message in (
        (Evidence.concat, [[soft, soft]], "join evidence before"),
        *((posteriors, [scores], "needs posteriors") for scores in (
            rows.scores[:, 0], rows.scores[:5], 2 * rows.scores, rows.scores * np.nan
        )),
        (posteriors, [four], "need `joint_columns`"),
        (posteriors, [rows.scores, pairs], "its own strata"),
        (posteriors, [rows.scores, pairs - 1], "codes of strata"),
        (posteriors, [rows.scores, pairs + 3], "codes of strata"),
        (posteriors, [rows.scores, pairs[:2]], "must be"),
        (rows.block_features, [ones, ones, Blocks(np.full(rows.n_rows, 2), 2)], "within"),
        (rows.block_features, [ones, ones, Blocks(np.zeros(5, np.int64), 2)], "not those of"),
        (rows.decide_tensor, [np.ones((1, 3, 3))], "must be"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=message):
            build(*arguments)
    for evidence in (rows, soft):
        with pytest.raises(IndexError):
            evidence.block_counts(np.full(rows.n_rows, 3))
