"""Savings on default_credit: costs of a row's own, ten splits in halves, peers beside.

``python benchmarks/stakes_value.py [--splits 10] [--cap 0.1] [--peers] [--simple]``. A default
that is accepted costs 75 % of the credit line, a good client refused the profit on it and an
alternative client (`stakes_data` has the formulas). Savings on test are 1 - cost / cost of the
better of accepting and refusing all. Posteriors of training rows come from other folds and are
calibrated isotonically; rules are found on those. Targets: savings no lower than those of the
peer named, within two standard errors of the difference. With ``--peers`` only they run.
"""

from __future__ import annotations

import argparse
import importlib.util
from collections import defaultdict
from typing import Any

import numpy as np
from cma_data import Given, quiet, run_with_one_thread
from stakes_data import Credit, against, credit, default_posteriors, row, savings
from stakes_peers import capped_rules, empulse_rules, numpy_rules

GOAL = "maximize profit(fn=-loss, fp=-profit_lost)"
CAPPED = GOAL + " subject to predicted_rate <= {cap:g}"
WAYS: dict[str, dict[str, Any]] = {
    "chosen": {"decide_on": ["loss", "profit_lost"]},
    "value-aware": {"decide_on": ["loss", "profit_lost"], "evidence": "soft"},
    "threshold": {"decide_on": None},
}
"""Options of PlugInClassifier."""
PEER = {
    "chosen": "a row's own Bayes",
    "value-aware": "a row's own Bayes",
    "threshold": "one threshold, swept",
}
CAPPED_PEER = {
    "chosen": "expected gain, cut-off of training rows",
    "value-aware": "expected gain, cut-off of training rows",
    "threshold": "one threshold, swept",
}
Table = dict[str, list[float]]


def ours(part: Credit, p: np.ndarray, p_test: np.ndarray, goal: str, way: str) -> np.ndarray:
    """The probability with which our rule refuses each test row."""
    P, P_test = (np.column_stack([1 - q, q]) for q in (p, p_test))
    with quiet():
        clf = PlugIn(goal, **WAYS[way])
        clf.fit(P, part.y, sensitive_features=part.stakes.columns)
        drawn = clf.decision_distribution(P_test, sensitive_features=part.stakes_test.columns)
    return np.asarray(drawn)[:, 1]


def PlugIn(goal: str, **options: Any) -> Any:
    from setpoint import PlugInClassifier

    return PlugInClassifier(Given([0, 1]), goal, cv="prefit", **options)


def table(by: str, splits: int, cap: float | None, peers: bool, simple: bool) -> bool:
    """The lines of one model, with or without a cap."""
    values: Table = defaultdict(list)
    refusals: Table = defaultdict(list)
    named = PEER if cap is None else CAPPED_PEER
    for seed in range(splits):
        part = credit(seed, simple=simple)
        p, p_test = default_posteriors(part, by)
        rules = numpy_rules(part, p, p_test) if cap is None else capped_rules(part, p, p_test, cap)
        if not peers:
            goal = GOAL if cap is None else CAPPED.format(cap=cap)
            rules |= {f"setpoint, {w}": ours(part, p, p_test, goal, w) for w in WAYS}
        for name, refused in rules.items():
            values[name].append(savings(refused, part.y_test, part.stakes_test))
            refusals[name].append(float(np.mean(refused)))
    good = True
    for name, of in values.items():
        way = name.removeprefix("setpoint, ")
        shown = f"{name} ({np.mean(refusals[name]):.1%} refused)"
        if way == name:
            row(shown, of)
        else:
            good &= against(shown, of, values[named[way]])
    return good


def empulse(splits: int, simple: bool) -> None:
    if importlib.util.find_spec("empulse") is None:
        print("     empulse skipped: it is not installed (extra `bench`)")
        return
    values: Table = defaultdict(list)
    refusals: Table = defaultdict(list)
    for seed in range(splits):
        part = credit(seed, simple=simple)
        for name, refused in empulse_rules(part).items():
            values[name].append(savings(refused, part.y_test, part.stakes_test))
            refusals[name].append(float(np.mean(refused)))
    for name, of in values.items():
        row(f"{name} ({np.mean(refusals[name]):.1%} refused)", of)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--cap", type=float, default=0.1)
    parser.add_argument("--peers", action="store_true", help="without setpoint's own rules")
    parser.add_argument("--simple", action="store_true", help="without the alternative client")
    options = parser.parse_args()
    good = True
    for cap in (None, options.cap):
        for by in ("logistic", "boosting"):
            print(f"\n{GOAL if cap is None else CAPPED.format(cap=cap)}; {by}: savings on test")
            good &= table(by, options.splits, cap, options.peers, options.simple)
    print("\nempulse, models of its own: savings on test")
    empulse(options.splits, options.simple)
    return 0 if good else 1


if __name__ == "__main__":
    run_with_one_thread(main)
