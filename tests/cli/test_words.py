"""``setpoint goal``, ``demo``, and the help."""

import json
import shlex

import pytest

from setpoint.goals import TABLE, formula_of

COMMANDS = [
    "demo", "evaluate", "export", "fit", "frontier", "goal", "plan", "predict", "solve",
]  # fmt: skip


def test_goal_in_words(run):
    done = run("goal", "maximize recall subject to precision >= 0.9, churn.on('old') <= 0.1")
    assert done.exit_code == 0
    for words in (
        "Objective  recall: affine",
        "fractional",
        "--dataset old=FILE",
        "--baseline COL",
        "two classes: exact",
        "precision: share of the accepted that are right",
    ):
        assert words in done.stdout


def test_goal_as_json(run):
    goal = "maximize macro_f1 s.t. recall(label='fraud').min(country, sex) >= 0.2"
    out = json.loads(run("goal", goal, "--json").stdout)
    assert out["needs"] == {
        "columns": {"": ["country", "sex"]}, "numbers": {},
            "datasets": [], "deployed": False,
    }  # fmt: skip
    assert out["objective"]["shape"] == "sum of ratios"
    assert out["solver"]["more classes"].startswith("column-generation")
    assert (
        run("goal", goal, "--json").stdout.split('"run"')[0]
        == json.dumps(out, sort_keys=True).split('"run"')[0]
    )
    of_one = json.loads(run("goal", "maximize recall", "--json").stdout)
    assert of_one["solver"]["more classes"] is None


@pytest.mark.parametrize(
    ("goal", "words"),
    [
        ("maximize recal", "unknown word 'recal' (did you mean 'recall'"),
        ("recall >= 0.5", "'maximize precision subject to recall >= 0.5'"),
        ("maximize recall s.t. precision >= 90", "for 90 per cent write 0.9 or 90%"),
        ("maximize recall s.t. fp <= 500", "for 500 of N rows write 500/N, with a number for N"),
        ("maximize revenue", "in 'minimize cost({(1, 0): 60, (0, 1): 5})'"),
        ("maximize profit", 'as in profit(tp="amount - 5", fp=-5)'),
        ("maximize recall s.t. precision >= 2", "outside the range of precision"),
        ("maximize " + "recall + " * 600 + "recall", "4000 characters"),
    ],
)
def test_goal_that_is_invalid(run, goal, words):
    done = run("goal", goal)
    assert (done.exit_code, done.stdout) == (1, "")
    assert words in done.stderr.replace("4,000", "4000")


def test_metrics(run):
    out = json.loads(run("goal", "--json").stdout)["metrics"]
    assert set(out) == set(TABLE)
    assert out["precision"]["formula"] == formula_of(TABLE["precision"])
    assert (out["win_loss_ratio"]["high"], out["mcc"]["low"]) == ("inf", -1.0)
    listed = run("goal").stdout
    assert [name for name in TABLE if f"  {name} " not in listed] == []
    assert "range    from -1 to 1, higher is better" in run("goal", "mcc").stdout
    assert run("goal", "TPR").stdout == run("goal", "recall").stdout
    wrong = run("goal", "lift")
    assert wrong.stderr == "error: there is no metric 'lift': here: precision / prior\n"
    assert "did you mean 'recall'" in run("goal", "recal").stderr


def test_help_of_every_command_has_an_example(run):
    listed = run("--help").stdout
    assert [name for name in COMMANDS if f"\n  {name} " not in listed] == []
    for name in COMMANDS:
        help_page = run(name, "-h")
        assert help_page.exit_code == 0
        assert "For example:" in help_page.stdout
    assert run().stdout == listed
    assert run("--version").stdout.startswith("setpoint 0.")


def test_demo_is_the_command_that_it_prints(run, tmp_path):
    at = tmp_path / "demo"
    done = run("demo", at)
    assert done.exit_code == 0, done.stderr
    assert sorted(p.name for p in at.iterdir()) == ["model.skops", "report.html", "tumours.csv"]
    line = next(x for x in done.stdout.split("\n") if x.startswith("$ setpoint fit"))
    first = (at / "report.html").read_text("utf-8")
    again = run(*shlex.split(line)[2:])
    assert again.exit_code in (0, 3, 4)
    assert again.stdout in done.stdout
    page = (at / "report.html").read_text("utf-8")
    assert page.split("This run")[0] == first.split("This run")[0]
    assert "setpoint predict" in done.stdout
