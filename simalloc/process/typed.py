"""Dataclasses from untrusted JSON: every value must have the declared type of its field."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from types import UnionType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

_T = TypeVar("_T")


def typed(kind: type[_T], values: Mapping[str, Any]) -> _T:
    """Return a dataclass with these values by name. Raises `TypeError` for a wrong type."""
    made = kind(**values)
    for name, hint in get_type_hints(kind).items():
        if not _fits(getattr(made, name), hint):
            raise TypeError(f"{name} has a value of an unexpected type")
    return made


def _fits(value: object, hint: Any) -> bool:
    """Return whether a value has a type: plain, a union, a sequence, or a mapping by text."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is UnionType:
        return any(_fits(value, each) for each in arguments)
    if origin is Sequence:
        return isinstance(value, list | tuple) and all(_fits(one, arguments[0]) for one in value)
    if origin is Mapping:
        return isinstance(value, dict) and all(_fits(one, arguments[1]) for one in value.values())
    if hint is float:
        return isinstance(value, int | float) and math.isfinite(value)
    if hint is int:
        return type(value) is int
    return isinstance(value, origin or hint)
