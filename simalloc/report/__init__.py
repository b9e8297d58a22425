"""Results for people: tables, figures, pages."""

from simalloc.report.table import FORMATS, Format, Table, write_table

__all__ = ["FORMATS", "Format", "Table", "write_table"]
