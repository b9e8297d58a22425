"""The sections of a page on one trace, as HTML."""

from __future__ import annotations

import shlex
from html import escape
from typing import TYPE_CHECKING, Final

from simalloc.heap.setting import find_realloc
from simalloc.policy import spell
from simalloc.report.apart import beside
from simalloc.report.browser.cells import shared_scales
from simalloc.report.figures.free_sizes import draw_free_sizes
from simalloc.report.figures.lives import draw_lives
from simalloc.report.figures.style import PALETTES
from simalloc.report.figures.timelines import draw_timelines
from simalloc.report.figures.waste import draw_waste
from simalloc.report.html import html
from simalloc.report.page.device_findings import DeviceFindings, device_sections
from simalloc.report.page.findings import WHOLE_EVENTS
from simalloc.report.page.maps import map_data, map_figure, map_figures
from simalloc.report.page.ranking import ranking_table
from simalloc.report.page.svg import png, svg
from simalloc.report.page.words import about_trace, excess, verdict
from simalloc.report.runs import threads_notes
from simalloc.report.units import spell_bytes, spell_percent
from simalloc.report.waste import waste_table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from simalloc.heap import Run
    from simalloc.measure import Pin
    from simalloc.report.page.findings import Findings, Mapped

_CODE: Final = """\
import simalloc

trace = simalloc.read_trace({name!r})
names = {names!r}
how = {{"scale": {scale}, "realloc": {realloc!r}}}
simalloc.draw_heap_maps(trace, names, **how).savefig("maps.png")
runs = [simalloc.simulate(trace, name, **how) for name in names]
simalloc.draw_timelines(runs).savefig("heaps.png")
simalloc.draw_lives(trace).savefig("lives.png")
print(simalloc.pins(trace, names[0], **how))
"""
"""What the page says to run; the tests do."""


def article(findings: Findings | DeviceFindings, key: str, *, titled: bool) -> str:
    """Return all that the page says of one trace; `key` makes its identifiers unique."""
    title = f"<h2>{escape(findings.trace.name)}</h2>\n" if titled else ""
    sections = (
        device_sections(findings, key)
        if isinstance(findings, DeviceFindings)
        else _heap_sections(findings, key)
    )
    body = "\n".join(
        f"<section>{f'<h3>{heading}</h3>' if heading else ''}\n{content}\n</section>"
        for heading, content in sections
    )
    return f'<article id="{key}">\n{title}{body}\n</article>'


def _heap_sections(findings: Findings, key: str) -> list[tuple[str, str]]:
    return [
        ("", f'<p class="verdict">{escape(verdict(findings))}</p>'),
        ("Ranking", _ranking(findings)),
        ("Heap maps", _maps(findings, key)),
        ("What pins the heap", "".join(_pins(one) for one in findings.mapped)),
        ("Where the bytes are", _wastes(findings)),
        ("Heap over time", _timelines(findings)),
        ("Free blocks", _free_blocks(findings)),
        ("The trace", _trace(findings)),
        ("Again, by yourself", _again(findings)),
    ]


def _ranking(findings: Findings) -> str:
    real = (
        "<p>Rows marked “really” are real allocators on this machine, replaying the same trace "
        "with headers, page tables and caches of their own: resident memory at its peak. A bar "
        "longer than the worst policy's is cut there.</p>"
        if findings.natives
        else "<p>No real allocator was asked for or could be loaded.</p>"
    )
    real += "".join(f"<p>{escape(note)}</p>" for note in threads_notes(findings.runs))
    if findings.possible is None:
        real += (
            f"<p>The trace has more than {WHOLE_EVENTS:,} events, so it is read piece by piece: "
            "neither the best possible heap nor real allocators are shown, which take it whole. "
            "Trees that are never balanced are not shown either unless -p names them, for they "
            "may take hours.</p>"
        )
    return (
        "<p>Peak heap of every policy; the darker part of a bar is peak live. #1: heap / live − 1, "
        "mean over events; #2: the same when most is live; #3: when the heap first has its peak; "
        f"#4: peak heap / peak live − 1.</p>\n{ranking_table(findings)}\n{real}"
    )


def _maps(findings: Findings, key: str) -> str:
    oldest, top = shared_scales([mapped.map for mapped in findings.mapped])
    return map_figures(
        "Time runs to the right, addresses upwards, both on the same scales in all maps. Coloured "
        "is live, by age; pale is free memory in the heap.",
        [
            map_figure(
                f"{key}-map-{place}",
                spell(mapped.run.policy),
                beside(mapped.map, f"({mapped.role}): {excess(mapped.run)} than live"),
                map_data(mapped, oldest, top),
            )
            for place, mapped in enumerate(findings.mapped)
        ],
    )


def _pins(mapped: Mapped) -> str:
    found = mapped.pins
    share = found.free_bytes / found.heap_bytes if found.heap_bytes else 0.0
    return (
        f"<h4>{escape(spell(mapped.run.policy))} ({mapped.role})</h4>\n"
        f"<p>When the heap first has its peak, after event {found.event:,}, it has "
        f"{spell_bytes(found.heap_bytes)}, of which {spell_bytes(found.live_bytes)} are live and "
        f"{spell_bytes(found.free_bytes)} free ({spell_percent(share)}).</p>\n"
        '<div class="pair">\n'
        + _pins_table("Standing between the most free memory", found.alone)
        + _pins_table("At the highest addresses", found.highest)
        + "</div>"
    )


def _pins_table(title: str, pins: Sequence[Pin]) -> str:
    sites = any(pin.place is not None for pin in pins)
    names = ("object", "bytes", "address", "since event", "free around", *(["site"] * sites))
    rows = [
        (
            f"{pin.object:,}",
            f"{pin.requested:,}",
            spell_bytes(pin.address),
            f"{pin.since:,}",
            spell_bytes(pin.holds),
        )
        for pin in pins
    ]
    heads = "".join(f'<th scope="col">{name}</th>' for name in names)
    body = "\n".join(
        f"<tr>{''.join(f'<td class=number>{escape(cell)}</td>' for cell in row)}"
        + (f"<td class=place>{escape(pin.place or '')}</td>" if sites else "")
        + "</tr>"
        for row, pin in zip(rows, pins, strict=True)
    )
    return (
        f'<table class="pins"><caption>{title}</caption><thead><tr>{heads}</tr></thead>\n'
        f"<tbody>\n{body}\n</tbody></table>\n"
    )


def _wastes(findings: Findings) -> str:
    table = html(waste_table(findings.wastes))
    figure = svg(draw_waste(findings.wastes, theme="page"), "What each heap consists of")
    return (
        "<p>Each heap at its peak, with sizes as the program asks for them (scale 1) and reallocs "
        "as the allocator does them; alone, and with headers and tables of its own. Real "
        "allocators tell no more than what they have mapped.</p>\n"
        f'{_figure(figure)}<div class="wide">{table}</div>'
    )


def _timelines(findings: Findings) -> str:
    figure = draw_timelines([mapped.run for mapped in findings.mapped], theme="page")
    return (
        "<p>The end of the heap under each of these policies, and below it live bytes; "
        f"extremes are kept.</p>\n{_figure(svg(figure, 'Heap and live bytes over time'))}"
    )


def _free_blocks(findings: Findings) -> str:
    runs = (findings.best, findings.worst)
    titles = [spell(run.policy) for run in runs]
    free = [one.free for one in findings.mapped[: len(titles)]]
    light, dark = (png(draw_free_sizes(free, titles, theme=theme)) for theme in PALETTES)
    image = (
        f'<picture><source srcset="{dark}" media="(prefers-color-scheme: dark)">'
        f'<img src="{light}" alt="Sizes of free blocks over time"></picture>'
    )
    counts = "; ".join(
        f"{escape(spell(run.policy))} has {run.counters.free_blocks_mean:,.0f} on average and "
        f"{run.counters.free_blocks_peak:,} at most"
        for run in runs
    )
    return f"<p>Free blocks: {counts}.</p>\n{_figure(image)}"


def _trace(findings: Findings) -> str:
    sentences = " ".join(escape(sentence) for sentence in about_trace(findings))
    label = "Sizes and lifetimes of objects"
    figure = draw_lives(findings.trace, findings.spread, theme="page")
    return f"<p>{sentences}</p>\n{_figure(svg(figure, label))}"


def _again(findings: Findings) -> str:
    best, worst = findings.best, findings.worst
    options = _options(best)
    name = escape(shlex.quote(findings.given))
    return (
        "<p>The ranking and the statistics, with the trace where the command finds it:</p>\n"
        f"<pre>simalloc run {name} -p all{options}\nsimalloc info {name}</pre>\n"
        "<p>The maps, the pictures and what pins the heap, in Python:</p>\n"
        f"<pre>{escape(_code(findings.given, best, worst))}</pre>\n"
        f"<p>SHA-256 of the trace's events: <code>{findings.trace.sha256()}</code>.</p>"
    )


def _options(run: Run) -> str:
    scale = f" --scale {run.scale}" if run.scale != 16 else ""
    own = find_realloc(None, run.policy)
    return scale + (f" --realloc {run.realloc.value}" if run.realloc is not own else "")


def _code(name: str, best: Run, worst: Run) -> str:
    names = (spell(best.policy), spell(worst.policy))
    return _CODE.format(name=name, names=names, scale=best.scale, realloc=best.realloc.value)


def _figure(content: str) -> str:
    return f'<figure class="drawn">{content}</figure>'
