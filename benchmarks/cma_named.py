"""The eight algorithms of the paper by name, against the certified optimum.

``python benchmarks/cma_named.py [--quick]``. Each with its budget of appendix B (Frank-Wolfe
and GDA 5000 calls, 10,000 with constraints, the ellipsoid 1000) and the exact recombination
of all rules gathered; soft evidence, split 0. "gap" is the distance to the optimum that
column generation certifies to 1e-6. ``--quick`` takes a tenth of the budgets and asks for nothing.
"""

from __future__ import annotations

import argparse
import time
from typing import NamedTuple

from cma_calls import closed_at
from cma_data import (
    H_MEAN,
    H_MEAN_COVERED,
    MINMAX,
    SETS,
    Split,
    micro_f1,
    quiet,
    run_with_one_thread,
    split,
    verdict,
)

from setpoint import GoalError, InfeasibleError, SearchLimits, solve

BUDGETS = {
    "frank-wolfe": (5000, 10_000),
    "gda": (5000, 10_000),
    "ellipsoid": (1000, 1000),
    "bisection": (100, 10_000),
}
"""Oracle calls without and with constraints; the paper names none for bisection."""
GAP = 1e-3
REPORTED = ("gda", "ellipsoid")
"""For these the gap is reported, and none was asked for."""


class Task(NamedTuple):
    """A goal and the algorithms that take its shape."""

    words: str
    goal: str
    solvers: tuple[str, ...]


def tasks(micro: str) -> tuple[Task, ...]:
    convex = ("frank-wolfe", "gda", "ellipsoid")
    covered = H_MEAN_COVERED.removeprefix(H_MEAN)
    return (
        Task("H-mean", H_MEAN, convex),
        Task("min-max", MINMAX, ("gda", "ellipsoid")),
        Task("micro-F1", f"maximize {micro}", ("bisection",)),
        Task("H-mean, coverage .01", H_MEAN_COVERED, convex),
        Task("micro-F1, coverage .01", f"maximize {micro}{covered}", ("bisection",)),
    )


def line(task: Task, solver: str, part: Split, optimum: float, share: float) -> bool:
    """Run one algorithm and print; False if its gap is above what was asked for."""
    budget = max(1, round(BUDGETS[solver]["subject to" in task.goal] * share))
    start = time.process_time()
    asked = f"<= {GAP}" if solver not in REPORTED and share >= 1.0 else ""
    try:
        with quiet():
            solution = solve(
                task.goal, part.P, part.y, solver=solver, evidence="soft", randomized=True,
                limits=SearchLimits(calls=budget),
            )  # fmt: skip
    except InfeasibleError:
        print(
            f"{verdict(False if asked else None)}   {task.words:<24} {solver:<12} {budget:>6} "
            f"{'':>6}  no mixture gathered meets the constraint"
        )
        return not asked
    closed_at(task.goal, solution.trace, GAP)  # checks bounds against values all the way
    found = solution.report
    assert found.objective.posteriors is not None
    gap = optimum - found.objective.posteriors
    fine = gap <= GAP if asked else None
    bound = "" if found.certificate.gap is None else f"{found.certificate.gap:9.1e}"
    print(
        f"{verdict(fine)}   {task.words:<24} {solver:<12} {budget:>6} {found.search.calls:>6} "
        f"{1.0 - found.objective.posteriors:8.5f} {gap:9.1e} {asked:>8} {bound:>9} "
        f"{found.certificate.violation or 0.0:8.1e} {time.process_time() - start:7.1f} s"
    )
    return fine is not False


def refused(part: Split) -> str:
    """What the library says of Frank-Wolfe on the worst class, which the paper's Figure 10 runs."""
    try:
        solve(MINMAX, part.P, part.y, solver="frank-wolfe", evidence="soft")
    except GoalError as error:
        return str(error)
    return "was not refused"


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true", help="a tenth of the budgets")
    share = 0.1 if parser.parse_args().quick else 1.0
    good = True
    print(f"budgets of appendix B times {share:g}; losses are 1 - score, the gap is to the optimum")
    for name in SETS:
        part = split(name)
        print(
            f"\n{name:<32} {'':<9} {'budget':>6} {'calls':>6} {'loss':>8} {'gap':>9} {'target':>8} "
            f"{'certified':>9} {'past by':>8} {'CPU':>9}"
        )
        for task in tasks(micro_f1(name)):
            with quiet():
                best = solve(
                    task.goal,
                    part.P,
                    part.y,
                    evidence="soft",
                    randomized=True,
                    limits=SearchLimits(tol=1e-6),
                ).report
            assert best.certificate.bound is not None
            assert best.objective.posteriors is not None
            print(
                f"       {task.words:<24} {'auto':<12} {'':>6} {best.search.calls:>6} "
                f"{1.0 - best.objective.posteriors:8.5f}"
            )
            for solver in task.solvers:
                good &= line(task, solver, part, best.objective.posteriors, share)
    print(f"\nFrank-Wolfe on min-max: {refused(split(SETS[0]))}")
    return int(not good)


if __name__ == "__main__":
    run_with_one_thread(main)
