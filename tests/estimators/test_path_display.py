"""BoundPathDisplay: what was reached against what was asked, and what it cost."""

import matplotlib as mpl

mpl.use("agg")

import re
import sys
from io import StringIO

import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from setpoint import RampClassifier
from setpoint.estimators import BoundPath, BoundPathDisplay
from setpoint.report.displays import style

INKS = {style.INK, style.MUTED, style.GRID, style.BLUE, style.ORANGE, style.GREEN, style.RED}
NAN = np.nan

pytestmark = pytest.mark.filterwarnings("ignore::setpoint.FewRowsWarning")


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def path(relation="<=", held=True, reached=(NAN, 0.05, 0.06), values=(NAN, 0.21, 0.2)):
    vary = f"churn {relation} 0.05"
    return BoundPath(
        f"minimize error_rate subject to {vary} and recall >= 0.6", vary, "error_rate", "churn",
        relation, np.array([0.01, 0.05, 0.1]), np.array(values), np.array(reached),
        np.array([NAN, 0.24, 0.23]) if held else None,
        np.array([NAN, 0.07, 0.08]) if held else None,
        (None, None, None),
    )  # fmt: skip


def lines(ax):
    return {line.get_label(): line for line in ax.get_lines()}


def caption(ax):
    return " ".join(ax.texts[-1].get_text().split())


@pytest.mark.parametrize("relation", ["<=", ">="])
def test_reached_over_asked(relation):
    ax = BoundPathDisplay(path(relation)).plot(Figure()).ax_
    drawn = lines(ax)
    assert drawn["rows of fit"].get_xydata().tolist() == [[0.05, 0.05], [0.1, 0.06]]
    assert drawn["rows held out"].get_xydata().tolist() == [[0.05, 0.07], [0.1, 0.08]]
    diagonal = drawn["the bound"].get_xydata()
    np.testing.assert_array_equal(diagonal[:, 0], diagonal[:, 1])
    assert drawn["no model found"].get_xdata().tolist() == [0.01]
    (met,) = ax.collections
    assert met.get_label() == "where it is met"
    assert to_hex(met.get_facecolor()[0]) == style.GREEN
    (shape,) = met.get_paths()
    assert shape.contains_point((0.06, 0.03)) == (relation == "<=")
    assert shape.contains_point((0.06, 0.08)) == (relation == ">=")
    assert ax.get_xlabel() == f"bound on churn ({relation})"
    assert ax.get_ylabel() == "churn reached"
    text = caption(ax)
    assert "Each with recall >= 0.6." in text
    assert "None was found for 0.01." in text
    low, high = ax.get_xlim()
    assert low < 0.01 < 0.1 < high


def test_the_objective_over_what_was_reached():
    ax = BoundPathDisplay(path()).plot(Figure(), kind="tradeoff").ax_
    drawn = lines(ax)
    assert drawn["rows of fit"].get_xydata().tolist() == [[0.05, 0.21], [0.06, 0.2]]
    assert drawn["rows held out"].get_xydata().tolist() == [[0.07, 0.24], [0.08, 0.23]]
    assert set(drawn) == {"rows of fit", "rows held out"}
    assert not ax.collections
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("churn reached", "error_rate")


@pytest.mark.parametrize("kind", ["bound", "tradeoff"])
def test_little_is_known(kind):
    ax = BoundPathDisplay(path(held=False)).plot(Figure(), kind=kind).ax_
    assert "rows held out" not in lines(ax)
    nothing = path(held=False, reached=(NAN,) * 3, values=(NAN,) * 3)
    display = BoundPathDisplay(nothing).plot(Figure(), kind=kind)
    display.figure_.canvas.draw()
    assert "rows of fit" not in lines(display.ax_)
    assert "None was found for 0.01, 0.05, 0.1." in caption(display.ax_)


@pytest.mark.parametrize("kind", ["bound", "tradeoff"])
@pytest.mark.parametrize("place", ["new", "figure", "axes", "roomy"])
def test_inks_and_places(kind, place):
    given = {
        "new": lambda: None,
        "figure": Figure,
        "axes": lambda: Figure().add_subplot(),
        "roomy": lambda: Figure(layout="constrained").add_subplot(),
    }[place]()
    display = BoundPathDisplay(path()).plot(given, kind=kind)
    assert (place == "new") == bool(plt.get_fignums())
    assert display.ax_ in display.figure_.axes
    if place in ("axes", "roomy"):
        assert display.ax_ is given
    out = StringIO()
    display.figure_.savefig(out, format="svg", transparent=True)
    found = set(re.findall(r"#[0-9a-f]{6}\b(?=[;\"])", out.getvalue()))
    assert {style.INK, style.GRID} <= found <= INKS


def test_from_estimator():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 3))
    y = (X[:, 0] + rng.normal(size=500) > 0).astype(int)
    clf = RampClassifier("minimize error_rate subject to predicted_rate <= 0.3 and recall >= 0.1")
    display = BoundPathDisplay.from_estimator(
        clf, X, y, [0.2, 0.4], vary="predicted_rate", held_out=(X, y), kind="tradeoff", ax=Figure(),
        sample_weight=np.ones(500),
    )  # fmt: skip
    assert display.path.bounds.tolist() == [0.2, 0.4]
    assert display.ax_.get_xlabel() == "predicted_rate reached"
    np.testing.assert_array_equal(display.path.values, display.path.held_values)
    assert not hasattr(clf, "rule_")


def test_errors(monkeypatch):
    with pytest.raises(ValueError, match="`kind` is 'bound' or 'tradeoff', got 'roc'"):
        BoundPathDisplay(path()).plot(kind="roc")
    with pytest.raises(ValueError, match="`kind` is"):  # before anything is trained
        BoundPathDisplay.from_estimator(None, None, None, [], kind="roc")
    with pytest.raises(TypeError, match="`path` is what bound_path returns, got int"):
        BoundPathDisplay(3)
    with pytest.raises(TypeError, match="`ax` is matplotlib axes or a figure, got int"):
        BoundPathDisplay(path()).plot(3)
    for name in [*(m for m in sys.modules if m.startswith("matplotlib")), "matplotlib"]:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match=r"pip install 'setpoint\[report\]'"):
        BoundPathDisplay(path()).plot()
