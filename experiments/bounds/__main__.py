"""`python -m experiments.bounds`: measure, and write the page and its figure to a folder."""

from __future__ import annotations

import sys
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from experiments.bounds.figure import draw
from experiments.bounds.kept import Kept
from experiments.bounds.measuring import (
    ASKED,
    GROWING,
    LARGE,
    Possible,
    is_played,
    known,
    lessons_of,
    online,
    playing_large,
    possible,
    ratio,
    small_game,
)
from experiments.bounds.page import FIGURE, PAGE, Measured, page
from experiments.bounds.sites import keep_sites, read_sites
from experiments.bounds.small import compare_many
from experiments.output import write_figure, write_text
from experiments.run import experiment, out_option, run_command
from simalloc.adversary import ADVERSARIES
from simalloc.cli.progress import progress
from simalloc.trace.catalogue import catalogue

if TYPE_CHECKING:
    from collections.abc import Callable

    from simalloc.progress import Bar

RESULTS: Final = "bounds.json"
INSTANCES: Final = 1_000
"""Small instances that are compared with an exhaustive search in passing."""


@experiment("python -m experiments.bounds --out out")
@out_option("out", "the page and its figure")
@click.option(
    "--sites",
    type=click.Path(file_okay=False, exists=True, path_type=Path),
    help="Measure call sites anew, of the traces in this folder, and keep what comes out. "
    "`python traces/recipes/record.py NAME... --sites --folder FOLDER` records them.",
)
def command(out: Path, sites: Path | None) -> None:
    """Measure how small the heaps of all shipped traces could be, and how bad it can get.

    This takes half an hour. What is measured is kept in the folder at once, and a run that
    was interrupted goes on from there.
    """
    out.mkdir(parents=True, exist_ok=True)
    if sites is not None:
        keep_sites(sites.glob("*.npz"))
    games = len(ADVERSARIES) * (len(online()) + len(playing_large()))
    steps = 2 * len(catalogue()) + 2 + games + len(GROWING) * len(playing_large())
    with progress("bounds", steps) as advance:
        measured = _measure(Kept(out / RESULTS), advance)
    write_figure(partial(draw, measured.rows), out / FIGURE)
    write_text(page(measured), out / PAGE)
    click.echo(f"Written to {out / PAGE}.", err=True)


def _measure(kept: Kept, advance: Bar) -> Measured:
    def get(name: str, measure: Callable[[], Any]) -> Any:
        advance.text = name
        found = kept.get(name, measure)
        advance(1)
        return found

    def game(adversary: str, policy: str, live: int, largest: int) -> float | None:
        name = f"{adversary} against {policy}, {live:,} live, up to {largest:,}"
        if not is_played(adversary, policy, live):
            advance(1)
            return None
        played = 0

        def count(events: int) -> None:
            nonlocal played
            played += events
            advance.text = f"{name}, {played:,} events"
            advance()

        found: float | None = get(name, partial(ratio, adversary, policy, live, largest, count))
        return found

    rows = [Possible(**get(f"possible {name}", partial(_possible, name))) for name in catalogue()]
    long_sizes = get(
        "long sizes", partial(lessons_of, [row.trace for row in rows if not row.has_room])
    )
    knowledge = {}
    by_sites = read_sites()
    for row in rows:
        if row.has_room or row.trace in ASKED:
            measured = get(f"known of {row.trace}", partial(known, row.trace, long_sizes))
            knowledge[row.trace] = {**measured, **by_sites.get(row.trace, {})}
        else:
            advance(1)
    return Measured(
        exhaustive=get("exhaustive", partial(compare_many, INSTANCES, 1, lambda _: None)),
        rows=rows,
        known=knowledge,
        small={
            policy: {name: game(name, policy, *small_game(policy)) for name in ADVERSARIES}
            for policy in online()
        },
        large={
            policy: {name: game(name, policy, *LARGE) for name in ADVERSARIES}
            for policy in playing_large()
        },
        growing={
            policy: [game("robson", policy, live, LARGE[1]) for live in GROWING]
            for policy in playing_large()
        },
    )


def _possible(name: str) -> dict[str, Any]:
    return asdict(possible(name))


if __name__ == "__main__":
    sys.exit(run_command(command))
