"""The explanatory page: agreements with the paper, differences, and the best explanations.

The text is in `page.md`; its figures come from the run. A test
(tests/papers/test_johnstone_wilson_tables.py) checks that docs shows the same figures. If they
change, read the text again.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil
from pathlib import Path
from typing import Any, Final

from experiments.johnstone_wilson import (
    consistency,
    findings,
    growth_steps,
    growth_unit,
    pinned,
    sections,
)
from experiments.johnstone_wilson.alterations import STDIO_BUFFER
from experiments.johnstone_wilson.fragmentation import NUMBERS, Runs, comparison
from experiments.johnstone_wilson.growth_unit import (
    DESCRIBED,
    PRINTED,
    ROWS_4K,
    SCALE,
    TRUTHS,
    pinned_live,
)
from experiments.johnstone_wilson.heaps import printed_live_at_peak
from experiments.johnstone_wilson.measuring import Results
from experiments.johnstone_wilson.pinned import MISSING_BYTES
from experiments.johnstone_wilson.programs import AVAILABLE, GENUINE, MISSING, RECONSTRUCTED
from experiments.johnstone_wilson.published import catalogue, label, programs, table
from experiments.johnstone_wilson.replays import Job, percent
from experiments.johnstone_wilson.sensitivity import CHOICES, LARGE
from experiments.johnstone_wilson.variants import AS_DESCRIBED, AS_PRINTED
from experiments.output import Exhibit, fill_page, listed

PAGE: Final = "johnstone-wilson.md"
FIGURE: Final = "johnstone-wilson-figure-1.png"

_WORDS: Final = Path(__file__).with_name("page.md")
_TESTED: Final = tuple(program for program in GENUINE if program != "p2c")
"""Programs that were not used to decide the choices on the list."""


def page(results: Results, exhibits: Mapping[str, Exhibit]) -> str:
    """Return the page as Markdown."""
    facts = {
        **_cells(results.runs),
        **_setting(),
        **_growth(results),
        **_agreement(results),
        **_at_pinned_live_bytes(results),
        **_orders(results.runs),
        **_espresso(results),
        **_other_programs(results),
        **_reconstructed(results.runs),
    }
    return fill_page(_WORDS, facts, exhibits)


def _cells(runs: Runs) -> dict[str, Any]:
    """Return published cells, and cells measured with growth as printed, by table, row, column."""
    return {
        "basic": table(1).cells,
        "cells": {number: table(number).cells for number in NUMBERS},
        "here": {
            number: {
                policy: {
                    program: percent(runs[Job(program, text)], number) for program in AVAILABLE
                }
                for policy, text in AS_PRINTED.policies.items()
            }
            for number in NUMBERS
        },
    }


def _setting() -> dict[str, Any]:
    impossible = [
        f"{label(policy)} {third.text} against {fourth.text}"
        for policy, _, third, fourth in consistency.impossible_pairs()
    ]
    return {
        "paper": catalogue()["paper"],
        "genuine": listed([label(program) for program in GENUINE]),
        "reconstructed": listed([label(program) for program in RECONSTRUCTED]),
        "missing": " ".join(MISSING.values()),
        "impossible": listed(impossible),
        "impossible_count": len(impossible),
    }


def _growth(results: Results) -> dict[str, Any]:
    fits = [growth_unit.column_fit(program, ROWS_4K, PRINTED) for program in programs()]
    missed = [f"{label(fit.program)}'s {value.text}" for fit in fits for value in fit.missed]
    p2c, pinned_from = results.described["p2c"].peak_bytes.amount, pinned_live("p2c")
    return {
        "scale": SCALE,
        "described": DESCRIBED,
        "printed": PRINTED,
        "described_kib": DESCRIBED * SCALE // 1024,
        "printed_kib": PRINTED * SCALE // 1024,
        "grid_hits": sum(fit.hits for fit in fits),
        "grid_values": sum(len(fit.values) for fit in fits),
        "grid_missed": listed(missed),
        "chance": growth_unit.chance(ROWS_4K, PRINTED),
        "p2c_live_stdio": p2c + 2 * STDIO_BUFFER,
        "p2c_outside": int(pinned_from[0]) - p2c - 2 * STDIO_BUFFER,
        "truth": TRUTHS[-1],
        "truth_chance": growth_unit.chance(ROWS_4K, PRINTED, truth=TRUTHS[-1]),
        "step_espresso": 100 * PRINTED / results.described["espresso"].peak_bytes.amount,
        "step_perl": 100 * PRINTED / results.described["perl"].peak_bytes.amount,
    }


def _agreement(results: Results) -> dict[str, Any]:
    runs = results.runs
    near = {one.variant.key: one for one in findings.closeness(runs) if one.number == 3}
    waits = findings.equal_waits(results.described)
    gaps = findings.statistics_gaps(results.described, ("espresso", "p2c"))
    return {
        **sections.verdicts(results.described),
        "classes_gap": gaps[2],
        "sizes_gap": gaps[7],
        "range_best_fit": _range("best-fit-ao-8k", runs),
        "range_first_fit": _range("first-fit-ao-8k", runs),
        "near_printed": near[AS_PRINTED.key].within(0.1),
        "near_described": near[AS_DESCRIBED.key].within(0.1),
        "near_cells": len(near[AS_PRINTED.key].distances),
        "buddy_spread": findings.widest_choice(CHOICES[0], runs),
        "objects_gaps": listed([f"{gap:+,}" for gap in findings.objects_gaps(results.described)]),
        "waits_equal": waits[0],
        "waits_cells": waits[1],
    }


def _at_pinned_live_bytes(results: Results) -> dict[str, Any]:
    found = {(one.program, one.how): one for one in pinned.agreements(results.runs)}
    lacking = findings.lacking_16k(results.described)
    return {
        "agreement": {
            name: {how: found[name, how] for how in ("one", "as recorded")}
            for name in MISSING_BYTES
        },
        "lacking_16k": listed(
            [f"{label(name)} {here} of {said}" for name, (said, here) in lacking.items()]
        ),
    }


def _orders(runs: Runs) -> dict[str, Any]:
    """Return the order of the sequential fits with intervals, as recorded and pinned."""
    return {
        f"taus_{number}{name}": listed(
            [
                f"{label(program)} {tau.value:.2f} ({tau.low:.2f} to {tau.high:.2f})"
                for program in _TESTED
                if (tau := pinned.order(program, number, runs, how)).value is not None
            ]
        )
        for number in NUMBERS
        for name, how in (("", "one"), ("_recorded", "as recorded"))
    }


def _espresso(results: Results) -> dict[str, Any]:
    early = findings.early_request(results)
    extra = MISSING_BYTES["espresso"]
    return {
        "early": early,
        "espresso_extra": extra,
        "early_and_extra": early.live + extra,
        **{
            f"live_{name}": printed_live_at_peak("espresso", policy).spell()
            for name, policy in (
                ("first_fit", "first-fit-ao"),
                ("next_fit", "next-fit-ao"),
                ("binary_buddy", "binary-buddy"),
            )
        },
    }


def _other_programs(results: Results) -> dict[str, Any]:
    sizes = findings.large_sizes(results.traces["gcc"], LARGE)
    perl = round(float(pinned_live("perl").mean()))
    heap = PRINTED * (ceil(perl / PRINTED) + growth_steps.printed_steps("perl", "best-fit-ao"))
    at_request = findings.perl_at_request(results)
    heaps = {heap for heap, _ in at_request.values()}
    ((_, live),) = {(0, live) for _, live in at_request.values()}
    objects = table(1).cells["ghostscript"]["num objects"].value
    return {
        "perl_request": int(results.traces["perl"].size[findings.PERL_REQUEST]),
        "perl_request_live": live,
        "perl_request_heaps": " or ".join(f"{heap:,.0f}" for heap in sorted(heaps)),
        "perl_printed_live": printed_live_at_peak("perl", "best-fit-ao").spell(),
        "perl_extra": printed_live_at_peak("perl", "best-fit-ao").middle - live,
        "large_objects": sum(sizes.values()),
        "large_sizes": listed([f"{size:,}" for size in sizes]),
        "large_kib": LARGE // 1024,
        "fewer_objects": 100 * (1 - results.described["ghostscript"].counts.lives / objects),
        "ghostscript_objects": results.described["ghostscript"].counts.lives,
        "perl_heap": heap,
        "perl_heap_steps": heap // PRINTED,
        "perl_printed_steps": growth_steps.printed_steps("perl", "best-fit-ao"),
        "perl_here_steps": growth_steps.measured_steps("perl", "best-fit-ao", results.runs),
    }


def _reconstructed(runs: Runs) -> dict[str, Any]:
    """Return the counts of reconstructed cells and of near cells among them."""
    near = [
        abs(here - printed) <= max(1, printed / 100)
        for number in NUMBERS
        for _, program, printed, here in comparison(number, AS_PRINTED, runs).pairs()
        if program in RECONSTRUCTED
    ]
    return {"reconstructed_cells": len(near), "reconstructed_near": sum(near)}


def _range(policy: str, runs: Runs) -> str:
    """Return the range of measure #4 on the genuine traces."""
    text = AS_PRINTED.policies[policy]
    values = [percent(runs[Job(program, text)], 4) for program in GENUINE]
    return f"{min(values):.2f} to {max(values):.2f}"
