"""Sections of a page on one trace, as HTML."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from html import escape
from typing import Final

from simalloc.advice import is_worth
from simalloc.heap import MAPPED_FROM, Run
from simalloc.heap.run_options import RunOptions
from simalloc.measure import Pin
from simalloc.plural import counted
from simalloc.policy import spell
from simalloc.report.at_start import start_sentence
from simalloc.report.browser.cells import shared_scales
from simalloc.report.browser.still import still
from simalloc.report.html import html, with_code
from simalloc.report.mappings import mappings_table
from simalloc.report.page.charts import (
    footprints_chart,
    free_sizes_chart,
    lives_chart,
    waste_chart,
)
from simalloc.report.page.code import code_section
from simalloc.report.page.device_findings import DeviceFindings, device_sections
from simalloc.report.page.findings import SHORT_EVENTS, WHOLE_EVENTS, Findings, Mapped
from simalloc.report.page.maps import map_data, map_figure, map_figures
from simalloc.report.page.ranking import LONGEST_BAR, ranking_table
from simalloc.report.page.words import about_trace, holds, theory, what_was_run
from simalloc.report.runs import threads_notes
from simalloc.report.settings import footprints_table, settings_table
from simalloc.report.sites import proposal_text
from simalloc.report.units import spell_percent
from simalloc.report.waste import waste_table
from simalloc.sizes import spell_bytes

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
"""Code that the page suggests to run. The tests run it."""

_MUCH_FREE: Final = 0.2
"""Minimum free share of a heap whose pins are shown unfolded."""


def article(findings: Findings | DeviceFindings, key: str, *, titled: bool) -> str:
    """Return the article of the page on one trace; `key` makes its identifiers unique."""
    title = f"<h2>{escape(findings.trace.name)}</h2>\n" if titled else ""
    sections = (
        device_sections(findings, key)
        if isinstance(findings, DeviceFindings)
        else _heap_sections(findings, key)
    )
    parts = [
        f'<section id="{key}-{place}">'
        f"{f'<h3>{heading}</h3>' if heading else ''}\n{content}\n</section>"
        for place, (heading, content) in enumerate(sections)
    ]
    links = "".join(
        f'<li><a href="#{key}-{place}">{heading}</a></li>'
        for place, (heading, _) in enumerate(sections)
        if heading
    )
    contents = f"<nav><ul>{links}</ul></nav>"
    body = "\n".join([parts[0], contents, *parts[1:]])
    return f'<article id="{key}">\n{title}{body}\n</article>'


def _heap_sections(findings: Findings, key: str) -> list[tuple[str, str]]:
    return [
        ("", _verdict(findings)),
        ("Memory over time", _footprints(findings)),
        ("Heap maps", _maps(findings, key)),
        ("What pins the heap", "".join(_pins(one, key) for one in findings.mapped)),
        ("Where the bytes are", _wastes(findings)),
        ("Which code", _code_of(findings, key)),
        ("Every malloc and setting", _settings(findings)),
        ("Placement policies", _ranking(findings)),
        ("Free blocks", _free_blocks(findings)),
        ("The trace", _trace(findings)),
        ("Reproduce this page", _again(findings)),
    ]


def _verdict(findings: Findings) -> str:
    """Return the decision, a line to paste, and a list of reasons."""
    advice = findings.advice
    decision, *reasons = advice.sentences
    reasons += [
        f"{proposal_text(one)}."
        for one in (findings.code.proposals[:1] if findings.code else ())
        if is_worth(one.apart.together_bytes, one.apart.saved)
    ]
    kind, _, rest = decision.partition(":")
    line = f"<pre>{escape(advice.line)}</pre>\n" if advice.line else ""
    items = "".join(f"<li>{with_code(reason)}</li>" for reason in reasons)
    provenance = findings.trace.provenance
    sentences = (what_was_run(provenance), start_sentence(provenance), findings.machine.text)
    return (
        f'<p class="verdict"><strong>{escape(kind)}:</strong>{with_code(rest)}</p>\n{line}'
        f'<ul class="reasons">{items}</ul>\n'
        f"<p>{escape(' '.join(filter(None, sentences)))}</p>"
    )


def _footprints(findings: Findings) -> str:
    shown = [one for one in findings.mapped if one.run.resident is not None]
    titles = [one.name for one in shown]
    drawn = footprints_chart([one.run for one in shown], titles, findings.process)
    rows = footprints_table(findings.settings, findings.advice, findings.natives)
    table = html(rows, strong="recommended")
    process = (
        " The dotted line is the recorded process with its code and stacks."
        if findings.process.has_samples
        else ""
    )
    return (
        "<p><em>Mapped</em> bytes belong to the heap until they are returned to the system. Mapped "
        f"and resident bytes include headers and tables.{process}</p>\n{drawn}"
        f'<div class="wide">{table}</div>{_mappings(findings)}'
    )


def _mappings(findings: Findings) -> str:
    table = mappings_table(findings.trace.provenance)
    return "" if table is None else f'<div class="wide">{html(table)}</div>'


def _code_of(findings: Findings, key: str) -> str:
    policy = spell(findings.advice.now.run.policy)
    return code_section(findings.code, key, findings.given, policy)


def _settings(findings: Findings) -> str:
    table = settings_table(
        "",
        findings.settings,
        machine=findings.machine,
        possible=findings.possible,
        natives=findings.natives,
        wide=True,
    )
    fewer = (
        f" Because the trace has more than {WHOLE_EVENTS:,} events, the page omits settings that "
        "seldom help. <code>simalloc settings</code> tries these settings."
        if len(findings.trace) > WHOLE_EVENTS
        else ""
    )
    return (
        "<p>The table shows the heap's resident memory: the peak, the value when unused memory "
        f"peaks, the mean, and the value after the last event.{fewer}</p>\n"
        f'<div class="wide">{html(table)}</div>'
    )


def _ranking(findings: Findings) -> str:
    run = findings.best
    real = "".join(f"<p>{escape(note)}</p>" for note in threads_notes(findings.runs))
    if findings.possible is None:
        real += (
            f"<p>Because the trace has more than {SHORT_EVENTS:,} events, the page omits real "
            "allocators. The best possible heap and policies with unbalanced search trees are "
            "included only if they are chosen with -p.</p>"
        )
    return (
        f"<p>{escape(theory(findings))} Figures are mapped bytes. {_scales(findings.runs)} "
        f"Reallocs follow the rule “{run.realloc.value}” (<code>simalloc run --help</code>).</p>"
        "<p>The bars show the peak heap of each policy; the darker part is peak live. A heap of "
        f"more than {LONGEST_BAR} times peak live has a pointed bar. #1 is the mean of heap / live "
        "− 1 over events, #2 is heap / live − 1 at peak live, #3 is heap / live − 1 at the peak "
        "heap, and #4 is peak heap / peak live − 1.</p>\n"
        f"{ranking_table(findings)}\n{real}"
    )


def _scales(runs: Sequence[Run]) -> str:
    """Return a sentence on the scales: one for all runs, or the number of rows for each."""
    scales = sorted({run.scale for run in runs})
    if len(scales) == 1:
        return f"The replay multiplies sizes by {scales[0]} and divides the figures by {scales[0]}."
    rows = [
        f"{scale} in {counted(sum(run.scale == scale for run in runs), 'row')}" for scale in scales
    ]
    return (
        "The replay multiplies sizes by a scale and divides the figures by the same scale, as in "
        f"the paper by Johnstone &amp; Wilson. The scale is {', '.join(rows[:-1])} and {rows[-1]}."
    )


def _maps(findings: Findings, key: str) -> str:
    oldest, top = shared_scales([mapped.map for mapped in findings.mapped])
    return map_figures(
        "Time runs to the right and addresses upwards. All maps have the same scales. Live memory "
        "is coloured by age; free memory that was used before is pale. Addresses that are never "
        "used are omitted, so arenas and segments are adjacent.",
        [
            map_figure(
                f"{key}-map-{place}",
                mapped.name,
                f"({mapped.role}): {holds(mapped.run)}",
                map_data(mapped, findings, oldest, top),
                still(mapped.map, oldest, top),
            )
            for place, mapped in enumerate(findings.mapped)
        ],
    )


def _pins(mapped: Mapped, key: str) -> str:
    found = mapped.pins
    share = found.free_bytes / found.heap_bytes if found.heap_bytes else 0.0
    tables = _pins_table("Objects with the most free memory around them", found.alone, key)
    if not mapped.run.resident:
        tables += _pins_table("Objects at the highest addresses", found.highest, key)
    opened = " open" if share >= _MUCH_FREE else ""
    return (
        f"<h4>{escape(mapped.name)} ({mapped.role})</h4>\n"
        f"<p>The heap's mapped bytes reach their peak of {spell_bytes(found.heap_bytes)} "
        f"after event {found.event:,}. At this event, {spell_bytes(found.live_bytes)} are live and "
        f"{spell_bytes(found.free_bytes)} ({spell_percent(share)}) are in free blocks. The "
        "remaining bytes are cached blocks, headers, rounding and tables.</p>\n"
        f'<details{opened}><summary>objects that pin free memory</summary><div class="pair">\n'
        f"{tables}</div></details>"
    )


def _pins_table(title: str, pins: Sequence[Pin], key: str) -> str:
    sites = any(pin.place is not None for pin in pins)
    names = ("object", "bytes", "address", "since event", "free around", *(["site"] * sites))
    rows = [
        (
            f"{pin.object:,}",
            f"{pin.requested:,}",
            "mapped region" if pin.address >= MAPPED_FROM else spell_bytes(pin.address),
            f"{pin.since:,}",
            spell_bytes(pin.holds),
        )
        for pin in pins
    ]
    heads = "".join(f'<th scope="col">{name}</th>' for name in names)
    body = "\n".join(
        f"<tr>{''.join(f'<td class=number>{escape(cell)}</td>' for cell in row)}"
        + (f"<td class=place>{_to_stack(pin, key)}</td>" if sites else "")
        + "</tr>"
        for row, pin in zip(rows, pins, strict=True)
    )
    return (
        f'<table class="pins"><caption>{title}</caption><thead><tr>{heads}</tr></thead>\n'
        f"<tbody>\n{body}\n</tbody></table>\n"
    )


def _to_stack(pin: Pin, key: str) -> str:
    """Return the code location of a pin, as a link to its call path in the flame graph."""
    place = escape(pin.place or "")
    return f'<a href="#{key}-flame" data-site="{pin.site}">{place}</a>' if pin.site else place


def _wastes(findings: Findings) -> str:
    table = html(waste_table(findings.wastes), sizes=True)
    real = (
        " Real allocators, measured on this machine, report only their total."
        if findings.natives
        else ""
    )
    return (
        "<p>Each heap is shown at the peak of its mapped bytes, including headers and tables."
        f"{real}</p>\n"
        f'{waste_chart(findings.wastes)}<div class="wide">{table}</div>'
    )


def _free_blocks(findings: Findings) -> str:
    shown = findings.mapped[:2]
    titles = [one.name for one in shown]
    free = [one.free for one in shown]
    counts = " ".join(
        f"The heap of {escape(one.name)} has {one.run.counters.free_blocks_mean:,.0f} free blocks "
        f"on average and {one.run.counters.free_blocks_peak:,} at most."
        for one in shown
    )
    return f"<p>{counts}</p>\n{free_sizes_chart(free, titles)}"


def _trace(findings: Findings) -> str:
    sentences = " ".join(escape(sentence) for sentence in about_trace(findings))
    return f"<p>{sentences}</p>\n{lives_chart(findings.spread)}"


def _again(findings: Findings) -> str:
    best = findings.best
    options = _options(best)
    name = escape(shlex.quote(findings.given))
    return (
        "<p>These commands print the verdict, the ranking and the statistics:</p>\n"
        f"<pre>simalloc settings {name}\nsimalloc run {name}{options}\n"
        f"simalloc info {name}</pre>\n"
        "<p>This Python code draws the maps and the charts. It also prints the objects that pin "
        "the heap:</p>\n"
        f"<pre>{escape(_code(findings))}</pre>\n"
        f"<p>SHA-256 of the trace's events: <code>{findings.trace.sha256()}</code>.</p>"
    )


def _options(run: Run) -> str:
    scale = f" --scale {run.scale}" if run.scale != 16 else ""
    own = RunOptions().resolved(run.policy).realloc_rule
    return scale + (f" --realloc {run.realloc.value}" if run.realloc is not own else "")


def _code(findings: Findings) -> str:
    runs = [one.run for one in findings.mapped if one.run.resident is not None]
    names = [spell(run.policy) for run in runs]
    realloc = runs[0].realloc.value
    return _CODE.format(name=findings.given, names=names, scale=runs[0].scale, realloc=realloc)
