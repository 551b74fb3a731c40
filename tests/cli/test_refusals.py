"""What each command refuses: one line that names the option, the place and the remedy."""

import pytest

from cli.samples import HEAD, SCORED, scored, write
from setpoint import PlugInClassifier, save_model
from setpoint.rules import Mixture, PerSegment, Threshold
from thinning import over

PRECISE = "--goal 'maximize recall s.t. precision >= 0.4'"
FIT = f"fit loans.csv --target y --model m.skops {PRECISE}"
TRAIN = FIT.replace("fit ", "train ", 1)
RAMP = "train ramp.csv --target y --model m.skops --solver augmented-lagrangian"
CHURN = "--goal 'minimize error_rate s.t. churn <= 0.1'"
SCORES = "--baseline score --set baseline-threshold=0"
SURE = "--confidence 0.95"
ONE_OF = "--bound, --line or --rule: one of the three is needed, and no more"
TRAINS = "is for solvers that train the model for the goal (augmented-lagrangian, cutt"
WORTH = "new.csv --prediction old --target y --goal 'maximize profit(tp=age - 30)'"
FRAUD = ["a fraud", "legit", "legit"]
DRAWN = Mixture([(0.5, Threshold(0)), (0.5, Threshold(1))]).to_json()
OF_TOWN = PerSegment([Threshold(0)], [(("town", "f"),)]).to_json()

REFUSED = {
    FIT: [
        # Tables.
        ("--goal f1 --target income_", "--target: loans.csv has no column 'income_' (did you mean"),
        ("--positive yes", "--positive: column 'y' holds no class 'yes' (known: 0, 1)"),
        ("--drop sex,age,income,city,since,old,id", "has no column for the model"),
        ("--unit idd", "--unit: loans.csv has no column 'idd' (did you mean 'id'?)"),
        ("--unit sex --goal 'maximize recall s.t. recall.difference(sex) <= 0.9'",
         "--unit: 'sex' has another role"),
        # Goals.
        ("--goal 'maximize recall s.t. recall.difference(gender) <= 0.1'",
         "the goal refers to the column 'gender', and loans.csv has none"),
        ("--goal 'maximize recall s.t. churn <= 0.1'",
         "name the column with its predictions with --baseline"),
        ("--goal 'maximize recall s.t. accuracy.on(\"old\") >= 0.5'",
         "give its table, --dataset old=FILE"),
        ("--drop sex --goal 'maximize f1 s.t. predicted_rate.difference(sex) <= 0.1'",
         "--drop: the goal refers to 'sex'"),
        # Options.
        ("--group g", "there is no option --group. The columns that the goal names are the groups"),
        ("--dataset x", "--dataset is NAME=FILE, got 'x'"),
        ("--set solver=ero", "'balanced'"),
        # Files.
        ("--report no/r.html", "there is no folder"),
        ("--accept anything", "'too-close'"),
        ("--report loans.csv", "would overwrite DATA"),
        ("--report m.skops", "would overwrite --model"),
        ("--report /dev/null", "is not a plain file"),
        # The goal that is meant.
        ("--judge-by 'maximize recall'", "evaluate the model by another goal afterwards"),
        (f"{PRECISE.replace('--goal', '--judge-by')} --test-size 0",
         "and --test-size 0 leaves none"),
        # A confidence.
        ("--confidence 95", "'95' is not above 0 and below 1; write 0.95 or 95%"),
        ("--confidence high", "'high' is not a number; write 0.95 or 95%"),
        (f"{SURE} --set certification-size=1", "1.0 is not in the range 0<x<1"),
        (f"{SURE} --set uncertified=raise", "'raise' is not one of 'error', 'nearest'"),
        ("--set certify-on=x.csv", "--set certify-on: there is nothing to certify"),
        (f"{SURE} {PRECISE.replace('--goal', '--judge-by')}",
         "--judge-by is for a margin that is put into --goal"),
        (f"{SURE} --set certify-on=x.csv --set certification-size=0.3",
         "--set certification-size is a share of the table, and --set certify-on names the rows"),
        (f"{SURE} --set certify-on=loans.csv",
         "--set certify-on: these are the rows of the fit"),
        (f"{SURE} --set certify-on=odd.csv", "--set certify-on: odd.csv, line 9: the label"),
        (f"{SURE} --model odd.csv --set certify-on=odd.csv", "--set certify-on"),
        (f"{SURE} --set certify-on=new.csv --dataset checked=checked.csv "
         "--goal 'maximize recall s.t. precision.on(checked) >= 0.2'",
         "--set certify-on is one table, and the goal refers to the data set"),
    ],
    TRAIN: [
        ("--solver eros", "Invalid value for '--solver': 'eros' is not one of 'portfolio'"),
        ("--solver ero --set estimator=logistic",
         "trains the model itself: leave out --set estimator (--module says which model), or"),
        ("--solver cutting-plane --module mlp", "--module is for solvers that train"),
        ("--solver post-shift --module linear", "and --solver post-shift "),
        ("--set min-positives", "write min-positives=N, got 'min-positives'"),
        ("--set positives=9", "there is no 'positives' here (did you mean 'min-positives'?)"),
        ("--set seed=1 --set seed=2", "seed is set twice"),
        ("--solver ero --set min-positives=601",
         "--set min-positives is 601, and the rows have a weight of 600"),
        ("--solver ero --set draws", "decides nothing by chance"),
        ("--decide-on sex", "; see setpoint train --help"),
        ("--solver ero --goal 'maximize recall s.t. recall.difference(sex) <= 0.1'",
         "the goal refers to 'sex', and a model is trained for goals over the rows as a whole "
         "that only gain by accepting a positive and by refusing a negative; "
         "setpoint fit takes such goals, after training"),
        ("--solver ero --set inverse-regularization=1", f"{TRAINS}"),
        (f"--solver post-shift {SCORES}", f"{TRAINS}"),
    ],
    RAMP: [
        ("--goal accuracy --set estimator=logistic", "leave out --set estimator (it is a linear o"),
        ("--goal accuracy --module linear", "descends on the ramp problem itself; leave one of"),
        (f"{CHURN} --baseline city", "in column 'city' is not a class of the model"),
        (f"{CHURN} --baseline score", "in column 'score' is not a class of the model"),
        (f"{CHURN} --set baseline-threshold=0", "name their column with --baseline"),
        (f"{CHURN} --baseline old --set baseline-threshold=0",
         "column 'old' of ramp.csv holds no numbers; leave it out where --baseline names"),
        (f"{CHURN} --baseline y --set baseline-threshold=0", "--baseline: 'y' is the target"),
        (f"{CHURN} {SCORES} --drop score", "takes them as a feature; do not name it in"),
        (f"{CHURN} {SCORES.replace('=0', '=x')}", "baseline-threshold: 'x' is not a valid"),
    ],
    "predict": [
        ("none.skops new.csv", "No such file"),
        ("cut.skops new.csv", "is not a model file, or was cut short"),
        ("python.skops new.csv", "holds a PlugInClassifier, no model of a table"),
        ("model.skops aged.csv", "aged.csv has no column 'age' (did you mean 'old_age'"),
        ("model.skops new.csv --keep idd", "--keep: new.csv has no column 'idd' (did you mean"),
        ("model.skops score.csv --keep score", "rename it in the table"),
        ("model.skops new.csv -o p.xlsx", "ends in none of .csv, .csv.gz, .parquet, .jsonl"),
        ("model.skops new.csv -o new.csv", "would overwrite DATA"),
        ("model.skops new.csv -o d.csv", "is a folder; name a file in it"),
        ("model.skops new.csv --json -o p.csv", "name the file *.jsonl"),
        ("model.skops new.csv --excel -o x.parquet", "--excel is for CSV, and the output is .parq"),
        ("model.skops new.csv --adapt -o out/", "--adapt is for one table"),
        ("model.skops new.csv --at-most 2.5", "got '2.5'"),
        ("model.skops new.csv --at-most =3 --by sex", "got '=3'"),
        ("model.skops new.csv --at-most 3 --at-most 4", "--at-most has two numbers for all rows"),
        ("model.skops new.csv --at-most f=3 --at-most f=4 --by sex", "--at-most names 'f' twice"),
        ("model.skops new.csv --at-most 3 --at-most f=4 --by sex", "or GROUP=N for each group"),
        ("model.skops new.csv --by sex", "--by names the groups of --at-most, which says how many"),
        # Many files.
        ("model.skops loans.csv new.csv", "it is a folder, such as decided/"),
        ("model.skops loans.csv new.csv --json -o out", "--json writes JSON lines of one table"),
        ("model.skops loans.csv new.csv -o .", "would overwrite DATA"),
        ("model.skops loans.csv new.csv -o new.csv", "is a file, and of several"),
        ("model.skops - new.csv -o out", "neither stdin nor of a database"),
        ("model.skops new.csv d.csv/new.csv -o out", "have the same name"),
        ("model.skops new.csv notes.txt -o out", "ends in none of .parquet"),
        ("model.skops new.csv --overwrite -o p.csv", "--overwrite is for a folder"),
    ],
    "evaluate": [
        ("model.skops unlabelled.csv", "unlabelled.csv has no column 'y'"),
        ("model.skops new.csv --weight w", "--weight goes with --prediction"),
        ("model.skops", "Missing argument 'DATA'"),
        ("model.skops new.csv loans.csv", "a model file is judged by one table"),
        ("new.csv --prediction old --target y", "--goal is missing"),
        ("new.csv --prediction old --goal f1", "--target is missing"),
        ("new.csv --prediction odl --target y --goal f1", "new.csv has no column 'odl'"),
        ("model.skops new.csv --unit idd", "--unit: new.csv has no column 'idd' (did you mean"),
        ("new.csv --prediction old --target y --goal f1 --unit old", "--unit: 'old' has another"),
        ("new.csv --prediction old --target y --metric m:f", "--metric is for a model file"),
        ("new.csv --prediction old --target y --goal f1 --new-groups largest", "is for a model"),
        ("new.csv --prediction old --target y --goal f1 --set encoding=latin-1",
         "--set encoding: CSV that is counted is UTF-8"),
        ("new.csv --prediction city --target y --goal f1", "--prediction: "),
        (f"{WORTH} --weight income",
         "are counted by rows of one file that count once each: --weight is given"),
        (f"{WORTH} loans.csv", "rows of one file that count once each: there are more"),
    ],
    "frontier model.skops loans.csv": [
        ("", "--vary says which bound moves"),
        ("--vary precision --values 0.9:0.5:3", "LOW is below HIGH"),
        ("--vary precision --values a", "--values is LOW:HIGH:N"),
        ("--vary precision --picture f.gif", "ends neither in .svg nor in .png"),
    ],
    "compare": [
        ("poor.skops model.skops new.csv --changed new.csv", "would overwrite DATA new.csv"),
        ("poor.skops model.skops new.csv --unit idd", "--unit: new.csv has no column 'idd'"),
    ],
    "show": [
        ("python.skops", "holds a PlugInClassifier, no model of a table"),
        ("model.skops --report model.skops", "would overwrite MODEL"),
    ],
    "explain model.skops new.csv": [
        ("--row 301", "--row: new.csv has no row 301; its rows are 1 to 300"),
    ],
    "explore model.skops new.csv -o x.html": [
        ("--check checked.csv --test-size 0.2", "--check and --test-size: both name"),
        ("--by town", "--by: new.csv has no column 'town'"),
        ("--goal 'maximize recall.on(old_rows)'", "data set"),
        ("-o new.csv", "would overwrite DATA"),
    ],
    "take model.skops new.csv --model n.skops": [
        ("", ONE_OF),
        ("--line 0.5 --rule r.json", ONE_OF),
        ("--rule {}", "--rule is not a rule as JSON"),
        ("--rule none.json", "none.json"),
        (f"--rule '{Threshold(0.5, 0.1).to_json()}'", "--rule decides without draws"),
        (f"--rule '{OF_TOWN.replace('town', 'sex')}'", "--rule has no threshold for"),
        ("--bound 'recall >= 0.5' --model model.skops",
         "--model: model.skops would overwrite MODEL model.skops"),
    ],
    "take": [
        ("model.skops --bound 'recall >= 0.5' --model n.skops",
         "rows with labels, which a model file does not hold"),
    ],
    "monitor model.skops new.csv": [
        ("--goal 'maximize recall'", "has no constraint to watch"),
        ("--no-labels --goal 'maximize recall s.t. precision >= 0.9'", "every constraint needs"),
        ("--no-labels --late-labels", "--late-labels is for rows with labels"),
        ("--late-labels", "--late-labels goes on from the --state"),
        ("--goal 'maximize recall s.t. recall.difference(id) <= 0.9'",
         "--goal compares groups that the fit did not look at, and which there may be is "
         "not known: name them, as in 'recall.on("),
        ("--alpha 1", "--alpha"),
        ("--unit id", "--unit go with the Monitor's --set largest-unit: both or neither"),
        ("--state model.skops", "would overwrite MODEL"),
        ("--state notes.txt", "is not a state of setpoint monitor"),
        ("--state format.json", "a state of a Monitor of format 1 is read here"),
    ],
    "plan 'maximize precision s.t. recall >= 0.9'": [
        ("", "name a table with labels and decisions, or state rates with --rate prior=0.1"),
        ("t.csv --rate prior=0.1 --rate recall=93%", "one of the two is wanted"),
        ("--rate prior=0.1 --unit id", "--unit belongs to a table, and --rate needs none"),
        ("t.csv --target y", "--prediction COL, or from a model file, --model FILE"),
        ("t.csv --prediction p", "name the column with the labels, --target COL"),
        ("--rate prior=0.1 --target y", "--target belongs to a table, and --rate needs none"),
        ("t.csv --model m --positive 1", "the model file knows the positive class"),
        ("--rate prior", "--rate is NAME=SHARE, as in recall=0.85, got 'prior'"),
        ("--rate prior=0.1 --rate prior=0.2", "--rate names 'prior' twice"),
    ],
    "plan": [
        ("'maximize f1 s.t. recall.difference(sex) <= 0.3' --rate prior=0.1 --rate recall=93%",
         "--rate: the goal names the column 'sex', so each group has its own"),
        ("'maximize f1 s.t. recall.on(\"checked\") >= 0.3' new.csv --target y --prediction old",
         "give its table, --dataset checked=FILE"),
    ],
    "export": [
        ("one.json", "Missing option '--format'"),
        ("one.json --format sql --dialect oracle", "--dialect is one of 'ansi', "),
        ("one.json --format sql --score a --score b", "looks at one score, and 2 are named"),
        ("groups.json --format sql --column age=a", "--column: the rule does not look at 'age'"),
        ("groups.json --format sql --column sex", "--column is NAME=COL, got 'sex'"),
        ("groups.json --format sql --column sex=a --column sex=b", "names 'sex' twice"),
        ("one.json --format sql --name f", "--name is for --format python, not sql"),
        ("one.json --format json --dialect duckdb", "is for --format sql, not json"),
        ("one.json --format python --name 'a b'", "--name: a function of Python cannot"),
        ("one.json --format sql -o one.json", "would overwrite MODEL"),
        ("drawn.json --format sql", "--hash-column is needed: this rule is randomised"),
        ("format.json --format sql", "is not a rule: format: found 7, written by a newer setpoint"),
        ("latin.json --format sql", "is not a rule: it is not text in UTF-8"),
    ],
    "goal": [
        ("'recall >= 0.5'", "'maximize precision subject to recall >= 0.5'"),
        (f"'maximize {'recall + ' * 600} recall'", "a goal has at most 4000 characters"),
    ],
    "": [
        ("nothing", "--help"),
        ("fitt", "fit"),
        ("fit", "--help"),
        ("fit --bogus", "--help"),
        ("plan", "--help"),
        (f"fit - --dataset a=- {FIT[13:]}", "stdin ('-') can be read once only"),
        (f"fit - {FIT[13:]} {SURE} --set certify-on=-", "stdin ('-') can be read once only"),
        (f"{FIT.replace('loans', 'gone')}", "gone.csv: there is no such file"),
        (f"{FIT.replace('loans', 'one')}", "holds one class only, 1"),
        (f"{FIT.replace('loans', 'few')}", "class 1 has 1 of 40"),
        (f"{FIT.replace('loans', 'many')} --goal accuracy", "a target has classes"),
        (f"{FIT.replace('loans', 'latin')}", "--set encoding=cp1252"),
        (f"{FIT.replace('loans', 'ages')} --goal accuracy",
         "column 'y' is a number with 71 values, and class 88 has 1 of 141"),
        (f"{FIT.replace('loans', 'fraud')}",
         "fraud.csv: column 'y' holds 'a fraud' and 'legit', and the goal refers to the positive "
         "class: say which it is, --positive 'a fraud' or --positive legit"),
        (f"{FIT.replace('loans', 'three')} --goal macro_f1 --set solver=exact",
         "--set solver=exact takes every shape that can be solved, for two classes, and y holds 3"),
        (f"{FIT.replace('loans', 'three')} --goal recall", "; name one with label="),
        (f"{TRAIN.replace('loans', 'three')} --solver ero --goal macro_f1",
         "holds 3 classes, and --solver ero trains models for two"),
    ],
}  # fmt: skip


@pytest.fixture
def files(here):
    """Files that something is wrong with."""
    new = (here / "new.csv").read_text("utf-8")
    lines = new.splitlines()[1:]
    (here / "aged.csv").write_text(new.replace("age", "old_age", 1), "utf-8")
    (here / "unlabelled.csv").write_text(new.replace(",y\n", ",z\n", 1), "utf-8")
    write(here / "odd.csv", [*lines[:7], lines[7][:-1] + "7", *lines[8:]])
    write(here / "score.csv", [f"{line},1" for line in lines[:5]], HEAD + ",score")
    (here / "latin.csv").write_bytes(new.encode("latin-1"))
    write(here / "ages.csv", [f"{i % 7},{18 + i % 70 if i else 88}" for i in range(141)], "x,y")
    write(here / "one.csv", [f"{i},1" for i in range(40)], "a,y")
    write(here / "few.csv", [f"{i * i % 7},{int(i == 3)}" for i in range(40)], "a,y")
    write(here / "many.csv", [f"{i % 7},{i / 8}" for i in range(40)], "a,y")
    write(here / "three.csv", [f"{i % 3},{i}.5" for i in range(60)], "y,x")
    write(here / "fraud.csv", [f"{i % 7},{FRAUD[i % 3]}" for i in range(60)], "x,y")
    write(here / "ramp.csv", scored(200, 0), SCORED)
    (here / "d.csv").mkdir()
    (here / "d.csv" / "new.csv").write_text(new, "utf-8")
    (here / "notes.txt").write_text("x")
    (here / "cut.skops").write_bytes((here / "model.skops").read_bytes()[:9_000])
    save_model(PlugInClassifier(None, "f1"), here / "python.skops")
    groups = PerSegment([Threshold(0.3), Threshold(0.6)], [(("sex", v),) for v in "fm"])
    rules = {"one": Threshold(0.5), "groups": groups}
    for name, rule in rules.items():
        (here / f"{name}.json").write_text(rule.to_json())
    (here / "drawn.json").write_text(DRAWN)
    (here / "format.json").write_text('{"format": 7}')
    (here / "latin.json").write_bytes(b'{"rule": "\xff"}')
    return here


@pytest.mark.parametrize("command", REFUSED, ids=lambda line: line.split(" --")[0] or "others")
def test_what_is_refused(run, files, command):
    before = {path: path.stat().st_mtime_ns for path in files.iterdir()}

    @over("rest, words", REFUSED[command])
    def refused(rest, words):
        done = run(f"{command} {rest}", input="a,y\n1,0\n")
        assert (done.code, done.out) == (1, "")
        said = " ".join(done.err.split()).rpartition("error: ")[2]
        assert words in said

    refused()
    assert {path: path.stat().st_mtime_ns for path in files.iterdir()} == before
