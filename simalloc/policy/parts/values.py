"""Values of parameters, and their spelling in text."""

from __future__ import annotations

from enum import Enum
from typing import Any, Final

from simalloc.errors import PolicyError, SimallocError
from simalloc.sizes import format_size, parse_size

Value = float | str
"""A parameter's value as tables show it; a choice is shown by its spelling."""

_SWITCH: Final = {
    **dict.fromkeys(("on", "true", "yes", "y", "1"), True),
    **dict.fromkeys(("off", "false", "no", "n", "0"), False),
}


class Auto(Enum):
    """Value of a parameter whose number the allocator chooses itself."""

    AUTO = "auto"


def spell_value(value: Value) -> Value:
    """Return a parameter's value as `read_value` accepts it: sizes and switches as text."""
    if isinstance(value, bool):
        return "on" if value else "off"
    return format_size(value) if isinstance(value, int) else value


def plain_value(value: Any) -> Value:
    """Return a parameter's value as tables show it."""
    if isinstance(value, Enum):
        return str(value.value)
    plain: Value = value
    return plain


def read_value(name: str, value: object, kind: type[Any]) -> Any:
    """Return the value of the parameter `name`, converted to its kind.

    Whole numbers are given as such or as sizes, switches as `on` or `off`, choices (`Enum`) by
    their spelling. Raises `PolicyError` for an invalid value.
    """
    if isinstance(value, kind) and (kind is not int or not isinstance(value, bool)):
        return value
    try:
        if kind == int | Auto:
            return Auto.AUTO if str(value).lower() == "auto" else parse_size(str(value))
        if kind is int:
            text = str(value)
            return -parse_size(text[1:]) if text.startswith("-") else parse_size(text)
        if kind is bool:
            return _SWITCH[str(value).lower()]
        if issubclass(kind, Enum):
            return {str(choice.value).lower(): choice for choice in kind}[str(value).lower()]
        return kind(value)
    except (KeyError, ValueError, TypeError, SimallocError):
        raise PolicyError(f"{name} is {value!r}; use {_words(kind)}") from None


def _words(kind: type[Any]) -> str:
    """Return a description of the values that a parameter of a kind accepts."""
    if kind == int | Auto:
        return f"auto, or {_words(int)}"
    if issubclass(kind, Enum):
        return f"one of {', '.join(str(choice.value) for choice in kind)}"
    if kind is bool:
        return "on or off"
    if kind is int:
        return "a size such as 4096 or 64K"
    return "a number" if kind is float else f"a {kind.__name__}"
