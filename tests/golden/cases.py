"""Five hundred random cases for `solve`, each from its number and a sub-seed.

Only whole numbers are drawn, and only divided: a case is the same on every processor. A case
has a kind by its last digit, so that any ten in a row hold every kind.
"""

from __future__ import annotations

from typing import Any

from golden.goals import Draw, Words, goal
from golden.odd import odd_case
from golden.rows import Case, columns, deployed, rows, weights
from setpoint.solvers import PostShift

N_CASES = 500
KINDS = (
    "plain", "groups", "deployed", "datasets", "plain",
    "posteriors", "classes", "classes", "named", "odd",
)  # fmt: skip
LABELS = {
    2: ([0, 1], ["no", "yes"], [False, True], [-1, 1]),
    3: ([0, 1, 2], ["a", "b", "c"], ["x", "y", "z"]),
    4: ([0, 1, 2, 3], ["a", "b", "c", "d"]),
}
SMOOTH = ("g_mean", "h_mean", "q_mean", "balanced_accuracy")


def case(number, sub=0):
    """The case of a number; the sub-seed is for another try."""
    draw = Draw(number, sub)
    kind = KINDS[number % 10]
    if kind == "odd":
        return odd_case(number, sub)
    return ordinary(draw, number, sub, kind)


def ordinary(draw, number, sub, kind, n=None):
    """A case of any kind but "odd"."""
    k = draw.pick((3, 3, 4)) if kind == "classes" else draw.pick((2, 3)) if kind == "named" else 2
    labels = draw.pick(LABELS[k])
    posterior = kind in ("posteriors", "classes", "named")
    n = n or (draw.whole(20, 60) if draw.chance(40) else draw.whole(60, 160 if posterior else 400))
    part, codes = rows(draw, n, labels, posterior=posterior)
    if draw.chance(40):
        part.sample_weight = weights(draw, n)
    if kind == "groups" or draw.chance(25):
        part.sensitive_features = columns(draw, n, draw.pick((1, 1, 2)))
    if kind == "deployed" or draw.chance(15):
        part.baseline = deployed(draw, codes, labels)
    out = Case(number, sub, kind, "", part, labels)
    if kind == "datasets" or (kind == "classes" and draw.chance(20)):
        _add_datasets(draw, out, posterior)
    out.options = _options(draw, out, posterior)
    words = Words(
        draw,
        labels,
        {k: sorted(set(v)) for k, v in (part.sensitive_features or {}).items()},
        [name for name, p in out.datasets.items() if p.y is not None],
        [name for name, p in out.datasets.items() if p.y is None],
        part.baseline is not None,
    )
    out.goal = goal(words, most=0 if _shifts(out.options) else 3)
    if kind == "named" and draw.chance(75):
        out.goal = _for_solver(words, out.options["solver"])
    if "macro_precision" in out.goal and n > 40:  # slow: few rows, and two classes
        return ordinary(draw, number, sub, "plain", n=draw.whole(20, 40))
    return out


def _for_solver(words, solver):
    """A goal of the shape that a solver with a name is made for."""
    draw = words.draw
    if solver == "bisection":
        ratios = ("precision", "f1", "jaccard", "fbeta", "micro_f1")
        name = draw.pick(ratios)
        label = repr(draw.pick(words.labels))
        text = {"fbeta": f"fbeta(2, label={label})", "micro_f1": f"micro_f1({label})"}
        value = text.get(name, f"{name}(label={label})")
    else:
        value = draw.pick(SMOOTH)
    cap = f"{words.of_class('predicted_rate')} <= {draw.hundredths(35, 60)}"
    tail = draw.pick(
        ("", "", "recall.min() >= 0.2", cap, "abs(predicted_rate - prior).max() <= 0.1")
    )
    return f"maximize {value}{' subject to ' * bool(tail)}{tail}"


def _add_datasets(draw, out, posterior):
    names = draw.pick((("audit",), ("later",), ("audit", "later")))
    for name in names:
        n = draw.whole(15, 80)
        part, codes = rows(draw, n, out.labels, posterior=posterior, labelled=name == "audit")
        if draw.chance(30):
            part.sample_weight = weights(draw, n)
        side = out.rows.sensitive_features
        if side is not None:
            part.sensitive_features = {c: [draw.pick(v) for _ in range(n)] for c, v in side.items()}
        if out.rows.baseline is not None:
            part.baseline = deployed(draw, codes, out.labels)
        out.datasets[name] = part


def _options(draw, out, posterior):
    two = len(out.labels) == 2
    given: dict[str, Any] = {"randomized": draw.pick(("auto", "auto", True, False))}
    if posterior:
        given["evidence"] = draw.pick(("soft", "soft", "label", "auto"))
    if out.kind == "posteriors" and given["evidence"] != "soft":
        given["solver"] = "column-generation"
    if out.kind == "named":
        given["solver"] = draw.pick(
            ("frank-wolfe", "frank-wolfe", "ellipsoid", "bisection", "bisection", "gda", "gda")
        )
        if draw.chance(15):
            given["solver"] = draw.pick(("argmax", "balanced"))
        if given["solver"] in ("gda", "ellipsoid", "bisection"):
            given["max_oracle_calls"] = draw.pick((30, 60, 120))
    elif posterior and draw.chance(10):
        given["max_oracle_calls"] = draw.whole(3, 12)
    elif out.kind == "plain" and draw.chance(12):
        given["solver"], given["randomized"] = "post-shift", draw.pick((False, "auto"))
        if draw.chance(50):
            given["solver"] = PostShift(smooth=draw.pick((None, 1, 7)))
    if draw.chance(30):
        given["on_infeasible"] = "nearest"
    if out.rows.sensitive_features is not None and draw.chance(40):
        names = list(out.rows.sensitive_features)
        given["decide_on"] = draw.pick((None, "auto", names[0], names))
    if two and draw.chance(20):
        given["pos_label"] = draw.pick(out.labels)
    if draw.chance(15):
        given["tol"] = draw.pick((0.0, 1e-3, 0.02))
    return given


def _shifts(options):
    """Whether the solver is post-shift, which takes no constraints."""
    solver = options.get("solver")
    return solver == "post-shift" or isinstance(solver, PostShift)
