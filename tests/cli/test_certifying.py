"""A promise at the shell: certified, refused, the safest rule; rows, options, exit codes."""

import json
import subprocess

import pytest

from setpoint import load_model, save_model
from setpoint.goals import Goal
from setpoint.guarantees import NotCertifiable
from setpoint.solvers import Confidence
from setpoint.tables import goals_near

from .conftest import lines_of, write

EASY = "maximize recall subject to precision >= 0.4"
HARD = "maximize recall subject to precision >= 0.92"
SURE = ("--confidence", "0.95")


@pytest.fixture
def fit(run, folder, tmp_path):
    def invoke(goal, *more, command="fit"):
        return run(
            command, folder / "loans.csv", "--target", "y", "--drop", "id", "--goal", goal,
            "--model", tmp_path / "m.skops", *more,
        )  # fmt: skip

    return invoke


def found(done):
    return json.loads(done.stdout)


def error_of(done):
    assert done.exit_code == 1, done.output
    assert done.stdout == ""
    return done.stderr.splitlines()[-1].removeprefix("error: ")


# ---------------------------------------------------------------------- certified
@pytest.mark.parametrize("level", ["0.95", "95%", " 95 % ", ".95"])
def test_certified_ends_with_0_and_the_model_says_so(fit, tmp_path, level):
    done = fit(EASY, "--confidence", level, "--json")
    out = found(done)
    assert (done.exit_code, out["status"]) == (0, "certified")
    assert out["rows"] == {"fitted": 800, "held_out": 0, "certifying": 240}
    assert out["held_out"] is None
    assert out["fitted"]["guarantee"]["confidence"] == 0.95
    stored = load_model(tmp_path / "m.skops").classifier.goal_report_.guarantee
    assert (stored.state, stored.confidence, stored.rows) == ("certified", 0.95, 240)


def test_the_first_line_says_what_was_certified(fit, folder, run, tmp_path):
    done = fit(EASY, *SURE, "--report", tmp_path / "page.html")
    assert done.exit_code == 0
    assert done.stdout.startswith("Certified at 95 % confidence, on 240 rows set apart.\n")
    assert "To search with the margin" not in done.stdout
    assert "Of them 240 rows certify and took no other part" in (tmp_path / "page.html").read_text()
    again = run("evaluate", tmp_path / "m.skops", folder / "new.csv")
    assert again.stdout.split("\n")[1] == (
        "In the fit certified at 95 % confidence, on 240 rows: precision >= 0.4."
    )


def test_the_test_part_is_measured_beside_the_certificate(fit):
    done = fit(EASY, *SURE, "--test-size", "0.25")
    assert done.exit_code == 0
    assert done.stdout.startswith("Certified at 95 % confidence, on 180 rows set apart.\n")
    assert "\nMeasured beside it on 200 rows held out:\n  recall: " in done.stdout
    out = found(fit(EASY, *SURE, "--test-size", "0.25", "--json"))
    assert out["rows"] == {"fitted": 600, "held_out": 200, "certifying": 180}
    assert out["held_out"]["guarantee"] is None
    assert out["status"] == "certified"


def test_a_goal_with_a_confidence_of_its_own(fit):
    done = fit(f"{EASY} with confidence 0.9", "--json")
    out = found(done)
    assert (done.exit_code, out["status"]) == (0, "certified")
    assert [c["confidence"] for c in out["fitted"]["guarantee"]["constraints"]] == [0.9]
    text = fit(f"{EASY} with confidence 0.9 and predicted_rate <= 0.9", *SURE)
    assert text.stdout.startswith("Certified at 90 % confidence, on")


def test_how_many_rows_certify_and_by_which_tests(fit, tmp_path):
    out = found(fit(EASY, *SURE, "--set", "certification-size=0.5", "--set", "strict", "--json"))
    assert out["rows"]["certifying"] == 400
    clf = load_model(tmp_path / "m.skops").classifier
    assert Confidence.of(clf.confidence) == Confidence(0.95, certification_size=0.5, strict=True)


def test_the_same_seed_certifies_the_same(fit):
    one, two = (found(fit(EASY, *SURE, "--set", "seed=3", "--json")) for _ in range(2))
    assert one.pop("run") != two.pop("run")
    assert one == two


# ---------------------------------------------------------------------- rows of their own
def test_rows_of_a_file_of_their_own_certify(fit, folder):
    done = fit(EASY, *SURE, "--set", f"certify-on={folder / 'new.csv'}")
    assert done.exit_code == 0
    assert done.stdout.startswith("Certified at 95 % confidence, on 300 rows of new.csv.\n")
    out = found(fit(EASY, *SURE, "--set", f"certify-on={folder / 'new.csv'}", "--json"))
    assert out["rows"] == {"fitted": 800, "held_out": 0, "certifying": 300}
    assert out["run"]["certify_on"].endswith("new.csv")


def test_groups_of_the_goal_are_read_there_too(fit, folder):
    goal = f"{EASY} and recall.difference(sex) <= 0.6"
    done = fit(goal, *SURE, "--set", f"certify-on={folder / 'new.csv'}", "--json")
    assert (done.exit_code, found(done)["status"]) == (0, "certified")


def test_rows_of_the_fit_do_not_certify(fit, folder, tmp_path):
    said = error_of(fit(EASY, *SURE, "--set", f"certify-on={folder / 'loans.csv'}"))
    assert said.startswith("--set certify-on: these are the rows of the fit")
    assert not (tmp_path / "m.skops").exists()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("id,sex,age", "id,sex,old_age"), "--set certify-on: new.csv has no column 'age'"),
        ((",y\n", ",z\n"), "--set certify-on: new.csv has no column 'y'"),
    ],
)
def test_a_file_of_another_shape(fit, folder, tmp_path, change, message):
    text = (folder / "new.csv").read_text("utf-8").replace(*change, 1)
    (tmp_path / "new.csv").write_text(text, "utf-8")
    assert error_of(fit(EASY, *SURE, "--set", f"certify-on={tmp_path / 'new.csv'}")).startswith(
        message
    )


def test_a_label_that_is_not_a_class(fit, tmp_path):
    lines = lines_of(100, seed=5)
    lines[7] = lines[7][:-1] + "7"
    path = write(tmp_path / "odd.csv", lines)
    said = error_of(fit(EASY, *SURE, "--set", f"certify-on={path}"))
    assert said.startswith("--set certify-on: odd.csv, line 9: the label")


def test_no_file_there(fit, tmp_path):
    said = error_of(fit(EASY, *SURE, "--set", f"certify-on={tmp_path / 'none.csv'}"))
    assert said.endswith("none.csv: there is no such file")


def test_stdin_is_read_once(run, tmp_path):
    done = run("fit", "-", "--target", "y", "--goal", EASY, "--model", tmp_path / "m.skops",
               *SURE, "--set", "certify-on=-", input="a,y\n1,0\n")  # fmt: skip
    assert error_of(done).startswith("stdin ('-') can be read once only")


def test_the_model_is_not_written_over_the_rows_that_certify(fit, folder, tmp_path, run):
    copy = tmp_path / "m.skops"
    copy.write_bytes((folder / "new.csv").read_bytes())
    said = error_of(fit(EASY, *SURE, "--set", f"certify-on={copy}"))
    assert "--set certify-on" in said
    assert copy.read_bytes() == (folder / "new.csv").read_bytes()


# ---------------------------------------------------------------------- refused
def test_refused_ends_with_3_and_writes_no_model(fit, tmp_path):
    done = fit(HARD, *SURE, "--report", tmp_path / "page.html")
    assert done.exit_code == 3
    assert done.stdout.startswith("NOT certified, so no model was written.\n")
    assert "precision >= 0.92" in done.stdout
    assert "--set uncertified=nearest" in done.stdout
    assert "on_uncertified" not in done.stdout
    assert not (tmp_path / "m.skops").exists()
    page = (tmp_path / "page.html").read_text("utf-8")
    assert "precision &gt;= 0.92" in page
    assert "on_uncertified" not in page


def test_the_object_of_a_refusal(fit):
    done = fit(HARD, *SURE, "--json")
    out = found(done)
    assert (done.exit_code, out["status"]) == (3, "not certifiable")
    assert out["constraint"] == "precision >= 0.92"
    assert 0.0 < out["limit"] < out["value"] <= 1.0
    assert out["limit"] < 0.92
    assert out["rows_needed"] is None or out["rows_needed"] > 240
    (bound,) = out["reachable"].values()
    assert 0.0 < bound <= out["limit"]
    assert out["goals"] == [HARD.replace("0.92", f"{bound:g}")]
    assert fit(out["goals"][0], *SURE).exit_code == 0


def test_too_few_rows_are_refused_before_a_model_is_fitted(fit, monkeypatch):
    monkeypatch.setattr("setpoint.plugin.fit.fitting.Task.run", None)
    done = fit("maximize recall subject to precision >= 0.99", *SURE, "--json")
    out = found(done)
    assert (done.exit_code, out["status"]) == (3, "not certifiable")
    assert out["constraint"] == "precision >= 0.99"
    assert out["rows_needed"] > 800
    assert out["goals"] == []


def test_the_goal_near_a_refused_one_moves_all_bounds_that_failed():
    goal = Goal.parse("maximize f1 subject to precision >= 0.9 and recall >= 0.8 and churn <= 0.1")
    limits = {"precision >= 0.9": 0.712, "churn <= 0.1": 0.222}
    near = goals_near(NotCertifiable("no", "precision >= 0.9", 0.8, 0.71249, None, limits), goal)
    assert [str(one) for one in near] == [
        "maximize f1 subject to precision >= 0.712 and recall >= 0.8 and churn <= 0.222"
    ]
    assert goals_near(NotCertifiable("no", "precision >= 0.9", 0.8), goal) == []


def test_the_safest_rule_of_a_refusal(fit, folder, run, tmp_path):
    done = fit(HARD, *SURE, "--set", "uncertified=nearest")
    assert done.exit_code == 3
    assert done.stdout.startswith("NOT certified at 95 % confidence: 240 rows set apart do not")
    assert load_model(tmp_path / "m.skops").classifier.goal_report_.guarantee.state != "certified"
    out = found(fit(HARD, *SURE, "--set", "uncertified=nearest", "--json"))
    assert out["status"] == "not certified"
    judged = run("evaluate", tmp_path / "m.skops", folder / "new.csv")
    assert judged.stdout.split("\n")[1] == (
        "In the fit NOT certified at 95 % confidence, on 240 rows: precision >= 0.92."
    )
    assert (
        found(fit(EASY, *SURE, "--set", "uncertified=nearest", "--json"))["status"] == "certified"
    )


def test_a_goal_that_no_rule_meets_is_infeasible_as_ever(fit):
    done = fit("maximize recall subject to precision >= 0.95 and recall >= 0.95", *SURE, "--json")
    assert (done.exit_code, found(done)["status"]) == (3, "infeasible")


# ---------------------------------------------------------------------- wrong options
@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--confidence", "95"), "'95' is not above 0 and below 1; write 0.95 or 95%"),
        (("--confidence", "0"), "'0' is not above 0 and below 1"),
        (("--confidence", "100%"), "'100%' is not above 0 and below 1"),
        (("--confidence", "high"), "'high' is not a number; write 0.95 or 95%"),
        (("--confidence", "nan"), "'nan' is not a number"),
        ((*SURE, "--set", "certification-size=1"), "1.0 is not in the range 0<x<1"),
        ((*SURE, "--set", "uncertified=raise"), "'raise' is not one of 'error', 'nearest'"),
        (("--set", "certify-on=x.csv"), "--set certify-on: there is nothing to certify"),
        (
            ("--set", "certification-size=0.3"),
            "--set certification-size: there is nothing to certify",
        ),
        (("--set", "uncertified=nearest"), "--set uncertified: there is nothing to certify"),
        (
            ("--set", "strict"),
            "--set strict: there is nothing to certify",
        ),
        ((*SURE, "--judge-by", HARD), "--judge-by is for a margin that is put into --goal"),
        (
            (*SURE, "--set", "certify-on=x.csv", "--set", "certification-size=0.3"),
            "--set certification-size is a share of the table, and --set certify-on names the rows",
        ),
    ],
)
def test_options_that_do_not_fit_together(run, options, message):
    # There is no table: nothing was read before the options were.
    done = run("fit", "none.csv", "--target", "y", "--goal", EASY, "--model", "m.skops", *options)
    assert message in error_of(done)


@pytest.mark.parametrize("what", [("--goal", "f1"), ("--metric", "sklearn.metrics:f1_score")])
def test_a_goal_without_constraints_promises_nothing(run, what):
    done = run("train", "none.csv", "--target", "y", "--model", "m.skops", *what, *SURE)
    assert error_of(done).startswith("--confidence promises that constraints hold on new rows")


def test_a_goal_over_data_sets_certifies_on_parts_of_each(run, fit, folder):
    goal = "maximize recall subject to precision.on(checked) >= 0.2"
    files = ("--dataset", f"checked={folder / 'checked.csv'}")
    said = error_of(fit(goal, *files, *SURE, "--set", f"certify-on={folder / 'new.csv'}"))
    assert said.startswith("--set certify-on is one table, and the goal refers to the data set")
    out = found(fit(goal, *files, *SURE, "--json"))
    assert (out["status"], out["rows"]["certifying"]) == ("certified", 264)


# ---------------------------------------------------------------------- families
@pytest.mark.parametrize(
    "solver",
    ["column-generation", "balanced", "profiled", "augmented-lagrangian", "surrogate-weights"],
)
def test_all_families_certify(fit, folder, run, tmp_path, solver):
    plugin = solver in ("column-generation", "balanced")
    way = ("--set", f"solver={solver}") if plugin else ("--solver", solver)
    more = (*SURE, *way, "--drop", "old,since,city")
    command = "fit" if plugin else "train"
    on = ("--set", f"certify-on={folder / 'new.csv'}")
    if solver == "surrogate-weights":
        more += ("--set", "budget=60")
    for rows, options in ((240, more), (300, (*more, *on))):
        out = found(fit(EASY, *options, "--json", command=command))
        assert (out["status"], out["solver"], out["rows"]["certifying"]) == (
            "certified", solver, rows,
        )  # fmt: skip
        judged = found(run("evaluate", tmp_path / "m.skops", folder / "new.csv", "--json"))
        assert judged["guarantee"]["holds"] is True


def test_what_a_metric_is_measured_on_certifies_a_part_of_it(fit, folder):
    out = found(
        fit(EASY, *SURE, "--solver", "surrogate-weights", "--set", "budget=60", "--drop", "old",
            "--set", f"validation={folder / 'new.csv'}", "--json", command="train")
    )  # fmt: skip
    assert out["rows"] == {"fitted": 800, "held_out": 0, "certifying": 90}
    assert out["validation"] == {"fitted": 300, "held_out": 0, "shared": 0}


# ---------------------------------------------------------------------- later
def test_a_model_that_was_changed_is_not_certified_any_more(fit, folder, run, tmp_path):
    assert fit(EASY, *SURE).exit_code == 0
    path = tmp_path / "m.skops"
    args = ("evaluate", path, folder / "new.csv")
    assert found(run(*args, "--json"))["guarantee"] == {
        "state": "certified", "confidence": 0.95, "constraints": {"precision >= 0.4": 0.95},
        "rows": 240, "holds": True,
    }  # fmt: skip
    stored = load_model(path)
    stored.classifier.estimator_[-1].coef_ *= 1.5
    save_model(stored, path)
    done = run(*args)
    assert "; the model was changed since, and nothing is promised of it." in done.stdout
    assert "this one was changed afterwards, and nothing is promised of it" in done.stderr
    assert found(run(*args, "--json"))["guarantee"]["holds"] is False


def test_a_model_of_which_nothing_is_promised(run, folder, model):
    out = found(run("evaluate", model, folder / "new.csv", "--baseline", "old", "--json"))
    assert out["guarantee"] is None


def test_ctrl_c_while_certifying(shell, folder, tmp_path):
    code = (
        "import logging, os, signal, sys\n"
        "from setpoint.cli import main\n"
        "import setpoint.guarantees\n"
        "logging.getLogger('setpoint.compiled').disabled = True\n"  # that it compiles, if it does
        "def stopped(*args, **kwargs):\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n"
        "setpoint.guarantees.certified = stopped\n"
        "main(sys.argv[1:])\n"
    )
    command, env = shell
    args = [
        "fit", str(folder / "loans.csv"), "--target", "y", "--drop", "id", "--goal", EASY,
        "--model", str(tmp_path / "m.skops"), *SURE,
    ]  # fmt: skip
    done = subprocess.run(
        [command[0], "-c", code, *args], env=env, capture_output=True, check=False
    )
    assert done.returncode == 130, done.stderr.decode()
    assert (done.stdout, done.stderr) == (b"", b"stopped; nothing was written\n")
    assert list(tmp_path.iterdir()) == []
