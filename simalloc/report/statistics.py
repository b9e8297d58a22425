"""Statistics of traces as tables, and as records for other programs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any, Final

from simalloc.plural import counted
from simalloc.report.table import Table, Value
from simalloc.report.units import spell_share
from simalloc.trace.statistics import COVERAGE, SHARES, Statistics, threads_at_once

_BARS: Final = " ▁▂▃▄▅▆▇█"

_NOTES: Final = (
    "In averages, lifetimes and shares, a realloc ends an object and begins another.",
    "Lifetime: bytes allocated from an object's birth, including its own bytes, until its death.",
    "Neighbours: the objects allocated just before and after. Free after: bytes allocated from an",
    "object's death until both neighbours are dead.",
    "An object that is never freed dies at the end of the trace.",
)


def statistics_record(statistics: Statistics) -> dict[str, Any]:
    """Return all statistics of a trace as plain values, ready for JSON.

    Values for several shares become a mapping from percent, such as `"99.9"`.
    """
    record = {"trace": statistics.name, **asdict(statistics)}
    del record["name"]
    for clock in ("objects", "bytes"):
        record["neighbours"][clock] = _by_percent(SHARES, record["neighbours"][clock])
    record["sizes"]["covering"] = _by_percent(COVERAGE, record["sizes"]["covering"])
    return record


def statistics_values_table(all_statistics: Sequence[Statistics]) -> Table:
    """Return all statistics as a table for CSV, with a row per value.

    A value has a dotted name such as `counts.events` or `classes.0.upto`.
    """
    return Table(
        "Statistics",
        ("trace", "statistic", "value"),
        [
            (statistics.name, name, value)
            for statistics in all_statistics
            for name, value in _leaves("", statistics_record(statistics))
            if name != "trace"
        ],
    )


def statistics_summary(all_statistics: Sequence[Statistics]) -> list[Table]:
    """Return a table of the main figures of all traces, and of their live bytes over time."""
    columns = [dict(_summary(statistics)) for statistics in all_statistics]
    rows = [(name, *(column[name] for column in columns)) for name in columns[0]]
    titles = ("", *(statistics.name for statistics in all_statistics))
    words = [sentence for each in all_statistics for sentence in _conclusion(each)]
    return [Table("Statistics", titles, rows, words), _curve_table(all_statistics)]


def _summary(statistics: Statistics) -> Iterator[tuple[str, Value]]:
    yield "events", statistics.counts.events
    yield "most live bytes", statistics.peak_bytes.amount
    yield "average size", statistics.counts.average_size
    yield "never freed, bytes", statistics.never_freed.bytes
    yield "threads", len(statistics.threads) or 1


def _conclusion(statistics: Statistics) -> Iterator[str]:
    """Yield sentences that summarise the figures of a trace."""
    events, peak, left = statistics.counts.events, statistics.peak_bytes, statistics.never_freed
    if not events:
        return
    when = f"{100 * peak.event / events:.0f} % of the events"
    share = f"{100 * left.bytes / peak.amount:.0f} % of the peak is" if left.bytes else "nothing is"
    yield f"{statistics.name}: live bytes peak after {when}; {share} live at the end."
    few, every = statistics.sizes.covering[0], statistics.sizes.covering[-1]
    given = sum(each.bytes_freed_for_others for each in statistics.threads)
    passed = given / max(statistics.counts.bytes, 1)
    across = (
        f"; {100 * passed:.0f} % of the bytes are freed by a thread that did not allocate them"
        if given
        else ""
    )
    make = "makes" if few == 1 else "make"
    yield f"{few:,} of its {counted(every, 'size')} {make} up 90 % of the objects{across}."


def statistics_tables(all_statistics: Sequence[Statistics]) -> list[Table]:
    """Return a table that compares all traces, followed by the tables of each trace."""
    return [
        _overview_table(all_statistics),
        _curve_table(all_statistics),
        *(table for statistics in all_statistics for table in _own_tables(statistics)),
    ]


def _overview_table(all_statistics: Sequence[Statistics]) -> Table:
    columns = [dict(_overview(statistics)) for statistics in all_statistics]
    return Table(
        "Statistics",
        ("", *(statistics.name for statistics in all_statistics)),
        [(name, *(column[name] for column in columns)) for name in columns[0]],
        _NOTES,
    )


def _overview(statistics: Statistics) -> Iterator[tuple[str, Value]]:
    counts, sizes, reallocs = statistics.counts, statistics.sizes, statistics.reallocs
    yield "events", counts.events
    yield "mallocs", counts.mallocs
    yield "reallocs", counts.reallocs
    yield "frees", counts.frees
    yield "objects", counts.objects
    yield "objects, if each realloc makes a new one", counts.lives
    yield "bytes allocated", counts.bytes
    yield "average size", counts.average_size
    yield "largest size", sizes.largest
    yield "objects of 0 bytes", sizes.zero
    for share, number in zip(COVERAGE, sizes.covering, strict=True):
        yield f"sizes that make {spell_share(share)} of the objects", number
    yield "most live bytes", statistics.peak_bytes.amount
    yield "most live bytes, first after event", statistics.peak_bytes.event
    yield "most live objects", statistics.peak_objects.amount
    yield "most live objects, first after event", statistics.peak_objects.event
    yield "average lifetime", statistics.lifetimes.mean
    yield "average lifetime, weighted by size", statistics.lifetimes.weighted
    yield "average lifetime, in objects", statistics.lifetimes.mean_objects
    for share, wait in zip(SHARES, statistics.neighbours.objects, strict=True):
        yield f"neighbours of {spell_share(share)} of the objects free after", wait
    for share, wait in zip(SHARES, statistics.neighbours.bytes, strict=True):
        yield f"neighbours of {spell_share(share)} of the bytes free after", wait
    yield "reallocs that grow", reallocs.grew
    yield "reallocs that shrink", reallocs.shrank
    yield "objects that are reallocated", reallocs.objects
    yield "most reallocs of an object", reallocs.most
    yield "bytes copied if each realloc moves its object", reallocs.kept_bytes
    yield "never freed, objects", statistics.never_freed.objects
    yield "never freed, % of the objects", 100 * statistics.never_freed.share_of_objects
    yield "never freed, bytes", statistics.never_freed.bytes
    yield "never freed, % of the bytes", 100 * statistics.never_freed.share_of_bytes
    threads = statistics.threads
    yield "threads", len(threads)
    yield "most threads at once", threads_at_once(threads).amount
    yield "bytes freed by another thread", sum(each.bytes_freed_for_others for each in threads)


def _curve_table(all_statistics: Sequence[Statistics]) -> Table:
    return Table(
        "Live bytes over time",
        ("trace", "peak", "maximum in each span of events"),
        [
            (statistics.name, statistics.peak_bytes.amount, bars(statistics.live.most))
            for statistics in all_statistics
        ],
    )


def _own_tables(statistics: Statistics) -> Iterator[Table]:
    name = statistics.name
    added = f", sizes with {statistics.added} bytes added" if statistics.added else ""
    yield _rows_table(f"{name}: size classes{added}", statistics.classes)
    yield Table(
        f"{name}: most common sizes",
        ("size", "objects", "% of the objects"),
        [
            (size, objects, 100 * objects / statistics.counts.lives)
            for size, objects in statistics.sizes.commonest
        ],
    )
    if statistics.threads:
        yield _rows_table(f"{name}: threads", statistics.threads)


def _rows_table(title: str, rows: Sequence[Any]) -> Table:
    """Return a table of dataclass objects, with a column for each field."""
    records = [asdict(row) for row in rows]
    columns = [field.replace("_", " ") for field in records[0]] if records else []
    return Table(title, columns, [tuple(record.values()) for record in records])


def bars(values: Sequence[float], top: float | None = None) -> str:
    """Draw values as bars between 0 and `top`, by default the largest value."""
    full = top or max(values, default=0) or 1
    return "".join(_BARS[math.ceil(value * (len(_BARS) - 1) / full)] for value in values)


def _by_percent(shares: Sequence[float], values: Sequence[int]) -> dict[str, int]:
    return {f"{100 * share:.4g}": value for share, value in zip(shares, values, strict=True)}


def _leaves(name: str, value: Any) -> Iterator[tuple[str, Value]]:
    """Yield each plain value in nested records and lists, with its dotted name."""
    if isinstance(value, dict):
        inside = value.items()
    elif isinstance(value, list | tuple):
        inside = {str(place): item for place, item in enumerate(value)}.items()
    else:
        yield name, value
        return
    for key, item in inside:
        yield from _leaves(f"{name}.{key}" if name else key, item)
