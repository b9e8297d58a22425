"""Disturbance of a server by many snapshots: its signals, waits and sleeps.

The server has 16 threads that allocate, sleep, wait in `epoll_wait`, `sigtimedwait` and `read`, and
handle signals from a timer and from other threads. It counts the signals and bytes that it sends
and receives, and the waits that end with EINTR although no handler ran in them.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

import click

from benchmarks.snapshots import examine, started
from simalloc.errors import SimallocError


@dataclass
class Server:
    """The server while it runs."""

    child: subprocess.Popen[str]

    def finish(self) -> dict[str, int]:
        """End the senders, and return the server's counts after everything has arrived."""
        printed, _ = self.child.communicate("\n")
        words = printed.split()
        if self.child.returncode != 0 or not words:
            raise SimallocError(f"the server ended with {self.child.returncode}")
        return dict(zip(words[::2], map(int, words[1::2]), strict=True))


@contextmanager
def server() -> Iterator[Server]:
    """Build and run the server while the block runs."""
    with started("undisturbed") as child:
        if child.stdout is None or child.stdout.readline() != "ready\n":
            raise SimallocError("the server has not started")
        yield Server(child)


def disturbances(counts: Mapping[str, int]) -> dict[str, int]:
    """Return the counts of events that an undisturbed server never sees, by name."""
    lost = {
        "SIGUSR1 lost": counts["sent"] - counts["taken"],
        "queued signals lost": counts["queued"] - counts["received"],
        "expiries of the timer lost": counts["lost_expiries"],
        "events lost": counts["rung"] - counts["answered"],
    }
    return lost | {
        "waits ended by EINTR without a handler": counts["interrupted"],
        "waits that a handler did not end": counts["continued"],
        "sleeps that were too short": counts["early"],
    }


@click.command()
@click.option("--snapshots", default=500, show_default=True)
@click.option("--limit", default=280.0, show_default=True, help="Maximum duration in seconds.")
def main(snapshots: int, limit: float) -> None:
    """Take snapshots of a server, and count its disturbances."""
    with server() as served:
        began = time.perf_counter()
        found = examine(served.child.pid, snapshots, limit)
        seconds = time.perf_counter() - began
        counts = served.finish()
    click.echo(f"{found.taken} snapshots in {seconds:.0f} s, {found.stops} stops")
    click.echo(f"errors {len(found.errors)}, wrong sums {found.wrong_sums}, "
               f"other problems {len(found.problems)}")  # fmt: skip
    click.echo(f"{counts['waits']:,} waits, {counts['taken']:,} SIGUSR1, "
               f"{counts['received']:,} queued signals, {counts['expired']:,} expiries of a timer, "
               f"{counts['answered']:,} events")  # fmt: skip
    for name, count in disturbances(counts).items():
        click.echo(f"{name}: {count}")
    for text in dict.fromkeys([*found.errors, *found.problems]):
        click.echo(text)


if __name__ == "__main__":
    main()
