"""Choosing among models by a goal: candidates of any family on the same rows, one verdict each."""

from typing import TYPE_CHECKING

from setpoint.packages import lazily

if TYPE_CHECKING:
    from setpoint.choosing.goal_search import GoalSearchCV
    from setpoint.choosing.search_result import JudgedCandidate, SearchResult

__all__ = ["GoalSearchCV", "JudgedCandidate", "SearchResult"]

_HOME = {
    "GoalSearchCV": "goal_search",
    "JudgedCandidate": "search_result",
    "SearchResult": "search_result",
}

if not TYPE_CHECKING:  # to a type checker a misspelt name stays an error
    __getattr__ = lazily(__name__, _HOME)
