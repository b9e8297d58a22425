"""Call sites as a table, and as records for other programs."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from simalloc.measure.sites import frames_of, guilty_frame
from simalloc.report.table import Table
from simalloc.report.units import spell_bytes
from simalloc.trace.sites import site_name

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from simalloc.measure.sites import Held, Proposal, Usage
    from simalloc.report.table import Value


def site_records(
    provenance: Mapping[str, Any],
    usage: Usage,
    held: Held | None,
    *,
    wrappers: Sequence[str] = (),
) -> list[dict[str, Any]]:
    """Return a record a site that has allocated anything, those that pin most first.

    Without a policy, `held` is None and those with most live bytes at the peak come first.
    """
    found = []
    for site in range(len(usage.allocations)):
        if not usage.allocations[site]:
            continue
        frames = frames_of(site_name(provenance, site))
        frame = guilty_frame(frames, wrappers)
        lifetime = float(usage.lifetime[site])
        record: dict[str, Any] = {
            "site": site,
            "function": frame.function,
            "file": frame.file or None,
            "line": frame.line or None,
            "stack": [_spelled(each.function, each.file, each.line) for each in frames],
            "live_bytes": int(usage.live_bytes[site]),
            "final_bytes": int(usage.final_bytes[site]),
            "allocated_bytes": int(usage.allocated_bytes[site]),
            "allocations": int(usage.allocations[site]),
            "never_freed": int(usage.never_freed[site]),
            "temporary": int(usage.temporary[site]),
            "lifetime_events": None if math.isnan(lifetime) else lifetime,
        }
        if held is not None:
            record |= {
                "pinned_bytes": float(held.pinned_bytes[site]),
                "shared_bytes": float(held.shared_bytes[site]),
                "rounding_bytes": float(held.rounding_bytes[site]),
            }
        found.append(record)
    keys = ("live_bytes", "final_bytes") if held is None else ("pinned_bytes", "shared_bytes")
    found.sort(key=lambda record: [record[key] for key in keys], reverse=True)
    return found


def by_function(records: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the records summed up by function, file and line, in the same order."""
    found: dict[tuple[Any, ...], dict[str, Any]] = {}
    for record in records:
        key = record["function"], record["file"], record["line"]
        if key not in found:
            found[key] = dict(record)
            continue
        known = found[key]
        for name, value in record.items():
            if name.endswith(("_bytes", "allocations", "freed", "temporary")):
                known[name] += value
        known["lifetime_events"] = None  # the mean of means would not be one
    order = "pinned_bytes" if records and "pinned_bytes" in records[0] else "live_bytes"
    return sorted(found.values(), key=lambda record: -record[order])


def sites_table(trace: str, records: Sequence[Mapping[str, Any]], most: int) -> Table:
    """Return the first records as a table for people."""
    names = {
        "pinned_bytes": "pinned",
        "shared_bytes": "shared",
        "live_bytes": "live at peak",
        "final_bytes": "at the end",
        "allocations": "allocations",
        "never_freed": "never freed",
        "rounding_bytes": "rounding",
    }
    shown = [name for name in names if records and name in records[0]]
    rows: list[tuple[Value, ...]] = [
        (
            _spelled(record["function"], record["file"], record["line"]),
            *(int(record[name]) for name in shown),
        )
        for record in records[:most]
    ]
    left = len(records) - len(rows)
    notes = (f"{left:,} more; --most shows them.",) if left else ()
    return Table(trace, ["function", *(names[name] for name in shown)], rows, notes)


def sites_records_table(records: Sequence[Mapping[str, Any]]) -> Table:
    """Return all records as a table, for CSV."""
    columns = list(records[0]) if records else ["function"]
    rows = [
        [" < ".join(record[name]) if name == "stack" else record[name] for name in columns]
        for record in records
    ]
    return Table("Sites", columns, rows)


def proposal_text(proposal: Proposal) -> str:
    """Return a proposal in words, without a full stop."""
    frame, found = proposal.frame, proposal.apart
    when = "at the end" if found.counts_at_end else "at the peak"
    shorter = proposal.events < proposal.of_events
    part = f" of the first {proposal.events:,} events" if shorter else ""
    return (
        f"Put what {_spelled(frame.function, frame.file, frame.line)} allocates into an arena of "
        f"its own: {spell_bytes(found.together_bytes)} to {spell_bytes(found.apart_bytes)} "
        f"resident {when}{part}"
    )


def _spelled(function: str, file: str | None, line: int | None) -> str:
    return f"{function} ({file}:{line})" if file else function
