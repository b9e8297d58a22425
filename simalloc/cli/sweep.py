"""`simalloc sweep`."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import click

from simalloc.cli.messages import echo
from simalloc.cli.options import output_option
from simalloc.cli.progress import progress
from simalloc.cli.size import Size
from simalloc.machine import core_count
from simalloc.plural import counted
from simalloc.sweep import Plan, Summary, carry_out_plan, read_plan
from simalloc.sweep.estimate import estimate
from simalloc.sweep.progress import SweepProgress
from simalloc.sweep.shard import Shard
from simalloc.sweep.store import Store

EXIT_FAILED_RUNS: Final = 1


@click.command(
    "sweep",
    epilog="\b\nExamples:\n"
    "  simalloc sweep plan.toml -o results.sqlite\n"
    "  simalloc sweep plan.toml -o part-3.sqlite --shard 3/16\n"
    "  simalloc sweep plan.toml --dry-run",
)
@click.argument("plan", type=click.Path(path_type=Path), metavar="PLAN.toml")
@output_option(
    "File of results. Runs that it already contains are skipped.", metavar="RESULTS.sqlite"
)
@click.option(
    "--jobs",
    type=click.IntRange(1),
    metavar="N",
    help="Number of concurrent runs. Default: the number of cores.",
)
@click.option(
    "--memory",
    type=Size(),
    metavar="SIZE",
    help="Maximum memory for traces, for example 4G. Default: 3/4 of the machine's memory.",
)
@click.option("--dask", metavar="ADDRESS", help="Run on the Dask cluster with this scheduler.")
@click.option("--shard", metavar="I/N", help="Run share I of N; `simalloc merge` joins the shares.")
@click.option("--retry-failed", is_flag=True, help="Repeat the runs that failed.")
@click.option(
    "--dry-run", is_flag=True, help="Print the number of runs and the estimated time, and exit."
)
def command(
    plan: Path,
    output: Path | None,
    jobs: int | None,
    memory: int | None,
    dask: str | None,
    shard: str | None,
    retry_failed: bool,  # noqa: FBT001 - click passes flags by name
    dry_run: bool,  # noqa: FBT001 - click passes flags by name
) -> None:
    """Replay many traces under many policies, and store the results.

    PLAN.toml names traces, policies with lists of parameters, and scales; `simalloc examples`
    copies a plan to start from. A sweep can be stopped at any time; the same command continues it
    and skips the finished runs. Several sweeps into the same file share the work. The exit code is
    1 if runs failed; the reasons are stored with them.
    """
    asked = read_plan(plan)
    share = None if shard is None else Shard.parse(shard)
    if dry_run:
        _say_how_much(asked, output, share, jobs or core_count(), retry_failed=retry_failed)
        return
    if output is None:
        raise click.UsageError("Missing option '-o': the file of results.")
    with progress(output.name, None) as bar:
        observer = SweepProgress(bar)
        try:
            summary = carry_out_plan(
                asked,
                output,
                jobs=jobs,
                memory=memory,
                dask=dask,
                shard=share,
                retry_failed=retry_failed,
                observer=observer,
            )
        except KeyboardInterrupt:
            echo(
                f"simalloc: stopped; {counted(observer.done, 'run is', 'runs are')} safe in "
                f"{output}. The same command continues the sweep.",
                err=True,
            )
            raise
    _report(summary, output)


def _say_how_much(
    plan: Plan, output: Path | None, shard: Shard | None, jobs: int, *, retry_failed: bool
) -> None:
    tasks = plan.tasks() if shard is None else shard.of(plan.tasks())
    missing = tasks
    if output is not None and output.exists():
        with Store(output) as store:
            missing = store.missing(tasks, retry_failed=retry_failed)
    work = estimate(missing)
    jobs = max(1, min(jobs, work.runs))
    echo(
        f"{counted(len(tasks), 'run')} ({counted(len(plan.sources), 'trace')}, "
        f"{counted(len(plan.policies), 'policy', 'policies')}), {work.runs:,} remaining: "
        f"{counted(work.events, 'event')}."
    )
    echo(
        f"Estimated time: {spell_seconds(work.seconds / jobs)} with {jobs} runs at a time, from "
        f"the first events of {work.measured:,} of them."
    )


def _report(summary: Summary, output: Path) -> None:
    left = f", {counted(summary.left, 'is', 'are')} left to another sweep" if summary.left else ""
    echo(
        f"simalloc: {counted(summary.asked, 'run')}: "
        f"{summary.present:,} already stored, {summary.done:,} done in "
        f"{spell_seconds(summary.seconds)}{left}; {output}",
        err=True,
    )
    if summary.failed:
        echo(
            f"simalloc: {counted(summary.failed, 'run')} failed; `simalloc results {output} "
            "--failed` prints the reasons, and --retry-failed repeats these runs.",
            err=True,
        )
        click.get_current_context().exit(EXIT_FAILED_RUNS)


def spell_seconds(seconds: float) -> str:
    """Return a duration in a suitable unit: 4.2 s, 12 min, 3.4 h, 2.1 days."""
    for length, unit in ((86_400, "days"), (3_600, "h"), (60, "min")):
        if seconds >= 2 * length:
            return f"{seconds / length:.1f} {unit}"
    return f"{seconds:.1f} s"
