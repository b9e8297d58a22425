"""Checks of the arguments that users pass in Python."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from inspect import signature
from math import inf
from numbers import Integral, Real
from os import PathLike
from typing import Any, Final, ParamSpec, TypeVar

import numpy as np

from simalloc.errors import SimallocError

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True)
class Kind:
    """The values that an argument accepts: a test, and `words` for a message."""

    words: str
    accepts: Callable[[Any], bool]

    def check(self, name: str, value: object) -> None:
        """Raise `SimallocError` unless `value` is valid for the argument `name`."""
        if not self.accepts(value):
            raise SimallocError(f"{name} is {value!r}; use {self.words}")


def optional(kind: Kind) -> Kind:
    """Return a kind that also accepts None."""
    return Kind(f"{kind.words}, or None", lambda value: value is None or kind.accepts(value))


def whole(low: int = 0, high: float = inf) -> Kind:
    """Return the kind of whole numbers from `low` to `high`."""
    return Kind(
        f"a whole number{_range(low, high)}",
        lambda value: _is_a(value, Integral) and low <= value <= high,
    )


def number(low: float) -> Kind:
    """Return the kind of finite numbers from `low`."""
    words = f"a number{_range(low, inf)}"
    return Kind(words, lambda value: _is_a(value, Real) and low <= value < inf)


def one_of(*words: str) -> Kind:
    """Return the kind of texts from a list."""
    known = ", ".join(words)
    return Kind(f"one of {known}", lambda value: isinstance(value, str) and value in words)


FLAG: Final = Kind("True or False", lambda value: isinstance(value, (bool, np.bool_)))
TEXT: Final = Kind("a text", lambda value: isinstance(value, str))
TEXTS: Final = Kind(
    "a list of texts",
    lambda value: (
        isinstance(value, Sequence)
        and not isinstance(value, str)
        and all(isinstance(each, str) for each in value)
    ),
)
PATTERNS: Final = Kind(
    "a mapping from kinds of lines to regular expressions",
    lambda value: (
        isinstance(value, Mapping)
        and all(isinstance(each, str) for pair in value.items() for each in pair)
    ),
)
PATH: Final = Kind("a path", lambda value: isinstance(value, (str, PathLike)))
SPAN: Final = Kind(
    "the first and the last of a range, such as (1, 100)",
    lambda value: _is_pair(value) and value[0] <= value[1],
)
WINDOW: Final = Kind(
    "a range such as (0, 1000)",
    lambda value: _is_pair(value) and 0 <= value[0] < value[1] < inf,
)


def checked(**kinds: Kind) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Return a decorator that checks the named arguments, and `progress` by default."""

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        described = signature(function)
        checks = {"progress": optional(FLAG)} | kinds

        @wraps(function)
        def call(*args: P.args, **keywords: P.kwargs) -> R:
            for name, value in described.bind(*args, **keywords).arguments.items():
                if name in checks:
                    checks[name].check(name, value)
            return function(*args, **keywords)

        return call

    return decorate


def _range(low: float, high: float) -> str:
    if high < inf:
        return f" from {low:,} to {high:,}"
    return f", {low:,} or more"


def _is_a(value: object, kind: type) -> bool:
    return isinstance(value, kind) and not isinstance(value, bool)


def _is_pair(value: object) -> bool:
    return (
        isinstance(value, Sequence) and len(value) == 2 and all(_is_a(each, Real) for each in value)
    )
