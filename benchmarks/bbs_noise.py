"""The form of Figure 4: noise in the features of one group, and a clean sample for the metric.

``python benchmarks/bbs_noise.py [--trials 5] [folder]``. In a share of the women's training
rows real features get Gaussian noise with their own deviation, and binary ones are flipped
with probability .9; all of Adult's are binary. The metric is the mean over the sexes of the
F-measure, on clean validation rows; the table tells it on clean test rows, as a mean over
trials. Ours and raw and smoothed post-shift only call it; "relaxed" and "formula" know it.
With matplotlib there is a picture too; a line may leave it at the bottom.
"""

from __future__ import annotations

import argparse
import importlib.util
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from bbs_data import FAIR, MACRO_F, fair
from bbs_peers import (
    ADAPTIVE,
    GROUP_CUTS,
    LOGISTIC,
    RAW,
    RELAXED,
    SMOOTHED,
    Found,
    adaptive,
    by_formula,
    logistic,
    post_shift,
    relaxed,
)
from cma_data import OUTPUT, require, run_with_one_thread

LEVELS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5)
METHODS = (
    lambda s: logistic(s, MACRO_F),
    lambda s: post_shift(s, MACRO_F, None),
    lambda s: post_shift(s, MACRO_F),
    lambda s: relaxed(s, "sigmoid"),
    lambda s: relaxed(s, "hinge"),
    lambda s: by_formula(s, MACRO_F),
    lambda s: by_formula(s, MACRO_F, ["sex"]),
    lambda s: adaptive(s, MACRO_F, surrogate_groups="sex"),
)
DRAWN = {
    LOGISTIC: "#888888", RAW: "#9ecae1", SMOOTHED: "#3182bd", RELAXED.format("sigmoid"): "#e6912c",
    GROUP_CUTS: "#74a35b", ADAPTIVE: "#b3262e",
}  # fmt: skip
Trials = dict[str, list[Found]]


def level(name: str, noise: float, trials: int) -> Trials:
    """Every method on every trial."""
    out: Trials = {}
    for seed in range(trials):
        split = fair(name, seed, noise)
        for method in METHODS:
            found = method(split)
            out.setdefault(found.name, []).append(found)
    return out


def mean(found: Sequence[Found]) -> float:
    return float(np.mean([f.test for f in found]))


def show(name: str, levels: dict[float, Trials]) -> None:
    n = len(levels[0.0][ADAPTIVE])
    print(f"\n{name}: macro F-measure on test rows by share of noisy rows among women; {n} trials")
    print(f"     {'':<28}" + "".join(f"{noise:>9g}" for noise in levels))
    for method in levels[0.0]:
        print(f"     {method:<28}" + "".join(f"{mean(t[method]):>9.4f}" for t in levels.values()))
    kept = [sum(bool(f.kept) for f in t[ADAPTIVE]) for t in levels.values()]
    print(f"     {'adaptive: accepted':<28}" + "".join(f"{f'{k} of {n}':>9}" for k in kept))
    calls = [max(f.evaluations for f in t[ADAPTIVE]) for t in levels.values()]
    print(f"     {'adaptive: most evaluations':<28}" + "".join(f"{k:>9}" for k in calls))
    apart = [
        np.subtract([f.test for f in t[ADAPTIVE]], [f.test for f in t[SMOOTHED]])
        for t in levels.values()
    ]
    print(f"     {'adaptive - smoothed':<28}" + "".join(f"{a.mean():>+9.4f}" for a in apart))
    errors = [a.std(ddof=1) / np.sqrt(n) if n > 1 else np.nan for a in apart]
    print(f"     {'  its standard error':<28}" + "".join(f"{e:>9.4f}" for e in errors))
    wins = {"adaptive": [], "smoothed post-shift": []}
    for noise, a, e in zip(levels, apart, errors, strict=True):
        if abs(a.mean()) > e:
            wins["adaptive" if a.mean() > 0 else "smoothed post-shift"].append(f"{noise:g}")
    for who, at in wins.items():
        print(f"     {who} wins at: {', '.join(at) or 'no level'}")


def draw(found: dict[str, dict[float, Trials]], path: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(13.0, 4.2), layout="constrained", facecolor="white")
    for ax, (name, levels) in zip(np.ravel(figure.subplots(1, len(found))), found.items(),
                                  strict=True):  # fmt: skip
        shown = [mean(t[m]) for t in levels.values() for m in DRAWN if m != LOGISTIC]
        for method, colour in DRAWN.items():
            ys = [mean(t[method]) for t in levels.values()]
            ax.plot(list(levels), ys, marker="o", markersize=3.0, color=colour, label=method)
        # A logistic regression alone lies far below.
        ax.set_ylim(min(shown) - 0.02, max(shown) + 0.01)
        ax.set_title(name, loc="left", fontsize=10.5)
        ax.set_xlabel("share of noisy rows among women")
        ax.spines[["top", "right"]].set_visible(False)
    _legend(figure)
    path.parent.mkdir(exist_ok=True)
    for kind in ("svg", "png"):
        figure.savefig(path.with_suffix(f".{kind}"), dpi=130)
    print(f"\n     {path.with_suffix('.svg')}, .png")


def _legend(figure: Any) -> None:
    first = figure.axes[0]
    first.set_ylabel("macro F-measure, test")
    lines, names = first.get_legend_handles_labels()
    figure.legend(lines, names, loc="outside lower center", ncols=len(names), frameon=False)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", nargs="?", type=Path, default=OUTPUT)
    parser.add_argument("--trials", type=int, default=5)
    options = parser.parse_args()
    require("a9a", *FAIR)
    found = {}
    for name in FAIR:
        found[name] = {noise: level(name, noise, options.trials) for noise in LEVELS}
        show(name, found[name])
    if importlib.util.find_spec("matplotlib") is None:
        print("no picture: it is drawn with matplotlib")
        return
    draw(found, options.folder / "bbs_noise")


if __name__ == "__main__":
    run_with_one_thread(main)
