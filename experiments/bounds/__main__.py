"""`python -m experiments.bounds`: measure, and write the page and its figure to a folder."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any, Final

import click

from experiments.bounds.figure import draw
from experiments.bounds.kept import Kept
from experiments.bounds.measuring import (
    ASKED,
    GROWING,
    LARGE,
    PAPERS,
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
from experiments.shipped import shipped
from simalloc.adversary import ADVERSARIES
from simalloc.cli.progress import progress
from simalloc.progress import Bar

RESULTS: Final = "bounds.json"
INSTANCES: Final = 10_000
"""Number of small instances that the experiment also compares with an exhaustive search."""


@experiment("python -m experiments.bounds --out out")
@out_option("out", "the page and its figure")
@click.option(
    "--sites",
    type=click.Path(file_okay=False, exists=True, path_type=Path),
    help="Measure call sites anew, of the traces in this folder, and keep what comes out. "
    "`python traces/recipes/record.py NAME... --sites --folder FOLDER` records them.",
)
def command(out: Path, sites: Path | None) -> None:
    """Measure the smallest possible heaps of all shipped traces, and the worst cases of policies.

    This takes a quarter of an hour. Each result is stored in the folder at once. An interrupted run
    continues with the next result.
    """
    out.mkdir(parents=True, exist_ok=True)
    if sites is not None:
        keep_sites(sites.glob("*.npz"))
    games = len(ADVERSARIES) * (len(online()) + len(playing_large()))
    steps = 2 * len(shipped()) + 2 + games + len(GROWING) * len(PAPERS)
    with progress("bounds", steps) as advance:
        measured = _Measuring(Kept(out / RESULTS), advance).everything()
    write_figure(partial(draw, measured.rows), out / FIGURE)
    write_text(page(measured), out / PAGE)
    click.echo(f"Written to {out / PAGE}.", err=True)


class _Measuring:
    """All measurements, step by step, with progress; each result is stored."""

    def __init__(self, kept: Kept, bar: Bar) -> None:
        self._kept = kept
        self._bar = bar

    def everything(self) -> Measured:
        """Measure every result that is not stored yet."""
        rows = [
            Possible(**self._step(f"possible {name}", partial(_possible, name)))
            for name in shipped()
        ]
        return Measured(
            rows=rows,
            known=self._known(rows),
            exhaustive=self._step(
                "exhaustive", partial(compare_many, INSTANCES, 1, lambda _: None)
            ),
            small={
                policy: {
                    name: self._game(name, policy, *small_game(policy)) for name in ADVERSARIES
                }
                for policy in online()
            },
            large={
                policy: {name: self._game(name, policy, *LARGE) for name in ADVERSARIES}
                for policy in playing_large()
            },
            growing={
                policy: [self._game("robson", policy, live, LARGE[1]) for live in GROWING]
                for policy in PAPERS
            },
        )

    def _step(self, name: str, measure: Callable[[], Any]) -> Any:
        self._bar.text = name
        found = self._kept.get(name, measure)
        self._bar(1)
        return found

    def _known(self, rows: Sequence[Possible]) -> dict[str, dict[str, float]]:
        """Measure the value of knowledge for traces with possible savings and in `ASKED`."""
        without_room = [row.trace for row in rows if not row.has_room]
        long_sizes = self._step("long sizes", partial(lessons_of, without_room))
        by_sites = read_sites()
        found = {}
        for row in rows:
            if row.has_room or row.trace in ASKED:
                measure = partial(known, row.trace, long_sizes)
                measured = self._step(f"known of {row.trace}", measure)
                found[row.trace] = {**measured, **by_sites.get(row.trace, {})}
            else:
                self._bar(1)
        return found

    def _game(self, adversary: str, policy: str, live: int, largest: int) -> float | None:
        """Play a game with progress after every event. Return None if it would take too long."""
        name = f"{adversary} against {policy}, {live:,} live, up to {largest:,}"
        if not is_played(adversary, policy, live):
            self._bar(1)
            return None
        played = 0

        def count(events: int) -> None:
            nonlocal played
            played += events
            self._bar.text = f"{name}, {played:,} events"
            self._bar()

        play = partial(ratio, adversary, policy, live, largest, count)
        found: float | None = self._step(name, play)
        return found


def _possible(name: str) -> dict[str, Any]:
    return asdict(possible(name))


if __name__ == "__main__":
    sys.exit(run_command(command))
