"""Data for a browser: the scripts and styles of heap maps, for pages and notebooks."""

from __future__ import annotations

from importlib.resources import files
from typing import Final

BROWSER: Final = "simalloc.report.browser"
SCRIPTS: Final = ("units.js", "heap_map.js", "pinch.js")
"""Scripts of pages and notebooks. Each script follows the scripts that it needs."""


def asset(package: str, *names: str) -> str:
    """Return the text of files in a package, one file after the other."""
    return "\n".join(files(package).joinpath(name).read_text("utf-8") for name in names)
