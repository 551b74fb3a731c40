"""``setpoint predict --at-most``: room for so many rows, in all or in each group."""

import pandas as pd
import pytest

from setpoint import load_model
from setpoint.tables import read_table


@pytest.fixture
def accepted(folder, model):
    decided = load_model(model).predict(read_table(folder / "new.csv"))["prediction"] == 1
    return decided.groupby(pd.read_csv(folder / "new.csv")["sex"]).sum().to_dict()


def by_sex(done):
    rows = [line.split(",")[:2] for line in done.stdout.splitlines()[1:]]
    return {sex: sum(row == [sex, "1"] for row in rows) for sex in "fm"}


def test_so_many_in_all(run, folder, model, accepted):
    done = run("predict", model, folder / "new.csv", "--at-most", "7")
    assert done.stdout.count("\n1,") == 7
    n = sum(accepted.values())
    assert f"the rule decides 1 for {n} of 300 rows, and the 7 best keep that" in done.stderr


def test_so_many_in_each_group(run, folder, model, accepted):
    common = ("predict", model, folder / "new.csv", "--keep", "sex", "--by", "sex")
    assert min(accepted.values()) > 3
    assert by_sex(run(*common, "--at-most", "3")) == {"f": 3, "m": 3}
    done = run(*common, "--at-most", "f=3", "--at-most", "m=1")
    assert by_sex(done) == {"f": 3, "m": 1}
    assert "and the 4 best, by group of sex, keep that" in done.stderr
    done = run(*common, "--at-most", "f=3", "--at-most", "m=300", "--at-most", "x=2")
    assert by_sex(done) == {"f": 3, "m": accepted["m"]}


def test_numbers_are_groups_too(run, folder, model):
    common = ("predict", model, folder / "new.csv", "--keep", "old", "--by", "old")
    done = run(*common, "--at-most", "0=2", "--at-most", "1=5")
    rows = [line.split(",")[:2] for line in done.stdout.splitlines()[1:]]
    assert [sum(row == [old, "1"] for row in rows) for old in "01"] == [2, 5]


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (("--at-most", "0"), "--at-most is a whole number of rows, 1 or more, or GROUP=N with"),
        (("--at-most", "-1"), "--at-most is a whole number of rows, 1 or more, or GROUP=N with"),
        (("--at-most", "2.5"), "got '2.5'"),
        (("--at-most", "=3", "--by", "sex"), "got '=3'"),
        (("--at-most", "f=", "--by", "sex"), "got 'f='"),
        (("--at-most", "3", "--at-most", "4"), "--at-most has two numbers for all rows"),
        (("--at-most", "f=3", "--at-most", "f=4", "--by", "sex"), "--at-most names 'f' twice"),
        (("--at-most", "3", "--at-most", "f=4", "--by", "sex"), "or GROUP=N for each group, not"),
        (("--at-most", "f=3"), "--at-most has a number for each group, and --by is not given"),
        (("--by", "sex"), "--by names the groups of --at-most, which says how many; give both"),
        (("--at-most", "301"), "--at-most is 301, and the batch has 300 rows"),
        (("--at-most", "f=301", "--by", "sex"), "--at-most f is 301, and the batch has 300 rows"),
        (("--at-most", "f=3", "--by", "sex"), "--at-most has no number for 'm', of which"),
        (("--at-most", "3", "--by", "sexx"), "has no column 'sexx' (did you mean 'sex'?)"),
        (("--at-most", "3", "--by", "city"), "--by has "),
        (("--at-most", "5", "-o", "out/"), "--at-most is for one table"),
    ],
)
def test_what_is_wrong_is_said(run, folder, model, tmp_path, monkeypatch, more, words):
    monkeypatch.chdir(tmp_path)
    done = run("predict", model, folder / "new.csv", *more)
    assert done.exit_code == 1
    assert words in done.stderr
    assert done.stdout == ""
    assert not list(tmp_path.iterdir())
