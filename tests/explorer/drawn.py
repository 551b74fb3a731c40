"""Random rows with goals that have a curve: weights, groups, a deployed model, measures."""

from __future__ import annotations

from dataclasses import replace

from golden.cases import LABELS
from golden.goals import Draw, Words, goal
from golden.rows import columns, deployed, rows, weights
from setpoint import Goal
from setpoint.goals import Const

MEASURED = (
    "maximize profit(tp=amount - 5, fp=-5) subject to predicted_rate <= 0.4",
    "maximize profit(tp=amount - 5, fp=-5) subject to recall >= 0.3 and precision >= 0.2",
    "maximize recall.weighted(amount) subject to precision >= 0.4",
    "maximize recall subject to precision.weighted(amount) >= 0.3 and fp <= 0.4",
    "maximize profit(tp=amount, fn=-amount) subject to predicted_rate >= 0.1",
)


def case(number):
    """A goal and the arguments of `explore` and of `solve`, from a number."""
    draw = Draw(number, 24)
    labels = draw.pick(LABELS[2])
    n = draw.whole(20, 120)
    part, codes = rows(draw, n, labels, posterior=False)
    out = {"scores": part.scores, "y": part.y}
    if draw.chance(40):
        out["sample_weight"] = weights(draw, n)
    side = columns(draw, n, draw.pick((1, 1, 2))) if draw.chance(40) else {}
    if draw.chance(30):
        out["baseline"] = deployed(draw, codes, labels)
    words = Words(
        draw, labels, {k: sorted(set(v)) for k, v in side.items()}, deployed="baseline" in out
    )
    text = goal(words)
    if number % 10 == 0:
        side["amount"] = [draw.whole(1, 40) / 4 for _ in range(n)]
        text = MEASURED[number // 10 % len(MEASURED)]
    if side:
        out["sensitive_features"] = side
    return Goal.parse(text), {**out, "pos_label": labels[1]}, draw


def moved(goal, levels):
    """The goal with other bounds, where they are numbers."""
    return replace(
        goal,
        constraints=tuple(
            replace(c, rhs=Const(level)) if isinstance(c.rhs, Const) else c
            for c, level in zip(goal.constraints, levels, strict=True)
        ),
    )
