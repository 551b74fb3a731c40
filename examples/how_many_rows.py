"""How many rows to label before a promise can be made.

A supplier of labels wants a number. Claims are to be paid without a look where that is right in
nineteen cases of twenty, and the promise is to hold with 95 % confidence. What the rule reaches
is known from a small pilot; the picture shows what rows buy: the nearer the rule is to the
bound, the more of them it takes. A second model, a little more precise, halves the bill.
"""

import numpy as np

from setpoint import rows_needed
from setpoint.estimators import RowsNeededDisplay

GOAL = "maximize recall subject to precision >= 0.95"


def pilot(n, precision, rng):
    """What became of some claims, and what a model would have done."""
    paid = rng.random(n) < 0.4
    right = np.where(paid, rng.random(n) < precision, rng.random(n) < 0.3)
    return right.astype(int), paid.astype(int)


def main():
    rng = np.random.default_rng(0)
    plans = {}
    for name, precision in ("today's model", 0.965), ("the other model", 0.975):
        plans[name] = rows_needed(GOAL, *pilot(20_000, precision, rng))
        needed = plans[name].hardest
        print(f"{name}: precision {needed.value:.4f} on the pilot, {needed.rows:,} rows")

    print(f"\n{plans['the other model']}")

    print("\nWith another chance to succeed")
    rates = {"prior": 0.57, "predicted_rate": 0.4, "precision": 0.975}
    for power in (0.5, 0.8, 0.9, 0.99):
        rows = rows_needed(GOAL, rates=rates, power=power).rows
        print(f"{power:>4.0%}: {rows:,} rows")

    return [RowsNeededDisplay(plans["the other model"]).plot().figure_]


if __name__ == "__main__":
    main()
