"""`python -m benchmarks.best_possible`: the offline placement beside an earlier prototype's."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Final, NamedTuple

import click

from benchmarks.command import run, say, table_option, write_json
from simalloc.bound import Timetable, best_possible
from simalloc.report import Rounded, Table, write_table
from simalloc.trace.catalogue import load

if TYPE_CHECKING:
    from collections.abc import Sequence

    from simalloc.report import Format

AIMS: Final = {
    "espresso": (0, 2.9),
    "gcc": (0, 2.0),
    "ghostscript": (0, 0.9),
    "p2c": (0, 0.4),
    "perl": (38, 2.7),
    "gawk": (0, 3.4),
    "cfrac": (12, 1.1),
    "make": (0, 0.0),
    "lrusim": (0, 0.2),
    "hyper": (0, 0.2),
    "cc1": (327_200, 11.9),
    "perl5": (0, 4.6),
    "f2c": (0, 6.4),
    "mutool": (0, 1.7),
    "emacs": (0, 1.8),
    "python": (0, 12.6),
    "sqlite": (0, 1.2),
    "lua": (0, 7.6),
    "gdb": (0, 0.4),
    "git": (5, 5.0),
    "dot": (0, 0.4),
    "ginsh": (0, 0.9),
    "ns3": (306, 9.4),
    "jq": (0, 0.6),
    "redis": (362_272, 7.9),
    "troff": (129, 7.4),
    "tsort": (0, 0.8),
    "sympy": (1_686, 14.7),
}
"""Bytes above peak live that a prototype of the search came to, and the seconds it took."""

SLOWER: Final = 2.0
"""How many times the prototype's seconds a search may take."""


class Found(NamedTuple):
    """What one search came to: bytes, processor seconds, and how."""

    trace: str
    live: int
    above: int
    seconds: float
    how: str

    @property
    def verdict(self) -> str:
        """Whether it is as low as the aim, and as quick."""
        above, seconds = AIMS[self.trace]
        missed = [
            word
            for word, is_missed in (
                ("higher", self.above > above),
                ("slower", self.seconds > max(SLOWER * seconds, 0.1)),
            )
            if is_missed
        ]
        return " and ".join(missed) or ("lower" if self.above < above else "equal")


def measure(name: str) -> Found:
    """Search once, from the trace in memory to the verified placement."""
    trace = load(name)
    started = time.process_time()
    placement = best_possible(Timetable.of(trace))
    seconds = time.process_time() - started
    return Found(name, placement.bound, placement.height - placement.bound, seconds, placement.how)


def table_of(outcomes: Sequence[Found]) -> Table:
    """Return ours beside the aim, a row a trace."""
    columns = ("trace", "peak live", "above", "aim", "s", "aim s", "verdict", "found")
    rows = [
        (
            one.trace,
            one.live,
            one.above,
            AIMS[one.trace][0],
            Rounded(one.seconds, 1),
            Rounded(AIMS[one.trace][1], 1),
            one.verdict,
            one.how,
        )
        for one in outcomes
    ]
    notes = (
        "Bytes above peak live, and processor seconds. The aim is a prototype's, on another",
        f"machine; it is met by no more bytes in no more than {SLOWER:g} times the seconds.",
    )
    return Table("Best possible beside the aim", columns, rows, notes)


@click.command()
@click.argument("traces", nargs=-1, type=click.Choice(list(AIMS)), metavar="[TRACE...]")
@table_option
@click.option("--json", "target", type=click.Path(dir_okay=False), help="Write every figure there.")
def main(traces: Sequence[str], table_format: Format, target: str | None) -> None:
    """Search for the best possible placement of shipped traces, all that have an aim or the TRACEs.

    All of them take two minutes.
    """
    outcomes = []
    for name in traces or AIMS:
        say(name)
        outcomes.append(measure(name))
    write_table(table_of(outcomes), table_format, sys.stdout)
    if target is not None:
        write_json(target, {"outcomes": [outcome._asdict() for outcome in outcomes]})


if __name__ == "__main__":
    run(main)
