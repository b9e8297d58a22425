"""Files of results, each whole or not there."""

from __future__ import annotations

from io import StringIO
from textwrap import fill
from typing import TYPE_CHECKING, BinaryIO

from simalloc.files import replacing
from simalloc.report import write_table

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from experiments.johnstone_wilson.exhibits import Exhibit
    from simalloc.report import Table


def markdown(table: Table) -> str:
    """Return a table as Markdown."""
    stream = StringIO()
    write_table(table, "markdown", stream)
    return stream.getvalue()


def wrapped(block: str) -> str:
    """Return paragraphs and lists with lines of equal length, all else as it is."""
    if block.startswith("- "):
        return "\n".join(_filled(f"- {item}", "  ") for item in block[2:].split("\n- "))
    if block.startswith(("|", "#", "!", "\n")) or "\n|" in block or block.endswith("**"):
        return block
    return _filled(block)


def _filled(text: str, indent: str = "") -> str:
    return fill(
        " ".join(text.split()),
        110,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def write_tables(exhibits: Mapping[str, Exhibit], folder: Path) -> None:
    """Write every table as CSV, NAME.csv, and all together as Markdown, tables.md."""
    for name, exhibit in exhibits.items():
        stream = StringIO()
        write_table(exhibit.data, "csv", stream)
        write_text(stream.getvalue(), folder / f"{name}.csv")
    text = "\n".join(markdown(exhibit.table) for exhibit in exhibits.values())
    write_text(f"# Johnstone & Wilson 1998: every table\n\n{text}", folder / "tables.md")


def write_text(text: str, path: Path) -> None:
    """Write a text file as a whole."""
    with replacing(path) as stream:
        stream.write(text.encode())


def write_figure(draw: Callable[[BinaryIO], None], path: Path) -> None:
    """Let `draw` write a picture to the stream it is given, and keep it if that went well."""
    with replacing(path) as stream:
        draw(stream)
