"""One master over the same columns: linear programs with tangents, and a cone program.

The columns are those of a finished search on abalone. Both maximise the harmonic mean of
the recalls over their mixtures; the cone program is built and solved by cvxpy with Clarabel.
"""

from __future__ import annotations

import time
import warnings

import cvxpy as cp
import numpy as np
from cma_data import split

from setpoint import Goal
from setpoint.counts import Evidence
from setpoint.plugin.problem import Achievable
from setpoint.program import Program, link
from setpoint.search import Region, best_mixture
from setpoint.search.methods import ConcaveSearch

TRIES = 5


def by_tangents(space: Achievable, program: Program) -> float:
    """A fresh master, to a relative gap of 1e-8."""
    search = ConcaveSearch(Region(space, program), program.objective)
    search.step(1e-8)
    return search.value


def by_cones(columns: np.ndarray) -> float:
    """The same program in cvxpy; recalls are the features."""
    alpha = cp.Variable(len(columns), nonneg=True)
    problem = cp.Problem(cp.Maximize(cp.harmonic_mean(alpha @ columns)), [cp.sum(alpha) == 1])
    return float(problem.solve(solver=cp.CLARABEL))


def median_of(run, *given) -> tuple[float, float]:
    """Median seconds and the value."""
    seconds = []
    for _ in range(TRIES):
        start = time.perf_counter()
        value = run(*given)
        seconds.append(time.perf_counter() - start)
    return float(np.median(seconds)), value


def main() -> None:
    """Print both times and the difference of the values."""
    part = split("abalone")
    labels, true = np.unique(part.y, return_inverse=True)
    rows = Evidence.from_arrays(tuple(labels.tolist()), part.P, true)
    soft = rows.with_posteriors()
    program = link(Goal.parse("maximize h_mean"), soft.codebook).at(soft.marginals)
    space = Achievable(program.table, rows, soft, whole_rules=True)
    best_mixture(space, program, 1e-4)
    columns = np.array([space.features_of(k) for k in range(len(space.atoms))])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours, value = median_of(by_tangents, space, program)
        cones, other = median_of(by_cones, columns)
    print(f"master over {len(columns)} columns of abalone, H-mean, medians of {TRIES}")
    print(f"tangents on HiGHS {1e3 * ours:7.1f} ms")
    print(f"cvxpy, Clarabel   {1e3 * cones:7.1f} ms, {cones / ours:.1f} times as long")
    print(f"values differ by  {abs(value - other):.1e}")


if __name__ == "__main__":
    main()
