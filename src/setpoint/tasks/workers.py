"""The processes of ``--jobs``: none is left when the work is done."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["worker_pool"]

_QUIET = "ignore:resource_tracker:UserWarning"


@contextmanager
def worker_pool(jobs: int | None) -> Iterator[None]:
    """End joblib's processes, which else wait for more work, also after errors and Ctrl-C.

    Parameters
    ----------
    jobs : int or None
        With None or 1 there are none.

    Examples
    --------
    >>> with worker_pool(None):
    ...     pass
    """
    if jobs in (None, 1):
        yield
        return
    # joblib gives its folders up in functions that run at exit, and the shell ends without
    # them: joblib's own tracker removes the folders then, and would warn of each.
    before = os.environ.get("PYTHONWARNINGS")
    os.environ["PYTHONWARNINGS"] = f"{before},{_QUIET}" if before else _QUIET
    try:
        yield
    finally:
        from joblib.externals.loky import get_reusable_executor

        # reuse: the one that is there, whatever it was started with.
        get_reusable_executor(reuse=True).shutdown(wait=True, kill_workers=True)
        if before is None:
            del os.environ["PYTHONWARNINGS"]
        else:
            os.environ["PYTHONWARNINGS"] = before
