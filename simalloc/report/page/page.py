"""The whole page: the frame, the style and the script around its sections."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from html import escape
from string import Template
from typing import Final

from simalloc.advice.before_after import BeforeAfter
from simalloc.advice.process_tree import ProcessTree
from simalloc.errors import SimallocError
from simalloc.report.before_after import before_after_tables
from simalloc.report.browser import BROWSER, SCRIPTS, asset
from simalloc.report.browser.cells import shades
from simalloc.report.browser.embedded import embedded_json
from simalloc.report.html import html
from simalloc.report.page.charts import process_tree_chart
from simalloc.report.page.device_findings import DeviceFindings, coarser_device
from simalloc.report.page.findings import COLUMNS, Findings, coarser
from simalloc.report.page.ranking import overview_table
from simalloc.report.page.sections import article
from simalloc.report.palettes import PALETTES, css_variables
from simalloc.report.process_tree import process_tree_table, process_tree_verdict
from simalloc.version import code_version

MAX_BYTES: Final = 5_000_000
"""Maximum size of a page in bytes, so that it can be sent by mail."""
_FEWEST_COLUMNS: Final = 100


def page(
    all_findings: Sequence[Findings | DeviceFindings],
    command: str,
    *,
    before_after: BeforeAfter | None = None,
    tree: ProcessTree | None = None,
) -> bytes:
    """Return a page on one or more traces; `command` is the command that makes the page.

    If given, the changes between two traces or the tree of processes precede the traces. Maps
    become coarser until the page is small enough. Raises `SimallocError` if the page is then still
    too large.
    """
    columns = COLUMNS
    shown = list(all_findings)
    above = _changes(before_after) + _together(tree)
    title = _title(shown, is_diff=before_after is not None)
    while len(text := _encoded(_fill(shown, command, title, above))) >= MAX_BYTES:
        columns //= 2
        if columns < _FEWEST_COLUMNS:
            raise SimallocError(
                f"{len(shown)} traces do not fit on a page of {MAX_BYTES:,} bytes; report fewer"
            )
        shown = [_coarser(findings) for findings in shown]
    return text


def _encoded(text: str) -> bytes:
    """Encode a page. Bytes of a file name that are not UTF-8 are escaped."""
    return text.encode("utf-8", "backslashreplace")


def _coarser(findings: Findings | DeviceFindings) -> Findings | DeviceFindings:
    if isinstance(findings, DeviceFindings):
        return coarser_device(findings)
    return coarser(findings)


def _fill(
    all_findings: Sequence[Findings | DeviceFindings],
    command: str,
    title: str,
    above: str,
) -> str:
    articles = (
        article(findings, f"trace-{place}", titled=len(all_findings) > 1)
        for place, findings in enumerate(all_findings)
    )
    return Template(_asset("page.html")).substitute(
        title=escape(title),
        style=f"{asset(BROWSER, 'heap_map.css', 'flame.css')}\n{_asset('page.css')}",
        light=css_variables(PALETTES["light"]),
        dark=css_variables(PALETTES["dark"]),
        overview=_unbroken(f"{above}\n{_overview(all_findings)}"),
        articles=_unbroken("\n".join([*articles, _theory(all_findings)])),
        shades=embedded_json(shades(), "shades"),
        script=f"{asset(BROWSER, *SCRIPTS, 'flame.js')}\n{_asset('page.js')}",
        command=escape(command),
        version=escape(code_version()),
        about="\n".join(_about(all_findings)),
    )


def _unbroken(text: str) -> str:
    """Return text that does not break a line between a number and its %."""
    return re.sub(r"(?<=\d) %", "\N{NO-BREAK SPACE}%", text)


def _title(all_findings: Sequence[Findings | DeviceFindings], *, is_diff: bool) -> str:
    names = _listed([findings.trace.name for findings in all_findings])
    if is_diff:
        return f"Before and after: {names}"
    on_devices = all(isinstance(each, DeviceFindings) for each in all_findings)
    question = "Settings" if on_devices else "Malloc and settings"
    return f"{question} for {names}"


def _about(all_findings: Sequence[Findings | DeviceFindings]) -> Iterator[str]:
    """Yield an introduction to the page, for each kind of trace on it."""
    heaps = [each for each in all_findings if isinstance(each, Findings)]
    if heaps:
        yield (
            "<p>The program's malloc calls were replayed under models of common mallocs. Figures "
            "are resident heap bytes unless noted. They include headers and tables, and exclude "
            "code, stacks and shared libraries. <em>Resident</em> bytes are in physical memory. "
            "<em>Live</em> bytes are allocated and not yet freed.</p>"
        )
    if len(heaps) < len(all_findings):
        yield (
            "<p>The program's requests for device memory were replayed under other settings of "
            "PyTorch's allocator.</p>"
        )


def _together(tree: ProcessTree | None) -> str:
    """Return the section on several processes together."""
    if tree is None:
        return ""
    return (
        f'<section><p class="verdict">{escape(process_tree_verdict(tree))}</p>\n'
        f"{process_tree_chart(tree)}"
        f'<div class="wide">{html(process_tree_table(tree))}</div></section>'
    )


def _changes(found: BeforeAfter | None) -> str:
    """Return the section on the changes between two traces."""
    if found is None:
        return ""
    tables = "".join(
        f'<div class="wide">{html(replace(each, notes=()))}</div>'
        for each in before_after_tables(found)
    )
    return f"<section><h2>What has changed</h2>\n{tables}</section>"


def _overview(all_findings: Sequence[Findings | DeviceFindings]) -> str:
    """Return links to all traces, if there are several."""
    if len(all_findings) == 1:
        return ""
    links = "".join(
        f'<li><a href="#trace-{place}">{escape(findings.trace.name)}</a></li>'
        for place, findings in enumerate(all_findings)
    )
    return f"<nav><ul>{links}</ul></nav>"


def _theory(all_findings: Sequence[Findings | DeviceFindings]) -> str:
    """Return the section on policies alone over all traces, if there are several."""
    heaps = [each for each in all_findings if isinstance(each, Findings)]
    if len(heaps) <= 1:
        return ""
    return (
        "<section><h2>Placement policies on all traces</h2>\n"
        "<p>The table shows by how many percent each policy's peak heap (mapped bytes) exceeds "
        "peak live (measure #4). Policies are sorted by their mean.</p>\n"
        f'<div class="wide">{overview_table(heaps)}</div></section>'
    )


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _asset(name: str) -> str:
    return asset("simalloc.report.page", name)
