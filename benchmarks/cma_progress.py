"""Progress by oracle calls: Figures 10 to 12 of the paper, as pictures and as counts.

``python benchmarks/cma_progress.py [folder] [--quick]``. Loss of the best feasible mixture
found so far, on the training rows and by soft evidence, against oracle calls: the worst class
(Figure 10), H-mean (11), H-mean with coverage .01 (12). The paper's algorithms run with its
budgets; what they gather is recombined after 16, 32, 64, ... calls, so their lines are
steps. The pictures need matplotlib, the counts do not.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from cma_data import H_MEAN, H_MEAN_COVERED, MINMAX, OUTPUT, SETS, quiet, run_with_one_thread, split

from setpoint import InfeasibleError, SearchLimits, solve
from setpoint.search import TracePoint

FIGURES = {
    "figure_10": ("worst class", MINMAX, ("gda", "ellipsoid")),
    "figure_11": ("H-mean", H_MEAN, ("frank-wolfe", "gda", "ellipsoid")),
    "figure_12": ("H-mean, coverage .01", H_MEAN_COVERED, ("frank-wolfe", "gda", "ellipsoid")),
}
WITHIN = (1e-2, 1e-3, 1e-4)
FEASIBLE = 1e-9
Curve = list[tuple[int, float]]


def curve(trace: Sequence[TracePoint]) -> Curve:
    """Calls and the least loss of a feasible mixture until then, of a score."""
    out: Curve = []
    for now in trace:
        if now.violation <= FEASIBLE and (not out or 1.0 - now.objective < out[-1][1]):
            out.append((max(now.call, 1), 1.0 - now.objective))
    return out


def traced(goal: str, name: str, solver: str, share: float) -> tuple[Curve, int]:
    """The curve of one run on split 0, and its calls."""
    part = split(name)
    full = 1000 if solver == "ellipsoid" else 10_000 if "subject to" in goal else 5000
    limits = SearchLimits(tol=1e-6)
    if solver != "auto":
        limits = SearchLimits(calls=max(16, round(share * full)))
    try:
        with quiet():
            found = solve(
                goal, part.P, part.y, solver=solver, evidence="soft", randomized=True,
                limits=limits,
            )  # fmt: skip
    except InfeasibleError:
        return [], limits.calls or 0
    return curve(found.trace), found.report.search.calls or 0


def describe(found: Curve, best: float) -> str:
    """Calls to within some distances of the optimum."""
    cells = []
    for near in WITHIN:
        first = next((call for call, loss in found if loss - best <= near), None)
        cells.append("not reached" if first is None else f"{first}")
    return "".join(f"{cell:>13}" for cell in cells)


def picture(path: Path, title: str, panels: dict[str, dict[str, Curve]], best: dict[str, float],
            ends: dict[str, dict[str, int]]) -> None:  # fmt: skip
    """One panel a set: loss less the optimum, both axes logarithmic."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, len(panels), figsize=(4 * len(panels), 3.4), sharey=True)
    for ax, (name, curves) in zip(axes, panels.items(), strict=True):
        for solver, found in curves.items():
            if not found:
                continue
            calls = [call for call, _ in found] + [max(ends[name][solver], found[-1][0])]
            above = [max(loss - best[name], 1e-7) for _, loss in found]
            ax.step(calls, [*above, above[-1]], where="post", label=solver, lw=1.6)
        ax.set(xscale="log", yscale="log", xlabel="oracle calls", title=name, ylim=(5e-7, 1.0))
        ax.grid(alpha=0.3)
    axes[0].set_ylabel("loss above the optimum")
    axes[0].legend(frameon=False)
    figure.suptitle(title)
    figure.tight_layout()
    figure.savefig(path, dpi=130)
    plt.close(figure)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", nargs="?", type=Path, default=OUTPUT)
    parser.add_argument("--quick", action="store_true", help="a tenth of the budgets")
    given = parser.parse_args()
    share = 0.1 if given.quick else 1.0
    given.folder.mkdir(parents=True, exist_ok=True)
    print(f"calls to within so much of the optimum; budgets of appendix B times {share:g}")
    for file, (words, goal, solvers) in FIGURES.items():
        heads = "".join(f"{near:>13g}" for near in WITHIN)
        print(f"\n{file.replace('_', ' ').capitalize()}: {words:<28}{heads}   total")
        panels: dict[str, dict[str, Curve]] = {}
        ends: dict[str, dict[str, int]] = {}
        best = {}
        for name in SETS:
            runs = {solver: traced(goal, name, solver, share) for solver in ("auto", *solvers)}
            panels[name] = {solver: found for solver, (found, _) in runs.items()}
            ends[name] = {solver: calls for solver, (_, calls) in runs.items()}
            best[name] = min(found[-1][1] for found in panels[name].values() if found)
            for solver, (found, calls) in runs.items():
                print(f"     {name:<14} {solver:<20}{describe(found, best[name])} {calls:>7}")
        try:
            picture(given.folder / f"{file}.png", words, panels, best, ends)
        except ModuleNotFoundError as error:
            print(f"     no picture: {error}")
    print("\nFrank-Wolfe has no line in Figure 10: the worst class has kinks, and it is refused;")
    print("the paper runs it there and shows that it ends at a worse rule")
    return 0


if __name__ == "__main__":
    run_with_one_thread(main)
