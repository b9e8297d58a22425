"""Figures 7, 8 and 9: the heaps over time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from experiments.gabber.paper import PAPER
from experiments.gabber.programs import EMACS, HUMMINGBIRD
from experiments.mallocs import with_mechanism
from simalloc.heap import Run
from simalloc.report.figures.picture import Picture
from simalloc.report.figures.timelines import draw_timelines

if TYPE_CHECKING:
    from matplotlib.axes import Axes


_GIGABYTES: Final = 2.2e9
"""End of the paper's figure 7."""


class _Figure(NamedTuple):
    trace: str
    policies: tuple[str, ...]
    top: float | None


FIGURES: Final = {
    7: _Figure(HUMMINGBIRD, PAPER.policies, _GIGABYTES),
    8: _Figure(HUMMINGBIRD, ("phk", "solaris-default", "gnu-1995", "modified-binary-buddy"), None),
    9: _Figure(EMACS, PAPER.policies, None),
}


def _name_as_the_paper(axes: Axes, names: Sequence[str]) -> None:
    legend = axes.get_legend()
    assert legend is not None, "heaps over time have one"
    for line in legend.get_texts():
        for name in names:
            if line.get_text().startswith(f"{name}:"):
                line.set_text(f"{PAPER.label(name)}, {line.get_text().rpartition(', ')[2]}")


def draw(number: int, runs: Mapping[tuple[str, str], Run]) -> Picture | None:
    """Return figure 7, 8 or 9 with the measured allocators, or None without any."""
    trace, policies, top = FIGURES[number]
    names = [name for name in policies if (trace, with_mechanism(name)) in runs]
    if not names:
        return None
    picture = draw_timelines([runs[trace, with_mechanism(name)] for name in names])
    axes = picture.axes[0]
    _name_as_the_paper(axes, names)
    if top is not None and axes.get_ylim()[1] > top:
        axes.set_ylim(0, top)
    axes.set_title(f"{trace}, generated")
    return picture
