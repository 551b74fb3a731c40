"""What a report says of an adaptive search, and its picture."""

import matplotlib as mpl

mpl.use("agg")

import re
from dataclasses import replace
from itertools import pairwise

import pytest
from matplotlib import pyplot as plt
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from report.pages import adaptive_summary, searched
from setpoint.surrogates import plot_surrogate_path
from thinning import over

GAIN, NO, LOSS = adaptive_summary(), adaptive_summary(accepted=False), adaptive_summary(sense=-1.0)


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


@over(
    ("summary", "changes", "line"),
    [
        (LOSS, {}, "better by 0.0240 with"),
        (LOSS, {"best_value": LOSS.baseline_value}, "0.4500, no better."),
        (GAIN, {"error": None}, "better by 0.0240."),
        (GAIN, {"error": float("inf")}, "by 0.0240 with an unknown standard error."),
        (GAIN, {"evaluations": 1, "budget": None}, "evaluated 1 time."),
        (GAIN, {"search": "weights"}, "The search tried weights of 6 surrogates; best start: log"),
        (NO, {}, "Not accepted: the baseline is what was returned. The gain may be chance."),
    ],
)
def test_lines_by_what_is_known(summary, changes, line):
    assert line in "\n".join(replace(summary, **changes).lines())


def test_what_is_shown_of_the_path():
    assert GAIN.best_step().used == 31 * 24
    assert LOSS.best_step() == LOSS.path[-1]
    assert replace(GAIN, start="elsewhere").best_step() is None
    # The largest weights come first.
    summary = adaptive_summary(7)
    last = summary.lines()[-1]
    shares = [int(x) for x in re.findall(r"(\d+) %", last)]
    assert (shares, len(shares)) == (sorted(shares, reverse=True), 5)
    assert last.endswith("; and 2 more.")
    for without in ({"path": ()}, {"best_value": 0.45}):
        assert "Weights" not in "".join(replace(GAIN, **without).lines())
    text = " ".join(str(searched(summary)).split())
    assert all(line in text for line in (summary.title, *summary.lines()[:4]))


@over(
    ("summary", "panels", "bands", "last"),
    [
        (adaptive_summary(11), 2, 10, "best 0.4740, returned"),
        (replace(GAIN, path=GAIN.path[6:7]), 2, 6, "best 0.4740, returned"),
        (
            replace(GAIN, path=adaptive_summary(1).path, surrogates=("own",)),
            1,
            0,
            "best 0.4740, ret",
        ),
        (replace(NO, best_value=0.45), 2, 6, "baseline 0.4500, returned"),
    ],
)
def test_weights_are_stacked_with_names_that_keep_clear(summary, panels, bands, last):
    display = plot_surrogate_path(summary, "f1", ax=Figure())
    FigureCanvasAgg(display.figure_).draw()
    assert display.ax_.get_legend_handles_labels()[1][-1].startswith(last)
    texts = [text for ax in display.axes_[1:] for text in ax.texts]
    assert (len(display.axes_), len(texts)) == (panels, bands)
    boxes = [text.get_window_extent() for text in texts]
    assert all(a.y1 <= b.y0 + 1 for a, b in pairwise(boxes))
    assert all(box.x1 <= display.figure_.bbox.x1 and box.y0 >= 0 for box in boxes)
    ax = plt.subplots()[1]  # axes that are given hold the metric alone
    assert plot_surrogate_path(searched(summary), ax=ax).axes_ == (ax,)


def test_bad_arguments():
    for given, more, error, message in (
        ("no", {}, TypeError, "`summary` is the adaptive part of a report, got str"),
        (replace(GAIN, path=()), {}, ValueError, "the search made no step"),
        (replace(searched(), sections=()), {}, ValueError, "is not on a search over surrogates"),
        (GAIN, {"ax": 3}, TypeError, "axes or a figure"),
    ):
        with pytest.raises(error, match=message):
            plot_surrogate_path(given, **more)
