"""``setpoint fit --dataset``: what is held out is held out everywhere, and gaps have a place."""

import json

import numpy as np
import pytest

from setpoint.solvers import SOLVERS, solvers_of

HEAD = "x0,x1,x2,sex,old,y"


def table(path, rows, head=HEAD):
    path.write_text("\n".join([head, *(",".join(map(str, row)) for row in rows)]) + "\n")
    return path


def rows_of(n_rows, seed=0):
    r = np.random.default_rng(seed)
    out = []
    for _ in range(n_rows):
        x = r.normal(size=3)
        old, y = (int(x[0] + r.normal() > 0.3) for _ in range(2))
        out.append([*(f"{v:.6f}" for v in x), r.choice(["f", "m"]), old, y])
    return out


@pytest.fixture
def fit(run, tmp_path):
    def invoke(goal, *more, rows=None, solver="augmented-lagrangian"):
        data = table(tmp_path / "d.csv", rows_of(240) if rows is None else rows)
        return run(
            "train", data, "--target", "y", "--goal", goal, "--solver", solver, "--set", "seed=1",
            "--model", tmp_path / "m.skops", *more,
        )  # fmt: skip

    return invoke


def error_of(done):
    assert done.exit_code == 1, done.output
    return done.stderr.splitlines()[-1].removeprefix("error: ")


# ---------------------------------------------------------------------- the same rows
@pytest.mark.parametrize("command", ["train", "fit"])
def test_noise_is_not_learnt_through_a_copy(run, tmp_path, command):
    r = np.random.default_rng(0)
    n, p = 400, 120
    head = ",".join([*(f"f{i}" for i in range(p)), "y"])
    rows = [[*map(repr, r.normal(size=p).tolist()), r.choice(["a", "b"])] for _ in range(n)]
    data = table(tmp_path / "d.csv", rows, head)
    copy = table(tmp_path / "c.csv", [rows[i] for i in r.permutation(n)], head)
    later = table(tmp_path / "l.csv", [row[:-1] for row in rows[:50]], head[:-2])
    done = run(
        command, data, "--target", "y", "--model", tmp_path / "m.skops",
        "--goal", "maximize accuracy subject to accuracy.on(copy) >= 0.1 and "
        "predicted_rate.on(later) <= 0.99", "--dataset", f"copy={copy}", "--dataset",
        f"later={later}", "--positive", "b", "--json",
    )  # fmt: skip
    out = json.loads(done.stdout)
    assert out["datasets"]["copy"] == {"fitted": 300, "held_out": 100, "shared": 400}
    assert out["datasets"]["later"]["shared"] == 50
    assert out["held_out"]["constraints"][0]["value"] < 0.62
    # The copy differs in nothing: what is counted on it is what is counted on DATA.
    assert out["held_out"]["constraints"][0]["value"] == out["held_out"]["objective"]["value"]
    line = "copy: 400 of its 400 rows are rows of d.csv too, held out where those are"
    assert line in out["notes"]
    assert (
        "later: 50 of its 50 rows are rows of d.csv too, held out where those are" in (out["notes"])
    )


def test_two_sets_that_share_rows(fit, tmp_path):
    one, part = rows_of(80, 5), rows_of(40, 6)
    a = table(tmp_path / "a.csv", one)
    b = table(tmp_path / "b.csv", part + one[:60])
    goal = "maximize accuracy s.t. accuracy.on(a) >= 0.1 and accuracy.on(b) >= 0.1"
    done = fit(goal, "--dataset", f"a={a}", "--dataset", f"b={b}", "--json")
    out = json.loads(done.stdout)
    assert out["datasets"]["a"]["shared"] == 0
    assert out["datasets"]["b"]["shared"] == 60
    assert sum(out["datasets"]["b"][key] for key in ("fitted", "held_out")) == 100
    assert any("60 of its 100 rows are rows of the data set a too" in n for n in out["notes"])


def test_other_labels_and_numbers_written_otherwise_are_the_same_rows(fit, tmp_path):
    rows = rows_of(240)
    for i, row in enumerate(rows):
        row[2] = i % 7
    changed = [[*row[:2], f"{row[2]}.0", *row[3:-1], 1] for row in rows]
    goal = "maximize accuracy s.t. recall.on(more) >= 0.1"
    more = table(tmp_path / "more.csv", changed)
    done = fit(goal, "--dataset", f"more={more}", "--baseline", "old", "--json", rows=rows)
    assert json.loads(done.stdout)["datasets"]["more"] == {
        "fitted": 180,
        "held_out": 60,
        "shared": 240,
    }


def test_a_set_too_small_for_two_halves(fit, tmp_path):
    goal = "maximize accuracy s.t. predicted_rate.on(audit) >= 0"
    audit = table(tmp_path / "audit.csv", rows_of(1, 9))
    done = fit(goal, "--dataset", f"audit={audit}", "--report", tmp_path / "r.html")
    line = "audit: 1 row, too few to hold some out: what is counted on it was trained on"
    assert f"note: {line}" in done.stderr
    assert line in " ".join(done.stdout.split())
    assert "60 rows held out, and on the 1 row of audit, not held out." in done.stdout
    assert "the data set 'audit' has 1 row:" in done.stderr
    page = (tmp_path / "r.html").read_text("utf-8")
    assert "The data set audit: 1 row from audit.csv, none of them held out" in page
    assert "evaluate it on rows held out" not in page + done.stdout
    # A row that DATA holds out is trained on nowhere else: then it is not held out there.
    every = []
    for row in rows_of(240)[:12]:
        audit = table(tmp_path / "audit.csv", [row])
        out = json.loads(fit(goal, "--dataset", f"audit={audit}", "--json").stdout)
        assert out["datasets"]["audit"] == {"fitted": 1, "held_out": 0, "shared": 1}
        every.append(out["rows"]["held_out"])
    assert set(every) == {59, 60}


# ---------------------------------------------------------------------- what is missing
def test_gaps(fit, tmp_path):
    churn = "minimize error_rate s.t. churn.on(more) <= 0.5"
    rows, more = rows_of(240), rows_of(60, 1)

    def gap(rows, row, column):
        rows = [list(r) for r in rows]
        rows[row][column] = ""
        return rows

    given = ("--baseline", "old", "--dataset", f"more={tmp_path / 'more.csv'}")
    table(tmp_path / "more.csv", gap(more, 3, 4))
    line = error_of(fit(churn, *given))
    assert line == (
        "more.csv: 1 row has no decision of the deployed model in column 'old', in line 5; leave "
        "such rows out, or fill them in"
    )
    line = error_of(fit(churn, *given, rows=gap(rows, 0, 4)))
    assert line.startswith("d.csv: 1 row has no decision of the deployed model")
    table(tmp_path / "more.csv", [[*r[:4], r[5]] for r in more], HEAD.replace("old,", ""))
    assert error_of(fit(churn, *given)).endswith("; it holds the deployed model's decisions")

    groups = "minimize error_rate s.t. predicted_rate.difference(sex) <= 0.9"
    for solver in ("augmented-lagrangian", "cutting-plane"):
        line = error_of(fit(groups, rows=gap(gap(rows, 2, 3), 6, 3), solver=solver))
        assert line == (
            "d.csv: 2 rows have no value in column 'sex', which the goal looks at, the first in "
            "line 4; fill them in, or leave such rows out"
        )


def test_labels_that_are_all_missing(fit, tmp_path):
    more = table(tmp_path / "more.csv", [[*row[:-1], ""] for row in rows_of(60, 1)])
    given = ("--dataset", f"more={more}")
    done = fit("maximize accuracy s.t. predicted_rate.on(more) <= 0.9", *given)
    assert done.exit_code in (0, 3, 4), done.stderr
    assert "more.csv: column 'y' is empty, so its rows have no labels" in done.stderr
    line = error_of(fit("maximize accuracy s.t. recall.on(more) >= 0.1", *given))
    assert "60 rows have no label" in line


@pytest.mark.parametrize("value", ["nan", "inf"])
def test_thresholds_that_are_not_numbers(run, value):
    more = ("--solver", "cutting-plane", "--set", f"baseline-threshold={value}")
    done = run(
        *("train", "no.csv", "--target", "y", "--goal", "f1", "--model", "m.skops"),
        *("--baseline", "s", *more),
    )
    assert error_of(done) == f"--set baseline-threshold is a number, got {value}"


def test_words(fit):
    done = fit("accuracy", "--dataset", "more=none.csv")
    line = "note: --dataset more: the goal refers to no data sets, so it is not read"
    assert line in done.stderr
    line = error_of(fit("error_rate"))
    assert line == "say which way: 'maximize error_rate' or 'minimize error_rate'"
    line = error_of(fit("maximize accuracy s.t. recall.on(sex='x') >= 0.1"))
    assert "no row of X has that value" in line
    line = error_of(fit("maximize accuracy", "--set", "min-positives=1000"))
    assert "and the rows of X have a weight of 180" in line


def test_training_that_was_stopped_before_the_goal_was_met(fit):
    goal = "maximize recall s.t. precision >= 0.999 and recall >= 0.95"
    done = fit(goal, "--set", "max-seconds=1e-9", "--json")
    assert done.exit_code == 3
    assert "is kept" not in done.output
    out = json.loads(done.stdout)
    assert "stopped after 1e-09 seconds" in " ".join([out["message"], *out["notes"]])


# ---------------------------------------------------------------------- beside the fit
def test_frontier_reads_what_varies_as_goals_do(run, fit, tmp_path):
    more = table(tmp_path / "more.csv", rows_of(60, 1))
    given = ("--dataset", f"more={more}")
    goal = "maximize accuracy s.t. churn.on(more) <= 0.9 and predicted_rate.ratio(sex) >= 0.1"
    assert fit(goal, *given, "--baseline", "old").exit_code in (0, 3, 4)
    new = table(tmp_path / "n.csv", rows_of(100, 2))
    for side in ("churn.on(more)", "predicted_rate.ratio( sex )", 'churn.on("more")'):
        done = run("frontier", tmp_path / "m.skops", new, *given, "--vary", side, "--values", "0.5")
        assert done.exit_code == 0, done.stderr


def test_evaluate_says_that_scores_decide_alike(run, fit, tmp_path):
    goal = "maximize accuracy s.t. churn <= 0.9"
    assert fit(goal, "--baseline", "x0", "--set", "baseline-threshold=0").exit_code in (0, 3, 4)
    new = table(tmp_path / "n.csv", rows_of(100, 2))
    assert "decides positive" not in run("evaluate", tmp_path / "m.skops", new).stderr
    far = table(tmp_path / "f.csv", [[*r, 5 + i] for i, r in enumerate(rows_of(100, 2))],
                HEAD + ",far")  # fmt: skip
    done = run("evaluate", tmp_path / "m.skops", far, "--baseline", "far")
    assert "decides positive for 100 of the 100 rows of f.csv" in done.stderr


def test_goal_names_the_solvers_that_train_for_it(run):
    measuring, ramps = solvers_of("surrogates"), solvers_of("ramp")
    goals = {
        "minimize error_rate s.t. churn <= 0.1": ramps + measuring,
        "maximize recall s.t. precision >= 0.5 and recall.difference(sex) <= 0.1": ramps
        + measuring,
        "maximize recall s.t. predicted_rate.on(new) <= 0.1": ramps,
        "maximize recall s.t. precision >= 0.5": solvers_of("penalty") + ramps + measuring,
        "maximize f1 s.t. predicted_rate.max(sex) <= 0.5": ramps[:1] + measuring,
        "maximize recall s.t. g_mean.on(new) >= 0.5": (),
        "minimize recall": ramps + measuring,
        "maximize accuracy s.t. recall(label='a') + recall(label='b') + recall(label='c') >= 1": (),
    }
    for goal, names in goals.items():
        lines = [f"  --solver {name}: {SOLVERS[name].does}" for name in names]
        printed = run("goal", goal).stdout.splitlines()
        assert [line for line in printed if "--solver" in line] == lines, goal
