"""What a report tells of an adaptive search, and its picture."""

import matplotlib as mpl

mpl.use("agg")

import json
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

from report.pages import ODD, adaptive_summary, searched
from setpoint.report import GoalReport
from setpoint.report.displays import style
from setpoint.report.page import page_text
from setpoint.surrogates import AdaptiveStep, AdaptiveSummary, plot_surrogate_path
from setpoint.surrogates.summary import _spread

HEADING = "<h2><bdi>Against the cut-off alone</bdi></h2>"


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


# -- values ------------------------------------------------------------------------------
@pytest.mark.parametrize("error", [None, 0.01, float("inf")])
@pytest.mark.parametrize("budget", [None, 2000])
def test_a_report_with_a_search_goes_to_json_and_back(error, budget):
    report = searched(replace(adaptive_summary(), error=error, budget=budget))
    back = GoalReport.from_json(report.to_json())
    assert back == report
    found = back.section("adaptive")
    assert found == report.section("adaptive")
    assert isinstance(found.path[0], AdaptiveStep)
    assert back.to_dict() == report.to_dict()
    assert json.dumps(report.to_dict(), allow_nan=False)


@pytest.mark.parametrize("spoil", [lambda d: d.pop("why"), lambda d: d.update(more=1)])
def test_a_search_with_other_fields_is_not_a_report(spoil):
    data = searched().to_dict()
    (section,) = data["sections"]
    spoil(section["values"])
    with pytest.raises(ValueError, match="not a report"):
        GoalReport.from_dict(data)


def test_another_verdict_is_another_report():
    assert searched(adaptive_summary(accepted=False)) != searched()


def test_the_best_step_is_one_of_the_best_path():
    assert adaptive_summary().best_step().used == 31 * 24
    assert adaptive_summary(sense=-1.0).best_step() == adaptive_summary(sense=-1.0).path[-1]
    assert replace(adaptive_summary(), start="elsewhere").best_step() is None


# -- words -------------------------------------------------------------------------------
def test_lines_say_what_was_returned():
    yes, no = adaptive_summary(), adaptive_summary(accepted=False)
    assert yes.lines()[:4] == [
        "Baseline: logistic regression with a smoothed cut-off has 0.4500.",
        "Best model of the search: 0.4740, better by 0.0240 with a standard error of 0.0123, "
        "from 200 draws of rows.",
        "Accepted: the search's model is what was returned. The gain is more than one standard "
        "error.",
        "The metric was evaluated 1,167 times of 2,000 allowed.",
    ]
    assert no.lines()[2] == (
        "Not accepted: the baseline is what was returned. The gain may be chance."
    )


def test_better_and_worse_are_the_users():
    loss = adaptive_summary(sense=-1.0)
    assert loss.greater_is_better is False
    assert "better by 0.0240" in loss.lines()[1]
    assert "worse by 0.0240" in replace(loss, greater_is_better=True).lines()[1]
    assert "no better" in replace(loss, best_value=loss.baseline_value).lines()[1]
    report = searched(loss, 'minimize blackbox("shop:waste")')
    assert "better by 0.0240" in str(report)
    assert "better by 0.0240" in page_text(report)


@pytest.mark.parametrize(
    ("changes", "wanted"),
    [
        ({"n_bootstrap": 0}, "with a standard error of 0.0123."),
        ({"error": None}, "better by 0.0240."),
        ({"error": float("inf")}, "better by 0.0240 with an unknown standard error."),
        ({"budget": None}, "evaluated 1,167 times."),
        ({"evaluations": 1, "budget": None}, "evaluated 1 time."),
        ({"search": "weights"}, "The search tried weights of 6 surrogates; best start: logistic."),
        ({"why": ""}, "what was returned."),
    ],
)
def test_lines_by_what_is_known(changes, wanted):
    assert any(line.endswith(wanted) for line in replace(adaptive_summary(), **changes).lines())


def test_the_largest_weights_are_shown_first():
    last = adaptive_summary(7).lines()[-1]
    shares = [int(x) for x in re.findall(r"(\d+) %", last)]
    assert last.startswith("Weights of the surrogates at its best step: sigmoid of ")
    assert shares == sorted(shares, reverse=True)
    assert len(shares) == 5
    assert last.endswith("; and 2 more.")
    assert replace(adaptive_summary(), path=()).lines() == adaptive_summary().lines()[:-1]


@pytest.mark.parametrize("accepted", [True, False])
def test_the_report_shows_it(accepted):
    report = searched(adaptive_summary(accepted=accepted))
    for shown in (str(report), report._repr_html_()):
        text = " ".join(shown.split()).replace("&#x27;", "'")
        assert "logistic regression with a smoothed cut-off has 0.4500." in text
        assert ("Not accepted: the baseline is what was returned." in text) is not accepted
        assert "evaluated 1,167 times of 2,000 allowed" in text
    assert "\nAgainst the cut-off alone\n" in str(report)
    assert "Against the cut-off alone" not in str(replace(report, sections=()))


# -- the page ----------------------------------------------------------------------------
@pytest.mark.parametrize("accepted", [True, False])
def test_the_page_has_sentences_and_a_picture(accepted):
    summary = adaptive_summary(2, accepted)
    page = page_text(searched(summary))
    assert HEADING in page
    body = page.split(HEADING)[1].split("</section>")[0]
    found = [" ".join(unescape(x).split()) for x in re.findall(r"<p><bdi>(.*?)</bdi></p>", body)]
    assert found == summary.lines()
    assert any(line.startswith("Not accepted: the baseline is") for line in found) is not accepted
    assert "The metric along the search" in body
    assert "Best model of the search" not in page_text(replace(searched(), sections=()))


def test_the_page_shows_the_search_beside_rows_held_out():
    held = replace(searched(), sections=(), status="evaluated")
    page = page_text(searched(), held)
    assert page.count(HEADING) == 1
    assert "The metric along the search" in page


def test_a_search_without_steps_has_no_picture():
    page = page_text(searched(replace(adaptive_summary(), path=())))
    assert HEADING in page
    assert "The metric along the search" not in page


def test_odd_names_do_no_harm():
    odd = replace(
        adaptive_summary(len(ODD)), surrogates=ODD, baseline=ODD[0], why=ODD[1], start=ODD[4]
    )
    odd = replace(odd, path=tuple(replace(s, start=ODD[4]) for s in odd.path))
    page = page_text(searched(odd))
    assert "<script" not in page
    assert "&lt;script&gt;" in page


# -- the picture -------------------------------------------------------------------------
def labels(ax):
    return ax.get_legend_handles_labels()[1]


def test_each_start_has_a_line_and_the_best_is_marked():
    display = plot_surrogate_path(adaptive_summary(), "f1", ax=Figure())
    ax = display.ax_
    assert labels(ax) == [
        "from logistic (the best path)", "from post-shift", "from zero", "baseline 0.4500",
        "best 0.4740, returned",
    ]  # fmt: skip
    best = ax.get_lines()[0]
    assert best.get_xdata().tolist() == [31 * i for i in (*range(7, 13), *range(19, 25))]
    (diamond,) = (line for line in ax.get_lines() if line.get_marker() == "D")
    assert (diamond.get_xdata()[0], diamond.get_ydata()[0]) == (31 * 24, 0.474)
    assert ax.get_ylabel() == "f1"


def test_the_baseline_is_shown_where_it_was_returned():
    display = plot_surrogate_path(searched(adaptive_summary(accepted=False)))
    assert labels(display.ax_)[-2:] == ["baseline 0.4500, returned", "best 0.4740"]
    assert display.ax_.get_ylabel().startswith("a_module.of_the_shop:\nyearly")


def test_nothing_better_is_neither_marked_nor_weighed():
    same = replace(adaptive_summary(accepted=False), best_value=0.45)
    assert labels(plot_surrogate_path(same, ax=Figure()).ax_)[-1] == "baseline 0.4500, returned"
    assert not any("Weights" in line for line in same.lines())


def areas(ax):
    return [band for band in ax.collections if len(band.get_paths())]


@pytest.mark.parametrize(("n", "bands"), [(2, 2), (6, 6), (10, 10), (11, 10), (30, 10)])
def test_weights_are_stacked_shares_with_names(n, bands):
    display = plot_surrogate_path(adaptive_summary(n), ax=Figure())
    ax = display.axes_[1]
    assert len(areas(ax)) == bands
    names = [text.get_text() for text in ax.texts]
    assert len(names) == bands
    assert names[0].startswith("sigmoid of positives,\nsex = Male") or n > 10
    assert (names[-1] == f"{n - 9} others") is (n > 10)
    top = areas(ax)[-1].get_paths()[0].vertices
    assert np.isclose(top[:, 1].max(), 1.0)
    # The names keep clear of each other.
    figure = display.figure_
    FigureCanvasAgg(figure).draw()
    boxes = [text.get_window_extent() for text in ax.texts]
    assert all(a.y1 <= b.y0 + 1 for a, b in pairwise(boxes))
    assert all(box.x1 <= figure.bbox.x1 and box.y0 >= 0 for box in boxes)


def test_weights_hold_until_the_path_moves_on():
    ax = plot_surrogate_path(adaptive_summary(2), ax=Figure()).axes_[1]
    x = areas(ax)[0].get_paths()[0].vertices[:, 0]
    assert (x.min(), x.max()) == (31 * 7, ax.get_xlim()[1])


@pytest.mark.parametrize(
    "changes",
    [
        {"path": adaptive_summary(1).path, "surrogates": ("own",)},
        {"start": "elsewhere"},
    ],
)
def test_there_may_be_no_weights_to_draw(changes):
    display = plot_surrogate_path(replace(adaptive_summary(), **changes), ax=Figure())
    assert len(display.axes_) == 1
    assert labels(display.ax_)[-1] == "best 0.4740, returned"


def test_one_step_is_enough():
    one = replace(adaptive_summary(3), path=adaptive_summary(3).path[6:7])
    display = plot_surrogate_path(one, ax=Figure())
    FigureCanvasAgg(display.figure_).draw()
    assert len(areas(display.axes_[1])) == 3


def test_axes_given_hold_the_metric_alone():
    figure, ax = plt.subplots()
    display = plot_surrogate_path(adaptive_summary(sense=-1.0), "minimize error_rate", ax=ax)
    assert (display.axes_, display.figure_) == ((ax,), figure)
    assert figure.axes == [ax]
    assert ax.get_xlabel() == "evaluations of the metric"


def test_bad_arguments():
    with pytest.raises(TypeError, match="`summary` is the adaptive part of a report, got str"):
        plot_surrogate_path("no")
    with pytest.raises(ValueError, match="the search made no step"):
        plot_surrogate_path(replace(adaptive_summary(), path=()))
    with pytest.raises(ValueError, match="is not on a search over surrogates"):
        plot_surrogate_path(replace(searched(), sections=()))
    with pytest.raises(TypeError, match="axes or a figure"):
        plot_surrogate_path(adaptive_summary(), ax=3)


def test_without_matplotlib_it_says_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ImportError, match=r"setpoint\[report\]"):
        plot_surrogate_path(adaptive_summary())
    with pytest.raises(ImportError, match=r"setpoint\[report\]"):
        plot_surrogate_path(searched())


@pytest.mark.parametrize("middles", [[0.5] * 5, [0.0] * 5, [1.0] * 5, [0.1, 0.1, 0.5, 0.9, 0.9]])
def test_names_are_spread_within_the_panel(middles):
    lines = [2, 1, 2, 2, 1]
    y = _spread(middles, lines)
    half = np.array(lines) / (2 * sum(lines))
    assert y[0] >= half[0] - 1e-12
    assert y[-1] <= 1 - half[-1] + 1e-12
    assert (np.diff(y) >= half[1:] + half[:-1] - 1e-12).all()


def test_inks_are_those_of_the_other_displays():
    from matplotlib.colors import to_hex

    inks = {style.INK, style.MUTED, style.BLUE, style.ORANGE, style.GREEN, style.RED, "#ffffff"}
    display = plot_surrogate_path(adaptive_summary(12), ax=Figure())
    for ax in display.axes_:
        assert {to_hex(line.get_color()) for line in ax.get_lines()} <= inks
    assert {to_hex(b.get_facecolor()[0]) for b in areas(display.axes_[1])} <= inks


def test_the_adaptive_part_is_frozen():
    found = adaptive_summary()
    with pytest.raises(AttributeError):
        found.why = "other"
    assert hash(found) == hash(adaptive_summary())
    assert isinstance(found, AdaptiveSummary)
