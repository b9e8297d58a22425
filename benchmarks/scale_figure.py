"""The picture of cost against size."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import matplotlib as mpl
from matplotlib.figure import Figure

from simalloc.files import replacing
from simalloc.policy import find_policy
from simalloc.policy.families.sequential_fit import SequentialFit

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes

    from benchmarks.cost import Cost
    from simalloc.policy import Policy

_YARDSTICKS: Final[Mapping[str, str]] = {"glibc": "-", "one cache line": ":"}
_MARKERS: Final = "os^vDP*X<>hp"


def draw(costs: Sequence[Cost], path: str) -> None:
    """Draw nanoseconds an event against live objects and against free blocks, as a PNG.

    A colour a family of policies or a fit, a marker a policy within it. Both axes are logarithmic;
    that of free blocks has the numbers that were measured.
    """
    figure = Figure(figsize=(10, 6.4), layout="constrained")
    panels = figure.subplots(1, 2, sharey=True)
    for axes, kind, label in zip(
        panels, ("live", "free"), ("live objects", "free blocks"), strict=True
    ):
        _draw_panel(axes, [cost for cost in costs if cost.kind == kind])
        axes.set_xlabel(label)
    panels[0].set_ylabel("nanoseconds an event")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, fontsize="small")
    with replacing(path) as stream:
        figure.savefig(stream, format="png", dpi=120)


def _family(policy: Policy) -> str:
    description = policy.description
    return description.fit.value if isinstance(description, SequentialFit) else policy.family


def _draw_panel(axes: Axes, costs: Sequence[Cost]) -> None:
    colours: dict[str, str] = {}
    members: dict[str, int] = {}
    for name in dict.fromkeys(cost.contestant for cost in costs):
        those = [cost for cost in costs if cost.contestant == name]
        across = [
            cost.size if cost.kind == "live" or cost.free_blocks is None else cost.free_blocks
            for cost in those
        ]
        up = [cost.nanoseconds for cost in those]
        if name in _YARDSTICKS:
            axes.plot(across, up, _YARDSTICKS[name], color="black", linewidth=2, label=name)
            continue
        family = _family(find_policy(name))
        cycle = mpl.rcParams["axes.prop_cycle"].by_key()["color"]
        colour = colours.setdefault(family, cycle[len(colours) % len(cycle)])
        marker = _MARKERS[members.get(family, 0) % len(_MARKERS)]
        members[family] = members.get(family, 0) + 1
        axes.plot(across, up, color=colour, marker=marker, markersize=4, linewidth=1, label=name)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.grid(visible=True, which="both", alpha=0.2)
