"""The estimated CPU time of settings beside the measured one: run me as a module.

Each server runs in turn under a malloc at its defaults and under a setting that returns more memory
to the system.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import Final

from experiments.advice.servers.loads import SERVERS, Server
from experiments.advice.servers.measuring import built_shim, record_server, run_server
from experiments.running_process.servers import COMPARED
from simalloc.advice import machine_of, settings_of, user_candidate
from simalloc.advice.costs import cost_of
from simalloc.advice.prices import prices
from simalloc.errors import SimallocError

_RUNS: Final = 5
_SERVERS: Final[Mapping[str, Server]] = MappingProxyType(
    {server.name: server for server in (*SERVERS, *COMPARED)}
)
_CHANGES: Final = (
    ("glibc", "glibc:trim_threshold=64K"),
    ("jemalloc", "jemalloc:dirty_decay_ms=0"),
    ("tcmalloc", "tcmalloc:aggressive_decommit=on"),
)
_NAMES: Final = ("MariaDB reports", "Node service")


def _measure(server: Server) -> None:
    """Print a line for each change of a server's setting."""
    with TemporaryDirectory(prefix="simalloc-") as folder:
        place = Path(folder)
        shim = built_shim(place)
        trace = record_server(server, place)
        tried = [user_candidate(name) for change in _CHANGES for name in change]
        settings = settings_of(trace, tried, machine=machine_of(trace.provenance))
        for now, then in zip(settings[::2], settings[1::2], strict=True):
            cost = cost_of(then.run, now.run, prices(), now.cost.of_seconds)
            runs = [
                [run_server(server, place, shim, one.line).cpu for one in (now, then)]
                for _ in range(_RUNS)
            ]
            alone = median(run[0] for run in runs)
            measured = sorted(run[1] - run[0] for run in runs)
            print(  # noqa: T201 - the result
                f"{server.name:16} {then.candidate.name:32} "
                f"{cost.seconds:.2f} to {cost.max_seconds:.2f} s, "
                f"measured {median(measured):.2f} s ({measured[0]:.2f} to {measured[-1]:.2f}) "
                f"of {alone:.2f} s"
            )


def main() -> None:
    """Measure the servers that the command names, or those whose costs can be measured."""
    for name in sys.argv[1:] or _NAMES:
        if name not in _SERVERS:
            raise SimallocError(f"no server {name!r}; the servers are {', '.join(_SERVERS)}")
        _measure(_SERVERS[name])


if __name__ == "__main__":
    main()
