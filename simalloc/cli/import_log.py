"""`simalloc import`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import click

from simalloc.cli.messages import echo
from simalloc.cli.progress import progress
from simalloc.plural import counted
from simalloc.trace.formats import pattern
from simalloc.trace.formats.importing import Imported, import_log
from simalloc.trace.formats.log import Format, MatchFrees
from simalloc.trace.formats.registry import FORMATS


def _pattern_option(kind: str, groups: str) -> Callable[[click.decorators.FC], click.decorators.FC]:
    return click.option(f"--{kind}", metavar="REGEX", help=f"--from pattern: {groups}")


@click.command(
    "import",
    epilog="\b\nExamples:\n"
    "  simalloc import server.log.zst -o server.npz\n"
    "  my-tool | simalloc import - -o trace.npz --from text --name my-tool\n"
    "  simalloc import my.log -o trace.npz --from pattern \\\n"
    "    --malloc 'Alloc\\((?P<size>\\d+)\\)' --free 'Free\\((?P<id>\\d+)\\)'",
)
@click.argument("log")
@click.option("-o", "--output", "trace", required=True, metavar="TRACE", help="The trace to write.")
@click.option(
    "--from",
    "from_format",
    type=click.Choice([*FORMATS, pattern.NAME]),
    help="The format, if not detected; `pattern` for a log of one's own.",
)
@_pattern_option(
    "malloc",
    "a malloc's line, with (?P<size>...) or (?P<hexsize>...), and perhaps (?P<id>...), "
    "(?P<count>...) and, as the others, (?P<thread>...).",
)
@_pattern_option("free", "a free's line, with (?P<id>...).")
@_pattern_option("realloc", "a realloc's line, with size, id and perhaps (?P<old>...).")
@_pattern_option("end", "the line of a thread's end, with (?P<thread>...).")
@_pattern_option("ignore", "lines that are not events.")
@click.option(
    "--match-frees",
    type=click.Choice(["newest", "oldest"]),
    help="Which of several equal objects a free is of, where the log does not say (heaptrack).",
)
@click.option(
    "--lenient", is_flag=True, help="Skip and count what is wrong, instead of giving up at it."
)
@click.option(
    "--thread-blocks/--no-thread-blocks",
    default=None,
    help="Whether the C library's own blocks for threads are in the log.  [default: by format]",
)
@click.option("--device", type=int, metavar="N", help="Which device of a snapshot with several.")
@click.option(
    "--elf", metavar="FILE", help="The firmware, which names the return addresses of a board."
)
@click.option("--name", help="The trace's name; that of the log unless given.")
def command(
    log: str,
    trace: str,
    from_format: str | None,
    lenient: bool,  # noqa: FBT001 - click passes a flag
    device: int | None,
    elf: str | None,
    thread_blocks: bool | None,  # noqa: FBT001 - click passes a flag
    name: str | None,
    match_frees: MatchFrees | None,
    **patterns: str | None,
) -> None:
    """Convert an allocation log to a trace.

    LOG is a file, or - for standard input. Its format and compression (gzip, bzip2, xz, zstd) are
    told from its content. What the trace leaves out is counted on stderr.
    """
    how = _format(from_format, {kind: text for kind, text in patterns.items() if text is not None})
    with progress(log, 1.0) as advance:
        imported = import_log(
            log,
            trace,
            from_format=how,
            lenient=lenient,
            match_frees=match_frees,
            device=device,
            elf=elf,
            thread_blocks=thread_blocks,
            name=name,
            progress=advance,
        )
    _report(Path(trace).name, imported)


def _format(name: str | None, patterns: dict[str, str]) -> str | Format | None:
    if name == pattern.NAME:
        return pattern.PatternFormat(patterns)
    if patterns:
        raise click.UsageError(f"--{min(patterns)} is for --from pattern")
    return name


def _report(trace: str, imported: Imported) -> None:
    totals = imported.totals
    guess = (
        f"; frees guessed: the {imported.match_frees} of the equal" if imported.match_frees else ""
    )
    echo(
        f"{trace}: {counted(totals.events, 'event')} on {counted(totals.objects, 'object')}, "
        f"at most {counted(totals.max_live_bytes, 'byte')} live "
        f"(from {imported.format.title}{guess})",
        err=True,
    )
    for what, tally in imported.left_out.items():
        where = "" if tally.first_line is None else f", the first at line {tally.first_line:,}"
        echo(f"  left out: {what}: {tally.count:,}{where}", err=True)
