"""How often a monitor of units alarms without a reason, how soon with one; units that plans ask.

``python benchmarks/guarantees_units_monitor.py [--streams 1000] [--draws 1000]``.
Rows of one unit depend on each other: each unit has a rate of its own (Beta, with a correlation
within units), all rows are predicted positive, and precision lies at its bound of .8 on average.
Then it falls to .65, and units from there to the alarm are counted. Plans are made from a pilot
of the same population; of the draws of as many units as are planned, those are counted that the
test by units (Gaffke's mean, with one worst unit) certifies.
"""

from __future__ import annotations

import argparse

import numpy as np
from cma_data import run_with_one_thread, verdict

from setpoint import Monitor, rows_needed

SEED = 13
NOISE = 2.33
"""Standard errors that a share of draws may lie above or below its bar by chance."""
BOUND = 0.8
CALLS = 8
PILOT = 20_000
INNER = 2_000


# ------------------------------------------------------------------------- populations
def sizes_of(kind: str, n: int, r: np.random.Generator) -> np.ndarray:
    return np.full(n, 10) if kind == "ten" else 1 + r.poisson(3, n)


def hits_of(sizes: np.ndarray, rate: float, icc: float, r: np.random.Generator) -> np.ndarray:
    """Hits (rows,) of units that have a rate of their own."""
    much = (1.0 - icc) / icc
    return (
        r.random(sizes.sum()) < np.repeat(r.beta(rate * much, (1 - rate) * much, len(sizes)), sizes)
    ).astype(int)


# ---------------------------------------------------------------------------- monitors
def alarm(
    hits: np.ndarray, units: np.ndarray | None, alpha: float, restart: bool, largest: int
) -> float:
    """The unit (or row) of the first alarm; NaN where there was none."""
    goal = f"maximize recall subject to precision >= {BOUND}"
    watched = Monitor(
        goal=goal, classes=[0, 1], alpha=alpha, restart=restart,
        largest_unit=None if units is None else largest,
    )  # fmt: skip
    for part in np.array_split(np.arange(len(hits)), CALLS):
        own = {} if units is None else {"units": units[part]}
        watched.update_decisions(np.ones(len(part), int), hits[part], **own)
    return watched.alarms_[0].row if watched.alarms_ else np.nan


def line(good: bool | None, what: str, measured: str, target: str) -> bool:
    print(f"{verdict(good)}  {what:62} {measured:>12}  {target}", flush=True)
    return good is not False


def monitors(streams: int) -> bool:
    ok, most = True, 0.05 + NOISE * np.sqrt(0.05 * 0.95 / streams)
    for kind, largest, icc in (("ten", 10, 0.3), ("ten", 10, 0.9), ("poisson", 15, 0.3)):
        ever = {True: 0, False: 0}
        for i in range(streams):
            r = np.random.default_rng((SEED, i))
            sizes = sizes_of(kind, 800, r)
            hits, units = hits_of(sizes, BOUND, icc, r), np.repeat(np.arange(800), sizes)
            for by_unit in ever:
                found = alarm(hits, units if by_unit else None, 0.05, False, largest)
                ever[by_unit] += not np.isnan(found)
        share = ever[True] / streams
        what = f"800 units at the bound ({kind}, icc {icc}), alpha .05: ever an alarm"
        ok &= line(share <= most, what, f"{share:.3f}", "<= 0.05")
        print(f"      by rows: {ever[False] / streams:.3f}")
    return ok & delays(streams)


def delays(streams: int) -> bool:
    ok = True
    for alpha, restart, begun, target in (
        (0.05, False, 0, 35),
        (0.001, True, 50, None),
    ):
        late = []
        for i in range(streams):
            r = np.random.default_rng((SEED, i))
            sizes = np.full(begun + 400, 10)
            hits = [hits_of(sizes[:begun], BOUND, 0.3, r), hits_of(sizes[begun:], 0.65, 0.3, r)]
            at = alarm(
                np.concatenate(hits), np.repeat(np.arange(len(sizes)), 10), alpha, restart, 10
            )
            if not at <= begun:
                late.append(np.inf if np.isnan(at) else at - begun)
        median = float(np.median(late))
        how = f"{'restarting' if restart else 'plain'}, alpha {alpha:g}"
        what = f"{how}, .80 -> .65 after {begun} units: median delay"
        goal = "" if target is None else f"<= {target}"
        ok &= line(None if target is None else median <= target, what, f"{median:.0f}", goal)
        print(f"      alarms before the fall: {1 - len(late) / streams:.3f}")
    return ok


# ------------------------------------------------------------------------------- plans
def certified(x: np.ndarray, worst: float, r: np.random.Generator) -> bool:
    """Whether the mean of what units add is shown to be 0 or more: Gaffke's p-value, drawn."""
    values, many = np.unique(x, return_counts=True)
    mean = r.standard_gamma(many, (INNER, len(many))) @ values - worst * r.exponential(size=INNER)
    return bool((1 + np.count_nonzero(mean <= 0)) / (1 + INNER) <= 0.05)


def plans(draws: int) -> bool:
    ok, least = True, 0.68 - NOISE * np.sqrt(0.68 * 0.32 / draws)
    for kind, largest in (("ten", 10), ("poisson", 15)):
        for icc in (0.3, 0.9):
            for slack in (0.05, 0.1):
                r = np.random.default_rng((SEED, int(100 * icc), int(100 * slack)))
                sizes = sizes_of(kind, PILOT, r)
                hits, units = (
                    hits_of(sizes, BOUND + slack, icc, r),
                    np.repeat(np.arange(PILOT), sizes),
                )
                plan = rows_needed(
                    f"maximize recall subject to precision >= {BOUND}",
                    *(hits, np.ones(len(hits), int)), units=units, largest_unit=largest,
                )  # fmt: skip
                passed = 0
                for _ in range(draws):
                    own = sizes_of(kind, plan.units, r)
                    x = hits_of(own, BOUND + slack, icc, r) - BOUND
                    each = np.bincount(np.repeat(np.arange(len(own)), own), x)
                    passed += certified(np.round(each, 9), BOUND * largest, r)
                what = f"{plan.units:,} units planned ({kind}, icc {icc}, slack {slack}), .80 asked"
                ok &= line(passed / draws >= least, what, f"{passed / draws:.3f}", ">= 0.68")
    return ok


def main(streams: int, draws: int) -> int:
    ok = plans(draws)
    return int(not monitors(streams) or not ok)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--streams", type=int, default=1_000)
    parser.add_argument("--draws", type=int, default=1_000)
    given = parser.parse_args()
    run_with_one_thread(lambda: main(given.streams, given.draws))
