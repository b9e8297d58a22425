"""Heap maps of the programs on which size classes lose most and gain most against first fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from experiments.mallocs import Progress
from experiments.mallocs_of_today.measuring import YARDSTICK, Measured, text_of
from simalloc.heap import simulate
from simalloc.measure.folded_map import folded_map
from simalloc.measure.heap_map import COLUMNS, ROWS
from simalloc.measure.waste import Waste, waste
from simalloc.report.figures.heap_map import draw_heap_maps
from simalloc.trace.catalogue import open_source

CLASSES: Final = "jemalloc"
"""Malloc with size classes that the maps show."""

_DRAWN: Final = (YARDSTICK, CLASSES)


@dataclass(frozen=True)
class Drawn:
    """A program's maps as a PNG, and the kinds of bytes at peak live."""

    program: str
    image: bytes
    first_fit: Waste
    classes: Waste


def extremes(measured: Sequence[Measured]) -> tuple[str, str]:
    """Return the programs on which size classes lose most and gain most against first fit."""

    def lost(one: Measured) -> float:
        return one.policy_alone(CLASSES) - one.policy_alone(YARDSTICK)

    large = [one for one in measured if one.is_large]
    return max(large, key=lost).program, min(large, key=lost).program


def draw(program: str, progress: Progress) -> Drawn:
    """Draw a program under first fit in address order and under size classes."""
    source = open_source(program).in_memory()
    event = int(source.replayed.live.argmax())
    maps, parts = [], []
    for policy in _DRAWN:
        run = simulate(source, text_of(policy, mechanism=False), scale=1)
        with progress(f"{program}, map of {policy}", 2 * len(source)) as advance:
            drawn, _ = folded_map(
                source, run, columns=COLUMNS, rows=ROWS, named=0, progress=advance
            )
        maps.append(drawn)
        parts.append(waste(source, run, event))
    titles = [f"{program}, {policy}, without mechanism" for policy in _DRAWN]
    image, _ = draw_heap_maps(maps, titles)._repr_png_()
    return Drawn(program, image, *parts)
