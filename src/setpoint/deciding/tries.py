"""How often rules were tried on the same rows: repeated until one passes, a test shows nothing."""

from __future__ import annotations

from hashlib import blake2b
from typing import Any
from weakref import WeakKeyDictionary

__all__ = ["Tries"]

_KNOWN: WeakKeyDictionary[Any, Tries] = WeakKeyDictionary()


class Tries:
    """The paths that one object has tried, by the rows that they were tried on."""

    def __init__(self) -> None:
        self._paths: dict[bytes, list[bytes]] = {}

    @staticmethod
    def of(owner: Any) -> Tries:
        """The tries of an object, as long as it lives in this process; a copy begins anew."""
        return _KNOWN.setdefault(owner, Tries())

    def number(self, rows: bytes, path: bytes) -> int:
        """Which try on these rows this is, beginning with 1."""
        own = blake2b(path, digest_size=16).digest()
        known = self._paths.setdefault(rows, [])
        if own not in known:
            known.append(own)
        return known.index(own) + 1
