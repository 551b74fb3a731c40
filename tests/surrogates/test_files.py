"""Models in files: what of the user's a file names, and what it holds no code of."""

import sys

import numpy as np
import pytest

from setpoint import BlackBox, MetricError, ModelFileError, load_model, save_model
from setpoint.solvers import FirstModel
from setpoint.surrogates import PRBEP, PrecisionAtRecall
from surrogates.samples import adaptive, island, profit, squares, two_groups
from thinning import over

X, Y = island(200)


@over(
    "options",
    [
        {"solver": "surrogate-weights"},
        {"surrogates": ["hinge", PRBEP(), PrecisionAtRecall(0.3)], "surrogate_groups": "g"},
        {"module": "mlp", "training": FirstModel(epochs=1)},
    ],
)
def test_a_file_holds_the_model_and_its_path(options, tmp_path):
    if "module" in options:
        pytest.importorskip("torch")
    Z, y, g = two_groups()
    clf = adaptive("f1", **options).fit(Z, y, sensitive_features={"g": g})
    save_model(clf, tmp_path / "a.skops")
    other = load_model(tmp_path / "a.skops")
    assert np.array_equal(other.decision_function(Z), clf.decision_function(Z))
    assert other.goal_report_ == clf.goal_report_
    assert (other.path_, other.surrogate_names_) == (clf.path_, clf.surrogate_names_)
    assert not hasattr(other, "evidence_")


def test_own_surrogates_in_a_file(tmp_path):
    clf = adaptive("f1", surrogates=squares, max_iter=1).fit(X, Y)
    save_model(clf, tmp_path / "a.skops")
    with pytest.raises(ModelFileError, match="squares"):
        load_model(tmp_path / "a.skops")
    other = load_model(tmp_path / "a.skops", trusted=[f"{squares.__module__}.squares"])
    assert np.array_equal(other.predict(X), clf.predict(X))

    def local(y_true, y_pred):
        return profit(y_true, y_pred)

    lost = adaptive(BlackBox(local), max_iter=1).fit(X, Y)
    for model in (clf.set_params(surrogates=lambda f, y, w: (0.0, f)), lost):
        with pytest.raises(TypeError, match="no reader of a file can find"):
            save_model(model, tmp_path / "b.skops")


SHOP = "def revenue(y_true, y_pred):\n    return float((4 * y_true * y_pred - y_pred).mean())\n"


def test_the_metric_is_not_imported_on_loading(tmp_path, monkeypatch):
    """A file names it, by import path, and holds no code."""
    (tmp_path / "surrogates_shop.py").write_text(SHOP)
    monkeypatch.syspath_prepend(tmp_path)
    clf = adaptive(BlackBox("surrogates_shop:revenue"), max_iter=2).fit(X, Y)
    save_model(clf, tmp_path / "a.skops")
    sys.modules.pop("surrogates_shop")
    other = load_model(tmp_path / "a.skops")
    assert np.array_equal(other.predict(X), clf.predict(X))
    assert other.goal_report_.goal == 'maximize blackbox("surrogates_shop:revenue")'
    assert "surrogates_shop" not in sys.modules
    with pytest.raises(MetricError, match="names the metric surrogates_shop:revenue and holds no"):
        other.evaluate(X, Y)
    with pytest.raises(MetricError, match="holds no code"):
        other.fit(X, Y)
    other.set_params(goal=BlackBox("surrogates_shop:revenue"))
    assert other.evaluate(X, Y).objective == clf.evaluate(X, Y).objective
    sys.modules.pop("surrogates_shop")
