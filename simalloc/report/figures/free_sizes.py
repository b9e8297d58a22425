"""Figure of the sizes of free blocks over time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.colors import LinearSegmentedColormap, LogNorm

from simalloc.report.figures.axes import events_axis, log_bytes_axis
from simalloc.report.figures.picture import Picture
from simalloc.report.figures.style import new_figure, styled
from simalloc.report.figures.titles import panel_title
from simalloc.report.palettes import Theme

if TYPE_CHECKING:
    from simalloc.measure.free_sizes import FreeSizes


def draw_free_sizes(
    free: Sequence[FreeSizes], titles: Sequence[str], *, theme: Theme = "light"
) -> Picture:
    """Return panels side by side: time across, sizes of free blocks up, coloured by bytes."""
    with styled(theme) as palette:
        figure = new_figure(2.8)
        panels = figure.subplots(1, len(free), sharey=True, squeeze=False)[0]
        most = max((float(one.bytes.max(initial=1)) for one in free), default=1.0)
        norm = LogNorm(max(1.0, most / 1e4), max(most, 10.0), clip=True)
        shades = LinearSegmentedColormap.from_list(
            "free", [palette.free, palette.lines[0], palette.ink]
        )
        for axes, one, title in zip(panels, free, titles, strict=True):
            image = axes.pcolormesh(
                np.append(0, one.events + 1),
                2.0 ** (one.first_class + np.arange(len(one.bytes) + 1)),
                np.where(one.bytes > 0, one.bytes, np.nan),
                norm=norm,
                cmap=shades,
                rasterized=True,
            )
            axes.set_yscale("log", base=2)
            axes.set_title(panel_title(title, len(free)))
            axes.set_xlabel("time (events)")
            events_axis(axes.xaxis)
        panels[0].set_ylabel("size of a free block")
        log_bytes_axis(panels[0].yaxis)
        bar = figure.colorbar(image, ax=panels, fraction=0.03, pad=0.02, aspect=25)
        bar.set_label("free in such blocks")
        bar.outline.set_visible(False)
        log_bytes_axis(bar.ax.yaxis)
    return figure
