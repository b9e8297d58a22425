"""Report on traces as one self-contained HTML page, which needs no network."""

from simalloc.report.page.device_findings import DeviceFindings, look_at_device
from simalloc.report.page.findings import SHORT_EVENTS, Findings, find_out
from simalloc.report.page.page import MAX_BYTES, page

__all__ = [
    "MAX_BYTES",
    "SHORT_EVENTS",
    "DeviceFindings",
    "Findings",
    "find_out",
    "look_at_device",
    "page",
]
