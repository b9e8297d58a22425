"""Figures 3 to 9 as box plots in the paper's arrangement, on one sheet."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, BinaryIO, Final

from experiments.rezaei.measuring import ALLOCATORS, RECORDED, Results, generated
from experiments.rezaei.metrics import METRICS, Metric
from experiments.rezaei.tables import selected

if TYPE_CHECKING:
    from matplotlib.axes import Axes


_STYLE: Final[Any] = {"font.size": 8, "axes.linewidth": 0.6, "font.family": "serif"}
_MARKS: Final = ("o", "s", "^")


def draw(results: Results, stream: BinaryIO) -> None:
    """Draw the seven figures as a PNG: boxes for generated traces, marks for real programs."""
    import matplotlib as mpl  # noqa: PLC0415 - slow import, only for pictures
    from matplotlib.figure import Figure  # noqa: PLC0415 - slow import, only for pictures

    with mpl.rc_context(_STYLE):
        figure = Figure(figsize=(10, 13), dpi=110)
        panels = figure.subplots(4, 2).ravel()
        few = selected(results)
        search, *others = METRICS
        _box(panels[0], results, search, ALLOCATORS, "3")
        _box(panels[1], results, search, few, "4")
        for axes, metric in zip(panels[2:], others, strict=False):
            _box(axes, results, metric, few if metric.figure == "6" else ALLOCATORS, metric.figure)
        panels[7].axis("off")
        handles, labels = panels[0].get_legend_handles_labels()
        panels[7].legend(handles, labels, loc="center", title="boxes: eight generated traces")
        figure.tight_layout()
        figure.savefig(stream, format="png", metadata={"Software": None})


def _box(
    axes: Axes, results: Results, metric: Metric, policies: Sequence[str], number: str
) -> None:
    """Draw one figure with quartiles, minimum and maximum, like the paper's box plots."""
    values = [[metric.of(results.run(name, text)) for name in generated()] for text in policies]
    axes.boxplot(values, whis=(0, 100), widths=0.6, medianprops={"color": "black"})
    places = range(1, len(policies) + 1)
    for mark, trace in zip(_MARKS, RECORDED, strict=True):
        heights = [metric.of(results.run(trace, text)) for text in policies]
        axes.plot(places, heights, mark, markersize=3.5, fillstyle="none", label=trace)
    axes.set_xticks(places, policies, rotation=60, ha="right")
    axes.set_yscale("log")
    axes.set_title(f"Figure {number}: {metric.title}")
    axes.grid(axis="y", alpha=0.3)
