"""What the benchmarks on tables elsewhere share: rows made up by DuckDB, processes measured.

Rows: a score that is a double in (0, 1), a label with 5 % positives, one of four regions and a
weight, in 50 Parquet files. No command of its own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

FILES = 50
REGIONS = ("north", "south", "east", "west")
SEED = 0.21

_ROWS = """
SELECT 1 / (1 + exp(-(z + 1.8 * label - 2 + 0.15 * r))) AS score,
       label::TINYINT AS label, (['north', 'south', 'east', 'west'])[r + 1] AS region,
       (1 + floor(u * 8)) / 4 AS w
FROM (
    SELECT (random() < 0.05)::INT AS label, floor(random() * 4)::INT AS r, random() AS u,
           sqrt(-2 * ln(1 - random())) * cos(2 * pi() * random()) AS z
    FROM range({n})
)
"""


@contextmanager
def parquet(rows: int, *, columns: str = "score, label, region") -> Iterator[str]:
    """A glob of Parquet files with so many rows, removed afterwards."""
    import duckdb

    with tempfile.TemporaryDirectory(prefix="setpoint-scale-") as folder:
        with duckdb.connect() as con:
            con.execute("SET threads = 1")
            con.execute(f"SELECT setseed({SEED})")
            each = -(-rows // FILES)
            for k in range(FILES):
                n = min(each, rows - k * each)
                path = Path(folder, f"part-{k:02}.parquet")
                query = f"SELECT {columns} FROM ({_ROWS.format(n=n)})"
                con.execute(f"COPY ({query}) TO '{path}' (FORMAT parquet)")
        yield str(Path(folder, "*.parquet"))


_MEASURED = """
import json, resource, sys, time
start, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_SELF)
{code}
after = resource.getrusage(resource.RUSAGE_SELF)
cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
print(json.dumps(dict(out, cpu=cpu, wall=time.perf_counter() - start, peak=after.ru_maxrss / 1024)))
"""


def measured(code: str, **names: Any) -> dict[str, Any]:
    """What a process of its own leaves in `out`, with its CPU and wall seconds and peak MB.

    What it imports before the clock starts is in `names` as ``imports``.
    """
    imports = names.pop("imports", "")
    given = "".join(f"{k} = {v!r}\n" for k, v in names.items())
    text = f"{imports}\n{given}{_MEASURED.format(code=code)}"
    run = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", text],
        capture_output=True,
        text=True,
        check=False,
        env=dict(os.environ),
    )
    if run.returncode:
        raise RuntimeError(run.stderr)
    found: dict[str, Any] = json.loads(run.stdout.splitlines()[-1])
    return found


def seconds(call: Any) -> tuple[float, Any]:
    """Processor seconds of a call in this process, and what it returns."""
    start = time.process_time()
    out = call()
    return time.process_time() - start, out


def line(good: bool | None, what: str, found: str, target: str) -> bool:
    """Print a figure beside its target; whether it is reached."""
    mark = {True: "ok  ", False: "MISS", None: "    "}[good]
    print(f"{mark}  {what:66} {found:>22}  {target}", flush=True)
    return good is not False
