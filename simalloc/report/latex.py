"""Tables as LaTeX, with the lines of the booktabs package."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

_SPECIAL: Final = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        **{character: f"\\{character}" for character in "&%$#_{}"},
    }
)


def latex(
    title: str,
    columns: Sequence[str],
    rows: Iterable[Iterable[str]],
    numbers: Sequence[bool],
    notes: Iterable[str],
) -> str:
    """Return a table environment of spelled cells, with the notes as comments and caption."""
    alignment = "".join("r" if number else "l" for number in numbers)
    return "\n".join(
        (
            r"\begin{table}",
            rf"\caption{{{_escape(title)}}}",
            r"\centering",
            rf"\begin{{tabular}}{{{alignment}}}",
            r"\toprule",
            _row(columns),
            r"\midrule",
            *(_row(row) for row in rows),
            r"\bottomrule",
            r"\end{tabular}",
            r"\end{table}",
            *(f"% {note}" for note in notes),
            "",
        )
    )


def _row(cells: Iterable[str]) -> str:
    return rf"{' & '.join(_escape(cell) for cell in cells)} \\"


def _escape(text: str) -> str:
    return text.translate(_SPECIAL).replace("\n", " ")
