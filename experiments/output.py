"""Output of an experiment and its files; each file is written completely or not at all."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from io import StringIO
from pathlib import Path
from textwrap import fill
from typing import Any, BinaryIO, Protocol, Self

from experiments.made import line
from simalloc.files import replacing
from simalloc.report import Table, write_table


class Compared(Protocol):
    """Protocol of an experiment's `Comparison`: a published table beside the measured one."""

    def table(self) -> Table:
        """Return the table for people."""

    def data(self) -> Table:
        """Return the table for programs."""


@dataclass(frozen=True)
class Exhibit:
    """One table for people, and its form for programs."""

    table: Table
    data: Table

    @classmethod
    def compared(cls, comparison: Compared) -> Self:
        """Show a published table beside the measured one."""
        return cls(comparison.table(), comparison.data())

    @classmethod
    def plain(cls, table: Table) -> Self:
        """Show a table unchanged; for programs, each heading becomes one line."""
        one_line = [column.replace("\n", ", ") for column in table.columns]
        return cls(table, replace(table, columns=one_line))


def write_tables(exhibits: Mapping[str, Exhibit], folder: Path, title: str) -> None:
    """Write every table as CSV (NAME.csv), and all tables as Markdown (tables.md)."""
    for name, exhibit in exhibits.items():
        write_csv(exhibit.data, folder / f"{name}.csv")
    text = "\n".join(markdown(exhibit.table) for exhibit in exhibits.values())
    write_text(f"# {title}: every table\n\n{text}", folder / "tables.md")


def print_tables(tables: Iterable[Table]) -> None:
    """Write tables to standard output, with an empty line after each."""
    for table in tables:
        write_table(table, "table", sys.stdout)
        sys.stdout.write("\n")


def write_csv(table: Table, path: Path) -> None:
    """Write a table as CSV, completely or not at all."""
    stream = StringIO()
    write_table(table, "csv", stream)
    write_text(stream.getvalue(), path)


def markdown(table: Table) -> str:
    """Return a table as Markdown."""
    stream = StringIO()
    write_table(table, "markdown", stream)
    return stream.getvalue()


def fill_page(words: Path, facts: Mapping[str, Any], shown: Mapping[str, Table | Exhibit]) -> str:
    """Return a page: a text file, with the figures of a run filled in.

    `{tables[NAME]}` represents a table or an exhibit, other fields represent facts. The last line
    states the page's origin.
    """
    tables = {
        name: markdown(one.table if isinstance(one, Exhibit) else one)
        for name, one in shown.items()
    }
    text = words.read_text(encoding="utf-8").format_map({**facts, "tables": tables})
    filled = "\n\n".join(map(wrapped, re.split("\n\n+", text)))
    made_by = line(words.parent.name)
    return f"{filled.rstrip()}\n\n{made_by}\n" if made_by else filled


def findings(page: str) -> list[str]:
    """Return the first sentence of each item that begins in bold in a page's section "In short"."""
    section = page.partition("## In short\n")[2].partition("\n## ")[0]
    items = re.findall(r"^- (\*\*.+(?:\n  .+)*)", section, re.MULTILINE)
    first = (re.split(r"(?<=\.)(?:\*\*)?\s", item, maxsplit=1)[0] for item in items)
    return [_filled(f"- {' '.join(each.replace('**', '').split())}", "  ") for each in first]


def listed(items: Sequence[str]) -> str:
    """Return the items as an English list."""
    if len(items) < 2:
        return "".join(items)
    return f"{', '.join(items[:-1])} and {items[-1]}"


def write_text(text: str, path: Path) -> None:
    """Write a text file, completely or not at all."""
    with replacing(path) as stream:
        stream.write(text.encode())


def write_figure(draw: Callable[[BinaryIO], None], path: Path) -> None:
    """Let `draw` write a picture to a stream, and keep the file if `draw` succeeds."""
    with replacing(path) as stream:
        draw(stream)


def wrapped(block: str) -> str:
    """Return paragraphs and lists with lines of equal length, and other blocks unchanged."""
    if block.startswith("- "):
        return "\n".join(_filled(f"- {item}", "  ") for item in block[2:].split("\n- "))
    if block.startswith(("|", "#", "!", "```", "\n")) or "\n|" in block or block.endswith("**"):
        return block
    return _filled(block)


def _filled(text: str, indent: str = "") -> str:
    """Return a paragraph with lines of equal length; a number and its % stay on one line."""
    kept = " ".join(text.split()).replace(" %", "\0%")
    filled = fill(
        kept, 100, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )
    return filled.replace("\0%", " %")
