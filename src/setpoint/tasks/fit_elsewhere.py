"""A fit on Parquet files: the model on some rows, the rule on all others, counted there."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from setpoint.errors import InputError
from setpoint.goals.goal import Goal
from setpoint.goals.requirements import require_plain
from setpoint.tasks.about import about_model, noted_suspects
from setpoint.tasks.fitted import FittedTable
from setpoint.tasks.journal import Journal
from setpoint.tasks.labels import check_positive, label_of
from setpoint.tasks.reading import note_reading
from setpoint.tasks.roles import ColumnRoles, find_roles
from setpoint.tasks.rows import kind_by_goal
from setpoint.tasks.settings import FitSettings
from setpoint.tasks.solver_choice import AUTO
from setpoint.tasks.table_fit import note_positive

if TYPE_CHECKING:
    from setpoint.counting.partitions import Partitions
    from setpoint.tables import Table

__all__ = ["FilesFit", "prepare_files"]


@contextmanager
def prepare_files(
    data: str,
    goal: Goal,
    settings: FitSettings,
    *,
    scheduler: str | None = None,
    rows_for_fit: int | None = None,
    journal: Journal | None = None,
) -> Iterator[FilesFit]:
    """Open and check Parquet files; for as long as they are counted, the cluster is there.

    Parameters
    ----------
    data : str
        A file, a folder or a pattern.
    goal : Goal
    settings : FitSettings
    scheduler : str, optional
        The address of a dask cluster; None: threads of this process count.
    rows_for_fit : int, optional
        About so many rows for the model.
    journal : Journal, optional

    Raises
    ------
    InputError
        If there are no such files, no scheduler answers, a column is missing, or groups are not
        stored as the rule will see them.
    """
    from setpoint.counting import cluster
    from setpoint.counting.parquet import files_of
    from setpoint.counting.partitions import Partitions
    from setpoint.counting.reading import package
    from setpoint.tables import parquet_sample

    journal = Journal() if journal is None else journal
    if settings.choice.model == AUTO:
        raise InputError(
            "`estimator=auto` tries models on rows in memory, and these files are only counted: "
            "name a model, such as logistic"
        )
    require_plain(goal, "these files are only counted; leave `engine` out to read them into memory")
    address, client = scheduler, None
    # Workers may run in other folders.
    where = data if address is None else os.path.abspath(data)
    try:
        with journal.step(f"opening {data}"):
            paths = list(dict.fromkeys(piece.path for piece in files_of(where).pieces))
            sample, n_first = parquet_sample(paths, data)
            if address is not None:
                client = cluster.connect(address)
            source = Partitions.of_parquet(paths, scheduler=client)
    except ConnectionError as error:
        raise InputError(f"`scheduler`: {error}") from error
    except FileNotFoundError as error:
        raise InputError(f"`data`: {error}") from error
    except (package("pyarrow").ArrowException, ValueError) as error:
        reason = str(error).splitlines()[0]
        raise InputError(f"{data}: what is counted is Parquet files: {reason}") from error
    try:
        yield FilesFit.of(
            data, goal, settings, source, sample, n_first, len(paths), rows_for_fit, journal
        )
    finally:
        if client is not None:
            client.close()


@dataclass(frozen=True, eq=False)
class FilesFit:
    """A fit on files that were opened and checked: all but the work.

    Parameters
    ----------
    name : str
    goal : Goal
    settings : FitSettings
    roles : ColumnRoles
    cautions : list of str
        Sentences on columns that are too good to be true.
    source : Partitions
    sample : Table
        Some rows, which say what the columns hold.
    n_files : int
    rows_for_fit : int or None
    journal : Journal
    """

    name: str
    goal: Goal
    settings: FitSettings
    roles: ColumnRoles
    cautions: list[str]
    source: Partitions
    sample: Table
    n_files: int
    rows_for_fit: int | None
    journal: Journal

    @classmethod
    def of(
        cls,
        name: str,
        goal: Goal,
        settings: FitSettings,
        source: Partitions,
        sample: Table,
        n_first: int,
        n_files: int,
        rows_for_fit: int | None,
        journal: Journal,
    ) -> FilesFit:
        """What each column of the files is used for, where that fits together."""
        from setpoint.tables import kinds_of, unusable

        roles = find_roles(sample, goal, settings, journal)
        # The sample is from several files: what counts the rows is seen in one of them.
        found = unusable(sample.frame.iloc[:n_first], roles.features)
        counts = {one: why for one, why in found.items() if why == "it counts the rows"}
        if counts:
            features = tuple(c for c in roles.features if c.name not in counts)
            roles = replace(roles, features=features, left_out={**roles.left_out, **counts})
        if not roles.features:
            raise InputError(f"{name} has no column for the model to look at: {found}")
        groups = {one: kind_by_goal(one, goal, sample) for one in goal.needs.names}
        for column in (*groups.values(), *roles.decides_on):
            (stored,) = kinds_of(sample.frame[[column.name]])
            if stored.kind != column.kind or stored.kind == "date":
                raise InputError(
                    f"{name}: the goal or the rule looks at column {column.name!r} as a "
                    f"{column.kind}, and the files hold a {stored.kind}; groups are counted as "
                    "they are stored, as text, numbers or booleans: write them so in both"
                )
        if settings.baseline is not None and not goal.needs.baseline:
            journal.note(
                f"`baseline={settings.baseline}`: the goal does not refer to the deployed "
                "model, so "
                "the column is not looked at"
            )
        if settings.baseline is None and goal.needs.baseline:
            raise InputError(
                "the goal refers to the deployed model: name the column with its predictions with "
                "`baseline`"
            )
        note_reading(sample, roles.used, journal)
        for column_name, why in roles.left_out.items():
            journal.note(f"the model does not look at column {column_name!r}: {why}")
        cautions = noted_suspects(sample, settings.target, roles, journal)
        return cls(
            name, goal, settings, roles, cautions, source, sample, n_files, rows_for_fit, journal
        )

    def run(self) -> FittedTable:
        """Fit the model on some rows, and find the rule on all others.

        Raises
        ------
        InfeasibleError
            If no rule meets the constraints.
        InputError, TableError, GoalError
            If something does not fit.
        """
        from sklearn.pipeline import Pipeline

        from setpoint.plugin import PlugInClassifier
        from setpoint.plugin.tables_to_fit import FitTable
        from setpoint.solvers import HoldOut
        from setpoint.tables import AsInTable, model_for, profile_of

        goal, settings, roles, journal = self.goal, self.settings, self.roles, self.journal
        positive, classes = self._classes()
        n_rows = sum(classes.values())
        self._check_rows_for_fit(n_rows)
        columns, rows_for_fit = roles.columns, self.rows_for_fit
        baseline = settings.baseline if goal.needs.baseline else None
        inner = model_for(
            self.sample.frame, roles.features, settings.choice.model, seed=settings.random_state
        )
        decide = [c.name for c in roles.decides_on]
        classifier: Any = PlugInClassifier(
            Pipeline([("table", AsInTable(list(columns))), *inner.steps]),
            goal,
            pos_label=positive,
            sensitive_features=decide or None,
            decide_on=decide or None,
            randomized="auto" if settings.randomized else False,
            cv=None if rows_for_fit is None else HoldOut(rows_for_fit=rows_for_fit),
            random_state=settings.random_state,
        )
        table = FitTable(
            self.source,
            settings.target,
            tuple(c.name for c in columns),
            baseline=baseline,
            side=tuple(decide),
        )
        doing = journal.step("fitting the model and counting the rows")
        with journal.warnings_as_notes(), doing, redirect_stdout(sys.stderr):
            classifier.fit(table, settings.target, baseline=baseline)
            journal.keep_best()  # after Ctrl-C the rule is that of the passes before
        # Tables are brought to the model's columns before it is called; no piece comes any more.
        classifier.estimator_ = Pipeline(classifier.estimator_.steps[1:])
        classifier.set_params(estimator=inner, baseline=settings.baseline, cv=None)
        report = classifier.goal_report_
        report = replace(report, warnings=tuple(map(journal.worded, report.warnings)))
        n_fitted = n_rows - report.counts.n_rows
        fitted = FittedTable(
            classifier, report, None, classes, n_fitted, 0, settings, roles,
            cautions=self.cautions, counted=True,
            profile=profile_of(self.sample.frame, roles.columns),
        )  # fmt: skip
        note_positive(fitted, goal, journal)
        return replace(fitted, about=self._about(fitted), notes=tuple(journal.notes))

    def _about(self, fitted: FittedTable) -> list[tuple[str, list[str]]]:
        """Sections of the page: a title and sentences."""
        classes = ", ".join(f"{label} ({n:,} rows)" for label, n in fitted.classes.items())
        n_rows, (n_sample, n_columns) = sum(fitted.classes.values()), self.sample.frame.shape
        files = "1 file" if self.n_files == 1 else f"{self.n_files:,} files"
        data = [
            f"{n_rows:,} rows and {n_columns:,} columns in {files}, {self.name}",
            f"The target is {self.settings.target}: {classes}",
            f"What each column holds was seen in {n_sample:,} rows",
            *(f"{self.name}: {note}" for note in self.sample.notes),
        ]
        return [("The data", data), ("The model", about_model(fitted))]

    def _classes(self) -> tuple[Any, dict[str, int]]:
        """The positive class if one was named, and how many rows each class has."""
        from setpoint.counting.source import GroupBy, Key

        goal, target = self.goal, self.settings.target
        with self.journal.step(f"the classes in {target}"):
            counts = self.source.count(GroupBy((Key(target),)))
        rows: dict[Any, int] = {}
        for code, n in zip(counts.codes[0], counts.rows, strict=True):
            label = counts.levels[0][code]
            rows[label] = rows.get(label, 0) + int(n)
        if rows.get(None):
            raise InputError(
                f"`target`: {rows[None]:,} of {sum(rows.values()):,} rows of {self.name} have no "
                f"label in column {target!r}; leave such rows out, or label them"
            )
        labels = sorted(rows)
        if len(labels) != 2:
            raise InputError(
                f"`target`: column {target!r} of {self.name} holds {len(labels):,} different "
                "values, and what is counted is rules for two classes; read the table into "
                "memory, or "
                "name another column"
            )
        positive = label_of(self.settings.pos_label, labels, target)
        if positive is None:
            check_positive(labels, goal, target, self.name)
        return positive, {str(label): rows[label] for label in labels}

    def _check_rows_for_fit(self, n_rows: int) -> None:
        """Refuse as many rows for the model as there are."""
        from setpoint.plugin.fitting_elsewhere import ROWS_FOR_FIT

        given = self.rows_for_fit
        n = ROWS_FOR_FIT if given is None else given
        if n >= n_rows:
            default = " (the default)" if given is None else ""
            raise InputError(
                f"`rows_for_fit`: the model is fitted on {n:,} rows{default} and the rule found on "
                f"all others, and {self.name} has {n_rows:,}: give fewer, such as "
                f"`rows_for_fit={max(n_rows // 2, 1)}`, or read the table into memory"
            )
