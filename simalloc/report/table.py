"""Tables of results, and their output formats."""

from __future__ import annotations

import csv
import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Literal, Self, TextIO, get_args

from simalloc.extras import pandas
from simalloc.printable import json_printable, printable
from simalloc.report.latex import latex
from simalloc.shown import ShownAsTable

if TYPE_CHECKING:
    import pandas as pd


Value = str | int | float | None
"""Content of a cell; None is an empty cell."""


class Rounded(float):
    """A number that text shows with a chosen number of decimals and optionally with its sign.

    CSV and JSON contain the number in full.
    """

    __slots__ = ("text",)
    text: str

    def __new__(cls, value: float, decimals: int, *, signed: bool = False) -> Self:
        """Make a number that is shown with `decimals` decimals."""
        rounded = super().__new__(cls, value)
        rounded.text = f"{value:{'+' if signed else ''}z,.{decimals}f}"
        return rounded


class Markdown(str):
    """Text that simalloc has written as Markdown. A Markdown table does not escape it."""

    __slots__ = ()


Format = Literal["table", "json", "csv", "markdown", "latex"]
FORMATS: Final[tuple[Format, ...]] = get_args(Format)

PIPE_WIDTH: Final = 120
_SIGNIFICANT_DIGITS: Final = 4
_LONGEST_WORD: Final = 60
"""Length in characters up to which a word is not broken."""
_FORMULAS: Final = ("=", "+", "-", "@", "\t", "\uff1d", "\uff0b", "\uff0d", "\uff20")
"""Characters with which a formula can begin, including their full-width forms."""
_NUMBER: Final = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.IGNORECASE)
_MARKDOWN: Final = re.compile(r"[\\|<>`\[]")
"""Characters with a meaning in a cell of Markdown, except the characters of emphasis."""
_BAR: Final = re.compile(r"\|")
_ELEMENT: Final = re.compile("[<>]")


@dataclass(frozen=True)
class Table(ShownAsTable):
    """Rows of values under named columns. Every row has one value for each column.

    `notes` are sentences about the whole table. They are printed below it, but not in JSON and CSV.
    `width` is the maximum length of a line in a file or a pipe, as far as cells can be folded.
    """

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Value]]
    notes: Sequence[str] = ()
    width: int = PIPE_WIDTH

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.columns):
                raise ValueError(f"{len(row)} values under {len(self.columns)} columns: {row!r}")

    def is_number(self, column: int) -> bool:
        """Return whether a column contains only numbers and empty cells."""
        values = [row[column] for row in self.rows if row[column] is not None]
        return bool(values) and not any(isinstance(value, str) for value in values)


def write_table(
    table: Table,
    format: Format,  # noqa: A002 - the word of the command line's --format
    stream: TextIO,
) -> None:
    """Write a table as text for a terminal, a JSON list of objects, CSV, Markdown or LaTeX.

    JSON and CSV contain numbers in full. The other formats group thousands and round to four
    digits. All formats write a control character in a name as an escape. In CSV, a text that a
    spreadsheet would run as a formula begins with an apostrophe.
    """
    _WRITERS[format](table if format == "json" else _printable(table), stream)


def _printable(table: Table) -> Table:
    """Return a table with the control characters in its texts escaped."""
    rows = [[printable(cell) if type(cell) is str else cell for cell in row] for row in table.rows]
    columns, notes = ([printable(each) for each in texts] for texts in (table.columns, table.notes))
    return replace(table, title=printable(table.title), columns=columns, rows=rows, notes=notes)


def spell(value: Value) -> str:
    """Return a value as text."""
    if isinstance(value, Rounded):
        return value.text
    if isinstance(value, float) and math.isfinite(value):
        magnitude = math.floor(math.log10(abs(value))) if value else 0
        return f"{value:,.{max(0, _SIGNIFICANT_DIGITS - 1 - magnitude)}f}"
    if isinstance(value, int):
        return f"{value:,}"
    return "" if value is None else str(value)


def _write_text(table: Table, stream: TextIO) -> None:
    if stream.isatty() or not _write_plainly(table, stream):
        write_richly(table, stream)


def _write_plainly(table: Table, stream: TextIO) -> bool:
    """Write the output of `write_richly` without rich, whose import takes longer than a run.

    Returns False, without output, if the table has no rows, needs folding, or contains characters
    other than printable ASCII.
    """
    lines = [list(table.columns), *([spell(value) for value in row] for row in table.rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    whole = sum(widths) + 3 * len(widths) - 1
    cells = [cell for line in (*lines, [table.title], table.notes) for cell in line]
    plain = all(cell.isascii() and cell.isprintable() for cell in cells)
    notes_fit = all(len(note) <= table.width for note in table.notes)
    if not (table.title and table.rows and plain and notes_fit and whole <= table.width):
        return False
    right = [table.is_number(place) for place in range(len(widths))]
    head, *rows = (
        "   ".join(
            cell.rjust(width) if number else cell.ljust(width)
            for cell, width, number in zip(line, widths, right, strict=True)
        )
        for line in lines
    )
    stream.write(f"{table.title}\n{' ' * whole}\n {head} \n {'─' * (whole - 2)} \n")
    stream.writelines(f" {row} \n" for row in rows)
    stream.write(f"{' ' * whole}\n")
    stream.writelines(f"{note}\n" for note in table.notes)
    return True


def write_richly(table: Table, stream: TextIO) -> None:
    """Write a table with rich: styled on a terminal, and folded if it is too wide."""
    from rich import box  # noqa: PLC0415 - takes a tenth of a second
    from rich.console import Console  # noqa: PLC0415 - the same
    from rich.table import Table as Grid  # noqa: PLC0415 - the same
    from rich.text import Text  # noqa: PLC0415 - the same

    title = Text(table.title, style="table.title", no_wrap=True, overflow="ignore")
    grid = Grid(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    for place, column in enumerate(table.columns):
        number = table.is_number(place)
        whole = number or place == 0
        grid.add_column(
            Text(column),
            justify="right" if number else "left",
            no_wrap=whole,
            min_width=_width(table, place, whole=whole),
            overflow="fold",
        )
    for row in table.rows:
        grid.add_row(*(Text(spell(value)) for value in row))
    # By default, rich writes to the cell of a notebook instead of to `stream`.
    console = Console(file=stream, highlight=False, force_jupyter=False)
    width = console.width if stream.isatty() else table.width
    console.width = 1 << 16  # measure without a limit, so that numbers and names are never cut
    console.width = max(width, console.measure(grid).minimum)
    console.print(grid)
    for note in table.notes:
        console.print(Text(note))


def _width(table: Table, place: int, *, whole: bool) -> int:
    """Return the length of the longest line in a column, including its heading.

    If lines may be broken (not `whole`), return the length of the longest word.
    """
    lines = [*table.columns[place].split("\n"), *(spell(row[place]) for row in table.rows)]
    if whole:
        return max(map(len, lines))
    return min(_LONGEST_WORD, max(len(word) for line in lines for word in [*line.split(), ""]))


def _write_json(table: Table, stream: TextIO) -> None:
    rows = [
        {column: _finite(value) for column, value in zip(table.columns, row, strict=True)}
        for row in table.rows
    ]
    text = json.dumps(rows, indent=2, ensure_ascii=False, allow_nan=False)
    stream.write(f"{json_printable(text)}\n")


def _finite(value: Value) -> Value:
    """Return None for infinity and nan, which JSON lacks."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _write_csv(table: Table, stream: TextIO) -> None:
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerows([_inert(cell) for cell in row] for row in (table.columns, *table.rows))


def _inert(cell: Value) -> Value:
    """Return a cell that spreadsheets show but do not evaluate."""
    if not isinstance(cell, str) or not cell.startswith(_FORMULAS) or cell == "-":
        return cell
    return cell if _NUMBER.fullmatch(cell) else f"'{cell}"


def _write_markdown(table: Table, stream: TextIO) -> None:
    rule = ["---:" if table.is_number(place) else "---" for place in range(len(table.columns))]
    rows = [[_markdown(value) for value in row] for row in (table.columns, *table.rows)]
    stream.write(f"**{_markdown(table.title)}**\n\n")
    stream.writelines(f"| {' | '.join(row)} |\n" for row in (rows[0], rule, *rows[1:]))
    stream.writelines(f"\n{_markdown_note(note)}\n" for note in table.notes)


def _write_latex(table: Table, stream: TextIO) -> None:
    numbers = [table.is_number(place) for place in range(len(table.columns))]
    rows = [[spell(value) for value in row] for row in table.rows]
    stream.write(latex(table.title, table.columns, rows, numbers, table.notes))


def _markdown(value: Value) -> str:
    """Return a cell with the special characters of Markdown escaped."""
    special = _MARKDOWN if not isinstance(value, Markdown) else _BAR
    return special.sub(r"\\\g<0>", spell(value)).replace("\n", " ")


def _markdown_note(note: str) -> str:
    """Return a note in Markdown. Text between backticks becomes code."""
    parts = re.split("(`[^`]+`)", note)
    return "".join(part if place % 2 else _ELEMENT.sub(r"\\\g<0>", part)
                   for place, part in enumerate(parts))  # fmt: skip


_WRITERS: Final = {
    "table": _write_text,
    "json": _write_json,
    "csv": _write_csv,
    "markdown": _write_markdown,
    "latex": _write_latex,
}


def frame(table: Table) -> pd.DataFrame:
    """Return a table as a data frame. Raises `SimallocError` if pandas is not installed."""
    return pandas().DataFrame([list(row) for row in table.rows], columns=list(table.columns))


def frame_of_runs(runs: Iterable[tuple[Mapping[str, Any], Mapping[str, Any]]]) -> pd.DataFrame:
    """Return a data frame with a row per run, from its figures and the parameters of its policy.

    Every parameter is a column. It is empty for policies without this parameter. A parameter with
    the name of a figure is called `NAME_parameter`. Raises `SimallocError` if pandas is not
    installed.
    """
    pairs = list(runs)
    figures = dict.fromkeys(name for each, _ in pairs for name in each)
    rows = [
        {**each, **{f"{name}_parameter" if name in figures else name: value
                    for name, value in parameters.items()}}
        for each, parameters in pairs
    ]  # fmt: skip
    return pandas().DataFrame(rows)
