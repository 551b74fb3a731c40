"""A report as one self-contained HTML page."""

from setpoint.report.page.page import page_text
from setpoint.report.text import Header

__all__ = ["Header", "page_text"]
