"""Data for the scripts of a page, in a separate element."""

from __future__ import annotations

import json
from html import escape
from typing import Any


def embedded_json(data: Any, key: str | None = None) -> str:
    """Return an element that contains data as JSON; `key` is its identifier on the page.

    Names in a trace may contain markup. A `<` in a string is escaped as JSON permits, so that no
    name can end the element or begin a comment or a script in it.
    """
    content = json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")
    name = "" if key is None else f' id="{escape(key)}"'
    return f'<script type="application/json"{name}>{content}</script>'
