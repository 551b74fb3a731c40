"""A report for the people who set the goal: one HTML file.

Those who set a goal seldom read code. `to_html` writes a page that opens in any browser, without
scripts and without a network: whether the goal is reached, every number with its interval, the
pictures, and beside them the same on rows that were held out.
"""

import tempfile
from pathlib import Path

import numpy as np
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

from setpoint import PlugInClassifier
from setpoint.report import OperatingPointDisplay


def main():
    X, code = make_classification(n_samples=8_000, weights=[0.8], class_sep=0.8, random_state=2)
    y = np.array(["stays", "leaves"])[code]
    region = np.where(X[:, 0] > 0.5, "north", "south")
    X_train, X_test, y_train, y_test, r_train, r_test = train_test_split(
        X, y, region, stratify=y, random_state=0
    )
    goal = "maximize precision subject to recall >= 0.75 and recall.difference(region) <= 0.1"
    clf = PlugInClassifier(LogisticRegression(), goal, pos_label="leaves")
    clf.fit(X_train, y_train, sensitive_features={"region": r_train})
    held_out = clf.evaluate(X_test, y_test, sensitive_features={"region": r_test})

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "leavers.html"
        clf.goal_report_.to_html(path, held_out=held_out)
        page = path.read_text(encoding="utf-8")
    print(f"{path.name}: {len(page) // 1000} kB, {page.count('<figure')} pictures")
    print("scripts:", "<script" in page)

    return [OperatingPointDisplay.from_report(held_out).figure_]


if __name__ == "__main__":
    main()
