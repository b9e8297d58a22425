"""Data for a browser: the scripts and styles of heap maps, on a page and in a notebook."""

from __future__ import annotations

from importlib.resources import files
from typing import Final

BROWSER: Final = "simalloc.report.browser"
SCRIPTS: Final = ("units.js", "heap_map.js", "pinch.js")
"""Scripts of both, each after the scripts that it needs."""


def asset(package: str, *names: str) -> str:
    """Return files of a package, one after the other, as text."""
    return "\n".join(files(package).joinpath(name).read_text("utf-8") for name in names)
