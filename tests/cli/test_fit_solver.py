"""``setpoint train``: the families, what goes with each, and models trained for the goal."""

import contextlib
import itertools
import json
import signal
from types import SimpleNamespace

import numpy as np
import pytest

from setpoint import load_model, packages
from setpoint.penalty import ExactPenaltyClassifier
from setpoint.penalty.selection import Checkpoint
from setpoint.search import limits
from setpoint.solvers import SOLVERS
from setpoint.surrogates.losses import _BY_NAME
from setpoint.tables import SURROGATES

GOAL = "maximize recall subject to precision >= 0.4"


@pytest.fixture(scope="module")
def there(tmp_path_factory):
    """rare.csv and later.csv: one row in six is positive, with a group and a category."""
    at = tmp_path_factory.mktemp("solver")
    for seed, name in enumerate(("rare.csv", "later.csv")):
        r = np.random.default_rng(seed)
        lines = ["a,b,kind,sex,y"]
        for _ in range(600):
            a, b = r.normal(size=2)
            kind, sex = r.choice(["x", "y", "z"]), r.choice(["f", "m"])
            y = "yes" if a + 0.6 * b * b + (kind == "z") + r.normal() > 2.4 else "no"
            lines.append(f"{a:.4f},{'' if r.random() < 0.05 else f'{b:.4f}'},{kind},{sex},{y}")
        (at / name).write_text("\n".join(lines) + "\n")
    return at


@pytest.fixture
def fit(run, there, tmp_path):
    def invoke(*more, goal=GOAL):
        model = tmp_path / "m.skops"
        command = "fit" if any(str(word).startswith("solver=") for word in more) else "train"
        return run(
            command, there / "rare.csv", "--target", "y", "--goal", goal, "--model", model, *more
        )

    return invoke


def error_of(done):
    assert done.exit_code == 1, done.output
    assert done.stdout == ""
    line = done.stderr.splitlines()[-1]
    assert line.startswith("error: ")
    return line.removeprefix("error: ")


def test_the_shell_knows_all_surrogates():
    assert set(SURROGATES) == set(_BY_NAME)


def test_help_and_completion_know_the_solvers(run, there):
    text = " ".join(run("train", "--help").stdout.split())
    trainers = {name for name, solver in SOLVERS.items() if solver.family != "plugin"}
    assert all(name in text for name in trainers)
    listed = run("fit", "--set", "help").stdout
    assert "solver=NAME" in listed
    wrong = run("fit", there / "rare.csv", "--target", "y", "--goal", GOAL, "--model", "m",
                "--set", "solver=ero").stderr  # fmt: skip
    assert all(f"'{name}'" in wrong for name in SOLVERS if name not in trainers)
    env = {"COMP_WORDS": "setpoint train --solver pr", "COMP_CWORD": "3"}
    done = run(env={**env, "_SETPOINT_COMPLETE": "bash_complete"}, prog_name="setpoint")
    assert done.stdout.split() == ["plain,profiled"]


# ---------------------------------------------------------------------- what does not fit together
@pytest.mark.parametrize(
    ("more", "words"),
    [
        (("--solver", "eros"), "Invalid value for '--solver': 'eros' is not one of 'portfolio'"),
        (
            ("--solver", "ero", "--set", "estimator=logistic"),
            "trains the model itself: leave out --set estimator (--module says which model), or",
        ),
        (("--solver", "cutting-plane", "--module", "mlp"), "--module is for solvers that train"),
        (
            ("--solver", "post-shift", "--module", "linear"),
            "and --solver post-shift ",
        ),
        (
            ("--solver", "cutting-plane", "--set", "checkpoint=c"),
            "--set checkpoint is for solvers that train",
        ),
        (
            ("--solver", "surrogate-weights", "--set", "min-positives=9"),
            "--set min-positives is for solvers that train",
        ),
        (
            ("--solver", "cutting-plane", "--set", "validation-fraction=0"),
            "--set validation-fraction is for solvers that train",
        ),
        (("--set", "min-positives"), "write min-positives=N, got 'min-positives'"),
        (("--set", "positives=9"), "there is no 'positives' here (did you mean 'min-positives'?)"),
        (("--set", "seed=1", "--set", "seed=2"), "seed is set twice"),
        (("--solver", "ero", "--set", "min-positives=-1"), "min-positives: -1 is not in the range"),
        (("--solver", "ero", "--set", "validation-fraction=1"), "validation-fraction: 1.0 is not"),
        (
            ("--solver", "ero", "--set", "validation-fraction=nan"),
            "--set validation-fraction is 'auto' or a number in [0, 1), got nan",
        ),
        (
            ("--solver", "ero", "--set", "validation-fraction=0.999"),
            "--set validation-fraction is 0.999, and the smaller class has",
        ),
        (
            ("--solver", "ero", "--set", "min-positives=451"),
            "--set min-positives is 451, and the rows have a weight of 450",
        ),
        (
            ("--solver", "ero", "--set", "max-seconds=nan"),
            "--set max-seconds is a number above 0 or None, got nan",
        ),
        (("--solver", "ero", "--set", "draws"), "decides nothing by chance"),
        (("--decide-on", "sex"), "; see setpoint train --help"),
        (("--set", "max-seconds=0"), "max-seconds: 0.0 is not in the range x>0"),
    ],
)
def test_options_of_another_family(fit, tmp_path, more, words):
    assert words in error_of(fit(*more))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("goal", "more", "words"),
    [
        ("maximize recall s.t. recall.difference(sex) <= 0.1", (), "'sex'"),
        ("maximize recall s.t. churn <= 0.1", ("--baseline", "y"), "the deployed model"),
        ("maximize recall s.t. churn <= 0.1", (), "the deployed model"),
        ("maximize accuracy.on('checked')", (), "'checked'"),
    ],
)
def test_goals_over_more_than_the_rows_as_a_whole(fit, tmp_path, goal, more, words):
    assert error_of(fit("--solver", "ero", *more, goal=goal)) == (
        f"the goal refers to {words}, and a model is trained for goals over the rows as a whole "
        "that only gain by accepting a positive and by refusing a negative; "
        "setpoint fit takes such goals, after training"
    )
    assert not list(tmp_path.iterdir())


def test_goals_that_fall_with_accepted_positives(fit):
    text = error_of(fit("--solver", "ero", goal="maximize recall s.t. predicted_rate <= 0.1"))
    assert "predicted_rate <= 0.1" in text
    assert text.endswith("; setpoint fit takes any goal, after training")


def test_more_than_two_classes(run, there, tmp_path):
    done = run(
        "train", there / "rare.csv", "--target", "kind", "--goal", "macro_f1", "--solver", "ero",
        "--model", tmp_path / "m.skops",
    )  # fmt: skip
    assert "column 'kind' holds 3 classes, and --solver ero trains models for two" in error_of(done)
    done = run(
        "fit", there / "rare.csv", "--target", "kind", "--goal", "macro_f1",
        "--set", "solver=exact", "--model", tmp_path / "m.skops",
    )  # fmt: skip
    assert (
        "--set solver=exact takes every shape that can be solved, for two classes, and y holds 3"
        in error_of(done)
    )


def test_a_missing_package_is_found_before_the_table_is_read(run, tmp_path, monkeypatch):
    pytest.importorskip("torch")
    pytest.importorskip("safetensors")
    real = packages.find_spec
    monkeypatch.setattr(packages, "find_spec", lambda name: None if name == "torch" else real(name))
    done = run(
        "train", tmp_path / "none.csv", "--target", "y", "--goal", GOAL, "--solver", "ero",
        "--module", "mlp", "--model", tmp_path / "m.skops",
    )  # fmt: skip
    assert error_of(done) == "--module mlp needs torch: pip install 'setpoint[torch]'"
    monkeypatch.setattr(
        packages, "find_spec", lambda name: None if name == "safetensors" else real(name)
    )
    done = run(
        "train", tmp_path / "none.csv", "--target", "y", "--goal", GOAL, "--solver", "ero",
        "--set", f"checkpoint={tmp_path / 'c'}", "--model", tmp_path / "m.skops",
    )  # fmt: skip
    assert error_of(done) == "--set checkpoint needs safetensors: pip install 'setpoint[torch]'"


# ---------------------------------------------------------------------- rules after training
def test_solvers_of_the_plug_in_family(fit, tmp_path):
    done = fit("--set", "solver=frank-wolfe", "--json", goal="maximize g_mean")
    out = json.loads(done.stdout)
    assert done.exit_code == 0, done.stderr
    assert (out["solver"], out["family"]) == ("frank-wolfe", "plugin")
    assert (out["estimator"], out["module"], out["candidates"]) == ("logistic", None, [])
    assert out["fitted"]["search"]["solver"] == "frank-wolfe"
    assert load_model(tmp_path / "m.skops").classifier.solver == "frank-wolfe"
    same = json.loads(fit("--set", "solver=auto", "--json").stdout)
    named = json.loads(fit("--set", "solver=auto", "--estimator", "logistic", "--json").stdout)
    del same["run"], named["run"]
    assert same == named


# ---------------------------------------------------------------------- models trained for the goal
def test_a_linear_model_is_trained_reported_and_used(fit, run, there, tmp_path):
    page, model = tmp_path / "r.html", tmp_path / "m.skops"
    done = fit("--solver", "portfolio", "--report", page, "--sensitive", "sex", "--json")
    assert done.exit_code in (0, 3, 4), done.stderr
    out = json.loads(done.stdout)
    assert (out["solver"], out["family"], out["module"]) == ("portfolio", "penalty", "linear")
    assert out["estimator"] is None
    assert out["positive"] == "yes"
    assert out["rows"] == {"fitted": 450, "held_out": 150, "certifying": 0}
    assert out["fitted"]["counts"]["n_rows"] == 450
    tried = {c["method"]: c for c in out["candidates"]}
    assert len(tried) == len(out["candidates"]) >= 7
    first = out["candidates"][0]
    assert first["violation"] == 0
    assert first["objective"] == pytest.approx(out["fitted"]["objective"]["value"])
    assert first["objective"] >= tried["cross-entropy"]["objective"]

    text = page.read_text("utf-8")
    for words in (
        "What was tried",
        "Lagrangian, hinge rates: recall = ",
        "A linear model, trained for the goal by portfolio, seed 0",
        "missing ones become the median",
        "counted on the 450 rows that the model was trained on; the first was taken",
    ):
        assert words in text
    for words in (
        "At least 20 rows have to be predicted positive",
        "--set min-positives sets it.",
        "What is counted on the 450 rows that the model was trained on flatters it",
        "--set validation-fraction holds rows out.",
    ):
        assert words in text
        assert words in " ".join(out["fitted"]["warnings"])
    # What is not known of a training is not reported: it passes over the data in many ways.
    assert out["fitted"]["search"]["calls"] is None
    assert "<dt>passes over the data</dt>" not in text
    for python in ("min_positives", "validation_fraction", "ExactPenalty", "on_infeasible"):
        assert python not in text + done.output

    stored = load_model(model).classifier
    assert isinstance(stored, ExactPenaltyClassifier)
    head, *rows = run("predict", model, there / "later.csv").stdout.splitlines()
    assert head == "prediction,score"
    # The score is what the rule goes by, so the threshold that is reported is one for this column.
    accepted = {row.split(",")[0] == "yes" for row in rows}
    assert accepted == {True, False}
    for row in rows:
        decision, score = row.split(",")
        assert (decision == "yes") == (float(score) >= stored.threshold_)
    judged = run("evaluate", model, there / "later.csv", "--report", tmp_path / "e.html")
    assert judged.exit_code in (0, 3, 4), judged.stderr
    assert "How it was found" not in judged.stdout
    assert "What was tried" not in judged.stdout
    costs = run("frontier", model, there / "later.csv", "--values", "0.3,0.5,0.7")
    assert costs.exit_code == 0, costs.stderr
    assert "best recall" in costs.stdout
    assert costs.stdout.count("\n") >= 6


def test_the_score_is_that_of_the_positive_class(fit, run, there, tmp_path):
    done = fit("--solver", "cross-entropy", "--positive", "no", "--json")
    assert json.loads(done.stdout)["positive"] == "no"
    cut = load_model(tmp_path / "m.skops").classifier.threshold_
    for row in run("predict", tmp_path / "m.skops", there / "later.csv").stdout.splitlines()[1:]:
        decision, score = row.split(",")
        assert (decision == "no") == (float(score) >= cut)


def test_the_same_in_every_run(fit):
    outputs = []
    for _ in range(2):
        out = json.loads(fit("--solver", "ero", "--json").stdout)
        out.pop("run")
        outputs.append(json.dumps(out))
    assert outputs[0] == outputs[1]


def test_without_rows_held_out_it_says_which_rows_judge(fit):
    done = fit("--solver", "ero", "--test-size", "0")
    assert done.exit_code == 4, done.stderr
    first = done.stdout.splitlines()[0]
    assert first == "Too close to call on the 600 rows that the model was trained on."
    assert "cross-validation" not in done.stdout
    assert "the best of its many iterates" in " ".join(done.stdout.split())


def test_rows_that_choose(fit, tmp_path):
    more = ("--solver", "ero", "--set", "validation-fraction=0.2", "--set", "min-positives=7")
    done = fit(*more, "--json")
    assert done.exit_code in (0, 3, 4), done.stderr
    out = json.loads(done.stdout)
    assert out["rows"] == {"fitted": 450, "held_out": 150, "certifying": 0}
    assert out["fitted"]["counts"]["n_rows"] == 90
    text = " ".join(out["fitted"]["warnings"])
    assert "At least 7 rows have to be predicted positive" in text
    assert "Iterate and threshold were chosen on 90 rows held out from training" in text
    stored = load_model(tmp_path / "m.skops").classifier
    assert (stored.validation_fraction, stored.min_positives) == (0.2, 7)
    text = fit(*more, "--test-size", "0").stdout
    assert " on the 120 rows by which the model was chosen." in text.splitlines()[0]


def test_too_few_predicted_positive(fit, tmp_path):
    done = fit("--solver", "cross-entropy", "--set", "min-positives=440")
    assert done.exit_code == 3, done.stderr
    assert "predicts 440 rows positive, as --set min-positives asks" in done.stdout
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("solver", ["auto", "cross-entropy"])
def test_a_deployed_model_that_the_goal_does_not_refer_to(run, fit, there, tmp_path, solver):
    head, *lines = (there / "rare.csv").read_text().splitlines()
    lines = [f"{line},{'yes' if float(line.split(',')[0]) > 1 else 'no'}" for line in lines]
    (tmp_path / "t.csv").write_text("\n".join([f"{head},old", *lines]) + "\n")
    command, way = "train", ("--solver", solver)
    if solver == "auto":
        command, way = "fit", ("--set", "solver=auto")
    done = run(
        command, tmp_path / "t.csv", "--target", "y", "--goal", GOAL, *way,
        "--baseline", "old", "--model", tmp_path / "m.skops", "--json",
    )  # fmt: skip
    assert done.exit_code in (0, 3, 4), done.stderr
    out = json.loads(done.stdout)
    text = (
        "--baseline old: the goal does not refer to the deployed model, so the column is only "
        "compared with"
    )
    # A training does not look at it, and a rule is compared with it where it is found too.
    assert text + ("" if solver == "auto" else ", on the rows held out") in out["notes"]
    assert out["columns"]["hidden"]["old"] == "what the deployed model says"
    assert out["held_out"]["deployed"]["rows"] == 150
    fitted = out["fitted"]["deployed"]
    assert fitted is None if solver == "cross-entropy" else fitted["rows"] == 450
    # A value that is not a decision of a model is refused before anything is fitted.
    text = error_of(fit(*way, "--baseline", "kind"))
    assert "rare.csv, line 2: the decision of the deployed model" in text
    assert "in column 'kind' is not a class" in text


def test_a_goal_that_no_iterate_meets(fit, tmp_path):
    goal = "maximize recall subject to precision >= 0.99 and recall >= 0.9"
    done = fit("--solver", "ero", goal=goal)
    assert done.exit_code == 3, done.stderr
    assert "so no model was written" in done.stdout
    assert "on_infeasible" not in done.stdout
    assert not list(tmp_path.iterdir())
    assert json.loads(fit("--solver", "ero", "--json", goal=goal).stdout)["status"] == "infeasible"


def test_a_network(fit, run, there, tmp_path):
    pytest.importorskip("torch")
    pytest.importorskip("safetensors")
    state = tmp_path / "state"
    more = ("--solver", "profiled", "--module", "mlp", "--test-size", "0")
    done = fit(*more, "--set", f"checkpoint={state}", "--report", tmp_path / "r.html")
    assert done.exit_code == 4, done.stderr
    first = done.stdout.splitlines()[0]
    assert first == "Too close to call on the 120 rows by which the model was chosen."
    assert not state.exists()
    page = (tmp_path / "r.html").read_text("utf-8")
    assert "A network with three layers of 64, trained for the goal by profiled, seed 0" in page
    assert "the 120 rows by which the model was chosen; the first was taken" in page
    model = tmp_path / "m.skops"
    assert run("predict", model, there / "later.csv").stdout.count("\n") == 601
    assert run("evaluate", model, there / "later.csv").exit_code in (0, 3, 4)
    assert run("frontier", model, there / "later.csv", "--values", "0.3").exit_code == 0


# ---------------------------------------------------------------------- stopped before the end
def test_a_limit_on_seconds_keeps_the_best_so_far(fit, tmp_path, monkeypatch):
    done = fit("--solver", "portfolio", "--set", "max-seconds=1e-9")
    assert error_of(done) == (  # not even cross-entropy took a step
        "stopped after 1e-09 seconds, before there was anything to keep; give more with "
        "--set max-seconds, or leave it out"
    )
    assert not list(tmp_path.iterdir())
    ticks = itertools.count(0.0, 0.001)  # two hundred looks at the clock, on any machine
    monkeypatch.setattr(limits, "time", SimpleNamespace(perf_counter=ticks.__next__))
    later = fit("--solver", "portfolio", "--set", "max-seconds=0.2", "--json")
    assert later.exit_code in (0, 3, 4), later.stderr
    assert "note: stopped after 0.2 seconds: the best found so far is kept" in later.stderr
    assert load_model(tmp_path / "m.skops").target == "y"


def test_a_checkpoint_of_another_training(fit, tmp_path, monkeypatch):
    pytest.importorskip("safetensors")
    state = tmp_path / "state"
    monkeypatch.setattr(Checkpoint, "due", True)
    monkeypatch.setattr(Checkpoint, "remove", lambda self: None)
    same = ("--solver", "cross-entropy", "--set", f"checkpoint={state}")
    assert fit(*same).exit_code in (0, 3, 4)
    for more, what in (
        (("--set", "min-positives=9"), "--set min-positives was 20.0 and is 9.0"),
        (("--set", "seed=3"), "--set seed was 0 and is 3"),
        (("--drop", "a"), "the number of features was"),
        (("--set", "validation-fraction=0.2"), "the number of rows was 450 and is 360"),
    ):
        assert error_of(fit(*same, *more)).startswith(f"{state} is of another training: {what} ")
    assert fit(*same).exit_code in (0, 3, 4)


def test_ctrl_c_writes_no_model(fit, tmp_path, monkeypatch):
    """As with a rule: who presses it at a shell does not want half a training."""
    real = ExactPenaltyClassifier.fit

    def interrupted(self, *args, **kw):
        with contextlib.suppress(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        return real(self, *args, **kw)

    monkeypatch.setattr(ExactPenaltyClassifier, "fit", interrupted)
    done = fit("--solver", "ero")
    assert (done.exit_code, done.stdout) == (130, "")
    assert done.stderr.splitlines()[-1] == "stopped; nothing was written"
    assert not list(tmp_path.iterdir())
