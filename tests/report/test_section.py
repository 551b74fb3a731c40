"""Sections go through JSON; one of a room that is not imported keeps its words and its bytes."""

import json
import subprocess
import sys
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pytest

from report.page_reading import page_text
from report.pages import PLAIN, adaptive_summary, floor, line, three
from setpoint.online import StreamSummary
from setpoint.report import GoalReport, Prices, SearchTrace, TextSection

pytestmark = pytest.mark.filterwarnings("ignore::setpoint.FewRowsWarning")

KNOWN = [
    Prices("mean cost", -3.5, (("accepting nobody", 7.0), ("accepting all", float("inf"))), 4.0),
    Prices("mean cost", 3.0, ()),
    SearchTrace(((1, 0.1, float("inf"), 0.5), (2, 0.2, 0.4, 0.0)), of_passes=False),
    SearchTrace(()),
    StreamSummary(0.3, 0.1, 8, 2, 2, 88, 50, 0.8, 4, 1, 1, 44, 1.1, 0.0, 0.012, 3, 4),
    adaptive_summary(),
    TextSection("The data", ("569 rows", "from <wdbc>.csv")),
]


def stored(*sections):
    """A report in JSON with these sections."""
    return PLAIN.to_dict() | {"sections": list(sections)}


def test_sections_go_to_json_and_back():
    for section in KNOWN:
        report = replace(PLAIN, sections=(section,))
        (data,) = json.loads(json.dumps(report.to_dict(), allow_nan=False))["sections"]
        assert set(data) == {"name", "title", "lines", "values"}
        assert data["lines"] == list(section.lines())
        back = GoalReport.from_json(report.to_json())
        assert back == report != PLAIN
        assert type(back.sections[0]) is type(section)
        assert report.section(section.name) == section


def test_frontiers_and_curves():
    for report in (floor(), three()):
        back = GoalReport.from_json(report.to_json())
        assert [s.name for s in back.sections] == [s.name for s in report.sections]
        assert back.section("operating") == report.section("operating")
        assert back.to_json() == report.to_json()
    (found,) = GoalReport.from_json(floor().to_json()).section("frontiers").items
    np.testing.assert_array_equal(found.values, line().values)


UNKNOWN = {
    "title": "The weather",
    "name": "weather",
    "values": {"wind": [1, 2.5, "inf", None], "deep": {"b": True, "a": "é\u2028"}},
    "lines": ["It rains.", "It <b>pours</b>."],
}


def test_an_unknown_section_is_read_as_sentences_and_written_back_byte_for_byte():
    text = json.dumps(stored(UNKNOWN), ensure_ascii=False)
    report = GoalReport.from_json(text)
    assert report.sections == (
        TextSection("The weather", ("It rains.", "It <b>pours</b>."), UNKNOWN),
    )
    assert "\nThe weather\n  It rains.\n" in str(report)
    assert "<li>It &lt;b&gt;pours&lt;/b&gt;.</li>" in report._repr_html_()
    page = page_text(report)
    assert "The weather" in page
    assert "<b>pours" not in page
    assert report.to_json() == text
    written = report.to_dict()["sections"][0]
    written["title"] = "other"
    assert report.to_dict()["sections"] == [UNKNOWN]


def test_a_room_that_is_not_imported():
    """Who reads a report of a stream needs nothing of the room for streams."""
    report = replace(PLAIN, sections=(KNOWN[4],))
    code = (
        "import sys\n"
        "from setpoint.report import GoalReport, TextSection\n"
        "text = sys.stdin.read()\n"
        "report = GoalReport.from_json(text)\n"
        "assert 'setpoint.online.notes' not in sys.modules\n"
        "assert isinstance(report.sections[0], TextSection)\n"
        "assert report.to_json() == text\n"
        "print(report)\n"
        "from setpoint.online import StreamSummary\n"
        "assert isinstance(report.section('stream'), StreamSummary)\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code], input=report.to_json(), capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout == f"{report}\n"


def test_what_is_not_a_section():
    spoilt = [None, "text", 3, [["name", "text"]]]
    for section in (*KNOWN[:6], floor().section("operating"), floor().section("frontiers")):
        (data,) = replace(PLAIN, sections=(section,)).to_dict()["sections"]
        (_, *less), values = data["values"].items(), data["values"]
        spoilt += [data | {"values": v} for v in (values | {"zzz": 1}, dict(less))]
    for gone in ("name", "title", "lines"):
        spoilt.append({k: v for k, v in UNKNOWN.items() if k != gone})
    for data in spoilt:
        with pytest.raises(ValueError, match="not a report"):
            GoalReport.from_dict(stored(data))
    with pytest.raises(TypeError, match="got one text"):
        TextSection("The data", "569 rows")


def test_any_object_with_the_four_parts_is_a_section():
    @dataclass(frozen=True)
    class Weather:
        name: ClassVar[str] = "weather"
        title: ClassVar[str] = "The weather"
        wind: float = 2.0

        def to_dict(self):
            return {"wind": self.wind}

        def lines(self):
            return [f"Wind {self.wind:g}."]

        def pictures(self, facts):
            return ()

    report = replace(PLAIN, sections=(Weather(),))
    assert str(report).endswith("\nThe weather\n  Wind 2.")
    back = GoalReport.from_json(report.to_json())
    assert list(back.section("weather").lines()) == ["Wind 2."]
    assert back.section("rain") is None
    assert back.to_json() == report.to_json()
