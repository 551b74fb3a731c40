"""``setpoint fit --engine dask``: the model on a sample, the rule on all other rows, counted."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from setpoint.cli.asked import say_positive
from setpoint.cli.elsewhere import Elsewhere
from setpoint.cli.errors import CommandError, in_shell_words
from setpoint.cli.labels import check_positive, label_of
from setpoint.cli.output import step
from setpoint.cli.roles import Choices, ColumnRoles, find_roles
from setpoint.cli.session import current, warnings_as_notes
from setpoint.cli.tables import kind_by_goal, tell
from setpoint.cli.telling import about_model, noted_suspects
from setpoint.cli.trained import Trained
from setpoint.goals.goal import Goal

if TYPE_CHECKING:
    from setpoint.counting.partitions import Partitions
    from setpoint.tables import Table

__all__ = ["FilesToFit", "open_files"]

_OPTIONS = {"rows_for_fit: ": "--rows-for-fit: ", "y: ": "--target: ", "X: ": ""}
_IN_PYTHON = re.compile(
    r", as in cv=HoldOut\([^)]*\)|, or read the table into memory"
    r"|, or fit the model yourself .*$|\. Add a column that tells rows apart, or fit .*$"
)


@contextmanager
def open_files(data: str, elsewhere: Elsewhere) -> Iterator[FilesToFit]:
    """The files, and for as long as they are counted the cluster.

    Raises
    ------
    CommandError
        If there are no such files, or no scheduler answers.
    """
    from setpoint.counting import cluster
    from setpoint.counting.parquet import files_of
    from setpoint.counting.partitions import Partitions
    from setpoint.counting.reading import package
    from setpoint.tables import parquet_sample

    address, client = elsewhere.scheduler, None
    # Workers may run in other folders.
    where = data if address is None else os.path.abspath(data)
    try:
        with step(f"opening {data}"):
            paths = list(dict.fromkeys(piece.path for piece in files_of(where).pieces))
            sample, n_first = parquet_sample(paths, data)
            if address is not None:
                client = cluster.connect(address)
            source = Partitions.of_parquet(paths, scheduler=client)
    except ConnectionError as error:
        raise CommandError(f"--scheduler: {error}") from error
    except FileNotFoundError as error:
        raise CommandError(f"DATA: {error}") from error
    except (package("pyarrow").ArrowException, ValueError) as error:
        reason = str(error).splitlines()[0]
        raise CommandError(f"{data}: --engine dask counts Parquet files: {reason}") from error
    try:
        yield FilesToFit(data, source, sample, n_first, len(paths), elsewhere)
    finally:
        if client is not None:
            client.close()


@dataclass(frozen=True, eq=False)
class FilesToFit:
    """Parquet files that a model is fitted on and a rule is counted on.

    Parameters
    ----------
    name : str
    source : Partitions
    sample : Table
        Some rows, which say what the columns hold.
    n_first : int
        So many rows of the sample follow each other in a file.
    n_files : int
    elsewhere : Elsewhere
    """

    name: str
    source: Partitions
    sample: Table
    n_first: int
    n_files: int
    elsewhere: Elsewhere

    def roles(self, goal: Goal, choices: Choices) -> tuple[ColumnRoles, list[str]]:
        """What each column is used for, and sentences on columns that know the target.

        Raises
        ------
        CommandError
            If a column is missing, or groups are not stored as the rule will see them.
        """
        from setpoint.tables import kinds_of, unusable

        sample = self.sample
        roles = find_roles(sample, goal, choices)
        # The sample is from several files: what counts the rows is seen in one of them.
        found = unusable(sample.frame.iloc[: self.n_first], roles.features)
        counts = {name: why for name, why in found.items() if why == "it counts the rows"}
        if counts:
            features = tuple(c for c in roles.features if c.name not in counts)
            roles = replace(roles, features=features, left_out={**roles.left_out, **counts})
        if not roles.features:
            raise CommandError(f"{self.name} has no column for the model to look at: {found}")
        groups = {name: kind_by_goal(name, goal, sample) for name in goal.needs.names}
        for column in (*groups.values(), *roles.decides_on):
            (stored,) = kinds_of(sample.frame[[column.name]])
            if stored.kind != column.kind or stored.kind == "date":
                raise CommandError(
                    f"{self.name}: the goal or the rule looks at column {column.name!r} as a "
                    f"{column.kind}, and the files hold a {stored.kind}; groups are counted as "
                    "they are stored, as text, numbers or booleans: write them so in both"
                )
        if choices.baseline is not None and not goal.needs.baseline:
            current().note(
                f"--baseline {choices.baseline}: the goal does not refer to the deployed model, so "
                "the column is not looked at"
            )
        if choices.baseline is None and goal.needs.baseline:
            raise CommandError(
                "the goal refers to the deployed model: name the column with its predictions with "
                "--baseline"
            )
        tell(sample, roles.used)
        for name, why in roles.left_out.items():
            current().note(f"the model does not look at column {name!r}: {why}")
        return roles, noted_suspects(sample, choices.target, roles)

    def train(self, goal: Goal, choices: Choices, roles: ColumnRoles) -> Trained:
        """Fit the model on some rows, and find the rule on all others.

        Raises
        ------
        InfeasibleError
            If no rule meets the constraints.
        CommandError, TableError, GoalError
            If something does not fit.
        """
        from sklearn.pipeline import Pipeline

        from setpoint.plugin import PlugInClassifier
        from setpoint.plugin.tables_to_fit import FitTable
        from setpoint.solvers import HoldOut
        from setpoint.tables import AsInTable, model_for

        positive, classes = self._classes(goal, choices)
        n_rows = sum(classes.values())
        self._check_rows_for_fit(n_rows)
        columns, rows_for_fit = roles.columns, self.elsewhere.rows_for_fit
        baseline = choices.baseline if goal.needs.baseline else None
        inner = model_for(self.sample.frame, roles.features, choices.way.model, seed=choices.seed)
        decide = [c.name for c in roles.decides_on]
        classifier: Any = PlugInClassifier(
            Pipeline([("table", AsInTable(list(columns))), *inner.steps]),
            goal,
            pos_label=positive,
            sensitive_features=decide or None,
            decide_on=decide or None,
            randomized="auto" if choices.draws else False,
            cv=None if rows_for_fit is None else HoldOut(rows_for_fit=rows_for_fit),
            random_state=choices.seed,
        )
        table = FitTable(
            self.source,
            choices.target,
            tuple(c.name for c in columns),
            baseline=baseline,
            side=tuple(decide),
        )
        doing = step("fitting the model and counting the rows")
        with warnings_as_notes(), doing, _in_option_words(), redirect_stdout(sys.stderr):
            classifier.fit(table, choices.target, baseline=baseline)
            current().keep()  # after Ctrl-C the rule is that of the passes before
        # Tables are brought to the model's columns before it is called; no piece comes any more.
        classifier.estimator_ = Pipeline(classifier.estimator_.steps[1:])
        classifier.set_params(estimator=inner, baseline=choices.baseline, cv=None)
        report = classifier.goal_report_
        report = replace(report, warnings=tuple(map(in_shell_words, report.warnings)))
        n_fitted = n_rows - report.counts.n_rows
        trained = Trained(classifier, report, None, classes, n_fitted, 0, counted=True)
        say_positive(trained, goal, choices.positive)
        return trained

    def about(
        self, choices: Choices, roles: ColumnRoles, trained: Trained
    ) -> list[tuple[str, list[str]]]:
        """Sections of the page: a title and sentences."""
        classes = ", ".join(f"{label} ({n:,} rows)" for label, n in trained.classes.items())
        n_rows, (n_sample, n_columns) = sum(trained.classes.values()), self.sample.frame.shape
        files = "1 file" if self.n_files == 1 else f"{self.n_files:,} files"
        data = [
            f"{n_rows:,} rows and {n_columns:,} columns in {files}, {self.name}",
            f"The target is {choices.target}: {classes}",
            f"What each column holds was seen in {n_sample:,} rows",
            *(f"{self.name}: {note}" for note in self.sample.notes),
        ]
        return [("The data", data), ("The model", about_model(choices, roles, trained))]

    def _classes(self, goal: Goal, choices: Choices) -> tuple[Any, dict[str, int]]:
        """The positive class if one was named, and how many rows each class has."""
        from setpoint.counting.source import GroupBy, Key

        target = choices.target
        with step(f"the classes in {target}"):
            counts = self.source.count(GroupBy((Key(target),)))
        rows: dict[Any, int] = {}
        for code, n in zip(counts.codes[0], counts.rows, strict=True):
            label = counts.levels[0][code]
            rows[label] = rows.get(label, 0) + int(n)
        if rows.get(None):
            raise CommandError(
                f"--target: {rows[None]:,} of {sum(rows.values()):,} rows of {self.name} have no "
                f"label in column {target!r}; leave such rows out, or label them"
            )
        labels = sorted(rows)
        if len(labels) != 2:
            raise CommandError(
                f"--target: column {target!r} of {self.name} holds {len(labels):,} different "
                f"values, and --engine dask finds rules for two classes; leave --engine out, or "
                "name another column"
            )
        positive = label_of(choices.positive, labels, target)
        if positive is None:
            check_positive(labels, goal, target, self.name)
        return positive, {str(label): rows[label] for label in labels}

    def _check_rows_for_fit(self, n_rows: int) -> None:
        """Refuse as many rows for the model as there are."""
        from setpoint.plugin.fitting_elsewhere import ROWS_FOR_FIT

        given = self.elsewhere.rows_for_fit
        n = ROWS_FOR_FIT if given is None else given
        if n >= n_rows:
            default = " (the default)" if given is None else ""
            raise CommandError(
                f"--rows-for-fit: the model is fitted on {n:,} rows{default} and the rule found on "
                f"all others, and {self.name} has {n_rows:,}: give fewer, such as --rows-for-fit "
                f"{max(n_rows // 2, 1)}, or leave --engine out, and the table is read into memory"
            )


@contextmanager
def _in_option_words() -> Iterator[None]:
    """Messages on arguments as messages on options."""
    from setpoint.search import InfeasibleError

    try:
        yield
    except InfeasibleError:
        raise
    except (ValueError, TypeError) as error:
        text = str(error)
        for argument, option in _OPTIONS.items():
            if text.startswith(argument):
                text = option + _IN_PYTHON.sub("", text.removeprefix(argument))
                raise CommandError(in_shell_words(text)) from error
        raise
