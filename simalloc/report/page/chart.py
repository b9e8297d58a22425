"""Charts as SVG: lines, areas and bars on axes, in the colours of the reader's theme.

The coordinates of a panel are integers on a grid, which its frame scales.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simalloc.report.units import byte_step, spell_events
from simalloc.sizes import spell_bytes

INK: Final = "var(--ink)"
PAPER: Final = "var(--paper)"
FAINT: Final = "var(--faint)"
FREE: Final = "var(--free)"
LINES: Final = tuple(f"var(--line-{place})" for place in range(7))

_WIDTH: Final = 504
"""Width of a chart in units. Its letters are 7.5 units high."""
_LETTER: Final = 4.2
"""Width of a wide letter in units."""
_LONGEST: Final = 60
"""Maximum number of letters in a mark; longer marks are cut."""
_GAP: Final = 18
_ABOVE: Final = 16
_BELOW: Final = 28
_GRID: Final = (4000, 2000)
"""Number of steps of the grid, across and up."""


@dataclass(frozen=True)
class Axis:
    """One direction of a panel, from `low` to `high`, with marks at `ticks`."""

    name: str
    low: float
    high: float
    ticks: Sequence[float]
    spell: Callable[[float], str]
    is_log: bool = False

    def places(self, values: ArrayLike) -> NDArray[np.float64]:
        """Return the positions of values on the axis, from 0 to 1."""
        ends = np.array([self.low, self.high], np.float64)
        given = np.asarray(values, np.float64)
        if self.is_log:
            ends, given = np.log2(ends), np.log2(given)
        places: NDArray[np.float64] = (given - ends[0]) / (ends[1] - ends[0])
        return places


def bytes_axis(name: str, top: float, room: float = 1.05) -> Axis:
    """Return an axis of bytes from 0 to `room` times `top`."""
    step = byte_step(top)
    return Axis(name, 0, room * top, np.arange(0, room * top, step).tolist(), spell_bytes)


def events_axis(last: float) -> Axis:
    """Return an axis of events from 0 to `last`."""
    return time_axis("time (events)", max(last, 1), shortest=1)


def time_axis(name: str, last: float, shortest: float = 0) -> Axis:
    """Return an axis from 0 to `last`, with marks no closer than `shortest`."""
    power = 10 ** np.floor(np.log10(last / 5))
    step = next(step * power for step in (1, 2, 2.5, 5, 10) if step * power >= last / 5)
    ticks = np.arange(0, last * (1 + 1e-9), max(step, shortest))
    return Axis(name, 0, last, ticks.tolist(), spell_events)


def log_axis(name: str, low: float, high: float) -> Axis:
    """Return a logarithmic axis of bytes, marked at powers of two."""
    first, last = np.log2(low), np.log2(high)
    step = next(step for step in (1, 2, 5, 10, 20) if last - first <= 6 * step)
    powers = np.arange(step * np.ceil(first / step), last + 1e-9, step)
    return Axis(name, low, high, (2.0**powers).tolist(), spell_bytes, is_log=True)


@dataclass(frozen=True, eq=False)
class Panel:
    """Marks on one pair of axes."""

    across: Axis
    up: Axis
    title: str = ""
    is_rows: bool = False
    """True if the upward axis has names and the other axis has the measure."""
    marks: list[str] = field(default_factory=list)

    def line(self, x: ArrayLike, y: ArrayLike, colour: str, further: str = "") -> None:
        """Draw a line through points; `further` is CSS."""
        path = _path(self._on_grid(x, y))
        self.marks.append(f'<path class="line" style="stroke:{colour};{further}" d="{path}"/>')

    def area(
        self, x: ArrayLike, low: ArrayLike, high: ArrayLike, colour: str, opacity: float = 1.0
    ) -> None:
        """Fill the area between two lines."""
        upper, lower = self._on_grid(x, high), self._on_grid(x, low)
        path = _path(np.concatenate([upper, lower[::-1]]))
        self.marks.append(f'<path style="fill:{colour}" opacity="{opacity:g}" d="{path}z"/>')

    def blocks(
        self, left: ArrayLike, right: ArrayLike, low: ArrayLike, high: ArrayLike, style: str
    ) -> None:
        """Draw rectangles in one style, given as CSS."""
        begins, ends = self._on_grid(left, high), self._on_grid(right, low)
        path = "".join(
            f"M{x} {y}h{wide}v{tall}h{-wide}z"
            for (x, y), (wide, tall) in zip(begins.tolist(), (ends - begins).tolist(), strict=True)
        )
        self.marks.append(f'<path shape-rendering="crispEdges" style="{style}" d="{path}"/>')

    def _on_grid(self, x: ArrayLike, y: ArrayLike) -> NDArray[np.int64]:
        across, up = np.broadcast_arrays(self.across.places(x), 1 - self.up.places(y))
        return np.round(np.stack((across, up), axis=-1) * _GRID).astype(np.int64)


def _path(points: NDArray[np.int64]) -> str:
    """Return a path through points, without points on a straight line between their neighbours."""
    points = points[np.append(True, np.diff(points, axis=0).any(axis=1))]
    steps = np.diff(points, axis=0)
    (x, y), (further_x, further_y) = steps[:-1].T, steps[1:].T
    ahead = (x * further_y == y * further_x) & (x * further_x + y * further_y > 0)
    points = points[np.concatenate([[True], ~ahead, [True]])] if len(points) > 1 else points
    steps = np.diff(points, axis=0).ravel()
    return f"M{points[0, 0]} {points[0, 1]}l{' '.join(map(str, steps.tolist()))}"


def chart(label: str, panels: Sequence[Panel], height: float) -> str:
    """Return panels side by side with a common upward axis, as a figure `height` units high."""
    names = [_short(panels[0].up.spell(tick)) for tick in panels[0].up.ticks]
    left = 12 + _LETTER * max(map(len, names), default=0) + (12 if panels[0].up.name else 0)
    wide = (_WIDTH - left - 10 - _GAP * (len(panels) - 1)) / len(panels)
    above = _ABOVE if any(panel.title for panel in panels) else 6
    tall = height - above - _BELOW
    drawn = "".join(
        _framed(panel, left + place * (wide + _GAP), above, wide, tall, names if not place else ())
        for place, panel in enumerate(panels)
    )
    return (
        f'<figure class="drawn"><svg class="chart" role="img" aria-label="{escape(label)}" '
        f'viewBox="0 0 {_WIDTH} {height:g}" xmlns="http://www.w3.org/2000/svg">{drawn}</svg>'
        "</figure>\n"
    )


def _framed(
    panel: Panel, left: float, above: float, wide: float, tall: float, names: Sequence[str]
) -> str:
    """Return a panel with its axes; `left` and `above` are its upper left corner."""
    return (
        f'<g transform="translate({left:.1f} {above:g})">'
        + "".join(_axes(panel, wide, tall, names))
        + f'<svg width="{wide:.1f}" height="{tall:.1f}" viewBox="0 0 {_GRID[0]} {_GRID[1]}" '
        f'preserveAspectRatio="none">{"".join(panel.marks)}</svg></g>'
    )


def _axes(panel: Panel, wide: float, tall: float, names: Sequence[str]) -> Iterator[str]:
    across, up = panel.across, panel.up
    if panel.title:
        yield f'<text class="title" y="-5">{escape(panel.title)}</text>'
    xs = (across.places(across.ticks) * wide).tolist()
    ys = ((1 - up.places(up.ticks)) * tall).tolist()
    if panel.is_rows:
        yield f'<path class="grid" d="{"".join(f"M{x:.1f} 0v{tall:g}" for x in xs)}"/>'
    else:
        yield f'<path class="grid" d="{"".join(f"M0 {y:.1f}h{wide:.1f}" for y in ys)}"/>'
    marks = "".join(f"M{x:.1f} {tall:g}v3.5" for x in xs)
    if not panel.is_rows:
        marks += "M0 0" + f"v{tall:g}" + "".join(f"M0 {y:.1f}h-3.5" for y in ys)
    yield f'<path class="frame" d="M0 {tall:g}h{wide:.1f}{marks}"/>'
    for x, tick in zip(xs, across.ticks, strict=True):
        yield f'<text class="middle" x="{x:.1f}" y="{tall + 11:g}">{across.spell(tick)}</text>'
    yield f'<text class="middle" x="{wide / 2:.1f}" y="{tall + 23:g}">{across.name}</text>'
    for y, name in zip(ys, names, strict=False):
        yield f'<text class="end" x="-6" y="{y + 2.6:.1f}">{escape(name)}</text>'
    if names and up.name:
        aside = 12 + _LETTER * max(map(len, names))
        yield (
            f'<text class="middle" transform="translate({-aside:.1f} {tall / 2:.1f}) '
            f'rotate(-90)">{up.name}</text>'
        )


def _short(name: str) -> str:
    return name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…"


def key(*entries: tuple[str, str]) -> str:
    """Return a legend. Each entry is a colour, as a style in CSS, and its name."""
    spelled = "".join(
        f'<span><i style="{style}"></i> {escape(name)}</span> ' for style, name in entries
    )
    return f'<p class="codes">{spelled}</p>\n'


def filled(colour: str, opacity: float = 1.0) -> str:
    """Return the style of an area or a line for an entry of `key`."""
    return f"background:{colour}" + (f";opacity:{opacity:g}" if opacity < 1 else "")
