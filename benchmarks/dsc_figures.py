"""Fairness and churn, asked for and reached: Figures 2 and 3 of the paper as two pictures.

``python benchmarks/dsc_figures.py [folder]``. The numbers are those of dsc_fairness and of
dsc_churn, fitted anew without the solvers that are there for comparison. Needs matplotlib.
"""

from __future__ import annotations

import argparse
import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING, Any

import dsc_churn
import dsc_fairness
import numpy as np
from cma_data import OUTPUT, run_with_one_thread
from dsc_data import Found, Measured, Task, a9a
from dsc_peers import at_zero, blended, covariance_path, scored, thresholded
from fofo_figures import apart

from setpoint.report.displays.style import BLUE, INK, MUTED, ORANGE, Panel

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BY_GROUP, COVARIANCE = "a threshold by sex", "covariance bound"
BY_DEPLOYED, BLEND = "a threshold by deployed", "blend"
LINES: dict[str, dict[str, Any]] = {
    dsc_fairness.FIXED: {"color": BLUE, "linewidth": 2.4},
    dsc_fairness.DRAWN: {"color": BLUE, "linewidth": 1.4, "linestyle": (0, (4, 1.5))},
    BY_GROUP: {"color": ORANGE, "linewidth": 1.6},
    BY_DEPLOYED: {"color": ORANGE, "linewidth": 1.6},
    COVARIANCE: {"color": MUTED, "linewidth": 1.6, "linestyle": (0, (5, 1.5, 1, 1.5))},
    BLEND: {"color": MUTED, "linewidth": 1.6, "linestyle": (0, (5, 1.5, 1, 1.5))},
    dsc_churn.BARE: {"color": BLUE, "linewidth": 1.4, "linestyle": (0, (1, 1.2))},
}
"""Colour tells families apart, the stroke their members."""
KAPPAS = tuple(np.round(np.arange(0.3, 1.01, 0.1), 2))
Curve = list[Measured]
Both = tuple[Curve, Curve]
"""On training rows and on test rows."""


def both(outcomes: list[Found]) -> Both:
    return [o.train for o in outcomes], [o.test for o in outcomes]


def fair() -> dict[str, Both]:
    task = a9a()
    by = scored(task, "logistic regression")
    goal = dsc_fairness.goal_of
    out = {
        name: both([dsc_fairness.ramp(task, name, k) for k in KAPPAS])
        for name in (dsc_fairness.FIXED, dsc_fairness.DRAWN)
    }
    out[BY_GROUP] = both([thresholded(task, by, goal(k), "sex") for k in KAPPAS])
    path = covariance_path(task)
    out[COVARIANCE] = [p.train for p in path], [p.test for p in path]
    return out


def stable(task: Task) -> dict[str, Both]:
    by = scored(task, "logistic regression")
    goals = [dsc_churn.goal_of(k) for k in dsc_churn.TARGETS]
    out = {
        name: both([dsc_churn.ramp(task, name, k) for k in dsc_churn.TARGETS])
        for name in (dsc_churn.FIXED, dsc_churn.DRAWN, dsc_churn.BARE)
    }
    out[BY_DEPLOYED] = both([thresholded(task, by, goal, "deployed") for goal in goals])
    out[BLEND] = both([blended(task, by, goal) for goal in goals])
    return out


# ---------------------------------------------------------------------- drawing
def panel(ax: Axes, curves: dict[str, tuple[Any, Any]], title: str, x: str, y: str) -> None:
    """Lines with their names in the right margin."""
    for name, (xs, ys) in curves.items():
        ax.plot(xs, ys, marker="o", markersize=3.0, zorder=3, **LINES[name])
    if "less" in y:
        ax.axhline(0.0, color=INK, linewidth=0.8, zorder=2)
    Panel(ax).finish(x, y)
    ax.set_title(title, loc="left", fontsize=10.5, color=INK)
    low, high = ax.get_ylim()
    ends = {name: np.max(xs) for name, (xs, _) in curves.items()}
    tips = [float(np.asarray(ys)[np.argmax(xs)]) for xs, ys in curves.values()]
    heights = apart(tips, 0.06 * (high - low), high)
    for name, tip, height in zip(curves, tips, heights, strict=True):
        ax.annotate(
            name, (ends[name], tip), (1.03, (height - low) / (high - low)),
            textcoords="axes fraction", va="center", ha="left", fontsize=9,
            color=LINES[name]["color"], annotation_clip=False,
            arrowprops={"arrowstyle": "-", "color": LINES[name]["color"], "linewidth": 0.5,
                        "alpha": 0.6, "shrinkA": 1, "shrinkB": 1},
        )  # fmt: skip


def off(asked: tuple[float, ...], reached: list[float]) -> tuple[Any, Any]:
    """What was asked for, and by how much it was missed."""
    return asked, np.subtract(reached, asked)


def save(figure: Any, path: Path) -> None:
    path.parent.mkdir(exist_ok=True)
    for kind in ("svg", "png"):
        figure.savefig(path.with_suffix(f".{kind}"), dpi=130)
    print(f"     {path.with_suffix('.svg')}, .png")


def draw_fair(found: dict[str, Both], path: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12.0, 8.4), layout="constrained", facecolor="white")
    axes = figure.subplots(2, 2)
    known = {name: curve for name, curve in found.items() if name != COVARIANCE}
    for i, where in enumerate(("training", "test")):
        asked = {name: off(KAPPAS, [m.ratio for m in curve[i]]) for name, curve in known.items()}
        panel(axes[0, i], asked, f"Ratio on {where} rows", "asked for", "reached less asked for")
        traded = {
            name: ([m.ratio for m in curve[i]], [m.error for m in curve[i]])
            for name, curve in found.items()
        }
        panel(axes[1, i], traded, f"Error on {where} rows", "women's rate over men's", "error")
    save(figure, path)


def draw_stable(found: dict[str, Both], task: Task, path: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12.0, 8.4), layout="constrained", facecolor="white")
    axes = figure.subplots(2, 2)
    free = at_zero(task, scored(task, "logistic regression"))
    for i, where in enumerate(("training", "test")):
        asked = {
            name: off(dsc_churn.TARGETS, [m.churn for m in curve[i]])
            for name, curve in found.items()
        }
        what = f"Churn on {where} rows, {task.name}"
        panel(axes[0, i], asked, what, "asked for", "reached less asked for")
        errors = {
            name: (dsc_churn.TARGETS, [m.error for m in curve[i]]) for name, curve in found.items()
        }
        panel(axes[1, i], errors, f"Error on {where} rows, {task.name}", "churn asked for", "error")
        unbound = (free.train, free.test)[i]
        axes[1, i].axhline(unbound.error, color=INK, linewidth=0.8, zorder=2)
        axes[1, i].annotate(
            f"no bound: churn {unbound.churn:.3f}", (dsc_churn.TARGETS[0], unbound.error),
            (0, 3), textcoords="offset points", fontsize=8.5, color=INK,
        )  # fmt: skip
    save(figure, path)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", nargs="?", type=Path, default=OUTPUT)
    folder = parser.parse_args().folder
    if importlib.util.find_spec("matplotlib") is None:
        print("skipped: pictures are drawn with matplotlib")
        return
    draw_fair(fair(), folder / "dsc_fairness")
    for load in dsc_churn.TASKS.values():
        task = load()
        draw_stable(stable(task), task, folder / f"dsc_churn_{task.name}")


if __name__ == "__main__":
    run_with_one_thread(main)
