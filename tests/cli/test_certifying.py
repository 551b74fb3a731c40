"""A promise at the shell: certified, refused, the safest rule; rows, options, exit codes."""

from cli.samples import BEST
from setpoint import load_model, save_model
from setpoint.goals import Goal
from setpoint.guarantees import NotCertifiable
from setpoint.solvers import Confidence
from setpoint.tables import goals_near
from thinning import over

EASY = "maximize recall subject to precision >= 0.4"
HARD = "maximize recall subject to precision >= 0.95"
SURE = "fit loans.csv --target y --drop id --confidence 0.95"
MODEL = "--model m.skops --goal"


def test_certified_ends_with_0_and_the_model_says_so(run, here):
    done = run(f"{SURE[:-4]}' 95 % ' --json {MODEL}", EASY)
    found = done.json
    assert (done.code, found["status"], found["held_out"]) == (0, "certified", None)
    assert found["rows"] == {"fitted": 800, "held_out": 0, "certifying": 240}
    assert found["fitted"]["guarantee"]["confidence"] == 0.95
    # The same seed certifies the same.
    assert {**run(f"{SURE} --json {MODEL}", EASY).json, "run": None} == {**found, "run": None}
    assert run("evaluate m.skops new.csv").out.split("\n")[1] == (
        "In the fit certified at 95 % confidence, on 240 rows: precision >= 0.4."
    )
    assert run("evaluate --json m.skops new.csv").json["guarantee"] == {
        "state": "certified", "confidence": 0.95, "constraints": {"precision >= 0.4": 0.95},
        "rows": 240, "holds": True,
    }  # fmt: skip
    stored = load_model("m.skops")
    stored.classifier.estimator_[-1].coef_ *= 1.5
    save_model(stored, here / "changed.skops")
    done = run("evaluate changed.skops new.csv")
    assert "; the model was changed since, and nothing is promised of it." in done.out
    assert "this one was changed afterwards, and nothing is promised of it" in done.err
    assert run("evaluate changed.skops new.csv --json").json["guarantee"]["holds"] is False
    assert run("evaluate model.skops new.csv --json --goal", BEST).json["guarantee"] is None


def test_the_test_part_is_measured_beside_the_certificate(run, here):
    done = run(f"{SURE} --test-size 0.25 {MODEL}", EASY)
    assert done.code == 0
    assert done.out.startswith("Certified at 95 % confidence, on 180 rows set apart.\n")
    assert "\nMeasured beside it on 200 rows held out:\n  recall: " in done.out


def test_how_many_rows_certify_by_which_tests_and_of_which_file(run, here):
    done = run(f"{SURE} --set certification-size=0.5 --set strict --json {MODEL}", EASY)
    assert done.json["rows"]["certifying"] == 400
    confidence = load_model("m.skops").classifier.confidence
    assert Confidence.of(confidence) == Confidence(0.95, certification_size=0.5, strict=True)
    # Groups of the goal are read in the other file too; of several tables a part of each.
    gap = f"{EASY} and recall.difference(sex) <= 0.6"
    done = run(f"{SURE} --set certify-on=new.csv {MODEL}", gap)
    assert (done.code, done.out.split("\n")[0]) == (
        0, "Certified at 95 % confidence, on 300 rows of new.csv."
    )  # fmt: skip
    goal = "maximize recall subject to precision.on(checked) >= 0.2"
    found = run(f"{SURE} --dataset checked=checked.csv --json {MODEL}", goal).json
    assert (found["status"], found["rows"]["certifying"]) == ("certified", 264)


def test_refused_ends_with_3_and_writes_no_model(run, here):
    """The goal that is named in its place is certified on the same rows."""
    done = run(f"{SURE} --report page.html {MODEL}", HARD)
    assert done.code == 3
    assert done.out.startswith("NOT certified, so no model was written.\n")
    assert "--set uncertified=nearest" in done.out
    assert not (here / "m.skops").exists()
    page = (here / "page.html").read_text("utf-8")
    assert "precision &gt;= 0.95" in page
    # A page that is read by others has a curve and no options of the shell.
    assert "Precision against recall for every cut-off" in page
    assert "The most that these rows show" in page
    assert "--set" not in page
    assert "on_uncertified" not in page + done.out
    done = run(f"{SURE} --json {MODEL}", HARD)
    found = done.json
    assert (done.code, found["status"], found["constraint"]) == (
        3, "not certifiable", "precision >= 0.95"
    )  # fmt: skip
    (bound,) = found["reachable"].values()
    assert 0.0 < bound <= found["limit"] < min(found["value"], 0.95)
    assert found["goals"] == [HARD.replace("0.95", f"{bound:g}")]
    assert run(f"{SURE} {MODEL}", found["goals"][0]).code == 0


def test_the_goal_near_a_refused_one_moves_all_bounds_that_failed():
    goal = Goal.parse("maximize f1 subject to precision >= 0.9 and recall >= 0.8 and churn <= 0.1")
    limits = {"precision >= 0.9": 0.712, "churn <= 0.1": 0.222}
    near = goals_near(NotCertifiable("no", "precision >= 0.9", 0.8, 0.71249, None, limits), goal)
    assert [str(one) for one in near] == [
        "maximize f1 subject to precision >= 0.712 and recall >= 0.8 and churn <= 0.222"
    ]
    assert goals_near(NotCertifiable("no", "precision >= 0.9", 0.8), goal) == []


def test_the_safest_rule_of_a_refusal(run, here):
    nearest = f"{SURE} --set uncertified=nearest"
    done = run(f"{nearest} {MODEL}", HARD)
    assert done.code == 3
    assert done.out.startswith("NOT certified at 95 % confidence: 240 rows set apart do not")
    assert load_model("m.skops").classifier.goal_report_.guarantee.state != "certified"
    assert run("evaluate m.skops new.csv").out.split("\n")[1] == (
        "In the fit NOT certified at 95 % confidence, on 240 rows: precision >= 0.95."
    )
    assert run(f"{nearest} --json {MODEL}", HARD).json["status"] == "not certified"


@over(
    "solver, rows",
    [
        ("augmented-lagrangian --set certify-on=new.csv", 300),
        ("surrogate-weights --set budget=60 --set validation=new.csv", 90),
    ],
)
def test_models_trained_for_the_goal_are_certified(run, here, solver, rows):
    train = f"{SURE.replace('fit', 'train', 1)} --drop id,old --json --solver"
    found = run(f"{train} {solver} {MODEL}", EASY).json
    assert (found["status"], found["solver"]) == ("certified", solver.split()[0])
    assert found["rows"] == {"fitted": 800, "held_out": 0, "certifying": rows}
    measured = {"fitted": 300, "held_out": 0, "shared": 0} if "validation" in solver else None
    assert found["validation"] == measured
    assert run("evaluate --json m.skops new.csv").json["guarantee"]["holds"] is True
