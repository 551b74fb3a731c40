"""Goals that have a curve: the golden cases of two classes, some of them about an amount."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from golden import problems
from setpoint import Goal
from setpoint.goals import Const

MEASURED = (
    "maximize profit(tp=amount - 5, fp=-5) subject to predicted_rate <= 0.4",
    "maximize profit(tp=amount - 5, fp=-5) subject to recall >= 0.3 and precision >= 0.2",
    "maximize recall.weighted(amount) subject to precision >= 0.4",
    "maximize recall subject to precision.weighted(amount) >= 0.3 and fp <= 0.4",
    "maximize profit(tp=amount, fn=-amount) subject to predicted_rate >= 0.1",
)
NUMBERS = [n for n in range(problems.N_CASES) if n % 10 in (0, 1, 2, 4)]
"""Cases of two classes without further data sets."""


def case(number):
    """A goal, the arguments of `explore` and of `solve`, and a generator of whole numbers."""
    given, rng = problems.case(number), np.random.default_rng(number)
    labels, text, side = given.labels, given.goal, given.rows.sensitive_features
    if number % 50 == 0:
        amounts = rng.integers(1, 41, len(given.rows.scores)) / 4
        side, text = {**(side or {}), "amount": amounts}, MEASURED[number // 50 % len(MEASURED)]
    out = {"scores": given.rows.scores, "y": given.rows.y, "pos_label": labels[1]}
    out |= {**given.rows.beside(), "sensitive_features": side}
    return Goal.parse(text), {k: v for k, v in out.items() if v is not None}, rng


def moved(goal, levels):
    """The goal with other bounds, where they are numbers."""
    return replace(
        goal,
        constraints=tuple(
            replace(c, rhs=Const(level)) if isinstance(c.rhs, Const) else c
            for c, level in zip(goal.constraints, levels, strict=True)
        ),
    )
