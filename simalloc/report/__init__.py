"""Results for people: tables, figures, pages."""

from simalloc.report.table import FORMATS, Format, Rounded, Table, write_table

__all__ = ["FORMATS", "Format", "Rounded", "Table", "write_table"]
