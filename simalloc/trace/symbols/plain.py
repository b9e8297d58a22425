"""Plain names of functions, without parameters, return types and compilers' suffixes."""

from __future__ import annotations

import re
from typing import Final

_MARKS: Final = re.compile(
    r"(?:\.(?:isra|constprop|part|cold|lto_priv|llvm)(?:\.\d+)*| \[[^][]*\]| \(\.[^()]*\)"
    r"|::h[0-9a-f]{16})+$"
)
_QUALIFIERS: Final = re.compile(r"(?: const| volatile| noexcept| ?&&?)+$")
_ESCAPED: Final = re.compile(r"\$(?:u(?P<code>[0-9a-f]{2,6})|(?P<sign>[A-Z]+))\$")
_SIGNS: Final = {
    "SP": "@",
    "BP": "*",
    "RF": "&",
    "LT": "<",
    "GT": ">",
    "LP": "(",
    "RP": ")",
    "C": ",",
}
_OPEN, _SHUT = "<([{", ">)]}"


def plain_name(function: str) -> str:
    """Return only the name of a demangled C++ or Rust function.

    `void a::b<int>(char) [clone .cold]` is `a::b<int>`.
    """
    name = _QUALIFIERS.sub("", _MARKS.sub("", _unescaped(function)))
    name = name if name == "operator()" else _without_parameters(name)
    return _without_type(name) or function


def _unescaped(name: str) -> str:
    """Restore signs in names that older Rust escapes and some symbolizers leave escaped."""
    if _ESCAPED.search(name) is None:
        return name
    text = _ESCAPED.sub(
        lambda sign: chr(int(sign["code"], 16)) if sign["code"] else _SIGNS.get(sign["sign"], "?"),
        re.sub(r"(^|::)_\$", r"\1$", name),
    )
    return text.replace("..", "::")


def _without_parameters(name: str) -> str:
    depth = 0
    for at in range(len(name) - 1 if name.endswith(")") else -1, -1, -1):
        depth += (name[at] == ")") - (name[at] == "(")
        if depth == 0:
            return name if name[:at].endswith("operator") or at == 0 else name[:at]
    return name


def _without_type(name: str) -> str:
    depth, start = 0, 0
    for at, letter in enumerate(name):
        if depth == 0 and name.startswith("operator", at):
            break
        if letter in _OPEN:
            depth += 1
        elif letter in _SHUT and not name.startswith("->", at - 1):
            depth -= 1
        elif letter == " " and depth == 0:
            start = at + 1
    return name[start:]
