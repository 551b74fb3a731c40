"""What a report says of an adaptive search, and its picture."""

import matplotlib as mpl

mpl.use("agg")

import re
import sys
from dataclasses import replace
from html import unescape
from itertools import pairwise

import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from report.pages import adaptive_summary, searched
from setpoint.report.page import page_text
from setpoint.surrogates import plot_surrogate_path
from thinning import over

GAIN, NO, LOSS = adaptive_summary(), adaptive_summary(accepted=False), adaptive_summary(sense=-1.0)


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def test_the_best_step_is_one_of_the_best_path():
    assert GAIN.best_step().used == 31 * 24
    assert LOSS.best_step() == LOSS.path[-1]
    assert replace(GAIN, start="elsewhere").best_step() is None


# -- words -------------------------------------------------------------------------------
@over(
    ("summary", "changes", "line"),
    [
        (LOSS, {}, "better by 0.0240 with"),
        (LOSS, {"greater_is_better": True}, "worse by 0.0240 with"),
        (LOSS, {"best_value": LOSS.baseline_value}, "0.4500, no better."),
        (GAIN, {"n_bootstrap": 0}, "with a standard error of 0.0123."),
        (GAIN, {"error": None}, "better by 0.0240."),
        (GAIN, {"error": float("inf")}, "by 0.0240 with an unknown standard error."),
        (GAIN, {"budget": None}, "evaluated 1,167 times."),
        (GAIN, {"evaluations": 1, "budget": None}, "evaluated 1 time."),
        (GAIN, {"search": "weights"}, "The search tried weights of 6 surrogates; best start: log"),
        (GAIN, {"why": ""}, "what was returned."),
        (NO, {}, "Not accepted: the baseline is what was returned. The gain may be chance."),
    ],
)
def test_lines_by_what_is_known(summary, changes, line):
    assert line in "\n".join(replace(summary, **changes).lines())


def test_the_largest_weights_are_shown_first():
    last = adaptive_summary(7).lines()[-1]
    shares = [int(x) for x in re.findall(r"(\d+) %", last)]
    assert last.startswith("Weights of the surrogates at its best step: sigmoid of ")
    assert shares == sorted(shares, reverse=True)
    assert len(shares) == 5
    assert last.endswith("; and 2 more.")
    for without in ({"path": ()}, {"best_value": 0.45}):
        assert "Weights" not in "".join(replace(GAIN, **without).lines())


def test_reports_and_pages_show_it():
    summary = adaptive_summary(2)
    report = searched(summary)
    page = page_text(report, replace(report, sections=(), status="evaluated"))
    for text in (str(report), report._repr_html_(), page):
        shown = " ".join(unescape(text).split())
        assert all(line in shown for line in (summary.title, *summary.lines()[:4]))
    assert page.count("<h2><bdi>Against the cut-off alone</bdi></h2>") == 1
    picture = "The metric along the search"
    assert picture in page
    assert picture not in page_text(searched(replace(summary, path=())))


# -- the picture -------------------------------------------------------------------------
def labels(ax):
    return ax.get_legend_handles_labels()[1]


def test_each_start_has_a_line_and_the_best_is_marked():
    ax = plot_surrogate_path(GAIN, "f1", ax=Figure()).ax_
    assert labels(ax) == [
        "from logistic (the best path)",
        "from post-shift",
        "from zero",
        "baseline 0.4500",
        "best 0.4740, returned",
    ]
    used = [31 * i for i in (*range(7, 13), *range(19, 25))]
    assert ax.get_lines()[0].get_xdata().tolist() == used
    (diamond,) = (line for line in ax.get_lines() if line.get_marker() == "D")
    assert (diamond.get_xdata()[0], diamond.get_ydata()[0]) == (31 * 24, 0.474)
    assert ax.get_ylabel() == "f1"
    ax = plot_surrogate_path(searched(NO)).ax_
    assert labels(ax)[-2:] == ["baseline 0.4500, returned", "best 0.4740"]
    assert ax.get_ylabel().startswith("a_module.of_the_shop:\nyearly")
    same = replace(NO, best_value=0.45)
    assert labels(plot_surrogate_path(same, ax=Figure()).ax_)[-1] == "baseline 0.4500, returned"


@over(("n", "bands"), [(2, 2), (10, 10), (11, 10)])
def test_weights_are_stacked_shares_with_names_that_keep_clear(n, bands):
    display = plot_surrogate_path(adaptive_summary(n), ax=Figure())
    ax, figure = display.axes_[1], display.figure_
    areas = [band.get_paths()[0].vertices for band in ax.collections if len(band.get_paths())]
    names = [text.get_text() for text in ax.texts]
    assert len(areas) == len(names) == bands
    assert names[0].startswith("sigmoid of positives,\nsex = Male") or n > 10
    assert (names[-1] == f"{n - 9} others") is (n > 10)
    assert np.isclose(areas[-1][:, 1].max(), 1.0)
    # Each holds until the path moves on.
    assert (areas[0][:, 0].min(), areas[0][:, 0].max()) == (31 * 7, ax.get_xlim()[1])
    FigureCanvasAgg(figure).draw()
    boxes = [text.get_window_extent() for text in ax.texts]
    assert all(a.y1 <= b.y0 + 1 for a, b in pairwise(boxes))
    assert all(box.x1 <= figure.bbox.x1 and box.y0 >= 0 for box in boxes)


@over(
    ("changes", "panels"),
    [
        ({"path": adaptive_summary(1).path, "surrogates": ("own",)}, 1),
        ({"start": "elsewhere"}, 1),
        ({"path": GAIN.path[6:7]}, 2),
    ],
)
def test_there_may_be_no_weights_to_draw_or_one_step(changes, panels):
    display = plot_surrogate_path(replace(GAIN, **changes), ax=Figure())
    FigureCanvasAgg(display.figure_).draw()
    assert len(display.axes_) == panels
    assert labels(display.ax_)[-1] == "best 0.4740, returned"
    figure, ax = plt.subplots()  # axes that are given hold the metric alone
    assert plot_surrogate_path(LOSS, "minimize error_rate", ax=ax).axes_ == (ax,)
    assert (figure.axes, ax.get_xlabel()) == ([ax], "evaluations of the metric")


def test_bad_arguments(monkeypatch):
    for given, error, message in (
        ("no", TypeError, "`summary` is the adaptive part of a report, got str"),
        (replace(GAIN, path=()), ValueError, "the search made no step"),
        (replace(searched(), sections=()), ValueError, "is not on a search over surrogates"),
    ):
        with pytest.raises(error, match=message):
            plot_surrogate_path(given)
    with pytest.raises(TypeError, match="axes or a figure"):
        plot_surrogate_path(GAIN, ax=3)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ImportError, match=r"setpoint\[report\]"):
        plot_surrogate_path(searched())
