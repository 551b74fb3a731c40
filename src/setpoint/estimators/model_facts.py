"""What a model file says of itself: its format, the versions that wrote it, and when."""

from __future__ import annotations

import json
import os
import zipfile
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

from setpoint.estimators.model_archive import (
    FACTS,
    ModelFileError,
    as_size,
    read_member,
)

__all__ = ["FORMAT", "facts_in", "facts_of"]

FORMAT = 3
"""Version of model files; a reader refuses any other."""

_LONGEST = 1 << 20
"""Bytes of the facts. As objects JSON takes up to 24 times as many."""


def facts_of() -> bytes:
    """What a file that is written now will say of itself, as JSON."""
    import numpy
    import sklearn

    facts = {
        "format": FORMAT,
        "setpoint": version("setpoint"),
        "scikit_learn": sklearn.__version__,
        "numpy": numpy.__version__,
        "written": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    return json.dumps(facts).encode()


def facts_in(archive: zipfile.ZipFile, path: str | os.PathLike[str]) -> dict[str, Any]:
    """What an open archive says of itself; nothing for a file that skops itself wrote."""
    if FACTS not in archive.namelist():
        return {}
    info = archive.getinfo(FACTS)
    if info.file_size > _LONGEST:
        raise ModelFileError(
            f"{path} is not a model file: its {FACTS} takes {as_size(info.file_size)}, "
            f"{as_size(_LONGEST)} are allowed"
        )
    try:
        found = json.loads(read_member(archive, info, path))
        written = found["format"]
        if not isinstance(written, int) or isinstance(written, bool):
            raise KeyError("format")
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        if isinstance(error, ModelFileError):
            raise
        raise ModelFileError(
            f"{path} is damaged: its {FACTS} is not what setpoint writes"
        ) from None
    if written != FORMAT:
        mend = "install a newer one" if written > FORMAT else "fit the model again and save it"
        by = str(found.get("setpoint", "?")).encode("unicode_escape").decode()
        raise ModelFileError(
            f"{path} was written by setpoint {by} in format {written}; this is setpoint "
            f"{version('setpoint')}, which reads format {FORMAT}: {mend}"
        )
    return dict(found)
