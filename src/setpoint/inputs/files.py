"""Files that are whole or not there, and checkpoints, from which a run that ended goes on."""

from __future__ import annotations

import os
import secrets
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from setpoint.errors import InputError

_WORDS = {
    "rows": "the number of rows",
    "features": "the number of features",
    "data": "the digest of the rows",
}
"""Of what is remembered beside arguments."""


class CheckpointError(InputError):
    """A checkpoint that is damaged, not a checkpoint, not to be written, or of another run."""

    def __init__(
        self,
        message: str = "",
        *,
        path: str | os.PathLike[str] | None = None,
        setting: str | None = None,
        was: Any = None,
        now: Any = None,
    ) -> None:
        super().__init__(message)
        self.path, self.setting, self.was, self.now = path, setting, was, now


def check_writable(path: Path) -> None:
    """Know before any work whether a checkpoint can be written."""
    folder = path.absolute().parent
    if not folder.is_dir():
        raise CheckpointError(f"`checkpoint`: there is no folder for {path}", path=path)
    if path.is_dir():
        raise CheckpointError(
            f"`checkpoint`: {path} is a folder; a checkpoint is a file", path=path
        )
    try:  # the folder may not be writable, or no real one
        with tempfile.NamedTemporaryFile(dir=folder, prefix=f"{path.name}."):
            pass
    except OSError as error:
        raise CheckpointError(
            f"`checkpoint`: {path} cannot be written: {error.strerror or error}", path=path
        ) from None


def check_settings(path: Path, found: Mapping[str, Any], wanted: Mapping[str, Any]) -> None:
    """Refuse the checkpoint of another training."""
    for name in [*wanted, *found]:
        was, now = found.get(name, "not set"), wanted.get(name, "not set")
        if was != now:
            raise CheckpointError(
                f"{path} is of another training: {_WORDS.get(name, f'`{name}`')} was {was} and is "
                f"{now} now; give another `checkpoint`, or remove the file to start anew",
                path=path,
                setting=name,
                was=was,
                now=now,
            )


def atomic_write(path: str | os.PathLike[str], data: bytes) -> None:
    """Write a file; an old one stays until the new one is whole."""
    with whole_file(path) as file:
        file.write(data)


@contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """A file that appears under its name when it is whole; an old one stays until then."""
    target = Path(path)
    if target.exists() and not target.is_file():
        with target.open("wb") as file:
            yield file
        return
    target = target.resolve()
    part = target.with_name(f"{target.name}.{secrets.token_hex(4)}.part")
    try:
        with part.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)
