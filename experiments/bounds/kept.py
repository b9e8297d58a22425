"""What was measured so far, in a file: an interrupted run goes on where it was."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from simalloc.files import replacing
from simalloc.version import code_version

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


class Kept:
    """Results by name, written after each; those of another version of simalloc do not count."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._found: dict[str, Any] = {}
        if path.exists():
            found = json.loads(path.read_text("utf-8"))
            self._found = found["results"] if found["version"] == code_version() else {}

    def get(self, name: str, measure: Callable[[], Any]) -> Any:
        """Return a result, measured now unless it was before; it is what JSON can tell."""
        if name not in self._found:
            self._found[name] = measure()
            text = json.dumps({"version": code_version(), "results": self._found}, indent=1)
            with replacing(self._path) as stream:
                stream.write(f"{text}\n".encode())
        return self._found[name]
