"""Files that a command will write: checked before the work, whole or not there."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from setpoint.cli.errors import CommandError
from setpoint.cli.session import current

__all__ = ["check_outputs", "keep_old_on_error", "writing"]


def check_outputs(
    outputs: Mapping[str, str | None],
    inputs: Mapping[str, str],
    datasets: Mapping[str, str] | None = None,
) -> None:
    """Find out before the work what would fail after it."""
    inputs = {**inputs, **{f"--dataset {name}": path for name, path in (datasets or {}).items()}}
    taken = {_same(path): f"{what} {path}" for what, path in inputs.items() if path != "-"}
    for what, path in outputs.items():
        if path is None or path == "-":
            continue
        target = Path(path)
        folder = target.resolve().parent
        if target.is_dir():
            raise CommandError(f"{what}: {path} is a folder; name a file in it")
        if not folder.is_dir():
            raise CommandError(f"{what}: there is no folder {folder}; make it with mkdir -p")
        if target.exists() and not target.is_file():
            if what == "-o":
                continue  # a device or a pipe, written to as it is
            raise CommandError(f"{what}: {path} is not a plain file")
        if not os.access(folder, os.W_OK):
            raise CommandError(f"{what}: the folder {folder} is not writable")
        if _same(path) in taken:
            raise CommandError(
                f"{what}: {path} would overwrite {taken[_same(path)]}; name another file"
            )
        taken[_same(path)] = f"{what} {path}"


def _same(path: str) -> str:
    return str(Path(path).resolve())


@contextmanager
def keep_old_on_error(path: str) -> Iterator[None]:
    """Say of a file that could not be written that the old one is still there."""
    there = Path(path).is_file()
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        stays = f"; the old {path} stays" if there else ""
        raise CommandError(f"{path} cannot be written: {error.strerror or error}{stays}") from error


@contextmanager
def writing(path: str) -> Iterator[None]:
    """A step in which a file is written that the command may name in its last words."""
    session = current()
    session.expect(path)
    with session.step(f"writing {path}"), keep_old_on_error(path):
        yield
