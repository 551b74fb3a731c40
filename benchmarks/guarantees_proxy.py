"""Few labels and a proxy: how often a bound at its limit is called shown, and what is gained.

    python benchmarks/guarantees_proxy.py [--draws 1000]

A threshold on simulated scores, with so many labelled rows and so many more without labels.
Every figure stands beside what it may be, or is to reach.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from scipy.stats import norm

from setpoint import Confusion, Goal
from setpoint.counts import Rows
from setpoint.guarantees import Promise, RuleTests, Tried
from setpoint.program import link

PRIOR, SKILL, MANY = 0.25, 2.0, 20_000
PROXIES = ("useless", "correlation .6", "correlation .8", "a third too high", "no or yes")
SKILLS = {"correlation .6": 1.6, "correlation .8": 2.45}
CUTOFFS = {"recall": float(norm.isf(0.85)) + SKILL, "precision": 1.9}


def truth(metric: str) -> float:
    """The value of the threshold's metric on the population."""
    hit, alarm = norm.sf(CUTOFFS[metric] - SKILL), norm.sf(CUTOFFS[metric])
    share = PRIOR * hit / (PRIOR * hit + (1 - PRIOR) * alarm)
    return float(hit if metric == "recall" else share)


def drawn(n: int, proxy: str, rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    """Labels, scores and the proxy of so many rows."""
    y = (rng.random(n) < PRIOR).astype(int)
    skill = 0.0 if proxy == "useless" else SKILLS.get(proxy, 2.45)
    log_odds = np.log(PRIOR / (1 - PRIOR)) + skill * (rng.normal(skill * y) - skill / 2)
    g = 1 / (1 + np.exp(-log_odds))
    if proxy == "a third too high":
        g = np.minimum(g * 4 / 3, 1.0)
    return y, rng.normal(SKILL * y), np.round(g) if proxy == "no or yes" else g


def counted(
    goal: Goal, cutoff: float, n: int, more: int, proxy: str, rng: np.random.Generator
) -> Confusion:
    """What the threshold does on the labelled rows, with what the proxy says."""
    y, scores, g = drawn(n + more, proxy, rng)
    decided = (scores >= cutoff).astype(int)
    rows = Rows.from_arrays((0, 1), y[:n], n, needs=goal.needs)
    rest = Rows.from_arrays((0, 1), None, more, codebook=rows.codebook)
    soft = replace(rows, chances=g[:n]).decided(decided[:n])
    others = replace(rest, chances=g[n:]).decided(decided[n:])
    return replace(rows.decided(decided[:n]), proxied=(soft, others))


def cell(
    metric: str, slack: float, n: int, more: int, proxy: str, draws: int, seed: int
) -> tuple[float, float, float]:
    """Shares of draws that pass with the proxy and without, and what it is worth, of one each."""
    goal = Goal.parse(f"maximize accuracy subject to {metric} >= {truth(metric) - slack!r}")
    rng, passed, alone, worth = np.random.default_rng(seed), 0, 0, []
    for _ in range(draws):
        found = counted(goal, CUTOFFS[metric], n, more, proxy, rng)
        tests = RuleTests(Promise.of(link(goal, found.codebook), 0.95), found.marginals)
        passed += tests.passes(Tried(found))
        alone += tests.passes(Tried(replace(found, proxied=None)))
        known = tests.counted(found).proxied(tests.program.constraints[0].function)
        worth.append(0.0 if known is None else known.worth / n)
    return passed / draws, alone / draws, float(np.mean(worth))


def cells() -> Iterator[tuple[str, float, int, int, str, float]]:
    """Metric, slack, labelled rows, others, proxy, and what is to be reached; NaN: nothing is."""
    for metric in ("recall", "precision"):
        bars = {"useless": 0.66, "correlation .8": 0.8} if metric == "recall" else {}
        for n in (200, 1_000):
            yield metric, 0.0, n, MANY, "correlation .8", np.nan
        for proxy in PROXIES[:3]:
            yield metric, 0.05, 1_000, MANY, proxy, bars.get(proxy, np.nan)
    for metric in ("recall", "precision"):
        yield metric, 0.0, 200, 200, "correlation .8", np.nan
        for n in (200, 1_000):
            for proxy in ("no or yes", "a third too high", "correlation .6", "useless"):
                yield metric, 0.0, n, MANY, proxy, np.nan


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=1000)
    draws = parser.parse_args().draws
    for name in PROXIES:
        y, _, g = drawn(100_000, name, np.random.default_rng(0))
        cor = np.corrcoef(y, g)[0, 1] if g.std() > 0 else 0.0
        print(f"{name}: correlation of proxy and label {cor:.2f}, mean of the proxy {g.mean():.2f}")
    most = 0.05 + 2 * float(np.sqrt(0.05 * 0.95 / draws))
    print(
        "\nmetric     slack      n       N proxy              passes  labels alone  worth n times"
    )
    for seed, (metric, slack, n, more, proxy, bar) in enumerate(cells()):
        share, alone, worth = cell(metric, slack, n, more, proxy, draws, seed)
        kept = share <= most if slack == 0.0 else not share < bar
        what = f"at most {most:.3f}" if slack == 0.0 else f"at least {bar:.2f}"
        if np.isnan(bar) and slack > 0.0:
            what = ""
        print(
            f"{metric:<10} {slack:5.2f} {n:6,} {more:7,} {proxy:<18} {share:8.3f} {alone:13.3f} "
            f"{worth:14.2f}  {what} {'ok' if kept else 'MISSED'}",
            flush=True,
        )


if __name__ == "__main__":
    main()
