"""Draw the pictures of this folder again: `python docs/images/draw.py`."""

from __future__ import annotations

from pathlib import Path

import simalloc
from simalloc.heap import simulate
from simalloc.measure import heap_map
from simalloc.measure.ranking import ranking
from simalloc.policy import expand_policies
from simalloc.report.figures.heap_map import draw_heap_maps
from simalloc.report.figures.portrait import draw_portrait
from simalloc.report.figures.ranking import draw_ranking
from simalloc.report.palettes import PALETTES
from simalloc.trace.catalogue import catalogue, load

HERE = Path(__file__).parent


def draw_maps() -> None:
    """Draw Ghostscript's heap under first fit in LIFO order and in address order."""
    trace = load("ghostscript")
    runs = [simulate(trace, name, addresses=True) for name in ("first-fit-lifo", "first-fit-ao")]
    maps = [heap_map(trace, run) for run in runs]
    titles = [
        f"{run.policy.name}: peak heap {run.peak_heap_bytes / run.max_live_bytes:.2f} × peak live"
        for run in runs
    ]
    for theme in PALETTES:
        draw_heap_maps(maps, titles, theme=theme).savefig(HERE / f"heap-maps-{theme}.png", dpi=220)


def draw_ranks() -> None:
    """Draw the ranking of Johnstone & Wilson's policies over all recorded traces."""
    recorded = [
        load(entry.path)
        for entry in catalogue().values()
        if entry.kind == "recorded" and entry.group != "boards"
    ]
    runs = [
        simulate(trace, policy)
        for trace in recorded
        for policy in expand_policies("@johnstone-wilson")
    ]
    for theme in PALETTES:
        figure = draw_ranking(ranking(runs), theme=theme)
        figure.savefig(HERE / f"ranking-{theme}.png", dpi=180)


def draw_portraits() -> None:
    """Draw the requests of cc1."""
    trace = load("cc1")
    for theme in PALETTES:
        draw_portrait(trace, theme=theme).savefig(HERE / f"portrait-{theme}.png", dpi=180)


def draw_examples() -> None:
    """Draw the examples of docs/pictures.md that no other page shows."""
    fits = ("first-fit-ao", "first-fit-ao-8k", "first-fit-lifo", "first-fit-fifo", "next-fit-ao")
    runs = simalloc.simulate_all("ghostscript", [*fits, "binary-buddy"])
    few = ("*-fit-ao", "binary-buddy", "double-buddy")
    several = simalloc.simulate_all(["p2c", "ghostscript", "git", "jq"], few)
    maps = ("first-fit-lifo", "first-fit-ao")
    names = ("best-fit-ao", "first-fit-lifo", "ptmalloc", "jemalloc", "mimalloc")
    occupied = simalloc.simulate_all("redis", names, occupied=(4 << 10, 64 << 10, 2 << 20))
    for theme in PALETTES:
        examples = {
            "timelines": simalloc.draw_timelines(runs, theme=theme),
            "fragmentation": simalloc.draw_fragmentation(several, theme=theme),
            "free-sizes": simalloc.draw_free_sizes("ghostscript", maps, theme=theme),
            "lives": simalloc.draw_lives("ghostscript", theme=theme),
            "visits": simalloc.draw_visits(runs, theme=theme),
            "pages": simalloc.draw_pages(occupied, theme=theme),
            "threads": simalloc.draw_threads("larson", theme=theme),
        }
        for name, picture in examples.items():
            image, _ = picture._repr_png_()
            (HERE / f"{name}-{theme}.png").write_bytes(image)


if __name__ == "__main__":
    draw_examples()
    draw_maps()
    draw_portraits()
    draw_ranks()
