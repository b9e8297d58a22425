"""Results for people: tables, figures, pages."""

from simalloc.report.table import FORMATS, Format, Markdown, Rounded, Table, write_table

__all__ = ["FORMATS", "Format", "Markdown", "Rounded", "Table", "write_table"]
