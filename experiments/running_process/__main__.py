"""`python -m experiments.running_process`: compare models of running servers with the servers."""

import platform
import sys
from collections.abc import Iterator, Sequence

import click

from experiments.mallocs import glibc_here
from experiments.run import experiment, run_command
from experiments.running_process.comparing import MAPPED, Compared, Held, compare
from experiments.running_process.servers import COMPARED
from simalloc.errors import SimallocError
from simalloc.machine import core_count
from simalloc.report import Table, write_table
from simalloc.report.table import Rounded, Value

_MIB = 1 << 20
_NONE = Held(0, 0)


@experiment(
    "python -m experiments.running_process MariaDB --minutes 2",
    "python -m experiments.running_process memcached --runs 1 --arenas",
)
@click.argument("servers", nargs=-1, required=True)
@click.option("--minutes", default=2.0, show_default=True, help="Length of each recording.")
@click.option("--warm-up", default=0.5, show_default=True, help="Minutes of load before it.")
@click.option("--runs", default=3, show_default=True, help="Recordings of each server.")
@click.option("--arenas", is_flag=True, help="Print each arena of each run.")
def command(
    servers: Sequence[str], minutes: float, warm_up: float, runs: int, *, arenas: bool
) -> None:
    """Record SERVERS under load and replay the recordings from the servers' initial heaps.

    At the end, the command compares the mapped and resident bytes of the model and the process.
    """
    known = {server.name: server for server in COMPARED}
    found = []
    for name in servers:
        if name not in known or not known[name].is_installed:
            there = ", ".join(one.name for one in COMPARED if one.is_installed)
            raise SimallocError(f"{name} is not an installed server; choose from {there}")
        for number in range(runs):
            click.echo(f"{name}: run {number + 1} of {runs}", err=True)
            found.append(compare(known[name], 60 * minutes, 60 * warm_up))
            if arenas:
                write_table(arenas_table(found[-1]), "table", sys.stdout)
    write_table(table(found), "table", sys.stdout)


def table(found: Sequence[Compared]) -> Table:
    """Return one row per run, with the sums over its arenas."""
    columns = (
        "server", "minutes", "events", "live at start", "live", "mapped before", "mapped",
        "model", "%", "resident before", "resident", "model", "%",
    )  # fmt: skip
    machine = f"{platform.machine()}, {core_count()} cores, glibc {glibc_here()}."
    meaning = "MiB of malloc's heap at the end of the load. %: how much more the model has."
    rows = [tuple(_row(one)) for one in found]
    return Table("Heaps after a load", columns, rows, (machine, meaning))


def _row(one: Compared) -> Iterator[Value]:
    yield from (one.server, Rounded(one.seconds / 60, 1), one.events)
    yield from (_mib(one.live_at_start), _mib(one.live))
    for name in ("mapped", "resident"):
        before, real, model = (
            sum(getattr(held, name) for held in each.values())
            for each in (one.before, one.real, one.model)
        )
        yield from (_mib(before), _mib(real), _mib(model), _more(model, real))


def arenas_table(one: Compared) -> Table:
    """Return one row per arena of a run."""
    columns = ("arena", "mapped", "model", "%", "resident", "model", "%", "threads", "model")
    numbers = sorted({*one.real, *one.model} - {MAPPED}, key=int)
    rows = []
    for name in [*numbers, MAPPED]:
        real, model = one.real.get(name, _NONE), one.model.get(name, _NONE)
        rows.append((
            name, _mib(real.mapped), _mib(model.mapped), _more(model.mapped, real.mapped),
            _mib(real.resident), _mib(model.resident), _more(model.resident, real.resident),
            real.threads, model.threads,
        ))  # fmt: skip
    return Table(one.server, columns, rows, ("Arenas in the order in which they were made.",))


def _mib(size: int) -> Rounded:
    return Rounded(size / _MIB, 2)


def _more(model: int, real: int) -> Rounded | None:
    return Rounded(100 * (model / real - 1), 1) if real else None


if __name__ == "__main__":
    sys.exit(run_command(command))
