"""``setpoint fit``: what is done with each column, what is written, what is said."""

import contextlib
import json
import signal

import numpy as np
import pandas as pd
import pytest

from setpoint import load_model
from setpoint.cli import fit as fit_module
from setpoint.tables import read_table

GOAL = "maximize recall subject to precision >= 0.7"


@pytest.fixture
def fit(run, folder, tmp_path):
    def invoke(*more, data="loans.csv", target="y", goal=GOAL, **kw):
        model = tmp_path / "m.skops"
        return run(
            "fit", folder / data, "--target", target, "--goal", goal, "--model", model, *more, **kw
        )

    return invoke


def test_columns_go_where_they_belong(fitted):
    columns = fitted["columns"]
    assert columns["features"] == {
        "age": "number", "income": "number", "city": "category", "since": "date",
    }  # fmt: skip
    assert columns["decides_on"] == {"sex": "category"}
    assert columns["hidden"] == {
        "y": "the target", "old": "what the deployed model says", "sex": "sensitive",
        "id": "dropped",
    }  # fmt: skip
    assert fitted["rows"] == {"fitted": 600, "held_out": 200, "certifying": 0}
    assert fitted["positive"] == 1
    assert fitted["fitted"]["deployed"]["rows"] == 600
    assert fitted["held_out"]["deployed"]["rows"] == 200
    assert fitted["held_out"]["counts"]["n_rows"] == 200
    assert fitted["status"] == fitted["held_out"]["verdict"] == "too close to call"


def test_the_model_does_not_see_sensitive_columns(model):
    stored = load_model(model)
    inner = stored.classifier.estimator_.named_steps["columns"]
    seen = {name for _, _, names in inner.transformers for name in names}
    assert seen == {"age", "income", "city", "since"}
    assert [c.name for c in stored.columns] == ["age", "income", "city", "since", "sex"]
    assert stored.target == "y"


def test_json_is_one_object_with_sorted_keys(run, folder, fitted, tmp_path):
    output = []
    for name in ("a.skops", "b.skops"):
        done = run(
            "fit", folder / "loans.csv", "--target", "y", "--goal", GOAL, "--json",
            "--model", tmp_path / name,
        )  # fmt: skip
        assert done.stdout.count("\n") == 1
        out = json.loads(done.stdout)
        assert json.dumps(out, sort_keys=True) == done.stdout.strip()
        assert out.pop("run")["model"].endswith(name)
        output.append(json.dumps(out))
    assert output[0] == output[1]


def test_the_page_tells_of_data_and_model(fit, tmp_path):
    done = fit("--report", tmp_path / "r.html", "--baseline", "old", "--drop", "id")
    assert done.stdout.endswith(f" and the page to {tmp_path / 'r.html'}.\n"), done.stderr
    page = (tmp_path / "r.html").read_text("utf-8")
    for words in ("The data", "loans.csv", "The model", "deployed model says", "200 rows"):
        assert words in page


def test_text_says_verdict_class_and_files(fit, tmp_path):
    done = fit("--drop", "id,since")
    assert done.stdout.startswith(f"Too close to call on 200 rows held out.\n\nGoal: {GOAL}\n")
    assert "Measured on 200 rows; the positive class is 1." in done.stdout
    assert f"Wrote the model to {tmp_path / 'm.skops'}." in done.stdout
    assert "note: the positive class is 1; --positive names another" in done.stderr
    assert done.exit_code == 4


def test_exit_code_is_the_verdict_of_the_rows_held_out(fit):
    easy = fit(goal="maximize recall subject to precision >= 0.05", data="loans.csv")
    assert (easy.exit_code, easy.stdout.split("\n")[0]) == (0, "Shown on 200 rows held out.")


def test_without_rows_held_out_it_is_judged_by_cross_validation(fit):
    done = fit("--test-size", "0", "--json")
    out = json.loads(done.stdout)
    assert out["held_out"] is None
    assert out["rows"] == {"fitted": 800, "held_out": 0, "certifying": 0}
    # A bound that is just met on the rows of the search is met on new ones half of the time.
    assert out["fitted"]["constraints"][0]["satisfied"]
    assert (done.exit_code, out["status"]) == (4, "too close to call")


@pytest.mark.parametrize("positive", ["0", "0.0"])
def test_positive_label_may_be_a_number(fit, positive):
    out = json.loads(fit("--positive", positive, "--json").stdout)
    assert out["positive"] == 0


def test_positive_label_that_is_invalid(fit, tmp_path):
    done = fit("--positive", "yes")
    assert done.exit_code == 1
    last = done.stderr.splitlines()[-1]
    assert last == "error: --positive: column 'y' holds no class 'yes' (known: 0, 1)"
    assert not list(tmp_path.iterdir())


def test_infeasible_writes_nothing_and_says_what_is_reachable(fit, tmp_path):
    goal = "maximize recall subject to precision >= 0.99 and recall >= 0.99"
    done = fit(goal=goal)
    assert done.exit_code == 3
    assert "so no model was written" in done.stdout
    assert "highest reachable" in done.stdout
    assert "on_infeasible" not in done.stdout
    out = fit("--json", goal=goal)
    assert out.exit_code == 3
    output = json.loads(out.stdout)
    assert output["status"] == "infeasible"
    assert set(output["reachable"]) == {"precision >= 0.99", "recall >= 0.99"}
    assert not list(tmp_path.iterdir())


def test_deployed_model_and_further_data_set(fit, folder):
    done = fit(
        "--baseline", "old", "--dataset", f"checked={folder / 'checked.csv'}", "--json",
        goal="maximize recall s.t. churn <= 0.4 and accuracy.on('checked') >= 0.5",
    )  # fmt: skip
    out = json.loads(done.stdout)
    assert out["datasets"] == {"checked": {"fitted": 60, "held_out": 20, "shared": 0}}
    assert [c["rows"] for c in out["held_out"]["constraints"]] == [200, 20]
    assert 0 < out["held_out"]["deployed"]["objective"] < 1


def test_the_rule_may_be_kept_from_looking_at_groups(run, fit, folder, tmp_path):
    goal = "maximize recall subject to precision >= 0.6 and predicted_rate.difference(sex) <= 0.4"
    done = fit("--decide-on", "none", "--json", goal=goal)
    out = json.loads(done.stdout)
    assert out["columns"]["decides_on"] == {}
    assert "sex" not in out["columns"]["features"]
    lines = (folder / "new.csv").read_text("utf-8").replace(",sex,", ",_,").split("\n")
    (tmp_path / "new.csv").write_text("\n".join(lines), "utf-8")
    assert run("predict", tmp_path / "m.skops", tmp_path / "new.csv").exit_code == 0
    output = run("evaluate", tmp_path / "m.skops", folder / "new.csv", "--json")
    assert json.loads(output.stdout)["evaluated"]["groups"]


def test_more_classes_and_names_with_commas(run, tmp_path):
    r = np.random.default_rng(0)
    x = r.normal(size=(300, 2))
    y = np.where(x[:, 0] > 0.5, "high", np.where(x[:, 1] > 0, "mid", "low"))
    table = pd.DataFrame({"a, b": x[:, 0], "c": x[:, 1], "g": r.choice(["u", "v"], 300), "y": y})
    table.to_csv(tmp_path / "t.csv", index=False)
    model = tmp_path / "m.skops"
    done = run(
        "fit", tmp_path / "t.csv", "--target", "y", "--goal", "macro_f1", "--model", model,
        "--sensitive", "g", "--drop", "a, b", "--estimator", "sklearn.naive_bayes.GaussianNB",
        "--json",
    )  # fmt: skip
    out = json.loads(done.stdout)
    assert (out["positive"], out["columns"]["features"]) == (None, {"c": "number"})
    assert out["columns"]["hidden"] == {"y": "the target", "g": "sensitive", "a, b": "dropped"}
    head = run("predict", model, tmp_path / "t.csv").stdout.split("\n")[0]
    assert head.startswith("prediction,score_high,score_low,score_mid")
    wrong = run("fit", tmp_path / "t.csv", "--target", "y", "--goal", "recall", "--model", model)
    assert wrong.exit_code == 1
    assert "; name one with label=" in wrong.stderr


@pytest.mark.parametrize("estimator", ["hist-gradient-boosting", "random-forest"])
def test_estimators_with_a_name(fit, run, folder, tmp_path, estimator):
    assert fit("--estimator", estimator, "--drop", "id").exit_code in (0, 3, 4)
    assert run("predict", tmp_path / "m.skops", folder / "new.csv").exit_code == 0


def test_a_failing_page_leaves_the_model_and_says_so(fit, tmp_path, monkeypatch):
    from setpoint.report import GoalReport

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    old = tmp_path / "r.html"
    old.write_text("old")
    monkeypatch.setattr(GoalReport, "to_html", full)
    done = fit("--report", old)
    model = tmp_path / "m.skops"
    assert done.exit_code == 1
    assert done.stderr.split("\n")[-2] == (
        f"error: {old} cannot be written: No space left on device; the old {old} stays; "
        f"{model} was written"
    )
    assert old.read_text() == "old"
    assert load_model(model).target == "y"


def test_ctrl_c_while_the_library_searches_writes_nothing(fit, tmp_path, monkeypatch):
    """A search that Ctrl-C ends returns its best rule; at a shell that is not wanted."""
    from setpoint.plugin import PlugInClassifier

    real = PlugInClassifier.fit

    def interrupted(self, *args, **kw):
        with contextlib.suppress(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        return real(self, *args, **kw)

    monkeypatch.setattr(PlugInClassifier, "fit", interrupted)
    done = fit()
    assert (done.exit_code, done.stdout) == (130, "")
    assert done.stderr.splitlines()[-1] == "stopped; nothing was written"
    assert not list(tmp_path.iterdir())


def test_ctrl_c_after_the_model_says_that_it_is_there(fit, tmp_path, monkeypatch):
    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(fit_module.shell, "print_json", stop)
    done = fit("--json")
    assert done.exit_code == 130
    assert done.stderr.endswith(f"stopped; {tmp_path / 'm.skops'} was written\n")


def test_a_note_for_types_of_other_packages(fit, run, folder, tmp_path, monkeypatch):
    (tmp_path / "elsewhere.py").write_text(
        "from sklearn.naive_bayes import GaussianNB\nclass Own(GaussianNB):\n    pass\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    done = fit("--estimator", "elsewhere.Own")
    assert "--trust elsewhere.Own" in done.stderr
    refused = run("predict", tmp_path / "m.skops", folder / "new.csv")
    assert refused.exit_code == 1
    assert "elsewhere.Own" in refused.stderr
    assert "--trust names" in refused.stderr
    trusted = run("predict", tmp_path / "m.skops", folder / "new.csv", "--trust", "elsewhere.Own")
    assert trusted.exit_code == 0


def test_stdin_and_same_predictions_as_from_a_file(run, folder, model):
    data = (folder / "new.csv").read_bytes()
    piped = run("predict", model, "-", input=data)
    assert piped.stdout_bytes == run("predict", model, folder / "new.csv").stdout_bytes
    assert piped.stdout.count("\n") == 1 + len(read_table(folder / "new.csv").frame)
