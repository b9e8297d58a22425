"""Figure of sizes against lifetimes, with the shares of both beside it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from matplotlib.colors import LinearSegmentedColormap, LogNorm, to_rgb
from matplotlib.patches import Rectangle
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from simalloc.report.figures.axes import share_formatter
from simalloc.report.figures.portrait_live import BOUNDS, class_colours
from simalloc.report.palettes import Palette
from simalloc.report.units import spell_events
from simalloc.sizes import spell_bytes
from simalloc.trace.statistics import SHARES, LifeEvents, Quantiles
from simalloc.trace.statistics.object_sizes import SizeCounts

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis


_CELLS: Final = 4
"""Cells per doubling. For example, sizes of 16, 20, 24 and 28 bytes have one cell each."""
_MAX_CELLS: Final = 64 * _CELLS
"""Number of cells up to the largest possible size or lifetime."""
_GAP: Final = 2
"""Number of empty cells between lifetimes and the row of objects that are never freed."""
_FIRST_SHADE: Final = 0.3
_ROW: Final = 3
"""Height in cells of the row of objects that are never freed."""


@dataclass(frozen=True, eq=False)
class Cells:
    """Objects by size and lifetime, in quarters of a doubling; objects never freed by size alone.

    All arrays except `left` and `left_bytes` are about freed objects. Lifetimes count allocated
    bytes. A size or a lifetime of 0 counts as 1.
    """

    objects: NDArray[np.int64]
    """Number of freed objects, shape (lifetimes, sizes)."""
    bytes: NDArray[np.int64]
    left: NDArray[np.int64]
    """Number of objects that are never freed, shape (sizes,)."""
    left_bytes: NDArray[np.int64]
    size_marks: NDArray[np.int64]
    """Sizes that 90, 99 and 99.9 % of all objects do not exceed."""
    lifetime_marks: NDArray[np.int64]
    """Lifetimes that 90, 99 and 99.9 % of the freed objects do not exceed."""

    @property
    def most(self) -> int:
        """Maximum number of objects in a cell, at least 2."""
        return max(2, int(self.objects.max(initial=0)), int(self.left.max(initial=0)))

    @property
    def first(self) -> int:
        """Column of the smallest size."""
        return int(np.argmax((self.objects.sum(axis=0) + self.left) > 0))

    @property
    def lowest(self) -> int:
        """Row of the shortest lifetime."""
        return int(np.argmax(self.objects.any(axis=1)))


class CellCounts:
    """Counts lives by cell. Add all lives, then call `narrow`; repeat until `cells` is not None."""

    def __init__(self, allocated: int) -> None:
        self._objects, self._bytes = (
            np.zeros((_MAX_CELLS, _MAX_CELLS), np.int64) for _ in range(2)
        )
        self._left, self._left_bytes = (np.zeros(_MAX_CELLS, np.int64) for _ in range(2))
        self._sizes = SizeCounts()
        self._lifetimes = Quantiles(allocated)
        self._counted = False

    @property
    def cells(self) -> Cells | None:
        """Counts by cell, or None until the marks of lifetimes are known."""
        lifetime_marks = self._lifetimes.found
        if lifetime_marks is None:
            return None
        columns = _used(self._left + self._objects.sum(axis=0))
        rows = _used(self._objects.sum(axis=1))
        return Cells(
            self._objects[:rows, :columns],
            self._bytes[:rows, :columns],
            self._left[:columns],
            self._left_bytes[:columns],
            np.array(self._sizes.reaching(SHARES), np.int64),
            np.array(lifetime_marks if self._objects.any() else (), np.int64),
        )

    def add(self, events: LifeEvents) -> None:
        """Count the lives that end in the next events."""
        ended = events.ended
        if not events.last:
            self._lifetimes.add(ended.lifetime)
        if self._counted:
            return
        self._sizes.add(events)
        column = _cell(ended.size)
        if events.last:
            np.add.at(self._left, column, 1)
            np.add.at(self._left_bytes, column, ended.size)
        else:
            cell = (_cell(ended.lifetime), column)
            np.add.at(self._objects, cell, 1)
            np.add.at(self._bytes, cell, ended.size)

    def narrow(self) -> None:
        """Narrow down the marks of lifetimes after all lives have been added."""
        self._counted = True
        self._lifetimes.narrow()


def _used(counts: NDArray[np.int64]) -> int:
    """Return the length without trailing zeros, at least 1."""
    return int(np.flatnonzero(counts).max(initial=0)) + 1


def draw_cells(axes: Axes, cells: Cells, palette: Palette) -> None:
    """Draw the number of objects by size and lifetime."""
    rows, columns = cells.objects.shape
    ramp, norm = _ramp(palette), LogNorm(1, cells.most)
    _shade(axes, cells.objects, (0, rows), ramp, norm)
    if cells.left.any():
        _shade(axes, cells.left[None, :], (rows + _GAP, rows + _GAP + _ROW), ramp, norm)
        axes.axhline((rows + _GAP / 2) / _CELLS, color=palette.faint, linewidth=0.4)
    axes.set_xlim(cells.first / _CELLS - 0.5, columns / _CELLS + 0.5)
    axes.set_ylim(cells.lowest / _CELLS - 0.5, _top(cells))
    _powers(axes.xaxis, cells.first, columns)
    never = (rows + _GAP + _ROW / 2) / _CELLS if cells.left.any() else None
    _powers(axes.yaxis, cells.lowest, rows, never)
    axes.set_xlabel("size (bytes requested)")
    axes.set_ylabel("lifetime (bytes allocated meanwhile)")
    axes.grid(alpha=0.25)
    axes.set_axisbelow(True)
    _draw_key(axes, cells.most, palette)


def _ramp(palette: Palette) -> LinearSegmentedColormap:
    """Return shades between the paper and the ink. The first shade contrasts with the paper."""
    paper, middle = np.array(to_rgb(palette.paper)), np.array(to_rgb(palette.lines[0]))
    first = tuple(_FIRST_SHADE * middle + (1 - _FIRST_SHADE) * paper)
    return LinearSegmentedColormap.from_list("", [first, palette.lines[0], palette.ink])


def _shade(
    axes: Axes,
    counts: NDArray[np.int64],
    rows: tuple[int, int],
    ramp: LinearSegmentedColormap,
    norm: LogNorm,
) -> None:
    axes.imshow(
        np.ma.masked_equal(counts, 0),
        extent=(0, counts.shape[1] / _CELLS, rows[0] / _CELLS, rows[1] / _CELLS),
        origin="lower",
        aspect="auto",
        interpolation="nearest",
        cmap=ramp,
        norm=norm,
    )


def draw_sizes(axes: Axes, cells: Cells, palette: Palette) -> None:
    """Draw the share of objects, in the colours of their classes, and of bytes at each size."""
    objects = cells.objects.sum(axis=0) + cells.left
    edges = np.arange(len(objects) + 1) / _CELLS
    kind = np.searchsorted(BOUNDS, np.exp2(edges[:-1]), side="right")
    axes.bar(
        edges[:-1], _shares(objects), 1 / _CELLS, align="edge", color=class_colours(palette)[kind]
    )
    held = cells.bytes.sum(axis=0) + cells.left_bytes
    axes.stairs(_shares(held), edges, color=palette.accent, linewidth=1.0)
    axes.set_ylabel("share")
    axes.yaxis.set_major_locator(MaxNLocator(3, steps=[1, 2, 5, 10]))
    axes.yaxis.set_major_formatter(share_formatter())
    axes.tick_params(labelbottom=False)
    for at in _log(cells.size_marks):
        axes.axvline(at, color=palette.ink, linewidth=0.7, linestyle=(0, (2, 2)))
    left, right = axes.get_xlim()
    for at, label in _labels(cells.size_marks, 0.1 * (right - left)):
        axes.annotate(
            label, (at, 1.0), (0, 2), xycoords=("data", "axes fraction"),
            textcoords="offset points", ha="center", va="bottom", fontsize=6.5,
        )  # fmt: skip


def draw_lifetimes(axes: Axes, cells: Cells, palette: Palette) -> None:
    """Draw the share of objects and of bytes at each lifetime, and of objects never freed."""
    rows = len(cells.objects)
    objects = np.append(cells.objects.sum(axis=1), cells.left.sum())
    shares = _shares(objects)
    held = _shares(np.append(cells.bytes.sum(axis=1), cells.left_bytes.sum()))
    edges = np.arange(rows + 1) / _CELLS
    axes.barh(edges[:-1], shares[:-1], 1 / _CELLS, align="edge", color=palette.faint)
    axes.stairs(held[:-1], edges, orientation="horizontal", color=palette.accent, linewidth=1.0)
    if cells.left.any():
        below, height = (rows + _GAP) / _CELLS, _ROW / _CELLS
        axes.add_patch(Rectangle((0, below), shares[-1], height, color=palette.faint, linewidth=0))
        axes.plot([held[-1]] * 2, [below, below + height], color=palette.accent, linewidth=1.4)
    axes.set_xlim(0, 1.08 * max(shares.max(initial=0), held.max(initial=0), 0.01))
    axes.xaxis.set_major_locator(MaxNLocator(3, steps=[1, 2, 5, 10]))
    axes.xaxis.set_major_formatter(share_formatter())
    axes.set_xlabel("share")
    axes.tick_params(labelleft=False)
    for at in _log(cells.lifetime_marks):
        axes.axhline(at, color=palette.ink, linewidth=0.7, linestyle=(0, (2, 2)))
    for at, label in _labels(cells.lifetime_marks, 0.05 * _top(cells)):
        axes.annotate(
            label, (1.0, at), (0, 1), xycoords=("axes fraction", "data"),
            textcoords="offset points", ha="right", va="bottom", fontsize=6.5,
        )  # fmt: skip


def _draw_key(axes: Axes, most: int, palette: Palette) -> None:
    """Draw the scale of colours below the diagonal, where no cell can be.

    A lifetime is at least as long as the object is large, because it counts the object's bytes.
    """
    inset = axes.inset_axes((0.62, 0.13, 0.33, 0.035))
    inset.imshow(np.linspace(0, 1, 64)[None, :], aspect="auto", cmap=_ramp(palette))
    inset.set_xticks([0, 63], ["1", spell_events(most)])
    inset.set_yticks([])
    inset.tick_params(length=0, labelsize=6.5, pad=2)
    inset.set_title("objects", fontsize=6.5, pad=2, loc="center")
    inset.spines[:].set_visible(False)


def _cell(values: NDArray[np.int64]) -> NDArray[np.int64]:
    cell: NDArray[np.int64] = np.floor(_log(values) * _CELLS).astype(np.int64)
    return cell


def _log(values: NDArray[np.int64]) -> NDArray[np.float64]:
    logarithm: NDArray[np.float64] = np.log2(np.maximum(values, 1).astype(np.float64))
    return logarithm


def _labels(marks: NDArray[np.int64], apart: float) -> list[tuple[float, str]]:
    """Return positions and labels of marks. Marks closer than `apart` doublings share a label."""
    labels: list[tuple[float, str]] = []
    for at, share in zip(_log(marks).tolist(), SHARES, strict=False):
        text = f"{100 * share:.4g}"
        if labels and at - labels[-1][0] < apart:
            labels[-1] = (at, f"{labels[-1][1]}, {text}")
        else:
            labels.append((at, text))
    return [(at, f"{text} %") for at, text in labels]


def _shares(counts: NDArray[np.int64]) -> NDArray[np.float64]:
    shares: NDArray[np.float64] = counts / max(1, int(counts.sum()))
    return shares


def _top(cells: Cells) -> float:
    rows = len(cells.objects) + (_GAP + _ROW if cells.left.any() else 0)
    return rows / _CELLS + 0.5


def _powers(axis: Axis, first: int, end: int, never: float | None = None) -> None:
    """Mark cells from `first` to before `end` at powers of two, and the row of unfreed objects."""
    low, high = first // _CELLS, -(-end // _CELLS)
    step = next(step for step in (1, 2, 5, 10) if high - low <= 7 * step)
    marks = {
        float(power): spell_bytes(2.0**power) for power in range(low, high) if not power % step
    }
    if never is not None:  # the label has two lines and would cover a mark just below
        marks = {power: mark for power, mark in marks.items() if never - power >= step / 2}
        marks[never] = "never\nfreed"
    axis.set_ticks(list(marks), list(marks.values()))
