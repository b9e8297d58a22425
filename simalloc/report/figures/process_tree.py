"""What several processes hold together over time: stacked, the largest below."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from simalloc.plural import counted
from simalloc.report.figures.axes import bytes_axis
from simalloc.report.figures.style import new_figure, styled

if TYPE_CHECKING:
    from simalloc.measure.process_tree import ProcessTree
    from simalloc.report.figures.picture import Picture
    from simalloc.report.figures.style import Theme

_SHOWN = 6


def draw_process_tree(tree: ProcessTree, *, theme: Theme = "light") -> Picture:
    """Return resident bytes of processes on top of each other, and the line of all live bytes."""
    with styled(theme) as palette:
        figure = new_figure(3.2)
        axes = figure.add_subplot()
        shown = tree.large[:_SHOWN]
        rest = [one for one in tree.processes if one not in shown]
        layers = [one.resident for one in shown]
        labels = [f"{one.name} ({one.number})" for one in shown]
        colours = list(palette.lines[: len(shown)])
        if rest:
            layers.append(np.sum([one.resident for one in rest], axis=0))
            labels.append(counted(len(rest), "other"))
            colours.append(palette.faint)
        axes.stackplot(tree.seconds, layers, labels=labels, colors=colours, step="post", alpha=0.75)
        axes.plot(tree.seconds, tree.live, color=palette.ink, linewidth=1.2, label="all that lives")
        top = float(tree.resident.max())
        axes.set_xlim(0, max(float(tree.seconds[-1]), 1e-9))
        axes.set_ylim(0, 1.05 * max(top, 1))
        bytes_axis(axes.yaxis, max(top, 1))
        axes.set_xlabel("time (seconds)")
        axes.set_ylabel("resident")
        axes.grid(axis="y", alpha=0.4)
        axes.set_axisbelow(True)
        axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.02), borderaxespad=0.2)
    return figure
