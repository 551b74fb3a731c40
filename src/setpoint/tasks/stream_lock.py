"""One process at a time on a state file."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

from setpoint.errors import InputError

__all__ = ["locked"]

fcntl: ModuleType | None
try:
    import fcntl
except ImportError:  # on Windows
    fcntl = None


@contextmanager
def locked(state: str) -> Iterator[None]:
    """Keep others from a state file while this goes on; beside it lies a file that ends in .lock.

    Raises
    ------
    InputError
        If another process has it, or nothing can be written beside it.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with locked(f"{folder}/a.state"):
    ...         os.listdir(folder)
    ['a.state.lock']
    """
    target = Path(state)
    path = target.with_name(f"{target.name}.lock")
    try:
        number = (
            _owned(path)
            if fcntl is not None
            else os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY)
        )
    except (BlockingIOError, FileExistsError):
        remedy = "wait for it, or name another file"
        if fcntl is None:
            remedy += f"; remove {path} if there is no such process"
        raise InputError(f"`state`: another process learns into {state}; {remedy}") from None
    except OSError as error:
        raise InputError(
            f"`state`: {state} cannot be written: {error.strerror or error}; name a file in a "
            "folder that you may write to"
        ) from None
    try:
        yield
    finally:
        if fcntl is not None:
            path.unlink(missing_ok=True)  # while it is ours
        os.close(number)
        if fcntl is None:  # where files that are open cannot be removed
            path.unlink(missing_ok=True)


def _owned(path: Path) -> int:
    """The file, opened and locked; a process that ends, however it does, leaves the lock."""
    assert fcntl is not None
    while True:
        number = os.open(path, os.O_CREAT | os.O_RDWR)
        try:
            fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if path.exists() and os.path.samestat(os.fstat(number), path.stat()):
                return number  # else whoever had it removed it meanwhile
        except FileNotFoundError:
            pass
        except OSError:
            os.close(number)
            raise
        os.close(number)
