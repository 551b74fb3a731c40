"""Monitor.plot: a line a statement, and the line of the alarm."""

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from setpoint import Monitor
from setpoint.classifiers.monitoring import LOWEST, MOST

mpl.use("agg")


def plotted(monitor):
    return monitor.plot(Figure().subplots()).ax_


def test_lines_are_the_wealths_of_the_picture():
    goal = "maximize recall subject to precision >= 0.9 and predicted_rate <= 0.5"
    monitor = Monitor(goal=goal, classes=[0, 1])
    rng = np.random.default_rng(0)
    decided = rng.integers(0, 2, 3_000)
    monitor.update_decisions(decided, np.where(rng.random(3_000) < 0.5, decided, 1 - decided))
    ax = plotted(monitor)
    one, two, alarm, seen = ax.get_lines()
    rows, wealth = monitor.picture()
    np.testing.assert_array_equal(one.get_xdata(), rows)
    np.testing.assert_array_equal(one.get_ydata(), np.maximum(wealth[0], LOWEST))
    np.testing.assert_array_equal(two.get_ydata(), np.maximum(wealth[1], LOWEST))
    assert list(alarm.get_ydata()) == [2_000.0, 2_000.0]  # two statements, alpha .001
    assert list(seen.get_xdata()) == [a.row for a in monitor.alarms_]
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels == ["precision >= 0.9", "predicted_rate <= 0.5", "alarm", "first seen"]


def test_of_many_statements_those_nearest_to_the_alarm():
    values = list("abcdef")
    monitor = Monitor(
        goal="maximize recall subject to precision.min(g) >= 0.8 and recall.min(g) >= 0.2",
        classes=[0, 1], groups={"g": values},
    )  # fmt: skip
    g = np.resize(values, 1_200)
    decided = np.ones(1_200, int)
    true = np.where(g < "d", np.arange(1_200) % 3 > 0, True).astype(int)
    monitor.update_decisions(decided, true, sensitive_features={"g": g})
    labels = [text.get_text() for text in plotted(monitor).get_legend().get_texts()]
    assert len(labels) == MOST + 2  # the alarm, and where it was
    assert all(f"(g = {v})" in " ".join(labels) for v in "abc")


def test_before_any_row():
    monitor = Monitor(goal="maximize recall subject to precision >= 0.9", classes=[0, 1])
    assert len(plotted(monitor).get_lines()) == 2
