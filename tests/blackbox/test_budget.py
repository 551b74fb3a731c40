"""A metric under a budget: what is counted, what is known, and what a file keeps."""

from __future__ import annotations

import json

import numpy as np
import pytest
from sklearn.metrics import f1_score

from setpoint import BlackBox
from setpoint.blackbox import MetricError
from setpoint.blackbox.binding import measured_on
from setpoint.blackbox.budget import BudgetedMetric, BudgetSpentError
from setpoint.inputs.classes import classes_of
from setpoint.inputs.files import CheckpointError
from setpoint.inputs.inputs import GivenRows
from setpoint.search.limits import Limits, StoppedError

Y = np.array([0, 1, 1, 0, 1, 0, 0, 1])


def hits(y_true, y_pred):
    return float((y_true == y_pred).sum())


def gap(y_true, scores):
    return float(scores[y_true == 1].mean() - scores[y_true == 0].mean())


class Counted:
    """A function that notes its calls, and is interrupted at one of them."""

    def __init__(self, stop=None):
        self.calls, self.stop = 0, stop

    def __call__(self, y_true, y_pred):
        self.calls += 1
        if self.calls == self.stop:
            raise KeyboardInterrupt
        return hits(y_true, y_pred)


def metric(function=hits, y=Y, **kwargs):
    return measured_on(BlackBox(function, **kwargs), classes_of(y), GivenRows(len(y), y))


def vectors(m, seed=0, n=8):
    return np.random.default_rng(seed).normal(size=(m, n))


def test_gains_turn_losses():
    F = vectors(5)
    up, down = BudgetedMetric(metric()), BudgetedMetric(metric(greater_is_better=False))
    assert (up(F) == metric()(F)).all()
    assert (down(F) == -metric()(F)).all()


def test_equal_decisions_are_paid_once():
    function = Counted()
    metered = BudgetedMetric(metric(function), budget=10)
    F = vectors(3)
    first = metered(np.concatenate([F, 2.0 * F]))
    assert (first[:3] == first[3:]).all()
    assert (metered.used, metered.hits, metered.left, function.calls) == (3, 3, 7, 3)
    metered(F * 0.5)
    assert (metered.used, metered.hits, function.calls) == (3, 6, 3)


def test_scores_are_compared_by_their_bits():
    metered = BudgetedMetric(metric(gap))
    F = vectors(2)
    metered(np.concatenate([F, 2.0 * F]))
    assert metered.used == 4
    zero = np.zeros((1, len(Y)))
    metered(zero)
    metered(-zero)
    assert metered.used == 5


def test_a_formula_is_counted_and_cached_like_a_black_box():
    formula = BudgetedMetric(measured_on("accuracy", classes_of(Y), GivenRows(len(Y), Y)))
    called = BudgetedMetric(metric())
    F = np.concatenate([vectors(4), 3.0 * vectors(4)])
    assert formula(F) == pytest.approx(called(F) / len(Y))
    assert (formula.used, formula.hits) == (called.used, called.hits) == (4, 4)


def test_budget_is_asked_before_anything_is_made():
    function = Counted()
    metered = BudgetedMetric(metric(function), budget=4)
    metered(vectors(3))
    with pytest.raises(BudgetSpentError, match=r"budget of 4 .* 3 are used, .* needs 2"):
        metered(vectors(2, seed=1))
    assert (metered.used, function.calls) == (3, 3)
    metered(vectors(1, seed=2))
    assert metered.left == 0
    with pytest.raises(BudgetSpentError):
        metered(vectors(1, seed=3))
    metered(vectors(3))  # what is known costs nothing
    assert metered.used == 4


def test_limits_learn_of_what_is_used():
    seen = []
    limits = Limits(report=seen.append)
    metered = BudgetedMetric(metric(), budget=5, limits=limits)
    metered(vectors(2))
    metered.record(0.5)
    metered.drawn([np.arange(metered.metric.n_rows)], vectors(2))
    assert [(now.call, now.objective) for now in seen] == [(2, 0.5), (4, 0.5)]
    assert limits.calls == metered.used
    limits.stopped = "interrupted"
    with pytest.raises(StoppedError, match="interrupted"):
        metered(vectors(1, seed=3))


def test_processes_find_the_same():
    F = vectors(7)
    alone, together = BudgetedMetric(metric(f1_score)), BudgetedMetric(metric(f1_score), n_jobs=2)
    assert (alone(F) == together(F)).all()
    assert alone.used == together.used == 7


def test_an_error_passes_through_processes():
    metered = BudgetedMetric(metric(f1_score, limits=(2.0, 3.0)), n_jobs=2)
    with pytest.raises(MetricError, match="outside its limits"):
        metered(vectors(4))


def test_a_run_taken_up_again_goes_the_same_way(tmp_path):
    path = tmp_path / "hits.jsonl"
    function = Counted(stop=4)
    broken = BudgetedMetric(metric(function, name="hits"), budget=9, checkpoint=path)
    with pytest.raises(KeyboardInterrupt):
        broken(vectors(6))
    assert broken.used == 3  # what was finished is kept
    function = Counted()
    again = BudgetedMetric(metric(function, name="hits"), budget=9, checkpoint=path)
    gains = again(vectors(6))
    # One evaluation is made again, to see that the file still refers to this function.
    assert (again.used, again.resumed, again.left, function.calls) == (6, 3, 3, 4)
    assert (gains == metric()(vectors(6))).all()
    third = BudgetedMetric(metric(Counted(stop=2), name="hits"), budget=9, checkpoint=path)
    assert (third(vectors(6)) == gains).all()
    assert (third.used, third.resumed) == (6, 6)


def test_a_file_of_a_function_that_changed_is_refused(tmp_path):
    path = tmp_path / "hits.jsonl"
    BudgetedMetric(metric(name="hits"), checkpoint=path)(vectors(6))
    other = BudgetedMetric(metric(lambda y_true, y_pred: 0.123, name="hits"), checkpoint=path)
    with pytest.raises(
        ValueError, match=r"f?.*jsonl says .* now says 0.123: the function has changed"
    ):
        other(vectors(6))


@pytest.mark.parametrize("cut", [1, 7, 30])
def test_a_torn_last_line_is_dropped(tmp_path, cut):
    path = tmp_path / "f.jsonl"
    BudgetedMetric(metric(), checkpoint=path)(vectors(4))
    whole = path.read_bytes()
    path.write_bytes(whole[:-cut])
    again = BudgetedMetric(metric(), checkpoint=path)
    again(vectors(4))
    assert again.resumed == 3
    assert path.read_bytes() == whole


@pytest.mark.parametrize("length", [0, 1, 20])
def test_a_torn_header_is_written_anew(tmp_path, length):
    path = tmp_path / "f.jsonl"
    BudgetedMetric(metric(), checkpoint=path)
    whole = path.read_bytes()
    path.write_bytes(whole[:length])
    BudgetedMetric(metric(), checkpoint=path)
    assert path.read_bytes() == whole


def test_a_foreign_file_is_refused_and_left_alone(tmp_path):
    path = tmp_path / "f.jsonl"
    BudgetedMetric(metric(), checkpoint=path)(vectors(2))
    held = path.read_bytes()
    with pytest.raises(
        CheckpointError, match=r"of another search: `metric` was .*hits and is .*gap now"
    ):
        BudgetedMetric(metric(gap), checkpoint=path)
    with pytest.raises(
        CheckpointError, match="another search: the number of rows was 8 and is 7 now"
    ):
        BudgetedMetric(metric(y=Y[:-1]), checkpoint=path)
    with pytest.raises(CheckpointError, match="another search: the digest of the rows was"):
        BudgetedMetric(metric(y=Y[::-1]), checkpoint=path)
    assert path.read_bytes() == held
    for text in ("a,b\n1,2\n", "notes", json.dumps([1]) + "\n", json.dumps({"a": 1}) + "\n"):
        path.write_text(text)
        with pytest.raises(CheckpointError, match=r"is not a file of evaluations \(line 1\)"):
            BudgetedMetric(metric(), checkpoint=path)
        assert path.read_text() == text


def test_a_line_that_is_broken_within_the_file_is_named(tmp_path):
    path = tmp_path / "f.jsonl"
    BudgetedMetric(metric(), checkpoint=path)(vectors(3))
    lines = path.read_text().splitlines()
    lines[2] = lines[2][:10]
    path.write_text("\n".join(lines) + "\n")
    with pytest.raises(ValueError, match=r"\(line 3\)"):
        BudgetedMetric(metric(), checkpoint=path)
