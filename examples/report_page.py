"""A report for the people who set the goal: one HTML file.

Those who set a goal seldom read code. `to_html` writes a page that opens in any browser, without
scripts and without a network. Rows that were held out lead it: what was found, whether that is
shown to hold on new rows, what to do, and the pictures. The rows that chose the rule come last.
The search asks for more recall than is meant, so that what is meant can be shown.
"""

import tempfile
from pathlib import Path

import numpy as np
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

from setpoint import PlugInClassifier
from setpoint.report import plot_operating


def main():
    X, code = make_classification(n_samples=24_000, weights=[0.8], class_sep=0.8, random_state=2)
    y = np.array(["stays", "leaves"])[code]
    region = np.where(X[:, 0] > 0.5, "north", "south")
    X_train, X_test, y_train, y_test, r_train, r_test = train_test_split(
        X, y, region, stratify=y, random_state=0
    )
    meant = "maximize precision subject to recall >= 0.75 and recall.difference(region) <= 0.1"
    goal = meant.replace("0.75", "0.79")  # a margin
    clf = PlugInClassifier(LogisticRegression(), goal, pos_label="leaves")
    clf.fit(X_train, y_train, sensitive_features={"region": r_train})
    held_out = clf.evaluate(X_test, y_test, goal=meant, sensitive_features={"region": r_test})

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "leavers.html"
        clf.goal_report_.to_html(path, held_out=held_out)
        page = path.read_text(encoding="utf-8")
    print(held_out.verdict)
    for entry in held_out.constraints:
        print(f"{entry.text}: {entry.value:.3f}, {entry.verdict}")
    print(f"\n{path.name}: {len(page) // 1000} kB, {page.count('<figure')} pictures")
    print("scripts:", "<script" in page)

    return [plot_operating(held_out).figure_]


if __name__ == "__main__":
    main()
