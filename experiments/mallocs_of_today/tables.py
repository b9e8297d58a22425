"""The tables of the page: one per question over all programs, and some by program."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import median
from typing import Final

from experiments.mallocs_of_today.measuring import (
    ALONE,
    HUGE,
    MALLOCS,
    WHOLE,
    YARDSTICK,
    Measured,
    resident_of,
)
from experiments.mallocs_of_today.running import Results
from experiments.mallocs_of_today.seeds import RANDOM, Seeded
from simalloc.heap import Footprint, Run
from simalloc.heap.run_options import PAGE
from simalloc.report import Rounded, Table
from simalloc.report.table import Value

LARGEST: Final = 20_000_000
"""Minimum peak live bytes of the largest programs."""

_TIMES: Final = ("peak", "mean", "end")


def tables(results: Results) -> dict[str, Table]:
    """Return the tables of the page."""
    measured = results.replays
    large = [one for one in measured if one.is_large]
    return {
        "short": _short(measured),
        "resident": _summary("Resident", large, resident_of),
        "mapped": _summary("Mapped", large, lambda run: run.mapped),
        "pages": _summary("Pages with a live byte", large, lambda run: run.occupied.get(PAGE)),
        "musl": _musl(large),
        **by_program(measured),
        "seeds": _seeds(results.seeds),
    }


def by_program(measured: Sequence[Measured]) -> dict[str, Table]:
    """Return the tables with one row per program."""
    return {"whole": _whole(measured), "alone": _alone(measured), "final": _final(measured)}


def _short(measured: Sequence[Measured]) -> Table:
    """Return one row per malloc: the figures of the page's section "In short"."""
    large = [one for one in measured if one.is_large]
    largest = [one for one in large if one.live >= LARGEST]
    live = sum(one.live for one in large)
    smallest = min(measured, key=lambda one: one.live)
    rows: list[Sequence[Value]] = []
    for name in MALLOCS:
        resident = [one.resident(name).peak_bytes for one in large]
        rows.append(
            (
                name,
                *(
                    sum(min(MALLOCS, key=one.peak) == name for one in some)
                    for some in (large, largest)
                ),
                Rounded(sum(resident) / live, 2),
                _spread([one.peak(name) for one in large]),
                _spread([one.policy_alone(name) for one in large]),
                _spread([one.pages_peak(name) for one in large]),
                _spread([one.returned(name) for one in large]),
                round(smallest.resident(name).peak_bytes - smallest.live),
            )
        )
    columns = (
        "malloc",
        f"lowest resident peak, of {len(large)} programs",
        f"lowest of {len(largest)} largest",
        "total resident peaks / total peak live",
        "resident, % over live",
        "placement, % over live",
        "pages with a live byte, % over live",
        "returned by the end, % of live",
        f"resident beyond live, {smallest.program}, bytes",
    )
    return Table("Memory under each malloc; medians (minimum to maximum)", columns, rows)


def _spread(values: Sequence[float]) -> str:
    """Return the median with the minimum and the maximum, in percent."""
    middle, least, most = (100 * of(values) for of in (median, min, max))
    return f"{middle:.1f} ({least:.1f} to {most:.1f})"


def _percent(value: float) -> Rounded:
    return Rounded(100 * value, 1)


def _times(footprint: Footprint) -> tuple[float, float, float]:
    return footprint.peak_bytes, footprint.mean_bytes, footprint.final_bytes


def _summary(
    what: str, measured: Sequence[Measured], of: Callable[[Run], Footprint | None]
) -> Table:
    """Return the medians over programs of the footprints from `of`, beside the live bytes."""

    def medians(runs: Sequence[Run | None]) -> Sequence[Value]:
        footprints = [of(run) for run in runs if run is not None]
        ratios = [
            [value / one.live for value in _times(footprint)]
            for one, footprint in zip(measured, footprints, strict=False)
            if footprint is not None
        ]
        return [_percent(median(values)) for values in zip(*ratios, strict=True)] or [None] * 3

    lives = [(1.0, one.mean_live / one.live, one.final_live / one.live) for one in measured]
    live = [_percent(median(values)) for values in zip(*lives, strict=True)]
    rows: list[Sequence[Value]] = [("live", *live, *live)]
    for name in (*ALONE, HUGE):
        whole = medians([one.whole.get(name) for one in measured])
        alone = medians([one.alone.get(name) for one in measured])
        if any(value is not None for value in (*whole, *alone)):
            rows.append((name, *whole, *alone))
    columns = ("", *_TIMES, *(f"policy alone: {time}" for time in _TIMES))
    return Table(f"{what}, % of peak live, medians", columns, rows)


def _musl(measured: Sequence[Measured]) -> Table:
    """Return musl's resident bytes relative to glibc's: at the peak, in the mean, at the end."""
    rows: list[Sequence[Value]] = []
    for place, time in enumerate(_TIMES):
        ratios = {
            one.program: _times(one.resident("musl"))[place]
            / _times(one.resident("ptmalloc"))[place]
            for one in measured
        }
        least, most = min(ratios, key=ratios.__getitem__), max(ratios, key=ratios.__getitem__)
        less = sum(ratio < 1 for ratio in ratios.values())
        extremes = (f"{100 * ratios[name]:.1f} ({name})" for name in (least, most))
        rows.append((time, _percent(median(ratios.values())), *extremes, less))
    columns = ("", "median", "minimum", "maximum", "programs with less")
    return Table("Resident under musl, % of resident under glibc's malloc", columns, rows)


def _whole(measured: Sequence[Measured]) -> Table:
    rows: list[Sequence[Value]] = [
        (one.program, one.live, *(_percent(one.peak(name)) for name in WHOLE)) for one in measured
    ]
    return Table("Resident at the peak, % over peak live", ("trace", "peak live", *WHOLE), rows)


def _alone(measured: Sequence[Measured]) -> Table:
    names = (YARDSTICK, *MALLOCS)
    rows: list[Sequence[Value]] = [
        (one.program, *(_percent(one.policy_alone(name)) for name in names)) for one in measured
    ]
    title = "The policy alone: pages with a live byte at the peak, % over peak live"
    return Table(title, ("trace", *names), rows)


def _final(measured: Sequence[Measured]) -> Table:
    rows: list[Sequence[Value]] = [
        (
            one.program,
            _percent(one.final_live / one.live),
            *(_percent(one.resident(name).final_bytes / one.live) for name in WHOLE),
        )
        for one in measured
    ]
    return Table("Resident at the end, % of peak live", ("trace", "live", *WHOLE), rows)


def _seeds(found: Sequence[Seeded]) -> Table:
    rows: list[Sequence[Value]] = [
        (
            one.program,
            *(" to ".join(f"{100 * end:.1f}" for end in one.ranges[name]) for name in RANDOM),
        )
        for one in found
    ]
    columns = ("trace", *RANDOM)
    return Table(
        "Resident peaks under other seeds, % of the peak with the model's own seed", columns, rows
    )
