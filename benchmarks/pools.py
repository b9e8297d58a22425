"""Duration of `simalloc pool` for every allocator of a group, at the beginning of a board's trace.

Times are processor time of all threads together, which other work on the machine hardly affects.
Two idle cores need half of this time. The column `replays` counts the replays that settle all sizes
from the peak of live bytes to twice the smallest pool.

    python -m benchmarks.pools
"""

from __future__ import annotations

import sys
import time
from typing import Final

import click

from benchmarks.command import policies_named, run, say, table_option, write_json
from simalloc.policy import spell
from simalloc.pool import answer
from simalloc.report import Format, Rounded, Table, write_table
from simalloc.trace.catalogue import load

_COLUMNS: Final = ("policy", "replays", "CPU s", "smallest", "safe")


@click.command()
@click.option("--trace", "name", default="mbedtls-tls12-json", show_default=True)
@click.option("--events", type=click.IntRange(min=1), default=100_000, show_default=True)
@click.option("--policies", default="@pool", show_default=True, metavar="NAME,...")
@click.option("--json", "target", metavar="FILE", help="JSON file of the figures.")
@table_option
def command(
    name: str, events: int, policies: str, target: str | None, table_format: Format
) -> None:
    """Measure the processor time of finding the smallest and the safe pool of each policy."""
    trace = load(name).prefix(events)
    rows, seconds = [], dict[str, float]()
    for policy in policies_named(policies):
        say(spell(policy))
        before = time.process_time()
        sizes = answer([trace], policy).sizes
        seconds[spell(policy)] = spent = time.process_time() - before
        found = (sizes.trials, Rounded(spent, 2), sizes.smallest, sizes.safe) if sizes else None
        rows.append((spell(policy), *(found or (None, Rounded(spent, 2), None, None))))
    say("")
    total = sum(seconds.values())
    rows.append(("all", None, Rounded(total, 1), None, None))
    title = f"simalloc pool on {len(trace):,} events of {name}"
    write_table(Table(title, _COLUMNS, rows), table_format, sys.stdout)
    if target:
        write_json(target, {"trace": name, "events": len(trace), "seconds": seconds})


if __name__ == "__main__":
    run(command)
