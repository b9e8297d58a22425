"""Data for the scripts of a page, in an element of its own."""

from __future__ import annotations

import json
from html import escape
from typing import Any


def embedded_json(data: Any, key: str | None = None) -> str:
    """Return the element that holds data as JSON; `key` is its identifier on the page.

    Names in a trace may hold markup. A `<` in a string is written as JSON's escape of it, so no
    name can end the element or begin a comment or a script in it.
    """
    content = json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")
    name = "" if key is None else f' id="{escape(key)}"'
    return f'<script type="application/json"{name}>{content}</script>'
