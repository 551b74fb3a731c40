"""Classifiers in a notebook: scikit-learn's diagram, and below it what the fit reached."""

from __future__ import annotations

from typing import Any

from sklearn.base import BaseEstimator

__all__ = ["ShowsReport"]


class ShowsReport(BaseEstimator):
    """Shows the report of its last fit below its diagram."""

    def _repr_html_inner(self) -> str:
        return str(super()._repr_html_inner()) + self._shown_report()

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        out: dict[str, str] = super()._repr_mimebundle_(**kwargs)
        if "text/html" in out:
            out["text/html"] += self._shown_report()
        return out

    def _shown_report(self) -> str:
        """Of a classifier that is not fitted there is none."""
        report = getattr(self, "goal_report_", None)
        return "" if report is None else str(report._repr_html_())
