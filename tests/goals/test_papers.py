"""The use cases of the five papers as tests of the language.

Every metric, constraint and table row that the papers name either binds, with the shape
that its solver counts on, or is refused with a message that names the way out. A loss of
the papers is one minus the score.
"""

import numpy as np
import pytest

from goals.samples import BINARY, FIVE, grouped, is_linear, linear_rows, program_of
from setpoint import Goal, GoalError
from thinning import over

BINARY_DATA, BINARY_COUNTS = grouped(BINARY, 0, baseline=True, datasets=True)
FIVE_DATA, FIVE_COUNTS = grouped(FIVE, 0, baseline=True)

# (source, objective, its shape with two classes, its shape with five); None: see REFUSED.
OBJECTIVES = [
    # CMA: examples 1 to 4, table 1 left, sections 8.2 and 8.7
    ("CMA ex. 1 0-1 loss", "minimize error_rate", "affine", "affine"),
    ("CMA ex. 1 balanced loss", "minimize 1 - balanced_accuracy", "affine", "affine"),
    ("CMA ex. 1 cost matrix", "minimize cost({(a, b): 2, (b, a): 1, (e, a): 0.5})", None,
     "affine"),
    ("CMA ex. 1 ordinal absolute loss",
     "minimize cost({(a, b): 1, (a, c): 2, (b, a): 1, (b, c): 1, (c, a): 2, (c, b): 1})", None,
     "affine"),
    ("CMA ex. 2 balanced error rate", "minimize 0.5 * (fp / (tn + fp) + fn / (fn + tp))",
     "sum of ratios", None),
    ("CMA ex. 2 balanced error rate, as rates",
     "minimize 0.5 * (false_positive_rate + false_negative_rate)", "affine", None),
    ("CMA ex. 2 F-beta", "minimize 1 - fbeta(2)", "fractional", None),
    ("CMA ex. 2 ratio of linear", "maximize (tp + 2 * tn) / (1 + fp)", "fractional", None),
    ("CMA Table 1 G-mean", "minimize 1 - g_mean", "convex", "convex"),
    ("CMA Table 1 H-mean", "minimize 1 - h_mean", "convex", "convex"),
    ("CMA Table 1 Q-mean", "minimize 1 - q_mean", "convex", "convex"),
    ("CMA Table 1 Q-mean, spelled", "minimize false_negative_rate.quadratic_mean()", "convex",
     "convex"),
    ("CMA Table 1 micro F1", "minimize 1 - micro_f1(no)", "fractional", None),
    ("CMA Table 1 micro F1", "minimize 1 - micro_f1(a)", None, "fractional"),
    ("CMA Table 1 macro F1", "minimize 1 - macro_f1", "sum of ratios", "sum of ratios"),
    ("CMA Table 1 min-max", "minimize 1 - min_recall", "convex", "convex"),
    ("CMA Table 1 min-max, spelled", "minimize false_negative_rate.max()", "convex", "convex"),
    ("CMA sec. 7.1 per group", "maximize g_mean.min(sex)", "concave", "concave"),
    # ERO: (2.1), (2.2), theorem B.6
    ("ERO FPOR objective", "maximize recall", "affine", None),
    ("ERO FROP objective", "maximize precision", "fractional", None),
    ("ERO OFBS", "maximize fbeta(0.5)", "fractional", None),
    ("ERO OFBS F1", "maximize f1", "fractional", None),
    ("ERO B.6 accuracy", "maximize accuracy", "affine", "affine"),
    ("ERO B.6 specificity", "maximize specificity", "affine", None),
    # DSC: table 2
    ("DSC Table 2 errors", "minimize fp + fn", "affine", None),
    ("DSC sec. 4.2 errors on two sets", "minimize error_rate + 0.3 * fp.on(audit)", "affine", None),
    ("DSC Neyman-Pearson", "minimize false_negative_rate", "affine", None),
    # BBS: examples and sections 6.1 to 6.4
    ("BBS ex. 1 G-mean", "minimize 1 - sqrt(recall * specificity)", "convex", None),
    ("BBS sec. 6.2 macro F over groups", "maximize f1.mean(sex)", "sum of ratios", None),
    # FOFO: sections 3 and 5
    ("FOFO Jaccard", "maximize jaccard", "fractional", None),
]  # fmt: skip

# (source, constraint, shape with two classes, with five, whether it is rows)
CONSTRAINTS = [
    # CMA: examples 5 to 8, table 1 right, figures 7 to 9
    ("CMA Table 1 precision", "precision >= 0.5", "fractional", None, True),
    ("CMA Table 1 class precision", "precision(label=b) >= 0.1", None, "fractional", True),
    ("CMA Table 1 quantification", "prior_divergence <= 0.5", "convex", "convex", False),
    ("CMA ex. 6 given distribution",
     "prior_divergence({a: 0.2, b: 0.2, c: 0.2, d: 0.2, e: 0.2}) <= 0.5", None, "convex", False),
    ("CMA Table 1 coverage",
     "maximum(abs(predicted_rate(label=a) - 0.3), abs(predicted_rate(label=b) - 0.2)) <= 0.1",
     None, "convex", True),
    ("CMA sec. 8.1 coverage matches priors", "abs(predicted_rate - prior).max() <= 0.01",
     "convex", "convex", True),
    ("CMA Table 1 demographic parity", "predicted_rate.deviation(sex).max() <= 0.05", "convex",
     "convex", True),
    ("CMA Table 1 equal opportunity", "recall.deviation(sex) <= 0.05", "convex", None, True),
    ("CMA Table 1 equalized odds, two classes",
     "maximum(recall.deviation(sex), false_positive_rate.deviation(sex)) <= 0.05", "convex", None,
     True),
    ("CMA Table 1 equalized odds, one entry",
     "(confusion_rate(a, b) / prior(label=a)).deviation(sex) <= 0.05", None, "convex", True),
    ("CMA sec. 2.2 churn", "churn <= 0.1", "affine", "affine", True),
    ("CMA sec. 2.2 other data", "accuracy.on(audit) >= 0.5", "affine", None, True),
    ("CMA sec. 2.2 part of the ROC curve", "false_positive_rate <= 0.1", "affine", None, True),
    ("CMA Fig. 6", "tn - tp <= 0.3", "affine", None, True),
    # ERO: (2.2)
    ("ERO FROP", "recall >= 0.8", "affine", None, True),
    ("ERO B.6 F-beta as a floor", "fbeta(2) >= 0.5", "fractional", None, True),
    # DSC: section 1 and table 2
    ("DSC coverage", "predicted_rate.on(unlabelled) <= 0.1", "affine", None, True),
    ("DSC coverage, from below", "predicted_rate >= 0.2", "affine", None, True),
    ("DSC Table 2 true positives", "tp >= 0.1", "affine", None, True),
    ("DSC churn on unlabelled rows", "churn.on(unlabelled) <= 0.05", "affine", None, True),
    ("DSC stability", "churn.on(audit) <= 0.02", "affine", None, True),
    ("DSC fairness", "predicted_rate.on(sex=F) >= 0.8 * predicted_rate.on(sex=M)", "affine", None,
     True),
    ("DSC fairness, four fifths of the best group", "predicted_rate.ratio(sex) >= 0.8",
     "quasiconcave", None, True),
    ("DSC equal opportunity", "recall.on(sex=F) >= 0.9 * recall.on(sex=M)", "affine", None, True),
    ("DSC difference of rates", "predicted_rate.difference(sex) <= 0.1", "convex", None, True),
    ("DSC egregious positives", "recall.on(audit) >= 0.9", "affine", None, True),
    ("DSC recall by country", "recall.on(country=IN) >= 0.8", "affine", None, True),
    ("DSC wins over losses", "win_loss_ratio >= 2", "fractional", "fractional", True),
    ("DSC wins among changes", "win_change_ratio >= 0.6", "fractional", "fractional", True),
    ("DSC wins, as a line", "wins >= 2 * losses", "affine", "affine", True),
    ("DSC F1", "f1 >= 0.5", "fractional", None, True),
    # BBS
    ("BBS equal odds", "recall.difference(sex) <= 0.1", "convex", None, True),
]  # fmt: skip

DATA = {"two classes": (BINARY_DATA, BINARY_COUNTS), "five classes": (FIVE_DATA, FIVE_COUNTS)}


def cases(table):
    return [
        pytest.param(data, text, shape, *rest, id=f"{tag}, {data}")
        for tag, text, *shapes_and_rest in table
        for data, shape in zip(DATA, shapes_and_rest[:2], strict=True)
        if shape is not None
        for rest in [shapes_and_rest[2:]]
    ]


@over(("data", "text", "shape"), cases(OBJECTIVES))
def test_objectives(data, text, shape):
    schema, counts = DATA[data]
    goal = Goal.parse(text)
    assert Goal.parse(str(goal)) == goal
    program = program_of(goal, schema)
    assert program.objective.shape_name == shape
    v = program.rates_of(counts)
    assert np.isfinite(program.value(v))
    assert np.isfinite(program.gradient(v)).all()


@over(("data", "text", "shape", "linear"), cases(CONSTRAINTS))
def test_constraints(data, text, shape, linear):
    schema, counts = DATA[data]
    goal = Goal.parse(f"maximize accuracy subject to {text}")
    assert Goal.parse(str(goal)) == goal
    program = program_of(goal, schema)
    assert program.constraints[0].function.shape_name == shape
    assert is_linear(program) == linear
    assert np.isfinite(program.violation(program.rates_of(counts)))


# What the papers name and the language refuses, with the way out that the message names.
REFUSED = [
    # CMA
    ("maximize precision", "five classes", "label="),
    ("maximize micro_f1", None, r"micro_f1\(default\)"),
    ("minimize (1 - recall)**2", None, "operators are"),
    ("maximize accuracy subject to predicted_rate == prior", None, r"abs\(x - c\)"),
    # ERO
    ("maximize auprc", None, "maximize precision subject to recall"),
    ("maximize average_precision", None, "score of the ranking"),
    ("maximize recall subject to precision >= 80", "two classes", "outside the range"),
    # BBS
    ("maximize prbep", None, "subject to recall >= 0.8"),
    ("maximize precision subject to precision == recall", None, r"write abs\(x - c\) <= tolerance"),
    # DSC
    ("maximize accuracy subject to recall.on(unlabelled) >= 0.5", "two classes",
     "predicted_rate, churn"),
    ("maximize accuracy subject to min(recall, precision) >= 0.8", None,
     r"write minimum\(a, b\), or x\.min\(\)"),
    ("maximize accuracy subject to churn < 0.1", None, ">= or <="),
]  # fmt: skip


@over("text, data, message", REFUSED)
def test_refusals_name_the_way_out(text, data, message):
    def use():
        goal = Goal.parse(text)
        if data:
            program_of(goal, DATA[data][0])

    with pytest.raises(GoalError, match=message):
        use()


def test_micro_f1_is_the_form_of_the_paper():
    c = FIVE_COUNTS[:, :5].sum(axis=0)
    c = c / c.sum()
    program = program_of(Goal.parse("maximize micro_f1(a)"), FIVE_DATA)
    want = 2 * np.diag(c)[1:].sum() / (2 - c[0].sum() - c[:, 0].sum())
    assert program.value(program.rates_of(FIVE_COUNTS)) == pytest.approx(want, abs=1e-12)


def test_dataset_constraints_as_rows_of_rates():
    """Precision, F1 and win/loss bounds as non-negative sums of rates."""
    schema, counts = BINARY_DATA, BINARY_COUNTS
    c = sum(counts[i] for i, stratum in enumerate(schema.strata) if stratum.dataset is None)
    positives, negatives = c[1].sum(), c[0].sum()
    miss, accept, k = c[1, 0] / positives, c[0, 1] / negatives, 0.6
    share = k * negatives / ((1 - k) * positives)
    precision = miss + share * accept - 1
    f1 = (2 - k) / (2 - 2 * k) * miss + share / 2 * accept - 1
    for text, want in [("precision >= 0.6", precision), ("f1 >= 0.6", f1)]:
        program = program_of(Goal.parse(f"maximize recall subject to {text}"), schema)
        ((_, rows),) = linear_rows(program)
        v = program.rates_of(counts)
        assert np.sign(rows[0].value(v)) == np.sign(want)
        assert (program.violation(v) > 0) == (want > 0)
