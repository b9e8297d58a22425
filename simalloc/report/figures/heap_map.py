"""Figure of a heap map: live objects and their ages, free memory, and the pins of the heap."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import matplotlib as mpl
import numpy as np
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Colormap, ListedColormap, LogNorm, to_rgb
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter
from numpy.typing import NDArray

from simalloc.report.apart import beside
from simalloc.report.figures.axes import bytes_axis, events_axis
from simalloc.report.figures.picture import Picture
from simalloc.report.figures.style import new_figure, styled
from simalloc.report.figures.titles import panel_title
from simalloc.report.palettes import Palette, Theme
from simalloc.report.units import spell_events

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from simalloc.measure import HeapMap, Pin, Pins

_STRENGTH: Final = 0.75
"""Exponent of the live share of a cell; below 1, so that small single blocks stay visible."""


_MARGINS: Final = {"left": 0.12, "right": 0.93, "bottom": 0.135, "top": 0.92, "wspace": 0.05}
"""Margins around maps, as shares of the figure. The longest usual numbers fit in them."""

_LINE: Final = 0.045
"""Height of a line of a heading, as a share of the figure."""

_KEY: Final = (0.26, 0.2)
"""Width of the legend as a share of all maps together, and its height as a share of one map."""

_LABEL: Final = (0.06, 0.05)
"""Width and height of a number, as shares of the axes."""


def draw_heap_maps(
    maps: Sequence[HeapMap],
    titles: Sequence[str],
    *,
    pins: Sequence[Pins] = (),
    theme: Theme = "light",
    soon: bool = False,
) -> Picture:
    """Return a figure of the maps side by side, on the same axes and with the same colours.

    `pins`, one for each map, numbers the objects of their `alone` on the map. `soon` uses margins
    that usually fit. This halves the time, because no texts are measured.
    """
    with styled(theme) as palette:
        headings = [
            panel_title(beside(heap, title, "\n"), len(maps))
            for heap, title in zip(maps, titles, strict=True)
        ]
        figure = new_figure(3.4, 7.0, margins=_margins(headings) if soon else None)
        panels = figure.subplots(1, len(maps), sharey=True, squeeze=False)[0]
        norm = age_norm(maps)
        for axes, heap, heading in zip(panels, maps, headings, strict=True):
            draw_heap_map(axes, heap, palette, norm)
            axes.set_title(heading)
        top = max(float(heap.heap.max()) for heap in maps)
        lowest, shown = min(zip(panels, maps, strict=True), key=lambda pair: pair[1].heap.max())
        panels[0].set_ylim(0, max(1.03 * top, _top_with_key(shown, len(maps))))
        for axes, pinned in zip(panels, pins, strict=False):
            mark_pins(axes, pinned.alone, pinned.event, palette)
        panels[0].set_ylabel("address")
        bytes_axis(panels[0].yaxis, top)
        map_key(lowest, palette, ended=shown.mapped is None)
        age_bar(figure, panels, norm, palette)
    return figure


def _top_with_key(heap: HeapMap, panels: int) -> float:
    """Return the minimum upper limit of the addresses at which no legend covers the heap."""
    across, up = min(_KEY[0] * panels, 1), _KEY[1]
    behind = heap.heap[: max(1, round(across * len(heap.heap)))]
    return float(behind.max(initial=0)) / (1 - up)


def _margins(headings: Sequence[str]) -> dict[str, float]:
    """Return the margins, with space for the longest heading."""
    further = max(heading.count("\n") for heading in headings)
    return {**_MARGINS, "top": _MARGINS["top"] - _LINE * further}


def map_key(axes: Axes, palette: Palette, *, ended: bool) -> None:
    """Draw the legend of a map. If `ended`, it includes the line at the end of the heap."""
    end = [Line2D([], [], color=palette.ink, linewidth=0.8, label="end of the heap")]
    handles = [
        *(end if ended else []),
        Patch(facecolor=palette.free, edgecolor=palette.faint, linewidth=0.4, label="free"),
    ]
    axes.legend(handles=handles, loc="upper left", handlelength=1.4, borderaxespad=0.2)


def age_bar(figure: Figure, panels: Any, norm: LogNorm, palette: Palette) -> None:
    """Draw the scale of ages beside maps."""
    shades = ScalarMappable(norm, age_colours(palette))
    bar = figure.colorbar(shades, ax=panels, fraction=0.03, pad=0.02, aspect=30)
    bar.set_label("live, by age (events)")
    bar.outline.set_visible(False)
    bar.ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: spell_events(value)))
    bar.ax.minorticks_off()


def mark_pins(axes: Axes, pins: Sequence[Pin], until: int, palette: Palette) -> None:
    """Draw numbered objects on a map, each from its placement to the event `until`.

    The limits of the axes must be set. Numbers that would overlap are moved apart.
    """
    places = _label_places(axes, pins)
    for number, (pin, place) in enumerate(zip(pins, places, strict=True), start=1):
        middle = pin.address + pin.requested / 2
        axes.plot([pin.since, until], [middle, middle], color=palette.accent, linewidth=1.0)
        axes.annotate(
            str(number),
            (pin.since, middle),
            place,
            ha="center",
            va="center",
            arrowprops={"arrowstyle": "-", "color": palette.accent, "lw": 0.8, "shrinkB": 0},
            color=palette.ink,
            fontsize=6.5,
            bbox={
                "boxstyle": "circle,pad=0.15",
                "fc": palette.paper,
                "ec": palette.accent,
                "lw": 0.8,
            },
        )


def _label_places(axes: Axes, pins: Sequence[Pin]) -> list[tuple[float, float]]:
    """Return the positions of the numbers in events and bytes: left of their objects."""
    wide, tall = (
        share * (high - low)
        for share, (low, high) in zip(_LABEL, (axes.get_xlim(), axes.get_ylim()), strict=True)
    )
    places: dict[int, tuple[float, float]] = {}
    for number in sorted(range(len(pins)), key=lambda number: pins[number].address):
        across, up = pins[number].since - wide, pins[number].address
        near = [y for x, y in places.values() if abs(x - across) < wide]
        places[number] = across, max([up, *(y + tall for y in near)])
    return [places[number] for number in range(len(pins))]


def draw_heap_map(axes: Axes, heap: HeapMap, palette: Palette, norm: LogNorm) -> None:
    """Draw one map on axes."""
    left, right, bottom, top = heap.extent
    axes.imshow(
        heap_pixels(heap, palette, norm),
        extent=(left, right, bottom, top),
        origin="lower",
        aspect="auto",
        interpolation="antialiased",
    )
    if heap.mapped is None:
        edges = left + heap.cell_events * np.arange(len(heap.heap) + 1)
        end = np.append(heap.heap, heap.heap[-1:])
        axes.plot(edges, end, drawstyle="steps-post", color=palette.ink, linewidth=0.8)
    axes.set_xlim(left, heap.last_event)
    axes.set_xlabel("time (events)")
    events_axis(axes.xaxis)


def heap_pixels(heap: HeapMap, palette: Palette, norm: LogNorm) -> NDArray[np.uint8]:
    """Return the colours of the cells, shape (rows, columns, 4), transparent outside the heap."""
    rows = len(heap.live)
    ages = age_colours(palette)(norm(np.nan_to_num(heap.age, nan=1.0)))[..., :3]
    share = np.clip(heap.live, 0, 1)[..., None] ** _STRENGTH
    free = np.array(to_rgb(palette.free))
    colour = share * ages + (1 - share) * free
    inside = heap.mapped
    if inside is None:
        middle = heap.lowest_address + heap.cell_bytes * (np.arange(rows) + 0.5)
        inside = middle[:, None] < heap.heap[None, :]
    return (255 * np.dstack((colour, inside))).round().astype(np.uint8)


def age_colours(palette: Palette) -> Colormap:
    """Return the colours from the youngest to the oldest age."""
    shades = np.linspace(palette.youngest, palette.oldest, 256)
    return ListedColormap(mpl.colormaps["plasma"](shades))


def age_norm(maps: Sequence[HeapMap]) -> LogNorm:
    """Return the common scale of ages of maps: the four powers of ten below the oldest age."""
    oldest = max((float(np.nanmax(heap.age, initial=10)) for heap in maps), default=10)
    return LogNorm(max(1.0, oldest / 1e4), oldest, clip=True)
