"""Checkpoints of passes: between two of them the tally is all there is."""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from typing import Any
from zipfile import BadZipFile, is_zipfile

import numpy as np

from setpoint.counting.source import GroupBy, Key, Rest
from setpoint.errors import InputError, InputTypeError
from setpoint.evidence.counts import Counts
from setpoint.evidence.tally import Bins, Tally
from setpoint.goals.goal import Goal
from setpoint.inputs.frames import FrameRows

__all__ = ["Checkpoint"]

_FORMAT = 1
_LOOKED_AT = 10_000
_ARRAYS = (
    "codes", "bin", "rows", "weight", "squares", "low", "high", "least", "most", "rounded",
)  # fmt: skip


@dataclass
class Checkpoint:
    """A file that holds the counts so far."""

    path: Any
    goal: Goal
    rows: Mapping[str | None, FrameRows]
    asked: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not isinstance(self.path, (str, os.PathLike)):
            raise InputTypeError(
                f"`checkpoint` is the path of a file, found {type(self.path).__name__}"
            )
        self.path = Path(self.path)
        if not self.path.parent.is_dir():
            raise InputError(f"`checkpoint`: there is no folder {str(self.path.parent)!r}")
        if self.path.is_dir():
            raise InputError(f"`checkpoint`: {str(self.path)!r} is a folder; name a file in it")
        try:  # before any pass, not after it
            with self._new.open("ab"):
                pass
            self._new.unlink()
        except OSError as error:
            raise InputError(
                f"`checkpoint`: {str(self.path)!r} cannot be written ({error.strerror})"
            ) from None

    def read(self) -> tuple[dict[str | None, GroupBy], dict[str | None, Counts]] | None:
        """The counts of the first pass; None where there is no file yet."""
        if not self.path.exists():
            return None
        try:
            if not is_zipfile(self.path):
                raise InputError("no archive of arrays")
            with np.load(self.path, allow_pickle=False) as stored:
                arrays = dict(stored)
            head = json.loads(str(arrays.pop("head")))
        except (ValueError, KeyError, OSError, EOFError, BadZipFile, zlib.error) as error:
            raise InputError(
                f"`checkpoint`: {str(self.path)!r} is not one, or is damaged ({error}); name "
                "another file, or remove it"
            ) from None
        for what, own in self._head().items():
            if head.get(what) != own:
                raise InputError(
                    f"`checkpoint`: {str(self.path)!r} is of another {what}: "
                    f"{head.get(what)!r}, and not {own!r}; name another file, or remove it"
                )
        self._arrays = arrays
        by, counts = {}, {}
        for k, name in enumerate(self.rows):
            if f"{k} rows" not in arrays:
                continue
            own_by = head["by"][k]
            keys = tuple(Key(n, None if o is None else tuple(o)) for n, o in own_by["keys"])
            by[name] = GroupBy(keys, own_by["score"], own_by["weight"], own_by["q"])
            levels = tuple(
                [Rest.REST if v == {"rest": True} else v for v in level]
                for level in own_by["levels"]
            )
            counts[name] = Counts(levels, *(arrays[f"{k} {a}"] for a in _ARRAYS))
        return by, counts

    def refined(self, tally: Tally) -> Tally:
        """The tally with the bins of the last pass that was stored."""
        bins = []
        for s, own in enumerate(tally.bins):
            low, high, counts = (self._arrays[f"bins {s} {a}"] for a in ("low", "high", "counts"))
            bins.append(Bins(low, high, counts, own.kinds))
        return replace(tally, bins=tuple(bins))

    def write(
        self,
        by: Mapping[str | None, GroupBy],
        counts: Mapping[str | None, Counts],
        tally: Tally,
    ) -> None:
        """Store the first counts and the bins as they are; the file is there whole or not."""
        arrays: dict[str, Any] = {}
        stored: list[Any] = []
        for k, name in enumerate(self.rows):
            if name not in counts:
                stored.append(None)
                continue
            own, group = counts[name], by[name]
            stored.append(
                {
                    "keys": group.keys,
                    "score": group.score,
                    "weight": group.weight,
                    "q": group.q,
                    "levels": [
                        [{"rest": True} if v is Rest.REST else v for v in level]
                        for level in own.levels
                    ],
                }
            )
            arrays |= {f"{k} {a}": getattr(own, a) for a in _ARRAYS}
        for s, bins in enumerate(tally.bins):
            arrays |= {
                f"bins {s} low": bins.low,
                f"bins {s} high": bins.high,
                f"bins {s} counts": bins.counts,
            }
        head = json.dumps({**self._head(), "by": stored})
        with self._new.open("wb") as file:
            np.savez_compressed(file, head=np.array(head), **arrays)
        self._new.replace(self.path)

    @property
    def _new(self) -> Path:
        return Path(self.path).with_name(f"{self.path.name}.new")

    def _head(self) -> dict[str, Any]:
        columns = [
            [name, own.y, own.score, own.weight, own.baseline, list(own.columns)]
            for name, own in self.rows.items()
        ]
        sizes = [own.source.rows() for own in self.rows.values()]
        asked = {name: json.loads(json.dumps(v, default=str)) for name, v in self.asked.items()}
        return {
            "format": _FORMAT,
            "goal": str(self.goal),
            "columns": columns,
            **asked,
            "table": [sizes, self._beginnings],
        }

    @cached_property
    def _beginnings(self) -> list[str]:
        """What tells tables of as many rows apart: the scores that they begin with."""
        out = []
        for own in self.rows.values():
            assert own.score is not None
            scores = np.sort(own.source.sample(own.score, None, _LOOKED_AT))
            digest = blake2b((scores + 0.0).tobytes(), digest_size=8).hexdigest()
            out.append(f"{own.source.engine} {digest}")
        return out
