"""Section of the page on the code that holds the memory and the code that pins the heap."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from simalloc.heap import Run
from simalloc.measure import HeapMap
from simalloc.measure.sites import (
    Profile,
    Proposal,
    best_apart,
    events_of_best_apart,
    profile_of,
    rows_of,
)
from simalloc.measure.sites.leading import Leading, leading_of, live_by_group
from simalloc.measure.sites.site_map import SiteMap
from simalloc.policy import spell
from simalloc.report.browser.cells import packed
from simalloc.report.browser.flame import flame_data, flame_figure
from simalloc.report.html import html
from simalloc.report.page.charts import live_by_code_chart
from simalloc.report.sites import proposal_text, sites_table, spell_frame
from simalloc.trace import EventSource

if TYPE_CHECKING:
    from simalloc.report.page.findings import Stage

_POINTS: Final = 600
_ROWS: Final = 10


@dataclass(frozen=True, eq=False)
class Code:
    """Call paths of a trace by policy; "" is the trace without a policy."""

    site: NDArray[np.uint32]
    """Site of each event."""
    profiles: Mapping[str, Profile]
    leading: Leading
    events: NDArray[np.int64]
    live: NDArray[np.int64]
    """Live bytes by group of code, shape (groups, events)."""
    proposals: Sequence[Proposal]

    @property
    def names(self) -> list[str]:
        """Names of the groups."""
        return [*(spell_frame(frame.short) for frame in self.leading.frames), "all others"]


def look_at_code(source: EventSource, runs: Sequence[Run], stage: Stage) -> Code | None:
    """Return the page's data on a trace's code, or None if the trace has no call sites.

    Pinned memory is examined in each of `runs`, and separate heaps for some code in the first run.
    """
    trace = source.in_memory()
    if trace.site is None or not trace.site.any():
        return None
    with stage(f"{trace.name}: code", max(1, len(runs)) * len(trace)) as advance:
        profiles = {
            spell(run.policy): profile_of(trace, run, progress=advance) for run in runs
        } or {"": profile_of(trace)}
    first = next(iter(profiles.values()))
    leading = leading_of(first, int(trace.site.max()) + 1)
    proposals: list[Proposal] = []
    if runs:
        with stage(f"{trace.name}: code apart", events_of_best_apart(trace)) as advance:
            proposals = best_apart(trace, runs[0], profile=first, progress=advance)
    return Code(trace.site, profiles, leading, *live_by_group(trace, leading, _POINTS), proposals)


def code_section(code: Code | None, key: str, given: str, policy: str) -> str:
    """Return the section on a trace, which is `given` in commands and has run with `policy`."""
    command = escape(f"simalloc sites {shlex.quote(given)} -p {quoted(policy)}")
    if code is None:
        return (
            "<p>The trace has no call sites. Record the program with <code>--stacks</code>, then "
            f"type</p>\n<pre>{command}</pre>"
        )
    name, profile = next(iter(code.profiles.items()))
    measure = "pinned_bytes" if name else "live_bytes"
    rows = [replace(row, frame=row.frame.short) for row in rows_of(profile, "site", measure)]
    table = html(sites_table("", rows, measure, _ROWS), sizes=True)
    apart = "".join(f"<p>{escape(proposal_text(one))}.</p>" for one in code.proposals)
    return (
        f"<p>{_WORDS}</p>\n{apart}"
        f'<div class="wide">{table}</div>\n'
        "<p>Each box is a function, below its caller. Its width is the function's share of the "
        "chosen measure. "
        "Callers in Python's import system and evaluator are omitted. Click a box to zoom in, or "
        "use the arrow keys, Enter, Backspace and Escape.</p>\n"
        f"{flame_figure(f'{key}-flame', flame_data(code.profiles))}\n"
        "<p>Live bytes by allocating code:</p>\n"
        f"{live_by_code_chart(code.events, code.live, code.names)}"
        f"<p>This command prints the whole table:</p>\n<pre>{command}</pre>"
    )


def quoted(policy: str) -> str:
    """Return a policy as a quoted word of a shell, in double quotes if it contains a quote."""
    if "'" in policy and not set('"$`\\!') & set(policy):
        return f'"{policy}"'
    return shlex.quote(policy)


_WORDS: Final = (
    "A page with a live byte cannot be returned to the system. If one line of code allocated all "
    "live objects of a page, this line <em>pins</em> the page's free bytes. If several lines "
    "allocated them, each line has an equal <em>share</em> of the free bytes. <em>Wasted</em> "
    "bytes are the sum of pinned and shared bytes. These three columns show the event with the "
    "most wasted bytes."
)


def code_map_data(shown: SiteMap, names: Sequence[str], drawn: HeapMap, level: int) -> Any:
    """Return the cells of a map by code for the script. Memory cells are taken from `drawn`."""
    rows, columns = shown.live.shape
    # pins are small; grouped by root, they are visible among other objects
    share = np.ceil(np.sqrt(shown.live) * 255).astype(np.uint8)
    planes = share.tobytes() + shown.group.astype(np.uint8).tobytes()
    wide = (np.arange(columns) + 0.5) * shown.cell_events / drawn.cell_events
    tall = (np.arange(rows) + 0.5) * shown.cell_bytes / drawn.cell_bytes
    column = np.minimum(wide.astype(int), drawn.live.shape[1] - 1)
    row = np.minimum(tall.astype(int), drawn.live.shape[0] - 1)
    if drawn.mapped is not None:
        planes += drawn.mapped[np.ix_(row, column)].astype(np.uint8).tobytes()
    return {
        "names": names,
        "cells": packed(planes, level),
        "raster": {
            "columns": columns,
            "rows": rows,
            "left": 0,
            "cellEvents": shown.cell_events,
            "low": 0,
            "cellBytes": shown.cell_bytes,
            "heap": [round(each) for each in drawn.heap[column].tolist()],
            "mapped": drawn.mapped is not None,
        },
    }
