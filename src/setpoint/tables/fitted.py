"""A fitted model of tables: what it decides, how good it is, and where else its rule could be."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import redirect_stdout
from copy import copy
from dataclasses import asdict, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from setpoint.errors import InputError, listed
from setpoint.goals import Goal, as_goal
from setpoint.tables.about import (
    check_room,
    groups_of,
    in_columns,
    model_inside,
    moved_goal,
    note_room,
    of_one_kind,
    rule_given,
)
from setpoint.tables.rows import (
    check_datasets,
    check_one_table,
    columns_named,
    columns_of_all,
    labelled_rows,
    note,
    note_reading,
    only_one_stdin,
    read,
    step,
    unit_in,
    warnings_as_notes,
)
from setpoint.tables.table import Table, TableColumn, TableError, absent, conform, needed, scores_of

if TYPE_CHECKING:
    import pandas as pd

    from setpoint.classifiers import Explanation
    from setpoint.explorer import Explorer
    from setpoint.guarantees import Guarantee
    from setpoint.inputs import Dataset
    from setpoint.judging import ModelComparison
    from setpoint.report import GoalReport
    from setpoint.rules import Rule
    from setpoint.search import Frontier
    from setpoint.tables.roles import ColumnRoles, RowCounts
    from setpoint.tables.settings import SolverChoice


# --- A fitted model of tables ---------------------------------------------------------------------


CHECKED = 0.3
"""The share of the rows set apart for the check, where no table is named for it."""


class FittedModel:
    """A fitted classifier of tables: of paths, a :class:`TableFile`, frames or a :class:`Table`."""

    # What a file holds: these, and `judge_by` where it is not the goal of the report.
    classifier: Any
    columns: tuple[TableColumn, ...]
    target: str
    dataset_names: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    judge_by: Any
    profile: Mapping[str, Sequence[Any]]
    held_out: GoalReport | None = None
    fitted_rows: int | None = None
    units: str | None = None
    source: str = ""
    """The file that it was read from."""

    # What was asked for, settled before a table is read.
    metric: Any
    promise: Any
    choice: SolverChoice
    share_held_out: float = 0.25

    # What is known beside it of a fit.
    report: GoalReport
    classes: Mapping[str, int]
    roles: ColumnRoles
    about: Sequence[tuple[str, list[str]]]
    cautions: Sequence[str]
    datasets: Mapping[str, RowCounts]
    validation: RowCounts | None
    name: str = ""
    certify_on: str
    held: Dataset | None

    @classmethod
    def load(cls, path: str | os.PathLike[str], trusted: Sequence[str] = ()) -> Self:
        """The model in a file."""
        from setpoint.classifiers import load_model

        source = os.fspath(path)
        with step(f"reading {source}"):
            found = load_model(path, trusted=trusted)
        if not isinstance(found, cls):
            raise InputError(
                f"{source} holds a {type(found).__name__}, no model of a table; models made in "
                "Python are used there, with setpoint.load_model"
            )
        return found.but(source=source)

    def but(self, **changed: Any) -> Self:
        """The same with something else."""
        out = object.__new__(type(self))
        vars(out).update(vars(self) | changed)
        return out

    # ------------------------------------------------------------------ what it is
    @property
    def rule_goal(self) -> Goal:
        """The goal of its rule."""
        return Goal.parse(self.classifier.goal_report_.goal)

    @property
    def guarantee(self) -> Guarantee | None:
        """What was promised in the fit; None where nothing was asked for."""
        found: Guarantee | None = self.classifier.goal_report_.guarantee
        return found

    @property
    def certified_holds(self) -> bool:
        """Whether model and rule are those that the promise was tested with."""
        return self.guarantee is not None and self.guarantee.binding in (
            "",
            self.classifier._fingerprint,
        )

    @property
    def judged(self) -> GoalReport:
        """The report that decided then: on rows held out where there are some and none certify."""
        if self.held_out is None or self.guarantee is not None:
            return self.report
        return self.held_out

    @property
    def judged_on(self) -> str:
        """The rows of `judged` in words."""
        n = f"{self.judged.counts.n_rows:,} rows"
        if self.guarantee is not None:
            return f"{self.guarantee.rows:,} rows that certify"
        if self.judged is self.held_out:
            return f"{n} held out"
        if self.judged.status == "evaluated":
            return f"{n} that the rule was measured on"
        folds = self.judged.search.folds
        by = ", by cross-validation" if folds is not None and folds > 1 else ""
        return f"{n} that the rule was chosen on{by}"

    @property
    def written(self) -> dict[str, str]:
        """When its file was written, and by which versions; without a file when it was fitted."""
        run = self.classifier.goal_report_.run
        fitted = {"when": run.when, **run.versions}
        if not self.source:
            return fitted
        from setpoint.classifiers import facts_in, open_archive

        with Path(self.source).open("rb") as file, open_archive(file, self.source) as archive:
            facts = facts_in(archive, self.source)
        names = {"when": "written", "setpoint": "setpoint"}
        names |= {"scikit-learn": "scikit_learn", "numpy": "numpy"}
        said = {k: facts[name] for k, name in names.items() if isinstance(facts.get(name), str)}
        return said if "when" in said else fitted  # skops itself writes no facts

    def to_dict(self) -> dict[str, Any]:
        """What it is, as plain values for JSON, but for what differs between two runs."""
        from setpoint.inputs import Deployed

        clf, judged = self.classifier, self.judged.to_dict()
        judged.pop("run")
        report, guarantee = clf.goal_report_, self.guarantee
        deployed = Deployed.of(clf.baseline)
        column = None if deployed is None else deployed.column
        promised = None if guarantee is None else asdict(guarantee)
        return {
            "goal": str(self.rule_goal),
            "judge_by": str(Goal.parse(self.judge_by or report.goal)),
            "target": self.target,
            "units": self.units,
            "classes": clf.classes_.tolist(),
            "positive": clf.positive_,
            "rule": {
                "text": report.rule.text,
                "decides_on": list(report.rule.decides_on),
                "draws": clf.rule_.randomized,
            },
            "family": report.search.family or clf._family,
            "solver": report.search.solver,
            "model": model_inside(clf),
            "columns": {column.name: column.kind for column in self.columns},
            "baseline": None if column is None else str(column) or None,
            "datasets": list(self.dataset_names),
            "rows": {
                "fitted": self.fitted_rows,
                "held_out": 0 if self.held_out is None else self.held_out.counts.n_rows,
                "certifying": 0 if guarantee is None else guarantee.rows,
            },
            "judged": judged,
            "judged_on": self.judged_on,
            "guarantee": promised and {**promised, "holds": self.certified_holds},
            "about": list(self.notes),
        }

    def to_html(self, path: str | os.PathLike[str]) -> None:
        """Write the page of the fit: rows that took no part in it lead, where there are some."""
        from setpoint.report import Header, TextSection

        about = [TextSection("The model and the rows it was fitted on", tuple(self.notes))]
        self.classifier.goal_report_.to_html(
            path, held_out=self.held_out, about=about, header=Header("", self.source)
        )

    # ------------------------------------------------------------------ the rows of a table
    def read(self, table: Any, *, skip_unlabelled: bool = False) -> Table:
        """Read a table as it was in the fit, without the rows that have no label if asked for."""
        found = read(table, self.columns)
        return labelled_rows(found, self.target) if skip_unlabelled else found

    def frame(self, table: Any) -> pd.DataFrame:
        """The table's columns as in the fit."""
        table = read(table, self.columns)
        values = self.classifier.rule_.value_columns
        for name in values:
            if name not in table.frame:
                raise TableError(
                    f"{absent(table, [name])}; the rule looks at it beside the score: add it, or "
                    "fit again with `decide_on=none`"
                )
        frame = conform(table, self.columns)
        for name in values:
            table.refuse_missing(frame[name], "which the rule looks at beside the score")
        return frame

    def goal_by(self, goal: Any = None) -> Goal:
        """The goal that is meant, where bounds are looked at: that of the fit if none is given."""
        found = as_goal(self.judge_by or self.rule_goal if goal is None else goal)
        if found.is_blackbox:
            raise InputError(
                f"{self._name}: the goal is a metric without a formula, "
                f"{self.classifier.goal.name}, and has no bound that could move"
            )
        return found

    def rows(
        self,
        table: Any,
        goal: Any,
        *,
        baseline: str | None = None,
        datasets: Mapping[str, Any] | None = MappingProxyType({}),
        looked_at: Mapping[str, str] | None = None,
        labelled: bool = True,
        deployed: bool = True,
        units: str | None = "",
    ) -> dict[str, Any]:
        """X, y and what belongs to them, as methods of classifiers take them."""
        # `looked_at` are further columns, with who looks at them; without `deployed` there are no
        # decisions of the deployed model, also where the goal refers to it; `datasets` is None
        # where one table is taken only; `units` is None for that of the fit, "" for none.
        from setpoint.blackbox import BlackBox
        from setpoint.inputs import Deployed
        from setpoint.tables.roles import RowReader, check_threshold, find_metric_columns, sides

        metric = goal if isinstance(goal, BlackBox) else None
        goal, clf = as_goal(goal), self.classifier
        if datasets is None:
            check_one_table(goal)
        files = check_datasets(goal, datasets or {})
        only_one_stdin([table, *files.values()])
        named = Deployed.of(clf.baseline) or Deployed(None)
        column, threshold = named.column, named.threshold
        looked_at = dict(looked_at or {})
        looked_at |= dict.fromkeys(clf.goal_report_.rule.decides_on, "the rule")
        table = read(table, self.columns)
        of_metric = () if metric is None else find_metric_columns(metric, table, self.columns)
        wanted = (column if baseline is None else baseline) if deployed else None
        if baseline is None and not goal.needs.baseline and wanted not in table.frame:
            wanted = None  # named in the fit, and needed nowhere
        unit = unit_in(table, units, self.units)
        others = {name: read(file, self.columns) for name, file in files.items()}
        used = {c.name for c in (*self.columns, *of_metric)} | {*goal.needs.names, self.target}
        used |= {*goal.needs.measure_names, *looked_at, *filter(None, (wanted, unit))}
        for one in (table, *others.values()):
            note_reading(one, used)
        reader = RowReader(
            goal=goal, target=self.target, columns=self.columns, classes=np.asarray(clf.classes_),
            baseline=wanted, scores=None if threshold is None else column, threshold=threshold,
            looking=looked_at, metric_columns=of_metric, labelled=labelled,
            deployed_apart=not deployed, units=unit,
        )  # fmt: skip
        with step("preparing the columns"):
            part = reader(table)
            sets = {name: reader(other, name) for name, other in others.items()}
            if threshold is not None and wanted is not None:
                scores = part.X[column] if part.baseline is None else part.baseline.source
                check_threshold(scores, threshold, table.name)
        by_unit = {} if unit is None else {"units": part.units}
        return {"X": part.X, "y": part.y, "datasets": sets or None, **sides(part), **by_unit}

    @property
    def _name(self) -> str:
        return self.source or "the model"

    # ------------------------------------------------------------------ what it decides
    def predict(
        self,
        table: Any,
        *,
        keep: str | Sequence[str] = (),
        adapt: bool = False,
        at_most: int | Mapping[Any, int] | None = None,
        by: str | None = None,
    ) -> pd.DataFrame:
        """Decisions and scores of a table as a frame: see :meth:`decided`."""
        found = self.decided(table, keep=keep, adapt=adapt, at_most=at_most, by=by)
        frame: pd.DataFrame = needed("pyarrow").table(found).to_pandas()
        return frame

    def decided(
        self,
        table: Any,
        *,
        keep: str | Sequence[str] = (),
        adapt: bool = False,
        at_most: int | Mapping[Any, int] | None = None,
        by: str | None = None,
    ) -> dict[str, Any]:
        """Decisions and scores, behind the columns to keep; of `at_most` rows by the rule."""
        from setpoint.inputs import Deployed
        from setpoint.tables.features import odd_rows

        clf = self.classifier
        check_room(clf, at_most, by)
        table = read(table, self.columns)
        if adapt:
            clf = self._adapted(table)
        keep = [keep] if isinstance(keep, str) else keep
        kept = columns_named("keep", keep, list(map(str, table.frame)), table.name)
        note_reading(table, {*kept, *(c.name for c in self.columns)})
        deployed = Deployed.of(clf.baseline)
        if deployed is not None and deployed.threshold is not None:
            scores_of(table, str(deployed.column))  # a feature that has to be there
        with warnings_as_notes():
            X = self.frame(table)
            # The model is asked once where the rule goes by the posteriors that are written.
            posteriors = clf.predict_proba(X) if hasattr(clf, "predict_proba") else None
            scores = None if posteriors is None else clf._scores_by_posteriors(posteriors)
            if scores is None:
                scores = clf._scores(X)
            free = decisions = clf._decided(X, scores)
            if at_most is not None:
                groups = None
                if by is not None:
                    groups, at_most = groups_of(table, by, at_most)
                room = clf._capacity(X, at_most, groups, None)
                decisions = clf._decide_batch(X, scores, room, 1)
            out = {"prediction": decisions, **in_columns(clf, X, posteriors, scores)}
            odd = odd_rows(self, X, free)
        if clf._defers:
            n = int((decisions == clf._answers.defer_label).sum())
            are = "is" if n == 1 else "are"
            note(f"{table.name}: {n:,} of {len(decisions):,} rows {are} deferred to a person")
        if odd:
            note(f"{table.name}: {odd}")
        if at_most is not None:
            note_room(clf, free, decisions, out.get("score"), by)
        for name in kept:
            if name in out:
                raise InputError(
                    f"`keep`: the column {name!r} has the name of one that is written beside it; "
                    "rename it in the table"
                )
        pa = needed("pyarrow")
        columns = {name: table.column(name) for name in kept}
        frame = needed("pandas").DataFrame(out)
        arrays = {str(name): pa.array(of_one_kind(frame[name])) for name in frame}
        return columns | {name: pa.chunked_array([array]) for name, array in arrays.items()}

    def _adapted(self, table: Table) -> Any:
        """The classifier with its rule found anew on rows without labels."""
        clf = copy(self.classifier)
        if not hasattr(clf, "adapt"):
            raise InputError(
                f"`adapt` finds the rule of a model anew, and {type(clf).__name__} was trained "
                "for its goal as a whole; leave it out"
            )
        named = list(clf.goal_report_.rule.decides_on)
        with step("finding the rule for these rows"), warnings_as_notes():
            X = self.frame(table)
            clf.adapt(X, sensitive_features=X[named] if named else None)
        note("the rule was found anew on these rows, with probabilities in place of labels")
        return clf

    def explain(self, table: Any, *, rows: Sequence[int] | None = None) -> Explanation:
        """Why rows are decided as they are: all, or those of the numbers given, counted from 1."""
        table = read(table, self.columns)
        n_rows = len(table.frame)
        for row in rows or ():
            if not 1 <= row <= n_rows:
                raise InputError(
                    f"`rows`: {table.name} has no row {row}; its rows are 1 to {n_rows}"
                )
        note_reading(table, {c.name for c in self.columns})
        with step("explaining"), warnings_as_notes():
            X = self.frame(table)
            if rows is not None:
                X = X.iloc[np.array(rows, dtype=np.int64) - 1].reset_index(drop=True)
            numbers = range(1, n_rows + 1) if rows is None else rows
            found: Explanation = self.classifier.explain(X).numbered(numbers)
        return found

    # ------------------------------------------------------------------ how good it is
    def evaluate(
        self,
        table: Any,
        *,
        goal: Any = None,
        baseline: str | None = None,
        datasets: Mapping[str, Any] | None = None,
        units: str | None = None,
    ) -> GoalReport:
        """Judge it by a table with labels."""
        from setpoint.blackbox import BlackBox
        from setpoint.tables.features import class_share_moved

        clf = self.classifier
        if isinstance(goal, BlackBox):
            clf = self._measured_by(goal)
        elif goal is None and self.judge_by is None and isinstance(clf.goal, BlackBox):
            raise InputError(
                f"{self._name} was fitted for the metric {clf.goal.name}, and model files hold no "
                f"code: add `metric={clf.goal.name}`"
            )
        else:
            goal = self.goal_by(goal)
        rows = self.rows(table, goal, baseline=baseline, datasets=datasets, units=units)
        doing = step("judging the rule")
        with warnings_as_notes() as warned, doing, redirect_stdout(sys.stderr):
            found: GoalReport = clf.evaluate(**rows, goal=as_goal(goal))
        shift = class_share_moved(found, clf.goal_report_)
        if shift:
            note(shift)
            warned.append(shift)
        more = tuple(note for note in warned if note not in found.warnings)
        return replace(found, warnings=(*found.warnings, *more))

    def _measured_by(self, metric: Any) -> Any:
        """The classifier, judged by a function that is called with one decision or score a row."""
        clf = copy(self.classifier)
        if len(clf.classes_) != 2:
            raise InputError(
                f"`metric` is for two classes, and {self._name} decides among {len(clf.classes_)}"
            )
        if clf.rule_.randomized:
            raise InputError(
                f"{self._name} decides by chance, and `metric={metric.name}` takes one decision a "
                "row; it judges models fitted without draws"
            )
        clf.set_params(goal=metric)  # the classifier measures whatever its goal is
        clf.goal_report_ = replace(clf.goal_report_, goal=str(metric.goal))
        return clf

    def pilot(
        self,
        table: Any,
        goal: Any,
        *,
        baseline: str | None = None,
        datasets: Mapping[str, Any] | None = None,
        units: str | None = None,
    ) -> dict[str, Any]:
        """Labels and decisions of it, as :func:`setpoint.rows_needed` takes them."""
        clf, goal = self.classifier, self.goal_by(goal)
        rows = self.rows(table, goal, baseline=baseline, datasets=datasets, units=units)
        with step("deciding"), warnings_as_notes():
            sets = (rows.pop("datasets") or {}).items()
            judged = {name: replace(one, X=clf.predict(one.X)) for name, one in sets}
            decided = clf.predict(rows.pop("X"))
        return {
            "y_true": rows.pop("y"), "y_pred": decided, "classes": clf.classes_,
            "pos_label": getattr(clf, "positive_", None), "datasets": judged or None, **rows,
        }  # fmt: skip

    # ------------------------------------------------------------------ other rules for its scores
    def frontier(
        self,
        table: Any,
        *,
        vary: str | None = None,
        values: Sequence[float] | None = None,
        baseline: str | None = None,
        datasets: Mapping[str, Any] | None = None,
    ) -> Frontier:
        """The best objective as the bound of one constraint moves."""
        from setpoint.plugin import frontier
        from setpoint.search import InfeasibleError, vary_of

        goal = self.goal_by(self.rule_goal)
        if vary is not None:
            goal, _ = vary_of(goal, vary)
        rows = self.rows(
            table, goal, deployed=bool(goal.needs.baseline), baseline=baseline, datasets=datasets
        )
        with warnings_as_notes(), step("moving the bound"):
            try:
                return frontier(self.classifier, vary=vary, values=values, **rows)
            except InfeasibleError as error:
                error.goal = goal
                raise

    def explore(
        self,
        table: Any,
        *,
        check: Any = CHECKED,
        goal: Any = None,
        other_goal: Any = None,
        by: Sequence[str] = (),
        baseline: str | None = None,
    ) -> Explorer:
        """The page on which bounds are moved by hand; `check` is a table, or a share of the rows.

        Examples
        --------
        >>> from setpoint.tables import TableModel, tumours
        >>> goal = "maximize recall subject to precision >= 0.9"
        >>> model = TableModel(goal, target="diagnosis", pos_label="malignant")
        >>> model.fit(tumours()[::2]).explore(tumours()[1::2]).summary()["rows"]
        199
        """
        share = isinstance(check, (int, float)) and not isinstance(check, bool)
        if share and not 0 <= check < 1:
            raise InputError(f"`check` is a table, or a share from 0 to below 1, got {check}")
        only_one_stdin([table] if share else [table, check])
        whole = read(table, self.columns)
        by = columns_named("by", by, list(whole.frame.columns), whole.name)
        beside = dict.fromkeys(by, "`by`")
        if other_goal is not None:
            other_goal = as_goal(other_goal)
            check_one_table(other_goal)
            beside |= dict.fromkeys(other_goal.needs.columns.get(None, {}), "`other_goal`")
        goal = self.goal_by(goal)

        def rows(source: Any) -> dict[str, Any]:
            found = self.rows(source, goal, baseline=baseline, datasets=None, looked_at=beside)
            del found["datasets"]
            return found

        own, apart = rows(whole), check if share else rows(check)
        with warnings_as_notes(), step("counting what every cut-off does"):
            # A copy has none of the rows of its fit: bounds move on the rows of the table.
            found: Explorer = copy(self.classifier).explore(
                **own, check=apart, by=list(by) or None, goal=goal, other_goal=other_goal
            )
        return found

    def moved(
        self,
        table: Any,
        *,
        bounds: str | Sequence[str] = (),
        line: float | None = None,
        rule: Rule | str | None = None,
        baseline: str | None = None,
        datasets: Mapping[str, Any] | None = None,
    ) -> Self:
        """The model with another rule, not fitted again: to other bounds, a score, or a rule."""
        from setpoint.plugin import with_goal, with_rule
        from setpoint.search import InfeasibleError

        bounds = [bounds] if isinstance(bounds, str) else bounds
        chosen, own = rule_given(bounds, line, rule), self.rule_goal
        if own.is_blackbox:
            raise InputError(
                f"the goal is a metric without a formula, {own.objective}, whose rule cannot be "
                "moved by a goal; fit for another one"
            )
        goal = moved_goal(own, bounds)
        looked_at = dict.fromkeys(self._looks_of(chosen), "`rule`")
        table = read(table, self.columns)
        rows = self.rows(table, goal, looked_at=looked_at, baseline=baseline, datasets=datasets)
        with warnings_as_notes(), step("moving the rule"):
            try:
                if chosen is None:
                    clf = with_goal(self.classifier, goal, **rows)
                else:
                    clf = with_rule(self.classifier, chosen, goal, **rows)
            except InfeasibleError as error:
                error.goal = goal
                raise
        if self.guarantee is not None:
            note(
                "what was certified in the fit was certified of the old rule; nothing is certified "
                "of the new one"
            )
        if chosen is None and self.judge_by is not None:
            note(f"the model was judged by '{self.judge_by}'; the new one is by '{goal}'")
        done = f"moved to '{goal}'"
        if chosen is not None:
            done = "replaced by one that was given, and measured"
        if line is not None:
            done = f"moved to the score {line:g} and measured"
        return self.but(
            classifier=clf,
            report=clf.goal_report_,
            goal=str(goal),
            dataset_names=goal.needs.datasets,
            notes=(
                *self.notes,
                f"The rule of {self.source or 'a model'}, which was found for '{own}', was {done} "
                f"on {len(table.frame):,} rows of {table.name}",
            ),
            judge_by=None if chosen is None else self.judge_by,
            held_out=None,
            source="",
        )

    def _looks_of(self, rule: Rule | None) -> list[str]:
        """The columns that a rule looks at beside the score."""
        if rule is None or not rule.needs_segments:
            return []
        looks = [name for name, _ in rule.segment_keys[0]]
        known = list(self.classifier.sensitive_features or ())
        missing = [name for name in looks if name not in known]
        if missing:
            those = f"only at {listed(known)}" if known else "at none"
            raise InputError(
                f"`rule` looks at the column {missing[0]!r} beside the score, and rules of this "
                f"model can look {those}; a fit with such a goal, or with `decide_on`, lets them"
            )
        return looks

    # ------------------------------------------------------------------ beside other models
    def _compared(
        self,
        goal: Any,
        models: Mapping[str, FittedModel],
        table: Any,
        datasets: Mapping[str, Any] | None,
        frontier: Any,
        units: str | None,
    ) -> ModelComparison:
        """Compare models of tables, this one first: see :func:`setpoint.compare`."""
        from setpoint.judging import check_matching, check_same, comparison_of, judged_classifier

        named = {model.source or repr(name): model for name, model in models.items()}
        if len(named) < len(models):  # the same file twice
            named = {repr(name): model for name, model in models.items()}
        check_same(
            "target", {name: model.target for name, model in named.items()},
            "; `target` names the column of this table, if both mean the same",
        )  # fmt: skip
        check_matching({name: model.classifier for name, model in named.items()})
        given, goal = goal, as_goal(self.judge_by or self.rule_goal if goal is None else goal)
        if given is None and goal.is_blackbox:
            raise InputError(
                f"{self._name}: its goal is a metric without a formula, {goal.objective}, by which "
                "no two models are compared; give another with `goal`"
            )
        goal.require_formula("models are compared by goals that are counted")
        columns = columns_of_all(list(models.values()))
        table = read(table, columns)
        files = {name: read(one, columns) for name, one in (datasets or {}).items()}
        by = unit_in(table, units, self.units) or ""
        rows = {
            name: model.rows(table, goal, datasets=files, deployed=False, units=by)
            for name, model in models.items()
        }
        with step("comparing the models"), warnings_as_notes():
            clf, first = self.classifier, next(iter(rows.values()))
            X: dict[str | None, Any] = {None: first["X"]}
            sets = (first["datasets"] or {}).items()
            X |= {name: one.X for name, one in sets if name in goal.needs.baseline}
            raw = {name: clf._scores(one) for name, one in X.items()}
            decided = {name: clf._decided(one, raw[name]) for name, one in X.items()}
            judged: list[Any] = []
            for name, model in models.items():
                own = rows[name] | {"baseline": decided[None]}
                if len(decided) > 1:
                    own["datasets"] = {
                        n: replace(d, baseline=decided.get(n)) for n, d in own["datasets"].items()
                    }
                known = {} if judged else raw
                judged.append(judged_classifier(name, model.classifier, goal, own, known))
            return comparison_of(goal, judged, vary=frontier, named=len(models) > 2)
