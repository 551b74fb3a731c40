"""The use cases of the five papers as tests of the language.

Every metric, constraint and table row that the papers name either binds, with the shape
that its solver counts on, or is refused with a message that names the way out. A loss of
the papers is one minus the score.
"""

import numpy as np
import pytest

from goals.samples import BINARY, FIVE, grouped, is_linear, program_of
from setpoint import Goal, GoalError
from thinning import over

BINARY_DATA, BINARY_COUNTS = grouped(BINARY, 0, baseline=True, datasets=True)
FIVE_DATA, FIVE_COUNTS = grouped(FIVE, 0, baseline=True)

# (objective, its shape with two classes, its shape with five); None: not of these.
OBJECTIVES = [
    # CMA: examples 1 to 4, table 1 left, sections 8.2 and 8.7
    ("minimize error_rate", "affine", "affine"),
    ("minimize 1 - balanced_accuracy", "affine", "affine"),
    ("minimize cost({(a, b): 2, (b, a): 1, (e, a): 0.5})", None, "affine"),
    ("minimize cost({(a, b): 1, (a, c): 2, (b, a): 1, (b, c): 1, (c, a): 2, (c, b): 1})",
     None, "affine"),
    ("minimize 0.5 * (fp / (tn + fp) + fn / (fn + tp))", "sum of ratios", None),
    ("minimize 0.5 * (false_positive_rate + false_negative_rate)", "affine", None),
    ("minimize 1 - fbeta(2)", "fractional", None),
    ("maximize (tp + 2 * tn) / (1 + fp)", "fractional", None),
    ("minimize 1 - g_mean", "convex", "convex"), ("minimize 1 - h_mean", "convex", "convex"),
    ("minimize 1 - q_mean", "convex", "convex"),
    ("minimize false_negative_rate.quadratic_mean()", "convex", "convex"),
    ("minimize 1 - micro_f1(no)", "fractional", None),
    ("minimize 1 - micro_f1(a)", None, "fractional"),
    ("minimize 1 - macro_f1", "sum of ratios", "sum of ratios"),
    ("minimize 1 - min_recall", "convex", "convex"),
    ("minimize false_negative_rate.max()", "convex", "convex"),
    ("maximize g_mean.min(sex)", "concave", "concave"),
    # ERO: (2.1), (2.2), theorem B.6
    ("maximize recall", "affine", None), ("maximize precision", "fractional", None),
    ("maximize accuracy", "affine", "affine"), ("maximize specificity", "affine", None),
    # DSC: table 2
    ("minimize error_rate + 0.3 * fp.on(audit)", "affine", None),
    # BBS: examples and sections 6.1 to 6.4
    ("minimize 1 - sqrt(recall * specificity)", "convex", None),
    ("maximize f1.mean(sex)", "sum of ratios", None),
    # FOFO: sections 3 and 5
    ("maximize jaccard", "fractional", None),
]  # fmt: skip

# (constraint, shape with two classes, with five, whether it is rows)
CONSTRAINTS = [
    # CMA: examples 5 to 8, table 1 right, figures 7 to 9
    ("precision >= 0.5", "fractional", None, True),
    ("precision(label=b) >= 0.1", None, "fractional", True),
    ("prior_divergence <= 0.5", "convex", "convex", False),
    ("prior_divergence({a: 0.2, b: 0.2, c: 0.2, d: 0.2, e: 0.2}) <= 0.5", None, "convex", False),
    ("maximum(abs(predicted_rate(label=a) - 0.3), abs(predicted_rate(label=b) - 0.2)) <= 0.1",
     None, "convex", True),
    ("abs(predicted_rate - prior).max() <= 0.01", "convex", "convex", True),
    ("predicted_rate.deviation(sex).max() <= 0.05", "convex", "convex", True),
    ("recall.deviation(sex) <= 0.05", "convex", None, True),
    ("maximum(recall.deviation(sex), false_positive_rate.deviation(sex)) <= 0.05",
     "convex", None, True),
    ("(confusion_rate(a, b) / prior(label=a)).deviation(sex) <= 0.05", None, "convex", True),
    ("churn <= 0.1", "affine", "affine", True), ("accuracy.on(audit) >= 0.5", "affine", None, True),
    ("false_positive_rate <= 0.1", "affine", None, True), ("tn - tp <= 0.3", "affine", None, True),
    # ERO: (2.2)
    ("recall >= 0.8", "affine", None, True), ("fbeta(2) >= 0.5", "fractional", None, True),
    # DSC: section 1 and table 2
    ("predicted_rate.on(unlabelled) <= 0.1", "affine", None, True),
    ("predicted_rate >= 0.2", "affine", None, True), ("tp >= 0.1", "affine", None, True),
    ("churn.on(unlabelled) <= 0.05", "affine", None, True),
    ("predicted_rate.on(sex=F) >= 0.8 * predicted_rate.on(sex=M)", "affine", None, True),
    ("predicted_rate.ratio(sex) >= 0.8", "quasiconcave", None, True),
    ("recall.on(sex=F) >= 0.9 * recall.on(sex=M)", "affine", None, True),
    ("predicted_rate.difference(sex) <= 0.1", "convex", None, True),
    ("recall.on(country=IN) >= 0.8", "affine", None, True),
    ("recall >= recall.baseline() - 0.01", "affine", None, True),
    ("win_loss_ratio >= 2", "fractional", "fractional", True),
    ("win_change_ratio >= 0.6", "fractional", "fractional", True),
    ("wins >= 2 * losses", "affine", "affine", True), ("f1 >= 0.5", "fractional", None, True),
    # BBS
    ("recall.difference(sex) <= 0.1", "convex", None, True),
]  # fmt: skip

DATA = {"two classes": (BINARY_DATA, BINARY_COUNTS), "five classes": (FIVE_DATA, FIVE_COUNTS)}


def cases(table):
    return [
        (data, text, shape, *rest)
        for text, two, five, *rest in table
        for data, shape in zip(DATA, (two, five), strict=True)
        if shape is not None
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


@over("text, words", [
    ("maximize accuracy s.t. predicted_rate == prior", r"write abs\(x - c\) <= tolerance"),
    ("minimize (1 - recall)**2", "operators are"),
    ("maximize accuracy s.t. min(recall, precision) >= 0.8", r"write minimum\(a, b\), or x\.min"),
    ("maximize accuracy s.t. churn < 0.1", ">= or <="),
])  # fmt: skip
def test_refusals_name_the_way_out(text, words):
    with pytest.raises(GoalError, match=words):
        Goal.parse(text)
