"""A report as one self-contained HTML page."""

from setpoint.report.page.page import Section, page_text, write_page

__all__ = ["Section", "page_text", "write_page"]
