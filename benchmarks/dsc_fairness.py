"""Women accepted at kappa times the rate of men: the experiment of Figure 2, on a9a.

``python benchmarks/dsc_fairness.py``. The classifier that draws and the one that does not
are two trainings; "ratio" is that of the acceptance rates, in expectation where decisions are
drawn. "As the authors ran it": from zero, C = 1, LIBLINEAR inside. Peers get the same goal, or
the setting that comes nearest to it on training rows. Seconds are CPU seconds of one fit on
one thread, start and cut-off included.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from cma_data import quiet, run_with_one_thread
from dsc_data import Found, Measured, Task, a9a, accepted, cell, figure, heading
from dsc_peers import Models, at_zero, covariance_path, scored, thresholded, under_covariance

from setpoint import RampClassifier
from setpoint.solvers import CuttingPlane

KAPPAS = (0.2, 0.4, 0.6, 0.8, 1.0)
DRAWN, FIXED, PAPER = "ramp, drawn", "ramp", "ramp, cutting planes"
AUTHORS = "  as the authors ran it"
OURS: dict[str, dict[str, Any]] = {
    DRAWN: {"randomized": True},
    FIXED: {},
    PAPER: {"solver": "cutting-plane"},
    AUTHORS: {"solver": CuttingPlane(svm="liblinear"), "start": "zero", "C": 1.0},
}
SHORT, OFF, SECONDS = 0.002, 0.02, 1.0
CLEAR = 0.005
"""A gain in test error that would show in the paper's picture."""
ERRORS = {0.4: 0.153, 0.6: 0.159, 0.8: 0.164, 1.0: 0.171}
Table = dict[float, list[Found]]


def goal_of(kappa: float) -> str:
    women, men = (f"predicted_rate.on(sex='{s}')" for s in ("Female", "Male"))
    return f"minimize error_rate subject to {women} >= {kappa:g} * {men}"


def ramp(task: Task, name: str, kappa: float) -> Found:
    """One fit, measured on both parts."""
    clf = RampClassifier(goal_of(kappa), **OURS[name])
    train, test = task.train, task.test
    start = time.process_time()
    with quiet():
        clf.fit(train.X, train.y, sensitive_features=train.groups)
    seconds = time.process_time() - start
    found = [Measured.of(accepted(clf, part.X), part) for part in (train, test)]
    return Found(name, *found, seconds, clf.goal_report_.search.why.split(",")[0])


def missing() -> dict[str, str]:
    """Solvers that this version does not have, and why."""
    try:
        import setpoint.ramp.solvers.cutting_plane  # noqa: F401
    except ImportError as error:
        return dict.fromkeys((PAPER, AUTHORS), str(error))
    return {}


def fitted() -> Table:
    """All methods at all kappas."""
    task = a9a()
    free = {name: scored(task, name) for name in Models}
    ours = [name for name in OURS if name not in missing()]
    for name in ours:
        ramp(task, name, 0.5)  # compiles
    out: Table = {}
    for kappa in KAPPAS:
        goal = goal_of(kappa)
        out[kappa] = [ramp(task, name, kappa) for name in ours]
        out[kappa].append(under_covariance(task, kappa))
        for by in free.values():
            out[kappa].append(thresholded(task, by, goal, decide_on="sex"))
        for by in free.values():
            out[kappa].append(thresholded(task, by, goal))
    return out


def tables(found: Table) -> None:
    task = a9a()
    n = len(task.train.y), len(task.test.y)
    print(f"a9a, {n[0]:,} rows and {n[1]:,} to test; {goal_of(0.8)}, and so on")
    print(f"     {'':<40}{'ratio':>9}{'on test':>9}{'error':>9}{'on test':>9}{'accepted':>9}"
          f"{'seconds':>9}")  # fmt: skip
    for name in Models:
        line(at_zero(task, scored(task, name)))
    for kappa, outcomes in found.items():
        print(f"     kappa {kappa:g}")
        for outcome in outcomes:
            line(outcome)
        for name, why in missing().items():
            print(f"       {name:<38} skipped: {why}")


def line(o: Found) -> None:
    numbers = (o.train.ratio, o.test.ratio, o.train.error, o.test.error, o.test.accepted)
    print(f"       {o.name:<38}" + "".join(cell(x) for x in numbers)
          + cell(o.seconds, digits=2) + f"  {o.note}")  # fmt: skip


def reach() -> None:
    """Which ratios a single threshold or a bound on covariance can be brought to."""
    task = a9a()
    nobody = float(task.train.y.mean())
    print("\nratios on training rows that can be had with fewer errors than by accepting nobody")
    for name in Models:
        by = scored(task, name)
        levels = np.quantile(by.train, np.linspace(0.3, 0.999, 400))
        reached = [Measured.of(by.train >= t, task.train) for t in levels]
        # Where hardly anybody is accepted, a handful of rows makes any ratio.
        ratios = [m.ratio for m in reached if m.error < nobody and m.accepted > 0.02]
        print(f"     {name + ', one threshold':<44} {min(ratios):.3f} to {max(ratios):.3f}")
    path = covariance_path(task)
    ratios = [p.train.ratio for p in path]
    print(f"     {'covariance bound, ' + f'{path[0].bound:.2f} down to 0':<44} "
          f"{min(ratios):.3f} to {max(ratios):.3f}")  # fmt: skip


def at_equal_ratio(found: Table) -> None:
    """Test error of ours against that of the peers at the very test ratio that ours has."""
    task = a9a()
    path = covariance_path(task)
    groups = [
        thresholded(task, scored(task, "logistic regression"), goal_of(k), decide_on="sex").test
        for k in np.arange(0.3, 1.06, 0.05)
    ]
    print("\ntest error of the ramp less that of a peer with the same ratio on test (its settings"
          " interpolated)")  # fmt: skip
    print(f"     {'':<40}" + "".join(f"{f'kappa {k:g}':>11}" for k in found))
    curves = {"covariance bound": [p.test for p in path], "a threshold by sex": groups}
    gains: list[float] = []
    for peer, points in curves.items():
        curve = sorted(points, key=lambda m: m.ratio)
        ratios, errors = [m.ratio for m in curve], [m.error for m in curve]
        cells = ""
        for outcomes in found.values():
            ours = next(o.test for o in outcomes if o.name == FIXED)
            inside = ratios[0] <= ours.ratio <= ratios[-1]
            apart = ours.error - np.interp(ours.ratio, ratios, errors) if inside else np.nan
            gains += [-apart] * inside
            cells += cell(apart, 11, sign="+")
        print(f"     {peer:<40}{cells}")
    seen = max(gains) >= CLEAR
    print(f"     The paper's clearly better accuracy at equal fairness is {'' if seen else 'not '}"
          f"seen on test rows: at most {max(gains):.4f}\n     is gained where a peer has the same "
          f"ratio. What is gained is range, for a bound on covariance\n     ends at a ratio of "
          f"{max(p.train.ratio for p in path):.2f}, and control, for it does not say which ratio it"
          " brings.")  # fmt: skip


def judged(found: Table) -> bool:
    good = True
    heading()
    for kappa, outcomes in found.items():
        of = {o.name: o for o in outcomes}
        for name in (DRAWN, FIXED, PAPER):
            if name not in of:
                continue
            o = of[name]
            lines = []
            if name == DRAWN:
                lines.append(("ratio in training, drawn", f">= {kappa - SHORT:.3f}",
                              o.train.ratio, o.train.ratio >= kappa - SHORT))  # fmt: skip
            else:
                asked = kappa in ERRORS and name == FIXED
                near = abs(o.test.ratio - kappa) <= OFF
                lines.append(("ratio on test", f"{kappa:g} +- {OFF}", o.test.ratio,
                              near if asked else None))  # fmt: skip
                if kappa in ERRORS:
                    most = ERRORS[kappa]
                    lines.append(("error on test", f"<= {most}", o.test.error,
                                  o.test.error <= most if asked else None))  # fmt: skip
            fast = o.seconds < SECONDS if name != PAPER else None
            lines.append(("CPU seconds", f"< {SECONDS:g}", o.seconds, fast))
            for what, target, value, fine in lines:
                good &= figure(f"kappa {kappa:g}, {name}: {what}", target, f"{value:.5f}", fine)
    return good


def main() -> int:
    found = fitted()
    tables(found)
    reach()
    at_equal_ratio(found)
    return int(not judged(found))


if __name__ == "__main__":
    run_with_one_thread(main)
