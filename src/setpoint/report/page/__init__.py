"""A report as one self-contained HTML page."""

from setpoint.report.page.header import Header
from setpoint.report.page.infeasible import infeasible_page, write_infeasible
from setpoint.report.page.page import page_text, write_page

__all__ = ["Header", "infeasible_page", "page_text", "write_infeasible", "write_page"]
