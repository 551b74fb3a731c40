"""F over a stream, by rows and by seconds: Figures 1 to 4 of the paper as two pictures.

``python benchmarks/fofo_figures.py [folder] [--shuffles 3]``. Rivals take the steps that
their validation streams choose; what tuning costs is not in the seconds. Those are of one
thread and compiled code for all, at an even pace over a stream. Needs matplotlib.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from cma_data import OUTPUT, run_with_one_thread
from fofo_data import TASKS, f1_so_far, task, thirds
from fofo_peers import RIVALS, tuned

from setpoint.online import OnlineFClassifier
from setpoint.report.displays.style import BLUE, GRID, INK, MUTED, ORANGE

LINES = {
    "setpoint": {"color": BLUE, "linewidth": 2.4},
    "FOFO": {"color": ORANGE, "linewidth": 1.4},
    "OFO": {"color": ORANGE, "linewidth": 1.4, "linestyle": (0, (4, 1.5))},
    "OMCSL": {"color": INK, "linewidth": 1.1},
    "STAMP": {"color": MUTED, "linewidth": 1.4, "linestyle": (0, (5, 1.5, 1, 1.5))},
    "LR": {"color": MUTED, "linewidth": 1.4, "linestyle": (0, (1, 1.2))},
}
"""Colour tells families apart, the stroke their members."""
POINTS = 300
WARM_UP = 0.03
"""Share of the rows before the first point: F of a few positives only rattles."""


class Line(NamedTuple):
    rows: np.ndarray
    f: np.ndarray
    seconds: float
    """Of the whole stream."""


def lines(name: str, n_shuffles: int) -> dict[str, Line]:
    """Mean curve and median time of each method on one task."""
    curves: dict[str, list[np.ndarray]] = {method: [] for method in LINES}
    times: dict[str, list[float]] = {method: [] for method in LINES}
    for seed in range(n_shuffles):
        online, validation, _ = thirds(name, seed)
        n = len(online.y)
        rows = np.unique(np.linspace(WARM_UP * n, n, POINTS).astype(int))
        runs: dict[str, Callable[[], np.ndarray]] = {
            "setpoint": lambda o=online: OnlineFClassifier(classes=[0, 1]).predict_learn(o.X, o.y)
        }
        for method, rival in RIVALS.items():
            if method in LINES:
                step = tuned(rival, validation)
                runs[method] = lambda r=rival.run, o=online, s=step: r(o, s).decided
        for method, run in runs.items():
            run()
            start = time.perf_counter()
            decided = run()
            times[method].append(time.perf_counter() - start)
            curves[method].append(f1_so_far(online.y, decided)[rows - 1])
    return {
        method: Line(rows, np.mean(curves[method], axis=0), float(np.median(times[method])))
        for method in LINES
    }


def apart(heights: list[float], least: float, top: float) -> np.ndarray:
    """Heights moved as little as keeps them `least` apart and below the top, in the same order."""
    order = np.argsort(heights)
    steps = least * np.arange(len(heights))
    moved = np.array(heights)[order] - steps
    # Neighbours that would cross share their mean: isotonic regression.
    pools: list[list[float]] = []
    for height in moved:
        pools.append([height])
        while len(pools) > 1 and np.mean(pools[-2]) > np.mean(pools[-1]):
            pools[-2:] = [pools[-2] + pools[-1]]
    level = np.concatenate([np.full(len(pool), np.mean(pool)) for pool in pools])
    out = np.empty(len(heights))
    out[order] = np.minimum(level + steps, top - steps[::-1])
    return out


def draw(found: dict[str, dict[str, Line]], by_seconds: bool, path: Path) -> None:
    from matplotlib.figure import Figure
    from matplotlib.ticker import FuncFormatter

    figure = Figure(figsize=(12.6, 10.2), layout="constrained", facecolor="white")
    figure.get_layout_engine().set(w_pad=0.08, h_pad=0.1)
    for ax, (name, of_task) in zip(figure.subplots(3, 3).flat, found.items(), strict=True):
        for method, line in of_task.items():
            x = line.rows / 1000.0
            if by_seconds:
                x = line.seconds * line.rows / line.rows[-1] * 1000.0
            front = 3 if method == "setpoint" else 2
            ax.plot(x, line.f, zorder=front, solid_capstyle="round", **LINES[method])
        low = min(np.quantile(line.f, 0.02) for line in of_task.values())
        high = max(line.f.max() for line in of_task.values())
        ax.set_ylim(low - 0.04 * (high - low), high + 0.06 * (high - low))
        if by_seconds:
            ax.set_xscale("log")
            ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        _name_ends(ax, of_task, by_seconds)
        whole = f"{name} against rest" if " " in name else name
        title = f"{whole}, {100.0 * task(name)[1].mean():.1f} % positive"
        ax.set_title(title, loc="left", fontsize=10.5, color=INK)
        for side, spine in ax.spines.items():
            spine.set(color=INK, linewidth=0.8, visible=side in ("left", "bottom"))
        ax.tick_params(which="both", colors=INK, labelsize=9)
        ax.grid(visible=True, color=GRID, linewidth=0.6)
        ax.set_axisbelow(True)
    figure.supxlabel(
        "milliseconds, one thread, logarithmic" if by_seconds else "thousand rows",
        fontsize=10.5, color=INK,
    )  # fmt: skip
    figure.supylabel("F so far", fontsize=10.5, color=INK)
    path.parent.mkdir(exist_ok=True)
    for kind in ("svg", "png"):
        figure.savefig(path.with_suffix(f".{kind}"), dpi=130)
    print(f"     {path.with_suffix('.svg')}, .png")


def _name_ends(ax, of_task: dict[str, Line], by_seconds: bool) -> None:
    """Each line's name in the right margin, tied to where the line ends."""
    low, high = ax.get_ylim()
    ends = [min(max(line.f[-1], low), high) for line in of_task.values()]
    heights = apart(ends, 0.075 * (high - low), high)
    for (method, line), end, height in zip(of_task.items(), ends, heights, strict=True):
        x = line.seconds * 1000.0 if by_seconds else line.rows[-1] / 1000.0
        ax.plot(x, end, "o", markersize=3.2, color=LINES[method]["color"], zorder=4)
        ax.annotate(
            method, (x, end), (1.02, (height - low) / (high - low)), textcoords="axes fraction",
            va="center", ha="left", fontsize=9, color=LINES[method]["color"],
            fontweight="bold" if method == "setpoint" else "normal", annotation_clip=False,
            arrowprops={"arrowstyle": "-", "color": LINES[method]["color"], "linewidth": 0.5,
                        "alpha": 0.6, "shrinkA": 1, "shrinkB": 1},
        )  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", nargs="?", type=Path, default=OUTPUT)
    parser.add_argument("--shuffles", type=int, default=3)
    options = parser.parse_args()
    found = {name: lines(name, options.shuffles) for name in TASKS}
    print(f"     F at the end, milliseconds for the stream (mean, median of {options.shuffles})")
    for name, of_task in found.items():
        strata = [f"{m} {line.f[-1]:.3f} {1e3 * line.seconds:.1f}" for m, line in of_task.items()]
        print(f"     {name:<10} {', '.join(strata)}")
    draw(found, False, options.folder / "fofo_by_rows")
    draw(found, True, options.folder / "fofo_by_seconds")


if __name__ == "__main__":
    run_with_one_thread(main)
