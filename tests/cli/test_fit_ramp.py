"""``setpoint fit --solver augmented-lagrangian``: data sets, groups and the deployed model."""

import contextlib
import json
import signal

import numpy as np
import pytest

from setpoint import RampClassifier, SearchLimits, load_model

GOAL = (
    "minimize error_rate subject to predicted_rate.difference(sex) <= 0.2 and churn <= 0.2 "
    "and recall.on(egregious) >= 0.5"
)
PLAIN = "minimize error_rate subject to predicted_rate <= 0.5"
HEAD = "sex,city,age,since,score,old,y"
BOTH = ["augmented-lagrangian", "cutting-plane"]


def lines(n_rows, seed):
    """Groups, a category, gaps, dates; the deployed model's scores and decisions."""
    r = np.random.default_rng(seed)
    out = []
    for _ in range(n_rows):
        sex, city, age = r.choice(["f", "m"]), r.choice(["Bonn", "Kiel"]), r.normal(40, 10)
        z = (age - 40) / 5 + 0.8 * (sex == "m") + 0.5 * (city == "Kiel")
        s = z + 0.5 * r.normal() - 0.6
        y = "yes" if z + 0.8 * r.normal() > 0.6 else "no"
        shown = f"{age:.2f}" if r.random() > 0.05 else ""
        day = f"2024-0{r.integers(1, 10)}-1{r.integers(0, 10)}"
        out.append(f"{sex},{city},{shown},{day},{s:.3f},{'yes' if s >= 0 else 'no'},{y}")
    return out


def write(path, rows, head=HEAD):
    path.write_text("\n".join([head, *rows]) + "\n")
    return path


@pytest.fixture(scope="module")
def there(tmp_path_factory):
    at = tmp_path_factory.mktemp("ramp")
    for seed, (name, n_rows) in enumerate((("loans", 700), ("later", 300), ("checked", 80))):
        write(at / f"{name}.csv", lines(n_rows, seed))
    return at


@pytest.fixture
def fit(run, there, tmp_path):
    def invoke(*more, goal=PLAIN, data="loans.csv", solver="augmented-lagrangian"):
        return run(
            "train", there / data, "--target", "y", "--goal", goal, "--solver", solver,
            "--model", tmp_path / "m.skops", *more,
        )  # fmt: skip

    return invoke


def error_of(done):
    assert done.exit_code == 1, done.output
    assert done.stdout == ""
    line = done.stderr.splitlines()[-1]
    assert line.startswith("error: ")
    return line.removeprefix("error: ")


# ---------------------------------------------------------------------- the whole way
@pytest.mark.parametrize("scores", [False, True])
def test_fit_predict_evaluate_frontier(fit, run, there, tmp_path, scores):
    model, page, checked = tmp_path / "m.skops", tmp_path / "r.html", there / "checked.csv"
    said = ("--baseline", "old", "--drop", "score")
    if scores:
        said = ("--baseline", "score", "--set", "baseline-threshold=0", "--drop", "old")
    done = fit(
        *said, "--dataset", f"egregious={checked}", "--report", page, "--json", goal=GOAL
    )  # fmt: skip
    assert done.exit_code in (0, 3, 4), done.stderr
    out = json.loads(done.stdout)
    assert (out["family"], out["solver"]) == ("ramp", "augmented-lagrangian")
    assert (out["module"], out["estimator"], out["candidates"]) == ("linear", None, [])
    assert out["rows"] == {"fitted": 525, "held_out": 175, "certifying": 0}
    assert out["datasets"] == {"egregious": {"fitted": 60, "held_out": 20, "shared": 0}}
    assert out["columns"]["decides_on"] == {}
    assert set(out["columns"]["features"]) == {"city", "age", "since"}
    assert out["columns"]["scores"] == ("score" if scores else None)
    assert out["columns"]["hidden"]["sex"] == "sensitive"
    assert ("score" in out["columns"]["hidden"]) != scores
    assert out["held_out"]["deployed"]["rows"] == 175
    assert out["fitted"]["search"]["family"] == "ramp"

    text = page.read_text("utf-8")
    for words in (
        "A linear model, trained for the goal by augmented-lagrangian, seed 0",
        "missing ones become the median",
        "The data set egregious: 80 rows from checked.csv, 20 of them held out",
        "Against the deployed model",
    ):
        assert words in text
    message = (
        "The deployed model&#39;s scores, score, are one more feature; it decides positive from 0"
    )
    assert (message in text) == scores
    for python in ("min_positives", "RampClassifier", "on_infeasible", "baseline_threshold"):
        assert python not in text + done.output

    stored = load_model(model)
    clf = stored.classifier
    assert isinstance(clf, RampClassifier)
    assert (clf.C, clf.randomized, clf.min_positives) == (0.1, False, "auto")
    assert ("score" in [c.name for c in stored.columns]) == scores
    assert (clf.score_feature_ is not None) == scores
    head, *rows = run("predict", model, there / "later.csv").stdout.splitlines()
    assert head == "prediction,score"
    assert len(rows) == 300
    for row in rows:
        decision, score = row.split(",")
        assert (decision == "yes") == (float(score) >= clf.threshold_)

    more = ("--dataset", f"egregious={checked}")
    judged = run("evaluate", model, there / "later.csv", *more, "--json")
    assert judged.exit_code in (0, 3, 4), judged.stderr
    found = json.loads(judged.stdout)["evaluated"]
    # The same by hand: what was decided against what the deployed model says.
    later = [line.split(",") for line in (there / "later.csv").read_text().splitlines()[1:]]
    decided = [row.split(",")[0] for row in rows]
    churn = np.mean([a != row[5] for a, row in zip(decided, later, strict=True)])
    error = np.mean([a != row[6] for a, row in zip(decided, later, strict=True)])
    assert found["constraints"][1]["value"] == pytest.approx(churn)
    assert found["objective"]["value"] == pytest.approx(error)
    assert found["deployed"]["changed"] == pytest.approx(churn)
    costs = run("frontier", model, there / "later.csv", *more, "--vary", "churn", "--values", "0.5")
    assert costs.exit_code == 0, costs.stderr
    assert "best error_rate" in costs.stdout


@pytest.mark.parametrize("solver", BOTH)
def test_options_reach_the_classifier(fit, tmp_path, solver):
    more = ("--set", "inverse-regularization=0.5", "--set", "min-positives=7", "--set", "seed=3")
    done = fit(*more, "--set", "max-seconds=60", "--positive", "no",
               solver=solver)  # fmt: skip
    assert done.exit_code in (0, 3, 4), done.stderr
    clf = load_model(tmp_path / "m.skops").classifier
    assert (clf.C, clf.min_positives, clf.random_state, clf.limits) == (
        0.5,
        7,
        3,
        SearchLimits(seconds=60),
    )
    assert (clf.solver, clf.positive_) == (solver, "no")


def test_draws(fit, run, there, tmp_path):
    done = fit("--set", "draws", "--test-size", "0")
    assert done.exit_code == 4, done.stderr
    first = done.stdout.splitlines()[0]
    assert first == "Too close to call on the 700 rows that the model was trained on."
    assert "drawn by the ramp" in " ".join(done.stdout.split())
    head, row, *_ = run("predict", tmp_path / "m.skops", there / "later.csv").stdout.splitlines()
    assert head == "prediction,score,decision_no,decision_yes"
    _, score, no, yes = row.split(",")
    assert float(yes) == pytest.approx(np.clip(0.5 + float(score), 0, 1))
    assert float(no) + float(yes) == pytest.approx(1)


def test_rows_without_labels(fit, there, tmp_path):
    unlabelled = write(
        tmp_path / "new.csv",
        [line.rpartition(",")[0] for line in lines(200, 9)],
        HEAD.rpartition(",")[0],
    )
    goal = "maximize recall subject to predicted_rate.on(new) <= 0.4 and churn.on(new) <= 0.5"
    done = fit("--baseline", "old", "--dataset", f"new={unlabelled}", "--json", goal=goal)
    assert done.exit_code in (0, 3, 4), done.stderr
    assert json.loads(done.stdout)["held_out"]["constraints"][0]["rows"] == 50


def test_the_same_in_every_run(fit):
    message = []
    for _ in range(2):
        out = json.loads(fit("--json").stdout)
        out.pop("run")
        message.append(json.dumps(out))
    assert message[0] == message[1]


def test_a_goal_that_is_silent_on_the_deployed_model(fit):
    done = fit("--baseline", "old", "--json")
    message = "so the column is only compared with"
    assert any(note.endswith(message) for note in json.loads(done.stdout)["notes"])
    more = ("--baseline", "score", "--set", "baseline-threshold=0")
    out = json.loads(fit(*more, "--json").stdout)
    assert not any("is only compared" in note for note in out["notes"])
    assert out["columns"]["scores"] == "score"
    assert fit("--baseline", "old", "--test-size", "0").exit_code == 4


# ---------------------------------------------------------------------- what is wrong is said
CHURN = "minimize error_rate subject to churn <= 0.1"
SCORED = ("--baseline", "score", "--set", "baseline-threshold=0")


@pytest.mark.parametrize(
    ("goal", "more", "words"),
    [
        (PLAIN, ("--set", "estimator=logistic"), "leave out --set estimator (it is a linear one)"),
        (
            PLAIN,
            ("--module", "linear"),
            "descends on the ramp problem itself; leave one of them out",
        ),
        (PLAIN, ("--set", "checkpoint=c"), "--set checkpoint is for solvers that train the model"),
        (PLAIN, ("--set", "validation-fraction=0.1"), "--set validation-fraction is for solvers"),
        (
            PLAIN,
            ("--set", "inverse-regularization=0"),
            "inverse-regularization: 0.0 is not in the range x>0",
        ),
        (
            PLAIN,
            ("--set", "inverse-regularization=nan"),
            "--set inverse-regularization is a number above 0, got nan",
        ),
        (CHURN, (), "name the column with its predictions with --baseline"),
        (CHURN, ("--baseline", "olds"), "has no column 'olds' (did you mean 'old'?)"),
        (CHURN, ("--baseline", "city"), "in column 'city' is not a class of the model"),
        (CHURN, ("--baseline", "score"), "in column 'score' is not a class of the model"),
        (CHURN, ("--set", "baseline-threshold=0"), "name their column with --baseline"),
        (
            CHURN,
            ("--baseline", "old", "--set", "baseline-threshold=0"),
            "column 'old' of loans.csv holds no numbers; leave it out where --baseline names",
        ),
        (
            CHURN,
            ("--baseline", "y", "--set", "baseline-threshold=0"),
            "--baseline: 'y' is the target",
        ),
        (CHURN, (*SCORED, "--drop", "score"), "takes them as a feature; do not name it in"),
        (
            CHURN,
            (*SCORED[:3], "baseline-threshold=nan"),
            "--set baseline-threshold is a number, got nan",
        ),
        (CHURN, (*SCORED[:3], "baseline-threshold=x"), "baseline-threshold: 'x' is not a valid"),
        ("maximize recall.min(sex)", (), "write a smallest or largest of several as constraints"),
        (
            "maximize accuracy s.t. g_mean >= 0.3",
            (),
            "this one is concave; setpoint fit takes more of them",
        ),
        ("maximize accuracy.on(more)", (), "give its table, --dataset more=FILE"),
    ],
)
def test_what_does_not_fit(fit, tmp_path, goal, more, words):
    message = error_of(fit(*more, goal=goal))
    assert words in message
    assert "RampClassifier" not in message
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("solver", ["post-shift", "ero"])
@pytest.mark.parametrize("more", [SCORED, ("--set", "inverse-regularization=1")])
def test_options_that_other_families_do_not_have(fit, solver, more):
    message = error_of(fit(*more, solver=solver))
    assert "is for solvers that train the model for the goal (augmented-lagrangian, cutt" in message
    assert f"and --solver {solver} " in message


def test_more_than_two_classes(run, there, tmp_path):
    table = write(tmp_path / "t.csv", [f"{i % 3},{i}.5" for i in range(60)], "y,x")
    done = run("train", table, "--target", "y", "--goal", "accuracy", "--solver", "cutting-plane",
               "--model", tmp_path / "m.skops")  # fmt: skip
    assert "holds 3 classes, and --solver cutting-plane trains models for two" in error_of(done)


def test_a_threshold_that_decides_the_same_for_everybody(fit):
    done = fit("--baseline", "score", "--set", "baseline-threshold=99")
    message = (
        "--set baseline-threshold=99: so the deployed model decides positive for 0 of the 700 rows"
    )
    assert message in done.stderr


def test_a_goal_out_of_reach(fit, tmp_path):
    goal = "maximize recall subject to precision >= 0.999 and recall >= 0.95"
    done = fit(goal=goal)
    assert done.exit_code == 3, done.stderr
    assert done.stdout.startswith("No rule was found that meets the goal, so no model was written.")
    assert "No linear model was found that meets" in done.stdout
    assert "on_infeasible" not in done.output
    out = json.loads(fit("--json", goal=goal).stdout)
    assert out["status"] == "infeasible"
    assert out["violation"] > 0
    assert not list(tmp_path.iterdir())


def test_scores_that_are_missing(fit, run, there, tmp_path):
    assert fit(*SCORED).exit_code in (0, 3, 4)
    model = tmp_path / "m.skops"
    rows = lines(5, 1)
    head, *left = (row.rsplit(",", 3)[0] for row in (HEAD, *rows))
    left_out = write(tmp_path / "none.csv", left, head)
    message = error_of(run("predict", model, left_out))
    assert message.startswith("none.csv has no column 'score'")
    assert message.endswith("; it holds the deployed model's scores")
    strata = [row.split(",") for row in rows]
    strata[2][4] = ""
    gap = write(tmp_path / "gap.csv", map(",".join, strata))
    for command in ("predict", "evaluate"):
        message = error_of(run(command, model, gap))
        assert message.startswith(
            "gap.csv: 1 row has no score of the deployed model in column 'score', in line 4"
        )
    message = error_of(run("evaluate", model, there / "later.csv", "--baseline", "old"))
    assert "is not a number, and the column holds the deployed model's scores" in message
    message = error_of(run("evaluate", model, there / "later.csv", "--baseline", "age"))
    assert "rows have no score of the deployed model in column 'age', the first in line" in message
    table = write(tmp_path / "loans.csv", map(",".join, strata))
    assert "no score of the deployed model" in error_of(fit(*SCORED, data=table))


def test_no_time(fit):
    done = fit("--set", "max-seconds=1e-9")
    assert done.exit_code in (0, 3, 4), done.output
    assert "note: stopped after 1e-09 seconds" in done.stderr


def test_ctrl_c_writes_no_model(fit, tmp_path, monkeypatch):
    real = RampClassifier.fit

    def interrupted(self, *args, **kw):
        with contextlib.suppress(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        return real(self, *args, **kw)

    monkeypatch.setattr(RampClassifier, "fit", interrupted)
    done = fit()
    assert (done.exit_code, done.stdout) == (130, "")
    assert done.stderr.splitlines()[-1] == "stopped; nothing was written"
    assert not list(tmp_path.iterdir())
