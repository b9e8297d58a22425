"""Figure of a real heap: the kinds of bytes in each arena, by address."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
from matplotlib.patches import Patch
from numpy.typing import NDArray

from simalloc.process import Part, ProcessError, Snapshot
from simalloc.process.glibc.chunks import BINNED, CACHED, FAST, TOP
from simalloc.report.figures.axes import bytes_axis, share_formatter
from simalloc.report.figures.picture import Picture
from simalloc.report.figures.style import new_figure, styled
from simalloc.report.palettes import Palette, Theme
from simalloc.sizes import spell_bytes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MAX_ARENAS: Final = 8
_CELLS: Final = 600
"""Number of cells into which the largest arena is divided."""

KINDS: Final = ("live", "in thread caches", "free inside", "free at the top", "free, not resident")
"""Kinds of the bytes of an arena. `live` includes malloc's own bytes."""


def draw_real_heap(snapshot: Snapshot, *, theme: Theme = "light") -> Picture:
    """Return a panel for each of the largest arenas: the share of each kind of bytes, by address.

    Addresses outside of the arena are left out. Raises `ProcessError` if no arena of glibc
    was read.
    """
    known = [
        (part, number)
        for number, part in enumerate(snapshot.parts[:-1])
        if np.any(snapshot.blocks.arena == number)
    ]
    if not known:
        raise ProcessError(f"{snapshot.name} has no arena of glibc's malloc; --plot needs one")
    shown = sorted(known, key=lambda pair: -pair[0].bytes)[:_MAX_ARENAS]
    shown.sort(key=lambda pair: pair[1])
    with styled(theme) as palette:
        figure = new_figure(1.0 + 1.1 * len(shown))
        panels = figure.subplots(len(shown), 1, sharex=True, squeeze=False)[:, 0]
        top = max(int(snapshot.blocks.size[_of(snapshot, number)].sum()) for _, number in shown)
        for axes, (part, number) in zip(panels, shown, strict=True):
            _draw_arena(axes, bytes_by_kind(snapshot, number, top / _CELLS), top, palette)
            axes.set_title(_title(part))
            axes.set_xlim(0, top)
        bytes_axis(panels[-1].xaxis, top)
        left = len(known) - len(shown)
        beside = f"; {left} smaller arenas are not drawn" if left else ""
        panels[-1].set_xlabel(f"address, from the start of the arena{beside}")
        _key(figure, palette, pages=snapshot.resident is not None)
    return figure


def bytes_by_kind(snapshot: Snapshot, arena: int, cell: float) -> NDArray[np.float64]:
    """Return the bytes of each of `KINDS` in each cell of an arena, shape (kinds, cells).

    `cell` is the number of bytes in a cell. The resident bytes of a block are assumed to be spread
    evenly over the block.
    """
    blocks = snapshot.blocks
    mine = np.flatnonzero(_of(snapshot, arena))
    mine = mine[np.argsort(blocks.address[mine], kind="stable")]
    size, state = blocks.size[mine], blocks.state[mine]
    ends = np.concatenate(([0], np.cumsum(size)))
    edges = np.append(np.arange(0, ends[-1], cell), ends[-1])
    free = {1: state == CACHED, 2: np.isin(state, (FAST, BINNED)), 3: state == TOP}
    is_free = free[1] | free[2] | free[3]
    there = np.where(is_free, blocks.resident[mine], size)
    columns = [there * ~is_free, *(there * free[kind] for kind in (1, 2, 3)), size - there]
    return np.array([
        np.diff(np.interp(edges, ends, np.concatenate(([0], np.cumsum(column)))))
        for column in columns
    ])  # fmt: skip


def _of(snapshot: Snapshot, arena: int) -> NDArray[np.bool_]:
    mine: NDArray[np.bool_] = snapshot.blocks.arena == arena
    return mine


def _title(part: Part) -> str:
    name = part.name if part.name == "main" else f"number {part.name}"
    return f"arena {name}: {spell_bytes(part.bytes)}, {spell_bytes(part.live)} of it live"


def _draw_arena(axes: Axes, found: NDArray[np.float64], top: int, palette: Palette) -> None:
    cells = found.sum(axis=0)
    edges = np.concatenate(([0.0], np.cumsum(cells)))
    shares = found / np.where(cells > 0, cells, 1)
    axes.stackplot(
        np.repeat(edges, 2)[1:-1],
        np.repeat(shares, 2, axis=1),
        colors=_colours(palette),
        linewidth=0,
    )
    axes.set_ylim(0, 1)
    axes.set_yticks((0, 0.5, 1))
    axes.yaxis.set_major_formatter(share_formatter())
    axes.set_ylabel("share")
    if edges[-1] < top:
        axes.axvline(edges[-1], color=palette.ink, linewidth=0.8)


def _colours(palette: Palette) -> list[str]:
    blue, orange, _, purple, *_ = palette.lines
    return [blue, purple, orange, palette.faint, palette.free]


def _key(figure: Picture, palette: Palette, *, pages: bool) -> None:
    kinds = KINDS if pages else KINDS[:-1]
    handles = [
        Patch(facecolor=colour, edgecolor=palette.faint, linewidth=0.4, label=kind)
        for kind, colour in zip(kinds, _colours(palette), strict=False)
    ]
    figure.legend(handles=handles, loc="outside upper left", ncols=len(handles), handlelength=1.4)
