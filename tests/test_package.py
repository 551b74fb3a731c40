"""The package as a whole: lazy, complete, and free of traces of the machine it was written on."""

import ast
import importlib
import subprocess
from pathlib import Path

import pytest

import setpoint
from thinning import over

ROOT = Path(__file__).parents[1]
HEAVY = ["cvxpy", "matplotlib", "numba", "numpy", "pandas", "polars", "scipy", "sklearn", "torch"]
TEXT = {".cfg", ".css", ".html", ".ini", ".json", ".md", ".py", ".sh", ".toml", ".txt", ".yml"}

# Put together from pieces, so that this file does not contain what it looks for.
FORBIDDEN = ["/" + "work/", "/" + "root/", "pypi" + ".org", "python" + "hosted", "/" + "opt/"]


@over("name", setpoint.__all__)
def test_every_public_name_resolves(name):
    assert getattr(setpoint, name) is not None
    assert name in dir(setpoint)


def shown_at(door: Path) -> dict[str, str]:
    """The names that a door shows, and the modules that it takes them from."""
    return {
        alias.name: node.module
        for node in ast.walk(ast.parse(door.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and node.module.startswith("setpoint.")
        for alias in node.names
    }


def test_public_names_are_the_same_everywhere():
    assert set(setpoint.__all__) == {*shown_at(Path(setpoint.__file__)), "__version__"}


ROOMS = {p.parent.name for p in Path(setpoint.__file__).parent.glob("*/__init__.py")}


@over("room", sorted(ROOMS - {"cli"}))  # the shell shows `main` alone
def test_what_a_door_shows_is_there(room):
    door = Path(setpoint.__file__).parent / room / "__init__.py"
    made, shown = importlib.import_module(f"setpoint.{room}"), shown_at(door)
    for name, module in shown.items():
        if module.startswith(f"setpoint.{room}."):
            assert getattr(made, name) is not None
    # A module would take the name's place.
    assert not set(shown) & {p.stem for p in door.parent.iterdir()}
    assert set(shown) <= {*dir(made), *vars(made)}
    with pytest.raises(AttributeError, match="has no attribute 'not_there'"):
        _ = made.not_there


def own_files():
    """Every file that belongs to the repository; without git, every text file outside caches."""
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if listing.returncode == 0:
        return [ROOT / name for name in listing.stdout.split("\0") if name]
    inside = (p for p in ROOT.rglob("*") if p.suffix in TEXT or p.name == "Makefile")
    return [p for p in inside if not any(s.startswith(".") for s in p.relative_to(ROOT).parts)]


def test_no_file_names_a_machine():
    found = []
    for path in own_files():
        if path.is_file():
            text = path.read_bytes().decode("utf-8", errors="ignore")
            found += [f"{path.relative_to(ROOT)}: {word}" for word in FORBIDDEN if word in text]
    assert found == []
