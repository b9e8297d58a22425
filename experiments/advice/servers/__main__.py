"""`python -m experiments.advice.servers`: run the servers and store the results."""

import platform
import sys
from collections.abc import Sequence

import click

from experiments.advice.servers.kept import Said, kept_lines, kept_said, write
from experiments.advice.servers.loads import SERVERS
from experiments.advice.servers.measuring import TIMES, measure_server
from experiments.mallocs import glibc_here
from experiments.run import experiment, run_command
from simalloc.advice import installed_release
from simalloc.errors import SimallocError
from simalloc.machine import core_count
from simalloc.version import code_version


@experiment("python -m experiments.advice.servers", "python -m experiments.advice.servers Redis")
@click.argument("servers", nargs=-1)
def command(servers: Sequence[str]) -> None:
    """Record servers, predict their heaps, and run them. This takes some minutes.

    Without SERVERS, all servers of installed Debian packages are run. The results replace the
    stored results, from which `python -m experiments.advice` makes its page.
    """
    lines, said = kept_lines(), kept_said()
    for server in SERVERS:
        if servers and server.name not in servers:
            continue
        if not server.is_installed:
            click.echo(f"Skipped {server.name}: {server.package} is not installed.", err=True)
            continue
        lines = [line for line in lines if line.server != server.name]
        said = [one for one in said if one.server != server.name]
        try:
            found = measure_server(server, lambda text: click.echo(text, err=True))
        except (SimallocError, OSError) as error:
            click.echo(f"Skipped {server.name}: {error}", err=True)
            said.append(Said(server.name, 0, f"Not measured: {error}"))
            continue
        lines += found.lines
        said.append(Said(server.name, found.events, found.advice.text))
        write(lines, said, _notes())


def _notes() -> list[str]:
    mallocs = ("jemalloc", "tcmalloc", "mimalloc")
    releases = [f"{name} {installed_release(name)}" for name in mallocs]
    made = f"`python -m experiments.advice.servers` (simalloc {code_version()}), {TIMES} runs"
    system = f"{platform.system()} {platform.release()}"
    return [
        "Bytes of the malloc heap at the end of a load, and CPU seconds of the server, by run.",
        f"Made by {made}.",
        f"glibc {glibc_here()}, {', '.join(releases)}, {core_count()} cores, {system}.",
    ]


if __name__ == "__main__":
    sys.exit(run_command(command))
