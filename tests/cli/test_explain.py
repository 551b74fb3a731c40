"""``setpoint explain``, and the card that ``setpoint show`` prints."""

import json

import pytest

from setpoint import load_model
from setpoint.errors import InputError
from setpoint.report.document import HEADINGS
from setpoint.tables import read_table


def test_rows_in_words_and_as_json(run, folder, model):
    done = run("explain", model, folder / "new.csv", "--row", "4", "--row", "1")
    assert done.exit_code == 0, done.stderr
    first, second, *covers = done.stdout.splitlines()
    assert first.startswith("Row 4: predicted ")
    assert second.startswith("Row 1: predicted ")
    assert "this is said of all rows together" in covers[-1]
    out = json.loads(run("explain", model, folder / "new.csv", "--json").stdout)
    frame = load_model(model).predict(read_table(folder / "new.csv"))
    assert [row["decision"] for row in out["rows"]] == frame["prediction"].tolist()
    assert [row["score"] for row in out["rows"]] == frame["score"].tolist()
    assert out["rows"][3]["words"] == first
    assert out["command"] == "explain"


def test_many_rows_end_with_what_explains_the_others(run, folder, model):
    lines = run("explain", model, folder / "new.csv").stdout.splitlines()
    assert len(lines) == 22
    assert lines[20] == "280 more rows: --row N explains one, --json all."


def test_a_row_that_is_not_there(run, folder, model):
    done = run("explain", model, folder / "new.csv", "--row", "301")
    assert done.exit_code == 1
    assert "--row: new.csv has no row 301; its rows are 1 to 300" in done.stderr
    with pytest.raises(InputError, match=r"`rows`: new\.csv has no row 0"):
        load_model(model).explain(folder / "new.csv", rows=[0])


def test_a_card(run, model):
    done = run("show", model, "--card")
    assert (done.exit_code, done.stderr) == (0, "")
    assert "\n# model\n" in done.stdout
    assert all(f"\n## {heading}\n" in done.stdout for heading in HEADINGS)
    assert "--card is Markdown" in run("show", model, "--card", "--json").stderr
