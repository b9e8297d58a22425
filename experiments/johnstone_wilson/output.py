"""Files of results, each written beside its place and then moved there, so that none is half."""

from __future__ import annotations

import os
from contextlib import contextmanager
from io import StringIO
from typing import TYPE_CHECKING

from simalloc.report import write_table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from experiments.johnstone_wilson.exhibits import Exhibit
    from simalloc.report import Table


def markdown(table: Table) -> str:
    """Return a table as Markdown."""
    stream = StringIO()
    write_table(table, "markdown", stream)
    return stream.getvalue()


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
    with _whole(path) as draft:
        draft.write_text(text, encoding="utf-8")


def write_figure(draw: Callable[[Path], None], path: Path) -> None:
    """Let `draw` write a picture to the path it is given, and keep it if that went well."""
    with _whole(path) as draft:
        draw(draft)


@contextmanager
def _whole(path: Path) -> Iterator[Path]:
    """Yield a path beside `path`; what is written there takes its place at the end."""
    draft = path.with_name(f".{path.stem}.{os.getpid()}{path.suffix}")
    try:
        yield draft
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
