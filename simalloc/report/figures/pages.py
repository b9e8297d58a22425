"""Figure of the bytes in pages with live objects: a bar for each run and page size."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from simalloc.errors import SimallocError
from simalloc.policy import spell
from simalloc.report.figures.axes import bytes_axis
from simalloc.report.figures.picture import Picture
from simalloc.report.figures.style import new_figure_of_rows, styled
from simalloc.report.figures.titles import row_names
from simalloc.report.palettes import Palette, Theme
from simalloc.sizes import format_size

if TYPE_CHECKING:
    from simalloc.heap import Run


def draw_pages(runs: Sequence[Run], *, theme: Theme = "light") -> Picture:
    """Return a figure of the peak bytes of pages with at least one live byte, by run.

    A stroke marks the mean and a dot the end; the dashed line is the peak of live bytes. Raises
    `SimallocError` if `runs` is empty, or a run has no record of its pages (`occupied`).
    """
    sizes = list(dict.fromkeys(size for run in runs for size in run.occupied))
    if not sizes or any(set(run.occupied) != set(sizes) for run in runs):
        raise SimallocError("these runs have no record of their pages: simulate with occupied=...")
    with styled(theme) as palette:
        names = row_names(_names(runs))
        figure = new_figure_of_rows(names, bars=(len(sizes) + 1) * len(runs) // 2 + 1)
        axes = figure.add_subplot()
        height = 0.8 / len(sizes)
        for place, size in enumerate(sizes):
            rows = [row - 0.4 + height * (place + 0.5) for row in range(len(runs))]
            colour = palette.lines[place % len(palette.lines)]
            _draw_size(axes, rows, runs, size, height, colour, palette)
        most = max(run.occupied[size].peak_bytes for run in runs for size in sizes)
        for live in {run.max_live_bytes for run in runs}:
            axes.axvline(live, color=palette.ink, linestyle=(0, (4, 3)), linewidth=0.8)
        axes.plot(
            [], [], color=palette.ink, linestyle=(0, (4, 3)), linewidth=0.8, label="peak live"
        )
        axes.set_yticks(range(len(runs)), names)
        axes.tick_params(axis="y", length=0)
        axes.invert_yaxis()
        axes.spines["left"].set_visible(False)
        axes.set_xlim(0, 1.02 * most or 1)
        bytes_axis(axes.xaxis, most)
        axes.set_xlabel("pages with a live byte: peak; mean (stroke) and end (dot)")
        axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.02), borderaxespad=0.2)
    return figure


def _draw_size(
    axes: Any,
    rows: Sequence[float],
    runs: Sequence[Run],
    size: int,
    height: float,
    colour: str,
    palette: Palette,
) -> None:
    """Draw the bars of one page size."""
    footprints = [run.occupied[size] for run in runs]
    peaks = [one.peak_bytes for one in footprints]
    label, half = f"pages of {format_size(size)}", height / 2
    axes.barh(rows, peaks, height, color=colour, label=label, linewidth=0)
    for row, one in zip(rows, footprints, strict=True):
        axes.vlines(one.mean_bytes, row - half, row + half, color=palette.paper, linewidth=1.2)
    ends = [one.final_bytes for one in footprints]
    axes.plot(ends, rows, ".", color=palette.ink, markersize=4, clip_on=False)


def _names(runs: Sequence[Run]) -> list[str]:
    """Return the names of the runs: the policies, with the traces if there are several."""
    if len({run.trace for run in runs}) == 1:
        return [spell(run.policy) for run in runs]
    return [f"{run.trace}, {spell(run.policy)}" for run in runs]
