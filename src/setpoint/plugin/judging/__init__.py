"""Models judged by the goal on rows that neither they nor their rules have seen."""

from setpoint.plugin.judging.judge import Judge, Judged
from setpoint.plugin.judging.judged_rows import JudgedRows
from setpoint.plugin.judging.standing import Standing

__all__ = ["Judge", "Judged", "JudgedRows", "Standing"]
