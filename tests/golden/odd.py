"""Cases of odd kind: what is empty, constant, infinite, far out, or plainly wrong."""

from __future__ import annotations

import numpy as np

from golden.goals import Draw
from golden.rows import Case, columns, deployed, posteriors, rows, weights


def odd_case(number, sub):
    """The case of an odd number: fifty of these, the kinds in turn, each with two or more draws."""
    draw = Draw(number, sub)
    twist = TWISTS[number // 10 % len(TWISTS)]
    labels = [0, 1]
    n = draw.whole(20, 80)
    part, codes = rows(draw, n, labels, posterior=False)
    part.sensitive_features = columns(draw, n, 1)
    part.baseline = deployed(draw, codes, labels)
    out = Case(number, sub, "odd", "", part, labels)
    out.options = {"randomized": draw.pick(("auto", True, False))}
    if draw.chance(40):
        out.options["on_infeasible"] = "nearest"
    out.goal = twist(draw, out, codes)
    return out


def _many(draw, out, k=3, n=None):
    """Make it a case over posteriors of several classes."""
    n = n or draw.whole(20, 60)
    out.rows.scores, codes = posteriors(draw, n, k)
    out.rows.y = codes.tolist()
    out.rows.sensitive_features = columns(draw, n, 1)
    out.rows.baseline = None
    out.labels = list(range(k))
    out.options["evidence"] = draw.pick(("soft", "label", "auto"))
    return codes


def empty_class(draw, out, codes):
    codes = _many(draw, out)
    out.rows.y = [int(c % 2) for c in codes]
    out.options["classes"] = [0, 1, 2]
    return draw.pick(("maximize macro_f1", "maximize min_recall", "maximize recall(label=2)"))


def one_class(draw, out, codes):
    out.rows.y = [draw.pick((0, 1))] * len(codes)
    out.options["classes"] = [0, 1]
    return draw.pick(("maximize f1", "minimize predicted_rate", "maximize recall"))


def unused_group(draw, out, codes):
    """A group all of whose weights are zero."""
    w = weights(draw, len(codes)).astype(float)
    w[np.array(out.rows.sensitive_features["g"]) == "a"] = 0.0
    out.rows.sample_weight = w
    return draw.pick(("maximize recall.min(g)", "maximize f1 subject to recall.on(g='a') >= 0.5"))


def unused_class(draw, out, codes):
    out.rows.sample_weight = (codes == draw.whole(0, 1)).astype(float)
    return draw.pick(("maximize recall subject to precision >= 0.5", "maximize accuracy"))


def no_weight(draw, out, codes):
    out.rows.sample_weight = np.zeros(len(codes))
    return "maximize f1"


def group_without_positives(draw, out, codes):
    g = out.rows.sensitive_features["g"]
    out.rows.sensitive_features["g"] = ["b" if c else v for c, v in zip(codes, g, strict=True)]
    return draw.pick(
        (
            "maximize accuracy subject to recall.difference(g) <= 0.1",
            "maximize f1.min(g)",
            "maximize f1 subject to predicted_rate.ratio(g) >= 0.5",
        )
    )


def group_of_one_row(draw, out, codes):
    out.rows.sensitive_features["g"] = ["a"] * (len(codes) - 1) + ["b"]
    return draw.pick(
        (
            "maximize recall subject to predicted_rate.difference(g) <= 0.2",
            "maximize accuracy.min(g)",
        )
    )


def constant_constraint(draw, out, codes):
    bound = draw.hundredths(20, 80)
    first = draw.pick((f"prior <= {bound}", f"tp + fn >= {bound}", f"fn.baseline() <= {bound}"))
    more = draw.pick((" and precision >= 0.5", " and churn <= 0.1", ""))
    return f"maximize {draw.pick(('recall', 'accuracy'))} subject to {first}{more}"


def exactly_met(draw, out, codes):
    """A constraint without decisions in it that is met with nothing to spare."""
    half = len(codes) // 2
    out.rows.y = [0] * half + [1] * (len(codes) - half)
    out.rows.sample_weight = np.array([len(codes) - half] * half + [half] * (len(codes) - half))
    return "maximize recall subject to prior <= 0.5 and precision >= 0.6"


def constant_objective(draw, out, codes):
    tail = draw.pick(("", " subject to precision >= 0.5", " subject to churn <= 0.2"))
    return draw.pick(("maximize prior", "maximize recall.baseline()", "minimize tp + fn")) + tail


def infinite_bound(draw, out, codes):
    """The deployed model has no false positives: its tp / fp is infinite."""
    out.rows.baseline = [int(c and draw.chance(70)) for c in codes]
    return draw.pick(
        (
            "maximize recall subject to tp / fp >= (tp / fp).baseline()",
            "maximize recall subject to tp / fp <= (tp / fp).baseline()",
            "maximize tp / fp - (tp / fp).baseline()",
        )
    )


def equal_scores(draw, out, codes):
    out.rows.scores = np.full(len(codes), 0.5)
    return draw.pick(("maximize f1", "maximize g_mean subject to predicted_rate <= 0.4"))


def far_scores(draw, out, codes):
    s = out.rows.scores.astype(float)
    s[: len(s) // 2] *= draw.pick((1e300, 1e-310, -1e300))
    if draw.chance(50):
        s[-1], s[-2] = np.inf, -np.inf
    out.rows.scores = s
    return "maximize recall subject to precision >= 0.4"


def missing_score(draw, out, codes):
    out.rows.scores = out.rows.scores.astype(float)
    out.rows.scores[draw.whole(0, len(codes) - 1)] = np.nan
    return "maximize f1"


def two_rows(draw, out, codes):
    out.rows.scores, out.rows.y = np.array([1.0, 0.0]), [1, 0]
    out.rows.sensitive_features, out.rows.baseline = None, None
    out.rows.sample_weight = [1.0, 2.0]
    return draw.pick(
        (
            "maximize prior_divergence / (f1(label=0) / min_recall) subject to mcc <= 0.016",
            "maximize f1",
            "maximize mcc subject to recall <= 0.5",
        )
    )


def less_than_a_row(draw, out, codes):
    """Only a share of a row may be accepted."""
    tail = draw.pick(("", " and fn.difference(g) <= 0.3"))
    return f"maximize precision subject to predicted_rate <= 0.001{tail}"


def nothing_deployed(draw, out, codes):
    out.rows.baseline = None
    return draw.pick(("minimize churn", "maximize recall subject to f1 >= f1.baseline()"))


def labels_missing(draw, out, codes):
    part, _ = rows(draw, 20, out.labels, posterior=False, labelled=False)
    out.datasets["later"] = part
    return "maximize recall subject to " + draw.pick(
        ("precision.on('later') >= 0.5", "predicted_rate.on('later') <= 0.3", "fn.on('later') <= 1")
    )


def weights_far_apart(draw, out, codes):
    out.rows.sample_weight = np.array([draw.pick((1e5, 1e-5, 1.0)) for _ in codes])
    return "maximize recall subject to precision >= 0.33"


def sure_posteriors(draw, out, codes):
    """Few distinct posteriors, all but sure."""
    codes = _many(draw, out)
    out.rows.scores = np.eye(3)[codes] * 0.7 + 0.1
    return draw.pick(("maximize macro_f1", "maximize h_mean", "maximize precision.min()"))


def wrong_sums(draw, out, codes):
    """Posteriors that sum to one only nearly, or not at all."""
    _many(draw, out)
    out.rows.scores = out.rows.scores * draw.pick((1.0005, 0.9995, 1.2))
    return "maximize balanced_accuracy subject to recall.difference() <= 0.2"


def wrong_solver(draw, out, codes):
    kind = draw.pick(("exact", "post-shift", "named"))
    if kind == "named":
        out.options["solver"] = draw.pick(("frank-wolfe", "bisection", "nothing"))
        return "maximize mcc"
    out.options["solver"] = kind
    if kind == "exact":
        _many(draw, out)
        return "maximize accuracy"
    return "maximize f1 subject to precision >= 0.5"


def one_of(*goals):
    """A case that is odd by its goal alone."""
    return lambda draw, out, codes: draw.pick(goals)


infinite_objective = one_of(
    "minimize prior_divergence.deviation(g)",
    "minimize prior_divergence subject to recall <= 0",
    "maximize win_loss_ratio",
    "maximize win_loss_ratio subject to churn <= 0",
    "maximize tp / fp",
)
out_of_range = one_of(
    "maximize recall subject to precision >= 1.5",
    "maximize recall subject to jaccard >= -0.022",
    "maximize recall subject to recall >= 0.9 and predicted_rate <= 0.001",
    "maximize precision subject to recall >= recall.baseline() + 0.9",
)
unknown_names = one_of(
    "maximize recal",
    "maximize recall subject to precision.on('audit') >= 0.5",
    "maximize recall.min(sex)",
    "maximize recall(label=7)",
    "maximize recall subject to recall.on(g='q') >= 0.5",
    "maximize recall subject to precision == 0.5",
)
TWISTS = (
    empty_class, one_class, unused_group, unused_class, no_weight, group_without_positives,
    group_of_one_row, constant_constraint, exactly_met, constant_objective, infinite_objective,
    infinite_bound, equal_scores, far_scores, missing_score, two_rows, out_of_range,
    less_than_a_row, unknown_names, nothing_deployed, labels_missing, weights_far_apart,
    sure_posteriors, wrong_sums, wrong_solver,
)  # fmt: skip
