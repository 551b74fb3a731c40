"""What a command costs as a process of its own: CPU seconds and memory, of it and its children."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Cost", "cost_of", "median_cost", "setpoint_command"]

_ENVIRONMENT = {
    # One thread each: what is compared are the same sums, not how well they share two cores.
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    # Modules are compiled once, as those of an installed package are.
    "PYTHONDONTWRITEBYTECODE": "",
}


@dataclass(frozen=True)
class Cost:
    """What a process took.

    Parameters
    ----------
    cpu : float
        Seconds, of the user and the system.
    memory : float
        Peak, in MB.
    """

    cpu: float
    memory: float


def setpoint_command(*words: str) -> list[str]:
    """A command of setpoint, by this interpreter."""
    return [sys.executable, "-m", "setpoint.cli", *words]


def cost_of(command: Sequence[str], *, codes: Sequence[int] = (0, 3, 4)) -> Cost:
    """Run a command to its end; its output is thrown away.

    Parameters
    ----------
    codes : sequence of int
        Exit codes that are no error; setpoint ends with 3 and 4 for verdicts.

    Raises
    ------
    RuntimeError
        If it ended otherwise.
    """
    process = subprocess.Popen(
        command,
        env=os.environ | _ENVIRONMENT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in codes:
        raise RuntimeError(f"{' '.join(command)} ended with {process.returncode}")
    return Cost(used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)


def median_cost(command: Sequence[str], repeats: int, *, codes: Sequence[int] = (0, 3, 4)) -> Cost:
    """Medians of some fresh processes, after one that fills caches."""
    cost_of(command, codes=codes)
    costs = [cost_of(command, codes=codes) for _ in range(repeats)]
    return Cost(statistics.median(c.cpu for c in costs), statistics.median(c.memory for c in costs))
