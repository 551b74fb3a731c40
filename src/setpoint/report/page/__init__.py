"""A report as one self-contained HTML page."""

from setpoint.report.page.page import infeasible_page, page_text, write_infeasible, write_page
from setpoint.report.page.parts import Header

__all__ = ["Header", "infeasible_page", "page_text", "write_infeasible", "write_page"]
