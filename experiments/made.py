"""The line at the end of each page that states its origin, from the notes in `pages.toml`."""

from __future__ import annotations

import tomllib
from pathlib import Path
from textwrap import fill
from typing import Any, Final

PAGES: Final = Path(__file__).with_name("pages.toml")


def pages() -> dict[str, dict[str, Any]]:
    """Return the notes on each page, by the experiment that writes the page."""
    return tomllib.loads(PAGES.read_text("utf-8"))


def line(experiment: str) -> str:
    """Return the line on the origin of an experiment's page, or "" if the page is not listed."""
    entry = pages().get(experiment)
    if entry is None:
        return ""
    source = entry.get("input")
    if source is None:
        source = f"the traces `{entry['group']}` (`{entry['traces']}`)"
    words = (
        f"Made by `{entry['command']}` from {source}. The digest of the policies' "
        f"placements is `{entry['behaviour']}`. "
        "[provenance.md](provenance.md) explains the digests."
    )
    return fill(words, 100, break_long_words=False, break_on_hyphens=False)
