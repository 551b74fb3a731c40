"""What a model file holds, as plain facts: no table is needed, and no row is decided."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from setpoint.goals.goal import Goal
from setpoint.tasks.journal import Journal
from setpoint.tasks.reading import open_model

if TYPE_CHECKING:
    from setpoint.guarantees import Guarantee
    from setpoint.report import GoalReport
    from setpoint.tables import TableModel

__all__ = ["ShownModel", "show_model", "written_by"]


@dataclass(frozen=True, eq=False)
class ShownModel:
    """What a stored model is."""

    model: TableModel
    goal: Goal
    meant: Goal
    family: str
    solver: str
    inside: str
    columns: Mapping[str, str]
    decides_on: tuple[str, ...]
    baseline: str
    rows: Mapping[str, int | None]
    certified_holds: bool
    written: Mapping[str, str]
    notes: Sequence[str]

    @property
    def chosen(self) -> GoalReport:
        """On the rows that the rule was chosen on, or that certify."""
        found: GoalReport = self.model.classifier.goal_report_
        return found

    @property
    def guarantee(self) -> Guarantee | None:
        """What was promised; None where nothing was asked for."""
        return self.chosen.guarantee

    @property
    def judged(self) -> GoalReport:
        """The report that decided then: on rows held out where there are some and none certify."""
        held_out = self.model.held_out
        return self.chosen if held_out is None or self.guarantee is not None else held_out

    @property
    def where(self) -> str:
        """The rows of `judged` in words."""
        n = f"{self.judged.counts.n_rows:,} rows"
        if self.guarantee is not None:
            return f"{self.guarantee.rows:,} rows that certify"
        if self.judged is self.model.held_out:
            return f"{n} held out"
        if self.judged.status == "evaluated":
            return f"{n} that the rule was measured on"
        folds = self.judged.search.folds
        by = ", by cross-validation" if folds is not None and folds > 1 else ""
        return f"{n} that the rule was chosen on{by}"

    def to_html(self, path: Any, model: str = "") -> None:
        """Write the page of the fit: rows that took no part in it lead, where there are some."""
        from setpoint.report import TextSection
        from setpoint.report.page import Header

        about = [TextSection("The model and the rows it was fitted on", tuple(self.notes))]
        header = Header("", model)
        self.chosen.to_html(path, held_out=self.model.held_out, about=about, header=header)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON, but for what differs between two runs."""
        clf, judged = self.model.classifier, self.judged.to_dict()
        judged.pop("run")
        guarantee = None
        if self.guarantee is not None:
            guarantee = asdict(self.guarantee) | {"holds": self.certified_holds}
        return {
            "goal": str(self.goal),
            "judge_by": str(self.meant),
            "target": self.model.target,
            "classes": clf.classes_.tolist(),
            "positive": clf.positive_,
            "rule": {
                "text": self.chosen.rule.text,
                "decides_on": list(self.decides_on),
                "draws": clf.rule_.randomized,
            },
            "family": self.family,
            "solver": self.solver,
            "model": self.inside,
            "columns": dict(self.columns),
            "baseline": self.baseline or None,
            "datasets": list(self.model.dataset_names),
            "rows": dict(self.rows),
            "judged": judged,
            "judged_on": self.where,
            "guarantee": guarantee,
            "about": list(self.notes),
        }


def show_model(
    model: Any, *, trust: Sequence[str] = (), journal: Journal | None = None
) -> ShownModel:
    """What a stored model is: its goal, its rule, its columns, and how it was judged.

    Examples
    --------
    >>> from setpoint.tables import tumours
    >>> from setpoint.tasks import fit_table, show_model
    >>> fitted = fit_table(
    ...     tumours(), "f1", target="diagnosis", pos_label="malignant", estimator="logistic"
    ... )
    >>> shown = show_model(fitted.model)
    >>> print(shown.goal, shown.inside, shown.rows["held_out"], sep=", ")
    maximize f1, LogisticRegression, 143
    """
    from setpoint.inputs import Deployed

    journal = Journal() if journal is None else journal
    found = open_model(model, trust, journal)
    clf = found.classifier
    report: GoalReport = clf.goal_report_
    guarantee, held_out = report.guarantee, found.held_out
    deployed = Deployed.of(clf.baseline)
    return ShownModel(
        found,
        Goal.parse(report.goal),
        Goal.parse(found.judge_by or report.goal),
        report.search.family or clf._family,
        report.search.solver,
        _inside(clf),
        {column.name: column.kind for column in found.columns},
        report.rule.decides_on,
        "" if deployed is None or deployed.column is None else str(deployed.column),
        {
            "fitted": found.fitted_rows,
            "held_out": 0 if held_out is None else held_out.counts.n_rows,
            "certifying": 0 if guarantee is None else guarantee.rows,
        },
        guarantee is not None and guarantee.binding in ("", clf._fingerprint),
        written_by(model, found),
        found.notes,
    )


def written_by(source: Any, model: TableModel) -> dict[str, str]:
    """When a file was written, and by which versions; of a model in memory when it was fitted."""
    run = model.classifier.goal_report_.run
    fitted = {"when": run.when, **run.versions}
    if source is model:
        return fitted
    from setpoint.estimators.model_archive import open_archive
    from setpoint.estimators.model_facts import facts_in

    with Path(source).open("rb") as file, open_archive(file, source) as archive:
        facts = facts_in(archive, source)
    names = {"when": "written", "setpoint": "setpoint"}
    names |= {"scikit-learn": "scikit_learn", "numpy": "numpy"}
    said = {k: facts[name] for k, name in names.items() if isinstance(facts.get(name), str)}
    return said if "when" in said else fitted  # skops itself writes no facts


def _inside(classifier: Any) -> str:
    """The model that gives the scores, by its name."""
    found = getattr(classifier, "estimator_", None)
    if found is None:
        module = getattr(classifier, "module", "linear")
        names = {"linear": "a linear model", "mlp": "a network with three layers of 64"}
        name = names.get(module) if isinstance(module, str) else None
        return name or str(getattr(module, "__name__", type(module).__name__))
    while hasattr(found, "steps"):
        found = found.steps[-1][1]
    choice = getattr(classifier, "choice_", None)
    name = type(found).__name__
    return name if choice is None else f"{name} ({choice.chosen}, chosen under the goal)"
