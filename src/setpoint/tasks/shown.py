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
    """What a stored model is.

    Parameters
    ----------
    model : TableModel
    goal : Goal
        That the rule was found for.
    meant : Goal
        That it is judged by; the same but where a margin was asked for on top.
    family, solver : str
        Who found the rule.
    inside : str
        The model that gives the scores.
    columns : dict of str to str
        The columns that a table needs, with their kinds.
    decides_on : tuple of str
        Those that the rule looks at beside the score.
    baseline : str
        The column of the deployed model; "" where there is none.
    rows : dict of str to int or None
        "fitted", "held_out" and "certifying"; None where the file does not say.
    certified_holds : bool
        Whether model and rule are those that were certified.
    written : dict of str to str
        "when" in UTC, and the versions of packages.
    notes : sequence of str
        What was done to the columns, in sentences.
    """

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
        """Write the page of the fit: rows that took no part in it lead, where there are some.

        Parameters
        ----------
        path : str or path
        model : str
            The name of the file, for the top of the page.

        Raises
        ------
        ImportError
            If jinja2 or matplotlib is not installed.
        OSError
            If the file cannot be written.
        """
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

    Nothing in the file is run.

    Parameters
    ----------
    model : str, path or TableModel
    trust : sequence of str
        Types that the file may hold beside setpoint's and scikit-learn's.
    journal : Journal, optional

    Returns
    -------
    ShownModel

    Raises
    ------
    InputError, ModelFileError
        If it is not a model of a table.

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
    """When a file was written, and by which versions; of a model in memory when it was fitted.

    Parameters
    ----------
    source : str, path or TableModel
    model : TableModel
        What it holds.

    Returns
    -------
    dict of str to str
        "when" in UTC, and versions by the names of packages.
    """
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
