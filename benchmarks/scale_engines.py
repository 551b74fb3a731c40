"""One table on every engine, in other orders and pieces, with workers that die: the same bits.

``python benchmarks/scale_engines.py [--rows 5000000]``. Parquet files are written and removed
afterwards. dask runs with one worker and with two, and in each pass a worker is killed by its id
while it counts; its nanny starts another one.
"""

from __future__ import annotations

import argparse
import os
import resource
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from scale_data import line, parquet

GOAL = "maximize recall subject to precision >= 0.4 and recall.min(region) >= 0.2"
NAMES: dict[str, Any] = {
    "y": "label",
    "scores": "score",
    "sensitive_features": ["region"],
    "decide_on": None,
    "exact": True,
}


def tables(files: str) -> dict[str, Any]:
    """The same rows by every engine, and in other orders."""
    import dask.dataframe
    import duckdb
    import polars

    return {
        "DuckDB": duckdb.read_parquet(files),
        "DuckDB, sorted by label": duckdb.read_parquet(files).order("label, score"),
        "DuckDB, shuffled": duckdb.read_parquet(files).order("hash(score)"),
        "Polars": polars.scan_parquet(files),
        "dask, threads": dask.dataframe.read_parquet(files),
        "dask, other pieces": dask.dataframe.read_parquet(files).repartition(npartitions=7),
    }


@contextmanager
def cluster(workers: int) -> Iterator[Any]:
    """A cluster of processes on this machine."""
    from distributed import Client, LocalCluster

    with (
        LocalCluster(workers, 1, processes=True, dashboard_address=None) as own,
        Client(own) as client,
    ):
        yield client


def solved(table: Any, watch: Any = None) -> tuple[str, float, float]:
    """The rule as text, processor and wall seconds."""
    from setpoint import solve

    start, cpu = time.perf_counter(), time.process_time()
    rule = solve(GOAL, table, **NAMES, watch=watch).rule.to_json()
    return rule, time.process_time() - cpu, time.perf_counter() - start


def killed(client: Any, files: str) -> tuple[str, int]:
    """The rule where a worker dies in each pass, and how many died."""
    import dask.dataframe

    died = []

    def kill() -> None:
        alive = [p for p in client.run(os.getpid).values() if p not in died]
        if alive:
            died.append(alive[0])
            os.kill(alive[0], 9)

    def soon(_: Any = None) -> None:
        threading.Timer(0.4, kill).start()

    soon()
    rule = solved(dask.dataframe.read_parquet(files), watch=soon)[0]
    time.sleep(1.0)
    return rule, len(died)


def main(rows: int) -> bool:
    warnings.simplefilter("ignore")
    good, rules = True, {}
    with parquet(rows) as files:
        for name, table in tables(files).items():
            rules[name], cpu, wall = solved(table)
            line(None, name, f"{cpu:.1f} s CPU, {wall:.1f} s", "")
        import dask.dataframe

        walls = []
        for workers in (1, 2):
            with cluster(workers) as client:
                table = dask.dataframe.read_parquet(files)
                solved(table)  # kernels are compiled on each worker
                rules[f"dask, {workers} workers"], _, wall = solved(table)
                walls.append(wall)
                line(None, f"dask, {workers} worker{'s'[: workers - 1]}", f"{wall:.1f} s wall", "")
                if workers == 2:
                    rules["a worker killed in each pass"], n = killed(client, files)
                    line(None, "workers killed", str(n), "")
        line(None, "two workers over one, wall", f"{walls[1] / walls[0]:.2f}", "")
        distinct = len(set(rules.values()))
        good &= line(distinct == 1, f"rules of {len(rules)} ways", f"{distinct}", "1")
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        line(None, "peak memory of this process, all engines inside", f"{peak:.0f} MB", "")
    return good


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=5_000_000)
    sys.exit(not main(parser.parse_args().rows))
