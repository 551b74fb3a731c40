"""How many rows a promise takes, before they are labelled.

Nine in ten of the fraud cases have to be found, and this has to be certified. The team expects to
find 93 in a hundred, and one payment in ten is fraud. `rows_needed` says how many labelled
payments will do, and what a looser bound or less confidence would save. Then so many payments are
drawn again and again, and half as many: how often do they show what they were bought for?
"""

import numpy as np

from setpoint import evaluate, rows_needed

GOAL = "maximize precision subject to recall >= 0.9"
PRIOR, RECALL, FALSE_POSITIVE_RATE = 0.1, 0.93, 0.03


def drawn(n, rng):
    """Labels of payments, and decisions as good as the team expects."""
    y = rng.random(n) < PRIOR
    return y, rng.random(n) < np.where(y, RECALL, FALSE_POSITIVE_RATE)


def main():
    plan = rows_needed(GOAL, rates={"prior": PRIOR, "recall": RECALL})
    print(plan)

    rng = np.random.default_rng(0)
    print()
    for rows in (plan.rows, plan.rows // 2, plan.fewest):
        reports = [evaluate(GOAL, *drawn(rows, rng)) for _ in range(200)]
        shown = sum(report.verdict == "shown" for report in reports)
        print(f"{rows:>6,} rows show the bound in {shown / 200:.0%} of 200 draws")

    return [plan.plot().figure_]


if __name__ == "__main__":
    main()
