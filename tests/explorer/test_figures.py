"""The views write numbers as the report does, and draw no more of a curve than is seen."""

import numpy as np
import pytest

from explorer.in_node import NODE, in_node
from setpoint.report import shown, shown_bound
from thinning import over

pytestmark = pytest.mark.skipif(NODE is None, reason="node is not installed")

NUMBERS = [0.0, 1.0, 0.4992, 0.00004, 0.99996, 0.9995, 0.0005, 3e-7, 0.12345, 2.5, -0.0231, -1.5]
LARGER = [12.3456, 99.994, 100.4, 999.7, 1234.56, 22695.3, 999999.4, 1234567.8]
BOUNDS = [0.5, 0.537, 0.1, 0.999, 1e-4, 0.6 + 1e-9, 1 / 3, 2500.0]
PLACES = [0.0, 0.3333, 0.5, 0.9999, 1.0]
LOOSE = [
    ({"relation": ">=", "step": 0.001, "range": [0, 1]}, 0.72849),
    ({"relation": "<=", "step": 0.001, "range": [0, 1]}, 0.0301),
    ({"relation": ">=", "step": 0.001, "range": [0, 1]}, 0.6),
    ({"relation": "<=", "step": 5.0, "range": [0, 500]}, 101.0),
]


@pytest.fixture(scope="module")
def curve():
    """Shares accepted with many ties, and a curve over them with one high peak."""
    rng = np.random.default_rng(0)
    x = np.concatenate([[0.0], np.sort(np.round(rng.random(9999), 3)), [1.0]])
    y = np.sin(3 * x) + 0.01 * rng.normal(size=len(x))
    y[0], y[5000] = np.nan, 9.0
    return x, y


@pytest.fixture(scope="module")
def made(curve):
    x, y = curve
    return in_node(
        "figures.mjs",
        {
            "numbers": NUMBERS + LARGER,
            "bounds": BOUNDS,
            "curve": [x.tolist(), [None if np.isnan(v) else v for v in y]],
            "wanted": PLACES,
            "allowed": [int(0.2 < v < 0.4 or v == 0.7) for v in x],
            "loose": LOOSE,
            "axes": [[0, 1], [0.12, 1.1], [-3, 250_000]],
        },
    )


@over("unit", ["share", "amount", "number"])
def test_numbers_are_written_as_in_the_report(made, unit):
    assert made[unit] == [shown(x, unit) for x in NUMBERS + LARGER]


def test_bounds_are_written_as_in_the_report_and_survive_the_control(made):
    expected = [[shown_bound(x, unit) for unit in ("share", "amount")] for x in BOUNDS]
    assert made["bounds"] == expected
    np.testing.assert_allclose(made["control"], BOUNDS, rtol=1e-11)
    assert made["control"][:4] == BOUNDS[:4]
    # A bound that is offered can be met.
    assert made["loosened"] == [0.728, 0.031, 0.6, 105]


def test_curves_keep_their_peaks_and_shades_are_as_few_as_there_are(made, curve):
    x, _ = curve
    drawn = made["thinned"]
    assert len(drawn) <= 602
    assert drawn == sorted(set(drawn))
    assert {5000} <= set(drawn) <= set(range(1, len(x)))
    inside = x[(x > 0.2) & (x < 0.4)]
    assert made["stretches"] == [[inside.min(), inside.max()], [0.7, 0.7]]
    # The pointer finds the first of the nearest cuts.
    for place, found in zip(PLACES, made["nearest"], strict=True):
        assert found == np.argmin(np.abs(x - place))


def test_ticks_are_round_numbers_within_the_axis(made):
    assert made["ticks"] == [
        [0, 0.2, 0.4, 0.6, 0.8, 1], [0.2, 0.4, 0.6, 0.8, 1], [0, 100_000, 200_000],
    ]  # fmt: skip
