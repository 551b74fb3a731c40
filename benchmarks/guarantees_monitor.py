"""How often a monitor alarms without a reason, how soon with one, and how fast it reads.

``python benchmarks/guarantees_monitor.py [--streams 1000] [--rows 100000]``.
Streams lie exactly at the bound (precision .9, every row predicted positive): the plain bets
may alarm in a share alpha of all streams, the restarting ones after 1 / alpha rows or more on
average (streams without an alarm count with the rows that they have). Then the rate falls, and
rows from there to the alarm are counted; streams that alarm before the fall are left out of the
delay, and their share is printed. A small alpha makes them rare and costs few rows more.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from cma_data import run_with_one_thread, verdict

from setpoint import Monitor

SEED = 11
SPEED = 1_000_000
"""Rows a second."""


def monitor(constraint: str, alpha: float, *, restart: bool) -> Monitor:
    goal = f"maximize accuracy subject to {constraint}"
    return Monitor(goal=goal, classes=[0, 1], alpha=alpha, restart=restart)


def first_alarms(
    constraint: str, alpha: float, restart: bool, rates: list[tuple[float, int]], streams: int
) -> np.ndarray:
    """The row (streams,) of the first alarm; NaN where there was none.

    The rates are of hits among the rows that the constraint looks at, for so many rows each.
    """
    out = np.full(streams, np.nan)
    n = sum(rows for _, rows in rates)
    ones = np.ones(n, int)
    for i in range(streams):
        r = np.random.default_rng((SEED, i))
        hits = np.concatenate([r.random(rows) < rate for rate, rows in rates]).astype(int)
        recall = constraint.startswith("recall")
        watched = monitor(constraint, alpha, restart=restart)
        watched.update_decisions(*((hits, ones) if recall else (ones, hits)))
        if watched.alarms_:
            out[i] = watched.alarms_[0].row
    return out


def line(good: bool | None, what: str, measured: str, target: str) -> bool:
    print(f"{verdict(good)}  {what:62} {measured:>12}  {target}", flush=True)
    return good is not False


def delay(
    what: str, constraint: str, alpha: float, rates: list[tuple[float, int]], streams: int,
    target: int | None,
) -> bool:  # fmt: skip
    begun = rates[0][1]
    rows = first_alarms(constraint, alpha, True, rates, streams)
    early = rows <= begun
    late = np.where(np.isnan(rows), np.inf, rows)[~early] - begun
    goal = "" if target is None else f"<= {target}"
    median = float(np.median(late)) if late.size else np.nan
    ok = line(None if target is None else median <= target, what, f"{median:.0f}", goal)
    print(f"      alarms before the fall, after {begun:,} rows: {early.mean():.3f}")
    return ok


def main(streams: int, rows: int) -> int:
    ok, at = True, "precision >= 0.9"
    found = first_alarms(at, 0.05, False, [(0.9, rows)], streams)
    share = float(np.mean(~np.isnan(found)))
    what = f"plain, alpha .05: alarms in {streams:,} streams of {rows:,} rows"
    ok &= line(share <= 0.05, what, f"{share:.4f}", "<= 0.05")
    for alpha, rate in ((0.05, 0.9), (0.001, 0.9), (0.001, 0.92)):
        n = min(rows, int(20 / alpha))
        found = first_alarms(at, alpha, True, [(rate, n)], streams)
        mean = float(np.where(np.isnan(found), n, found).mean())
        what = f"restarting, alpha {alpha:g}, precision {rate}: mean rows to an alarm"
        ok &= line(mean >= 1 / alpha, what, f"{mean:,.0f}", f">= {1 / alpha:,.0f}")
    found = first_alarms("recall >= 0.8", 0.05, False, [(0.8, 4_000)], 2 * streams)
    share = float(np.mean(~np.isnan(found)))
    what = "plain, alpha .05, recall .8: alarms in 4,000 positives"
    ok &= line(share <= 0.05, what, f"{share:.4f}", "<= 0.05")
    ok &= delay(
        "restarting, alpha .001, recall .84 -> .70: median delay", "recall >= 0.8", 0.001,
        [(0.84, 1_000), (0.70, 4_000)], streams, 130,
    )  # fmt: skip
    for alpha, begun in ((0.001, 1_000), (1e-5, 10_000), (1e-7, 100_000)):
        ok &= delay(
            f"restarting, alpha {alpha:g}, precision .92 -> .85: median delay", at, alpha,
            [(0.92, begun), (0.85, 20_000)], streams, None,
        )  # fmt: skip
    for constraint, groups in ((at, 1), ("recall.difference(g) <= 0.2", 3)):
        speed = speed_of(constraint, groups)
        what = f"rows a second: {constraint}, {groups} group{'s' if groups > 1 else ''}"
        ok &= line(speed >= SPEED if groups == 1 else None, what, f"{speed:,.0f}", f">= {SPEED:,}")
    return int(not ok)


def speed_of(constraint: str, groups: int, rows: int = 1_000_000) -> float:
    r = np.random.default_rng(SEED)
    names = [f"g{i}" for i in range(groups)]
    watched = Monitor(
        goal=f"maximize accuracy subject to {constraint}", classes=[0, 1],
        groups={"g": names} if groups > 1 else None,
    )  # fmt: skip
    true, decided = (r.integers(0, 2, rows) for _ in range(2))
    sides = {"sensitive_features": {"g": r.choice(names, rows)}} if groups > 1 else {}
    few = {k: {"g": v["g"][:2_000]} for k, v in sides.items()}
    watched.update_decisions(decided[:2_000], true[:2_000], **few)  # compiles
    start = time.perf_counter()
    watched.update_decisions(decided, true, **sides)
    return rows / (time.perf_counter() - start)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--streams", type=int, default=1_000)
    parser.add_argument("--rows", type=int, default=100_000)
    given = parser.parse_args()
    run_with_one_thread(lambda: main(given.streams, given.rows))
