"""Write the lowest versions that pyproject.toml allows, as constraints for pip.

    python tools/lowest_versions.py [EXTRA ...] > constraints

One line `name==version` for each package that setpoint needs, and for each that the named
extras need. `make test-lowest` installs these and runs the tests with them.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

PYPROJECT = Path(__file__).parent.parent / "pyproject.toml"

_NEED = re.compile(
    r"(?P<name>[A-Za-z0-9._-]+)\s*(?:\[(?P<extras>[^\]]*)\])?\s*(?P<bounds>[^;]*?)\s*(?:;.*)?"
)
_LOWEST = re.compile(r">=\s*([0-9][^,\s]*)")


def needs(project: Mapping[str, Any], extras: Sequence[str]) -> Iterator[str]:
    """Each requirement of the project and of its `extras`, those of extras in extras too."""
    waiting, seen = list(extras), set()
    yield from project["dependencies"]
    while waiting:
        extra = waiting.pop(0)
        if extra in seen:
            continue
        seen.add(extra)
        if extra not in project["optional-dependencies"]:
            known = ", ".join(sorted(project["optional-dependencies"]))
            raise ValueError(f"no extra {extra!r}; there are {known}")
        for need in project["optional-dependencies"][extra]:
            found = _NEED.fullmatch(need)
            if found and found["name"] == project["name"]:
                waiting += [e.strip() for e in (found["extras"] or "").split(",")]
            else:
                yield need


def lowest(project: Mapping[str, Any], extras: Sequence[str]) -> dict[str, str]:
    """The lowest version of each package; of two bounds on one package the higher.

    Raises
    ------
    ValueError
        If a requirement has no lowest version, or an extra does not exist.
    """
    out: dict[str, str] = {}
    for need in needs(project, extras):
        found = _NEED.fullmatch(need)
        bound = _LOWEST.search(found["bounds"]) if found else None
        if found is None or bound is None:
            raise ValueError(f"{need!r} has no lowest version: write name>=version")
        name = found["name"].lower()
        out[name] = max(out.get(name, bound[1]), bound[1], key=_numbers)
    return out


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version))


def main() -> int:
    """Print the constraints for the extras that the command line names."""
    project = tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))["project"]
    for name, version in lowest(project, sys.argv[1:]).items():
        print(f"{name}=={version}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
