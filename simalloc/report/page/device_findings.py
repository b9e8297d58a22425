"""A page's data on the memory of a device: settings that fit, and the faults of the others."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, replace
from html import escape
from typing import Final

from simalloc.errors import SimallocError
from simalloc.measure import DeviceMap, WhatIf, device_map
from simalloc.report.browser.cells import shared_scales
from simalloc.report.browser.still import still
from simalloc.report.device_tables import CAVEAT, DEFAULT, device_tables, pinned_table, sentences
from simalloc.report.html import html
from simalloc.report.page.maps import device_map_data, map_figure, map_figures
from simalloc.report.table import Table
from simalloc.sizes import spell_bytes
from simalloc.trace import Trace

_COLUMNS: Final = 1200
_NAMED: Final = 2
"""Maximum number of objects per column that a map can name."""


_WORDS: Final = (
    "<em>Split free</em> memory cannot be returned, because its segment is in use. <em>Whole "
    "free</em> memory is returned before an out-of-memory error is raised."
)


@dataclass(frozen=True, eq=False)
class DeviceFindings:
    """A device's trace under several settings, with maps of the recorded and the best setting."""

    trace: Trace
    given: str
    """File or name of the trace, as in commands."""
    found: WhatIf
    maps: tuple[DeviceMap, ...]


def look_at_device(trace: Trace, given: str, found: WhatIf) -> DeviceFindings:
    """Return the page's data on a trace; `found` contains the memory that the trace needs.

    Raises `SimallocError` for a trace without events.
    """
    if not len(trace):
        raise SimallocError(f"{trace.name} has no events")
    maps = tuple(
        device_map(trace, settings, columns=_COLUMNS, named=_NAMED * _COLUMNS)
        for settings in dict.fromkeys((found.settings, found.best.settings))
    )
    return DeviceFindings(trace, given, found, maps)


def coarser_device(findings: DeviceFindings) -> DeviceFindings:
    """Return the same findings with maps of half the columns and rows."""
    return replace(findings, maps=tuple(map(_coarser, findings.maps)))


def _coarser(shown: DeviceMap) -> DeviceMap:
    stays = shown.stays.first(_NAMED * len(shown.map.heap) // 2)
    return replace(shown, map=shown.map.coarser(), stays=stays)


def device_sections(findings: DeviceFindings, key: str) -> list[tuple[str, str]]:
    """Return the headings and contents of a page on a device's memory."""
    tables = "".join(f'<div class="wide">{html(table)}</div>' for table in _tables(findings.found))
    return [
        ("", _verdict(findings.found)),
        ("Settings", f"{tables}<p>{_WORDS}</p>"),
        ("The device's memory", _maps(findings, key)),
        ("Half-empty segments", "".join(_pinned(one) for one in findings.maps)),
        ("Reproduce this page", _again(findings)),
    ]


def _tables(found: WhatIf) -> list[Table]:
    *others, settings = device_tables(found)
    return [*others, replace(settings, notes=())]


def _verdict(found: WhatIf) -> str:
    *said, line = sentences(found)
    return (
        f'<p class="verdict">{escape(" ".join(said))}</p>\n<pre>{escape(line)}</pre>\n'
        f"<p>{escape(CAVEAT)}</p>"
    )


def _maps(findings: DeviceFindings, key: str) -> str:
    oldest, top = shared_scales([one.map for one in findings.maps])
    return map_figures(
        "Time runs to the right. Each segment is drawn at the lowest position that is free for the "
        "segment's whole lifetime. Live memory is coloured by age; reserved memory that is free is "
        "pale. The device's memory is unlimited here.",
        [
            map_figure(
                f"{key}-map-{place}",
                one.settings or DEFAULT,
                f"reserves at most {spell_bytes(int(one.reserved.max(initial=0)))}",
                device_map_data(one, findings.trace, oldest, top),
                still(one.map, oldest, top),
            )
            for place, one in enumerate(findings.maps)
        ],
    )


def _pinned(shown: DeviceMap) -> str:
    return f'<div class="wide">{html(pinned_table(shown))}</div>'


def _again(findings: DeviceFindings) -> str:
    name = escape(shlex.quote(findings.given))
    code = (
        "import simalloc\n\n"
        f"found = simalloc.device({findings.given!r})\n"
        "print(found.best.settings, found.best.smallest)\n"
        f"simalloc.draw_device_maps({findings.given!r}).savefig('memory.png')\n"
    )
    return (
        f"<p>This command prints the tables:</p>\n<pre>simalloc device {name}</pre>\n"
        "<p>This Python code prints the best settings and draws the maps:</p>\n"
        f"<pre>{escape(code)}</pre>\n"
        f"<p>SHA-256 of the trace's events: <code>{findings.trace.sha256()}</code>.</p>"
    )
