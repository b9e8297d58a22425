"""`simalloc import`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import click

from simalloc.cli.messages import echo
from simalloc.cli.progress import progress
from simalloc.files import keep_apart
from simalloc.plural import counted
from simalloc.trace.formats import pattern
from simalloc.trace.formats.exporting import trace_file_for
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
@click.option(
    "-o",
    "--output",
    "trace",
    required=True,
    metavar="TRACE",
    help="The trace to write: a trace file such as NAME.npz, or text (.txt, .txt.zst).",
)
@click.option(
    "--from",
    "from_format",
    type=click.Choice([*FORMATS, pattern.NAME]),
    help="Format of the log, if not detected. `pattern` reads any log with the patterns below.",
)
@_pattern_option(
    "malloc",
    "line of a malloc, with (?P<size>...) or (?P<hexsize>...). Optional groups: (?P<id>...) and "
    "(?P<count>...). Every pattern may contain (?P<thread>...).",
)
@_pattern_option("free", "line of a free, with (?P<id>...).")
@_pattern_option("realloc", "line of a realloc, with size, id and optionally (?P<old>...).")
@_pattern_option("end", "line of a thread exit, with (?P<thread>...).")
@_pattern_option("ignore", "lines that are not events.")
@click.option(
    "--match-frees",
    type=click.Choice(["newest", "oldest"]),
    help="If the log is ambiguous (heaptrack), match a free to the newest or oldest object of that "
    "size and call path.",
)
@click.option(
    "--lenient",
    is_flag=True,
    help="Skip and count invalid lines instead of stopping at the first.",
)
@click.option(
    "--thread-blocks/--no-thread-blocks",
    default=None,
    help="State that the log contains, or lacks, the blocks that the C library allocates for each "
    "thread. Default: depends on the format.",
)
@click.option(
    "--device", type=int, metavar="N", help="Device number, for a snapshot with several devices."
)
@click.option(
    "--elf", metavar="FILE", help="Firmware image, to name the return addresses of a board's log."
)
@click.option("--name", help="Name of the trace. Default: the name of the log.")
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

    LOG is a file, or - for standard input. The format and compression (gzip, bzip2, xz, zstd) are
    detected from the content. Events that are left out of the trace are counted on stderr.
    """
    how = _format(from_format, {kind: text for kind, text in patterns.items() if text is not None})
    keep_apart(trace, [log])
    with progress(log, 1.0) as advance, trace_file_for(trace) as path:
        imported = import_log(
            log,
            path,
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
        raise click.UsageError(f"--{min(patterns)} requires --from pattern")
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
        echo(f"  omitted: {what}: {tally.count:,}{where}", err=True)
