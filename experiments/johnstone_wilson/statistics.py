"""Tables 1, 2, 5, 6 and 7: statistics of the programs' requests, independent of any policy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from experiments.johnstone_wilson.comparison import Comparison
from experiments.johnstone_wilson.published import table
from simalloc.trace import Trace
from simalloc.trace.statistics import Statistics, describe

HEADER: Final = 8
"""Bytes that table 2 includes in every object's size, probably for a header."""

Described = Mapping[str, Statistics]


def describe_all(traces: Mapping[str, Trace]) -> dict[str, Statistics]:
    """Return the statistics of each program's trace, by name."""
    return {program: describe(trace, added=HEADER) for program, trace in traces.items()}


def comparisons(described: Described) -> list[Comparison]:
    """Return tables 1, 2, 5, 6 and 7 beside the traces' own figures."""
    return [
        Comparison(table(1), {name: _basic(one) for name, one in described.items()}),
        Comparison(
            table(2),
            {name: _max_live(one) for name, one in described.items()},
            variant=f"with {HEADER} bytes added to each size",
        ),
        Comparison(table(5), {n: _waits(d.neighbours.objects) for n, d in described.items()}, "K"),
        Comparison(table(6), {n: _waits(d.neighbours.bytes) for n, d in described.items()}, "K"),
        Comparison(table(7), {name: _sizes(one) for name, one in described.items()}),
    ]


def _basic(described: Statistics) -> dict[str, float]:
    """Return a row of table 1, without the run time, which depends on the machine."""
    return {
        "Kbytes alloc'd": described.counts.bytes / 1024,
        "max objects": described.peak_objects.amount,
        "num objects": described.counts.lives,
        "max Kbytes": described.peak_bytes.amount / 1024,
        "avg lifetime": described.lifetimes.mean,
    }


def _max_live(described: Statistics) -> dict[str, float]:
    """Return a row of table 2: the maximum number of live objects in each class."""
    most = {size.upto: size.most_live for size in described.classes}
    columns = table(2).columns
    return {column: float(most.get(16 << place, 0)) for place, column in enumerate(columns)}


def _waits(waits: tuple[int, ...]) -> dict[str, float]:
    """Return a row of table 5 or 6, in K as printed: whole, rounded down, and at least 1."""
    columns = table(5).columns
    return {
        column: float(max(1, wait // 1024)) for column, wait in zip(columns, waits, strict=True)
    }


def _sizes(described: Statistics) -> dict[str, float]:
    """Return a row of table 7."""
    return dict(zip(table(7).columns, map(float, described.sizes.covering), strict=True))
