"""Random goals as text, drawn so that most have a method and few have none.

The words are written out here and not taken from the table of metrics: a new metric must not
change what was drawn before it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

HIGHER = ("recall", "specificity", "precision", "negative_predictive_value", "f1", "jaccard")
LOWER = ("fp", "fn", "false_positive_rate", "false_negative_rate")
RATES = ("tp", "tn", "fp", "fn", "recall", "specificity", "predicted_rate", "false_positive_rate")
MEANS = ("balanced_accuracy", "g_mean", "h_mean", "q_mean", "min_recall", "macro_f1")
DEPLOYED = ("churn", "wins", "losses", "win_loss_ratio", "win_change_ratio")
OWN = (
    "tp / (tp + 2 * fp)",
    "(tp + tn) / (tp + tn + 2 * fp + fn)",
    "tp / (tp + 0.3 * fp + 0.7 * fn)",
    "2 * tp - fp",
    "tp - 0.5 * fp - 0.25 * fn",
    "sqrt(recall * specificity)",
    "tp / fp",
    "recall * precision",
    "1 - maximum(fn, 2 * fp)",
    "3 * tn / (3 * tn + fp + fn) + recall",
)


class Draw:
    """Choices from a generator by whole numbers alone: the same on every processor."""

    def __init__(self, *seed: int) -> None:
        self.rng = np.random.default_rng(seed)

    def whole(self, low, high):
        """A whole number from `low` to `high`, both included."""
        return int(self.rng.integers(low, high + 1))

    def chance(self, percent):
        return self.whole(1, 100) <= percent

    def pick(self, values):
        return values[self.whole(0, len(values) - 1)]

    def hundredths(self, low, high):
        return repr(self.whole(low, high) / 100)


@dataclass
class Words:
    """What a goal may name: classes, columns with their values, data sets, a deployed model."""

    draw: Draw
    labels: list
    columns: dict[str, list] = field(default_factory=dict)
    labelled: list[str] = field(default_factory=list)
    unlabelled: list[str] = field(default_factory=list)
    deployed: bool = False

    @property
    def many(self):
        return len(self.labels) > 2

    def of_class(self, name):
        """A metric of one class; with more than two classes it has to say of which."""
        if self.many or self.draw.chance(10):
            return f"{name}(label={self.draw.pick(self.labels)!r})"
        return name

    def over(self):
        """Columns for a reducer, at least one."""
        names = sorted(self.columns)
        if len(names) > 1 and self.draw.chance(30):
            return ", ".join(repr(n) for n in names)
        return repr(self.draw.pick(names))

    def part(self):
        """Where an expression is measured, or everywhere."""
        draw = self.draw
        if self.columns and draw.chance(15):
            name = draw.pick(sorted(self.columns))
            return f".on({name}={draw.pick(self.columns[name])!r})"
        if self.labelled and draw.chance(40):
            return f".on({draw.pick(self.labelled)!r})"
        return ""


def objective(w):
    """The sense and the expression of an objective."""
    draw = w.draw
    kinds = ["plain"] * 6 + ["mean"] * 4 + ["classes", "classes", "sum", "least", "own", "cost"]
    kinds += ["groups"] * 4 * bool(w.columns) + ["deployed"] * 3 * w.deployed
    kind = draw.pick(kinds)
    if kind == "plain":
        if draw.chance(25):
            return "minimize", w.of_class(draw.pick(LOWER)) + w.part()
        name = draw.pick((*HIGHER, "accuracy", "fbeta"))
        if name == "fbeta":
            beta = draw.pick(("0.5", "2"))
            name = f"fbeta({beta}, label={draw.pick(w.labels)!r})" if w.many else f"fbeta({beta})"
            return "maximize", name + w.part()
        return "maximize", (name if name == "accuracy" else w.of_class(name)) + w.part()
    if kind == "mean":
        name = draw.pick((*MEANS, "mcc", "micro_f1", "prior_divergence", "macro_precision"))
        if name == "prior_divergence":
            return "minimize", name
        if name == "micro_f1":
            name = f"micro_f1({draw.pick(w.labels)!r})"
        return "maximize", name + w.part()
    if kind == "classes":
        name = draw.pick(("recall", "f1", "specificity", "precision"))
        reducer = draw.pick(("min", "mean", "geometric_mean", "harmonic_mean"))
        return "maximize", f"{name}.{reducer}()" if name != "precision" else "precision.min()"
    if kind == "sum":
        x, y = w.of_class(draw.pick(RATES[:2])), w.of_class(draw.pick(HIGHER))
        return "maximize", f"{draw.hundredths(10, 300)} * {x} + {draw.hundredths(5, 90)} * {y}"
    if kind == "least":
        x, y = (w.of_class(draw.pick(RATES)) + w.part() for _ in range(2))
        if draw.chance(50):
            return "maximize", f"minimum({x}, {w.of_class('precision')})"
        return draw.pick(
            (
                ("minimize", f"maximum({x}, {y})"),
                ("minimize", f"abs({x} - {y})"),
                ("maximize", f"minimum({x}, {y}, accuracy)"),
                ("minimize", f"error_rate + abs({x} - {draw.hundredths(10, 60)})"),
            )
        )
    if kind == "own":
        return "maximize", _for_classes(w, draw.pick(OWN))
    if kind == "cost":
        a, b = draw.pick(w.labels), draw.pick(w.labels)
        if draw.chance(25):
            return "minimize", f"confusion_rate({a!r}, {b!r})"
        pairs = [(t, p) for t in w.labels for p in w.labels if t != p]
        costs = {pair: draw.whole(1, 9) for pair in pairs if draw.chance(80)} or {(a, b): 2}
        return "minimize", f"cost({costs!r})"
    if kind == "groups":
        return _groups(w)
    name = draw.pick(DEPLOYED)
    if name in ("churn", "losses"):
        return "minimize", f"{name} + {draw.whole(1, 3)} * error_rate"
    return "maximize", draw.pick((name, "wins - 2 * losses", "accuracy - accuracy.baseline()"))


def _groups(w):
    draw, over = w.draw, w.over()
    name = draw.pick(("recall", "recall", "predicted_rate", "specificity", "precision", "f1"))
    reducer = draw.pick(("min", "min", "ratio", "mean", "difference", "deviation", "max"))
    if reducer in ("geometric_mean", "min", "ratio", "mean"):
        return "maximize", f"{w.of_class(name)}.{reducer}({over})"
    gap = f"{w.of_class(name)}.{reducer}({over})"
    return draw.pick((("minimize", f"error_rate + {gap}"), ("minimize", gap)))


def _for_classes(w, text):
    """A formula of one class, as it is written where there are more than two."""
    if not w.many:
        return text
    label = w.draw.pick(w.labels)
    for name in ("tp", "fp", "fn", "tn", "recall", "precision", "specificity"):
        parts = text.split(name)
        text = f"{name}(label={label!r})".join(parts)
    return text


def constraint(w):
    """One constraint; most can be met."""
    draw = w.draw
    kinds = ["floor"] * 4 + ["cap"] * 3 + ["between", "means", "classes", "odd"]
    kinds += ["groups"] * 5 * bool(w.columns) + ["deployed"] * 4 * w.deployed
    kinds += ["elsewhere"] * 5 * bool(w.unlabelled or w.labelled)
    kind = draw.pick(kinds)
    if kind == "floor":
        return f"{w.of_class(draw.pick(HIGHER))}{w.part()} >= {draw.hundredths(20, 75)}"
    if kind == "cap":
        return f"{w.of_class(draw.pick((*LOWER, 'predicted_rate')))} <= {draw.hundredths(8, 60)}"
    if kind == "between":
        x = w.of_class("predicted_rate")
        return f"{draw.hundredths(10, 30)} <= {x} <= {draw.hundredths(32, 70)}"
    if kind == "means":
        if draw.chance(30):
            return f"prior_divergence <= {draw.hundredths(2, 30)}"
        return f"{draw.pick(('g_mean', 'balanced_accuracy', 'min_recall', 'h_mean'))} >= 0.3"
    if kind == "classes":
        return draw.pick(
            (
                f"recall.min() >= {draw.hundredths(10, 45)}",
                f"recall.difference() <= {draw.hundredths(10, 40)}",
                f"precision.min() >= {draw.hundredths(10, 40)}",
            )
        )
    if kind == "odd":
        x = w.of_class("predicted_rate")
        return draw.pick(
            (
                f"abs({x} - {x.replace('predicted_rate', 'prior')}) <= {draw.hundredths(3, 15)}",
                f"{w.of_class('recall')} >= {w.of_class('predicted_rate')}",
                f"maximum({w.of_class('fp')}, {w.of_class('fn')}) <= {draw.hundredths(15, 40)}",
                f"{w.of_class('fp')} + 2 * {w.of_class('fn')} <= {draw.hundredths(25, 70)}",
                f"{w.of_class('f1')} + accuracy >= 0.8",
            )
        )
    if kind == "groups":
        return _between_groups(w)
    if kind == "deployed":
        return draw.pick(
            (
                f"churn <= {draw.hundredths(5, 40)}",
                f"losses <= {draw.hundredths(2, 20)}",
                f"accuracy >= accuracy.baseline() - {draw.hundredths(5, 30)}",
                f"{w.of_class('recall')} >= {draw.hundredths(30, 90)} * accuracy.baseline()",
                f"win_change_ratio >= {draw.hundredths(10, 40)}",
            )
        )
    names = [*w.labelled, *w.unlabelled]
    name = draw.pick(names)
    if name in w.unlabelled or draw.chance(40):
        return f"{w.of_class('predicted_rate')}.on({name!r}) <= {draw.hundredths(20, 70)}"
    return f"{w.of_class('recall')}.on({name!r}) >= {draw.hundredths(20, 60)}"


def _between_groups(w):
    draw, over = w.draw, w.over()
    name = w.of_class(draw.pick(("recall", "predicted_rate", "false_positive_rate", "precision")))
    if draw.chance(50):
        return (
            f"{name}.{draw.pick(('difference', 'deviation'))}({over}) <= {draw.hundredths(5, 35)}"
        )
    if draw.chance(50):
        return f"{w.of_class('recall')}.min({over}) >= {draw.hundredths(10, 45)}"
    return f"{w.of_class('predicted_rate')}.ratio({over}) >= {draw.hundredths(30, 80)}"


def goal(w, most=3):
    """An objective with none to `most` constraints."""
    sense, expression = objective(w)
    number = min(most, w.draw.pick((0, 0, 1, 1, 1, 2, 2, 3)))
    constraints = [constraint(w) for _ in range(number)]
    tail = " subject to " + " and ".join(constraints) if constraints else ""
    return f"{sense} {expression}{tail}"
