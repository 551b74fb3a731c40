"""Where a training stands, in one file that is read without executing anything."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setpoint.estimators.modules import needed
from setpoint.inputs.files import CheckpointError, atomic_write, check_settings, check_writable
from setpoint.penalty.losses import Lifted
from setpoint.penalty.problem import Cut
from setpoint.penalty.selection import Pool, TrainedCandidate, TrainingPlan
from setpoint.search.limits import TracePoint

_FORMAT = "2"
_TUPLES = {"Cut": Cut, "Lifted": Lifted, "TracePoint": TracePoint}

Arrays = dict[str, NDArray[Any]]


class Checkpoint:
    """A file to go on from.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     checkpoint = Checkpoint(Path(folder, "a.checkpoint"), {"seed": 0})
    ...     checkpoint.write({"stage": 1, "scores": np.array([0.1, 0.2])})
    ...     checkpoint.read()
    ...     Checkpoint(checkpoint.path, {"seed": 1}).read()
    Traceback (most recent call last):
    ...
    setpoint.inputs.files.CheckpointError: ... is of another training: `seed` was 0 and
    is 1 now; give another `checkpoint`, or remove the file to start anew
    """

    def __init__(
        self, path: str | os.PathLike[str], settings: Mapping[str, Any], every: float = 60.0
    ) -> None:
        self.path, self.every = Path(path), every
        self.settings: dict[str, Any] = json.loads(json.dumps(dict(settings), default=_plain))
        self._written = time.monotonic()
        check_writable(self.path)

    @property
    def due(self) -> bool:
        """Whether it is time to write."""
        return time.monotonic() - self._written >= self.every

    def write(self, state: Mapping[str, Any]) -> None:
        """Replace the file."""
        arrays: Arrays = {}
        text = json.dumps(_encoded(dict(state), arrays))
        settings = json.dumps(self.settings)
        metadata = {"setpoint checkpoint": _FORMAT, "settings": settings, "state": text}
        metadata["checksum"] = _checksum(settings, text, arrays)
        atomic_write(self.path, needed("safetensors.numpy").save(arrays, metadata))
        self._written = time.monotonic()

    def read(self) -> dict[str, Any] | None:
        """What was written last; None where there is no file. The file is left as it is."""
        if not self.path.exists():
            return None
        metadata, arrays = self._opened()
        if "setpoint checkpoint" not in metadata:
            raise CheckpointError(
                f"{self.path} is not a checkpoint; it was left as it is", path=self.path
            )
        if metadata["setpoint checkpoint"] != _FORMAT:
            raise CheckpointError(
                f"{self.path} is a checkpoint in format {metadata['setpoint checkpoint']}, and "
                f"this setpoint reads format {_FORMAT}",
                path=self.path,
            )
        settings, text = metadata.get("settings", ""), metadata.get("state", "")
        if metadata.get("checksum") != _checksum(settings, text, arrays):
            raise CheckpointError(
                f"{self.path} is damaged: its checksum does not fit", path=self.path
            )
        self._check_settings(json.loads(settings))
        out: dict[str, Any] = _decoded(json.loads(text), arrays)
        return out

    def remove(self) -> None:
        """The training is over; what killed trainings left half written goes as well."""
        self.path.unlink(missing_ok=True)
        for part in self.path.absolute().parent.glob("*.part"):
            if part.name.startswith(f"{self.path.name}."):
                part.unlink(missing_ok=True)

    def _opened(self) -> tuple[dict[str, str], Arrays]:
        error = needed("safetensors").SafetensorError
        try:
            with needed("safetensors").safe_open(self.path, framework="np") as file:
                arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
                return file.metadata() or {}, arrays
        except (error, OSError, TypeError, AttributeError) as why:
            raise CheckpointError(
                f"{self.path} is not a checkpoint, or was cut short; it was left as it is: give "
                "another `checkpoint`, or remove the file to start anew",
                path=self.path,
            ) from why

    def _check_settings(self, found: dict[str, Any]) -> None:
        check_settings(self.path, found, self.settings)


# ---------------------------------------------------------------------- pools
def pool_state(plan: TrainingPlan) -> dict[str, Any]:
    """The candidates so far and what was noted."""
    pool = plan.pool
    return {
        "best": {name: [c.parameters, c.cut, c.method] for name, c in pool.best.items()},
        "trace": list(pool.limits.trace),
        "n_offered": pool.limits.calls,
        "seconds": pool.limits.seconds,
        "notes": list(plan.notes),
        **_beside_state(pool),
    }


def restore_pool(plan: TrainingPlan, state: dict[str, Any]) -> None:
    """Go on from :func:`pool_state`."""
    pool = plan.pool
    pool.best = {name: TrainedCandidate(*parts) for name, parts in state["best"].items()}
    pool.limits.resume(state["n_offered"], state["trace"], state["seconds"])
    plan.notes[:] = state["notes"]
    if pool.beside is not None:
        made = [TrainedCandidate(*parts) for parts in state["kept"]]
        pool.beside.best = [None if i is None else made[i] for i in state["at"]]
        pool.beside.values = state["values"]


def _beside_state(pool: Pool[Any]) -> dict[str, Any]:
    """The candidates that are best at some margin, each once."""
    if pool.beside is None:
        return {}
    kept = pool.beside.kept
    place = {id(c): i for i, c in enumerate(kept)}
    return {
        "kept": [[c.parameters, c.cut, c.method] for c in kept],
        "at": [None if c is None else place[id(c)] for c in pool.beside.best],
        "values": pool.beside.values,
    }


# ---------------------------------------------------------------------- values as JSON
def _encoded(value: Any, arrays: Arrays) -> Any:
    """JSON, whose arrays are elsewhere and whose tuples, bytes and dicts are marked."""
    if isinstance(value, np.ndarray | bytes):
        kind = "bytes" if isinstance(value, bytes) else "array"
        name = str(len(arrays))
        own = np.frombuffer(value, np.uint8) if isinstance(value, bytes) else value
        arrays[name] = np.ascontiguousarray(own).reshape(own.shape)
        return {kind: name}
    if isinstance(value, tuple):
        parts = [_encoded(part, arrays) for part in value]
        return {type(value).__name__: parts}
    if isinstance(value, list):
        return [_encoded(part, arrays) for part in value]
    if isinstance(value, dict):
        return {"dict": {name: _encoded(part, arrays) for name, part in value.items()}}
    return _plain(value)


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _decoded(value: Any, arrays: Arrays) -> Any:
    if isinstance(value, list):
        return [_decoded(part, arrays) for part in value]
    if not isinstance(value, dict):
        return value
    ((kind, inner),) = value.items()
    if kind == "bytes":
        return arrays[inner].tobytes()
    if kind == "array":
        return arrays[inner]
    if kind == "dict":
        return {name: _decoded(part, arrays) for name, part in inner.items()}
    parts = [_decoded(part, arrays) for part in inner]
    return _TUPLES[kind](*parts) if kind in _TUPLES else tuple(parts)


def _checksum(settings: str, text: str, arrays: Arrays) -> str:
    out = hashlib.blake2b(digest_size=16)
    for part in (settings, text):
        out.update(f"{len(part)}:{part}".encode())
    for name in sorted(arrays):
        array = arrays[name]
        out.update(f"{name}:{array.dtype.str}:{array.shape}".encode())
        out.update(array.tobytes())
    return out.hexdigest()
