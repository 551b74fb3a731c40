"""The processes of ``--jobs``: none is left when the work is done."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["worker_pool"]


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
    try:
        yield
    finally:
        from joblib.externals.loky import get_reusable_executor

        # reuse: the one that is there, whatever it was started with.
        get_reusable_executor(reuse=True).shutdown(wait=True, kill_workers=True)
