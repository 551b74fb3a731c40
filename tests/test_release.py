"""What a release says of itself in several places is the same everywhere."""

import re
import runpy
import tomllib
from pathlib import Path

import setpoint

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def cited():
    """The plain entries of CITATION.cff: a name, a colon, a value."""
    text = (ROOT / "CITATION.cff").read_text("utf-8")
    assert all(re.match(r"[a-z-]+:|  | *#", line) for line in text.splitlines())
    return dict(re.findall(r'^([a-z-]+): +"?(.+?)"?$', text, re.MULTILINE))


def test_the_citation_agrees_with_the_project():
    found = cited()
    assert found["cff-version"] == "1.2.0"
    names = ("title", "version", "license")
    assert [found[n] for n in names] == [PROJECT[n] for n in ("name", "version", "license")]
    assert {"message", "type", "abstract", "date-released"} <= found.keys()


def test_the_changelog_begins_with_this_version():
    text = (ROOT / "CHANGELOG.md").read_text("utf-8")
    version, date = re.search(r"^## (\S+) - (\d{4}-\d\d-\d\d)$", text, re.MULTILINE).groups()
    assert (version, date) == (PROJECT["version"], cited()["date-released"])


def test_the_package_is_of_this_version():
    assert setpoint.__version__ == PROJECT["version"]


def test_a_wheel_that_lacks_a_file_or_has_another_is_noticed():
    tool = runpy.run_path(str(ROOT / "tools" / "try_wheel.py"))
    sources = tool["sources_of"](ROOT / "src" / "setpoint")
    assert {"setpoint/py.typed", "setpoint/classifiers/stored_types.txt"} <= set(sources)
    assert {Path(name).suffix for name in sources} >= {".py", ".j2", ".css", ".txt"}
    beside = "setpoint-0.1.0.dist-info/METADATA"
    assert tool["differences"]([*sources, beside], sources) == []
    assert tool["differences"]([*sources[1:], "setpoint/x.nbc"], sources) == [
        f"the wheel lacks {sources[0]}",
        "the wheel has setpoint/x.nbc, the sources do not",
    ]
