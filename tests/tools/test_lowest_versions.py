"""The constraints that `make test-lowest` installs."""

import runpy
from pathlib import Path

import pytest

tool = runpy.run_path(str(Path(__file__).parents[2] / "tools" / "lowest_versions.py"))

PROJECT = {
    "name": "house",
    "dependencies": ["numpy>=2,<3", "narwhals >= 2.10"],
    "optional-dependencies": {
        "cli": ["house[page]", "click>=8.2,<9", "dask[dataframe]>=2025.1; python_version > '3'"],
        "page": ["Jinja2>=3.1,!=3.1.4", "click>=8.10"],
        "open": ["pandas<4"],
    },
}


def test_extras_are_followed_and_the_higher_bound_counts():
    assert tool["lowest"](PROJECT, ["cli"]) == {
        "numpy": "2", "narwhals": "2.10", "click": "8.10", "dask": "2025.1", "jinja2": "3.1",
    }  # fmt: skip
    assert tool["lowest"](PROJECT, []) == {"numpy": "2", "narwhals": "2.10"}


def test_what_has_no_lowest_version_is_named():
    with pytest.raises(ValueError, match="'pandas<4' has no lowest version"):
        tool["lowest"](PROJECT, ["open"])
    with pytest.raises(ValueError, match="no extra 'clj'; there are cli, open, page"):
        tool["lowest"](PROJECT, ["clj"])


def test_every_dependency_of_setpoint_has_a_lowest_version(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["lowest_versions.py", "dev", "docs"])
    assert tool["main"]() == 0
    lines = capsys.readouterr().out.split()
    assert {"numpy", "click", "pytest", "torch"} <= {line.split("==")[0] for line in lines}
    assert len(lines) == len({line.split("==")[0] for line in lines})
