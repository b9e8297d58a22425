"""The rankings of a page: tables with bars beside their numbers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from html import escape
from typing import TYPE_CHECKING, Final, NamedTuple

from simalloc.heap import Run
from simalloc.heap.fragmentation import MEASURES
from simalloc.measure import fragmentation, ranking
from simalloc.policy import spell
from simalloc.report.units import bounded_percent
from simalloc.sizes import spell_bytes

if TYPE_CHECKING:
    from simalloc.report.page.findings import Findings


LONGEST_BAR: Final = 3
"""Maximum length of a bar, as a multiple of live bytes: some models map far more than they use."""


class _Row(NamedTuple):
    kind: str
    name: str
    peak: float
    cells: tuple[str, ...]


def ranking_table(findings: Findings) -> str:
    """Return a table of the bounds, and then all policies in ascending order of their peak heap."""
    live = findings.best.max_live_bytes
    rows = sorted(_policies(findings), key=lambda row: row.peak)
    bound = _Row("bound", "peak live (lower bound)", live, ("", "", "", "0.0", ""))
    possible = () if findings.possible is None else (_possible(findings.possible),)
    most = min(findings.runs[-1].peak_heap_bytes, LONGEST_BAR * max(live, 1))
    body = "\n".join(_row(row, most, live) for row in (bound, *possible, *rows))
    heads = "".join(
        f'<th class="{"minor" if name != "#4" else ""}" scope="col">{name} %</th>'
        for name in (f"#{number}" for number in MEASURES)
    )
    return (
        '<table class="ranking"><thead><tr><th scope="col">policy</th>'
        f'<th scope="col">peak heap</th>{heads}'
        '<th class="minor" scope="col">mean blocks visited</th></tr></thead>\n'
        f"<tbody>\n{body}\n</tbody></table>"
    )


def _possible(run: Run) -> _Row:
    name = "best possible (offline)"
    return _Row(
        "bound", name, run.peak_heap_bytes, ("", "", "", _percent(fragmentation(run)[4]), "")
    )


def _policies(findings: Findings) -> Iterator[_Row]:
    for run in findings.runs:
        measures = fragmentation(run)
        percents = tuple(_percent(measures[int(number)]) for number in MEASURES)
        visited = (
            "" if math.isnan(run.counters.visited_mean) else f"{run.counters.visited_mean:,.1f}"
        )
        yield _Row("policy", spell(run.policy), run.peak_heap_bytes, (*percents, visited))


def _row(row: _Row, most: float, live: float) -> str:
    kind = "bar cut" if row.peak > most else "bar"
    bar = (
        f'<span class="{kind}" style="--heap: {min(100, 100 * row.peak / most):.2f}%; '
        f'--live: {100 * live / most:.2f}%"></span>'
    )
    classes = ("minor", "minor", "minor", "", "minor")
    cells = "".join(
        f'<td class="number {css}">{escape(cell)}</td>'
        for css, cell in zip(classes, row.cells, strict=True)
    )
    return (
        f'<tr class="{row.kind}"><th scope="row">{escape(row.name)}</th>'
        f'<td class="measure">{bar}<span class="size">{spell_bytes(row.peak)}</span></td>'
        f"{cells}</tr>"
    )


def overview_table(all_findings: Sequence[Findings]) -> str:
    """Return measure #4 by policy and trace, the best policy first."""
    ranks = ranking(run for findings in all_findings for run in findings.runs)
    heads = "".join(f'<th scope="col">{escape(trace)}</th>' for trace in ranks[0].by_trace)
    rows = "\n".join(
        f'<tr><th scope="row">{escape(rank.policy)}</th>'
        f'<td class="number">{_percent(rank.mean)}</td>'
        + "".join(
            f'<td class="number heat" style="--heat: {_heat(value)}">{_percent(value)}</td>'
            for value in rank.by_trace.values()
        )
        + "</tr>"
        for rank in ranks
    )
    return (
        '<table class="overview"><thead><tr><th scope="col">policy</th>'
        f'<th scope="col">mean</th>{heads}</tr></thead>\n<tbody>\n{rows}\n</tbody></table>'
    )


def _percent(share: float) -> str:
    return "" if math.isnan(share) else bounded_percent(share).text


def _heat(share: float) -> str:
    """Return the warm colour of a cell, at full strength from 100 % on."""
    return "0%" if math.isnan(share) else f"{100 * min(max(share, 0.0), 1.0) ** 0.5:.0f}%"
