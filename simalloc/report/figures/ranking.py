"""Figure of the ranking of policies: a dot for each trace, and the mean with its interval."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from simalloc.report.figures.axes import share_axis
from simalloc.report.figures.picture import Picture
from simalloc.report.figures.style import new_figure_of_rows, styled
from simalloc.report.figures.titles import row_names
from simalloc.report.palettes import Palette, Theme

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from simalloc.measure.ranking import Rank

_MEANING: Final = {
    1: "{held} / live − 1, mean over events",
    2: "{held} / live − 1 when most is live",
    3: "{held} / live − 1 when the {held} first peaks",
    4: "peak {held} / peak live − 1",
}
"""Labels of axes for the measures of Johnstone & Wilson."""


def meaning(measure: int, of: str) -> str:
    """Return the meaning of a measure of the mapped or resident bytes, for an axis."""
    held = "resident" if of == "resident" else "heap"
    return f"measure #{measure} ({_MEANING[measure].format(held=held)})"


def draw_ranking(
    ranks: Sequence[Rank], *, measure: int = 4, of: str = "mapped", theme: Theme = "light"
) -> Picture:
    """Return a figure of the ranking, the best policy on top, with fragmentation on a log scale.

    Raises `SimallocError` if `ranks` is empty.
    """
    with styled(theme) as palette:
        names = row_names(rank.policy for rank in ranks)
        figure = new_figure_of_rows(names)
        axes = figure.add_subplot()
        for place, rank in enumerate(ranks):
            _draw_rank(axes, rank, place, palette)
        axes.set_yticks(range(len(ranks)), names)
        axes.set_ylim(len(ranks) - 0.4, -0.6)
        axes.tick_params(axis="y", length=0)
        axes.spines["left"].set_visible(False)
        values = [value for rank in ranks for value in rank.by_trace.values()]
        share_axis(axes, values)
        axes.set_xlabel(f"fragmentation, {meaning(measure, of)}")
        axes.grid(axis="x", alpha=0.5)
        axes.set_axisbelow(True)
        axes.legend(*_handles(axes), loc="upper right")
    return figure


def _draw_rank(axes: Axes, rank: Rank, place: int, palette: Palette) -> None:
    if len(rank.by_trace) > 1:  # the dot of a single trace would be hidden by the mean
        axes.plot(
            list(rank.by_trace.values()),
            [place] * len(rank.by_trace),
            linestyle="",
            marker="o",
            markersize=3.2,
            markerfacecolor="none",
            markeredgecolor=palette.faint,
            markeredgewidth=0.8,
            label="a trace",
        )
    if rank.low is not None and rank.high is not None:
        axes.plot(
            [rank.low, rank.high],
            [place, place],
            color=palette.lines[0],
            linewidth=2.2,
            alpha=0.45,
            solid_capstyle="butt",
            label="95 % interval of the mean",
        )
    axes.plot(
        rank.mean,
        place,
        color=palette.lines[0],
        linestyle="",
        marker="D",
        markersize=4,
        label="mean",
    )


def _handles(axes: Axes) -> tuple[list[Any], list[str]]:
    """Return a mark of each kind and its label, for the legend."""
    by_label: dict[str, Any] = {}
    for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
        by_label.setdefault(label, handle)
    return list(by_label.values()), list(by_label)
