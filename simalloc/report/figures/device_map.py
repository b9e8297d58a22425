"""Figure of a device's memory by segment over time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from matplotlib.collections import LineCollection

from simalloc.measure import DeviceMap
from simalloc.report.device_tables import DEFAULT
from simalloc.report.figures.axes import bytes_axis
from simalloc.report.figures.heap_map import age_bar, age_norm, draw_heap_map, map_key
from simalloc.report.figures.picture import Picture
from simalloc.report.figures.style import new_figure, styled
from simalloc.report.palettes import Palette, Theme
from simalloc.sizes import spell_bytes

if TYPE_CHECKING:
    from matplotlib.axes import Axes


_WORTH_A_LINE: Final = 1 / 200
"""Minimum height of a segment with a border, as a share of the figure."""


def draw_device_maps(maps: Sequence[DeviceMap], *, theme: Theme = "light") -> Picture:
    """Return a figure of the maps below each other, with the same axes and the same colours."""
    with styled(theme) as palette:
        figure = new_figure(0.4 + 2.6 * len(maps))
        panels = figure.subplots(len(maps), 1, sharex=True, sharey=True, squeeze=False)[:, 0]
        shown = [one.map for one in maps]
        norm = age_norm(shown)
        top = max(float(one.heap.max(initial=1)) for one in shown)
        for axes, one in zip(panels, maps, strict=True):
            draw_heap_map(axes, one.map, palette, norm)
            most = spell_bytes(int(one.reserved.max(initial=0)))
            axes.set_title(f"{one.settings or DEFAULT}: at most {most}")
            axes.set_ylim(0, 1.03 * top)
            axes.set_ylabel("memory")
            _borders(axes, one, top, palette)
            bytes_axis(axes.yaxis, top)
        for axes in panels[:-1]:
            axes.set_xlabel("")
        map_key(panels[0], palette, ended=False)
        age_bar(figure, panels, norm, palette)
    return figure


def _borders(axes: Axes, one: DeviceMap, top: float, palette: Palette) -> None:
    segments = one.segments
    tall = segments.size >= _WORTH_A_LINE * top
    low, high = segments.shown[tall], (segments.shown + segments.size)[tall]
    lines = [
        [(since, edge), (until, edge)]
        for edges in (low, high)
        for edge, since, until in zip(
            edges, segments.since[tall], segments.until[tall], strict=True
        )
    ]
    axes.add_collection(LineCollection(lines, colors=palette.paper, linewidths=0.3))
