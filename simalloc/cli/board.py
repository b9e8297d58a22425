"""`simalloc board`."""

from __future__ import annotations

from pathlib import Path

import click

from simalloc.cli.messages import echo
from simalloc.files import copy_files
from simalloc.trace.recorder.board import FILES, FOLDER


@click.command(
    "board",
    epilog="\b\nExample:\n"
    "  simalloc board firmware/src\n"
    "  ... build, run, and keep the bytes that the board sends in board.bin ...\n"
    "  simalloc import board.bin -o board.npz --elf firmware.elf",
)
@click.argument("directory", type=click.Path(file_okay=False, path_type=Path))
def command(directory: Path) -> None:
    """Copy the recorder for boards (two C files) to a folder.

    The recorder is one C99 source file and its header, with hooks for FreeRTOS, ESP-IDF, Zephyr,
    newlib, LVGL and mbedTLS. It needs 1 KiB of code and a ring buffer. An event takes 3 to 5
    bytes. docs/boards.md describes the use, and `simalloc import` reads the output.
    """
    for path in copy_files(FOLDER, FILES, directory):
        echo(path)
