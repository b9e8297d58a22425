"""Presentation of results as tables, figures and pages."""

from simalloc.report.table import FORMATS, Format, Markdown, Rounded, Table, write_table

__all__ = ["FORMATS", "Format", "Markdown", "Rounded", "Table", "write_table"]
