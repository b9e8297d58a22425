"""Representations in notebooks: the tables and the picture of each type of object.

`simalloc.shown` uses them for the objects of lower layers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from functools import singledispatch
from io import StringIO
from itertools import pairwise
from typing import Any, Final

from simalloc.bound import Placement
from simalloc.heap import Run
from simalloc.heap.fragmentation import MEASURES
from simalloc.measure import (
    DeviceMap,
    Fragmentation,
    HeapMap,
    Pin,
    Pins,
    Waste,
    WhatIf,
    fragmentation,
)
from simalloc.measure.sites import Apart, Profile, Proposal, rows_of
from simalloc.policy import Policy, spell, spell_value
from simalloc.report.device_tables import device_tables
from simalloc.report.html import html
from simalloc.report.sites import apart_table, proposal_text, sites_table
from simalloc.report.statistics import bars, statistics_tables
from simalloc.report.steps import steps_html, steps_written
from simalloc.report.table import Rounded, Table, Value, write_table
from simalloc.report.waste import waste_table
from simalloc.trace import Trace
from simalloc.trace.statistics import Statistics
from simalloc.trace.statistics.liveness import curve_of

__all__ = ["html_of", "png_of", "steps_html", "steps_written", "tables_of", "text_of"]

_SITES: Final = 15
"""Maximum number of lines of code in a table."""


def html_of(thing: object) -> str:
    """Return the tables of an object as HTML."""
    return "".join(map(html, tables_of(thing)))


def text_of(thing: object) -> str:
    """Return the tables of an object as text."""
    stream = StringIO()
    for table in tables_of(thing):
        write_table(table, "table", stream)
    return stream.getvalue().rstrip()


def png_of(heap: HeapMap | DeviceMap) -> tuple[bytes, dict[str, Any]] | None:
    """Return the picture of a map with its size, or None if matplotlib is not installed."""
    try:
        from simalloc.report.figures.device_map import draw_device_maps  # noqa: PLC0415 - needs an extra
        from simalloc.report.figures.heap_map import draw_heap_maps  # noqa: PLC0415 - needs an extra
    except ImportError:
        return None
    if isinstance(heap, DeviceMap):
        return draw_device_maps([heap])._repr_png_()
    return draw_heap_maps([heap], [""])._repr_png_()


@singledispatch
def tables_of(thing: object) -> Sequence[Table]:
    """Return the tables of an object. The types of objects are registered below."""
    raise TypeError(f"a {type(thing).__name__} cannot be shown as a table")


@tables_of.register(Profile)
def _(profile: Profile) -> Sequence[Table]:
    measure = "pinned_bytes" if "pinned_bytes" in profile.values else "live_bytes"
    return [sites_table("", rows_of(profile, "site", measure), measure, _SITES)]


@tables_of.register(Apart)
def _(found: Apart) -> Sequence[Table]:
    return [apart_table(found)]


@tables_of.register(Proposal)
def _(proposal: Proposal) -> Sequence[Table]:
    return [replace(apart_table(proposal.apart), notes=(f"{proposal_text(proposal)}.",))]


@tables_of.register(Table)
def _(table: Table) -> Sequence[Table]:
    return [table]


@tables_of.register(WhatIf)
def _(found: WhatIf) -> Sequence[Table]:
    return device_tables(found)


@tables_of.register(Trace)
def _(trace: Trace) -> Sequence[Table]:
    curve = curve_of(trace)
    return _facts(
        f"Trace {trace.name}",
        events=len(trace),
        objects=trace.objects,
        most_live_bytes=max(curve.most, default=0),
        live_bytes_over_time=bars(curve.most),
        also_recorded=", ".join(trace.columns) or None,
    )


@tables_of.register(Waste)
def _(waste: Waste) -> Sequence[Table]:
    return [waste_table([waste])]


@tables_of.register(Statistics)
def _(statistics: Statistics) -> Sequence[Table]:
    return statistics_tables([statistics])


@tables_of.register(Policy)
def _(policy: Policy) -> Sequence[Table]:
    parameters = {name: spell_value(value) for name, value in policy.parameters.items()}
    return _facts(
        f"Policy {spell(policy)}",
        family=policy.family,
        **parameters,
        source=policy.source,
        reading=policy.reading,
    )


@tables_of.register(Run)
def _(run: Run) -> Sequence[Table]:
    line = run.timeline
    return _facts(
        f"{run.trace} under {spell(run.policy)}",
        **_percents(fragmentation(run)),
        peak_heap_bytes=run.peak_heap_bytes,
        peak_live_bytes=run.max_live_bytes,
        found=None if run.found is None else str(run.found),
        heap_over_time=bars(_spans(line.heap_high.tolist())),
        live_bytes_over_time=bars(_spans(line.live_high.tolist()), run.peak_heap_bytes),
        **asdict(run.counters),
    )


@tables_of.register(Placement)
def _(placement: Placement) -> Sequence[Table]:
    return _facts(
        "Best possible placement",
        heap_bytes=placement.height,
        peak_live_bytes=placement.bound,
        lower_bound_bytes=placement.lower_bound,
        status=placement.status,
        found=placement.how,
        tries=placement.tries,
    )


@tables_of.register(Fragmentation)
def _(measures: Fragmentation) -> Sequence[Table]:
    return _facts("Fragmentation", **_percents(measures))


@tables_of.register(Pins)
def _(pins: Pins) -> Sequence[Table]:
    summary = (
        f"After event {pins.event:,}: heap {pins.heap_bytes:,.0f} bytes, "
        f"live {pins.live_bytes:,}, free {pins.free_bytes:,.0f}."
    )
    return [
        _pins_table("Objects with the most free memory beside them", pins.alone),
        _pins_table("Objects at the highest addresses", pins.highest, summary),
    ]


def _pins_table(title: str, pins: Sequence[Pin], *notes: str) -> Table:
    columns = [
        "object",
        "address",
        "bytes",
        "since event",
        "age in events",
        "free below",
        "free above",
    ]
    rows: list[list[Value]] = [
        [pin.object, pin.address, pin.requested, pin.since, pin.age, pin.free_below, pin.free_above]
        for pin in pins
    ]
    if any(pin.site is not None for pin in pins):
        columns.append("site")
        rows = [[*row, pin.site] for row, pin in zip(rows, pins, strict=True)]
    return Table(title, columns, rows, notes)


def _facts(title: str, **facts: Value) -> list[Table]:
    """Return a table with two columns: the name and the value of each fact."""
    rows = [
        (name.replace("_", " "), value) for name, value in facts.items() if value not in (None, "")
    ]
    return [Table(title, ("", ""), rows)]


def _percents(measures: Fragmentation) -> dict[str, Value]:
    return {
        f"fragmentation_#{number}_%": Rounded(100 * measures[int(number)], 2) for number in MEASURES
    }


def _spans(values: Sequence[float], count: int = 60) -> list[float]:
    """Return the maximum in each of at most `count` equal spans."""
    count = min(count, len(values))
    edges = [place * len(values) // count for place in range(count + 1)] if count else [0]
    return [max(values[low:high]) for low, high in pairwise(edges)]
