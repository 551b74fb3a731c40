"""The exact solver against brute force over all cut-offs, and against cvxpy for mixtures."""

import warnings

import numpy as np
import pytest

from oracles.binary import INF, Mcc
from oracles.problems import TWISTS, random_case
from setpoint.errors import ShapeError
from setpoint.rules import PerSegment, Threshold
from setpoint.search import ConstantGoalWarning, InfeasibleError, solve_exact
from thinning import over

CASES = [(seed, "") for seed in range(200)]
CASES += [(seed, twist) for twist in TWISTS for seed in range(15)]
SUMS = ("mean", "sum")


def solve(case, randomized="auto", **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConstantGoalWarning)
        return solve_exact(case.program, case.evidence, randomized=randomized, **options)


def recounted(case, outcome):
    """The objective as a score, counted from the rule's decisions; all bounds are met."""
    rule, evidence = outcome.rule, case.evidence
    p = case.accepted(rule)
    counts = evidence.rows.confusion(np.stack([1 - p, p], axis=1)).counts
    np.testing.assert_allclose(case.program.rates_of(counts), outcome.values, atol=1e-9)
    for own in rule.rules if isinstance(rule, PerSegment) else [rule]:
        assert isinstance(own, Threshold) or len(own.atoms) <= len(outcome.values) + 1
    value = float(case.oracle.objective.value(p))
    assert float(case.oracle.violation(p)) <= 1e-9
    assert float(case.program.value(outcome.values)) == pytest.approx(value, abs=accuracy(case))
    return case.oracle.sense * value


def accuracy(case):
    """To what the value is counted: the correlation is 0/0 for constants, and cancels there."""
    return 1e-7 if isinstance(case.oracle.objective, Mcc) else 1e-9


def promised(case, outcome, value):
    """The score that no rule of the kind passes."""
    if outcome.certificate.gap is None:
        assert outcome.certificate.bound is None
        return INF
    assert outcome.certificate.gap >= 0.0
    bound = case.oracle.sense * outcome.certificate.bound
    assert bound == pytest.approx(value + outcome.certificate.gap, abs=accuracy(case))
    return bound


@over(("seed", "twist"), CASES, every=13)
def test_against_the_oracle(seed, twist):
    case = random_case(seed, twist)
    threshold, least = case.oracle.best_threshold
    mixture = None
    if case.mixable and getattr(case.oracle.objective, "kind", "") not in SUMS:
        mixture = case.oracle.best_mixture()
    check_thresholds(case, threshold, least)
    check_mixtures(case, threshold, mixture, 1e-5 if twist == "tiny" else 1e-6)
    check_draws_only_where_they_help(case, threshold, mixture, (1e-4, 0.05)[seed // 6 % 2])


def check_thresholds(case, best, least):
    if best == -INF:
        with pytest.raises(InfeasibleError) as caught:
            solve(case, randomized=False)
        assert caught.value.violation == pytest.approx(least, abs=1e-7)
        return
    outcome = solve(case, randomized=False)
    value = recounted(case, outcome)
    assert not outcome.rule.randomized
    assert outcome.status == "optimal"
    assert value == pytest.approx(best, abs=1e-9)
    assert promised(case, outcome, value) >= best - 1e-9


def check_mixtures(case, threshold, best, close):
    if not case.mixable:
        with pytest.raises(ShapeError):
            solve(case, randomized=True)
        return
    if best is None:
        check_sum_of_ratios(case, threshold)
        return
    if best == -INF:
        with pytest.raises(InfeasibleError) as caught:
            solve(case, randomized=True)
        # Weights of 1e-6 leave the solvers of linear programs fewer digits.
        assert caught.value.violation == pytest.approx(case.oracle.least_violation(), abs=close)
        return
    outcome = solve(case, randomized=True)
    value = recounted(case, outcome)
    assert outcome.status == "optimal"
    # A better value, counted from the rule, shows up the oracle's cone solver.
    assert value == pytest.approx(best, abs=1e-7) or value > best
    assert promised(case, outcome, value) >= max(best, threshold) - 1e-7


def check_sum_of_ratios(case, threshold):
    """No convex program: at least as good as any threshold, and the bound holds."""
    if not case.oracle.is_feasible():
        with pytest.raises(InfeasibleError):
            solve(case, randomized=True)
        return
    outcome = solve(case, randomized=True)
    value = recounted(case, outcome)
    assert outcome.status in ("stationary", "optimal")
    assert value >= threshold - 1e-7
    assert promised(case, outcome, value) >= max(value, threshold) - 1e-9


def check_draws_only_where_they_help(case, threshold, mixture, most):
    best = threshold if mixture is None else mixture
    for tol in (0.0, most):
        if best == -INF:
            if mixture is None and case.mixable and case.oracle.is_feasible():
                continue
            with pytest.raises(InfeasibleError):
                solve(case, tol=tol)
            continue
        outcome = solve(case, tol=tol)
        value = recounted(case, outcome)
        assert value >= best - tol - 1e-7
        assert promised(case, outcome, value) >= best - 1e-7
        if mixture is not None:
            assert outcome.certificate.gap <= tol + 1e-7
        if threshold >= best - tol * (1 - 1e-3) and tol and mixture is not None:
            assert not outcome.rule.randomized
