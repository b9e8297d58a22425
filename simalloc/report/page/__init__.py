"""A report on traces as one HTML page that needs nothing else, no network least of all."""

from simalloc.report.page.device import DeviceFindings, look_at_device
from simalloc.report.page.findings import Findings, find_out, policies_of
from simalloc.report.page.page import MAX_BYTES, page

__all__ = [
    "MAX_BYTES",
    "DeviceFindings",
    "Findings",
    "find_out",
    "look_at_device",
    "page",
    "policies_of",
]
