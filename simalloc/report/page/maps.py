"""Heap maps as data for the script of the page, which colours, zooms and names objects."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from simalloc.measure import DeviceMap, Stays
from simalloc.measure.sites.frames import short_names
from simalloc.report.browser.cells import AGE_DECADES, cells, packed, raster
from simalloc.report.browser.embedded import embedded_json
from simalloc.report.page.code import code_map_data
from simalloc.trace import Trace

if TYPE_CHECKING:
    from simalloc.report.page.findings import Findings, Mapped

_LEVEL: Final = 6
"""Compression level of cells, high because pages are sent to people."""


def map_data(mapped: Mapped, findings: Findings, oldest: float, top: float) -> dict[str, Any]:
    """Return one map for the script. Compared maps share `oldest` and `top`."""
    return {
        **_code_of(mapped, findings),
        "policy": mapped.name,
        "events": mapped.run.events,
        "top": top,
        "oldest": oldest,
        "decades": AGE_DECADES,
        "raster": raster(mapped.map),
        "cells": packed(cells(mapped.map, oldest), _LEVEL),
        "stays": _columns(mapped.stays),
    }


def _code_of(mapped: Mapped, findings: Findings) -> dict[str, Any]:
    """Return the site of each object and the cells by code, if the trace has call sites."""
    if findings.code is None or mapped.code is None:
        return {}
    used, sites = np.unique(findings.code.site[mapped.stays.since], return_inverse=True)
    return {
        "sites": sites.tolist(),
        "numbers": used.tolist(),
        "places": short_names(findings.trace.provenance, used.tolist()),
        "code": code_map_data(mapped.code, findings.code.names, mapped.map, _LEVEL),
    }


def device_map_data(shown: DeviceMap, trace: Trace, oldest: float, top: float) -> dict[str, Any]:
    """Return the map of a device's memory for the script, with segments and call sites."""
    segments, stays = shown.segments, shown.stays
    used, sites = np.unique(
        np.zeros(len(stays), np.int64) if trace.site is None else trace.site[stays.since],
        return_inverse=True,
    )
    return {
        "policy": shown.settings,
        "events": len(shown.reserved),
        "top": top,
        "oldest": oldest,
        "decades": AGE_DECADES,
        "raster": raster(shown.map),
        "cells": packed(cells(shown.map, oldest), _LEVEL),
        "segments": [
            column.tolist()
            for column in (segments.shown, segments.size, segments.since, segments.until)
        ],
        "stays": _columns(stays),
        "sites": sites.tolist(),
        "places": short_names(trace.provenance, used.tolist()),
    }


def map_figure(key: str, name: str, caption: str, data: dict[str, Any], picture: str) -> str:
    """Return the figure of a map, which the script fills; `key` is its identifier on the page.

    `picture` is the URL of a still picture, which is shown until the script has run.
    """
    spelled = escape(name)
    return (
        f'<figure class="map" data-map="{key}">\n'
        f"<figcaption><strong>{spelled}</strong> {escape(caption)}</figcaption>\n"
        f'<canvas tabindex="0" role="img" aria-label="Heap map of {spelled}"></canvas>\n'
        f'<img class="printed still" src="{picture}" alt="Heap map of {spelled}">\n'
        '<div class="tools"><button data-do="in">zoom in</button>'
        '<button data-do="out">zoom out</button><button data-do="all">all</button>'
        f"{_code_key(data)}"
        '<p class="under">Point at the map for details.</p>\n'
        f"{embedded_json(data, key)}\n</figure>"
    )


def _code_key(data: dict[str, Any]) -> str:
    """Return the end of a map's tools: the button that colours the map by code, and its legend."""
    if "code" not in data:
        return "</div>\n"
    *names, others = data["code"]["names"]
    keys = [*enumerate(names), (6, others)]
    spelled = "".join(
        f'<span><i style="background: var(--line-{line})"></i> {escape(name)}</span> '
        for line, name in keys
    )
    return f'<button data-do="code">by code</button></div>\n<p class="codes" hidden>{spelled}</p>\n'


def map_figures(words: str, figures: Sequence[str]) -> str:
    """Return maps below a text on them and instructions for their use."""
    return (
        f"<p>{words} To zoom in, drag over a part of a map. Two fingers, the wheel with Ctrl, and "
        "the keys + and − also zoom. The arrow keys move the map. Double-click to see the "
        "whole map.</p>\n"
        '<div class="heap-maps"><div class="ages"></div>\n'
        + "\n".join(figures)
        + "\n<noscript><p>The maps need JavaScript, which is disabled.</p></noscript></div>"
    )


def _columns(stays: Stays) -> list[list[Any]]:
    return [
        column.tolist()
        for column in (stays.object, stays.address, stays.requested, stays.since, stays.until)
    ]
