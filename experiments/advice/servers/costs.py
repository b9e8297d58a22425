"""`python -m experiments.advice.servers.costs`: compare estimated with measured CPU costs."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import Final

import click

from experiments.advice.servers.loads import SERVERS, Server
from experiments.advice.servers.measuring import built_shim, record_server, run_server
from experiments.run import experiment, run_command
from experiments.running_process.servers import COMPARED
from simalloc.advice import machine_of, settings_of, user_candidate
from simalloc.advice.costs import cost_of
from simalloc.advice.prices import prices
from simalloc.errors import SimallocError
from simalloc.report import Rounded, Table, write_table
from simalloc.report.table import Value

_RUNS: Final = 5
_SERVERS: Final[Mapping[str, Server]] = MappingProxyType(
    {server.name: server for server in (*SERVERS, *COMPARED)}
)
_CHANGES: Final = (
    ("glibc", "glibc:trim_threshold=64K"),
    ("jemalloc", "jemalloc:dirty_decay_ms=0"),
    ("tcmalloc", "tcmalloc:aggressive_decommit=on"),
)
_COLUMNS: Final = (
    "server",
    "setting",
    "estimate",
    "at most",
    "measured",
    "minimum",
    "maximum",
    "without",
)


@experiment(
    "python -m experiments.advice.servers.costs",
    "python -m experiments.advice.servers.costs 'Node service'",
)
@click.argument("servers", nargs=-1)
def command(servers: Sequence[str]) -> None:
    """Estimate and measure the CPU seconds that settings cost SERVERS.

    Each server runs in turn under a malloc at its defaults and under a setting that returns more
    memory to the system. By default, the command runs the servers whose costs exceed the run-to-run
    variation.
    """
    names = servers or ("MariaDB reports", "Node service")
    for name in names:
        if name not in _SERVERS:
            raise SimallocError(f"no server {name!r}; the servers are {', '.join(_SERVERS)}")
    rows = [row for name in names for row in _measured(_SERVERS[name])]
    write_table(Table("CPU seconds that settings cost", _COLUMNS, rows), "table", sys.stdout)


def _measured(server: Server) -> Iterator[tuple[Value, ...]]:
    """Yield one row for each setting of a server."""
    with TemporaryDirectory(prefix="simalloc-") as folder:
        place = Path(folder)
        shim = built_shim(place)
        trace = record_server(server, place)
        tried = [user_candidate(name) for change in _CHANGES for name in change]
        settings = settings_of(trace, tried, machine=machine_of(trace.provenance))
        for now, then in zip(settings[::2], settings[1::2], strict=True):
            click.echo(f"{server.name}: {then.candidate.name}", err=True)
            cost = cost_of(then.run, now.run, prices(), now.cost.of_seconds)
            runs = [
                [run_server(server, place, shim, one.line).cpu for one in (now, then)]
                for _ in range(_RUNS)
            ]
            costs = sorted(run[1] - run[0] for run in runs)
            alone = median(run[0] for run in runs)
            figures = (cost.seconds, cost.max_seconds, median(costs), costs[0], costs[-1], alone)
            yield (
                server.name,
                then.candidate.name,
                *(Rounded(figure, 2) for figure in figures),
            )


if __name__ == "__main__":
    sys.exit(run_command(command))
