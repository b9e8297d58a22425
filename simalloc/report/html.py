"""Tables as HTML, for notebooks and pages."""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import escape

from simalloc.report.table import Table, Value, spell
from simalloc.sizes import spell_bytes


def html(table: Table, *, sizes: bool = False, strong: str = "") -> str:
    """Return a table as a fragment of HTML, with its title above and its notes below.

    If `sizes`, all numbers except scales and percentages are bytes and are shown with a unit.
    Rows with a cell that ends in `strong` are bold, unless `strong` is empty.
    """
    numbers = [table.is_number(place) for place in range(len(table.columns))]
    rows = _spelled_sizes(table) if sizes else table.rows
    head = _row("th", table.columns, numbers)
    spelled = [[*map(spell, row)] for row in rows]
    body = "\n".join(
        _row("td", cells, numbers, strong=bool(strong) and any(c.endswith(strong) for c in cells))
        for cells in spelled
    )
    notes = f"<p>{with_code(' '.join(table.notes))}</p>\n" if table.notes else ""
    return (
        f'<table>\n<caption style="text-align: left">{escape(table.title)}</caption>\n'
        f"<thead>\n{head}\n</thead>\n<tbody>\n{body}\n</tbody>\n</table>\n{notes}"
    )


def _spelled_sizes(table: Table) -> list[list[Value]]:
    are_sizes = [name != "scale" and not name.endswith("%") for name in table.columns]
    return [
        [
            spell_bytes(cell) if isinstance(cell, (int, float)) and is_size else cell
            for is_size, cell in zip(are_sizes, row, strict=True)
        ]
        for row in table.rows
    ]


def with_code(text: str) -> str:
    """Return a text as HTML. Text between backticks becomes code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))


def _row(tag: str, cells: Iterable[str], numbers: Iterable[bool], *, strong: bool = False) -> str:
    texts = (
        f'<{tag} style="text-align: {"right" if number else "left"}'
        f'{"" if place else "; white-space: nowrap"}{"; font-weight: bold" if strong else ""}">'
        f"{escape(cell)}</{tag}>"
        for place, (cell, number) in enumerate(zip(cells, numbers, strict=True))
    )
    return f"<tr>{''.join(texts)}</tr>"
