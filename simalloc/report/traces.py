"""Table of the catalogue of traces."""

from __future__ import annotations

from simalloc.report.table import Table
from simalloc.trace.catalogue import catalogue


def traces_table() -> Table:
    """Return a table with a row per trace of the catalogue: its program and its size."""
    return Table(
        "Traces",
        (
            "name",
            "kind",
            "group",
            "program",
            "version",
            "input",
            "events",
            "objects",
            "max_live_bytes",
        ),
        [
            (
                entry.name,
                entry.kind,
                entry.group,
                entry.program,
                entry.version,
                entry.input,
                entry.totals.events,
                entry.totals.objects,
                entry.totals.max_live_bytes,
            )
            for entry in catalogue().values()
        ],
        (
            (
                "The file catalogue.toml beside the traces describes how each trace was "
                "recorded and which parts are genuine."
            ),
        ),
    )
