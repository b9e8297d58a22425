"""Results of completed steps, stored in a file so that an interrupted run can continue."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, Final

import simalloc.adversary
from simalloc.files import replacing
from simalloc.version import code_version

_MEASURING: Final = ("knowing.py", "measuring.py", "small.py")
"""Source files that determine a result, besides the adversaries and the files of `code_version`."""


@cache
def version() -> str:
    """Return the version of the code that produces the results."""
    adversaries = sorted(Path(simalloc.adversary.__file__).parent.glob("*.py"))
    sources = [*adversaries, *(Path(__file__).with_name(name) for name in _MEASURING)]
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in sources))
    return f"{code_version()}, {digest.hexdigest()[:12]}"


class Kept:
    """Results by name, stored after each step; results of other code versions are ignored."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._found: dict[str, Any] = {}
        if path.exists():
            found = json.loads(path.read_text("utf-8"))
            self._found = found["results"] if found["version"] == version() else {}

    def get(self, name: str, measure: Callable[[], Any]) -> Any:
        """Return a stored result, or measure and store it. It must be serialisable as JSON."""
        if name not in self._found:
            self._found[name] = measure()
            text = json.dumps({"version": version(), "results": self._found}, indent=1)
            with replacing(self._path) as stream:
                stream.write(f"{text}\n".encode())
        return self._found[name]
