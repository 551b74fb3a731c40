"""Only scores: a rule for another system, as JSON.

The scores come from somewhere else, a vendor or a program that nobody may touch, and somebody
decides by them. `solve` takes scores and labels of past cases. The rule that comes back is small
data: it travels as JSON and is read where decisions are made, without the data, the goal or the
model.
"""

import numpy as np

from setpoint import solve
from setpoint.report import plot_operating
from setpoint.rules import Rule


def past_cases(n, rng):
    """Points of a score card, and what became of the case."""
    y = np.where(rng.random(n) < 0.15, "default", "repaid")
    points = np.round(rng.normal(620 - 70 * (y == "default"), 50))
    return points, y


def main():
    points, y = past_cases(5_000, np.random.default_rng(0))
    solution = solve(
        "maximize recall subject to false_positive_rate <= 0.1",
        -points,  # few points speak for a default: higher has to mean more likely
        y,
        pos_label="default",
    )
    print(solution.report)

    text = solution.rule.to_json()
    print(f"\nThe rule, as a file would hold it:\n{text}\n")

    rule = Rule.from_json(text)  # in another program, another day
    classes = np.array(["repaid", "default"])  # the positive class has index 1
    today = np.array([480.0, 555.0, 556.0, 700.0])
    for p, label in zip(today, classes[rule.decide(-today)], strict=True):
        print(f"{p:.0f} points: {label}")

    return [plot_operating(solution.report).figure_]


if __name__ == "__main__":
    main()
