"""Few labels and a proxy: what it is worth, and that no bound is called shown too often."""

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from guarantees.samples import most
from setpoint import Confidence, Goal, InputError, NotCertifiable, Unlabelled, certify, evaluate
from setpoint.counts import Rows
from setpoint.guarantees import Promise, RuleTests, Tried
from setpoint.inference import interval_of
from setpoint.program import link
from setpoint.rules import Threshold
from thinning import over

RECALL, PRECISION = "recall >= 0.8", "precision >= 0.6"
DRAWS, LIMITS = 300, 50


def drawn(n, more, skill=2.5, seed=0, prior=0.3):
    """Labels, scores, and a proxy of some skill: the chance by another score."""
    rng = np.random.default_rng(seed)
    y = (rng.random(n + more) < prior).astype(int)
    log_odds = math.log(prior / (1 - prior)) + skill * (rng.normal(skill * y) - skill / 2)
    return y, rng.normal(2.0 * y), 1 / (1 + np.exp(-log_odds))


def counted(constraint, y, decided, proxy, n):
    """The tests of one constraint, and what was counted of n labelled rows and the others."""
    goal = Goal.parse(f"maximize accuracy subject to {constraint}")
    rows = Rows.from_arrays((0, 1), y[:n], n, needs=goal.needs)
    rest = Rows.from_arrays((0, 1), None, len(y) - n, codebook=rows.codebook)
    soft = replace(rows, chances=proxy[:n]).decided(decided[:n])
    others = replace(rest, chances=proxy[n:]).decided(decided[n:])
    found = replace(rows.decided(decided[:n]), proxied=(soft, others))
    return RuleTests(Promise.of(link(goal, rows.codebook), 0.95), rows.marginals), found


def proxied(tests, found):
    return tests.counted(found).proxied(tests.program.constraints[0].function)


def p_of(tests, found):
    (shown,) = tests.shown(Tried(found))
    return shown.p_value, shown.kind


# ---------------------------------------------------------------------- the p-value
def added(constraint, y, decided):
    """What rows add to the sum that a bound wants to be at least 0."""
    if constraint == RECALL:
        return y * (decided - 0.8)
    return (y - 0.6) * decided


@over("constraint, n, more", [(RECALL, 100, 1_000), (RECALL, 200, 200), (PRECISION, 100, 800)])
@over("seed", range(4), every=4)
def test_the_p_value_is_that_of_drawn_means(constraint, n, more, seed):
    """Weights of exponential draws for each row, and for a worst row of each sort."""
    y, scores, g = drawn(n, more, seed=seed)
    decided = (scores >= 1.0).astype(int)
    tests, found = counted(constraint, y, decided, g, n)
    share = proxied(tests, found).share
    x, own = (added(constraint, of, decided) for of in (y, g))
    rest, others = x[:n] - share * own[:n], share * own[n:]
    ends = np.array([[added(constraint, a, b) for a in (0, 1)] for b in (0, 1)])
    worst = (ends.min(axis=1) - share * ends.max(axis=1)).min()
    rng, missed, draws = np.random.default_rng(seed), 0, 4_000
    for _ in range(draws // 500):
        mean = 0.0
        for values, least in ((rest, worst), (others, share * ends.min())):
            weights = rng.standard_exponential((500, len(values) + 1))
            mean += weights @ np.append(values, least) / weights.sum(axis=1)
        missed += int((mean <= 0).sum())
    p, kind = p_of(tests, found)
    assert kind == "proxy"
    assert p == pytest.approx(missed / draws, abs=4 * math.sqrt(p * (1 - p) / draws) + 0.004)


@over("constraint", [RECALL, PRECISION])
def test_a_proxy_that_counts_for_nothing_leaves_the_binomial(constraint):
    y, scores, g = drawn(100, 2_000, seed=3)
    tests, found = counted(constraint, y, (scores >= 1.0).astype(int), g, 100)
    known, c = proxied(tests, found), tests.program.constraints[0]
    labels = np.stack(
        [found.units.sums(e[None]) for e in tests.counted(found).fraction(c.function).entries]
    )
    alone = replace(known, share=0.0, rest=labels, others=0.0 * known.others)
    exact, kind = p_of(tests, replace(found, proxied=None))
    assert kind == "binomial"
    assert alone.p_value(c.level, c.sign) == pytest.approx(exact, rel=1e-6)


def test_of_no_use_it_changes_nothing():
    y, scores, g = drawn(300, 3_000, seed=1)
    decided, noise = (scores >= 1.0).astype(int), np.random.default_rng(0).random(len(y))
    for proxy in (noise, 1 - g, np.zeros(len(y))):
        tests, found = counted(PRECISION, y, decided, proxy, 300)
        alone = replace(found, proxied=None)
        assert tests.shown(Tried(found)) == tests.shown(Tried(alone))
        x, rates = tests.program.constraints[0].function, tests.counted(found)
        assert interval_of(x, rates, 0.9) == interval_of(x, tests.counted(alone), 0.9)


def test_neither_the_order_of_rows_nor_the_name_of_a_class_matters():
    y, scores, g = drawn(200, 1_000, seed=4)
    decided, rng = (scores >= 1.0).astype(int), np.random.default_rng(0)
    p, _ = p_of(*counted(RECALL, y, decided, g, 200))
    order = np.concatenate([rng.permutation(200), 200 + rng.permutation(1_000)])
    assert p_of(*counted(RECALL, y[order], decided[order], g[order], 200))[0] == pytest.approx(p)
    turned = counted("recall(label=0) >= 0.8", 1 - y, 1 - decided, 1 - g, 200)
    assert p_of(*turned)[0] == pytest.approx(p)


def test_what_is_decided_needs_no_labels():
    y, scores, g = drawn(100, 900, seed=5)
    decided = (scores >= 1.0).astype(int)
    tests, found = counted("predicted_rate <= 0.5", y, decided, g, 100)
    known = proxied(tests, found)
    assert known.value == pytest.approx(decided.mean())
    assert known.worth == pytest.approx(900)


def test_worth_is_what_the_variance_says():
    n, more = 400, 2_000
    worths, values, alone = [], [], []
    for seed in range(150):
        y, scores, g = drawn(n, more, seed=seed)
        decided = (scores >= 1.0).astype(int)
        known = proxied(*counted(PRECISION, y, decided, g, n))
        worths.append(known.worth)
        values.append(known.value)
        alone.append(y[:n][decided[:n] == 1].mean())
    ratio = np.var(alone) / np.var(values)
    assert ratio == pytest.approx(1 + np.mean(worths) / n, rel=0.35)
    assert abs(np.mean(values) - np.mean(alone)) < 4 * np.std(alone) / math.sqrt(150)


# ---------------------------------------------------------------------- evaluate and certify
def judged(n=400, more=4_000, seed=0, **how):
    y, scores, g = drawn(n, more, seed=seed, **how)
    language = np.random.default_rng(seed).choice(["de", "en"], n + more)
    return y, scores, g, language, (scores >= 1.0).astype(int)


def test_a_report_has_one_value_for_one_thing():
    y, _, g, language, decided = judged()
    goal = "maximize recall subject to precision.min(language) >= 0.5"
    more = Unlabelled(decided[400:], g[400:], g[:400], {"language": language[400:]})
    how = {"sensitive_features": {"language": language[:400]}}
    report = evaluate(goal, y[:400], decided[:400], unlabelled=more, **how)
    alone = evaluate(goal, y[:400], decided[:400], **how)
    groups = {(r.metric, r.name): r for r in report.groups}
    rows = [groups["precision", f"language = {name}"] for name in ("de", "en")]
    assert report.constraints[0].value == min(r.value for r in rows)
    assert report.objective.value != alone.objective.value
    pairs = list(zip(report.entries, alone.entries, strict=True))
    assert all(a.high - a.low < 0.85 * (b.high - b.low) for a, b in pairs)
    assert report.objective.interval == "proxy"
    assert "Of 10,000 rows" not in str(report)
    assert report.warnings[0].startswith("recall: the proxy was worth ")


def test_what_is_not_a_fraction_is_counted_by_labels_alone():
    y, _, g, _, decided = judged()
    more = Unlabelled(decided[400:], g[400:], g[:400])
    report = evaluate("maximize g_mean", y[:400], decided[:400], unlabelled=more)
    alone = evaluate("maximize g_mean", y[:400], decided[:400])
    assert report.objective == alone.objective
    assert report.warnings == ("g_mean: the proxy was of no use",)


def test_columns_of_frames_are_as_good():
    y, scores, g, _, decided = judged()
    table = pd.DataFrame({"y": y, "removed": decided, "cheap": g, "score": scores})
    few, many = table[:400], table[400:]
    by_name = evaluate(
        "maximize recall", few, y_true="y", y_pred="removed", unlabelled=Unlabelled(many, "cheap")
    )
    more = Unlabelled(decided[400:], g[400:], g[:400])
    by_array = evaluate("maximize recall", y[:400], decided[:400], unlabelled=more)
    assert by_name.objective == by_array.objective


def test_a_proxy_certifies_what_few_labels_do_not():
    y, scores, g, _, _ = judged(seed=2)
    more = Unlabelled(scores[400:], g[400:], g[:400])
    goal = "maximize recall subject to precision >= 0.62"
    with pytest.raises(NotCertifiable):
        certify(Threshold(1.0), goal, scores[:400], y[:400])
    found = certify(Threshold(1.0), goal, scores[:400], y[:400], unlabelled=more)
    (shown,), entry = found.guarantee.constraints, found.report.constraints[0]
    assert (shown.kind, shown.is_exact, shown.value) == ("proxy", False, entry.value)
    assert shown.limit == pytest.approx(entry.low, abs=1e-3)
    assert found.guarantee.reached == found.report.objective.value
    assert "not proved for this kind of rate; in simulations it holds" in " ".join(
        str(found.report).split()
    )
    several = certify(
        [Threshold(1.2), Threshold(1.0)], goal, scores[:400], y[:400], unlabelled=more
    )
    assert several.index == 1
    assert several.guarantee.constraints == found.guarantee.constraints


@over("wrong, error, words", [
    ({"proxy": [0.5] * 7}, InputError, "proxy` has 7 rows, 4000 are expected"),
    ({"of_labelled": None}, InputError, "`unlabelled`: of_labelled should be a 1d array, got None"),
    ({"proxy": "cheap"}, InputError, "'cheap'"),
    ({"of_labelled": [0.5] * 399 + [1.5]}, InputError, "of_labelled has 1 outside [0, 1] value"),
    ({"of_labelled": [0.5] * 399 + [np.nan]}, InputError, "1 missing value"),
    ({"proxy": ["a"] * 4_000}, InputError, "such as 'a'"),
])  # fmt: skip
def test_a_wrong_proxy_is_refused(wrong, error, words):
    y, scores, g, _, decided = judged()
    parts = {"X": decided[400:], "proxy": g[400:], "of_labelled": g[:400]}
    with pytest.raises(error) as caught:
        evaluate(
            "maximize recall", y[:400], decided[:400], unlabelled=Unlabelled(**(parts | wrong))
        )
    assert words in str(caught.value)
    rule, parts = Threshold(1.0), parts | {"X": scores[400:]} | wrong
    with pytest.raises(error, match=r"unlabelled|proxy"):
        certify(
            rule,
            "maximize recall s.t. recall >= 0.5",
            scores[:400],
            y[:400],
            unlabelled=Unlabelled(**parts),
        )


def test_where_a_proxy_has_no_test_it_is_refused():
    y, scores, g, language, decided = judged()
    few = {"unlabelled": Unlabelled(decided[400:], g[400:], g[:400])}
    more = {"unlabelled": Unlabelled(scores[400:], g[400:], g[:400])}
    first, goal = (y[:400], decided[:400]), "maximize precision subject to recall >= 0.5"
    with pytest.raises(InputError, match="simulated and not proved"):
        certify(Threshold(1.0), goal, scores[:400], y[:400],
                confidence=Confidence(strict=True), **more)  # fmt: skip
    with pytest.raises(InputError, match="goes with `new_rule=False`"):
        certify(Threshold(1.0), goal, scores[:400], y[:400], new_rule=True, **more)
    with pytest.raises(InputError, match="is for two classes, rows that count once"):
        evaluate("maximize recall", *first, sample_weight=np.full(400, 2.0), **few)
    with pytest.raises(InputError, match="without `baseline`"):
        evaluate("maximize recall", *first, baseline=decided[:400], **few)
    three = y[:400] + (np.arange(400) % 2) * y[:400]
    with pytest.raises(InputError, match=r"of \[0, 1, 2\]"):
        evaluate("maximize accuracy", three, decided[:400], **few)
    with pytest.raises(InputError, match="positive class is not known"):
        evaluate("maximize accuracy", *(np.array(["x", "z"])[part] for part in first), **few)
    with pytest.raises(ValueError, match="`unlabelled`: the goal refers to the column 'language'"):
        evaluate("maximize recall.min(language)", *first, **few,
                 sensitive_features={"language": language[:400]})  # fmt: skip


# ---------------------------------------------------------------------- simulations
@pytest.mark.long
@over("n, more, skill", [(200, 4_000, 2.5), (1_000, 4_000, 2.0), (100, 100, 3.5), (60, 4_000, 3.5)])
@over("metric, cutoff", [("recall", 1.0), ("precision", 1.6)])
def test_a_bound_at_its_limit_is_seldom_called_shown(n, more, skill, metric, cutoff):
    hit, alarm = stats.norm.sf([cutoff - 2.0, cutoff]).tolist()
    truth = hit if metric == "recall" else 0.3 * hit / (0.3 * hit + 0.7 * alarm)
    shown, held = 0, 0
    for seed in range(DRAWS):
        y, scores, g = drawn(n, more, skill, seed)
        tests, found = counted(f"{metric} >= {truth!r}", y, (scores >= cutoff).astype(int), g, n)
        shown += tests.passes(Tried(found))
        if seed < LIMITS:
            x = tests.program.constraints[0].function
            low, high, _ = interval_of(x, tests.counted(found), 0.9)
            held += low <= truth <= high
    assert shown / DRAWS <= most(DRAWS)
    assert held / LIMITS >= 0.8
