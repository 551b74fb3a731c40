"""``model_card``: what a fitted classifier is and does, as a page of Markdown."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from sklearn.utils.validation import check_is_fitted

from setpoint.inputs.files import atomic_write
from setpoint.report.card import card_text

if TYPE_CHECKING:
    from setpoint.report import GoalReport

__all__ = ["WritesCard"]


class WritesCard:
    """``model_card`` for whatever has a report of its fit."""

    if TYPE_CHECKING:
        goal_report_: GoalReport

    def model_card(
        self,
        path: str | os.PathLike[str],
        *,
        name: str = "",
        held_out: GoalReport | None = None,
        about: Mapping[str, str] | None = None,
    ) -> None:
        """Write a model card: Markdown with the headings that such cards have.

        Intended use from the goal, the rule in words, what was measured and on which rows, the
        groups, what is promised, limits, parameters, versions and digests. It begins with the
        YAML head that cards at Hugging Face have.

        Parameters
        ----------
        path : path
            A file to write, such as ``README.md``; the old one stays until the new one is whole.
        name : str
            Of the model; "": the name of its class.
        held_out : GoalReport, optional
            What :meth:`evaluate` found on rows that took no part; where nothing is certified,
            the card judges by these.
        about : dict of str to str, optional
            What only the owner knows, as Markdown, by the heading that it stands under:
            "Model details", "Intended use", "Factors", "Metrics", "Evaluation data",
            "Training data", "Quantitative analyses", "Ethical considerations" or
            "Caveats and recommendations".

        Raises
        ------
        ValueError
            If `held_out` refers to another goal, or `about` names another heading.
        OSError
            If the file cannot be written.

        Examples
        --------
        >>> import tempfile
        >>> from pathlib import Path
        >>> from sklearn.datasets import make_classification
        >>> from sklearn.linear_model import LogisticRegression
        >>> from setpoint import PlugInClassifier
        >>> X, y = make_classification(1_000, random_state=0)
        >>> clf = PlugInClassifier(LogisticRegression(), "f1").fit(X, y)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     clf.model_card(f"{folder}/README.md", name="Returns")
        ...     text = Path(folder, "README.md").read_text()
        >>> [line for line in text.splitlines() if line.startswith("#")][:3]
        ['# Returns', '## Model details', '## Intended use']
        """
        check_is_fitted(self)
        text = card_text(self.goal_report_, name=name, held_out=held_out, about=about)
        atomic_write(path, text.encode("utf-8"))
