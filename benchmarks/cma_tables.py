"""Held-out losses over random splits: Tables 6 and 7 of the paper, and its Figure 8.

``python benchmarks/cma_tables.py [--splits 10]``. Rules are found on the training rows, with
the posteriors of a model fitted on the same rows, as in the paper; "default" is what
PlugInClassifier does: out-of-fold posteriors, and soft or label evidence by cross-validation
within the training rows. Rules may draw, as the paper's do, and are measured in expectation.
All of ours go by the default solver.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from cma_data import (
    H_MEAN,
    H_MEAN_COVERED,
    SETS,
    TABLE_6,
    TABLE_7,
    Split,
    below,
    counts_of,
    cross_fitted,
    mean_and_error,
    micro_f1,
    on_test,
    run_with_one_thread,
    split,
    verdict,
)


class Method(NamedTuple):
    """A line of a table."""

    name: str
    part: Callable[[str, int], Split]
    options: dict[str, Any]
    of_paper: str | None = None


BASELINES = (
    Method("argmax", split, {"solver": "argmax"}, "argmax"),
    Method("balanced", split, {"solver": "balanced"}, "balanced"),
)
OURS = (
    Method("soft", split, {"evidence": "soft"}),
    Method("label", split, {"evidence": "label"}),
    Method(
        "soft, no draws",
        split,
        {
            "evidence": "soft",
            "randomized": False,
            "on_infeasible": "nearest",
        },
    ),
    Method("default", cross_fitted, {}),
)
OF_PAPER = ("FW", "GDA", "ellipsoid", "bisection")
H_MEAN_TARGETS = {"abalone": 0.82, "page_blocks": 0.13, "satimage": 0.176}
AT_ODDS = 0.02
"""A baseline farther than this from the paper's, or a rule of ours so much worse, is named."""


def unconstrained(
    title: str, goal: Callable[[str], str], paper: dict[str, dict[str, float]],
    targets: dict[str, float], n_splits: int,
) -> bool:  # fmt: skip
    """A table of losses; False if a target was missed."""
    print(f"\n{title}; mean +- standard deviation over {n_splits} splits")
    good, odd = True, []
    for name in SETS:
        best = min(v for k, v in paper[name].items() if k in OF_PAPER)
        print(f"     {name:<26} {'ours':>14} {'target':>8}  paper")
        for method in (*BASELINES, *OURS):
            losses = [
                1.0 - _value(on_test(goal(name), method.part(name, i), **method.options)[1])
                for i in range(n_splits)
            ]
            printed = paper[name].get(method.of_paper or "", best)
            target = None if method.of_paper else targets.get(name)
            fine = below(float(np.mean(losses)), target)
            good &= fine is not False
            print(
                f"{verdict(fine)}   {method.name:<24} {mean_and_error(losses):>14} "
                f"{'' if target is None else f'<= {target}':>8}  {printed:.3f}"
                f"{'' if method.of_paper else ' (its best)'}"
            )
            apart = float(np.mean(losses)) - printed
            if apart > AT_ODDS or (method.of_paper and apart < -AT_ODDS):
                odd.append(f"{name} {method.name}: {printed:.3f} there, {np.mean(losses):.3f} here")
    if odd:
        print(f"     does not reproduce, by more than {AT_ODDS}: {'; '.join(odd)}")
    return good


def _micro_f1(name: str) -> str:
    return f"maximize {micro_f1(name)}"


def _value(report: Any) -> float:
    return float(report.objective.value)


def covered(n_splits: int) -> None:
    """Figure 8: H-mean loss and the excess over .01 of the predicted rates."""
    print(f"\nFigure 8: H-mean loss with coverage .01, held out; {n_splits} splits")
    print("     the paper has a picture without numbers: its three methods meet the constraint on")
    print("     the training rows and 'occasionally incur some violations' on test")
    free = Method("soft, no constraint", split, {"evidence": "soft"})
    print(f"     {'':<26} {'loss':>14} {'excess, test':>14} {'excess, training':>17}")
    for name in SETS:
        print(f"     {name}")
        for method in (*BASELINES, free, *OURS):
            goal = H_MEAN if method is free else H_MEAN_COVERED
            losses, excess, fitted = [], [], []
            for i in range(n_splits):
                part = method.part(name, i)
                trained, tested = on_test(goal, part, **method.options)
                losses.append(1.0 - _value(tested))
                if method is free:
                    continue
                excess.append(tested.constraints[0].value - 0.01)
                fitted.append(trained.constraints[0].value - 0.01)
            cells = [mean_and_error(x) if x else "" for x in (losses, excess, fitted)]
            print(f"       {method.name:<24} {cells[0]:>14} {cells[1]:>14} {cells[2]:>17}")
    print(
        "     (by labels, and on test against the shares among the test rows themselves; with soft"
    )
    print("     evidence the constraint holds for the posteriors)")


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--splits", type=int, default=10)
    n = parser.parse_args().splits
    for i in range(min(n, 3)):
        rare = split("page_blocks", i)
        print(
            f"page_blocks, split {i}: training {counts_of(rare.y)}; test {counts_of(rare.y_test)}"
        )
    good = unconstrained("Table 6: H-mean loss", lambda _: H_MEAN, TABLE_6, H_MEAN_TARGETS, n)
    good &= unconstrained("Table 7: micro-F1 loss", _micro_f1, TABLE_7, {}, n)
    covered(n)
    return int(not good)


if __name__ == "__main__":
    run_with_one_thread(main)
