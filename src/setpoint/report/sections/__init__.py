"""Sections that searches and thresholds add to a report."""

from setpoint.report.sections.deferral import DeferralSection
from setpoint.report.sections.frontiers import Frontiers
from setpoint.report.sections.operating import OperatingSection
from setpoint.report.sections.prices import Prices
from setpoint.report.sections.trace import SearchTrace

__all__ = ["DeferralSection", "Frontiers", "OperatingSection", "Prices", "SearchTrace"]
