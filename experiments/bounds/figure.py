"""The figure: memory of policies beyond peak live on each trace, and the best possible."""

from __future__ import annotations

from collections.abc import Sequence
from typing import BinaryIO

from matplotlib.figure import Figure

from experiments.bounds.measuring import Possible

_MIN = 1e-4
"""Minimum percentage that the logarithmic axis shows; smaller values are drawn here."""


def draw(rows: Sequence[Possible], stream: BinaryIO) -> None:
    """Draw one line per trace, from the lowest known placement to first fit, as a PNG."""
    ordered = sorted(rows, key=lambda row: row.best_fit / row.live)
    figure = Figure(figsize=(7.2, 6.4), dpi=150)
    axes = figure.add_subplot()
    places = range(len(ordered))
    for name, marker in (("best", "D"), ("best_fit", "o"), ("first_fit", "^")):
        shares = [max(100 * getattr(row, name) / row.live, _MIN) for row in ordered]
        label = {"best": "lowest found", "best_fit": "best fit", "first_fit": "first fit"}[name]
        axes.plot(shares, places, marker, markersize=4, label=label)
    for place, row in zip(places, ordered, strict=True):
        ends = [max(100 * part / row.live, _MIN) for part in (row.best, row.first_fit)]
        axes.plot(ends, [place, place], color="0.85", zorder=0)
    axes.set_xscale("log")
    axes.set_yticks([*places], [row.trace for row in ordered], fontsize=7)
    axes.set_xlabel("heap beyond peak live, percent (at the left edge: none)")
    axes.legend(frameon=False, loc="lower right")
    figure.tight_layout()
    figure.savefig(stream, format="png", metadata={"Software": None})
