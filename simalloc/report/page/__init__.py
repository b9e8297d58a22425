"""A report on traces as one HTML page that needs nothing else, no network least of all."""

from simalloc.report.page.findings import Findings, find_out, policies_of
from simalloc.report.page.page import MAX_BYTES, page

__all__ = ["MAX_BYTES", "Findings", "find_out", "page", "policies_of"]
