"""The faces of a comparison: text, frame, notebook, picture, page."""

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

from setpoint import Deployed, compare
from setpoint.report import Header

R = np.random.default_rng(0)
Y = (R.random(500) < 0.3).astype(int)
SCORES = np.round(0.3 * Y + 0.7 * R.random(500), 2)
GOAL = "maximize recall subject to precision >= 0.4"
TODAY = np.where(R.random(500) < 0.5, Y, R.random(500) < 0.2).astype(int)


def found(goal=GOAL, n=2, **more):
    others = {"new": Deployed(SCORES, threshold=0.5), "<b>": Deployed(SCORES, threshold=0.6)}
    others |= {f"m{i}": Deployed(SCORES, threshold=i / 10) for i in range(1, 6)}
    return compare(goal, {"today": TODAY, **dict(list(others.items())[: n - 1])}, None, Y, **more)


def test_text_and_notebook_say_who_by_how_much_and_what_changes():
    text = str(found())
    assert text.startswith(
        f"Goal: {GOAL}\n\nShown to be better on 500 rows.\nThe recall of 'new' is"
    )
    for part in ("new - today", "rows accepted", "(churn)", "new alone"):
        assert part in text
    several = found(n=3)
    assert "new: shown to be better\n" in str(several)
    assert "<b>: too close to call\n" in str(several)
    words = " ".join(str(several).split())
    assert "2 models are compared with today: each limit of a difference has 97.5 %" in words
    assert "&lt;b&gt;" in several._repr_html_()
    assert "<b>" not in several._repr_html_()
    assert repr(several) == "ModelComparison('today', 'new', '<b>': shown to be better)"


def test_frame_has_a_row_for_each_part_of_each_model():
    frame = found(n=3).to_frame()
    assert frame["model"].tolist() == ["today"] * 2 + ["new"] * 2 + ["<b>"] * 2
    assert frame["part"].tolist() == ["objective", "constraint"] * 3
    new = frame.iloc[2]
    assert new["difference"] == pytest.approx(new["value"] - frame["value"][0])
    assert new["difference_low"] < new["difference"] < new["difference_high"]
    assert pd.isna(frame["difference"][0])
    assert new["is"] == "shown to be better"


def test_picture_has_a_line_for_scores_and_a_dot_for_each_model():
    one = found(n=3)
    display = one.plot()
    ax = display.ax_
    assert sorted(ax.get_legend_handles_labels()[1]) == ["<b>", "asked", "new", "today"]
    dots = [tuple(c.get_offsets().data[0]) for c in ax.collections]
    assert dots == [pytest.approx(one.points[name]) for name in ("today", "new", "<b>")]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("precision at least", "best recall")
    plt.close(display.figure_)
    assert "asked" not in found("f1").plot(Figure()).ax_.get_legend_handles_labels()[1]
    only = compare(GOAL, {"today": TODAY, "new": Y}, None, Y)
    assert only.plot(Figure()).ax_.get_xlabel() == "precision"
    with pytest.raises(ValueError, match="the comparison holds no frontiers"):
        found(frontier=False).plot()
    with pytest.raises(ValueError, match="is of 6 models, and at most 5"):
        found(n=6).plot()


def test_page_is_whole_and_quotes_names(tmp_path):
    path = tmp_path / "page.html"
    found(n=3).to_html(path, header=Header("rows.csv", cautions=["Mind the gap."]))
    text = path.read_text(encoding="utf-8")
    assert text.startswith("<!DOCTYPE html>")
    assert "&lt;b&gt;" in text
    assert "<b>:" not in text
    for part in ("rows.csv", "Mind the gap.", "Rows that change", "<svg viewBox", "new against"):
        assert part in text
    assert "<script" not in text
    found(n=6, frontier=False).to_html(path)
    assert "What the scores of each could reach" not in path.read_text(encoding="utf-8")
    compare("recall", {"a": Y, "b": Y}, None, Y).to_html(path)
    assert "Rows that change" not in path.read_text(encoding="utf-8")
