"""Every metric of the table against scikit-learn, imbalanced-learn, fairlearn or its formula."""

import fairlearn.metrics as fl
import imblearn.metrics as im
import numpy as np
import pytest
import sklearn.metrics as sk

from goals.samples import *
from setpoint import Goal, maximize
from setpoint.counts import Stratum
from setpoint.metrics import *
from thinning import over

SEEDS = range(3)


def value(expression, schema, counts):
    """The value through the folded program and, unfolded, through the influence; both agree."""
    program = program_of(maximize(expression), schema)
    out = float(program.value(program.rates_of(counts)))
    other = influence(expression, schema, counts)[0]
    assert other == pytest.approx(out, abs=1e-12)
    return out


def at(text, schema, counts):
    return value(Goal.parse(f"maximize {text}").objective, schema, counts)


def rows(counts, classes):
    """Weighted rows (true, predicted, weight) with these counts, in one stratum."""
    true, predicted = np.nonzero(counts[: len(classes)])
    names = np.array(classes)
    return names[true], names[predicted], counts[true, predicted]


def case(classes, seed):
    rng = np.random.default_rng(seed)
    counts = rng.random((1, len(classes) + 1, len(classes))) * (
        rng.random((1, len(classes) + 1, len(classes))) < 0.8
    )
    counts[0, -1] = 0
    counts[0, range(len(classes)), range(len(classes))] += 0.01
    return Schema.of_counts(classes, (Stratum(),), counts), counts


YES = {"pos_label": "yes"}
MACRO = {"labels": FIVE, "average": "macro", "zero_division": 0}
ANY = {
    "accuracy": (sk.accuracy_score, {}), "balanced_accuracy": (sk.balanced_accuracy_score, {}),
    "mcc": (sk.matthews_corrcoef, {}),
    "g_mean": (im.geometric_mean_score, {"average": "multiclass"}),
}  # fmt: skip
OF_TWO = ANY | {
    "recall": (sk.recall_score, YES),
    "precision": (sk.precision_score, YES),
    "f1": (sk.f1_score, YES),
    "fbeta(2)": (sk.fbeta_score, {"beta": 2, **YES}),
    "fbeta(0.5)": (sk.fbeta_score, {"beta": 0.5, **YES}),
    "jaccard": (sk.jaccard_score, YES),
    "error_rate": (sk.zero_one_loss, {}),
    "specificity": (sk.recall_score, {"pos_label": "no"}),
    "false_positive_rate": (fl.false_positive_rate, YES),
    "false_negative_rate": (fl.false_negative_rate, YES),
    "predicted_rate": (fl.selection_rate, YES),
    "negative_predictive_value": (sk.precision_score, {"pos_label": "no"}),
}
OF_FIVE = ANY | {
    "macro_f1": (sk.f1_score, MACRO),
    "macro_precision": (sk.precision_score, MACRO),
    "recall.mean()": (sk.recall_score, MACRO),
    "fbeta(2).mean()": (sk.fbeta_score, {"beta": 2, **MACRO}),
    "jaccard.mean()": (sk.jaccard_score, MACRO),
    'micro_f1("a")': (sk.f1_score, {"labels": FIVE[1:], "average": "micro"}),
    'recall(label="c")': (sk.recall_score, {"labels": ["c"], "average": "macro"}),
    "(prior * f1).sum()": (sk.f1_score, {**MACRO, "average": "weighted"}),
}


@over("classes, peers", [(BINARY, OF_TWO), (FIVE, OF_FIVE)])
@over("seed", SEEDS)
def test_against_libraries(classes, peers, seed):
    schema, counts = case(classes, seed)
    t, p, w = rows(counts[0], classes)
    for text, (score, options) in peers.items():
        want = score(t, p, sample_weight=w, **options)
        assert at(text, schema, counts) == pytest.approx(want, abs=1e-12), text


def check(wanted, schema, counts):
    for text, want in wanted.items():
        assert at(text, schema, counts) == pytest.approx(want, abs=1e-12), text


@over("seed", SEEDS)
def test_formulas(seed):
    schema, counts = case(BINARY, seed)
    c = counts[0, :2] / counts[0, :2].sum()
    (tn, fp), (fn, tp) = c
    rates = np.diag(c) / c.sum(axis=1)
    specific, recall = rates
    true, said = c.sum(axis=1), c.sum(axis=0)
    check({
        "tp": tp, "fp": fp, "fn": fn, "tn": tn, "prior": true[1], "h_mean": 2 / (1 / rates).sum(),
        "q_mean": 1 - np.sqrt(((1 - rates) ** 2).mean()), "min_recall": rates.min(),
        "prior_divergence": (true * np.log(true / said)).sum(),
        'prior_divergence({"no": 0.3, "yes": 0.7})':
            0.3 * np.log(0.3 / said[0]) + 0.7 * np.log(0.7 / said[1]),
        'cost({("no", "yes"): 2, ("yes", "no"): 5, ("yes", "yes"): -1})': 2 * fp + 5 * fn - tp,
        'confusion_rate("yes", "no")': fn,
        "log(recall) + sqrt(precision)": np.log(recall) + np.sqrt(tp / said[1]),
        "maximum(recall, 0.5) - minimum(specificity, 0.25, tp)":
            max(recall, 0.5) - min(specific, 0.25, tp),
        "abs(recall - 0.9) / (1 + recall)": abs(recall - 0.9) / (1 + recall),
        "recall.difference() + 2 * recall.ratio()":
            np.ptp(rates) + 2 * rates.min() / rates.max(),
    }, schema, counts)  # fmt: skip


@over("seed", SEEDS)
def test_against_the_deployed_model(seed):
    schema, counts = grouped(BINARY, seed, baseline=True)
    b, c, code = np.array([c.baseline for c in schema.strata]), counts[:, :2], np.arange(2)
    total, right = c.sum(), code[None, :, None] == code[None, None, :]
    was = (code[None, :] == b[:, None])[:, :, None]
    won, lost = (c * (right & ~was)).sum(), (c * (~right & was)).sum()
    moved = (c * (code[None, None, :] != b[:, None, None])).sum()
    assert won + lost <= moved + 1e-9
    check({
        "churn": moved / total, "wins": won / total, "losses": lost / total,
        "win_loss_ratio": won / lost, "win_change_ratio": won / moved,
        "recall.baseline()": c[b == 1, 1].sum() / c[:, 1].sum(),
        "precision.baseline()": c[b == 1, 1].sum() / c[b == 1].sum(),
        "accuracy.baseline()": (c * was).sum() / total, "churn.baseline()": 0.0,
        "win_loss_ratio.baseline()": 0.0,
        'cost({("yes", "no"): 3}).baseline()': 3 * c[b == 0, 1].sum() / total,
        "accuracy - accuracy.baseline()": (won - lost) / total,
    }, schema, counts)  # fmt: skip


FAIR = {
    "predicted_rate.difference(sex)": fl.demographic_parity_difference,
    "predicted_rate.ratio(sex)": fl.demographic_parity_ratio,
    "recall.difference(sex)": fl.equal_opportunity_difference,
    "recall.ratio(sex)": fl.equal_opportunity_ratio,
    "maximum(recall.difference(sex), false_positive_rate.difference(sex))": (
        fl.equalized_odds_difference
    ),
    "minimum(recall.ratio(sex), false_positive_rate.ratio(sex))": fl.equalized_odds_ratio,
}


@over("seed", SEEDS)
def test_groups_against_fairlearn(seed):
    schema, counts = grouped(BINARY, seed)
    stratum, true, predicted = np.nonzero(counts[:, :2])
    sex = np.array([dict(c.key)["sex"] for c in schema.strata])[stratum]
    how = {"sensitive_features": sex, "sample_weight": counts[stratum, true, predicted]}
    for text, peer in FAIR.items():
        want = peer(true, predicted, **how)
        assert at(text, schema, counts) == pytest.approx(want, abs=1e-12), text


def test_groups_by_hand():
    schema, counts = grouped(BINARY, 3)
    each = [
        sum(counts[i] for i, c in enumerate(schema.strata) if dict(c.key)["sex"] == s)
        for s in "FMX"
    ]
    rates = np.array([c[1, 1] / c[1].sum() for c in each])
    pooled = counts[:, 1, 1].sum() / counts[:, 1].sum()
    check({
        "recall.mean(sex)": rates.mean(), "recall.sum(sex)": rates.sum(),
        "recall.min(sex)": rates.min(), "recall.max(sex)": rates.max(),
        "recall.geometric_mean(sex)": rates.prod() ** (1 / 3),
        "recall.harmonic_mean(sex)": 3 / (1 / rates).sum(),
        "recall.quadratic_mean(sex)": np.sqrt((rates**2).mean()),
        "recall.deviation(sex)": abs(rates - pooled).max(),
        "recall.on(sex=F) - recall.on(sex=M)": rates[0] - rates[1],
        "recall.min(sex, country)": min(c[1, 1] / c[1].sum() for c in counts),
    }, schema, counts)  # fmt: skip


def test_data_sets():
    schema, counts = grouped(BINARY, 5, datasets=True)
    main, audit, free = (
        sum(counts[i] for i, c in enumerate(schema.strata) if c.dataset == name)
        for name in (None, "audit", "unlabelled")
    )
    check({
        "recall": main[1, 1] / main[1].sum(), "recall.on(audit)": audit[1, 1] / audit[1].sum(),
        "predicted_rate.on(unlabelled)": free[2, 1] / free.sum(),
        "predicted_rate": main[:, 1].sum() / main.sum(),
    }, schema, counts)  # fmt: skip


# --- what a rate is where nothing was predicted -----------------------------------------------


def test_nothing_predicted():
    schema, _ = plain(BINARY)
    none = constant(schema, 0)
    for text in (
        "precision", "f1", "fbeta(2)", "jaccard", "recall", "g_mean", "h_mean", "min_recall",
        "recall.ratio()", "recall * precision",
    ):  # fmt: skip
        assert at(text, schema, none) == 0.0, text
    assert at("mcc", schema, none) == pytest.approx(0, abs=1e-8)
    assert at("negative_predictive_value", schema, none) > 0
    assert at("negative_predictive_value", schema, constant(schema, 1)) == 0.0
    assert at("prior_divergence", schema, none) == np.inf
    assert at("log(recall)", schema, none) == -np.inf
    assert at("recall / false_positive_rate", schema, none) == 0.0
    assert at("specificity / false_positive_rate", schema, none) == np.inf


def test_mcc_of_a_constant_is_zero_for_awkward_weights():
    rng = np.random.default_rng(0)
    for _ in range(50):
        marginals = rng.random((3, 4)) * [1, 1, 1, 0]
        strata = tuple(Stratum(None, (("g", str(i)),)) for i in range(3))
        schema = Schema(
            ("a", "b", "c"), strata, marginals, np.where(marginals > 0, 1.0, np.inf), {None: ("g",)}
        )
        program = program_of(maximize(mcc), schema)
        for k in range(3):
            got = program.value(program.rates_of(constant(schema, k)))
            assert got == pytest.approx(0, abs=1e-7)


def test_infinite_values_compare():
    schema, counts = grouped(BINARY, 1, baseline=True)
    best = np.zeros_like(counts)
    for k in range(2):
        best[:, k, k] = schema.marginals[:, k]
    goal = "maximize accuracy subject to win_loss_ratio.difference(sex) <= 0.5"
    program = program_of(Goal.parse(goal), schema)
    assert program.violation(program.rates_of(best)) == 0.0
    goal = "maximize accuracy subject to win_loss_ratio.on(sex=F) >= win_loss_ratio.on(sex=M)"
    program = program_of(Goal.parse(goal), schema)
    assert program.violation(program.rates_of(best)) == np.inf
