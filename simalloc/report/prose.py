"""Output of Markdown text with headings and lists to a terminal."""

from __future__ import annotations

from typing import TextIO

from rich.console import Console
from rich.markdown import Markdown

from simalloc.report.table import PIPE_WIDTH


def write_prose(text: str, stream: TextIO) -> None:
    """Write Markdown in the width of the terminal."""
    console = Console(file=stream, highlight=False, force_jupyter=False)
    console.width = console.width if stream.isatty() else PIPE_WIDTH
    console.print(Markdown(text))
