"""The frontier against one solve: the best objective under 200 bounds.

Ratios of medians of the same run, as a user calls them: scores and labels in, rule or
frontier out, sorting included. Run it alone: ``python benchmarks/frontier.py [--rows N]``.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
from exact_speed import line, median_time, scored

from setpoint import Goal, frontier, solve
from setpoint.counts import Evidence

warnings.simplefilter("ignore")

VALUES = 200
GROUP = {"group": True, "decide_on": ("group",)}
HIDDEN = {"group": True, "decide_on": ()}

# Goal, the bound that moves, its values, and what the rule sees.
TASKS = [
    ("maximize recall subject to precision >= 0.5", "precision", (0.3, 0.9), {}),
    ("maximize f1 subject to predicted_rate <= 0.2", "predicted_rate", (0.05, 0.3), {}),
    (
        "maximize accuracy subject to recall.difference(group) <= 0.05",
        0,
        (0.0, 0.3),
        GROUP,
    ),
    (
        "maximize recall subject to precision >= 0.5 and recall.difference(group) <= 0.05",
        "precision",
        (0.3, 0.9),
        GROUP,
    ),
    (
        "maximize recall subject to precision >= 0.5 and recall.difference(group) <= 0.1",
        "precision",
        (0.3, 0.9),
        HIDDEN,
    ),
]


def rows(goal: Goal, n: int, seen: dict[str, object]) -> tuple[Evidence, dict[str, object]]:
    scores, y, group = scored(n)
    columns = {"group": group} if seen else {}
    decide_on = seen.get("decide_on", ())
    evidence = Evidence.from_arrays(
        (0, 1), scores, y, needs=goal.needs, columns=columns, decide_on=decide_on
    )
    given: dict[str, object] = {"decide_on": list(decide_on) or None}
    if seen:
        given["sensitive_features"] = columns
    return evidence, {"data": scores, "y": y, **given}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=3)
    args = parser.parse_args()
    print(f"{VALUES} bounds at {args.rows:,} rows, as a multiple of one solve")
    missed = 0
    for text, vary, (low, high), seen in TASKS:
        goal = Goal.parse(text)
        values = np.linspace(low, high, VALUES)
        _, given = rows(goal, args.rows, seen)

        def one(goal: Goal = goal, given: dict = given) -> None:
            solve(goal, **given)

        def many(
            goal: Goal = goal, values: np.ndarray = values, seen: dict = seen, vary: object = vary
        ) -> None:
            evidence, _ = rows(goal, args.rows, seen)
            frontier(evidence, goal, vary=vary, values=values)

        def prepared(goal: Goal = goal, seen: dict = seen) -> None:
            rows(goal, args.rows, seen)

        alone = median_time(one, args.repeats)
        # The rows are drawn anew, so that nothing is sorted already; that is not counted.
        ratio = (median_time(many, args.repeats) - median_time(prepared, args.repeats)) / alone
        missed += ratio > 5.0
        line(f"{text}{' (hidden)' if seen is HIDDEN else ''}"[:78], ratio, "<= 5", ratio <= 5.0)

    print("\nExactness: the frontier at a bound against a solve for that bound")
    for text, vary, (low, high), seen in TASKS:
        goal = Goal.parse(text)
        evidence, given = rows(goal, 5_000, seen)
        draws = seen != {} or vary != "predicted_rate"
        levels = np.linspace(low, high, 12)
        found = frontier(evidence, goal, vary=vary, values=levels, randomized=draws)
        i = 0 if vary == 0 else [str(c.lhs) for c in goal.constraints].index(vary)
        worst = 0.0
        for bound, value in zip(found.bounds, found.values, strict=True):
            constraints = list(goal.constraints)
            c = constraints[i]
            constraints[i] = c.lhs >= float(bound) if c.relation == ">=" else c.lhs <= float(bound)
            moved = Goal(goal.sense, goal.objective, tuple(constraints))
            report = solve(moved, **given, randomized=draws, on_infeasible="nearest").report
            if report.status == "nearest":
                worst = max(worst, 0.0 if np.isnan(value) else np.inf)
            else:
                worst = max(worst, abs(value - report.objective.value))
        missed += worst > 1e-4
        line(f"{text}{' (hidden)' if seen is HIDDEN else ''}"[:78], worst, "<= 1e-4", worst <= 1e-4)
    return int(missed > 0)


if __name__ == "__main__":
    raise SystemExit(bool(main()))
