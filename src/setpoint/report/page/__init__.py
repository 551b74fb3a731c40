"""A report as one self-contained HTML page."""

from setpoint.report.blocks import Header
from setpoint.report.page.page import infeasible_page, page_text, write_infeasible

__all__ = ["Header", "infeasible_page", "page_text", "write_infeasible"]
