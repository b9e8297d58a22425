"""Common parts of the experiments' commands: options, exit codes, and one-line errors."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Final, TypeVar

import click

from experiments.mallocs import Progress
from experiments.output import Exhibit, findings, print_tables, write_tables, write_text
from simalloc.cli.progress import progress
from simalloc.errors import SimallocError
from simalloc.files import replacing
from simalloc.report import Table

EXIT_ERROR: Final = 2
EXIT_INTERRUPTED: Final = 130

T = TypeVar("T")


def experiment(*examples: str) -> Callable[[Callable[..., None]], click.Command]:
    """Return a decorator that makes a function an experiment's command; help shows the examples."""
    shown = "\n".join(f"  {example}" for example in examples)
    title = "Examples:" if len(examples) > 1 else "Example:"
    return click.command(
        context_settings={"help_option_names": ["-h", "--help"]},
        epilog=f"\b\n{title}\n{shown}",
    )


def out_option(default: str, what: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator that adds the option --out, the output folder, to a command."""
    return click.option(
        "--out",
        type=click.Path(file_okay=False, path_type=Path),
        default=Path(default),
        show_default=True,
        help=f"The folder for {what}; it is made if need be.",
    )


def page_command(
    name: str,
    what: str,
    measure: Callable[[Progress], T],
    tables: Callable[[T], dict[str, Table]],
    page: Callable[[T, dict[str, Table]], str],
    file: str,
    pictures: Callable[[T], Iterable[tuple[str, bytes]]] = lambda _: (),
) -> click.Command:
    """Return the command of an experiment that measures, prints its tables and writes a page.

    `what` begins its help. `file` is the page's name in the folder. `pictures` yields the names and
    contents of files for images/ in the folder.
    """

    def command(out: Path) -> None:
        out.mkdir(parents=True, exist_ok=True)
        measured = measure(progress)
        shown = tables(measured)
        for picture, image in pictures(measured):
            (out / "images").mkdir(exist_ok=True)
            with replacing(out / "images" / picture) as stream:
                stream.write(image)
        write_text(page(measured, shown), out / file)
        print_tables(shown.values())
        click.echo(f"Written to {out / file}.", err=True)

    command.__doc__ = f"{what}\n\nThe tables go to stdout; the folder gets the page."
    return experiment(f"python -m experiments.{name} --out docs")(
        out_option("out", "the page")(command)
    )


def publish(
    shown: Mapping[str, Exhibit],
    title: str,
    text: str,
    out: Path,
    file: str,
    summary: Iterable[Table] | None = None,
) -> None:
    """Write the tables and the page of a paper to a folder.

    Prints the page's findings and the tables of `summary`, or every table without a summary.
    """
    write_tables(shown, out, title)
    write_text(text, out / file)
    if summary is None:
        print_tables(exhibit.table for exhibit in shown.values())
    else:
        click.echo("\n".join([title, "", *findings(text), ""]))
        print_tables(summary)
        click.echo(f"All {len(shown)} tables: {out / 'tables.md'}; one CSV file a table: {out}/.")
    click.echo(f"Written to {out}/; {out / file} says what agrees and what does not.", err=True)


def run_command(command: click.Command) -> int:
    """Run a command and return the exit code."""
    try:
        command(standalone_mode=False)
    except click.exceptions.Exit as end:
        return end.exit_code
    except click.ClickException as error:
        error.show()
        return EXIT_ERROR
    except (click.Abort, KeyboardInterrupt):
        click.echo("interrupted", err=True)
        return EXIT_INTERRUPTED
    except (SimallocError, OSError) as error:
        click.echo(f"error: {error}", err=True)
        return EXIT_ERROR
    return 0
